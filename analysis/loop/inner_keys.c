#include "analysis/loop/inner_keys.h"

#include "analysis/loop/frame_bits.h"

/* A hash table of stacks by their parts. Few slots are looked at for each, so that no file makes it slow. The first
 * stack with an outer key directly follows that key's stack (struct stack_table) and is not in the table. */
struct key_table {
    const struct trace *trace;
    struct arena *arena;
    uint32_t *key;  /* of all stacks so far; 0: no forward */
    uint32_t *slot; /* a stack; 0: empty */
    uint32_t mask, count;
    bool failed; /* no memory */
};
enum { PROBES_MOST = 32, FIRST_SLOTS = 1024 };

static uint32_t slot_of(uint32_t outer, uint32_t frame) {
    uint64_t mixed = ((uint64_t)frame << 32 | outer) * UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ mixed >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    return (uint32_t)(mixed >> 32);
}

/* The key of the stack without its innermost frame; 0: no forward in it. */
static uint32_t outer_key(const struct key_table *table, uint32_t stack) {
    return table->key[stack_parent(&table->trace->stacks, stack)];
}

/* The slot of the first stack with these parts, or an empty one; NULL: neither is near. */
static uint32_t *table_seek(const struct key_table *table, uint32_t outer, uint32_t frame) {
    const uint32_t *own = table->trace->stacks.frame;
    uint32_t at = slot_of(outer, frame);
    for (uint32_t i = 0; i < PROBES_MOST; i++, at++) {
        uint32_t *slot = &table->slot[at & table->mask];
        if (*slot == 0 || (own[*slot] == frame && outer_key(table, *slot) == outer))
            return slot;
    }
    return NULL;
}

static bool table_resize(struct key_table *table, size_t n_slots) {
    uint32_t *old = table->slot, n_old = table->count == 0 ? 0 : table->mask + 1;
    table->slot = arena_zeros(table->arena, n_slots, sizeof *table->slot);
    table->mask = (uint32_t)(n_slots - 1);
    table->count = 0;
    for (uint32_t i = 0; table->slot != NULL && i < n_old; i++) {
        uint32_t *slot =
            old[i] == 0 ? NULL
                        : table_seek(table, outer_key(table, old[i]), table->trace->stacks.frame[old[i]]);
        if (slot == NULL)
            continue;
        *slot = old[i];
        table->count++;
    }
    ARENA_DROP(table->arena, old);
    return table->slot != NULL;
}

static uint32_t key_of(struct key_table *table, uint32_t stack) {
    const struct stack_table *stacks = &table->trace->stacks;
    uint32_t outer = outer_key(table, stack), frame = stacks->frame[stack];
    if (outer != 0 && !stack_is_branched(stacks, outer + 1) && stacks->frame[outer + 1] == frame)
        return outer + 1;
    if (table->count >= table->mask / 2 && !table->failed)
        table->failed = !table_resize(table, ((size_t)table->mask + 1) * 2);
    uint32_t *slot = table->failed ? NULL : table_seek(table, outer, frame);
    if (slot == NULL)
        return stack;
    if (*slot == 0) {
        *slot = stack;
        table->count++;
    }
    return *slot;
}

static bool table_init(struct key_table *table, const struct trace *trace, uint32_t *key,
                       struct arena *arena) {
    *table = (struct key_table){.trace = trace, .arena = arena, .key = key};
    key[0] = 0;
    return table_resize(table, FIRST_SLOTS);
}

bool inner_keys_find(const struct trace *trace, const uint32_t *frame_bits, uint32_t *key,
                     struct arena *arena) {
    struct key_table table;
    if (!table_init(&table, trace, key, arena))
        return false;
    for (uint32_t i = 1; i < trace->stacks.count; i++) {
        bool forward = outer_key(&table, i) != 0 || (frame_bits[trace->stacks.frame[i]] & BIT_FORWARD);
        key[i] = forward ? key_of(&table, i) : 0;
    }
    for (uint32_t i = 1; i < trace->stacks.count; i++)
        key[i] = key[i] == 0 ? i : key[i];
    ARENA_DROP(arena, table.slot);
    return !table.failed;
}

bool python_keys_find(const struct trace *trace, const uint32_t *frame_bits, const uint32_t *stack_bits,
                      uint32_t *key, struct arena *arena) {
    struct key_table table;
    if (!table_init(&table, trace, key, arena))
        return false;
    for (uint32_t i = 1; i < trace->stacks.count; i++) {
        bool python = (frame_bits[trace->stacks.frame[i]] & BIT_PYTHON) != 0;
        key[i] = !(stack_bits[i] & BIT_FORWARD) ? 0 : python ? key_of(&table, i) : outer_key(&table, i);
    }
    ARENA_DROP(arena, table.slot);
    return !table.failed;
}
