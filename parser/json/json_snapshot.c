/* Memory snapshots in JSON: the same shapes as in pickles, with lists in place of tuples. Segments and events are
 * walked one by one; cJSON reads their contents. */
#include "parser/json/json.h"
#include "parser/snapshot.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_LIST_DEPTH = 2 }; /* device_traces is a list of lists of events */

struct walker {
    struct json_scan *scan;
    struct arena *arena;
    struct snapshot snapshot;
    struct value *stack; /* keys and values of containers still open */
    uint32_t n_stack, stack_capacity;
};

/* The snapshot has set code and message; this adds the offset. */
static bool snapshot_failed(struct walker *walker) {
    struct cursor *cursor = walker->scan->cursor;
    cursor->error->offset = cursor_offset(cursor);
    return cursor_fail(cursor, cursor->error->code, cursor->error->offset, "%s", "");
}

static bool push(struct walker *walker, struct value value) {
    if (!ARENA_GROW(walker->arena, walker->stack, walker->stack_capacity, (uint64_t)walker->n_stack + 1))
        return json_scan_fail_memory(walker->scan);
    walker->stack[walker->n_stack++] = value;
    return true;
}

static bool push_text(struct walker *walker, const char *text) {
    uint32_t id;
    return (intern_string(&walker->snapshot.interner, text, strlen(text), &id) ||
            json_scan_fail_memory(walker->scan)) &&
           push(walker, (struct value){.tag = VALUE_STRING, .bits = id});
}

/* ---- trees of cJSON ---- */

static bool push_number(struct walker *walker, const char *text) {
    bool is_large;
    int64_t integer;
    double number = strtod(text, NULL);
    struct value value = {.tag = VALUE_FLOAT};
    memcpy(&value.bits, &number, sizeof number);
    if (json_text_is_integer(text) && json_integer_of_text(text, &integer, &is_large))
        value = (struct value){.tag = is_large ? VALUE_BIG : VALUE_INT, .bits = (uint64_t)integer};
    else if (json_text_is_integer(text) && *text != '-') /* of 2^64 and more, as a pickle's */
        value = (struct value){.tag = VALUE_BIG, .bits = UINT64_MAX};
    return push(walker, value);
}

static bool push_json(struct walker *walker, const cJSON *json);

/* The values pushed from `first` on. (The stack has no memory before the first push.) */
static const struct value *values_from(const struct walker *walker, uint32_t first) {
    return first == walker->n_stack ? NULL : walker->stack + first;
}

/* Did a container become a fact, so that nothing refers to the nodes below it? */
static bool is_fact(enum value_tag tag) {
    return tag == VALUE_FRAME || tag == VALUE_EVENT || tag == VALUE_BLOCK || tag == VALUE_SEGMENT ||
           tag == VALUE_SPENT;
}

/* Makes a dict of the keys and values from `first` on. */
static bool dict_close(struct walker *walker, uint32_t first, uint32_t n_nodes, uint32_t n_items) {
    struct value dict = {.tag = VALUE_NEW_DICT};
    struct snapshot *snapshot = &walker->snapshot;
    if (!snapshot_dict(snapshot, values_from(walker, first), (walker->n_stack - first) / 2, &dict))
        return snapshot_failed(walker);
    if (is_fact(dict.tag)) {
        snapshot->nodes.count = n_nodes;
        snapshot->items.count = n_items;
    }
    walker->n_stack = first;
    return push(walker, dict);
}

static bool push_object(struct walker *walker, const cJSON *json) {
    uint32_t first = walker->n_stack, n_nodes = walker->snapshot.nodes.count,
             n_items = walker->snapshot.items.count;
    const cJSON *member;
    cJSON_ArrayForEach(member, json) {
        if (!push_text(walker, member->string) || !push_json(walker, member))
            return false;
    }
    return dict_close(walker, first, n_nodes, n_items);
}

static bool push_array(struct walker *walker, const cJSON *json) {
    uint32_t first = walker->n_stack;
    const cJSON *item;
    cJSON_ArrayForEach(item, json) {
        if (!push_json(walker, item))
            return false;
    }
    struct value list;
    if (!snapshot_tuple(&walker->snapshot, values_from(walker, first), walker->n_stack - first, &list))
        return snapshot_failed(walker);
    walker->n_stack = first;
    return push(walker, list);
}

/* The scanner bounds the depth. */
static bool push_json(struct walker *walker, const cJSON *json) {
    if (cJSON_IsObject(json))
        return push_object(walker, json);
    if (cJSON_IsArray(json))
        return push_array(walker, json);
    if (json_is_number(json))
        return push_number(walker, json->valuestring + 1);
    if (cJSON_IsString(json))
        return push_text(walker, json->valuestring);
    if (cJSON_IsBool(json))
        return push(walker, (struct value){.tag = VALUE_BOOL, .bits = cJSON_IsTrue(json) ? 1 : 0});
    return push(walker, (struct value){.tag = VALUE_NONE});
}

/* ---- the walk: each function pushes one value, or none if the document breaks off; false: an error ---- */

static bool is_broken(const struct walker *walker) {
    return walker->scan->cursor->error->code != READ_OK;
}

static bool walk_leaf(struct walker *walker) {
    const cJSON *json;
    if (!json_scan_take(walker->scan, &json))
        return !is_broken(walker);
    return json == NULL ? push(walker, (struct value){.tag = VALUE_SPENT}) : push_json(walker, json);
}

static bool walk_list(struct walker *walker, bool of_segments, uint32_t depth);

static bool walk_segment(struct walker *walker) {
    uint32_t first = walker->n_stack, n_nodes = walker->snapshot.nodes.count,
             n_items = walker->snapshot.items.count;
    while (json_scan_member(walker->scan)) {
        bool blocks = strcmp(walker->scan->key, "blocks") == 0 && json_scan_peek(walker->scan) == '[';
        if (!push_text(walker, walker->scan->key))
            return false;
        if (!(blocks ? json_scan_enter(walker->scan, '[') && walk_list(walker, false, MAX_LIST_DEPTH)
                     : walk_leaf(walker)))
            return false;
    }
    if (json_scan_is_sound(walker->scan))
        return dict_close(walker, first, n_nodes, n_items);
    walker->n_stack = first; /* without all of its blocks, its figures would be wrong */
    return !is_broken(walker);
}

/* Walks a list; the scan is before its first item. Pushes what came before a break. */
static bool walk_list(struct walker *walker, bool of_segments, uint32_t depth) {
    struct value list = {.tag = VALUE_NEW_LIST};
    while (json_scan_item(walker->scan)) {
        uint32_t before = walker->n_stack;
        bool done;
        if (depth < MAX_LIST_DEPTH && json_scan_enter(walker->scan, '['))
            done = walk_list(walker, false, depth + 1);
        else if (of_segments && json_scan_enter(walker->scan, '{'))
            done = walk_segment(walker);
        else
            done = walk_leaf(walker);
        if (!done)
            return false;
        uint32_t n_items = walker->n_stack - before;
        if (n_items != 0 && !snapshot_append(&walker->snapshot, &list, walker->stack + before, n_items))
            return snapshot_failed(walker);
        walker->n_stack = before;
        walker->scan->cursor->n_events = walker->snapshot.n_events;
    }
    return !is_broken(walker) && push(walker, list);
}

/* Walks the value of the root's member `key`. */
static bool walk_member(struct walker *walker) {
    bool segments = strcmp(walker->scan->key, "segments") == 0;
    if (!push_text(walker, walker->scan->key))
        return false;
    return json_scan_enter(walker->scan, '[') ? walk_list(walker, segments, 0) : walk_leaf(walker);
}

static bool walk_root(struct walker *walker) {
    bool known = true; /* the first member is next already */
    do {
        uint32_t before = walker->n_stack;
        if (known ? !walk_member(walker) : !json_scan_skip(walker->scan) && is_broken(walker))
            return false;
        if ((walker->n_stack - before) % 2 != 0)
            walker->n_stack--; /* a key without its value */
    } while (json_scan_member(walker->scan) && (known = json_snapshot_knows(walker->scan->key), true));
    return !is_broken(walker);
}

/* From which device on a cut in the root's last member leaves the final segments without meaning. Segments that are
 * cut themselves have no meaning at all. */
static int32_t first_cut_device(const struct walker *walker) {
    if (walker->n_stack < 2)
        return 0;
    const struct value *key = &walker->stack[walker->n_stack - 2], *value = key + 1;
    if (value->tag == VALUE_SEGMENTS)
        return 0;
    if (!snapshot_is_traces_key(key))
        return INT32_MAX;
    uint32_t n_lists = value->tag == VALUE_LIST ? walker->snapshot.nodes.row[value->bits].count : 0;
    return n_lists == 0 || n_lists > INT32_MAX ? 0 : (int32_t)n_lists - 1;
}

static bool snapshot_close(struct walker *walker, bool is_list) {
    return (is_list || dict_close(walker, 0, 0, 0)) &&
           (snapshot_finish(&walker->snapshot, walker->stack[0]) || snapshot_failed(walker));
}

static bool walk(struct walker *walker, bool is_list) {
    struct json_scan *scan = walker->scan;
    if (is_list ? !walk_list(walker, true, MAX_LIST_DEPTH) : !walk_root(walker))
        return false;
    if (!json_scan_finish(scan, walker->snapshot.trace, walker->snapshot.n_events))
        return false;
    if (!json_scan_is_sound(scan))
        walker->snapshot.first_cut_device = first_cut_device(walker);
    return snapshot_close(walker, is_list);
}

bool json_snapshot_read(struct json_scan *scan, struct trace *trace, bool is_list) {
    struct walker walker = {.scan = scan, .arena = &trace->arena};
    bool done = snapshot_init(&walker.snapshot, trace, scan->cursor) || snapshot_failed(&walker);
    done = done && walk(&walker, is_list);
    ARENA_DROP(walker.arena, walker.stack);
    snapshot_release(&walker.snapshot);
    return done;
}

bool json_snapshot_knows(const char *key) {
    static const char *const keys[] = {"segments",
                                       "device_traces",
                                       "traces",
                                       "allocator_settings",
                                       "external_annotations",
                                       "trace_alloc_overflowed",
                                       "trace_alloc_max_entries",
                                       "host_segments",
                                       "host_traces",
                                       NULL};
    return json_is_one_of(key, keys);
}
