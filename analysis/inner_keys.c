#include "analysis/inner_keys.h"

#include "analysis/frame_bits.h"
#include "base/bytes.h"

/* A table of stacks by what they are made of. The number of slots that are looked at is bounded, so that no file makes
 * it slow. */
struct key_table {
    const struct trace *trace;
    const uint16_t *stack_bits;
    uint32_t *key;  /* of all stacks so far */
    uint32_t *slot; /* a stack; 0: empty */
    uint32_t mask;
};
enum { PROBES_MOST = 32 };

static uint32_t slot_of(uint32_t outer, uint32_t frame) {
    uint64_t mixed = ((uint64_t)outer << 32 | frame) * UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ mixed >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    return (uint32_t)(mixed >> 32);
}

/* The key of the stack without its innermost frame; 0: that has no forward. */
static uint32_t outer_key(const struct key_table *table, uint32_t stack) {
    uint32_t parent = table->trace->stacks.stack[stack].parent;
    return table->stack_bits[parent] & BIT_FORWARD ? table->key[parent] : 0;
}

static uint32_t key_of(struct key_table *table, uint32_t stack) {
    const struct stack *stacks = table->trace->stacks.stack;
    uint32_t outer = outer_key(table, stack), frame = stacks[stack].frame, at = slot_of(outer, frame);
    for (uint32_t i = 0; i < PROBES_MOST; i++, at++) {
        uint32_t *slot = &table->slot[at & table->mask];
        if (*slot == 0) {
            *slot = stack;
            return stack;
        }
        if (stacks[*slot].frame == frame && outer_key(table, *slot) == outer)
            return *slot;
    }
    return stack;
}

static bool table_init(struct key_table *table, const struct trace *trace, const uint16_t *stack_bits,
                       uint32_t *key, struct arena *arena) {
    size_t n_slots = 16;
    uint32_t n_forward = 0;
    for (uint32_t i = 0; i < trace->stacks.count; i++)
        n_forward += (stack_bits[i] & BIT_FORWARD) != 0;
    while (n_slots < (uint64_t)n_forward * 2)
        n_slots *= 2;
    *table = (struct key_table){trace, stack_bits, key, arena_column(arena, n_slots, sizeof(uint32_t)),
                                (uint32_t)(n_slots - 1)};
    if (table->slot == NULL)
        return false;
    bytes_zero(table->slot, n_slots * sizeof *table->slot);
    return true;
}

bool inner_keys_find(const struct trace *trace, const uint16_t *stack_bits, uint32_t *key,
                     struct arena *arena) {
    struct key_table table;
    if (!table_init(&table, trace, stack_bits, key, arena))
        return false;
    for (uint32_t i = 0; i < trace->stacks.count; i++)
        key[i] = stack_bits[i] & BIT_FORWARD ? key_of(&table, i) : i;
    ARENA_DROP(arena, table.slot);
    return true;
}

bool python_keys_find(const struct trace *trace, const uint16_t *frame_bits, const uint16_t *stack_bits,
                      uint32_t *key, struct arena *arena) {
    struct key_table table;
    if (!table_init(&table, trace, stack_bits, key, arena))
        return false;
    for (uint32_t i = 0; i < trace->stacks.count; i++) {
        bool python = (frame_bits[trace->stacks.stack[i].frame] & BIT_PYTHON) != 0;
        key[i] = !(stack_bits[i] & BIT_FORWARD) ? 0 : python ? key_of(&table, i) : outer_key(&table, i);
    }
    ARENA_DROP(arena, table.slot);
    return true;
}
