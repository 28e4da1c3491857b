/* Bytes that a renderer writes; the caller decides where they go: kept in memory, or handed on to a sink as they come. */
#pragma once

#include "base/arena.h"

/* The place for bytes that need not stay in memory: a file, a pipe. */
struct buffer_sink {
    /* False: no more is taken, and whoever made the sink has said or noted why. Not called again then. */
    bool (*take)(void *context, const void *bytes, size_t nbytes);
    void *context;
};

/* With a sink no more than this is held, but for what is added as a whole by buffer_extend. */
enum { BUFFER_BLOCK_NBYTES = 64 << 10 };

/* Starts as {0}, or with the host that its memory is to come from: an arena's, whose limit then holds. After a failed
 * addition (no memory) `failed` is set and later additions do nothing, so only the end needs a check. */
struct buffer {
    uint8_t *bytes;
    size_t nbytes, capacity;
    bool failed;
    struct arena_host host; /* `resize` NULL: the C library's memory */
    /* `take` NULL: all stays in `bytes`. Else nbytes is what is held, and begins anew */
    struct buffer_sink sink;
    uint64_t taken_nbytes; /* by the sink */
    bool refused;          /* the sink took no more; `failed` is set too */
};

/* All that was added so far. */
static inline uint64_t buffer_total(const struct buffer *buffer) {
    return buffer->taken_nbytes + buffer->nbytes;
}

/* Hands the held bytes to the sink. False: the buffer has failed, now or before. Without a sink nothing happens. */
bool buffer_flush(struct buffer *buffer);

/* Frees the bytes; the buffer is then empty and may be used again. */
void buffer_release(struct buffer *buffer);
void buffer_add(struct buffer *buffer, const void *bytes, size_t nbytes);
void buffer_add_text(struct buffer *buffer, const char *text);
void buffer_printf(struct buffer *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Room for `nbytes` more; what is returned is at the end and counted as used. NULL: no memory. */
uint8_t *buffer_extend(struct buffer *buffer, size_t nbytes);
