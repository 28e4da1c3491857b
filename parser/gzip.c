#include "parser/gzip.h"

#include <errno.h>

bool gzip_recognises(const uint8_t *p, size_t nbytes) {
    return nbytes >= 3 && p[0] == 0x1f && p[1] == 0x8b && p[2] == 8;
}

bool gzip_open(struct gzip *gzip, struct cursor *cursor) {
    *gzip = (struct gzip){.cursor = cursor};
    return inflate_start(&gzip->stream, cursor->arena, INFLATE_GZIP) ||
           cursor_fail_memory(cursor, cursor_offset(cursor));
}

/* A member is complete. True: another one follows. */
static bool member_follows(struct gzip *gzip) {
    struct cursor *cursor = gzip->cursor;
    (void)cursor_fill(cursor, 3);
    return gzip_recognises(cursor->p, (size_t)(cursor->end - cursor->p)) &&
           inflateReset(&gzip->stream) == Z_OK;
}

static int64_t gzip_read(void *context, void *to, size_t nbytes) {
    struct gzip *gzip = context;
    size_t got = 0;
    while (gzip->end == SOURCE_OPEN && got == 0) { /* a member may be empty, and 0 would be the end */
        got = inflate_some(&gzip->stream, gzip->cursor, to, nbytes, &gzip->end);
        if (gzip->end == SOURCE_COMPLETE && member_follows(gzip))
            gzip->end = SOURCE_OPEN;
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

void gzip_release(struct gzip *gzip) {
    inflateEnd(&gzip->stream);
}
