#include "parser/cursor.h"

#include "base/bytes.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Blocks of this size mean few calls and fit into a processor's second-level cache. */
enum { BLOCK_NBYTES = 512 << 10, REPORT_NBYTES = 4 << 20 };

static bool buffer_grow(struct cursor *cursor, size_t capacity) {
    uint32_t old = (uint32_t)cursor->capacity;
    if (!ARENA_GROW(cursor->arena, cursor->buffer, old, capacity))
        return false;
    cursor->capacity = old;
    return true;
}

/* Makes the `nbytes` at `begin` available, to be read from `p` on. */
static void cursor_place(struct cursor *cursor, const uint8_t *begin, size_t nbytes) {
    cursor->base = cursor_offset(cursor);
    cursor->from = cursor->p = begin;
    cursor->end = begin + nbytes;
}

bool cursor_init(struct cursor *cursor, const struct read_source *source,
                 const struct read_progress *progress, struct arena *arena, struct read_error *error) {
    *cursor = (struct cursor){.source = source, .progress = progress, .arena = arena, .error = error};
    cursor->next_report = REPORT_NBYTES;
    cursor->borrows = source->lend != NULL;
    if (!buffer_grow(cursor, BLOCK_NBYTES + CURSOR_LOOKAHEAD))
        return cursor_fail_memory(cursor, 0);
    cursor_place(cursor, cursor->buffer, 0);
    return true;
}

void cursor_release(struct cursor *cursor) {
    ARENA_DROP(cursor->arena, cursor->buffer);
}

bool cursor_fail(struct cursor *cursor, enum read_code code, uint64_t offset, const char *format, ...) {
    if (cursor->error->code == READ_OK) {
        cursor->error->code = code;
        cursor->error->offset = offset;
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(cursor->error->message, sizeof cursor->error->message, format, arguments);
        va_end(arguments);
    }
    cursor->p = cursor->end;
    cursor->at_end = true;
    return false;
}

bool cursor_fail_memory(struct cursor *cursor, uint64_t offset) {
    return cursor_fail(cursor, READ_NO_MEMORY, offset, "%s",
                       cursor->arena->limit_hit ? "the memory limit is reached (see --max-memory)"
                                                : "not enough memory");
}

static bool cursor_report(struct cursor *cursor) {
    uint64_t offset = cursor_offset(cursor);
    if (cursor->progress == NULL || cursor->progress->report == NULL || offset < cursor->next_report)
        return true;
    cursor->next_report = offset + REPORT_NBYTES;
    return cursor->progress->report(cursor->progress->context, offset, cursor->n_events) ||
           cursor_fail(cursor, READ_INTERRUPTED, offset, "interrupted");
}

/* Moves the remaining bytes in front of one more block. Returns what the source returns. */
static int64_t block_borrow(struct cursor *cursor) {
    size_t left = (size_t)(cursor->end - cursor->p);
    uint8_t *bytes;
    int64_t got = cursor->source->lend(cursor->source->context, &bytes);
    if (got > 0) {
        bytes_copy(bytes - left, cursor->p, left);
        cursor_place(cursor, bytes - left, left + (size_t)got);
    }
    return got;
}

/* Moves the remaining bytes to the front of the cursor's own buffer, with room for a block after them. */
static bool buffer_begin(struct cursor *cursor) {
    size_t left = (size_t)(cursor->end - cursor->p);
    bool own = cursor->from == cursor->buffer;
    if (own) {
        bytes_move(cursor->buffer, cursor->p, left);
        cursor_place(cursor, cursor->buffer, left);
    }
    if (!buffer_grow(cursor, left + BLOCK_NBYTES))
        return cursor_fail_memory(cursor, cursor_offset(cursor));
    if (!own)
        bytes_copy(cursor->buffer, cursor->p, left);
    cursor_place(cursor, cursor->buffer, left);
    return true;
}

/* Reads one more block after the remaining bytes. Returns what the source returns. */
static int64_t block_append(struct cursor *cursor) {
    size_t left = (size_t)(cursor->end - cursor->p);
    int64_t got =
        cursor->source->read(cursor->source->context, cursor->buffer + left, cursor->capacity - left);
    cursor->end += got > 0 ? got : 0;
    return got;
}

static bool block_read(struct cursor *cursor) {
    cursor->borrows = cursor->borrows && (size_t)(cursor->end - cursor->p) <= READ_LENT_ROOM;
    if (!cursor->borrows && !buffer_begin(cursor))
        return false;
    int64_t got = cursor->borrows ? block_borrow(cursor) : block_append(cursor);
    if (got < 0) {
        /* a source that decodes another one has noted the other's fault */
        if (cursor->error->code == READ_OK)
            cursor->error->errno_value = errno;
        return cursor_fail(cursor, READ_IO, cursor->base + (uint64_t)(cursor->end - cursor->from), "%s",
                           strerror(errno));
    }
    cursor->at_end = got == 0;
    return cursor_report(cursor);
}

bool cursor_fill(struct cursor *cursor, size_t nbytes) {
    while ((size_t)(cursor->end - cursor->p) < nbytes) {
        if (cursor->at_end || !block_read(cursor))
            return false;
    }
    return true;
}

bool cursor_line(struct cursor *cursor, size_t limit, const uint8_t **line, size_t *nbytes) {
    for (size_t length = 0;; length++) {
        if (!cursor_need(cursor, length + 1))
            return false;
        if (length > limit)
            return cursor_fail(cursor, READ_BAD_LENGTH, cursor_offset(cursor),
                               "a line is longer than %zu bytes", limit);
        if (cursor->p[length] == '\n') {
            *line = cursor->p;
            *nbytes = length;
            cursor->p += length + 1;
            return true;
        }
    }
}
