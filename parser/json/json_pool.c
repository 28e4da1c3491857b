#include "parser/json/json_pool.h"

#include <errno.h>
#include <stdlib.h>

enum { ALIGNMENT = 16 };

/* A string takes its length and two bytes, both rounded up. */
enum { VALUE_MAX_NBYTES = (sizeof(cJSON) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT + ALIGNMENT + 2 };

/* The parser whose tree this thread is making. NULL: somebody else uses cJSON, with the C library's memory. */
static _Thread_local struct json_pool *making;

static void *memory_take(size_t nbytes) {
    if (making == NULL)
        return malloc(nbytes);
    size_t room = making->capacity - making->used;
    size_t wanted = nbytes <= room ? (nbytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT : SIZE_MAX;
    if (wanted > room) {
        errno = ENOMEM;
        return NULL;
    }
    void *memory = making->bytes + making->used;
    making->used += wanted;
    return memory;
}

static void memory_give(void *memory) {
    if (making == NULL)
        free(memory);
}

void json_pool_init(struct json_pool *pool, struct arena *arena) {
    static cJSON_Hooks hooks = {memory_take, memory_give};
    cJSON_InitHooks(&hooks);
    *pool = (struct json_pool){.arena = arena};
}

void json_pool_release(struct json_pool *pool) {
    ARENA_DROP(pool->arena, pool->bytes);
    pool->capacity = 0;
}

bool json_pool_parse(struct json_pool *pool, const char *text, size_t nbytes, uint32_t n_values,
                     const cJSON **tree) {
    *tree = NULL;
    uint64_t needed = (uint64_t)n_values * VALUE_MAX_NBYTES + nbytes;
    if (!ARENA_GROW(pool->arena, pool->bytes, pool->capacity, needed))
        return false;
    pool->used = 0;
    errno = 0;
    making = pool;
    *tree = cJSON_ParseWithLength(text, nbytes);
    making = NULL;
    return *tree != NULL || errno != ENOMEM;
}
