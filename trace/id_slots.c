#include "trace/id_slots.h"

bool id_slots_begin(struct id_slots *slots, uint32_t n_ids, struct arena *arena) {
    *slots = (struct id_slots){.n_ids = n_ids,
                               .bits = arena_bits(arena, n_ids),
                               .before = arena_column(arena, n_ids / 64 + 1, sizeof *slots->before)};
    if (slots->bits == NULL || slots->before == NULL)
        return false;
    id_slots_use(slots, 0);
    return true;
}

static inline void stack_visit(struct id_slots *slots, uint32_t *stack, bool renumber) {
    if (renumber)
        *stack = id_slot(slots, *stack);
    else
        id_slots_use(slots, *stack);
}

static void device_visit(const struct device_trace *device, struct id_slots *slots, bool renumber) {
    for (uint32_t i = 0; i < device->allocations.count; i++)
        stack_visit(slots, &device->allocations.stack[i], renumber);
    for (uint32_t i = 0; i < device->n_segment_events; i++)
        stack_visit(slots, &device->segment_events[i].stack, renumber);
    for (uint32_t i = 0; i < device->n_ooms; i++)
        stack_visit(slots, &device->ooms[i].stack, renumber);
    for (uint32_t i = 0; i < device->n_segments; i++)
        stack_visit(slots, &device->segments[i].stack, renumber);
    for (uint32_t i = 0; i < device->n_blocks; i++)
        stack_visit(slots, &device->blocks[i].stack, renumber);
}

void id_slots_use_device(struct id_slots *slots, const struct device_trace *device) {
    device_visit(device, slots, false);
}

void id_slots_renumber_device(struct id_slots *slots, struct device_trace *device) {
    device_visit(device, slots, true);
}

/* A parent has a smaller id, so one walk from the end meets all ancestors. */
void id_slots_use_parents(struct id_slots *slots, const struct stack_table *stacks) {
    for (uint32_t i = slots->n_ids / 64 + 1; i-- > 0;) {
        uint64_t left = slots->bits[i];
        while (left != 0) {
            uint32_t at = 63 - (uint32_t)__builtin_clzll(left);
            id_slots_use(slots, stack_parent(stacks, i * 64 + at));
            left = slots->bits[i] & ((UINT64_C(1) << at) - 1); /* the parent may be one of these */
        }
    }
}

void id_slots_number(struct id_slots *slots) {
    for (uint32_t i = 0; i < slots->n_ids / 64 + 1; i++) {
        slots->before[i] = slots->count;
        slots->count += bits_count(slots->bits[i]);
    }
}

bool id_slots_init(struct id_slots *slots, uint32_t n_ids, const uint32_t *id, uint32_t count,
                   struct arena *arena) {
    if (!id_slots_begin(slots, n_ids, arena))
        return false;
    for (uint32_t i = 0; i < count; i++)
        id_slots_use(slots, id[i]);
    id_slots_number(slots);
    return true;
}

void id_slots_drop(struct id_slots *slots, struct arena *arena) {
    ARENA_DROP(arena, slots->before, slots->bits);
}

uint32_t id_slots_next(const struct id_slots *slots, uint32_t id) {
    uint64_t from = UINT64_MAX << id % 64;
    for (uint32_t i = id / 64; i < slots->n_ids / 64 + 1; i++, from = UINT64_MAX)
        if ((slots->bits[i] & from) != 0)
            return i * 64 + (uint32_t)__builtin_ctzll(slots->bits[i] & from);
    return slots->n_ids;
}
