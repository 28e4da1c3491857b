#include "analysis/allocator.h"

#define MIB (UINT64_C(1) << 20)

enum { GRAIN = 512, LIST_NONE = UINT16_MAX, DEFAULT_POOL = 1 };

static const uint64_t SMALL_SEGMENT = 2 * MIB;         /* also what pages of small reservations have */
static const uint64_t LARGE_LEAST = 10 * MIB;          /* from here on a segment serves one request ... */
static const uint64_t LARGE_GRAIN = 2 * MIB;           /* ... rounded up to this */
static const uint64_t RESERVATION = UINT64_C(1) << 42; /* address space; more than any device has memory */
static const uint64_t ALIGNED_FROM = 2 * MIB, ALIGNED_TO = 16 << 10, ALIGNED_EXTRA = 32; /* Ascend's */

/* ---- sizes ---- */

static uint64_t round_up(uint64_t nbytes, uint64_t grain) {
    uint64_t over = nbytes % grain;
    return over == 0 || nbytes > UINT64_MAX - grain ? nbytes : nbytes + (grain - over);
}

static unsigned log2_of(uint64_t number) {
    return 63u - (unsigned)__builtin_clzll(number);
}

static uint64_t divisions_of(const struct allocator_settings *settings, uint64_t nbytes) {
    unsigned log2 = log2_of(nbytes), first = 20; /* 1 MiB */
    unsigned index = log2 <= first ? 0 : log2 - first;
    return settings->roundup[index < ROUNDUP_CLASSES ? index : ROUNDUP_CLASSES - 1];
}

/* Up to the next of so many steps between two powers of two. */
static uint64_t round_divided(uint64_t nbytes, uint64_t divisions) {
    uint64_t floor = UINT64_C(1) << log2_of(nbytes), step = floor >> log2_of(divisions);
    if (nbytes == floor)
        return nbytes;
    return step == 0 ? floor << 1 : round_up(nbytes, step);
}

uint64_t allocator_round(const struct allocator_settings *settings, uint64_t nbytes) {
    nbytes += settings->aligned && nbytes < UINT64_MAX / 2 ? ALIGNED_EXTRA : 0;
    if (nbytes < GRAIN)
        return GRAIN;
    uint64_t divisions = divisions_of(settings, nbytes);
    if (divisions > 1 && nbytes / GRAIN >= divisions && nbytes > GRAIN * divisions)
        return round_divided(nbytes, divisions);
    return round_up(nbytes, GRAIN);
}

uint64_t allocator_segment_bytes(const struct allocator_settings *settings, uint64_t rounded) {
    if (rounded <= ALLOCATOR_SMALL_BYTES)
        return SMALL_SEGMENT;
    return rounded < LARGE_LEAST ? settings->large_segment_bytes : round_up(rounded, LARGE_GRAIN);
}

/* A share in millionths of a figure, without passing 64 bits. */
static uint64_t share_of(uint64_t nbytes, uint32_t ppm) {
    return nbytes / 1000000 * ppm + nbytes % 1000000 * ppm / 1000000;
}

/* What the process may reserve by its own settings. */
static uint64_t limit_bytes(const struct allocator *a) {
    bool limited = a->settings.fraction_ppm != 0 && a->device_bytes != 0;
    return limited ? share_of(a->device_bytes, a->settings.fraction_ppm) : ALLOCATOR_UNLIMITED;
}

static bool fits(uint64_t reserved, uint64_t more, uint64_t limit) {
    return more <= limit && reserved <= limit - more;
}

static bool collects(const struct allocator *a) {
    return a->settings.collect_ppm != 0 && a->device_bytes != 0;
}

/* ---- lists ---- */

bool allocator_init(struct allocator *a, const struct allocator_settings *settings,
                    struct allocator_driver driver, struct arena *arena) {
    *a = (struct allocator){.settings = *settings,
                            .driver = driver,
                            .budget_bytes = ALLOCATOR_UNLIMITED,
                            .arena = arena,
                            .n_blocks = 1,
                            .n_reservations = 1,
                            .last_list = LIST_NONE,
                            .store = {.arena = arena}};
    return ARENA_GROW(arena, a->block, a->block_capacity, 1) &&
           ARENA_GROW(arena, a->reservation, a->reservation_capacity, 1);
}

static uint64_t list_key(uint16_t pool, uint16_t stream, bool small) {
    return (uint64_t)pool << 17 | (uint64_t)small << 16 | stream;
}

/* The first list of a pool and size class; LIST_NONE: it has none. */
static uint32_t pool_first_list(const struct allocator *a, uint16_t pool, bool small) {
    struct ordered_place place = ordered_seek(&a->lists, &a->store, list_key(pool, 0, small), 0);
    const struct ordered_key *key = ordered_at(&a->lists, &a->store, place);
    bool same = key != NULL && key->first >> 16 == list_key(pool, 0, small) >> 16;
    return same ? a->list[key->value].pool_list : LIST_NONE;
}

static uint32_t list_add(struct allocator *a, uint16_t pool, uint16_t stream, bool small) {
    uint32_t index = a->n_lists, first = pool_first_list(a, pool, small);
    struct ordered_key key = {list_key(pool, stream, small), 0, index};
    if (index == LIST_NONE || !ARENA_GROW(a->arena, a->list, a->list_capacity, (uint64_t)index + 1) ||
        !ordered_add(&a->lists, &a->store, key)) {
        a->no_memory = true;
        return LIST_NONE;
    }
    a->list[index] = (struct allocator_list){
        .pool = pool, .stream = stream, .small = small, .pool_list = first == LIST_NONE ? index : first};
    a->n_lists++;
    return index;
}

static bool list_is(const struct allocator_list *list, uint16_t pool, uint16_t stream, bool small) {
    return list->pool == pool && list->stream == stream && list->small == small;
}

/* The last one is asked for again most of the time. LIST_NONE: no memory. */
static uint32_t list_of(struct allocator *a, uint16_t pool, uint16_t stream, bool small) {
    pool = pool == POOL_UNKNOWN ? DEFAULT_POOL : pool;
    if (a->last_list != LIST_NONE && list_is(&a->list[a->last_list], pool, stream, small))
        return a->last_list;
    struct ordered_place place = ordered_seek(&a->lists, &a->store, list_key(pool, stream, small), 0);
    const struct ordered_key *key = ordered_at(&a->lists, &a->store, place);
    bool there = key != NULL && key->first == list_key(pool, stream, small);
    uint32_t index = there ? key->value : list_add(a, pool, stream, small);
    a->last_list = index == LIST_NONE ? a->last_list : index;
    return index;
}

static uint64_t *searches_of(struct allocator *a, const struct allocator_list *list) {
    return &a->list[list->pool_list].searches;
}

/* ---- blocks ---- */

/* 0: no memory. */
static uint32_t block_take(struct allocator *a, struct allocator_block block) {
    uint32_t index = a->spare_block;
    if (index != 0) {
        a->spare_block = a->block[index].behind;
    } else {
        if (!ARENA_GROW(a->arena, a->block, a->block_capacity, (uint64_t)a->n_blocks + 1)) {
            a->no_memory = true;
            return 0;
        }
        index = a->n_blocks++;
    }
    a->block[index] = block;
    return index;
}

static void block_give(struct allocator *a, uint32_t index) {
    a->block[index] = (struct allocator_block){.behind = a->spare_block, .list = LIST_NONE};
    a->spare_block = index;
}

static bool is_free(const struct allocator_block *block) {
    return block->use == ALLOCATOR_FREE;
}

static void list_put(struct allocator *a, uint32_t index) {
    struct allocator_block *block = &a->block[index];
    struct allocator_list *list = &a->list[block->list];
    struct ordered_key key = {block->mapped ? block->size : block->address,
                              block->mapped ? block->address : 0, index};
    if (block->mapped && a->settings.collect_ppm != 0)
        block->note = (uint32_t)*searches_of(a, list);
    if (!ordered_add(block->mapped ? &list->free : &list->unmapped, &a->store, key))
        a->no_memory = true;
}

static void list_take(struct allocator *a, uint32_t index) {
    const struct allocator_block *block = &a->block[index];
    struct allocator_list *list = &a->list[block->list];
    if (block->mapped)
        (void)ordered_remove(&list->free, &a->store, block->size, block->address);
    else
        (void)ordered_remove(&list->unmapped, &a->store, block->address, 0);
}

/* Keeps the first `nbytes` of a block that is in no list; the rest becomes a block of its own, in no list either. */
static uint32_t block_cut(struct allocator *a, uint32_t index, uint64_t nbytes) {
    struct allocator_block rest = a->block[index];
    rest.address += nbytes;
    rest.size -= nbytes;
    rest.before = index;
    uint32_t cut = block_take(a, rest);
    if (cut == 0)
        return 0;
    if (rest.behind != 0)
        a->block[rest.behind].before = cut;
    a->block[index].behind = cut;
    a->block[index].size = nbytes;
    return cut;
}

/* Takes a neighbour in, which is in no list any more. */
static void block_join(struct allocator *a, uint32_t index, uint32_t other) {
    struct allocator_block *block = &a->block[index], *gone = &a->block[other];
    if (block->before == other) {
        block->address = gone->address;
        block->before = gone->before;
        if (gone->before != 0)
            a->block[gone->before].behind = index;
    } else {
        block->behind = gone->behind;
        if (gone->behind != 0)
            a->block[gone->behind].before = index;
    }
    block->size += gone->size;
    block_give(a, other);
}

static void join_if_free(struct allocator *a, uint32_t index, uint32_t other) {
    if (other == 0 || !is_free(&a->block[other]) || a->block[other].mapped != a->block[index].mapped)
        return;
    list_take(a, other);
    block_join(a, index, other);
}

static void block_merge(struct allocator *a, uint32_t index) {
    join_if_free(a, index, a->block[index].before);
    join_if_free(a, index, a->block[index].behind);
}

/* ---- the driver ---- */

static void reserved_add(struct allocator *a, uint64_t nbytes) {
    a->reserved_bytes += nbytes;
    if (a->reserved_bytes > a->peak_reserved_bytes)
        a->peak_reserved_bytes = a->reserved_bytes;
}

static void call_note(struct allocator *a, enum segment_change change, uint64_t address, uint64_t size) {
    if (!ARENA_GROW(a->arena, a->call, a->call_capacity, (uint64_t)a->n_calls + 1)) {
        a->no_memory = true;
        return;
    }
    a->call[a->n_calls++] = (struct allocator_call){address, size, (uint8_t)change};
}

/* A new segment as one block in no list; 0: the driver has not as much. */
static uint32_t segment_new(struct allocator *a, uint16_t list, uint64_t nbytes) {
    if (!fits(a->reserved_bytes, nbytes, a->budget_bytes))
        return 0;
    uint64_t address = a->driver.place(a->driver.context, nbytes, false);
    uint32_t index = block_take(
        a, (struct allocator_block){.address = address, .size = nbytes, .list = list, .mapped = true});
    if (index == 0)
        return 0;
    reserved_add(a, nbytes);
    call_note(a, SEGMENT_ALLOC, address, nbytes);
    return index;
}

/* Of a block without neighbours, in its list. */
static void segment_release(struct allocator *a, uint32_t index) {
    list_take(a, index);
    a->reserved_bytes -= a->block[index].size;
    call_note(a, SEGMENT_FREE, a->block[index].address, a->block[index].size);
    block_give(a, index);
}

static bool is_whole_segment(const struct allocator_block *block) {
    return block->reservation == 0 && block->before == 0 && block->behind == 0;
}

/* ---- reservations ---- */

static uint32_t reservation_add(struct allocator *a, uint64_t base, bool small) {
    if (!ARENA_GROW(a->arena, a->reservation, a->reservation_capacity, (uint64_t)a->n_reservations + 1)) {
        a->no_memory = true;
        return 0;
    }
    a->reservation[a->n_reservations] = (struct allocator_reservation){
        .base = base, .granule = small ? SMALL_SEGMENT : a->settings.large_segment_bytes};
    return a->n_reservations++;
}

/* Address space with one unmapped block, which is in its list. */
static uint32_t reservation_new(struct allocator *a, uint16_t list, uint64_t wanted) {
    bool small = a->list[list].small;
    uint64_t granule = small ? SMALL_SEGMENT : a->settings.large_segment_bytes;
    uint64_t base = a->driver.place(a->driver.context, round_up(wanted, granule), true);
    uint32_t reservation = reservation_add(a, base, small), index = 0;
    if (reservation != 0)
        index = block_take(
            a, (struct allocator_block){
                   .address = base, .size = RESERVATION, .reservation = reservation, .list = list});
    if (index != 0)
        list_put(a, index);
    return index;
}

/* Maps the first `wanted` bytes of an unmapped block, in whole granules; it joins its free neighbours and is in the
 * list of free ones then. False: the driver has not as much. */
static bool block_map(struct allocator *a, uint32_t index, uint64_t wanted) {
    struct allocator_reservation *reservation = &a->reservation[a->block[index].reservation];
    uint64_t nbytes = round_up(wanted, reservation->granule);
    nbytes = nbytes < a->block[index].size ? nbytes : a->block[index].size;
    if (!fits(a->reserved_bytes, nbytes, a->budget_bytes))
        return false;
    list_take(a, index);
    if (nbytes < a->block[index].size) {
        uint32_t rest = block_cut(a, index, nbytes);
        if (rest == 0)
            return false;
        list_put(a, rest);
    }
    a->block[index].mapped = true;
    reservation->mapped_bytes += nbytes;
    reserved_add(a, nbytes);
    call_note(a, SEGMENT_MAP, a->block[index].address, nbytes);
    block_merge(a, index);
    list_put(a, index);
    return true;
}

/* Whether this block and the free ones behind it, mapped or not, have room. */
static bool room_from(struct allocator *a, uint32_t index, uint64_t wanted) {
    uint64_t room = 0;
    for (; index != 0 && is_free(&a->block[index]) && room < wanted; index = a->block[index].behind) {
        room += a->block[index].size;
        a->steps++;
    }
    return room >= wanted;
}

static uint32_t growing_find(struct allocator *a, uint16_t list, uint64_t wanted) {
    const struct ordered *unmapped = &a->list[list].unmapped;
    struct ordered_place place = {0};
    const struct ordered_key *key;
    for (; (key = ordered_at(unmapped, &a->store, place)) != NULL;
         place = ordered_next(unmapped, &a->store, place)) {
        uint32_t index = key->value, before = a->block[index].before;
        if (before != 0 && is_free(&a->block[before]))
            index = before;
        if (room_from(a, index, wanted))
            return index;
    }
    return wanted <= RESERVATION ? reservation_new(a, list, wanted) : 0;
}

/* A block of at least `wanted` bytes of a reservation, in no list; 0: the driver has not as much. */
static uint32_t grow(struct allocator *a, uint16_t list, uint64_t wanted) {
    uint32_t index = growing_find(a, list, wanted);
    if (index == 0)
        return 0;
    if (!a->block[index].mapped) {
        uint64_t size = a->block[index].size;
        if (!block_map(a, index, size < wanted ? size : wanted))
            return 0;
    }
    while (a->block[index].size < wanted && !a->no_memory) {
        uint32_t next = a->block[index].behind;
        uint64_t lacking = wanted - a->block[index].size, size = a->block[next].size;
        if (!block_map(a, next, lacking < size ? lacking : size))
            return 0;
        index = next; /* it has taken the one before in */
    }
    list_take(a, index);
    return index;
}

/* Cuts the whole granules out of a free block: its head and tail stay free blocks. Returns the middle, which is in no
 * list; 0: there is none, and nothing has changed. */
static uint32_t granules_cut(struct allocator *a, uint32_t index, uint64_t from, uint64_t to) {
    uint64_t address = a->block[index].address, size = a->block[index].size;
    if (from >= to)
        return 0;
    list_take(a, index);
    if (from > address) {
        uint32_t middle = block_cut(a, index, from - address);
        if (middle == 0)
            return 0;
        list_put(a, index);
        index = middle;
    }
    if (to < address + size) {
        uint32_t tail = block_cut(a, index, to - from);
        if (tail == 0)
            return 0;
        list_put(a, tail);
    }
    return index;
}

/* A reservation of which nothing is mapped is one block, and given up. */
static void reservation_drop(struct allocator *a, uint32_t index) {
    list_take(a, index);
    block_give(a, index);
}

/* Unmaps [from, to) of a free block. */
static void block_unmap(struct allocator *a, uint32_t index, uint64_t from, uint64_t to) {
    uint32_t middle = granules_cut(a, index, from, to);
    if (middle == 0)
        return;
    struct allocator_reservation *reservation = &a->reservation[a->block[middle].reservation];
    a->block[middle].mapped = false;
    reservation->mapped_bytes -= to - from;
    a->reserved_bytes -= to - from;
    call_note(a, SEGMENT_UNMAP, from, to - from);
    block_merge(a, middle);
    list_put(a, middle);
    if (reservation->mapped_bytes == 0 && a->block[middle].before == 0 && a->block[middle].behind == 0)
        reservation_drop(a, middle);
}

static void granules_unmap(struct allocator *a, uint32_t index) {
    const struct allocator_block *block = &a->block[index];
    const struct allocator_reservation *reservation = &a->reservation[block->reservation];
    uint64_t offset = block->address - reservation->base;
    uint64_t from = reservation->base + round_up(offset, reservation->granule);
    uint64_t to = block->address + block->size - (offset + block->size) % reservation->granule;
    block_unmap(a, index, from, to);
}

/* ---- giving back ---- */

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

static void list_release(struct allocator *a, uint32_t list) {
    uint32_t count = free_blocks(a, list);
    for (uint32_t i = 0; i < count; i++)
        if (is_whole_segment(&a->block[a->scratch[i]]))
            segment_release(a, a->scratch[i]);
        else if (a->block[a->scratch[i]].reservation != 0)
            granules_unmap(a, a->scratch[i]);
    a->steps += count;
}

static void waiting_remove(struct allocator *a, uint32_t index) {
    uint32_t at = a->block[index].note, last = a->waiting[--a->n_waiting];
    a->waiting[at] = last;
    a->block[last].note = at;
}

void allocator_empty_cache(struct allocator *a) {
    while (a->n_waiting != 0 && !a->no_memory)
        allocator_free(a, a->waiting[a->n_waiting - 1]);
    for (uint32_t i = 0; i < a->n_lists && !a->no_memory; i++)
        if (a->list[i].pool == DEFAULT_POOL)
            list_release(a, i);
}

/* Before all is given back: blocks of at least max_split_size, which serve nothing smaller. */
static bool release_oversize(struct allocator *a, uint32_t list, uint64_t rounded) {
    uint64_t limit = a->settings.max_split_bytes, wanted = rounded > limit ? rounded : limit, got = 0;
    const struct ordered *free = &a->list[list].free;
    struct ordered_place place = ordered_seek(free, &a->store, wanted, 0);
    const struct ordered_key *key = ordered_at(free, &a->store, place);
    if (key != NULL && is_whole_segment(&a->block[key->value])) {
        segment_release(a, key->value);
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
        segment_release(a, a->scratch[i]);
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
        segment_release(a, a->scratch[i]);
        a->scratch[i] = 0;
    }
    a->steps += count;
    return got;
}

static void collect(struct allocator *a) {
    uint64_t limit = limit_bytes(a), allowed = limit == ALLOCATOR_UNLIMITED ? a->device_bytes : limit;
    uint64_t threshold = share_of(allowed, a->settings.collect_ppm), sum = 0, left = 0, got = 0;
    uint32_t count = 0;
    if (a->reserved_bytes <= threshold)
        return;
    for (uint32_t list = 0; list < a->n_lists; list++) {
        const struct ordered *free = &a->list[list].free;
        const struct ordered_key *key;
        if (a->list[list].pool != DEFAULT_POOL || a->list[list].small)
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

/* ---- a request ---- */

/* A growing end counts with what it may still grow by, so that a hole that fits is preferred. */
static uint64_t grown_size(const struct allocator *a, uint32_t index) {
    uint32_t behind = a->block[index].behind;
    bool grows = behind != 0 && !a->block[behind].mapped;
    return a->block[index].size + (grows ? a->block[behind].size : 0);
}

static const struct ordered_key *prefer_holes(struct allocator *a, const struct ordered *free,
                                              struct ordered_place place) {
    const struct ordered_key *key = ordered_at(free, &a->store, place);
    while (a->block[key->value].reservation != 0) {
        place = ordered_next(free, &a->store, place);
        const struct ordered_key *next = ordered_at(free, &a->store, place);
        if (next == NULL || grown_size(a, next->value) >= grown_size(a, key->value))
            break;
        key = next;
        a->steps++;
    }
    return key;
}

/* Expandable segments were turned off again: what they left is passed over. */
static const struct ordered_key *pass_reservations(struct allocator *a, const struct ordered *free,
                                                   struct ordered_place place) {
    const struct ordered_key *key;
    do {
        place = ordered_next(free, &a->store, place);
        key = ordered_at(free, &a->store, place);
        a->steps++;
    } while (key != NULL && a->block[key->value].reservation != 0);
    return key;
}

/* May a request take this block? With max_split_size the large ones are kept for large requests. */
static bool serves(const struct allocator *a, uint64_t rounded, uint64_t size) {
    uint64_t limit = a->settings.max_split_bytes, slack = a->settings.non_split_bytes;
    slack = slack != 0 ? slack : a->settings.large_segment_bytes;
    return rounded < limit ? size < limit : size - rounded < slack;
}

/* The block that serves, taken out of its list; 0: none. */
static uint32_t find(struct allocator *a, uint32_t list, uint64_t rounded) {
    const struct ordered *free = &a->list[list].free;
    if (a->settings.collect_ppm != 0)
        ++*searches_of(a, &a->list[list]);
    struct ordered_place place = ordered_seek(free, &a->store, rounded, 0);
    const struct ordered_key *key = ordered_at(free, &a->store, place);
    if (key != NULL && a->block[key->value].reservation != 0)
        key = a->settings.expandable ? prefer_holes(a, free, place) : pass_reservations(a, free, place);
    if (key == NULL || !serves(a, rounded, key->first))
        return 0;
    uint32_t index = key->value;
    list_take(a, index);
    return index;
}

static uint32_t memory_new(struct allocator *a, uint32_t list, uint64_t rounded) {
    uint64_t nbytes = allocator_segment_bytes(&a->settings, rounded);
    if (!fits(a->reserved_bytes, nbytes, limit_bytes(a)))
        return 0;
    bool private_pool = a->list[list].pool != DEFAULT_POOL;
    if (a->settings.expandable && (!private_pool || a->settings.expandable_private))
        return grow(a, (uint16_t)list, rounded);
    return segment_new(a, (uint16_t)list, nbytes);
}

static uint32_t memory_get(struct allocator *a, uint32_t list, uint64_t rounded) {
    if (collects(a))
        collect(a);
    uint32_t index = memory_new(a, list, rounded);
    if (index != 0 || a->no_memory || a->no_retry)
        return index;
    if (a->settings.max_split_bytes != ALLOCATOR_UNLIMITED && release_oversize(a, list, rounded) &&
        (index = memory_new(a, list, rounded)) != 0)
        return index;
    allocator_empty_cache(a);
    a->n_retries++;
    return a->no_memory ? 0 : memory_new(a, list, rounded);
}

static bool splits(const struct allocator *a, const struct allocator_block *block, uint64_t rounded) {
    uint64_t rest = block->size - rounded;
    if (a->list[block->list].small || a->settings.expandable)
        return rest >= GRAIN;
    return rounded < a->settings.max_split_bytes && rest > ALLOCATOR_SMALL_BYTES;
}

/* Ascend's: a large block begins at a multiple of 16 KiB where it then still fits. */
static uint32_t head_cut(struct allocator *a, uint32_t index, uint64_t rounded) {
    const struct allocator_block *block = &a->block[index];
    uint64_t head = round_up(block->address, ALIGNED_TO) - block->address;
    if (!a->settings.aligned || !a->settings.expandable || rounded < ALIGNED_FROM || head == 0 ||
        block->size < rounded || block->size - rounded < head)
        return index;
    uint32_t rest = block_cut(a, index, head);
    if (rest != 0)
        list_put(a, index);
    return rest;
}

static uint32_t block_use(struct allocator *a, uint32_t index, uint64_t rounded) {
    index = head_cut(a, index, rounded);
    if (index != 0 && splits(a, &a->block[index], rounded)) {
        uint32_t rest = block_cut(a, index, rounded);
        if (rest != 0)
            list_put(a, rest);
    }
    a->block[index].use = ALLOCATOR_USED;
    a->active_bytes += a->block[index].size;
    return a->no_memory ? 0 : index;
}

uint32_t allocator_allocate(struct allocator *a, uint64_t nbytes, uint16_t pool, uint16_t stream) {
    uint64_t rounded = allocator_round(&a->settings, nbytes);
    uint32_t list = list_of(a, pool, stream, rounded <= ALLOCATOR_SMALL_BYTES);
    if (list == LIST_NONE)
        return 0;
    uint32_t index = a->no_search ? 0 : find(a, list, rounded);
    if (index == 0)
        index = memory_get(a, list, rounded);
    if (index != 0)
        return block_use(a, index, rounded);
    a->n_ooms += !a->no_memory;
    return 0;
}

void allocator_wait(struct allocator *a, uint32_t block) {
    if (!ARENA_GROW(a->arena, a->waiting, a->waiting_capacity, (uint64_t)a->n_waiting + 1)) {
        a->no_memory = true;
        return;
    }
    a->block[block].use = ALLOCATOR_WAITING;
    a->block[block].note = a->n_waiting;
    a->waiting[a->n_waiting++] = block;
}

void allocator_free(struct allocator *a, uint32_t block) {
    if (a->block[block].use == ALLOCATOR_WAITING)
        waiting_remove(a, block);
    a->active_bytes -= a->block[block].size;
    a->block[block].use = ALLOCATOR_FREE;
    block_merge(a, block);
    list_put(a, block);
}

uint64_t allocator_largest_hole(const struct allocator *a) {
    uint64_t most = 0;
    for (uint32_t i = 0; i < a->n_lists; i++) {
        const struct ordered *holes = &a->list[i].free;
        uint64_t largest = holes->n_leaves == 0 ? 0 : holes->most[holes->n_leaves - 1].first;
        most = largest > most ? largest : most;
    }
    return most;
}

bool allocator_give_back(struct allocator *a, uint64_t address, uint64_t nbytes) {
    for (uint32_t list = 0; list < a->n_lists; list++) {
        uint32_t count = free_blocks(a, list);
        a->steps += count;
        for (uint32_t i = 0; i < count; i++) {
            const struct allocator_block *block = &a->block[a->scratch[i]];
            if (address < block->address || address - block->address > block->size ||
                nbytes > block->size - (address - block->address))
                continue;
            if (block->reservation != 0)
                block_unmap(a, a->scratch[i], address, address + nbytes);
            else if (is_whole_segment(block) && nbytes == block->size)
                segment_release(a, a->scratch[i]);
            else
                return false;
            return true;
        }
    }
    return false;
}

/* ---- a state that is already there ---- */

bool allocator_segment(struct allocator *a, uint64_t address, uint16_t pool, uint16_t stream, bool small,
                       bool expandable) {
    uint32_t list = list_of(a, pool, stream, small);
    a->building = (struct allocator_building){.address = address, .list = (uint16_t)list};
    if (list != LIST_NONE && expandable)
        a->building.reservation = reservation_add(a, address, small);
    return !a->no_memory;
}

uint32_t allocator_block_add(struct allocator *a, uint64_t nbytes, enum allocator_use use, bool mapped) {
    struct allocator_building *building = &a->building;
    uint32_t index = block_take(a, (struct allocator_block){.address = building->address,
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
        reserved_add(a, nbytes);
        a->reservation[building->reservation].mapped_bytes += building->reservation != 0 ? nbytes : 0;
    }
    a->block[index].use = use == ALLOCATOR_FREE ? ALLOCATOR_FREE : ALLOCATOR_USED;
    a->active_bytes += use == ALLOCATOR_FREE ? 0 : nbytes;
    if (use == ALLOCATOR_FREE)
        list_put(a, index);
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

bool allocator_is_sound(const struct allocator *a) {
    uint64_t mapped = 0, active = 0, n_free = 0, n_listed = 0;
    for (uint32_t i = 1; i < a->n_blocks; i++) {
        const struct allocator_block *block = &a->block[i];
        if (block->list == LIST_NONE)
            continue;
        if (!block_is_sound(a, i))
            return false;
        mapped += block->mapped ? block->size : 0;
        active += is_free(block) ? 0 : block->size;
        n_free += is_free(block);
    }
    for (uint32_t i = 0; i < a->n_lists; i++)
        if (!list_is_sound(a, &a->list[i].free, true, &n_listed) ||
            !list_is_sound(a, &a->list[i].unmapped, false, &n_listed))
            return false;
    return mapped == a->reserved_bytes && active == a->active_bytes && n_free == n_listed;
}
