/* Blocks, segments, annotations, and tuples: pool ids and any others. */
#include "parser/snapshot_internal.h"

/* torch 1.13 and 2.0 kept sizes and stacks of a block's users, newest first. */
static void block_from_history(struct snapshot *snapshot, struct block *block) {
    if (!key_has(snapshot, KEY_HISTORY) || snapshot->key_value[KEY_HISTORY].tag != VALUE_LIST)
        return;
    const struct value *list = &snapshot->key_value[KEY_HISTORY];
    const struct node_item *newest = item_at(snapshot, snapshot->nodes.row[list->bits].first);
    if (newest == NULL || newest->value.tag != VALUE_DICT)
        return;
    ITEMS_EACH(snapshot, &newest->value) {
        if (value_is_word(&item->key, KEY_FRAMES) && item->value.tag == VALUE_STACK)
            block->stack = (uint32_t)item->value.bits;
        if (value_is_word(&item->key, KEY_REAL_SIZE) && !key_has(snapshot, KEY_REQUESTED_SIZE))
            block->requested_size = value_size(snapshot, &item->value);
    }
}

static enum block_state state_of(uint32_t word) {
    if (is_word(word, KEY_ACTIVE_ALLOCATED))
        return BLOCK_ALLOCATED;
    if (is_word(word, KEY_ACTIVE_PENDING_FREE) || is_word(word, KEY_ACTIVE_AWAITING_FREE))
        return BLOCK_PENDING_FREE;
    return BLOCK_INACTIVE;
}

bool shape_block(struct snapshot *snapshot, struct value *result) {
    if (!rows_reserve(snapshot, &snapshot->blocks))
        return false;
    struct staged_block *row = &snapshot->blocks.row[snapshot->blocks.count];
    *row = (struct staged_block){.has_address = key_has(snapshot, KEY_ADDRESS)};
    struct block *block = &row->block;
    block->address = key_uint(snapshot, KEY_ADDRESS);
    block->size = key_size(snapshot, KEY_SIZE, true);
    block->state = (uint8_t)state_of(key_string(snapshot, KEY_STATE));
    block->stack = key_stack(snapshot, KEY_FRAMES);
    block->requested_size =
        key_has(snapshot, KEY_REQUESTED_SIZE) ? key_size(snapshot, KEY_REQUESTED_SIZE, true) : block->size;
    if (!key_has(snapshot, KEY_FRAMES))
        block_from_history(snapshot, block);
    if (block->state == BLOCK_INACTIVE)
        block->requested_size = 0; /* stale: the request of the last user */
    *result = (struct value){.tag = VALUE_BLOCK, .bits = snapshot->blocks.count++};
    return true;
}

bool shape_segment(struct snapshot *snapshot, struct value *result) {
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
        .total_size = key_size(snapshot, KEY_TOTAL_SIZE, true),
        .allocated_size = key_size(snapshot, KEY_ALLOCATED_SIZE, false),
        .active_size = key_size(snapshot, KEY_ACTIVE_SIZE, false),
        .requested_size = key_size(snapshot, KEY_REQUESTED_SIZE, false),
        .stack = key_stack(snapshot, KEY_FRAMES),
        .flags = (uint8_t)((key_uint(snapshot, KEY_IS_EXPANDABLE) ? SEGMENT_EXPANDABLE : 0) |
                           (is_word(key_string(snapshot, KEY_SEGMENT_TYPE), KEY_SMALL) ? SEGMENT_SMALL : 0))};
    const struct value *blocks = &snapshot->key_value[KEY_BLOCKS];
    if (key_has(snapshot, KEY_BLOCKS) && blocks->tag == VALUE_BLOCKS)
        row->blocks = snapshot->chains.row[blocks->bits];
    *result = (struct value){.tag = VALUE_SEGMENT, .bits = snapshot->segments.count++};
    return true;
}

bool shape_annotation(struct snapshot *snapshot, struct value *result) {
    struct trace *trace = snapshot->trace;
    uint32_t name = key_string(snapshot, KEY_NAME);
    if (!intern_cut(&snapshot->interner, &name, false) ||
        !ARENA_GROW(&trace->arena, trace->annotations, snapshot->annotations_capacity,
                    (uint64_t)trace->n_annotations + 1))
        return snapshot_fail_memory(snapshot);
    trace->annotations[trace->n_annotations++] = (struct annotation){
        .time_us = (int64_t)key_uint(snapshot, KEY_TIME_US),
        .name = name,
        .device = (int32_t)key_uint(snapshot, KEY_DEVICE),
        .stage = is_word(key_string(snapshot, KEY_STAGE), KEY_END) ? ANNOTATION_END : ANNOTATION_START};
    *result = (struct value){.tag = VALUE_SPENT};
    return true;
}

static bool is_integer(const struct value *value) {
    return value->tag == VALUE_INT || value->tag == VALUE_BIG;
}

/* Pool ids are pairs of integers and come with every event, so equal ones are kept once. */
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
