/*
 * Protocol buffers, written by hand: a message is fields, each a number with a wire type, and all of its fields may
 * come in any order. The writers list the fields that they use. Messages inside messages are built in a buffer of
 * their own first, because their length precedes them.
 */
#pragma once

#include "base/buffer.h"

enum { PROTOBUF_VARINT = 0, PROTOBUF_BYTES = 2 };

static inline void protobuf_varint(struct buffer *out, uint64_t number) {
    uint8_t bytes[10];
    uint32_t n = 0;
    for (; number >= 0x80; number >>= 7)
        bytes[n++] = (uint8_t)(number | 0x80);
    bytes[n++] = (uint8_t)number;
    buffer_add(out, bytes, n);
}

/* A field of type uint64, int64, bool or an enum. */
static inline void protobuf_u64(struct buffer *out, uint32_t field, uint64_t number) {
    protobuf_varint(out, (uint64_t)field << 3 | PROTOBUF_VARINT);
    protobuf_varint(out, number);
}

static inline void protobuf_bytes(struct buffer *out, uint32_t field, const void *bytes, size_t nbytes) {
    protobuf_varint(out, (uint64_t)field << 3 | PROTOBUF_BYTES);
    protobuf_varint(out, nbytes);
    buffer_add(out, bytes, nbytes);
}

/* A message or a text that was made in `part`, which becomes empty. */
static inline void protobuf_part(struct buffer *out, uint32_t field, struct buffer *part) {
    protobuf_bytes(out, field, part->bytes, part->nbytes);
    out->failed |= part->failed;
    part->nbytes = 0;
}
