#include "base/buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER_FIRST_NBYTES = 4096 };

static void *bytes_resize(struct buffer *buffer, size_t capacity) {
    if (buffer->host.resize != NULL)
        return buffer->host.resize(buffer->host.context, buffer->bytes, buffer->capacity, capacity);
    if (capacity != 0)
        return realloc(buffer->bytes, capacity);
    free(buffer->bytes);
    return NULL;
}

void buffer_release(struct buffer *buffer) {
    if (buffer->bytes != NULL)
        bytes_resize(buffer, 0);
    *buffer = (struct buffer){.host = buffer->host, .sink = buffer->sink};
}

/* Hands bytes straight to the sink. False, and `failed` is set: the sink takes no more. */
static bool sink_give(struct buffer *buffer, const void *bytes, size_t nbytes) {
    if (!buffer->failed && !buffer->sink.take(buffer->sink.context, bytes, nbytes))
        buffer->failed = buffer->refused = true;
    buffer->taken_nbytes += nbytes;
    return !buffer->failed;
}

bool buffer_flush(struct buffer *buffer) {
    if (buffer->sink.take == NULL || buffer->nbytes == 0 || buffer->failed)
        return !buffer->failed;
    size_t nbytes = buffer->nbytes;
    buffer->nbytes = 0;
    return sink_give(buffer, buffer->bytes, nbytes);
}

/* Grows by half, so that n additions cost O(n) copies. False: no memory, and `failed` is set. */
static bool buffer_reserve(struct buffer *buffer, size_t nbytes) {
    if (buffer->failed || nbytes > SIZE_MAX - buffer->nbytes) {
        buffer->failed = true;
        return false;
    }
    if (buffer->sink.take != NULL && buffer->nbytes + nbytes > BUFFER_BLOCK_NBYTES && !buffer_flush(buffer))
        return false;
    size_t needed = buffer->nbytes + nbytes;
    if (needed <= buffer->capacity)
        return true;
    size_t capacity = buffer->capacity <= SIZE_MAX / 2 ? buffer->capacity + buffer->capacity / 2 : needed;
    if (capacity < BUFFER_FIRST_NBYTES)
        capacity = BUFFER_FIRST_NBYTES;
    if (capacity < needed)
        capacity = needed;
    uint8_t *bytes = bytes_resize(buffer, capacity);
    /* Near a limit there may be less memory. So the request shrinks by halves: growing by the bare need would copy
     * everything again for each addition until the limit is met. */
    while (!bytes && capacity > needed) {
        capacity = needed + (capacity - needed) / 2;
        bytes = bytes_resize(buffer, capacity);
    }
    if (!bytes) {
        buffer->failed = true;
        return false;
    }
    buffer->bytes = bytes;
    buffer->capacity = capacity;
    return true;
}

uint8_t *buffer_extend(struct buffer *buffer, size_t nbytes) {
    /* An empty extension of an empty buffer must still not look like "no memory". */
    if (!buffer_reserve(buffer, nbytes == 0 && buffer->capacity == 0 ? 1 : nbytes))
        return NULL;
    uint8_t *end = buffer->bytes + buffer->nbytes;
    buffer->nbytes += nbytes;
    return end;
}

void buffer_add(struct buffer *buffer, const void *bytes, size_t nbytes) {
    if (nbytes == 0)
        return;
    if (buffer->sink.take != NULL && nbytes >= BUFFER_BLOCK_NBYTES) {
        if (buffer_flush(buffer))
            sink_give(buffer, bytes, nbytes);
        return;
    }
    uint8_t *to = buffer_extend(buffer, nbytes);
    if (to)
        memcpy(to, bytes, nbytes);
}

void buffer_add_text(struct buffer *buffer, const char *text) {
    buffer_add(buffer, text, strlen(text));
}

/* Formats into the room that is left (vsnprintf needs room for a terminator too). Returns the full length. */
static int buffer_format(struct buffer *buffer, const char *format, va_list arguments) {
    size_t room = buffer->capacity - buffer->nbytes;
    char *end = room != 0 ? (char *)buffer->bytes + buffer->nbytes : NULL;
    return vsnprintf(end, room, format, arguments);
}

void buffer_printf(struct buffer *buffer, const char *format, ...) {
    if (buffer->failed)
        return;
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = buffer_format(buffer, format, arguments);
    if (length < 0) {
        buffer->failed = true;
    } else if ((size_t)length < buffer->capacity - buffer->nbytes) {
        buffer->nbytes += (size_t)length;
    } else if (buffer_reserve(buffer, (size_t)length + 1)) { /* this may have emptied it */
        buffer_format(buffer, format, again);
        buffer->nbytes += (size_t)length;
    }
    va_end(again);
    va_end(arguments);
}
