/* What is given back to the driver: by empty_cache and retries, by max_split_size, and by garbage_collection_threshold. */
#include "analysis/allocator_internal.h"

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

/* The first list from `list` on of which something can be given back; ALLOCATOR_LIST_NONE: there is none. */
static uint32_t giving_from(struct allocator *a, uint32_t list) {
    struct ordered_place place = ordered_seek(&a->giving, &a->store, list, 0);
    const struct ordered_key *key;
    while ((key = ordered_at(&a->giving, &a->store, place)) != NULL) {
        list = key->value;
        if (a->list[list].n_giving != 0)
            return list;
        a->list[list].is_giving = false;
        ordered_remove_at(&a->giving, &a->store, place);
        place = ordered_seek(&a->giving, &a->store, list, 0);
    }
    return ALLOCATOR_LIST_NONE;
}

/* The same of those that have free blocks, of any pool. */
static uint32_t filled_from(struct allocator *a, uint32_t list) {
    struct ordered_place place = ordered_seek(&a->filled, &a->store, list, 0);
    const struct ordered_key *key;
    while ((key = ordered_at(&a->filled, &a->store, place)) != NULL) {
        list = key->value;
        if (a->list[list].free.count != 0)
            return list;
        a->list[list].is_filled = false;
        ordered_remove_at(&a->filled, &a->store, place);
        place = ordered_seek(&a->filled, &a->store, list, 0);
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
        a->n_default_free; /* also of lists that are passed over: what is hopeless is told by what there is */
    for (uint32_t list = 0; (list = giving_from(a, list)) != ALLOCATOR_LIST_NONE && !a->no_memory; list++)
        list_release(a, list);
}

/* Before all is given back: blocks of at least max_split_size, which serve nothing smaller. */
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

/* ---- garbage_collection_threshold ---- */

static uint64_t age_of(struct allocator *a, const struct allocator_block *block) {
    return (uint32_t)(*searches_of(a, &a->list[block->list]) - block->note);
}

/* Releases what is at least as old as the average of those that are left, which changes as they go. */
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
    for (uint32_t list = 0; (list = giving_from(a, list)) != ALLOCATOR_LIST_NONE; list++) {
        const struct ordered *free = &a->list[list].free;
        const struct ordered_key *key;
        if (a->list[list].small)
            continue;
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

bool allocator_give_back(struct allocator *a, uint64_t address, uint64_t nbytes) {
    for (uint32_t list = 0; (list = filled_from(a, list)) != ALLOCATOR_LIST_NONE; list++) {
        uint32_t count = free_blocks(a, list);
        a->steps += count;
        for (uint32_t i = 0; i < count; i++) {
            const struct allocator_block *block = &a->block[a->scratch[i]];
            if (address < block->address || address - block->address > block->size ||
                nbytes > block->size - (address - block->address))
                continue;
            if (block->reservation != 0)
                allocator_unmap(a, a->scratch[i], address, address + nbytes);
            else if (is_whole_segment(block) && nbytes == block->size)
                allocator_segment_release(a, a->scratch[i]);
            else
                return false;
            return true;
        }
    }
    return false;
}
