/* Shared by the files that give a snapshot its shape. */
#pragma once

#include "parser/keys.h"
#include "parser/snapshot.h"

/* Makes room for one more row. */
#define rows_reserve(snapshot, rows)                                                                        \
    ((rows)->count < (rows)->capacity ||                                                                    \
     (snapshot_may_hold(snapshot, (uint64_t)(rows)->capacity / 2 * sizeof *(rows)->row) &&                  \
      (ARENA_GROW(&(snapshot)->trace->arena, (rows)->row, (rows)->capacity, (uint64_t)(rows)->count + 1) || \
       snapshot_fail_memory(snapshot))))

/* The item with this index + 1; NULL: 0. */
static inline const struct node_item *item_at(const struct snapshot *snapshot, uint32_t at) {
    return at != 0 ? &snapshot->items.row[at - 1] : NULL;
}

/* Begins a loop over the items of a VALUE_LIST or VALUE_DICT, each as `item`. */
#define ITEMS_EACH(snapshot, list)                                                                    \
    for (const struct node_item *item = item_at(snapshot, (snapshot)->nodes.row[(list)->bits].first); \
         item != NULL; item = item_at(snapshot, item->next))

/* Always false; the first error counts. */
bool snapshot_fail(struct snapshot *snapshot, enum read_code code, const char *message);
bool snapshot_fail_memory(struct snapshot *snapshot);

/* Do the bytes read so far justify this much more memory? A byte can be an empty dict, which takes forty. */
bool snapshot_may_hold(struct snapshot *snapshot, uint64_t more_nbytes);

/* About the dict that was loaded last. A key that is missing, or has a value of another type, gives 0. */
bool key_has(const struct snapshot *snapshot, enum key key);
uint64_t key_uint(const struct snapshot *snapshot, enum key key);
uint32_t key_string(const struct snapshot *snapshot, enum key key);
uint32_t key_stack(const struct snapshot *snapshot, enum key key);
struct pool_id key_pool(const struct snapshot *snapshot, enum key key, bool *has_pool);

/* Is the string, or the value a string that is, this word? */
bool is_word(uint32_t string, enum key word);
bool value_is_word(const struct value *value, enum key word);

/* An integer as 64 bits; the C++ pickler writes addresses of 2^63 and above as negative numbers. 0 for anything
 * else. */
uint64_t value_uint(const struct value *value);

/* A byte count, whole numbers written as floats included. Anything else counts as 0 and in n_sizes_unread, as a missing
 * one does that is `needed`. One of 2^63 and more counts as 2^63 - 1, so that the sum of all is refused (TRACE_BYTES_MAX)
 * instead of a figure that lacks it. */
uint64_t value_size(struct snapshot *snapshot, const struct value *value);
uint64_t key_size(struct snapshot *snapshot, enum key key, bool needed);

/* Adds a device's recorder as the last row. */
bool snapshot_recorder_add(struct snapshot *snapshot, int32_t ordinal);

/* Turn the dict that was loaded last into a row that waits for its list, or into an annotation. */
bool shape_block(struct snapshot *snapshot, struct value *result);
bool shape_segment(struct snapshot *snapshot, struct value *result);
bool shape_annotation(struct snapshot *snapshot, struct value *result);

/* The JSON text of a value that is only shown (allocator settings, metadata given as a dict) as a string of the trace;
 * nesting beyond 32 becomes null. 0 for VALUE_NONE. Its bytes count towards the texts that the snapshot makes
 * (parser/made_text.h). */
bool settings_text(struct snapshot *snapshot, const struct value *value, uint32_t *string);
