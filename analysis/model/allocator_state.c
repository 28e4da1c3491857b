/* Builds an initial state of the model, block by block. */
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
