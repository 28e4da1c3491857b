/*
 * The one place that reads input bytes: it has every bounds check, and its first error sticks. After an error the
 * cursor stays at its end; every later read fails and gives zero.
 *
 *     from  |...used...|p.......available.......|end      offset of p in the input: base + (p - from)
 *
 * Input comes through read_source in blocks, from files too: memory stays bounded, a file that shrinks while it is
 * read is just truncated, and pipes and compressed input take the same way. If the source lends its blocks, they
 * are read in place, and the rest of one is copied in front of the next. Longer pieces, and the input of a source
 * that cannot lend, are gathered in the cursor's own buffer.
 */
#pragma once

#include "parser/read.h"

/* At the beginning of an opcode, at least this many bytes are available, unless the input ends before. */
enum { CURSOR_LOOKAHEAD = 64 << 10 };

struct cursor {
    const uint8_t *p, *end;
    const uint8_t *from; /* start of the block or the buffer */
    uint8_t *buffer;
    size_t capacity;
    uint64_t base;
    bool borrows;
    bool at_end;    /* the source has no more */
    unsigned depth; /* number of inputs that this one is packed in */
    const struct read_source *source;
    const struct read_progress *progress;
    uint64_t next_report;
    uint64_t n_events; /* for the progress report; the reader keeps it up to date */
    uint64_t n_steps;  /* opcodes that the pickle machine ran one by one; for tests to count work */
    struct arena *arena;
    struct read_error *error;
};

/* Takes its buffer from `arena` until cursor_release. `error` must start as READ_OK. False: no memory. */
bool cursor_init(struct cursor *cursor, const struct read_source *source,
                 const struct read_progress *progress, struct arena *arena, struct read_error *error);
void cursor_release(struct cursor *cursor);

/* The offset of `p` in the input. */
static inline uint64_t cursor_offset(const struct cursor *cursor) {
    return cursor->base + (uint64_t)(cursor->p - cursor->from);
}

/* Notes the error at `offset` if it is the first, and stops the cursor. Always returns false. */
bool cursor_fail(struct cursor *cursor, enum read_code code, uint64_t offset, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Notes that there is no memory, and whether the limit was the cause. Always returns false. */
bool cursor_fail_memory(struct cursor *cursor, uint64_t offset);

/* Reads until `nbytes` are available, growing the buffer only as bytes arrive. False: the input ends before (no
 * error is noted), or an error. */
bool cursor_fill(struct cursor *cursor, size_t nbytes);

/* True if `nbytes` are available; otherwise notes the error "truncated". */
static inline bool cursor_need(struct cursor *cursor, size_t nbytes) {
    if ((size_t)(cursor->end - cursor->p) >= nbytes)
        return true;
    return cursor_fill(cursor, nbytes) ||
           cursor_fail(cursor, READ_TRUNCATED, cursor->base + (uint64_t)(cursor->end - cursor->from),
                       "the file ends in the middle of a value");
}

/* A little-endian number. */
static inline uint64_t uint_at(const uint8_t *p, unsigned nbytes) {
    uint64_t value = 0;
    for (unsigned i = 0; i < nbytes; i++)
        value |= (uint64_t)p[i] << 8 * i;
    return value;
}

/* Little-endian numbers; 0 after an error. */
static inline uint32_t cursor_u8(struct cursor *cursor) {
    return cursor_need(cursor, 1) ? *cursor->p++ : 0;
}

static inline uint64_t cursor_uint(struct cursor *cursor, unsigned nbytes) {
    if (!cursor_need(cursor, nbytes))
        return 0;
    cursor->p += nbytes;
    return uint_at(cursor->p - nbytes, nbytes);
}

/* Reads a line up to '\n' (not included), at most `limit` bytes: its beginning and length; the cursor is after the
 * '\n'. False: an error is noted. */
bool cursor_line(struct cursor *cursor, size_t limit, const uint8_t **line, size_t *nbytes);
