/*
 * The compact form of a trace: sections of columns, each deflated in pieces. docs/payload.md is the format's
 * document.
 *
 *     header | directory: one entry per section, one per piece | pieces (zlib streams)
 *
 * This module packs columns and reads them back; it neither deflates nor inflates. The host does that between
 * the two steps, in threads or with the browser's DecompressionStream. Freestanding. A payload is hostile
 * input: every count, id and offset is checked, and a trace that was read without error satisfies all
 * invariants of trace/trace.h.
 */
#pragma once

#include "trace/trace.h"

enum payload_error {
    PAYLOAD_OK = 0,
    PAYLOAD_NO_MEMORY = -1,
    PAYLOAD_BAD_MAGIC = -2,   /* not a payload, or one of another version */
    PAYLOAD_TRUNCATED = -3,   /* a directory or column runs past its end */
    PAYLOAD_BAD_SECTION = -4, /* unknown required section, wrong count, or one section twice */
    PAYLOAD_BAD_VALUE = -5,   /* an id, moment or count out of range */
};

/* A piece of one section: at most PAYLOAD_PIECE_NBYTES raw bytes. */
enum { PAYLOAD_PIECE_NBYTES = 1 << 20 };

struct payload_piece {
    const uint8_t *raw; /* writer: what to deflate */
    uint32_t raw_nbytes;
    /* writer: set by the host before payload_assemble; reader: where to inflate from */
    const uint8_t *packed;
    uint32_t packed_nbytes;
    uint8_t *target; /* reader: where the host inflates to, exactly raw_nbytes */
};

struct payload {
    struct arena *arena;
    uint32_t n_sections, sections_capacity;
    struct payload_section *sections;
    uint32_t n_pieces, pieces_capacity;
    struct payload_piece *pieces;
};

/* Packs the columns of `trace` into pieces. Memory from `arena`, until it is released. */
enum payload_error payload_pack(struct payload *payload, const struct trace *trace, struct arena *arena);

/* Once the host has set packed and packed_nbytes of every piece: the size of the whole, and the whole. */
uint64_t payload_nbytes(const struct payload *payload);
void payload_assemble(const struct payload *payload, uint8_t *to);

/* Reads header and directory; `bytes` must stay valid until payload_unpack. Allocates every piece's target.
 */
enum payload_error payload_open(struct payload *payload, const void *bytes, uint64_t nbytes,
                                struct arena *arena);

/*
 * The same in steps, for a host that has other things to do in between. Call payload_unpacking once (NULL: no
 * memory), then payload_unpack_some until it returns something other than PAYLOAD_MORE: the result of
 * payload_unpack. A step decodes at most a quarter of a million rows of a column. The memory is the payload's.
 */
enum { PAYLOAD_MORE = 1 };
struct reader;
struct reader *payload_unpacking(const struct payload *payload, struct trace *trace);
int32_t payload_unpack_some(struct reader *reader);

/* Once the host has inflated every piece into its target: decodes the columns into an empty, initialised trace. */
enum payload_error payload_unpack(const struct payload *payload, struct trace *trace);
