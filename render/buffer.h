/* Growing bytes that a renderer writes into; the caller decides where they go. */
#ifndef STRATA_RENDER_BUFFER_H
#define STRATA_RENDER_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Starts as {0}. After a failed addition (no memory) `failed` is set and later additions do nothing, so only the end
 * needs a check. */
struct buffer {
    uint8_t *bytes;
    size_t nbytes, capacity;
    bool failed;
};

void buffer_release(struct buffer *buffer);
void buffer_add(struct buffer *buffer, const void *bytes, size_t nbytes);
void buffer_add_text(struct buffer *buffer, const char *text);
void buffer_printf(struct buffer *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Room for `nbytes` more; what is returned is at the end and counted as used. NULL: no memory. */
uint8_t *buffer_extend(struct buffer *buffer, size_t nbytes);

#endif
