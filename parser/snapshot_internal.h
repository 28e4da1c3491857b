/* Shared by the files that give a snapshot its shape: the dict in view, and errors. */
#pragma once

#include "parser/keys.h"
#include "parser/snapshot.h"

/* Makes room for one more row. */
#define rows_reserve(snapshot, rows)                                                                        \
    ((rows)->count < (rows)->capacity ||                                                                    \
     (snapshot_may_hold(snapshot, (uint64_t)(rows)->capacity / 2 * sizeof *(rows)->row) &&                  \
      (ARENA_GROW(&(snapshot)->trace->arena, (rows)->row, (rows)->capacity, (uint64_t)(rows)->count + 1) || \
       snapshot_fail_memory(snapshot))))

/* Always false; the first error counts. */
bool snapshot_fail(struct snapshot *snapshot, enum read_code code, const char *message);

bool snapshot_fail_memory(struct snapshot *snapshot);

/* Do the bytes read so far justify this much more memory? A byte can be an empty dict, which takes forty. */
bool snapshot_may_hold(struct snapshot *snapshot, uint64_t more_nbytes);

/* About the dict that was loaded last: */
bool key_has(const struct snapshot *snapshot, enum key key);

uint64_t key_uint(const struct snapshot *snapshot, enum key key);

uint64_t key_size(const struct snapshot *snapshot, enum key key);

uint32_t key_string(const struct snapshot *snapshot, enum key key);

uint32_t key_stack(const struct snapshot *snapshot, enum key key);

struct pool_id key_pool(const struct snapshot *snapshot, enum key key, bool *has_pool);

bool is_word(uint32_t string, enum key word);

uint64_t value_uint(const struct value *value);

/* Adds a device's recorder as the last row. */
bool snapshot_recorder_add(struct snapshot *snapshot, int32_t ordinal);

/* Turns the dict that was loaded last into a row that waits for its list. */
bool shape_block(struct snapshot *snapshot, struct value *result);

bool shape_segment(struct snapshot *snapshot, struct value *result);
bool shape_annotation(struct snapshot *snapshot, struct value *result);
