#include "layout/stack_slots.h"

bool stack_slots_init(struct stack_slots *slots, const struct trace *trace, const uint32_t *stack,
                      uint32_t count, struct arena *arena) {
    uint32_t n_words = trace->stacks.count / 64 + 1;
    *slots = (struct stack_slots){.bits = arena_bits(arena, trace->stacks.count),
                                  .before = arena_column(arena, n_words, sizeof *slots->before)};
    if (slots->bits == NULL || slots->before == NULL)
        return false;
    slots->bits[0] = 1;
    for (uint32_t i = 0; i < count; i++)
        slots->bits[stack[i] / 64] |= UINT64_C(1) << stack[i] % 64;
    for (uint32_t i = 0; i < n_words; i++) {
        slots->before[i] = slots->count;
        slots->count += bits_count(slots->bits[i]);
    }
    return true;
}

void stack_slots_drop(struct stack_slots *slots, struct arena *arena) {
    ARENA_DROP(arena, slots->before, slots->bits);
}
