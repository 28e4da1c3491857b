/* Annotations, and tuples: pool ids and any others. */
#include "parser/snapshot_internal.h"

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
