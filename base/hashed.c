#include "base/hashed.h"

uint64_t hash_key[2] = {UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0xbf58476d1ce4e5b9)};

enum { FIRST_ROWS = 1024, FIRST_KEYS = 256 };

static uint64_t slots_next(uint32_t mask, uint32_t first) {
    return mask == 0 ? first : ((uint64_t)mask + 1) * 2;
}

__attribute__((noinline)) bool row_table_grow(struct row_table *table, struct arena *arena,
                                              uint32_t (*hash)(const void *context, uint32_t row),
                                              const void *context) {
    uint64_t n_slots = slots_next(table->mask, FIRST_ROWS);
    struct row_table larger = {arena_zeros(arena, n_slots, sizeof *table->slot), (uint32_t)(n_slots - 1),
                               table->count};
    if (larger.slot == NULL)
        return false;
    for (uint32_t i = 0; table->mask != 0 && i <= table->mask; i++)
        if (table->slot[i] != 0)
            *ROW_SEEK(&larger, hash(context, table->slot[i]), row, false) = table->slot[i];
    ARENA_DROP(arena, table->slot);
    *table = larger;
    return true;
}

__attribute__((noinline)) bool key_map_grow(struct key_map *map, struct arena *arena) {
    uint64_t n_slots = slots_next(map->mask, FIRST_KEYS);
    struct key_map larger = {arena_zeros(arena, n_slots, sizeof *map->slot), (uint32_t)(n_slots - 1),
                             map->count};
    if (larger.slot == NULL)
        return false;
    for (uint32_t i = 0; map->mask != 0 && i <= map->mask; i++)
        if (map->slot[i].number != 0)
            key_place(&larger, map->slot[i]);
    ARENA_DROP(arena, map->slot);
    *map = larger;
    return true;
}

void key_map_remove(struct key_map *map, uint32_t hole) {
    assert(hole <= map->mask && map->slot[hole].number != 0);
    for (uint32_t at = (hole + 1) & map->mask; map->slot[at].number != 0; at = (at + 1) & map->mask) {
        uint32_t home = key_home(map, map->slot[at].key);
        /* A key may fill the hole unless its home lies after the hole. */
        if (((at - home) & map->mask) >= ((at - hole) & map->mask)) {
            map->slot[hole] = map->slot[at];
            hole = at;
        }
    }
    map->slot[hole].number = 0;
    map->count--;
}
