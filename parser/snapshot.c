#include "parser/snapshot_internal.h"

#include <stdio.h>
#include <string.h>

/* A process has some 16 devices. Each is compared with every other one, and gets a timeline of its own. */
enum { MAX_DEVICES = 1024 };

/* The limit on memory for growing dicts and lists: a share of the bytes read. An honest file stays below: its
 * dearest part, a dict entry of 4 bytes, takes 40, and an event with twenty of them takes 5 times its bytes. */
enum { HELD_NBYTES = 256 << 20, HELD_SHARE = 10 };

_Static_assert((int)KEY_LAST_KEY < (int)MAX_KEYS, "a dict's keys are bits of one word");

bool snapshot_fail(struct snapshot *snapshot, enum read_code code, const char *message) {
    if (snapshot->error->code == READ_OK) {
        snapshot->error->code = code;
        snprintf(snapshot->error->message, sizeof snapshot->error->message, "%s", message);
    }
    return false;
}

bool snapshot_fail_memory(struct snapshot *snapshot) {
    return snapshot_fail(snapshot, READ_NO_MEMORY,
                         snapshot->trace->arena.limit_hit ? "the memory limit is reached (see --max-memory)"
                                                          : "not enough memory");
}

bool snapshot_may_hold(struct snapshot *snapshot, uint64_t more_nbytes) {
    uint64_t most = HELD_NBYTES + cursor_offset(snapshot->cursor) * HELD_SHARE;
    return snapshot->trace->arena.used_nbytes + more_nbytes <= most ||
           snapshot_fail(snapshot, READ_LIMIT,
                         "lists and dicts take more than 256 MiB and 10 times the bytes before this one");
}

bool snapshot_init(struct snapshot *snapshot, struct trace *trace, const struct cursor *cursor) {
#define STRATA_KEY_TEXT(name, text) text,
    static const char *const texts[] = {STRATA_KEYS(STRATA_KEY_TEXT)};
#undef STRATA_KEY_TEXT
    *snapshot = (struct snapshot){
        .trace = trace, .error = cursor->error, .cursor = cursor, .first_cut_device = INT32_MAX};
    interner_init(&snapshot->interner, trace);
    for (unsigned i = 0; i < KEY_COUNT; i++) {
        uint32_t id;
        if (!intern_string(&snapshot->interner, texts[i], strlen(texts[i]), &id))
            return snapshot_fail_memory(snapshot);
    }
    return true;
}

void snapshot_release(struct snapshot *snapshot) {
    struct arena *arena = &snapshot->trace->arena;
    interner_release(&snapshot->interner);
    made_texts_release(&snapshot->made, arena);
    ARENA_DROP(arena, snapshot->recorders.row, snapshot->events.row, snapshot->pairs.row,
               snapshot->blocks.row, snapshot->segments.row, snapshot->chains.row);
    ARENA_DROP(arena, snapshot->nodes.row, snapshot->items.row, snapshot->frames.row);
}

/* ---- the dict in view ---- */

#define KEYS_OF_FRAME (UINT64_C(1) << KEY_FILENAME | UINT64_C(1) << KEY_NAME)

/* Either makes a segment: one without its size counts as unread and is not passed over. */
#define KEYS_OF_SEGMENT (UINT64_C(1) << KEY_TOTAL_SIZE | UINT64_C(1) << KEY_BLOCKS)

static bool keys_have_shape(uint64_t keys) {
    const uint64_t any =
        UINT64_C(1) << KEY_ACTION | UINT64_C(1) << KEY_STATE | KEYS_OF_SEGMENT | UINT64_C(1) << KEY_STAGE;
    return (keys & any) != 0 || (keys & KEYS_OF_FRAME) == KEYS_OF_FRAME;
}

/* Notes a key that is unknown in a dict of a known shape: a newer PyTorch may record more than is shown. */
static void key_note(struct snapshot *snapshot, const struct value *key) {
    uint32_t i = 0;
    if (key->tag != VALUE_STRING || key->bits <= KEY_LAST_KEY + 1 || !keys_have_shape(snapshot->key_mask))
        return;
    while (i < UNREAD_TOLD && snapshot->unread[i] != 0 && snapshot->unread[i] != key->bits)
        i++;
    if (i < UNREAD_TOLD)
        snapshot->unread[i] = (uint32_t)key->bits;
}

/* Is it a string that is the key of a known dict? */
static bool is_key(const struct value *key) {
    return key->tag == VALUE_STRING && key->bits <= KEY_LAST_KEY + 1 && key->bits != 0;
}

static void keys_load(struct snapshot *snapshot, const struct value *pairs, uint32_t n_pairs) {
    uint64_t mask = 0;
    for (uint32_t i = 0; i < n_pairs; i++) {
        const struct value *key = &pairs[2 * i];
        if (!is_key(key))
            continue;
        snapshot->key_value[key->bits - 1] = pairs[2 * i + 1];
        mask |= UINT64_C(1) << (key->bits - 1);
    }
    snapshot->key_mask = mask;
    for (uint32_t i = 0; i < n_pairs; i++)
        key_note(snapshot, &pairs[2 * i]);
}

bool key_has(const struct snapshot *snapshot, enum key key) {
    return snapshot->key_mask >> key & 1;
}

uint64_t value_uint(const struct value *value) {
    return value->tag == VALUE_INT || value->tag == VALUE_BIG || value->tag == VALUE_BOOL ? value->bits : 0;
}

uint64_t key_uint(const struct snapshot *snapshot, enum key key) {
    return key_has(snapshot, key) ? value_uint(&snapshot->key_value[key]) : 0;
}

uint64_t value_size(struct snapshot *snapshot, const struct value *value) {
    double number;
    __builtin_memcpy(&number, &value->bits, sizeof number);
    if (value->tag == VALUE_INT && value->bits <= INT64_MAX)
        return value->bits;
    if (value->tag == VALUE_BIG || (value->tag == VALUE_FLOAT && number >= 0x1p63 && number <= 0x1p1023))
        return INT64_MAX;
    if (value->tag == VALUE_FLOAT && number >= 0 && number < 0x1p63 && (double)(uint64_t)number == number)
        return (uint64_t)number;
    snapshot->n_sizes_unread++;
    return 0;
}

uint64_t key_size(struct snapshot *snapshot, enum key key, bool needed) {
    if (key_has(snapshot, key))
        return value_size(snapshot, &snapshot->key_value[key]);
    snapshot->n_sizes_unread += needed;
    return 0;
}

uint32_t key_string(const struct snapshot *snapshot, enum key key) {
    return key_has(snapshot, key) && snapshot->key_value[key].tag == VALUE_STRING
               ? (uint32_t)snapshot->key_value[key].bits
               : 0;
}

uint32_t key_stack(const struct snapshot *snapshot, enum key key) {
    return key_has(snapshot, key) && snapshot->key_value[key].tag == VALUE_STACK
               ? (uint32_t)snapshot->key_value[key].bits
               : 0;
}

bool is_word(uint32_t string, enum key word) {
    return string == (uint32_t)word + 1;
}

bool value_is_word(const struct value *value, enum key word) {
    return value->tag == VALUE_STRING && is_word((uint32_t)value->bits, word);
}

struct pool_id key_pool(const struct snapshot *snapshot, enum key key, bool *has_pool) {
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
    return (struct pool_id){value_uint(&item_at(snapshot, node->first)->value),
                            value_uint(&item_at(snapshot, node->last)->value)};
}

static bool scratch_add(struct snapshot *snapshot, uint32_t id) {
    if (!rows_reserve(snapshot, &snapshot->frames))
        return false;
    snapshot->frames.row[snapshot->frames.count++] = id;
    return true;
}

/* ---- frames ---- */

static bool shape_frame(struct snapshot *snapshot, struct value *result) {
    uint64_t line = key_uint(snapshot, KEY_LINE);
    struct frame frame = {.file = key_string(snapshot, KEY_FILENAME),
                          .name = key_string(snapshot, KEY_NAME),
                          /* "No line" is written as -1, signed or not. */
                          .line = line <= INT32_MAX ? (uint32_t)line : 0};
    struct fx fx = {.op = key_string(snapshot, KEY_FX_NODE_OP),
                    .name = key_string(snapshot, KEY_FX_NODE_NAME),
                    .target = key_string(snapshot, KEY_FX_NODE_TARGET),
                    .original_trace = key_string(snapshot, KEY_FX_ORIGINAL_TRACE)};
    uint32_t id;
    if (!intern_fx(&snapshot->interner, fx, &frame.fx) || !intern_frame(&snapshot->interner, frame, &id))
        return snapshot_fail_memory(snapshot);
    *result = (struct value){.tag = VALUE_FRAME, .bits = id};
    return true;
}

/* ---- events ---- */

enum action snapshot_action(uint32_t word) {
    switch (word - 1) {
    case KEY_ALLOC: return ACTION_ALLOC;
    case KEY_FREE_REQUESTED: return ACTION_FREE_REQUESTED;
    case KEY_FREE: /* request and completion at once, as in pages of memory_viz */
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

/* A text may come as a list of chunks (each may contain line ends); they are joined. */
static bool chunks_join(struct snapshot *snapshot, const struct value *list, uint32_t *string) {
    snapshot->frames.count = 0;
    ITEMS_EACH(snapshot, list) {
        if (item->value.tag == VALUE_STRING && !scratch_add(snapshot, (uint32_t)item->value.bits))
            return false;
    }
    return made_texts_join(&snapshot->made, &snapshot->interner, cursor_offset(snapshot->cursor),
                           snapshot->frames.row, snapshot->frames.count, string) ||
           snapshot_fail_memory(snapshot);
}

/* The length of the text is known only once it is made, so at most 6 MiB are made in vain. */
static bool metadata_text(struct snapshot *snapshot, const struct value *dict, uint32_t *string) {
    *string = 0;
    return !made_texts_spend(&snapshot->made, cursor_offset(snapshot->cursor), 0) ||
           settings_text(snapshot, dict, string);
}

/* Remembers what a node became, for later references to it. */
static void node_keep(struct node *node, const struct value *made) {
    node->made_count = node->count;
    node->made_tag = made->tag;
    node->made = made->bits;
}

/* Gives `value` what its node became, if the node has not changed since. */
static bool node_recall(const struct node *node, struct value *value) {
    bool known = node->made_count == node->count && node->made_tag != VALUE_STRING;
    if (known)
        *value = (struct value){.tag = node->made_tag, .memo = value->memo, .bits = node->made};
    return known;
}

/* A value as text: a string, a list of chunks, or a dict as JSON. Text that many events refer to is made once. */
static bool key_text(struct snapshot *snapshot, enum key key, enum value_tag tag, uint32_t *string) {
    const struct value *value = &snapshot->key_value[key];
    *string = key_string(snapshot, key);
    if (!key_has(snapshot, key) || value->tag != tag)
        return true;
    struct node *node = &snapshot->nodes.row[value->bits];
    if (node->made_count == node->count && node->made_tag == VALUE_STRING) {
        *string = (uint32_t)node->made;
        return true;
    }
    bool done =
        tag == VALUE_DICT ? metadata_text(snapshot, value, string) : chunks_join(snapshot, value, string);
    node_keep(node, &(struct value){.tag = VALUE_STRING, .bits = *string});
    return done;
}

bool snapshot_context(struct snapshot *snapshot, struct context context, uint32_t *id) {
    if (is_word(context.compile_context, KEY_NOT_AVAILABLE))
        context.compile_context = 0;
    bool done = __builtin_memcmp(&context, &snapshot->last_context, sizeof context) == 0 ||
                intern_context(&snapshot->interner, context, &snapshot->last_context_id);
    snapshot->last_context = context;
    *id = snapshot->last_context_id;
    return done || snapshot_fail_memory(snapshot);
}

static bool key_context(struct snapshot *snapshot, uint32_t *id) {
    const uint64_t any = UINT64_C(1) << KEY_COMPILE_CONTEXT | UINT64_C(1) << KEY_USER_METADATA |
                         UINT64_C(1) << KEY_CATEGORY | UINT64_C(1) << KEY_FORWARD_FRAMES;
    *id = 0;
    if ((snapshot->key_mask & any) == 0)
        return true;
    struct context context = {.compile_context = key_string(snapshot, KEY_COMPILE_CONTEXT),
                              .category = key_string(snapshot, KEY_CATEGORY)};
    return key_text(snapshot, KEY_USER_METADATA, VALUE_DICT, &context.user_metadata) &&
           key_text(snapshot, KEY_FORWARD_FRAMES, VALUE_LIST, &context.forward_frames) &&
           snapshot_context(snapshot, context, id);
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

/* Reads the dict in view as an event. */
static bool event_of_keys(struct snapshot *snapshot, struct event *event) {
    event->action = snapshot_action(key_string(snapshot, KEY_ACTION));
    event->address = key_uint(snapshot, event->action == ACTION_OOM ? KEY_DEVICE_FREE : KEY_ADDR);
    event->size = key_size(snapshot, KEY_SIZE, event->action <= ACTION_SEGMENT_UNMAP);
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

bool snapshot_recorder_add(struct snapshot *snapshot, int32_t ordinal) {
    if (snapshot->recorders.count == MAX_DEVICES)
        return snapshot_fail(snapshot, READ_LIMIT, "there are more than 1,024 devices or lists of events");
    if (!rows_reserve(snapshot, &snapshot->recorders))
        return false;
    if (!recorder_init(&snapshot->recorders.row[snapshot->recorders.count], &snapshot->interner, ordinal))
        return snapshot_fail_memory(snapshot);
    snapshot->recorders.count++;
    return true;
}

/* Every list of events has a recorder of its own; its device is known only when the root is complete. */
static bool recorder_of_list(struct snapshot *snapshot, struct value *list) {
    if (list->tag == VALUE_EVENTS)
        return true;
    if (!snapshot_recorder_add(snapshot, ORDINAL_NONE))
        return false;
    list->tag = VALUE_EVENTS;
    list->bits = snapshot->recorders.count - 1;
    return true;
}

static bool event_record(struct snapshot *snapshot, struct value *list, const struct event *event) {
    if (!recorder_of_list(snapshot, list))
        return false;
    if (!recorder_event(&snapshot->recorders.row[list->bits], event))
        return snapshot_fail_memory(snapshot);
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
    if (list->tag == VALUE_EVENTS)
        recorder_expect(&snapshot->recorders.row[list->bits], snapshot->key_value[KEY_ADDR].bits);
    return event_of_keys(snapshot, &event) && event_record(snapshot, list, &event);
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

/* Leaves `result` unchanged if the keys in view have no known shape. */
static bool shape_known(struct snapshot *snapshot, struct value *result) {
    const uint64_t mask = snapshot->key_mask;
    if (mask >> KEY_ACTION & 1)
        return shape_event(snapshot, result);
    if ((mask & KEYS_OF_FRAME) == KEYS_OF_FRAME)
        return shape_frame(snapshot, result);
    if (mask >> KEY_STATE & 1)
        return shape_block(snapshot, result);
    if ((mask & KEYS_OF_SEGMENT) != 0)
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
        return snapshot_fail(snapshot, READ_BAD_SHAPE, "a dict is changed after it was complete");
    for (uint32_t i = 0; i < n_pairs; i++)
        if (!node_add(snapshot, dict, pairs[2 * i], pairs[2 * i + 1]))
            return false;
    return true;
}

/* Marks the keys of items that were added since the last look. A dict may be looked at after each item, so all
 * items are read only once its keys have a shape. */
static void keys_follow(struct snapshot *snapshot, struct node *node) {
    uint32_t at = node->settled == 0 ? node->first : snapshot->items.row[node->settled - 1].next;
    for (; at != 0; at = snapshot->items.row[at - 1].next) {
        const struct value *key = &snapshot->items.row[at - 1].key;
        if (is_key(key))
            node->keys |= UINT64_C(1) << (key->bits - 1);
    }
    node->settled = node->last;
}

static bool dict_settle(struct snapshot *snapshot, struct value *value) {
    struct node *node = &snapshot->nodes.row[value->bits];
    keys_follow(snapshot, node);
    if (!keys_have_shape(node->keys) || node_recall(node, value))
        return true;
    snapshot->key_mask = node->keys;
    ITEMS_EACH(snapshot, value) {
        key_note(snapshot, &item->key);
        if (is_key(&item->key))
            snapshot->key_value[item->key.bits - 1] = item->value;
    }
    if (!snapshot_shape(snapshot, value))
        return false;
    node_keep(node, value);
    return true;
}

/* ---- lists ---- */

static bool stack_end(struct snapshot *snapshot, struct value *list) {
    uint32_t stack;
    if (!intern_stack(&snapshot->interner, snapshot->frames.row, snapshot->frames.count, &stack))
        return snapshot_fail_memory(snapshot);
    list->tag = VALUE_STACK;
    list->bits = stack;
    return true;
}

static bool list_is_open_stack(const struct snapshot *snapshot, const struct value *list) {
    return list->tag == VALUE_LIST && snapshot->nodes.row[list->bits].is_open_stack;
}

static bool stack_settle(struct snapshot *snapshot, struct value *list) {
    struct node *node = &snapshot->nodes.row[list->bits];
    if (node_recall(node, list))
        return true;
    snapshot->frames.count = 0;
    ITEMS_EACH(snapshot, list) {
        if (!scratch_add(snapshot, (uint32_t)item->value.bits))
            return false;
    }
    if (!stack_end(snapshot, list))
        return false;
    node_keep(node, list);
    return true;
}

bool snapshot_settle(struct snapshot *snapshot, struct value *value) {
    if (value->tag == VALUE_DICT)
        return dict_settle(snapshot, value);
    return !list_is_open_stack(snapshot, value) || stack_settle(snapshot, value);
}

/* Takes a stack apart again when more frames (further out) come: from then on it is a list until it is used. Each
 * use after another frame counts as text that is made; beyond that limit the stack stays as it is. */
static bool stack_reopen(struct snapshot *snapshot, struct value *list) {
    const struct stack_table *stacks = &snapshot->interner.stacks.table;
    for (uint32_t at = (uint32_t)list->bits; at != 0; at = stack_parent(stacks, at))
        if (!made_texts_spend(&snapshot->made, cursor_offset(snapshot->cursor), sizeof at))
            return true;
    uint32_t at = (uint32_t)list->bits;
    if (!node_new(snapshot, VALUE_LIST, list))
        return false;
    snapshot->nodes.row[list->bits].is_open_stack = true;
    for (; at != 0; at = stack_parent(stacks, at))
        if (!node_add(snapshot, list, (struct value){.tag = VALUE_NONE},
                      (struct value){.tag = VALUE_FRAME, .bits = stacks->frame[at]}))
            return false;
    return true;
}

/* The first frames of a list become a stack at once, because nearly all lists come in one piece. */
static bool append_frames(struct snapshot *snapshot, struct value *list, const struct value *items,
                          uint32_t n_items) {
    bool piecemeal = list->tag != VALUE_NEW_LIST;
    if (list->tag == VALUE_STACK && !stack_reopen(snapshot, list))
        return false;
    snapshot->frames.count = 0;
    for (uint32_t i = 0; i < n_items; i++) {
        if (items[i].tag != VALUE_FRAME || list->tag == VALUE_STACK)
            snapshot->n_misplaced++;
        else if (!(piecemeal ? node_add(snapshot, list, (struct value){.tag = VALUE_NONE}, items[i])
                             : scratch_add(snapshot, (uint32_t)items[i].bits)))
            return false;
    }
    return piecemeal || stack_end(snapshot, list);
}

static bool append_one(struct snapshot *snapshot, struct value *list, const struct value *item) {
    bool is_new = list->tag == VALUE_NEW_LIST;
    if (item->tag == VALUE_EVENT && (is_new || list->tag == VALUE_EVENTS))
        return append_event(snapshot, list, item);
    if ((item->tag == VALUE_BLOCK && (is_new || list->tag == VALUE_BLOCKS)) ||
        (item->tag == VALUE_SEGMENT && (is_new || list->tag == VALUE_SEGMENTS)))
        return append_row(snapshot, list, item);
    if (item->tag == VALUE_SPENT)
        return true;
    if (is_new && !node_new(snapshot, VALUE_LIST, list))
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
    if (list->tag == VALUE_STACK || (list->tag == VALUE_NEW_LIST && items[0].tag == VALUE_FRAME) ||
        list_is_open_stack(snapshot, list))
        return append_frames(snapshot, list, items, n_items);
    for (uint32_t i = 0; i < n_items; i++)
        if (!append_one(snapshot, list, &items[i]))
            return false;
    return true;
}
