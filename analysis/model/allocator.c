/* Lists, blocks and requests: the path of every allocation and every free. */
#include "analysis/model/allocator_internal.h"
#include "base/assert.h"
#include "base/numbers.h"

enum { GRAIN = 512 };

static const uint64_t LARGE_LEAST = 10 * MIB; /* from here on a segment serves one request ... */
static const uint64_t LARGE_GRAIN = 2 * MIB;  /* ... rounded up to this */

static const uint64_t ALIGNED_FROM = 2 * MIB, ALIGNED_TO = 16 << 10, ALIGNED_EXTRA = 32; /* Ascend's */

/* ---- sizes ---- */

static uint64_t divisions_of(const struct allocator_settings *settings, uint64_t nbytes) {
    unsigned log2 = log2_of(nbytes), first = 20; /* 1 MiB */
    unsigned index = log2 <= first ? 0 : log2 - first;
    return settings->roundup[index < ROUNDUP_CLASSES ? index : ROUNDUP_CLASSES - 1];
}

/* Rounds up to the next of `divisions` steps between two powers of two. */
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
        return ALLOCATOR_SMALL_SEGMENT;
    return rounded < LARGE_LEAST ? settings->large_segment_bytes : round_up(rounded, LARGE_GRAIN);
}

uint64_t allocator_limit_bytes(const struct allocator *a) {
    bool limited = a->settings.fraction_ppm != 0 && a->device_bytes != 0;
    return limited ? share_of(a->device_bytes, a->settings.fraction_ppm) : ALLOCATOR_UNLIMITED;
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
                            .last_list = {ALLOCATOR_LIST_NONE, ALLOCATOR_LIST_NONE},
                            .store = {.arena = arena}};
    return ARENA_GROW(arena, a->block, a->block_capacity, 1) &&
           ARENA_GROW(arena, a->reservation, a->reservation_capacity, 1);
}

static uint64_t list_key(uint16_t pool, uint16_t stream, bool small) {
    return (uint64_t)pool << 17 | (uint64_t)small << 16 | stream;
}

/* The first list of a pool and size class; ALLOCATOR_LIST_NONE: none. */
static uint32_t pool_first_list(const struct allocator *a, uint16_t pool, bool small) {
    struct ordered_place place = ordered_seek(&a->lists, &a->store, list_key(pool, 0, small), 0);
    const struct ordered_key *key = ordered_at(&a->lists, &a->store, place);
    bool same = key != NULL && key->first >> 16 == list_key(pool, 0, small) >> 16;
    return same ? a->list[key->value].pool_list : ALLOCATOR_LIST_NONE;
}

static uint32_t list_add(struct allocator *a, uint16_t pool, uint16_t stream, bool small) {
    uint32_t index = a->n_lists, first = pool_first_list(a, pool, small);
    if (index == ALLOCATOR_LIST_NONE ||
        !ARENA_GROW(a->arena, a->list, a->list_capacity, (uint64_t)index + 1) ||
        !ordered_add(&a->lists, &a->store, list_key(pool, stream, small), 0, index)) {
        a->no_memory = true;
        return ALLOCATOR_LIST_NONE;
    }
    a->list[index] = (struct allocator_list){.pool = pool,
                                             .stream = stream,
                                             .small = small,
                                             .pool_list = first == ALLOCATOR_LIST_NONE ? index : first};
    a->n_lists++;
    return index;
}

static __attribute__((noinline)) uint32_t list_find(struct allocator *a, uint16_t pool, uint16_t stream,
                                                    bool small) {
    struct ordered_place place = ordered_seek(&a->lists, &a->store, list_key(pool, stream, small), 0);
    const struct ordered_key *key = ordered_at(&a->lists, &a->store, place);
    bool there = key != NULL && key->first == list_key(pool, stream, small);
    uint32_t index = there ? key->value : list_add(a, pool, stream, small);
    a->last_list[small] = index == ALLOCATOR_LIST_NONE ? a->last_list[small] : index;
    return index;
}

/* Most calls ask for the last one of their size class again. ALLOCATOR_LIST_NONE: no memory. */
uint32_t allocator_list_of(struct allocator *a, uint16_t pool, uint16_t stream, bool small) {
    uint32_t last = a->last_list[small];
    pool = pool == POOL_UNKNOWN ? ALLOCATOR_DEFAULT_POOL : pool;
    bool again = last != ALLOCATOR_LIST_NONE && a->list[last].pool == pool && a->list[last].stream == stream;
    return again ? last : list_find(a, pool, stream, small);
}

/* ---- blocks ---- */

/* A block that is not used yet; 0: no memory. */
static uint32_t block_new(struct allocator *a) {
    uint32_t index = a->spare_block;
    if (index != 0) {
        a->spare_block = a->block[index].behind;
        return index;
    }
    if (ARENA_GROW(a->arena, a->block, a->block_capacity, (uint64_t)a->n_blocks + 1))
        return a->n_blocks++;
    a->no_memory = true;
    return 0;
}

uint32_t allocator_block_take(struct allocator *a, struct allocator_block block) {
    uint32_t index = block_new(a);
    if (index != 0)
        a->block[index] = block;
    return index;
}

void allocator_block_give(struct allocator *a, uint32_t index) {
    a->block[index] = (struct allocator_block){.behind = a->spare_block, .list = ALLOCATOR_LIST_NONE};
    a->spare_block = index;
}

static __attribute__((noinline)) bool contains_granule(const struct allocator *a,
                                                       const struct allocator_block *block) {
    const struct allocator_reservation *reservation = &a->reservation[block->reservation];
    if (block->size < reservation->granule || block->size / 2 >= reservation->granule)
        return block->size >= reservation->granule;
    uint64_t over = (block->address - reservation->base) % reservation->granule;
    return over == 0 || block->size - reservation->granule >= reservation->granule - over;
}

bool allocator_block_gives(const struct allocator *a, const struct allocator_block *block) {
    return block->reservation == 0 ? is_whole_segment(block) : contains_granule(a, block);
}

/* Adds a list to a set, in which it then mostly stays. */
static __attribute__((noinline)) void list_enter(struct allocator *a, struct ordered *set, bool *is_there,
                                                 uint32_t list) {
    uint64_t place = (uint64_t)a->list[list].small << 32 | list;
    *is_there = ordered_add(set, &a->store, place, 0, list);
    a->no_memory |= !*is_there;
}

/* Counts a mapped block of a list if it can be given back. */
static void giving_count(struct allocator *a, const struct allocator_block *block) {
    struct allocator_list *list = &a->list[block->list];
    bool gives = list->pool == ALLOCATOR_DEFAULT_POOL && allocator_block_gives(a, block);
    list->n_giving += gives;
    if (gives && !list->is_giving)
        list_enter(a, &a->giving, &list->is_giving, block->list);
}

static void giving_discount(struct allocator *a, const struct allocator_block *block) {
    struct allocator_list *list = &a->list[block->list];
    list->n_giving -= list->pool == ALLOCATOR_DEFAULT_POOL && allocator_block_gives(a, block);
}

/* Counts a mapped block that enters its list. */
static void free_count(struct allocator *a, const struct allocator_block *block) {
    struct allocator_list *list = &a->list[block->list];
    if (!list->is_filled)
        list_enter(a, &a->filled, &list->is_filled, block->list);
    a->n_default_free += list->pool == ALLOCATOR_DEFAULT_POOL;
    giving_count(a, block);
}

/* Counts a mapped block that leaves its list. */
static void free_discount(struct allocator *a, const struct allocator_block *block) {
    a->n_default_free -= a->list[block->list].pool == ALLOCATOR_DEFAULT_POOL;
    giving_discount(a, block);
}

/* Ages begin when a block enters its list. */
static void note_searches(struct allocator *a, struct allocator_block *block) {
    if (block->mapped && a->settings.collect_ppm != 0)
        block->note = (uint32_t)*searches_of(a, &a->list[block->list]);
}

void allocator_list_put(struct allocator *a, uint32_t index) {
    struct allocator_block *block = &a->block[index];
    struct allocator_list *list = &a->list[block->list];
    note_searches(a, block);
    if (!block->mapped)
        a->no_memory |= !ordered_add(&list->unmapped, &a->store, block->address, 0, index);
    else if (ordered_add(&list->free, &a->store, block->size, block->address, index))
        free_count(a, block);
    else
        a->no_memory = true;
}

/* Puts a mapped block into its list instead of the one at a place of it, which giving_discount has seen. What is left
 * of a block, or what it has grown to, mostly keeps its rank. */
static void list_replace(struct allocator *a, struct ordered_place place, uint32_t index) {
    struct allocator_block *block = &a->block[index];
    note_searches(a, block);
    if (ordered_move(&a->list[block->list].free, &a->store, place, block->size, block->address, index))
        giving_count(a, block);
    else
        a->no_memory = true;
}

void allocator_list_take(struct allocator *a, uint32_t index) {
    const struct allocator_block *block = &a->block[index];
    struct allocator_list *list = &a->list[block->list];
    if (!block->mapped)
        (void)ordered_remove(&list->unmapped, &a->store, block->address, 0);
    else if (ordered_remove(&list->free, &a->store, block->size, block->address))
        free_discount(a, block);
}

uint32_t allocator_block_cut(struct allocator *a, uint32_t index, uint64_t nbytes) {
    uint32_t cut = block_new(a);
    if (cut == 0)
        return 0;
    struct allocator_block *block = &a->block[index], *rest = &a->block[cut];
    *rest = *block;
    rest->address += nbytes;
    rest->size -= nbytes;
    rest->before = index;
    if (rest->behind != 0)
        a->block[rest->behind].before = cut;
    block->behind = cut;
    block->size = nbytes;
    return cut;
}

/* Joins a neighbour, which is no longer in a list, to a block. */
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
    allocator_block_give(a, other);
}

/* The neighbour if a block that comes free can join it, otherwise 0. */
static uint32_t joinable(const struct allocator *a, uint32_t index, uint32_t other) {
    bool can = other != 0 && is_free(&a->block[other]) && a->block[other].mapped == a->block[index].mapped;
    return can ? other : 0;
}

/* Joins a free neighbour, whose place in the list the block gets. */
static void join_in_place(struct allocator *a, uint32_t index, uint32_t other) {
    const struct allocator_block *block = &a->block[other];
    const struct ordered *free = &a->list[block->list].free;
    struct ordered_place place = ordered_seek(free, &a->store, block->size, block->address);
    giving_discount(a, block);
    block_join(a, index, other);
    list_replace(a, place, index);
}

static void join_out_of_list(struct allocator *a, uint32_t index, uint32_t other) {
    if (other == 0)
        return;
    allocator_list_take(a, other);
    block_join(a, index, other);
}

void allocator_block_put(struct allocator *a, uint32_t index) {
    uint32_t before = joinable(a, index, a->block[index].before);
    uint32_t behind = joinable(a, index, a->block[index].behind);
    uint32_t last = !a->block[index].mapped ? 0 : behind != 0 ? behind : before;
    join_out_of_list(a, index, before == last ? 0 : before);
    join_out_of_list(a, index, behind == last ? 0 : behind);
    if (last != 0)
        join_in_place(a, index, last);
    else
        allocator_list_put(a, index);
}

/* ---- the driver ---- */

void allocator_reserved_add(struct allocator *a, uint64_t nbytes) {
    a->reserved_bytes += nbytes;
    if (a->reserved_bytes > a->peak_reserved_bytes)
        a->peak_reserved_bytes = a->reserved_bytes;
}

void allocator_call_note(struct allocator *a, enum segment_change change, uint64_t address, uint64_t size) {
    if (!ARENA_GROW(a->arena, a->call, a->call_capacity, (uint64_t)a->n_calls + 1)) {
        a->no_memory = true;
        return;
    }
    a->call[a->n_calls++] = (struct allocator_call){address, size, (uint8_t)change};
}

/* A new segment as one block in no list; 0: the driver does not have that much. */
static uint32_t segment_new(struct allocator *a, uint16_t list, uint64_t nbytes) {
    if (!fits(a->reserved_bytes, nbytes, a->budget_bytes))
        return 0;
    uint64_t address = a->driver.place(a->driver.context, nbytes, false);
    uint32_t index = allocator_block_take(
        a, (struct allocator_block){.address = address, .size = nbytes, .list = list, .mapped = true});
    if (index == 0)
        return 0;
    allocator_reserved_add(a, nbytes);
    allocator_call_note(a, SEGMENT_ALLOC, address, nbytes);
    return index;
}

void allocator_segment_release(struct allocator *a, uint32_t index) {
    allocator_list_take(a, index);
    a->reserved_bytes -= a->block[index].size;
    allocator_call_note(a, SEGMENT_FREE, a->block[index].address, a->block[index].size);
    allocator_block_give(a, index);
}

/* ---- a request ---- */

/* The size of a free block, with the unmapped block behind it: it can grow by that, so a block that fits as it is is
 * preferred. */
static uint64_t grown_size(const struct allocator *a, uint32_t index) {
    uint32_t behind = a->block[index].behind;
    bool grows = behind != 0 && !a->block[behind].mapped;
    return a->block[index].size + (grows ? a->block[behind].size : 0);
}

static struct ordered_place prefer_whole_blocks(struct allocator *a, const struct ordered *free,
                                                struct ordered_place place) {
    const struct ordered_key *key = ordered_at(free, &a->store, place);
    while (a->block[key->value].reservation != 0) {
        struct ordered_place behind = ordered_next(free, &a->store, place);
        const struct ordered_key *next = ordered_at(free, &a->store, behind);
        if (next == NULL || grown_size(a, next->value) >= grown_size(a, key->value))
            break;
        key = next;
        place = behind;
        a->steps++;
    }
    return place;
}

/* Expandable segments were turned off again: skips what they left. */
static struct ordered_place pass_reservations(struct allocator *a, const struct ordered *free,
                                              struct ordered_place place) {
    const struct ordered_key *key;
    do {
        place = ordered_next(free, &a->store, place);
        key = ordered_at(free, &a->store, place);
        a->steps++;
    } while (key != NULL && a->block[key->value].reservation != 0);
    return place;
}

/* May a request take this block? With max_split_size, large blocks are kept for large requests. */
static bool serves(const struct allocator *a, uint64_t rounded, uint64_t size) {
    uint64_t limit = a->settings.max_split_bytes, slack = a->settings.non_split_bytes;
    slack = slack != 0 ? slack : a->settings.large_segment_bytes;
    return rounded < limit ? size < limit : size - rounded < slack;
}

/* The block that serves, and its place in the list; 0: none. */
static uint32_t find(struct allocator *a, uint32_t list, uint64_t rounded, struct ordered_place *place) {
    const struct ordered *free = &a->list[list].free;
    if (a->settings.collect_ppm != 0)
        ++*searches_of(a, &a->list[list]);
    *place = ordered_seek(free, &a->store, rounded, 0);
    const struct ordered_key *key = ordered_at(free, &a->store, *place);
    if (a->n_reservations > 1 && key != NULL && a->block[key->value].reservation != 0) {
        *place = a->settings.expandable ? prefer_whole_blocks(a, free, *place)
                                        : pass_reservations(a, free, *place);
        key = ordered_at(free, &a->store, *place);
    }
    if (a->wanted_address != 0 && key != NULL) {
        struct ordered_place other = ordered_seek(free, &a->store, key->first, a->wanted_address);
        const struct ordered_key *wanted = ordered_at(free, &a->store, other);
        if (wanted != NULL && wanted->first == key->first && wanted->second == a->wanted_address) {
            *place = other;
            key = wanted;
        }
    }
    return key != NULL && serves(a, rounded, key->first) ? key->value : 0;
}

static uint32_t memory_new(struct allocator *a, uint32_t list, uint64_t rounded) {
    uint64_t nbytes = allocator_segment_bytes(&a->settings, rounded);
    if (!fits(a->reserved_bytes, nbytes, allocator_limit_bytes(a)))
        return 0;
    bool private_pool = a->list[list].pool != ALLOCATOR_DEFAULT_POOL;
    if (a->settings.expandable && (!private_pool || a->settings.expandable_private))
        return allocator_grow(a, (uint16_t)list, rounded);
    return segment_new(a, (uint16_t)list, nbytes);
}

static uint32_t memory_get(struct allocator *a, uint32_t list, uint64_t rounded) {
    if (collects(a))
        allocator_collect(a);
    uint32_t index = memory_new(a, list, rounded);
    if (index != 0 || a->no_memory || a->no_retry)
        return index;
    if (a->settings.max_split_bytes != ALLOCATOR_UNLIMITED && allocator_release_oversize(a, list, rounded) &&
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

/* Ascend: a large block begins at a multiple of 16 KiB if it then still fits. */
static uint32_t head_cut(struct allocator *a, uint32_t index, uint64_t rounded) {
    const struct allocator_block *block = &a->block[index];
    uint64_t head = round_up(block->address, ALIGNED_TO) - block->address;
    if (!a->settings.aligned || !a->settings.expandable || rounded < ALIGNED_FROM || head == 0 ||
        block->size < rounded || block->size - rounded < head)
        return index;
    uint32_t rest = allocator_block_cut(a, index, head);
    if (rest != 0)
        allocator_list_put(a, index);
    return rest;
}

static uint32_t use_begin(struct allocator *a, uint32_t index) {
    a->block[index].use = ALLOCATOR_USED;
    a->active_bytes += a->block[index].size;
    return a->no_memory ? 0 : index;
}

/* Uses a block that is in no list. */
static uint32_t block_use(struct allocator *a, uint32_t index, uint64_t rounded) {
    index = head_cut(a, index, rounded);
    if (index != 0 && splits(a, &a->block[index], rounded)) {
        uint32_t rest = allocator_block_cut(a, index, rounded);
        if (rest != 0)
            allocator_list_put(a, rest);
    }
    return use_begin(a, index);
}

/* Uses a block at a place of its list, which its rest gets. */
static uint32_t found_use(struct allocator *a, uint32_t index, struct ordered_place place, uint64_t rounded) {
    if (a->settings.aligned || !splits(a, &a->block[index], rounded)) {
        free_discount(a, &a->block[index]);
        ordered_remove_at(&a->list[a->block[index].list].free, &a->store, place);
        return block_use(a, index, rounded);
    }
    giving_discount(a, &a->block[index]);
    uint32_t rest = allocator_block_cut(a, index, rounded);
    if (rest != 0)
        list_replace(a, place, rest);
    return use_begin(a, index);
}

uint32_t allocator_allocate(struct allocator *a, uint64_t nbytes, uint16_t pool, uint16_t stream) {
    uint64_t rounded = allocator_round(&a->settings, nbytes);
    uint32_t list = allocator_list_of(a, pool, stream, rounded <= ALLOCATOR_SMALL_BYTES);
    if (list == ALLOCATOR_LIST_NONE)
        return 0;
    struct ordered_place place;
    uint32_t index = a->no_search ? 0 : find(a, list, rounded, &place);
    if (index != 0)
        return found_use(a, index, place, rounded);
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

static void waiting_remove(struct allocator *a, uint32_t index) {
    uint32_t at = a->block[index].note, last = a->waiting[--a->n_waiting];
    a->waiting[at] = last;
    a->block[last].note = at;
}

void allocator_free(struct allocator *a, uint32_t block) {
    assert(a->block[block].use != ALLOCATOR_FREE && a->block[block].size <= a->active_bytes);
    if (a->block[block].use == ALLOCATOR_WAITING)
        waiting_remove(a, block);
    a->active_bytes -= a->block[block].size;
    a->block[block].use = ALLOCATOR_FREE;
    allocator_block_put(a, block);
}

uint64_t allocator_largest_free_block(const struct allocator *a) {
    uint64_t most = 0;
    for (uint32_t i = 0; i < a->n_lists; i++) {
        const struct ordered *free = &a->list[i].free;
        struct ordered_place end = ordered_seek(free, &a->store, UINT64_MAX, UINT64_MAX);
        const struct ordered_key *largest = ordered_at(free, &a->store, ordered_before(free, &a->store, end));
        most = largest != NULL && largest->first > most ? largest->first : most;
    }
    return most;
}
