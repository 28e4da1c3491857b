/*
 * Memory for the trees of cJSON, taken from an arena: it counts towards the memory limit, needs no call per node,
 * and is reused for the next tree.
 *
 * cJSON takes memory from two functions of the whole process, which are not told for whom. They are set here, and
 * act as malloc and free except in a thread that is inside json_pool_parse.
 */
#pragma once

#include "base/arena.h"

#include <cjson/cJSON.h>

struct json_pool {
    struct arena *arena;
    uint8_t *bytes; /* memory of the one tree */
    uint32_t capacity;
    size_t used;
};

/* Takes memory from `arena` until json_pool_release. */
void json_pool_init(struct json_pool *pool, struct arena *arena);
void json_pool_release(struct json_pool *pool);

/* Parses `nbytes` of JSON with at most `n_values` values, keys included, and no number outside of a string. `*tree`
 * is valid until the next call, and not for cJSON_Delete; NULL: this is not JSON. False: no memory. */
bool json_pool_parse(struct json_pool *pool, const char *text, size_t nbytes, uint32_t n_values,
                     const cJSON **tree);
