/*
 * The memory of one trace: everything allocated here is freed by one call.
 *
 *     small things (never move)          columns (grow, may move)
 *     +--------+   +--------+            +----------------------+
 *     | chunk  |-->| chunk  |            | header | items ...   |  one block of the host each,
 *     +--------+   +--------+            +----------------------+  in a list
 *
 * Freestanding: the host (a C library, or the page's linear memory) brings the memory. Not thread safe.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The source of an arena's memory. */
struct arena_host {
    /* As realloc: `ptr` NULL allocates, `new_nbytes` 0 frees and returns NULL. NULL otherwise means that
     * there is none; `ptr` is then still valid. Results are aligned to 16 bytes. */
    void *(*resize)(void *context, void *ptr, size_t old_nbytes, size_t new_nbytes);
    void *context;
};

struct arena {
    struct arena_host host;
    struct arena_chunk *chunks;   /* newest first */
    struct arena_column *columns; /* newest first */
    size_t used_nbytes;           /* taken from the host */
    size_t peak_nbytes;           /* highest used_nbytes so far */
    size_t limit_nbytes;          /* SIZE_MAX: none */
    bool limit_hit;               /* an allocation failed because of limit_nbytes, not because of the host */
    bool full; /* an allocation failed because row numbers have 32 bits, not for lack of memory */
};

/* Starts an empty arena. Takes nothing from the host yet. */
void arena_init(struct arena *arena, struct arena_host host, size_t limit_nbytes);

/* A host for arenas that share the limit of this one: the memory comes from this arena's host and counts as this
 * arena's, but is not freed with it. Valid as long as the arena; release its users first. */
struct arena_host arena_share(struct arena *arena);

/* Frees everything that was allocated from the arena; it can be used again afterwards. */
void arena_release(struct arena *arena);

/* `nbytes` of zeroed memory, aligned to 16, valid until arena_release. NULL: no memory. */
void *arena_alloc(struct arena *arena, size_t nbytes);

/*
 * Makes room for `count` items in a growable column. `column` is the address of the pointer to its items, of any
 * type; the pointer (NULL at first) and `*capacity` (0 at first, in items) are updated, and the column may move.
 * New items are NOT zeroed. Grows by half, so n appends cost O(n). False: no memory, and the column is unchanged.
 */
bool arena_grow(struct arena *arena, void *column, uint32_t *capacity, uint64_t count, size_t item_nbytes);

/* Gives back the room of a column beyond `count` items. Never fails (a column that cannot shrink stays). */
void arena_trim(struct arena *arena, void *column, uint32_t *capacity, uint32_t count, size_t item_nbytes);

/* Frees columns before their arena and sets their pointers, which are at `places`, to NULL; the last place is NULL.
 * NULL pointers are fine. */
void arena_drop(struct arena *arena, void *const *places);

/* The place of a column's pointer, and the size of its items. */
struct arena_place {
    void *column;
    size_t item_nbytes;
};

/* Makes columns of `count` items each, as arena_column does (`zeroed`: as arena_zeros), up to a place of NULL.
 * False: one of them is NULL. */
bool arena_columns(struct arena *arena, uint64_t count, bool zeroed, const struct arena_place *places);

/* The same for columns that are lvalues: the macros derive place and item size from them. The last three take one to
 * ten columns. */
#define ARENA_GROW(arena, column, capacity, count) \
    arena_grow((arena), &(column), &(capacity), (count), sizeof *(column))
#define ARENA_TRIM(arena, column, capacity, count) \
    arena_trim((arena), &(column), &(capacity), (count), sizeof *(column))
#define ARENA_DROP(arena, ...) arena_drop((arena), (void *const[]){ARENA_EACH(ARENA_AT, __VA_ARGS__), NULL})
#define ARENA_COLUMNS(arena, count, ...)   \
    arena_columns((arena), (count), false, \
                  (const struct arena_place[]){ARENA_EACH(ARENA_SIZED, __VA_ARGS__), {NULL, 0}})
#define ARENA_ZEROS(arena, count, ...)    \
    arena_columns((arena), (count), true, \
                  (const struct arena_place[]){ARENA_EACH(ARENA_SIZED, __VA_ARGS__), {NULL, 0}})

#define ARENA_AT(column) &(column)
#define ARENA_SIZED(column) \
    { &(column), sizeof *(column) }
#define ARENA_NTH(a, b, c, d, e, f, g, h, i, j, nth, ...) nth
#define ARENA_EACH(to, ...)                                                                                  \
    ARENA_NTH(__VA_ARGS__, ARENA_10, ARENA_9, ARENA_8, ARENA_7, ARENA_6, ARENA_5, ARENA_4, ARENA_3, ARENA_2, \
              ARENA_1, )                                                                                     \
    (to, __VA_ARGS__)
#define ARENA_1(to, a)       to(a)
#define ARENA_2(to, a, ...)  to(a), ARENA_1(to, __VA_ARGS__)
#define ARENA_3(to, a, ...)  to(a), ARENA_2(to, __VA_ARGS__)
#define ARENA_4(to, a, ...)  to(a), ARENA_3(to, __VA_ARGS__)
#define ARENA_5(to, a, ...)  to(a), ARENA_4(to, __VA_ARGS__)
#define ARENA_6(to, a, ...)  to(a), ARENA_5(to, __VA_ARGS__)
#define ARENA_7(to, a, ...)  to(a), ARENA_6(to, __VA_ARGS__)
#define ARENA_8(to, a, ...)  to(a), ARENA_7(to, __VA_ARGS__)
#define ARENA_9(to, a, ...)  to(a), ARENA_8(to, __VA_ARGS__)
#define ARENA_10(to, a, ...) to(a), ARENA_9(to, __VA_ARGS__)

/* A growable column with its count. */
#define ROWS(type)                \
    struct {                      \
        type *row;                \
        uint32_t count, capacity; \
    }

/* A column of fixed length, `count` items (at least one); not zeroed; ARENA_DROP frees it early. NULL: no memory. */
void *arena_column(struct arena *arena, uint64_t count, size_t item_nbytes);

/* The same, zeroed. */
void *arena_zeros(struct arena *arena, uint64_t count, size_t item_nbytes);

/* A column of zeroed bits, [count / 64 + 1], one for each of `count` things. NULL: no memory. */
uint64_t *arena_bits(struct arena *arena, uint32_t count);
