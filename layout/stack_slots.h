/* Numbers the stacks that allocations have without gaps, in their order. A recording may have thirty ancestor
 * stacks for each of these, so results for each stack of an allocation are kept by slot. Freestanding. */
#pragma once

#include "trace/trace.h"

struct stack_slots {
    uint32_t count;   /* slot 0 is for the empty stack, whether or not an allocation has it */
    uint64_t *bits;   /* a bit for each stack that has a slot */
    uint32_t *before; /* number of slots before those of a word of `bits` */
};

/* Makes slots for the stacks `stack[count]`, which may repeat. O(count + stacks / 64). False: no memory. */
bool stack_slots_init(struct stack_slots *slots, const struct trace *trace, const uint32_t *stack,
                      uint32_t count, struct arena *arena);

void stack_slots_drop(struct stack_slots *slots, struct arena *arena);

static inline bool stack_has_slot(const struct stack_slots *slots, uint32_t stack) {
    return slots->bits[stack / 64] >> stack % 64 & 1;
}

/* Slot of a stack that has one. */
static inline uint32_t stack_slot(const struct stack_slots *slots, uint32_t stack) {
    uint64_t below = slots->bits[stack / 64] & ((UINT64_C(1) << stack % 64) - 1);
    return slots->before[stack / 64] + bits_count(below);
}
