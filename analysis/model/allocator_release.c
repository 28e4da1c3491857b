/* Gives memory back to the driver: by empty_cache and retries, by max_split_size, and by
 * garbage_collection_threshold. */
#include "analysis/model/allocator_internal.h"

static bool scratch_add(struct allocator *a, uint32_t *count, uint32_t index) {
    if (!ARENA_GROW(a->arena, a->scratch, a->scratch_capacity, (uint64_t)*count + 1)) {
        a->no_memory = true;
        return false;
    }
    a->scratch[(*count)++] = index;
    return true;
}

/* All free blocks of a list, in its order. */
static uint32_t free_blocks(struct allocator *a, uint32_t list) {
    const struct ordered *free = &a->list[list].free;
    struct ordered_place place = {0};
    const struct ordered_key *key;
    uint32_t count = 0;
    for (; (key = ordered_at(free, &a->store, place)) != NULL; place = ordered_next(free, &a->store, place))
        if (!scratch_add(a, &count, key->value))
            return 0;
    return count;
}

/* The list at a place of a->filled or a->giving, and the next place. Removes lists that no longer belong to the
 * set. ALLOCATOR_LIST_NONE: there are no more. */
static uint32_t list_next(struct allocator *a, struct ordered *set, struct ordered_place *place) {
    const struct ordered_key *key;
    while ((key = ordered_at(set, &a->store, *place)) != NULL) {
        uint64_t first = key->first;
        uint32_t index = key->value;
        struct allocator_list *list = &a->list[index];
        bool giving = set == &a->giving;
        if (giving ? list->n_giving != 0 : list->free.count != 0) {
            *place = ordered_next(set, &a->store, *place);
            return index;
        }
        *(giving ? &list->is_giving : &list->is_filled) = false;
        ordered_remove_at(set, &a->store, *place);
        *place = ordered_seek(set, &a->store, first, 0);
    }
    return ALLOCATOR_LIST_NONE;
}

static void list_release(struct allocator *a, uint32_t list) {
    uint32_t count = free_blocks(a, list);
    for (uint32_t i = 0; i < count; i++)
        if (is_whole_segment(&a->block[a->scratch[i]]))
            allocator_segment_release(a, a->scratch[i]);
        else if (a->block[a->scratch[i]].reservation != 0)
            allocator_unmap_granules(a, a->scratch[i]);
}

void allocator_empty_cache(struct allocator *a) {
    while (a->n_waiting != 0 && !a->no_memory)
        allocator_free(a, a->waiting[a->n_waiting - 1]);
    a->steps +=
        a->n_default_free; /* blocks of skipped lists count too, so that giving up depends on the state alone */
    struct ordered_place place = {0}; /* stays valid: blocks given back enter no other list */
    for (uint32_t list; !a->no_memory && (list = list_next(a, &a->giving, &place)) != ALLOCATOR_LIST_NONE;)
        list_release(a, list);
}

bool allocator_release_oversize(struct allocator *a, uint32_t list, uint64_t rounded) {
    uint64_t limit = a->settings.max_split_bytes, wanted = rounded > limit ? rounded : limit, got = 0;
    const struct ordered *free = &a->list[list].free;
    struct ordered_place place = ordered_seek(free, &a->store, wanted, 0);
    const struct ordered_key *key = ordered_at(free, &a->store, place);
    if (key != NULL && is_whole_segment(&a->block[key->value])) {
        allocator_segment_release(a, key->value);
        return true;
    }
    uint32_t count = 0;
    for (place = ordered_before(free, &a->store, place);
         (key = ordered_at(free, &a->store, place)) != NULL && key->first >= limit && got < wanted;
         place = ordered_before(free, &a->store, place)) {
        a->steps++;
        if (!is_whole_segment(&a->block[key->value]))
            continue;
        got += key->first;
        if (!scratch_add(a, &count, key->value))
            return false;
    }
    for (uint32_t i = 0; i < count; i++)
        allocator_segment_release(a, a->scratch[i]);
    return got >= wanted;
}

static uint64_t age_of(struct allocator *a, const struct allocator_block *block) {
    return (uint32_t)(*searches_of(a, &a->list[block->list]) - block->note);
}

/* Releases blocks at least as old as the average of those left, which changes with each. */
static uint64_t collect_round(struct allocator *a, uint32_t count, uint64_t *sum, uint64_t *left) {
    uint64_t got = 0, cut_sum = *sum, cut_count = *left;
    for (uint32_t i = 0; i < count; i++) {
        const struct allocator_block *block = &a->block[a->scratch[i]];
        uint64_t age = a->scratch[i] == 0 ? 0 : age_of(a, block);
        if (a->scratch[i] == 0 || age * cut_count < cut_sum)
            continue;
        got += block->size;
        *sum -= age;
        (*left)--;
        allocator_segment_release(a, a->scratch[i]);
        a->scratch[i] = 0;
    }
    a->steps += count;
    return got;
}

void allocator_collect(struct allocator *a) {
    uint64_t limit = allocator_limit_bytes(a),
             allowed = limit == ALLOCATOR_UNLIMITED ? a->device_bytes : limit;
    uint64_t threshold = share_of(allowed, a->settings.collect_ppm), sum = 0, left = 0, got = 0;
    uint32_t count = 0;
    if (a->reserved_bytes <= threshold)
        return;
    struct ordered_place next = {0};
    for (uint32_t list;
         (list = list_next(a, &a->giving, &next)) != ALLOCATOR_LIST_NONE && !a->list[list].small;) {
        const struct ordered *free = &a->list[list].free;
        const struct ordered_key *key;
        for (struct ordered_place place = {0}; (key = ordered_at(free, &a->store, place)) != NULL;
             place = ordered_next(free, &a->store, place)) {
            if (!is_whole_segment(&a->block[key->value]))
                continue;
            sum += age_of(a, &a->block[key->value]);
            left++;
            if (!scratch_add(a, &count, key->value))
                return;
        }
    }
    for (uint64_t target = a->reserved_bytes - threshold, more = 1; got < target && left > 0 && more > 0;
         got += more)
        more = collect_round(a, count, &sum, &left);
}

static bool contains(const struct allocator_block *block, uint64_t address, uint64_t nbytes) {
    return address >= block->address && address - block->address <= block->size &&
           nbytes <= block->size - (address - block->address);
}

/* The first free block of a list that contains this range; 0: none. */
static uint32_t containing_find(const struct allocator *a, const struct ordered *free, uint64_t address,
                                uint64_t nbytes) {
    const struct ordered_key *key;
    for (struct ordered_place place = {0}; (key = ordered_at(free, &a->store, place)) != NULL;
         place = ordered_next(free, &a->store, place))
        if (contains(&a->block[key->value], address, nbytes))
            return key->value;
    return 0;
}

bool allocator_give_back(struct allocator *a, uint64_t address, uint64_t nbytes) {
    struct ordered_place next = {0};
    uint32_t list, index = 0;
    while (index == 0 && (list = list_next(a, &a->filled, &next)) != ALLOCATOR_LIST_NONE) {
        const struct ordered *free = &a->list[list].free;
        a->steps += free->count;
        index = containing_find(a, free, address, nbytes);
    }
    if (index == 0)
        return false;
    const struct allocator_block *block = &a->block[index];
    bool reserved = block->reservation != 0, whole = is_whole_segment(block) && nbytes == block->size;
    if (reserved)
        allocator_unmap(a, index, address, address + nbytes);
    else if (whole)
        allocator_segment_release(a, index);
    return reserved || whole;
}
