/*
 * Hash tables with open addressing, at most half full, so that probing stays short:
 *
 *     struct row_table    rows that the caller keeps, found by an expression of the caller's
 *     struct key_map      64-bit keys, and a number for each
 *
 * Both start as {0}; the owner drops `slot`. Freestanding.
 *
 * What is hashed comes from files, and who writes one may choose values that would all meet in one slot. So every
 * hash depends on a key that the program draws when it starts. Nothing may depend on the order of the slots: the
 * same input gives the same output under every key.
 */
#pragma once

#include "base/arena.h"
#include "base/assert.h"

/* Odd numbers; constants until the program draws others (cli/main.c), before its first table and thread. */
extern uint64_t hash_key[2];

/* One more value of a sequence, into a hash of 64 bits that stands for all of it: without the key nobody can choose two
 * sequences that are taken for one. Such a hash orders nothing that is seen. */
static inline uint64_t hash_mix(uint64_t hash, uint64_t value) {
    uint64_t mixed = (hash ^ value) * hash_key[0];
    return (mixed ^ mixed >> 32) * hash_key[1];
}

/* The product by a random number spreads the low half of any two keys; folding the upper half into it first makes
 * bits that are too high to reach the result count, too. */
static inline uint32_t hash_of_key(uint64_t key) {
    uint64_t mixed = key * hash_key[0];
    return (uint32_t)((mixed ^ mixed >> 32) * hash_key[1] >> 32);
}

static inline uint32_t hash_of_pair(uint32_t a, uint32_t b) {
    return hash_of_key((uint64_t)a << 32 | b);
}

struct row_table {
    uint32_t *slot; /* the number of a row; 0: empty, so no row is 0 */
    uint32_t mask;  /* slots - 1; 0: none yet */
    uint32_t count; /* the caller adds to it when it fills a slot */
};

/*
 * The slot of the row for which `equal` is true, an expression in the row named `row`, or the empty slot where it
 * belongs. The table has slots. Example: *ROW_SEEK(table, hash_of(key), i, key_of[i] == key)
 */
#define ROW_SEEK(table, hash, row, equal)                                     \
    __extension__({                                                           \
        uint32_t row_at = (hash) & (table)->mask;                             \
        for (uint32_t row; ((row) = (table)->slot[row_at]) != 0 && !(equal);) \
            row_at = (row_at + 1) & (table)->mask;                            \
        &(table)->slot[row_at];                                               \
    })

/* Doubles the slots; hash(context, row) is what the row was added under. False: no memory, and nothing has changed. */
bool row_table_grow(struct row_table *table, struct arena *arena,
                    uint32_t (*hash)(const void *context, uint32_t row), const void *context);

/* Makes room for one more row. As above. */
static inline bool row_table_reserve(struct row_table *table, struct arena *arena,
                                     uint32_t (*hash)(const void *context, uint32_t row),
                                     const void *context) {
    return table->count < table->mask / 2 || row_table_grow(table, arena, hash, context);
}

struct key_map {
    struct key_slot {
        uint64_t key;
        uint32_t number; /* 0: empty */
    } * slot;
    uint32_t mask, count; /* as above */
};

enum { KEY_NOT_FOUND = UINT32_MAX };

/* The slot where the search for a key begins. The map has slots. */
static inline uint32_t key_home(const struct key_map *map, uint64_t key) {
    return hash_of_key(key) & map->mask;
}

/* The index of a key's slot, or KEY_NOT_FOUND. O(1) on average. */
static inline uint32_t key_map_find(const struct key_map *map, uint64_t key) {
    if (map->mask == 0)
        return KEY_NOT_FOUND;
    for (uint32_t at = key_home(map, key); map->slot[at].number != 0; at = (at + 1) & map->mask)
        if (map->slot[at].key == key)
            return at;
    return KEY_NOT_FOUND;
}

/* The place of a key's number, until the map changes; NULL: it is not there. */
static inline uint32_t *key_map_number(const struct key_map *map, uint64_t key) {
    uint32_t at = key_map_find(map, key);
    return at != KEY_NOT_FOUND ? &map->slot[at].number : NULL;
}

/* Doubles the slots. False: no memory, and nothing has changed. */
bool key_map_grow(struct key_map *map, struct arena *arena);

static inline void key_place(struct key_map *map, struct key_slot own) {
    uint32_t at = key_home(map, own.key);
    while (map->slot[at].number != 0)
        at = (at + 1) & map->mask;
    map->slot[at] = own;
}

/* Adds a key that is not there. `number` is not 0. As above. */
static inline bool key_map_add(struct key_map *map, struct arena *arena, uint64_t key, uint32_t number) {
    assert(number != 0);
    if (map->count >= map->mask / 2 && !key_map_grow(map, arena))
        return false;
    key_place(map, (struct key_slot){key, number});
    map->count++;
    return true;
}

/* Takes out the key of the slot `hole`. Later keys may move to fill it. */
void key_map_remove(struct key_map *map, uint32_t hole);
