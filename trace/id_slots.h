/*
 * Numbers the ids of one kind (stacks, frames, strings) that are in use, without gaps and in their order: their
 * slots.
 *
 *     id          0   1   2   3   4   5   6
 *     in use      x       x           x            0 is "none", and always in use
 *     slot        0       1           2
 *
 * A recording may have thirty ancestor stacks for each stack of an allocation, so results for the latter are kept by
 * slot. Freestanding.
 */
#pragma once

#include "trace/trace.h"

struct id_slots {
    uint32_t count;   /* slots, once they are numbered */
    uint32_t n_ids;   /* in use or not */
    uint64_t *bits;   /* a bit for each id in use */
    uint32_t *before; /* slots before those of a word of `bits` */
};

/* Begins with id 0 alone in use. Memory from `arena`. False: no memory; dropping it is fine. O(n_ids / 64). */
bool id_slots_begin(struct id_slots *slots, uint32_t n_ids, struct arena *arena);

static inline void id_slots_use(struct id_slots *slots, uint32_t id) {
    bits_add(slots->bits, id);
}

/* Uses all stacks of a device's rows, and all ancestors of the stacks in use. */
void id_slots_use_device(struct id_slots *slots, const struct device_trace *device);
void id_slots_use_parents(struct id_slots *slots, const struct stack_table *stacks);

/* Numbers the ids in use, and no more may be used then. O(n_ids / 64). */
void id_slots_number(struct id_slots *slots);

/* Begins, uses the ids `id[count]`, which may repeat, and numbers them. O(count + n_ids / 64). False: no memory. */
bool id_slots_init(struct id_slots *slots, uint32_t n_ids, const uint32_t *id, uint32_t count,
                   struct arena *arena);

void id_slots_drop(struct id_slots *slots, struct arena *arena);

static inline bool id_has_slot(const struct id_slots *slots, uint32_t id) {
    return bits_has(slots->bits, id);
}

/* The slot of an id in use. */
static inline uint32_t id_slot(const struct id_slots *slots, uint32_t id) {
    uint64_t below = slots->bits[id / 64] & ((UINT64_C(1) << id % 64) - 1);
    return slots->before[id / 64] + bits_count(below);
}

/* The lowest id in use from `id` on; n_ids if there is none. */
uint32_t id_slots_next(const struct id_slots *slots, uint32_t id);

/* Replaces each stack of a device's rows by its slot. */
void id_slots_renumber_device(struct id_slots *slots, struct device_trace *device);
