#include "parser/snapshot.h"

#include "base/bytes.h"
#include "base/format.h"
#include "parser/keys.h"
#include "parser/settings.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A process sees some 16 devices. Each is compared with every other one, and gets a timeline of its own. */
enum { MAX_DEVICES = 1024 };

_Static_assert((int)KEY_LAST_KEY < (int)MAX_KEYS, "a dict's keys are bits of one word");

static bool fail(struct snapshot *snapshot, enum read_code code, const char *message) {
    if (snapshot->error->code == READ_OK) {
        snapshot->error->code = code;
        snprintf(snapshot->error->message, sizeof snapshot->error->message, "%s", message);
    }
    return false;
}

static bool fail_memory(struct snapshot *snapshot) {
    return fail(snapshot, READ_NO_MEMORY,
                snapshot->trace->arena.limit_hit ? "the memory limit is reached (see --max-memory)"
                                                 : "not enough memory");
}

/* Room for one more row. */
#define rows_reserve(snapshot, rows)                                                                      \
    (ARENA_GROW(&(snapshot)->trace->arena, (rows)->row, (rows)->capacity, (uint64_t)(rows)->count + 1) || \
     fail_memory(snapshot))

bool snapshot_init(struct snapshot *snapshot, struct trace *trace, struct read_error *error) {
#define STRATA_KEY_TEXT(name, text) text,
    static const char *const texts[] = {STRATA_KEYS(STRATA_KEY_TEXT)};
#undef STRATA_KEY_TEXT
    *snapshot = (struct snapshot){.trace = trace, .error = error, .first_cut_device = INT32_MAX};
    interner_init(&snapshot->interner, trace);
    for (unsigned i = 0; i < KEY_COUNT; i++) {
        uint32_t id;
        if (!intern_string(&snapshot->interner, texts[i], strlen(texts[i]), &id))
            return fail_memory(snapshot);
    }
    return true;
}

void snapshot_release(struct snapshot *snapshot) {
    struct arena *arena = &snapshot->trace->arena;
    interner_release(&snapshot->interner);
    ARENA_DROP(arena, snapshot->recorders.row);
    ARENA_DROP(arena, snapshot->events.row);
    ARENA_DROP(arena, snapshot->pairs.row);
    ARENA_DROP(arena, snapshot->blocks.row);
    ARENA_DROP(arena, snapshot->segments.row);
    ARENA_DROP(arena, snapshot->chains.row);
    ARENA_DROP(arena, snapshot->nodes.row);
    ARENA_DROP(arena, snapshot->items.row);
    ARENA_DROP(arena, snapshot->frames.row);
}

/* ---- the dict that is being looked at ---- */

static void keys_load(struct snapshot *snapshot, const struct value *pairs, uint32_t n_pairs) {
    uint64_t mask = 0;
    for (uint32_t i = 0; i < n_pairs; i++) {
        const struct value *key = &pairs[2 * i];
        if (key->tag != VALUE_STRING || key->bits > KEY_LAST_KEY + 1 || key->bits == 0)
            continue;
        snapshot->key_value[key->bits - 1] = pairs[2 * i + 1];
        mask |= UINT64_C(1) << (key->bits - 1);
    }
    snapshot->key_mask = mask;
}

static bool key_has(const struct snapshot *snapshot, enum key key) {
    return snapshot->key_mask >> key & 1;
}

/* Integers as 64 bits; the C++ pickler writes addresses of 2^63 and above as negative numbers. Anything else
 * is 0. */
static uint64_t value_uint(const struct value *value) {
    return value->tag == VALUE_INT || value->tag == VALUE_BIG || value->tag == VALUE_BOOL ? value->bits : 0;
}

static uint64_t key_uint(const struct snapshot *snapshot, enum key key) {
    return key_has(snapshot, key) ? value_uint(&snapshot->key_value[key]) : 0;
}

/* Byte counts are never negative; a file that says so means nothing. */
static uint64_t key_size(const struct snapshot *snapshot, enum key key) {
    uint64_t size = key_uint(snapshot, key);
    return size <= INT64_MAX ? size : 0;
}

static uint32_t key_string(const struct snapshot *snapshot, enum key key) {
    return key_has(snapshot, key) && snapshot->key_value[key].tag == VALUE_STRING
               ? (uint32_t)snapshot->key_value[key].bits
               : 0;
}

static uint32_t key_stack(const struct snapshot *snapshot, enum key key) {
    return key_has(snapshot, key) && snapshot->key_value[key].tag == VALUE_STACK
               ? (uint32_t)snapshot->key_value[key].bits
               : 0;
}

static bool is_word(uint32_t string, enum key word) {
    return string == (uint32_t)word + 1;
}

static struct pool_id key_pool(const struct snapshot *snapshot, enum key key, bool *has_pool) {
    const struct value *value = &snapshot->key_value[key];
    *has_pool = false;
    if (!key_has(snapshot, key))
        return (struct pool_id){0, 0};
    if (value->tag == VALUE_PAIR) {
        *has_pool = true;
        return snapshot->pairs.row[value->bits];
    }
    if (value->tag != VALUE_LIST || snapshot->nodes.row[value->bits].count != 2)
        return (struct pool_id){0, 0};
    const struct node *node = &snapshot->nodes.row[value->bits];
    *has_pool = true;
    return (struct pool_id){value_uint(&snapshot->items.row[node->first - 1].value),
                            value_uint(&snapshot->items.row[node->last - 1].value)};
}

/* ---- frames ---- */

static bool shape_frame(struct snapshot *snapshot, struct value *result) {
    uint64_t line = key_uint(snapshot, KEY_LINE);
    struct frame frame = {.file = key_string(snapshot, KEY_FILENAME),
                          .name = key_string(snapshot, KEY_NAME),
                          /* "No line" comes as -1, signed or not. */
                          .line = line <= INT32_MAX ? (uint32_t)line : 0};
    struct fx fx = {.op = key_string(snapshot, KEY_FX_NODE_OP),
                    .name = key_string(snapshot, KEY_FX_NODE_NAME),
                    .target = key_string(snapshot, KEY_FX_NODE_TARGET),
                    .original_trace = key_string(snapshot, KEY_FX_ORIGINAL_TRACE)};
    uint32_t id;
    if (!intern_fx(&snapshot->interner, fx, &frame.fx) || !intern_frame(&snapshot->interner, frame, &id))
        return fail_memory(snapshot);
    *result = (struct value){.tag = VALUE_FRAME, .bits = id};
    return true;
}

/* ---- events ---- */

static enum action action_of(uint32_t word) {
    switch (word - 1) {
    case KEY_ALLOC: return ACTION_ALLOC;
    case KEY_FREE_REQUESTED: return ACTION_FREE_REQUESTED;
    case KEY_FREE_COMPLETED: return ACTION_FREE_COMPLETED;
    case KEY_SEGMENT_ALLOC: return ACTION_SEGMENT_ALLOC;
    case KEY_SEGMENT_FREE: return ACTION_SEGMENT_FREE;
    case KEY_SEGMENT_MAP: return ACTION_SEGMENT_MAP;
    case KEY_SEGMENT_UNMAP: return ACTION_SEGMENT_UNMAP;
    case KEY_SNAPSHOT: return ACTION_SNAPSHOT;
    case KEY_OOM: return ACTION_OOM;
    case KEY_ANNOTATE: return ACTION_ANNOTATE;
    case KEY_USER_DEFINED:
    case KEY_WORKSPACE_SNAPSHOT: return ACTION_IGNORED;
    default: return ACTION_UNKNOWN;
    }
}

/* Texts come in lists of chunks (each may hold line ends); they are one text. */
static bool chunks_join(struct snapshot *snapshot, const struct value *value, uint32_t *string) {
    *string = 0;
    if (value->tag == VALUE_STRING) {
        *string = (uint32_t)value->bits;
        return true;
    }
    if (value->tag != VALUE_LIST)
        return true;
    struct arena *arena = &snapshot->trace->arena;
    uint8_t *text = NULL;
    uint32_t capacity = 0, nbytes = 0;
    for (uint32_t at = snapshot->nodes.row[value->bits].first; at != 0;
         at = snapshot->items.row[at - 1].next) {
        const struct value *item = &snapshot->items.row[at - 1].value;
        if (item->tag != VALUE_STRING)
            continue;
        uint32_t chunk_nbytes;
        const uint8_t *chunk = trace_string(snapshot->trace, (uint32_t)item->bits, &chunk_nbytes);
        if (!ARENA_GROW(arena, text, capacity, (uint64_t)nbytes + chunk_nbytes)) {
            ARENA_DROP(arena, text);
            return fail_memory(snapshot);
        }
        bytes_copy(text + nbytes, chunk, chunk_nbytes);
        nbytes += chunk_nbytes;
    }
    bool done = intern_string(&snapshot->interner, text, nbytes, string) || fail_memory(snapshot);
    ARENA_DROP(arena, text);
    return done;
}

static bool key_context(struct snapshot *snapshot, uint32_t *id) {
    const uint64_t any = UINT64_C(1) << KEY_COMPILE_CONTEXT | UINT64_C(1) << KEY_USER_METADATA |
                         UINT64_C(1) << KEY_CATEGORY | UINT64_C(1) << KEY_FORWARD_FRAMES;
    *id = 0;
    if ((snapshot->key_mask & any) == 0)
        return true;
    struct context context = {.compile_context = key_string(snapshot, KEY_COMPILE_CONTEXT),
                              .user_metadata = key_string(snapshot, KEY_USER_METADATA),
                              .category = key_string(snapshot, KEY_CATEGORY)};
    if (is_word(context.compile_context, KEY_NOT_AVAILABLE))
        context.compile_context = 0;
    if (key_has(snapshot, KEY_USER_METADATA) && snapshot->key_value[KEY_USER_METADATA].tag == VALUE_DICT &&
        !settings_text(snapshot, &snapshot->key_value[KEY_USER_METADATA], &context.user_metadata))
        return false;
    if (key_has(snapshot, KEY_FORWARD_FRAMES) &&
        !chunks_join(snapshot, &snapshot->key_value[KEY_FORWARD_FRAMES], &context.forward_frames))
        return false;
    return intern_context(&snapshot->interner, context, id) || fail_memory(snapshot);
}

static bool event_row(struct snapshot *snapshot, uint32_t *index) {
    if (snapshot->free_event != 0) {
        *index = snapshot->free_event - 1;
        snapshot->free_event = snapshot->events.row[*index].next_free;
        return true;
    }
    if (!rows_reserve(snapshot, &snapshot->events))
        return false;
    *index = snapshot->events.count++;
    snapshot->events.row[*index].turn = 0;
    return true;
}

/* The dict that is being looked at, as an event. */
static bool event_of_keys(struct snapshot *snapshot, struct event *event) {
    event->action = action_of(key_string(snapshot, KEY_ACTION));
    event->address = key_uint(snapshot, event->action == ACTION_OOM ? KEY_DEVICE_FREE : KEY_ADDR);
    event->size = key_size(snapshot, KEY_SIZE);
    event->stream = key_uint(snapshot, KEY_STREAM);
    event->stack = key_stack(snapshot, KEY_FRAMES);
    event->has_time = key_has(snapshot, KEY_TIME_US);
    event->time_us = (int64_t)key_uint(snapshot, KEY_TIME_US);
    event->pool = key_pool(snapshot, KEY_POOL_ID, &event->has_pool);
    event->context = 0;
    return (event->action != ACTION_ALLOC && event->action != ACTION_ANNOTATE) ||
           key_context(snapshot, &event->context);
}

static bool shape_event(struct snapshot *snapshot, struct value *result) {
    uint32_t index;
    if (!event_row(snapshot, &index) || !event_of_keys(snapshot, &snapshot->events.row[index].event))
        return false;
    *result =
        (struct value){.tag = VALUE_EVENT, .bits = index | (uint64_t)snapshot->events.row[index].turn << 32};
    return true;
}

static bool recorder_add(struct snapshot *snapshot, int32_t ordinal) {
    if (snapshot->recorders.count == MAX_DEVICES)
        return fail(snapshot, READ_LIMIT, "there are more than 1,024 devices or lists of events");
    if (!rows_reserve(snapshot, &snapshot->recorders))
        return false;
    if (!recorder_init(&snapshot->recorders.row[snapshot->recorders.count], &snapshot->interner, ordinal))
        return fail_memory(snapshot);
    snapshot->recorders.count++;
    return true;
}

/* Every list of events has a recorder of its own; which device it is shows only when the root is complete. */
static bool recorder_of_list(struct snapshot *snapshot, struct value *list) {
    if (list->tag == VALUE_EVENTS)
        return true;
    if (!recorder_add(snapshot, ORDINAL_NONE))
        return false;
    list->tag = VALUE_EVENTS;
    list->bits = snapshot->recorders.count - 1;
    return true;
}

static bool event_record(struct snapshot *snapshot, struct value *list, const struct event *event) {
    if (!recorder_of_list(snapshot, list))
        return false;
    if (!recorder_event(&snapshot->recorders.row[list->bits], event))
        return fail_memory(snapshot);
    snapshot->n_events++;
    return true;
}

static bool append_event(struct snapshot *snapshot, struct value *list, const struct value *item) {
    uint32_t index = (uint32_t)item->bits;
    struct waiting_event *row = &snapshot->events.row[index];
    if (row->turn != item->bits >> 32)
        return true;
    if (!event_record(snapshot, list, &row->event))
        return false;
    row->turn = (row->turn + 1) & 0xFFFFFF;
    row->next_free = snapshot->free_event;
    snapshot->free_event = index + 1;
    return true;
}

bool snapshot_append_dict(struct snapshot *snapshot, struct value *list) {
    struct event event;
    return event_of_keys(snapshot, &event) && event_record(snapshot, list, &event);
}

/* ---- blocks and segments ---- */

/* torch 1.13 and 2.0 kept sizes and stacks of a block's users, newest first. */
static void block_from_history(struct snapshot *snapshot, struct block *block) {
    if (!key_has(snapshot, KEY_HISTORY) || snapshot->key_value[KEY_HISTORY].tag != VALUE_LIST)
        return;
    const struct node *list = &snapshot->nodes.row[snapshot->key_value[KEY_HISTORY].bits];
    if (list->first == 0 || snapshot->items.row[list->first - 1].value.tag != VALUE_DICT)
        return;
    const struct node *newest = &snapshot->nodes.row[snapshot->items.row[list->first - 1].value.bits];
    for (uint32_t at = newest->first; at != 0; at = snapshot->items.row[at - 1].next) {
        const struct node_item *item = &snapshot->items.row[at - 1];
        if (item->key.tag != VALUE_STRING)
            continue;
        if (is_word((uint32_t)item->key.bits, KEY_FRAMES) && item->value.tag == VALUE_STACK)
            block->stack = (uint32_t)item->value.bits;
        if (is_word((uint32_t)item->key.bits, KEY_REAL_SIZE) && !key_has(snapshot, KEY_REQUESTED_SIZE))
            block->requested_size = value_uint(&item->value);
    }
}

static enum block_state state_of(uint32_t word) {
    if (is_word(word, KEY_ACTIVE_ALLOCATED))
        return BLOCK_ALLOCATED;
    if (is_word(word, KEY_ACTIVE_PENDING_FREE) || is_word(word, KEY_ACTIVE_AWAITING_FREE))
        return BLOCK_PENDING_FREE;
    return BLOCK_INACTIVE;
}

static bool shape_block(struct snapshot *snapshot, struct value *result) {
    if (!rows_reserve(snapshot, &snapshot->blocks))
        return false;
    struct staged_block *row = &snapshot->blocks.row[snapshot->blocks.count];
    *row = (struct staged_block){.has_address = key_has(snapshot, KEY_ADDRESS)};
    struct block *block = &row->block;
    block->address = key_uint(snapshot, KEY_ADDRESS);
    block->size = key_size(snapshot, KEY_SIZE);
    block->state = (uint8_t)state_of(key_string(snapshot, KEY_STATE));
    block->stack = key_stack(snapshot, KEY_FRAMES);
    block->requested_size =
        key_has(snapshot, KEY_REQUESTED_SIZE) ? key_size(snapshot, KEY_REQUESTED_SIZE) : block->size;
    if (!key_has(snapshot, KEY_FRAMES))
        block_from_history(snapshot, block);
    if (block->state == BLOCK_INACTIVE)
        block->requested_size = 0; /* stale: what the last user asked for */
    *result = (struct value){.tag = VALUE_BLOCK, .bits = snapshot->blocks.count++};
    return true;
}

static bool shape_segment(struct snapshot *snapshot, struct value *result) {
    if (!rows_reserve(snapshot, &snapshot->segments))
        return false;
    struct staged_segment *row = &snapshot->segments.row[snapshot->segments.count];
    uint64_t device = key_uint(snapshot, KEY_DEVICE);
    bool has_pool;
    *row = (struct staged_segment){.device = device <= INT32_MAX ? (int32_t)device : 0,
                                   .stream = key_uint(snapshot, KEY_STREAM),
                                   .pool = key_pool(snapshot, KEY_SEGMENT_POOL_ID, &has_pool)};
    row->segment = (struct segment){
        .address = key_uint(snapshot, KEY_ADDRESS),
        .total_size = key_size(snapshot, KEY_TOTAL_SIZE),
        .allocated_size = key_size(snapshot, KEY_ALLOCATED_SIZE),
        .active_size = key_size(snapshot, KEY_ACTIVE_SIZE),
        .requested_size = key_size(snapshot, KEY_REQUESTED_SIZE),
        .stack = key_stack(snapshot, KEY_FRAMES),
        .flags = (uint8_t)((key_uint(snapshot, KEY_IS_EXPANDABLE) ? SEGMENT_EXPANDABLE : 0) |
                           (is_word(key_string(snapshot, KEY_SEGMENT_TYPE), KEY_SMALL) ? SEGMENT_SMALL : 0))};
    const struct value *blocks = &snapshot->key_value[KEY_BLOCKS];
    if (key_has(snapshot, KEY_BLOCKS) && blocks->tag == VALUE_BLOCKS)
        row->blocks = snapshot->chains.row[blocks->bits];
    *result = (struct value){.tag = VALUE_SEGMENT, .bits = snapshot->segments.count++};
    return true;
}

static bool chain_of_list(struct snapshot *snapshot, struct value *list, enum value_tag tag) {
    if (list->tag == tag)
        return true;
    if (!rows_reserve(snapshot, &snapshot->chains))
        return false;
    snapshot->chains.row[snapshot->chains.count] = (struct chain){0};
    list->tag = (uint8_t)tag;
    list->bits = snapshot->chains.count++;
    return true;
}

static bool append_row(struct snapshot *snapshot, struct value *list, const struct value *item) {
    bool is_block = item->tag == VALUE_BLOCK;
    if (!chain_of_list(snapshot, list, is_block ? VALUE_BLOCKS : VALUE_SEGMENTS))
        return false;
    struct chain *chain = &snapshot->chains.row[list->bits];
    uint32_t row = (uint32_t)item->bits;
    bool *taken = is_block ? &snapshot->blocks.row[row].taken : &snapshot->segments.row[row].taken;
    if (*taken) {
        snapshot->n_misplaced++;
        return true;
    }
    *taken = true;
    if (chain->last == 0)
        chain->first = row + 1;
    else if (is_block)
        snapshot->blocks.row[chain->last - 1].next = row + 1;
    else
        snapshot->segments.row[chain->last - 1].next = row + 1;
    chain->last = row + 1;
    chain->count++;
    return true;
}

/* ---- annotations ---- */

static bool shape_annotation(struct snapshot *snapshot, struct value *result) {
    struct trace *trace = snapshot->trace;
    if (!ARENA_GROW(&trace->arena, trace->annotations, snapshot->annotations_capacity,
                    (uint64_t)trace->n_annotations + 1))
        return fail_memory(snapshot);
    trace->annotations[trace->n_annotations++] = (struct annotation){
        .time_us = (int64_t)key_uint(snapshot, KEY_TIME_US),
        .name = key_string(snapshot, KEY_NAME),
        .device = (int32_t)key_uint(snapshot, KEY_DEVICE),
        .stage = is_word(key_string(snapshot, KEY_STAGE), KEY_END) ? ANNOTATION_END : ANNOTATION_START};
    *result = (struct value){.tag = VALUE_SPENT};
    return true;
}

/* ---- generic nodes ---- */

static bool node_new(struct snapshot *snapshot, enum value_tag tag, struct value *value) {
    if (!rows_reserve(snapshot, &snapshot->nodes))
        return false;
    snapshot->nodes.row[snapshot->nodes.count] = (struct node){0};
    value->tag = (uint8_t)tag;
    value->bits = snapshot->nodes.count++;
    return true;
}

static bool node_add(struct snapshot *snapshot, const struct value *node_value, struct value key,
                     struct value item) {
    if (!rows_reserve(snapshot, &snapshot->items))
        return false;
    snapshot->items.row[snapshot->items.count++] = (struct node_item){.key = key, .value = item};
    struct node *node = &snapshot->nodes.row[node_value->bits];
    if (node->last == 0)
        node->first = snapshot->items.count;
    else
        snapshot->items.row[node->last - 1].next = snapshot->items.count;
    node->last = snapshot->items.count;
    node->count++;
    return true;
}

/* Leaves `result` alone where the keys in view have no known shape. */
static bool shape_known(struct snapshot *snapshot, struct value *result) {
    const uint64_t mask = snapshot->key_mask;
    const uint64_t frame = UINT64_C(1) << KEY_FILENAME | UINT64_C(1) << KEY_NAME;
    if (mask >> KEY_ACTION & 1)
        return shape_event(snapshot, result);
    if ((mask & frame) == frame)
        return shape_frame(snapshot, result);
    if (mask >> KEY_STATE & 1)
        return shape_block(snapshot, result);
    if (mask >> KEY_TOTAL_SIZE & 1)
        return shape_segment(snapshot, result);
    if (mask >> KEY_STAGE & 1)
        return shape_annotation(snapshot, result);
    return true;
}

bool snapshot_shape(struct snapshot *snapshot, struct value *dict) {
    uint32_t memo = dict->memo;
    bool done = shape_known(snapshot, dict);
    dict->memo = memo;
    return done;
}

bool snapshot_dict(struct snapshot *snapshot, const struct value *pairs, uint32_t n_pairs,
                   struct value *result) {
    result->tag = VALUE_NEW_DICT;
    keys_load(snapshot, pairs, n_pairs);
    if (!snapshot_shape(snapshot, result))
        return false;
    if (result->tag != VALUE_NEW_DICT || n_pairs == 0)
        return true;
    return snapshot_dict_add(snapshot, result, pairs, n_pairs);
}

bool snapshot_dict_add(struct snapshot *snapshot, struct value *dict, const struct value *pairs,
                       uint32_t n_pairs) {
    if (dict->tag == VALUE_NEW_DICT && !node_new(snapshot, VALUE_DICT, dict))
        return false;
    if (dict->tag != VALUE_DICT)
        return fail(snapshot, READ_BAD_SHAPE, "a dict is changed after it was complete");
    for (uint32_t i = 0; i < n_pairs; i++)
        if (!node_add(snapshot, dict, pairs[2 * i], pairs[2 * i + 1]))
            return false;
    snapshot->nodes.row[dict->bits].settled = false;
    return true;
}

bool snapshot_settle(struct snapshot *snapshot, struct value *value) {
    if (value->tag != VALUE_DICT || snapshot->nodes.row[value->bits].settled)
        return true;
    snapshot->nodes.row[value->bits].settled = true;
    snapshot->key_mask = 0;
    for (uint32_t at = snapshot->nodes.row[value->bits].first; at != 0;
         at = snapshot->items.row[at - 1].next) {
        const struct node_item *item = &snapshot->items.row[at - 1];
        if (item->key.tag != VALUE_STRING || item->key.bits > KEY_LAST_KEY + 1 || item->key.bits == 0)
            continue;
        snapshot->key_value[item->key.bits - 1] = item->value;
        snapshot->key_mask |= UINT64_C(1) << (item->key.bits - 1);
    }
    return snapshot_shape(snapshot, value);
}

/* ---- lists ---- */

static bool frames_add(struct snapshot *snapshot, uint32_t frame) {
    if (!rows_reserve(snapshot, &snapshot->frames))
        return false;
    snapshot->frames.row[snapshot->frames.count++] = frame;
    return true;
}

/* Frames follow the ones that the list has (further out in the stack): the stack is built anew. */
static bool append_frames(struct snapshot *snapshot, struct value *list, const struct value *items,
                          uint32_t n_items) {
    snapshot->frames.count = 0;
    if (list->tag == VALUE_STACK) {
        const struct stack_table *stacks = &snapshot->trace->stacks;
        for (uint32_t at = (uint32_t)list->bits; at != 0; at = stacks->stack[at].parent)
            if (!frames_add(snapshot, stacks->stack[at].frame))
                return false;
    }
    for (uint32_t i = 0; i < n_items; i++) {
        if (items[i].tag != VALUE_FRAME)
            snapshot->n_misplaced++;
        else if (!frames_add(snapshot, (uint32_t)items[i].bits))
            return false;
    }
    uint32_t stack;
    if (!intern_stack(&snapshot->interner, snapshot->frames.row, snapshot->frames.count, &stack))
        return fail_memory(snapshot);
    list->tag = VALUE_STACK;
    list->bits = stack;
    return true;
}

static bool append_one(struct snapshot *snapshot, struct value *list, const struct value *item) {
    bool fits_events = list->tag == VALUE_NEW_LIST || list->tag == VALUE_EVENTS;
    bool fits_blocks = list->tag == VALUE_NEW_LIST || list->tag == VALUE_BLOCKS;
    bool fits_segments = list->tag == VALUE_NEW_LIST || list->tag == VALUE_SEGMENTS;
    if (item->tag == VALUE_EVENT && fits_events)
        return append_event(snapshot, list, item);
    if ((item->tag == VALUE_BLOCK && fits_blocks) || (item->tag == VALUE_SEGMENT && fits_segments))
        return append_row(snapshot, list, item);
    if (item->tag == VALUE_SPENT)
        return true;
    if (list->tag == VALUE_NEW_LIST && !node_new(snapshot, VALUE_LIST, list))
        return false;
    if (list->tag == VALUE_LIST)
        return node_add(snapshot, list, (struct value){.tag = VALUE_NONE}, *item);
    snapshot->n_misplaced++;
    return true;
}

bool snapshot_append(struct snapshot *snapshot, struct value *list, const struct value *items,
                     uint32_t n_items) {
    if (n_items == 0)
        return true;
    if (list->tag == VALUE_STACK || (list->tag == VALUE_NEW_LIST && items[0].tag == VALUE_FRAME))
        return append_frames(snapshot, list, items, n_items);
    for (uint32_t i = 0; i < n_items; i++)
        if (!append_one(snapshot, list, &items[i]))
            return false;
    return true;
}

static bool is_integer(const struct value *value) {
    return value->tag == VALUE_INT || value->tag == VALUE_BIG;
}

/* Pool ids are pairs of integers and come with every event, so they are kept once. */
static bool tuple_pair(struct snapshot *snapshot, const struct value *items, struct value *result) {
    struct pool_id pair = {items[0].bits, items[1].bits};
    uint32_t recent = snapshot->pairs.count > 16 ? snapshot->pairs.count - 16 : 0;
    for (uint32_t i = snapshot->pairs.count; i-- > recent;) {
        if (snapshot->pairs.row[i].first == pair.first && snapshot->pairs.row[i].second == pair.second) {
            *result = (struct value){.tag = VALUE_PAIR, .bits = i};
            return true;
        }
    }
    if (!rows_reserve(snapshot, &snapshot->pairs))
        return false;
    snapshot->pairs.row[snapshot->pairs.count] = pair;
    *result = (struct value){.tag = VALUE_PAIR, .bits = snapshot->pairs.count++};
    return true;
}

bool snapshot_tuple(struct snapshot *snapshot, const struct value *items, uint32_t n_items,
                    struct value *result) {
    if (n_items == 2 && is_integer(&items[0]) && is_integer(&items[1]))
        return tuple_pair(snapshot, items, result);
    *result = (struct value){.tag = VALUE_NEW_LIST};
    return snapshot_append(snapshot, result, items, n_items);
}

/* ---- the root ---- */

static const struct value *dict_find(const struct snapshot *snapshot, const struct value *dict,
                                     enum key key) {
    const struct value *found = NULL;
    if (dict == NULL || dict->tag != VALUE_DICT)
        return NULL;
    for (uint32_t at = snapshot->nodes.row[dict->bits].first; at != 0;
         at = snapshot->items.row[at - 1].next) {
        const struct node_item *item = &snapshot->items.row[at - 1];
        if (item->key.tag == VALUE_STRING && is_word((uint32_t)item->key.bits, key))
            found = &item->value; /* a repeated key overwrites */
    }
    return found;
}

/* The recorder of a device, made where no list of events brought one. */
static bool recorder_of_device(struct snapshot *snapshot, int32_t ordinal, struct recorder **recorder) {
    for (uint32_t i = 0; i < snapshot->recorders.count; i++) {
        *recorder = &snapshot->recorders.row[i];
        if ((*recorder)->device.ordinal == ordinal)
            return true;
    }
    if (!recorder_add(snapshot, ordinal))
        return false;
    *recorder = &snapshot->recorders.row[snapshot->recorders.count - 1];
    return true;
}

static void devices_number(struct snapshot *snapshot, const struct value *traces) {
    int32_t ordinal = 0;
    if (traces == NULL || traces->tag != VALUE_LIST)
        return;
    for (uint32_t at = snapshot->nodes.row[traces->bits].first; at != 0;
         at = snapshot->items.row[at - 1].next) {
        const struct value *list = &snapshot->items.row[at - 1].value;
        if (list->tag == VALUE_EVENTS && snapshot->recorders.row[list->bits].device.ordinal < 0)
            snapshot->recorders.row[list->bits].device.ordinal = ordinal;
        ordinal++;
    }
}

static bool segment_record(struct snapshot *snapshot, const struct staged_segment *staged) {
    struct recorder *recorder;
    if (!recorder_of_device(snapshot, staged->device, &recorder))
        return false;
    if (!recorder_segment(recorder, &staged->segment, staged->stream, staged->pool))
        return fail_memory(snapshot);
    uint64_t address = staged->segment.address;
    for (uint32_t at = staged->blocks.first; at != 0; at = snapshot->blocks.row[at - 1].next) {
        struct staged_block *row = &snapshot->blocks.row[at - 1];
        if (!row->has_address)
            row->block.address = address; /* torch 2.0: blocks follow each other */
        address = row->block.address + row->block.size;
        if (!recorder_block(recorder, &row->block))
            return fail_memory(snapshot);
    }
    return true;
}

/* The segments are those of the end. Where the events do not reach the end they would be taken for older than
 * the recording, so they are left out. */
static bool segments_record(struct snapshot *snapshot, const struct value *segments) {
    if (segments == NULL || segments->tag != VALUE_SEGMENTS)
        return true;
    for (uint32_t at = snapshot->chains.row[segments->bits].first; at != 0;
         at = snapshot->segments.row[at - 1].next)
        if (snapshot->segments.row[at - 1].device < snapshot->first_cut_device &&
            !segment_record(snapshot, &snapshot->segments.row[at - 1]))
            return false;
    return true;
}

static bool devices_finish(struct snapshot *snapshot) {
    struct trace *trace = snapshot->trace;
    trace->devices =
        arena_alloc(&trace->arena, ((size_t)snapshot->recorders.count + 1) * sizeof *trace->devices);
    if (trace->devices == NULL)
        return fail_memory(snapshot);
    for (int64_t last = -1;;) { /* by rising ordinal; lists of events that are no device's stay out */
        struct recorder *next = NULL;
        for (uint32_t i = 0; i < snapshot->recorders.count; i++) {
            struct recorder *recorder = &snapshot->recorders.row[i];
            if (recorder->interner != NULL && recorder->device.ordinal > last &&
                (next == NULL || recorder->device.ordinal < next->device.ordinal))
                next = recorder;
        }
        if (next == NULL)
            return true;
        last = next->device.ordinal;
        if (!recorder_finish(next, &trace->devices[trace->n_devices]))
            return fail_memory(snapshot);
        trace->n_devices++;
    }
}

/* A flag for all devices, or one per device. */
static bool overflow_of(const struct snapshot *snapshot, const struct value *flag, int32_t ordinal) {
    if (flag == NULL)
        return false;
    if (flag->tag == VALUE_PAIR)
        return ordinal < 2 && (ordinal == 0 ? snapshot->pairs.row[flag->bits].first
                                            : snapshot->pairs.row[flag->bits].second) != 0;
    if (flag->tag != VALUE_LIST)
        return value_uint(flag) != 0;
    uint32_t at = snapshot->nodes.row[flag->bits].first;
    for (int32_t i = 0; at != 0 && i < ordinal; i++)
        at = snapshot->items.row[at - 1].next;
    return at != 0 && value_uint(&snapshot->items.row[at - 1].value) != 0;
}

static bool overflow_diagnose(struct snapshot *snapshot, const struct value *root,
                              const struct value *settings) {
    const struct value *flag = dict_find(snapshot, root, KEY_TRACE_ALLOC_OVERFLOWED);
    if (flag == NULL)
        flag = dict_find(snapshot, settings, KEY_TRACE_ALLOC_OVERFLOWED);
    struct trace *trace = snapshot->trace;
    for (uint32_t i = 0; i < trace->n_devices; i++)
        if (overflow_of(snapshot, flag, trace->devices[i].ordinal) && trace->devices[i].n_events != 0 &&
            !trace_diagnose(trace, "overflow", trace->devices[i].ordinal, NULL))
            return fail_memory(snapshot);
    return true;
}

static bool misplaced_diagnose(struct snapshot *snapshot) {
    const uint64_t numbers[DIAGNOSTIC_NUMBERS] = {snapshot->n_misplaced};
    return numbers[0] == 0 || trace_diagnose(snapshot->trace, "misplaced", ORDINAL_NONE, numbers) ||
           fail_memory(snapshot);
}

static bool nothing_diagnose(struct snapshot *snapshot) {
    return snapshot->trace->n_devices != 0 ||
           trace_diagnose(snapshot->trace, "empty_snapshot", ORDINAL_NONE, NULL) || fail_memory(snapshot);
}

bool snapshot_is_traces_key(const struct value *key) {
    return key->tag == VALUE_STRING &&
           (is_word((uint32_t)key->bits, KEY_DEVICE_TRACES) || is_word((uint32_t)key->bits, KEY_TRACES));
}

bool snapshot_diagnose_cut(struct snapshot *snapshot, uint64_t offset) {
    uint64_t numbers[DIAGNOSTIC_NUMBERS] = {offset};
    for (uint32_t i = 0; i < snapshot->trace->n_devices; i++)
        numbers[1] += snapshot->trace->devices[i].n_events;
    if (numbers[1] == 0)
        return fail(snapshot, READ_TRUNCATED, "the file ends before its first event");
    bool cut = snapshot->first_cut_device != INT32_MAX;
    if (cut)
        numbers[2] = (uint64_t)snapshot->first_cut_device;
    return trace_diagnose(snapshot->trace, cut ? "truncated/devices" : "truncated", ORDINAL_NONE, numbers) ||
           fail_memory(snapshot);
}

static bool root_is_snapshot(const struct snapshot *snapshot, const struct value *root) {
    if (root->tag == VALUE_SEGMENTS || root->tag == VALUE_NEW_LIST)
        return true; /* memory_snapshot(): the segments alone */
    return dict_find(snapshot, root, KEY_SEGMENTS) != NULL ||
           dict_find(snapshot, root, KEY_DEVICE_TRACES) != NULL ||
           dict_find(snapshot, root, KEY_TRACES) != NULL;
}

bool snapshot_finish(struct snapshot *snapshot, struct value root) {
    if (!root_is_snapshot(snapshot, &root))
        return fail(snapshot, READ_BAD_SHAPE,
                    "this is not a memory snapshot: it has neither segments nor device_traces");
    const struct value *segments = root.tag == VALUE_DICT ? dict_find(snapshot, &root, KEY_SEGMENTS) : &root;
    const struct value *traces = dict_find(snapshot, &root, KEY_DEVICE_TRACES);
    const struct value *settings = dict_find(snapshot, &root, KEY_ALLOCATOR_SETTINGS);
    if (traces == NULL)
        traces = dict_find(snapshot, &root, KEY_TRACES);
    devices_number(snapshot, traces);
    if (settings != NULL && !settings_text(snapshot, settings, &snapshot->trace->settings))
        return false;
    return segments_record(snapshot, segments) && devices_finish(snapshot) &&
           overflow_diagnose(snapshot, &root, settings) && misplaced_diagnose(snapshot) &&
           nothing_diagnose(snapshot);
}
