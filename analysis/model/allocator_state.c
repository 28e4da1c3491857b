/* A state that is already there, put into the model block by block; and whether a state is sound, for tests. */
#include "analysis/model/allocator_internal.h"

bool allocator_segment(struct allocator *a, uint64_t address, uint16_t pool, uint16_t stream, bool small,
                       bool expandable) {
    uint32_t list = allocator_list_of(a, pool, stream, small);
    a->building = (struct allocator_building){.address = address, .list = (uint16_t)list};
    if (list != ALLOCATOR_LIST_NONE && expandable)
        a->building.reservation = allocator_reservation_add(a, address, small);
    return !a->no_memory;
}

uint32_t allocator_block_add(struct allocator *a, uint64_t nbytes, enum allocator_use use, bool mapped) {
    struct allocator_building *building = &a->building;
    uint32_t index = allocator_block_take(a, (struct allocator_block){.address = building->address,
                                                                      .size = nbytes,
                                                                      .before = building->last,
                                                                      .reservation = building->reservation,
                                                                      .list = building->list,
                                                                      .mapped = mapped});
    if (index == 0)
        return 0;
    if (building->last != 0)
        a->block[building->last].behind = index;
    building->last = index;
    building->address += nbytes;
    if (mapped) {
        allocator_reserved_add(a, nbytes);
        a->reservation[building->reservation].mapped_bytes += building->reservation != 0 ? nbytes : 0;
    }
    a->block[index].use = use == ALLOCATOR_FREE ? ALLOCATOR_FREE : ALLOCATOR_USED;
    a->active_bytes += use == ALLOCATOR_FREE ? 0 : nbytes;
    if (use == ALLOCATOR_FREE)
        allocator_list_put(a, index);
    if (use == ALLOCATOR_WAITING)
        allocator_wait(a, index);
    return a->no_memory ? 0 : index;
}

/* ---- soundness ---- */

static bool block_is_sound(const struct allocator *a, uint32_t index) {
    const struct allocator_block *block = &a->block[index], *behind = &a->block[block->behind];
    if (block->size == 0 || (!block->mapped && (block->reservation == 0 || !is_free(block))))
        return false;
    if (block->behind == 0)
        return true;
    bool free_neighbours = is_free(block) && is_free(behind) && block->mapped == behind->mapped;
    return behind->before == index && block->address + block->size == behind->address && !free_neighbours &&
           block->list == behind->list && block->reservation == behind->reservation;
}

static bool list_is_sound(const struct allocator *a, const struct ordered *set, bool mapped,
                          uint64_t *count) {
    const struct ordered_key *key, *last = NULL;
    for (struct ordered_place place = {0}; (key = ordered_at(set, &a->store, place)) != NULL;
         place = ordered_next(set, &a->store, place), ++*count) {
        const struct allocator_block *block = &a->block[key->value];
        if (!is_free(block) || block->mapped != mapped ||
            key->first != (mapped ? block->size : block->address) ||
            (last != NULL &&
             (last->first > key->first || (last->first == key->first && last->second >= key->second))))
            return false;
        last = key;
    }
    return true;
}

/* The counts and sets of lists by what is free in them. */
static bool list_is_counted(const struct allocator *a, const struct allocator_list *list) {
    const struct ordered_key *key;
    uint32_t n_giving = 0;
    for (struct ordered_place place = {0}; (key = ordered_at(&list->free, &a->store, place)) != NULL;
         place = ordered_next(&list->free, &a->store, place))
        n_giving += list->pool == ALLOCATOR_DEFAULT_POOL && allocator_block_gives(a, &a->block[key->value]);
    return list->n_giving == n_giving && (list->is_giving || n_giving == 0) &&
           (list->is_filled || list->free.count == 0);
}

bool allocator_is_sound(const struct allocator *a) {
    uint64_t mapped = 0, active = 0, n_free = 0, n_listed = 0;
    for (uint32_t i = 1; i < a->n_blocks; i++) {
        const struct allocator_block *block = &a->block[i];
        if (block->list == ALLOCATOR_LIST_NONE)
            continue;
        if (!block_is_sound(a, i))
            return false;
        mapped += block->mapped ? block->size : 0;
        active += is_free(block) ? 0 : block->size;
        n_free += is_free(block);
    }
    for (uint32_t i = 0; i < a->n_lists; i++)
        if (!list_is_sound(a, &a->list[i].free, true, &n_listed) ||
            !list_is_sound(a, &a->list[i].unmapped, false, &n_listed) || !list_is_counted(a, &a->list[i]))
            return false;
    return mapped == a->reserved_bytes && active == a->active_bytes && n_free == n_listed;
}
