/* Growing bytes that a renderer writes into; the caller decides where they go. */
#ifndef STRATA_BASE_BUFFER_H
#define STRATA_BASE_BUFFER_H

#include "base/arena.h"

/* Starts as {0}, or with the host that its memory is to come from: an arena's, whose limit then holds. After a failed
 * addition (no memory) `failed` is set and later additions do nothing, so only the end needs a check. */
struct buffer {
    uint8_t *bytes;
    size_t nbytes, capacity;
    bool failed;
    struct arena_host host; /* `resize` NULL: the C library's memory */
};

/* Frees the bytes; what is left is empty and may be used again. */
void buffer_release(struct buffer *buffer);
void buffer_add(struct buffer *buffer, const void *bytes, size_t nbytes);
void buffer_add_text(struct buffer *buffer, const char *text);
void buffer_printf(struct buffer *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Room for `nbytes` more; what is returned is at the end and counted as used. NULL: no memory. */
uint8_t *buffer_extend(struct buffer *buffer, size_t nbytes);

#endif
