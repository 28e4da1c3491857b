#include "parser/container/gzip.h"

#include <errno.h>
#include <string.h>

bool gzip_recognises(const uint8_t *p, size_t nbytes) {
    return nbytes >= 3 && p[0] == 0x1f && p[1] == 0x8b && p[2] == 8;
}

/* May ISA-L read the member at the cursor? Only if the input can be read again, because zlib must then explain
 * damage. Also ISA-L ignores flags that RFC 1952 reserves and, up to version 2.30, fails on a header with a
 * checksum that comes in two pieces. */
static bool member_is_for_fast(struct cursor *cursor) {
    enum { FLAGS_AT = 3, FLAG_HEADER_CRC = 0x02, FLAGS_RESERVED = 0xE0 };
    const struct read_helpers *helpers = cursor->source->helpers;
    return helpers != NULL && helpers->again != NULL && cursor_fill(cursor, FLAGS_AT + 1) &&
           (cursor->p[FLAGS_AT] & (FLAG_HEADER_CRC | FLAGS_RESERVED)) == 0;
}

static bool member_begin(struct gzip *gzip) {
    gzip->is_fast = member_is_for_fast(gzip->cursor);
    if (gzip->is_fast && gzip->fast == NULL)
        gzip->fast = inflate_fast_new(&gzip->memory);
    else if (gzip->is_fast)
        inflate_fast_reset(gzip->fast);
    gzip->is_fast &= gzip->fast != NULL;
    if (gzip->is_fast)
        return true;
    if (gzip->started)
        return inflateReset(&gzip->stream) == Z_OK;
    gzip->started = inflate_start(&gzip->stream, &gzip->memory, INFLATE_GZIP);
    return gzip->started || cursor_fail_memory(gzip->cursor, cursor_offset(gzip->cursor));
}

bool gzip_open(struct gzip *gzip, struct cursor *cursor) {
    *gzip = (struct gzip){.cursor = cursor};
    arena_init(&gzip->memory, cursor->arena->host, SIZE_MAX);
    if (member_begin(gzip))
        return true;
    arena_release(&gzip->memory);
    return false;
}

/* A member is complete. Returns SOURCE_OPEN if another one follows. */
static enum source_end member_next(struct gzip *gzip) {
    struct cursor *cursor = gzip->cursor;
    (void)cursor_fill(cursor, 3);
    if (!gzip_recognises(cursor->p, (size_t)(cursor->end - cursor->p)))
        return SOURCE_COMPLETE;
    return member_begin(gzip) ? SOURCE_OPEN : SOURCE_FAILED;
}

/* zlib's message is these words and the reason, which is never missing. */
static const char unexplained[] = "the compressed data is damaged";

static size_t member_inflate(struct gzip *gzip, void *to, size_t nbytes) {
    struct cursor *cursor = gzip->cursor;
    if (!gzip->is_fast)
        return inflate_some(&gzip->stream, cursor, to, nbytes, &gzip->end);
    size_t got = inflate_fast_some(gzip->fast, cursor, to, nbytes, &gzip->end);
    if (gzip->end == SOURCE_FAILED)
        cursor_fail(cursor, READ_CORRUPT, cursor_offset(cursor), "%s",
                    unexplained); /* unless something else failed first */
    return got;
}

static int64_t gzip_read(void *context, void *to, size_t nbytes) {
    struct gzip *gzip = context;
    size_t got = 0;
    while (gzip->end == SOURCE_OPEN && got == 0) { /* a member may be empty, but 0 would mean the end */
        got = member_inflate(gzip, to, nbytes);
        if (gzip->end == SOURCE_COMPLETE)
            gzip->end = member_next(gzip);
    }
    if (gzip->end == SOURCE_FAILED && got == 0) {
        errno = EIO;
        return -1;
    }
    return (int64_t)got;
}

struct read_source gzip_source(struct gzip *gzip) {
    return (struct read_source){.read = gzip_read, .context = gzip};
}

bool gzip_finish(struct gzip *gzip) {
    uint8_t waste[16 << 10];
    while (gzip_read(gzip, waste, sizeof waste) > 0)
        continue;
    return gzip->cursor->error->code == READ_OK;
}

/* Finds the error that zlib reports for the whole input; READ_OK: zlib finds none. */
static void damage_find(const struct read_source *source, struct arena *arena, struct read_error *error) {
    struct cursor cursor;
    struct gzip gzip;
    if (cursor_init(&cursor, source, NULL, arena, error) && gzip_open(&gzip, &cursor)) {
        (void)gzip_finish(&gzip);
        gzip_release(&gzip);
    }
    cursor_release(&cursor);
}

void gzip_explain(struct gzip *gzip) {
    const struct read_source *source = gzip->cursor->source;
    struct read_error *error = gzip->cursor->error, found = {.code = READ_OK};
    struct read_source again;
    if (error->code != READ_CORRUPT || strcmp(error->message, unexplained) != 0 ||
        !source->helpers->again(source->context, &again))
        return;
    damage_find(&again, gzip->cursor->arena, &found);
    if (found.code == READ_CORRUPT)
        *error = found;
}

void gzip_release(struct gzip *gzip) {
    if (gzip->started)
        inflateEnd(&gzip->stream);
    arena_release(&gzip->memory);
}
