#include "parser/json/json.h"

#include <string.h>

/* Looks at the first key of the object, without moving; "" if the object does not begin with a short one. */
static void first_key(struct json_scan *scan, char key[JSON_KEY_NBYTES]) {
    struct cursor *cursor = scan->cursor;
    key[0] = '\0';
    (void)cursor_fill(cursor, 1024);
    const uint8_t *p = cursor->p, *end = cursor->end;
    if (p == end || *p != '{')
        return;
    do
        p++;
    while (p < end && *p != '"' && *p <= ' ');
    const uint8_t *close = p < end && *p == '"' ? memchr(p + 1, '"', (size_t)(end - p - 1)) : NULL;
    if (close == NULL || close - p - 1 >= JSON_KEY_NBYTES)
        return;
    memcpy(key, p + 1, (size_t)(close - p - 1));
    key[close - p - 1] = '\0';
}

static bool not_a_recording(struct json_scan *scan) {
    return cursor_fail(scan->cursor, READ_BAD_SHAPE, 0,
                       "this JSON is not a memory snapshot, a profiler trace or a memory timeline");
}

static bool object_read(struct json_scan *scan, struct trace *trace) {
    while (json_scan_member(scan)) {
        if (kineto_knows(scan->key))
            return kineto_read(scan, trace, false);
        if (json_snapshot_knows(scan->key))
            return json_snapshot_read(scan, trace, false);
        if (!json_scan_skip(scan))
            break;
    }
    return json_scan_finish(scan, trace, 0) && not_a_recording(scan);
}

static bool list_read(struct json_scan *scan, struct trace *trace) {
    char key[JSON_KEY_NBYTES];
    switch (json_scan_peek(scan)) {
    case '[': return memory_timeline_read(scan, trace);
    case ']': return json_snapshot_read(scan, trace, true); /* no segments means that nothing was allocated */
    case '{': break;
    default: return json_scan_finish(scan, trace, 0) && not_a_recording(scan);
    }
    first_key(scan, key);
    if (scan->cursor->error->code != READ_OK)
        return false;
    return kineto_knows_event(key) ? kineto_read(scan, trace, true) : json_snapshot_read(scan, trace, true);
}

static bool document_read(struct json_scan *scan, struct trace *trace) {
    struct cursor *cursor = scan->cursor;
    if (cursor_fill(cursor, 3) && memcmp(cursor->p, "\xef\xbb\xbf", 3) == 0)
        cursor->p += 3;
    if (json_scan_enter(scan, '{'))
        return object_read(scan, trace);
    if (json_scan_enter(scan, '['))
        return list_read(scan, trace);
    return json_scan_finish(scan, trace, 0) && not_a_recording(scan);
}

bool json_read(struct cursor *cursor, struct trace *trace) {
    struct json_scan scan;
    json_scan_init(&scan, cursor, &trace->arena);
    bool done = document_read(&scan, trace);
    json_scan_release(&scan);
    return done;
}
