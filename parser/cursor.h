/*
 * The one place that reads input bytes: every bounds check is in here, and the first error sticks. After an
 * error the cursor is at its end for good, every later read fails and gives zero.
 *
 *     from  |...used...|p.......available.......|end      offset of p in the input: base + (p - from)
 *
 * Input comes through read_source in blocks, also for files: memory stays bounded, a file that shrinks while
 * it is read is just truncated, and pipes and compressed input take the same way. Blocks are looked at where they are, if
 * the source lends them; what is left of one is copied in front of the next. What is longer than that has room for is
 * gathered in the cursor's own buffer, as is what a source only reads.
 */
#pragma once

#include "parser/read.h"

/* Wherever an opcode begins, so many bytes can be looked at, unless the input ends before. */
enum { CURSOR_LOOKAHEAD = 64 << 10 };

struct cursor {
    const uint8_t *p, *end;
    const uint8_t *from; /* of the block or the buffer */
    uint8_t *buffer;
    size_t capacity;
    uint64_t base;
    bool borrows;
    bool at_end; /* the source has no more */
    const struct read_source *source;
    const struct read_progress *progress;
    uint64_t next_report;
    uint64_t n_events; /* for the progress report; kept up to date by the reader */
    uint64_t n_steps;  /* opcodes that the pickle machine ran one by one: work, for tests to count */
    struct arena *arena;
    struct read_error *error;
};

/* Takes its buffer from `arena` until cursor_release. `error` must be READ_OK at first. False: no memory. */
bool cursor_init(struct cursor *cursor, const struct read_source *source,
                 const struct read_progress *progress, struct arena *arena, struct read_error *error);
void cursor_release(struct cursor *cursor);

/* Where `p` is in the input. */
static inline uint64_t cursor_offset(const struct cursor *cursor) {
    return cursor->base + (uint64_t)(cursor->p - cursor->from);
}

/* Notes the first error, at `offset`, and stops the cursor. Always returns false. */
bool cursor_fail(struct cursor *cursor, enum read_code code, uint64_t offset, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The error "no memory", which says whether it was the limit. Always returns false. */
bool cursor_fail_memory(struct cursor *cursor, uint64_t offset);

/* Reads on until `nbytes` are available, growing the buffer only as bytes really arrive. False: the input
 * ends before (no error is noted) or an error. */
bool cursor_fill(struct cursor *cursor, size_t nbytes);

/* True if `nbytes` are available; otherwise the error "truncated" is noted. */
static inline bool cursor_need(struct cursor *cursor, size_t nbytes) {
    if ((size_t)(cursor->end - cursor->p) >= nbytes)
        return true;
    return cursor_fill(cursor, nbytes) ||
           cursor_fail(cursor, READ_TRUNCATED, cursor->base + (uint64_t)(cursor->end - cursor->from),
                       "the file ends in the middle of a value");
}

/* Little-endian numbers; 0 after an error. */
static inline uint32_t cursor_u8(struct cursor *cursor) {
    return cursor_need(cursor, 1) ? *cursor->p++ : 0;
}

static inline uint64_t cursor_uint(struct cursor *cursor, unsigned nbytes) {
    if (!cursor_need(cursor, nbytes))
        return 0;
    uint64_t value = 0;
    for (unsigned i = 0; i < nbytes; i++)
        value |= (uint64_t)cursor->p[i] << 8 * i;
    cursor->p += nbytes;
    return value;
}

/* A line up to '\n' (not included), at most `limit` bytes: beginning and length; the cursor is after the '\n'.
 * False: error noted. */
bool cursor_line(struct cursor *cursor, size_t limit, const uint8_t **line, size_t *nbytes);
