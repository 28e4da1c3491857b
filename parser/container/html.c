#include "parser/container/html.h"

#include "parser/sniff.h"

#include <string.h>
#include <strings.h>

bool html_recognises(const uint8_t *p, size_t nbytes) {
    static const char *const begins[] = {"<!doctype html", "<html", "<!--", "<head", "<script"};
    size_t blank = sniff_blank(p, nbytes);
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++) {
        size_t length = strlen(begins[i]);
        if (nbytes - blank >= length && strncasecmp((const char *)p + blank, begins[i], length) == 0)
            return true;
    }
    return false;
}

/* Texts that tell the kinds of pages apart. */
enum mark { MARK_MEMORY_VIZ, MARK_STRATA, MARK_DIFFERENCE, MARK_PICTURE, MARK_BASE64, MARK_COUNT };

static const char *const marks[MARK_COUNT] = {
    [MARK_MEMORY_VIZ] = "const local_files",
    [MARK_STRATA] = "<script type=\"application/octet-stream\" id=\"payload\">",
    [MARK_DIFFERENCE] = "<script type=\"application/octet-stream\" id=\"payload-a\">",
    [MARK_PICTURE] = "data:image/png;base64,",
    [MARK_BASE64] = "\"base64\"",
};
enum { MARK_MAX_NBYTES = 64 };

/* The first of the marks in `set` (a bit each) in the buffered bytes; NULL: none. */
static const uint8_t *mark_in_buffer(const struct cursor *cursor, unsigned set, enum mark *found) {
    const uint8_t *first = NULL;
    for (unsigned mark = 0; mark < MARK_COUNT; mark++) {
        const uint8_t *end = first == NULL ? cursor->end : first;
        const uint8_t *at =
            set >> mark & 1 ? memmem(cursor->p, (size_t)(end - cursor->p), marks[mark], strlen(marks[mark]))
                            : NULL;
        if (at != NULL) {
            first = at;
            *found = (enum mark)mark;
        }
    }
    return first;
}

/* Moves the cursor past the next mark. False: there is none, or an error. */
static bool mark_seek(struct cursor *cursor, unsigned set, enum mark *found) {
    for (;;) {
        bool more = cursor_fill(cursor, CURSOR_LOOKAHEAD);
        const uint8_t *at = mark_in_buffer(cursor, set, found);
        if (at != NULL) {
            cursor->p = at + strlen(marks[*found]);
            return true;
        }
        size_t available = (size_t)(cursor->end - cursor->p);
        if (!more || available < MARK_MAX_NBYTES)
            return false;
        cursor->p = cursor->end - MARK_MAX_NBYTES; /* the end of the buffer may cut a mark */
    }
}

static bool character_skip(struct cursor *cursor, uint8_t character) {
    while (cursor_fill(cursor, 1) &&
           (*cursor->p == ' ' || *cursor->p == '\t' || *cursor->p == '\n' || *cursor->p == '\r'))
        cursor->p++;
    if (!cursor_fill(cursor, 1) || *cursor->p != character)
        return false;
    cursor->p++;
    return true;
}

static bool seek_fail(struct cursor *cursor, bool picture) {
    if (cursor->error->code != READ_OK)
        return false;
    if (picture)
        return cursor_fail(cursor, READ_NO_DATA, 0,
                           "this page holds a picture and no data: call export_memory_timeline again with a "
                           "name that ends in .raw.json.gz, and read that file");
    return cursor_fail(cursor, READ_NO_DATA, 0,
                       "this page holds no recording: it is neither from _memory_viz.py nor from Strata");
}

bool html_seek(struct cursor *cursor, enum html_kind *kind) {
    unsigned set = 1U << MARK_MEMORY_VIZ | 1U << MARK_STRATA | 1U << MARK_DIFFERENCE | 1U << MARK_PICTURE;
    bool picture = false;
    enum mark mark = MARK_PICTURE;
    while (mark_seek(cursor, set, &mark)) {
        *kind = mark == MARK_STRATA ? HTML_STRATA : HTML_MEMORY_VIZ;
        if (mark == MARK_STRATA)
            return true;
        if (mark == MARK_DIFFERENCE)
            return cursor_fail(
                cursor, READ_NO_DATA, 0,
                "this page shows the difference of two recordings: give one of the recordings itself");
        if (mark == MARK_PICTURE)
            picture = true;
        else if (mark == MARK_MEMORY_VIZ)
            set = 1U << MARK_BASE64;
        else if (character_skip(cursor, ':') && character_skip(cursor, '"'))
            return true;
    }
    return seek_fail(cursor, picture);
}
