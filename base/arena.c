#include "base/arena.h"

#include "base/bytes.h"

#ifndef ARENA_CHUNK_NBYTES /* a test sets 0: then every allocation asks the host, and can fail */
#define ARENA_CHUNK_NBYTES \
    ((size_t)256 << 10) /* large enough for thousands of small things, small enough for a small trace */
#endif

enum { ALIGNMENT = 16, FIRST_CAPACITY = 16 };

struct arena_chunk {
    struct arena_chunk *next;
    size_t nbytes; /* of the whole block, this header included */
    size_t used;
    size_t unused_for_alignment;
};

struct arena_column {
    struct arena_column *next, **link; /* `*link` points here */
    size_t nbytes;                     /* of the whole block, this header included */
    size_t unused_for_alignment;
};

static size_t round_up(size_t nbytes) {
    return (nbytes + (ALIGNMENT - 1)) & ~(size_t)(ALIGNMENT - 1);
}

void arena_init(struct arena *arena, struct arena_host host, size_t limit_nbytes) {
    *arena = (struct arena){.host = host, .limit_nbytes = limit_nbytes};
}

static void *host_resize(struct arena *arena, void *ptr, size_t old_nbytes, size_t new_nbytes) {
    if (new_nbytes > old_nbytes && new_nbytes - old_nbytes > arena->limit_nbytes - arena->used_nbytes) {
        arena->limit_hit = true;
        return NULL;
    }
    void *moved = arena->host.resize(arena->host.context, ptr, old_nbytes, new_nbytes);
    if (moved == NULL && new_nbytes != 0)
        return NULL;
    arena->used_nbytes = arena->used_nbytes - old_nbytes + new_nbytes;
    if (arena->used_nbytes > arena->peak_nbytes)
        arena->peak_nbytes = arena->used_nbytes;
    return moved;
}

static void *share_resize(void *context, void *ptr, size_t old_nbytes, size_t new_nbytes) {
    return host_resize(context, ptr, old_nbytes, new_nbytes);
}

struct arena_host arena_share(struct arena *arena) {
    return (struct arena_host){share_resize, arena};
}

void arena_release(struct arena *arena) {
    while (arena->chunks != NULL) {
        struct arena_chunk *next = arena->chunks->next;
        host_resize(arena, arena->chunks, arena->chunks->nbytes, 0);
        arena->chunks = next;
    }
    while (arena->columns != NULL) {
        struct arena_column *next = arena->columns->next;
        host_resize(arena, arena->columns, arena->columns->nbytes, 0);
        arena->columns = next;
    }
}

static struct arena_chunk *chunk_add(struct arena *arena, size_t nbytes) {
    struct arena_chunk *chunk = host_resize(arena, NULL, 0, nbytes);
    if (chunk == NULL)
        return NULL;
    *chunk = (struct arena_chunk){.next = arena->chunks, .nbytes = nbytes, .used = sizeof *chunk};
    arena->chunks = chunk;
    return chunk;
}

void *arena_alloc(struct arena *arena, size_t nbytes) {
    if (nbytes > SIZE_MAX / 2)
        return NULL;
    size_t want = round_up(nbytes);
    struct arena_chunk *chunk = arena->chunks;
    if (chunk == NULL || chunk->nbytes - chunk->used < want) {
        size_t least = want + sizeof *chunk;
        chunk = chunk_add(arena, least > ARENA_CHUNK_NBYTES ? least : ARENA_CHUNK_NBYTES);
        if (chunk == NULL)
            return NULL;
    }
    void *result = (uint8_t *)chunk + chunk->used;
    chunk->used += want;
    bytes_zero(result, nbytes);
    return result;
}

/* Returns the block of the column that `place` refers to. The pointer is copied because it may be of any type. */
static struct arena_column *column_at(const void *place) {
    struct arena_column *items;
    bytes_copy(&items, place, sizeof items);
    return items == NULL ? NULL : items - 1;
}

static void column_put(void *place, struct arena_column *block) {
    struct arena_column *items = block == NULL ? NULL : block + 1;
    bytes_copy(place, &items, sizeof items);
}

/* Gives a column's block another size; its neighbours in the list follow it when it moves. */
static bool column_resize(struct arena *arena, void *column, size_t item_nbytes_total) {
    struct arena_column *old = column_at(column);
    size_t nbytes = sizeof *old + round_up(item_nbytes_total);
    struct arena_column *block = host_resize(arena, old, old == NULL ? 0 : old->nbytes, nbytes);
    if (block == NULL)
        return false;
    if (old == NULL) {
        block->next = arena->columns;
        block->link = &arena->columns;
    }
    block->nbytes = nbytes;
    *block->link = block;
    if (block->next != NULL)
        block->next->link = &block->next;
    column_put(column, block);
    return true;
}

bool arena_grow(struct arena *arena, void *column, uint32_t *capacity, uint64_t count, size_t item_nbytes) {
    if (count <= *capacity)
        return true;
    if (count > UINT32_MAX) {
        arena->full = true;
        return false;
    }
    uint64_t wanted = (uint64_t)*capacity + *capacity / 2;
    if (wanted < FIRST_CAPACITY)
        wanted = FIRST_CAPACITY;
    if (wanted < count)
        wanted = count;
    if (wanted > UINT32_MAX)
        wanted = UINT32_MAX;
    if (wanted > SIZE_MAX / 2 / item_nbytes)
        return false;
    if (!column_resize(arena, column, (size_t)wanted * item_nbytes)) {
        /* Half of what the limit leaves, so that few steps remain before it. Under a parent's limit, a
         * thirty-second. */
        uint64_t less = *capacity + (arena->limit_nbytes - arena->used_nbytes) / item_nbytes / 2;
        if (less < count || less >= wanted)
            less = *capacity + *capacity / 32;
        less = less < count || less >= wanted ? count : less;
        if (wanted == count ||
            (!column_resize(arena, column, (size_t)less * item_nbytes) &&
             (less == count || !column_resize(arena, column, (size_t)(less = count) * item_nbytes))))
            return false;
        wanted = less;
    }
    *capacity = (uint32_t)wanted;
    return true;
}

void arena_trim(struct arena *arena, void *column, uint32_t *capacity, uint32_t count, size_t item_nbytes) {
    if (column_at(column) != NULL && count < *capacity &&
        column_resize(arena, column, (size_t)count * item_nbytes))
        *capacity = count;
}

void arena_drop(struct arena *arena, void *const *places) {
    for (; *places != NULL; places++) {
        struct arena_column *block = column_at(*places);
        if (block == NULL)
            continue;
        *block->link = block->next;
        if (block->next != NULL)
            block->next->link = block->link;
        host_resize(arena, block, block->nbytes, 0);
        column_put(*places, NULL);
    }
}

void *arena_column(struct arena *arena, uint64_t count, size_t item_nbytes) {
    void *column = NULL;
    uint32_t capacity = 0;
    return arena_grow(arena, &column, &capacity, count == 0 ? 1 : count, item_nbytes) ? column : NULL;
}

bool arena_columns(struct arena *arena, uint64_t count, bool zeroed, const struct arena_place *places) {
    bool done = true;
    for (; places->column != NULL; places++) {
        struct arena_column *items = (zeroed ? arena_zeros : arena_column)(arena, count, places->item_nbytes);
        bytes_copy(places->column, &items, sizeof items);
        done = items != NULL && done;
    }
    return done;
}

void *arena_zeros(struct arena *arena, uint64_t count, size_t item_nbytes) {
    void *column = arena_column(arena, count, item_nbytes);
    if (column != NULL)
        bytes_zero(column, (size_t)count * item_nbytes);
    return column;
}

uint64_t *arena_bits(struct arena *arena, uint32_t count) {
    return arena_zeros(arena, (uint64_t)count / 64 + 1, sizeof(uint64_t));
}
