/*
 * Memory for the trees of cJSON, taken from an arena: it counts for the memory limit, costs no call per node, and is
 * given back by being used again.
 *
 * cJSON asks two functions of the whole process for memory and tells them nothing of whom it is for. They are set here,
 * and do what malloc and free do except while json_pool_parse runs, in its thread.
 */
#pragma once

#include "base/arena.h"

#include <cjson/cJSON.h>

struct json_pool {
    struct arena *arena;
    uint8_t *bytes; /* of the one tree that is there */
    uint32_t capacity;
    size_t used;
};

/* Takes memory from `arena` until json_pool_release. */
void json_pool_init(struct json_pool *pool, struct arena *arena);
void json_pool_release(struct json_pool *pool);

/*
 * Parses `nbytes` of JSON that holds at most `n_values` values, keys of members among them, and no number outside of a
 * string. `*tree` is valid until the next call and is not for cJSON_Delete; NULL: this is not JSON. False: no memory.
 */
bool json_pool_parse(struct json_pool *pool, const char *text, size_t nbytes, uint32_t n_values,
                     const cJSON **tree);
