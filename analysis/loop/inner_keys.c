#include "analysis/loop/inner_keys.h"

#include "analysis/loop/frame_bits.h"
#include "base/hashed.h"

/* Stacks by their parts. The first stack with an outer key directly follows that key's stack (struct stack_table) and
 * is not in the table. */
struct key_table {
    const struct trace *trace;
    struct arena *arena;
    uint32_t *key; /* of all stacks so far; 0: no forward */
    struct row_table stacks;
    bool failed; /* no memory */
};

/* The key of the stack without its innermost frame; 0: no forward in it. */
static uint32_t outer_key(const struct key_table *table, uint32_t stack) {
    return table->key[stack_parent(&table->trace->stacks, stack)];
}

static uint32_t key_hash(const void *context, uint32_t stack) {
    const struct key_table *table = context;
    return hash_of_pair(outer_key(table, stack), table->trace->stacks.frame[stack]);
}

static uint32_t key_of(struct key_table *table, uint32_t stack) {
    const struct stack_table *stacks = &table->trace->stacks;
    uint32_t outer = outer_key(table, stack), frame = stacks->frame[stack];
    if (outer != 0 && !stack_is_branched(stacks, outer + 1) && stacks->frame[outer + 1] == frame)
        return outer + 1;
    table->failed = table->failed || !row_table_reserve(&table->stacks, table->arena, key_hash, table);
    if (table->failed)
        return stack;
    uint32_t *slot = ROW_SEEK(&table->stacks, hash_of_pair(outer, frame), i,
                              stacks->frame[i] == frame && outer_key(table, i) == outer);
    if (*slot == 0) {
        *slot = stack;
        table->stacks.count++;
    }
    return *slot;
}

bool inner_keys_find(const struct trace *trace, const uint32_t *frame_bits, uint32_t *key,
                     struct arena *arena) {
    struct key_table table = {.trace = trace, .arena = arena, .key = key};
    key[0] = 0;
    for (uint32_t i = 1; i < trace->stacks.count; i++) {
        bool forward = outer_key(&table, i) != 0 || (frame_bits[trace->stacks.frame[i]] & BIT_FORWARD);
        key[i] = forward ? key_of(&table, i) : 0;
    }
    for (uint32_t i = 1; i < trace->stacks.count; i++)
        key[i] = key[i] == 0 ? i : key[i];
    ARENA_DROP(arena, table.stacks.slot);
    return !table.failed;
}

bool python_keys_find(const struct trace *trace, const uint32_t *frame_bits, const uint32_t *stack_bits,
                      uint32_t *key, struct arena *arena) {
    struct key_table table = {.trace = trace, .arena = arena, .key = key};
    key[0] = 0;
    for (uint32_t i = 1; i < trace->stacks.count; i++) {
        bool python = (frame_bits[trace->stacks.frame[i]] & BIT_PYTHON) != 0;
        key[i] = !(stack_bits[i] & BIT_FORWARD) ? 0 : python ? key_of(&table, i) : outer_key(&table, i);
    }
    ARENA_DROP(arena, table.stacks.slot);
    return !table.failed;
}
