/* Bytes that a renderer writes. The caller decides whether they stay in memory or go to a sink as they come. */
#pragma once

#include "base/arena.h"

/* Takes bytes that need not stay in memory: a file, a pipe. */
struct buffer_sink {
    /* False: it takes no more and has reported or noted why. It is not called again then. */
    bool (*take)(void *context, const void *bytes, size_t nbytes);
    void *context;
};

/* With a sink, at most this much is held at a time, apart from what buffer_extend adds in one piece. */
enum { BUFFER_BLOCK_NBYTES = 64 << 10 };

/* Starts as {0}, or with the host to take memory from: an arena's, whose limit then holds. After a failed addition
 * (no memory) `failed` is set and later additions do nothing, so only the end needs a check. */
struct buffer {
    uint8_t *bytes;
    size_t nbytes, capacity;
    bool failed;
    struct arena_host host; /* `resize` NULL: the C library's memory */
    /* `take` NULL: everything stays in `bytes`. Otherwise nbytes counts what is held and restarts at 0 after each
     * flush */
    struct buffer_sink sink;
    uint64_t taken_nbytes; /* by the sink */
    bool refused;          /* the sink took no more; `failed` is set too */
};

/* All that was added so far. */
static inline uint64_t buffer_total(const struct buffer *buffer) {
    return buffer->taken_nbytes + buffer->nbytes;
}

/* Hands the held bytes to the sink. False: the buffer has failed, now or before. Does nothing without a sink. */
bool buffer_flush(struct buffer *buffer);

/* Frees the bytes; the buffer is then empty and may be used again. */
void buffer_release(struct buffer *buffer);
void buffer_add(struct buffer *buffer, const void *bytes, size_t nbytes);
void buffer_add_text(struct buffer *buffer, const char *text);
void buffer_printf(struct buffer *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds `nbytes` uninitialised bytes at the end and returns them. NULL: no memory. */
uint8_t *buffer_extend(struct buffer *buffer, size_t nbytes);
