/* Encodes bytes as base64 (RFC 4648, with padding). parser/container/base64.h decodes. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The length of the encoding of `nbytes` bytes, which must be at most a third of SIZE_MAX. */
static inline size_t base64_nbytes(size_t nbytes) {
    return (nbytes + 2) / 3 * 4;
}

/* Writes base64_nbytes(nbytes) characters, without a terminator. O(nbytes). */
void base64_encode(uint8_t *to, const uint8_t *bytes, size_t nbytes);
