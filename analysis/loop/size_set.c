#include "analysis/loop/size_set.h"

#include "base/hashed.h"
#include "base/numbers.h"
#include "base/search.h"

bool size_set_init(struct size_set *set, const struct sort_row *rows, uint32_t count, struct arena *arena) {
    *set = (struct size_set){.nbytes = arena_column(arena, count, sizeof *set->nbytes)};
    if (set->nbytes == NULL)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (i == 0 || rows[i].key != rows[i - 1].key)
            set->nbytes[set->count++] = rows[i].key;
    for (uint32_t i = 0; i < SIZE_SET_RECENT; i++)
        set->recent[i].index = SIZE_NONE;
    return true;
}

uint32_t size_set_at(struct size_set *set, uint64_t nbytes) {
    uint32_t slot = hash_of_key(nbytes) & (SIZE_SET_RECENT - 1);
    if (set->recent[slot].nbytes == nbytes && nbytes != 0)
        return set->recent[slot].index;
    uint32_t low = SEARCH(0, set->count, i, set->nbytes[i] < nbytes);
    set->recent[slot].nbytes = nbytes;
    set->recent[slot].index = low < set->count && set->nbytes[low] == nbytes ? low : SIZE_NONE;
    return set->recent[slot].index;
}

bool size_set_covers(const struct size_set *set, const uint32_t *all, const uint32_t *part) {
    uint64_t common = 0;
    for (uint32_t i = 0; i < set->count; i++)
        common += set->nbytes[i] * (all[i] < part[i] ? all[i] : part[i]);
    return is_percent(common, size_set_bytes(set, part), 95);
}

uint64_t size_set_bytes(const struct size_set *set, const uint32_t *counts) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < set->count; i++)
        bytes += set->nbytes[i] * counts[i];
    return bytes;
}
