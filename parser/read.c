#include "parser/read.h"

#include "parser/formats.h"
#include "trace/trace_check.h"

#include <inttypes.h>
#include <stdio.h>

bool input_read(struct cursor *cursor, struct trace *trace) {
    if (!cursor_fill(cursor, 1))
        return cursor->error->code == READ_OK &&
               cursor_fail(cursor, READ_EMPTY, 0,
                           cursor->depth == 0 ? "the file is empty" : "the packed file is empty");
    (void)cursor_fill(cursor, FORMAT_NBYTES);
    if (cursor->error->code != READ_OK)
        return false;
    const struct format *format = format_of(cursor->p, (size_t)(cursor->end - cursor->p));
    if (format == NULL)
        return cursor_fail(cursor, READ_UNKNOWN_KIND, 0,
                           "this is not a memory snapshot: it is neither a pickle nor JSON, a page, a zip, "
                           "gzip, zstd or xz");
    if (format->packs && cursor->depth == FORMAT_LAYERS_MAX)
        return cursor_fail(cursor, READ_LIMIT, 0, "inputs are packed into each other more than 4 deep");
    return format->read(cursor, trace);
}

/* Corrects an error that was not caused by lack of memory. */
static void full_blame(struct read_error *error) {
    error->code = READ_LIMIT;
    snprintf(error->message, sizeof error->message,
             "the recording has more than 4 GiB of text, or more than 4,294,967,291 events or other rows "
             "of one kind");
}

/* Whatever the file was made of, the layers above get a recording that keeps its promises. */
static bool promises_check(struct cursor *cursor, const struct trace *trace) {
    const char *broken = trace_check(trace);
    int32_t device = broken != NULL ? trace_oversized_device(trace) : ORDINAL_NONE;
    if (broken == NULL)
        return true;
    if (device == ORDINAL_NONE)
        return cursor_fail(cursor, READ_BAD_VALUE, cursor_offset(cursor),
                           "a fault of Strata, please report it: what was read does not keep \"%s\"", broken);
    return cursor_fail(cursor, READ_BAD_VALUE, cursor_offset(cursor),
                       "the sizes of device %" PRId32 " add up to more than 8 EiB, which no memory holds",
                       device);
}

bool trace_read(struct trace *trace, const struct read_source *source, const struct read_progress *progress,
                struct read_error *error) {
    struct cursor cursor;
    *error = (struct read_error){.code = READ_OK};
    bool done = cursor_init(&cursor, source, progress, &trace->arena, error) && input_read(&cursor, trace) &&
                promises_check(&cursor, trace);
    cursor_release(&cursor);
    if (error->code == READ_NO_MEMORY && trace->arena.full)
        full_blame(error);
    return done;
}
