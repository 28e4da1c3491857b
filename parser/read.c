#include "parser/read.h"

#include "parser/cursor.h"
#include "parser/pickle.h"

#include <stdio.h>

const char *read_code_name(enum read_code code) {
    static const char *const names[] = {
        [READ_OK] = "ok",
        [READ_IO] = "io",
        [READ_EMPTY] = "empty",
        [READ_UNKNOWN_KIND] = "unknown_kind",
        [READ_TRUNCATED] = "truncated",
        [READ_BAD_OPCODE] = "bad_opcode",
        [READ_FORBIDDEN] = "forbidden",
        [READ_BAD_LENGTH] = "bad_length",
        [READ_BAD_VALUE] = "bad_value",
        [READ_BAD_STACK] = "bad_stack",
        [READ_BAD_SHAPE] = "bad_shape",
        [READ_LIMIT] = "limit",
        [READ_NO_MEMORY] = "no_memory",
        [READ_INTERRUPTED] = "interrupted",
    };
    return names[code];
}

/* Pickles of protocol 2 and later begin with PROTO, older ones with the opcode of a container. */
static bool is_pickle(const uint8_t *p, size_t nbytes) {
    if (nbytes >= 2 && p[0] == 0x80 && p[1] >= 2)
        return true;
    if (nbytes >= 2 && (p[0] == ']' || p[0] == '}' || p[0] == '('))
        return p[1] == '(' || p[1] == '.' || p[1] == 'q' || p[1] == 'p' || p[1] == 'd' || p[1] == 'l';
    return nbytes >= 1 && p[0] == 'c';
}

static bool input_read(struct cursor *cursor, struct trace *trace) {
    if (!cursor_fill(cursor, 1))
        return cursor->error->code == READ_OK && cursor_fail(cursor, READ_EMPTY, 0, "the file is empty");
    (void)cursor_fill(cursor, 16);
    if (cursor->error->code != READ_OK)
        return false;
    if (is_pickle(cursor->p, (size_t)(cursor->end - cursor->p)))
        return pickle_read(cursor, trace);
    return cursor_fail(cursor, READ_UNKNOWN_KIND, 0,
                       "this is not a memory snapshot: it does not begin like a pickle");
}

bool trace_read(struct trace *trace, const struct read_source *source, const struct read_progress *progress,
                struct read_error *error) {
    struct cursor cursor;
    *error = (struct read_error){.code = READ_OK};
    bool done = cursor_init(&cursor, source, progress, &trace->arena, error) && input_read(&cursor, trace);
    cursor_release(&cursor);
    return done;
}
