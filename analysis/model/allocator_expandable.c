/*
 * Expandable segments: reservations of address space that are mapped and unmapped in whole granules.
 *
 *     base | used | free | used | ..unmapped.. | free | ..unmapped, up to the end of the reservation.. |
 *
 * Unmapped blocks are free blocks too, in lists of their own; a mapped block joins only mapped neighbours, an
 * unmapped one only unmapped ones.
 */
#include "analysis/model/allocator_internal.h"

#include "base/numbers.h"

static const uint64_t RESERVATION = UINT64_C(1) << 42; /* address space: more than any device has memory */

uint32_t allocator_reservation_add(struct allocator *a, uint64_t base, bool small) {
    if (!ARENA_GROW(a->arena, a->reservation, a->reservation_capacity, (uint64_t)a->n_reservations + 1)) {
        a->no_memory = true;
        return 0;
    }
    a->reservation[a->n_reservations] = (struct allocator_reservation){
        .base = base, .granule = small ? ALLOCATOR_SMALL_SEGMENT : a->settings.large_segment_bytes};
    return a->n_reservations++;
}

/* Address space of a new segment, in whole granules. */
static uint64_t reservation_bytes(const struct allocator *a, uint64_t granule) {
    uint64_t asked = a->settings.reserve_gib_ppm != 0 ? share_of(GIB, a->settings.reserve_gib_ppm)
                                                      : share_of(a->device_bytes, a->settings.reserve_ppm);
    return asked != 0 && asked < RESERVATION ? round_up(asked, granule) : RESERVATION;
}

/* New address space as one unmapped block, in its list. 0: a segment does not have room for as much as that. */
static uint32_t reservation_new(struct allocator *a, uint16_t list, uint64_t wanted) {
    bool small = a->list[list].small;
    uint64_t granule = small ? ALLOCATOR_SMALL_SEGMENT : a->settings.large_segment_bytes;
    uint64_t room = reservation_bytes(a, granule);
    if (wanted > room)
        return 0;
    uint64_t base = a->driver.place(a->driver.context, round_up(wanted, granule), true);
    uint32_t reservation = allocator_reservation_add(a, base, small), index = 0;
    if (reservation != 0)
        index = allocator_block_take(
            a, (struct allocator_block){
                   .address = base, .size = room, .reservation = reservation, .list = list});
    if (index != 0)
        allocator_list_put(a, index);
    return index;
}

/* Maps the first `wanted` bytes of an unmapped block, in whole granules; the result joins its free neighbours and
 * is in the list of free blocks. False: the driver does not have that much. */
static bool block_map(struct allocator *a, uint32_t index, uint64_t wanted) {
    struct allocator_reservation *reservation = &a->reservation[a->block[index].reservation];
    uint64_t nbytes = round_up(wanted, reservation->granule);
    nbytes = nbytes < a->block[index].size ? nbytes : a->block[index].size;
    if (!fits(a->reserved_bytes, nbytes, a->budget_bytes))
        return false;
    allocator_list_take(a, index);
    if (nbytes < a->block[index].size) {
        uint32_t rest = allocator_block_cut(a, index, nbytes);
        if (rest == 0)
            return false;
        allocator_list_put(a, rest);
    }
    a->block[index].mapped = true;
    reservation->mapped_bytes += nbytes;
    allocator_reserved_add(a, nbytes);
    allocator_call_note(a, SEGMENT_MAP, a->block[index].address, nbytes);
    allocator_block_put(a, index);
    return true;
}

/* Do this block and the free ones after it, mapped or not, have room? */
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
    return reservation_new(a, list, wanted);
}

uint32_t allocator_grow(struct allocator *a, uint16_t list, uint64_t wanted) {
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
        index = next; /* it has joined the one before */
    }
    allocator_list_take(a, index);
    return index;
}

/* Cuts the whole granules out of a free block: its head and tail stay free blocks. Returns the middle, which is in
 * no list; 0: there is none, and nothing has changed. */
static uint32_t granules_cut(struct allocator *a, uint32_t index, uint64_t from, uint64_t to) {
    uint64_t address = a->block[index].address, size = a->block[index].size;
    if (from >= to)
        return 0;
    allocator_list_take(a, index);
    if (from > address) {
        uint32_t middle = allocator_block_cut(a, index, from - address);
        if (middle == 0)
            return 0;
        allocator_list_put(a, index);
        index = middle;
    }
    if (to < address + size) {
        uint32_t tail = allocator_block_cut(a, index, to - from);
        if (tail == 0)
            return 0;
        allocator_list_put(a, tail);
    }
    return index;
}

/* Gives up a reservation of which nothing is mapped: it is a single block. */
static void reservation_drop(struct allocator *a, uint32_t index) {
    allocator_list_take(a, index);
    allocator_block_give(a, index);
}

void allocator_unmap(struct allocator *a, uint32_t index, uint64_t from, uint64_t to) {
    uint32_t middle = granules_cut(a, index, from, to);
    if (middle == 0)
        return;
    struct allocator_reservation *reservation = &a->reservation[a->block[middle].reservation];
    a->block[middle].mapped = false;
    reservation->mapped_bytes -= to - from;
    a->reserved_bytes -= to - from;
    allocator_call_note(a, SEGMENT_UNMAP, from, to - from);
    allocator_block_put(a, middle);
    if (reservation->mapped_bytes == 0 && a->block[middle].before == 0 && a->block[middle].behind == 0)
        reservation_drop(a, middle);
}

void allocator_unmap_granules(struct allocator *a, uint32_t index) {
    const struct allocator_block *block = &a->block[index];
    const struct allocator_reservation *reservation = &a->reservation[block->reservation];
    uint64_t offset = block->address - reservation->base;
    uint64_t from = reservation->base + round_up(offset, reservation->granule);
    uint64_t to = block->address + block->size - (offset + block->size) % reservation->granule;
    allocator_unmap(a, index, from, to);
}
