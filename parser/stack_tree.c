#include "parser/stack_tree.h"

enum { FIRST_SLOTS = 1024 };

/* Multiplication by an odd constant and the upper half: good enough for two small ids, and fast. */
static uint32_t node_hash(uint32_t parent, uint32_t frame) {
    uint64_t key = ((uint64_t)parent << 32 | frame) * 0x9E3779B97F4A7C15u;
    return (uint32_t)(key ^ key >> 32);
}

/* The slot of a branched stack, or the empty slot where it belongs. */
static uint32_t *branch_slot(const struct stack_tree *tree, uint32_t parent, uint32_t frame) {
    uint32_t at = node_hash(parent, frame) & tree->mask;
    for (; tree->slot[at] != 0; at = (at + 1) & tree->mask) {
        uint32_t branch = tree->slot[at] - 1;
        if (tree->table.parent[branch] == parent && tree->table.frame[tree->node[branch]] == frame)
            break;
    }
    return &tree->slot[at];
}

/* Keeps the index at most half full, so that probing stays short. */
static bool slots_reserve(struct stack_tree *tree, struct arena *arena) {
    if (tree->mask != 0 && tree->table.n_branched < tree->mask / 2)
        return true;
    uint64_t n_slots = tree->mask == 0 ? FIRST_SLOTS : ((uint64_t)tree->mask + 1) * 2;
    uint32_t *slot = arena_zeros(arena, n_slots, sizeof *slot);
    if (slot == NULL)
        return false;
    ARENA_DROP(arena, tree->slot);
    tree->slot = slot;
    tree->mask = (uint32_t)(n_slots - 1);
    for (uint32_t i = 0; i < tree->table.n_branched; i++)
        *branch_slot(tree, tree->table.parent[i], tree->table.frame[tree->node[i]]) = i + 1;
    return true;
}

static bool branch_add(struct stack_tree *tree, struct arena *arena, uint32_t parent, uint32_t frame,
                       uint32_t *id) {
    if (!slots_reserve(tree, arena))
        return false;
    uint32_t *slot = branch_slot(tree, parent, frame), branch = tree->table.n_branched;
    if (*slot != 0) {
        *id = tree->node[*slot - 1];
        return true;
    }
    *id = tree->table.count;
    if (!ARENA_GROW(arena, tree->node, tree->node_capacity, (uint64_t)branch + 1) ||
        !stack_table_add(&tree->table, arena, parent, frame))
        return false;
    tree->node[branch] = *id;
    *slot = branch + 1;
    return true;
}

static bool child_add(struct stack_tree *tree, struct arena *arena, uint32_t parent, uint32_t frame,
                      uint32_t *id) {
    *id = parent + 1;
    if (*id == tree->table.count)
        return stack_table_add(&tree->table, arena, parent, frame);
    if (tree->table.frame[*id] == frame && !stack_is_branched(&tree->table, *id))
        return true;
    return branch_add(tree, arena, parent, frame, id);
}

static bool root_add(struct stack_tree *tree, struct arena *arena) {
    return tree->table.count != 0 || stack_table_add(&tree->table, arena, 0, 0);
}

bool stack_tree_extend(struct stack_tree *tree, struct arena *arena, uint32_t parent, uint32_t frame,
                       uint32_t *id) {
    return root_add(tree, arena) && child_add(tree, arena, parent, frame, id);
}

bool stack_tree_add(struct stack_tree *tree, struct arena *arena, const uint32_t *frames, uint32_t n_frames,
                    uint32_t *id) {
    uint32_t node = 0;
    if (!root_add(tree, arena))
        return false;
    for (uint32_t i = n_frames; i-- > 0;)
        if (!child_add(tree, arena, node, frames[i], &node))
            return false;
    *id = node;
    return true;
}

/* Bits of stacks, and the number of bits set before each word of 32. */
struct kept {
    uint32_t *bits, *before;
    uint32_t count;
};

static bool bit_get(const uint32_t *bits, uint32_t i) {
    return bits[i / 32] >> i % 32 & 1;
}

static void bit_set(uint32_t *bits, uint32_t i) {
    bits[i / 32] |= UINT32_C(1) << i % 32;
}

static uint32_t number_of(const struct kept *kept, uint32_t stack) {
    uint32_t below = kept->bits[stack / 32] & ((UINT32_C(1) << stack % 32) - 1);
    return kept->before[stack / 32] + bits_count(below);
}

/* The new id of a stack. */
typedef uint32_t stack_visit(const struct kept *kept, uint32_t stack);

static uint32_t visit_mark(const struct kept *kept, uint32_t stack) {
    bit_set(kept->bits, stack);
    return stack;
}

static uint32_t visit_renumber(const struct kept *kept, uint32_t stack) {
    return number_of(kept, stack);
}

/* Visits every stack that a device has, as often as it is used. */
static void device_visit(struct device_trace *device, const struct kept *kept, stack_visit *visit) {
    for (uint32_t i = 0; i < device->allocations.count; i++)
        device->allocations.stack[i] = visit(kept, device->allocations.stack[i]);
    for (uint32_t i = 0; i < device->n_segment_events; i++)
        device->segment_events[i].stack = visit(kept, device->segment_events[i].stack);
    for (uint32_t i = 0; i < device->n_ooms; i++)
        device->ooms[i].stack = visit(kept, device->ooms[i].stack);
    for (uint32_t i = 0; i < device->n_segments; i++)
        device->segments[i].stack = visit(kept, device->segments[i].stack);
    for (uint32_t i = 0; i < device->n_blocks; i++)
        device->blocks[i].stack = visit(kept, device->blocks[i].stack);
}

/* A parent comes before its children, so one walk from the end marks all ancestors. */
static void parents_mark(const struct stack_table *stacks, const struct kept *kept) {
    for (uint32_t i = stacks->count; i-- > 1;)
        if (bit_get(kept->bits, i))
            bit_set(kept->bits, stack_parent(stacks, i));
}

static void kept_count(struct kept *kept, uint32_t n_words) {
    for (uint32_t i = 0; i < n_words; i++) {
        kept->before[i] = kept->count;
        kept->count += bits_count(kept->bits[i]);
    }
}

/* Moves the kept stacks to the front. A branched stack may follow its parent now, so none needs more room than
 * before. */
static void stacks_keep(struct stack_table *stacks, const struct kept *kept) {
    uint32_t n = 1, n_branched = 0;
    for (uint32_t i = 1, next = 0; i < stacks->count; i++) {
        bool branched = stack_is_branched(stacks, i);
        uint32_t parent = branched ? stacks->parent[next++] : i - 1, bit = UINT32_C(1) << n % 32;
        if (!bit_get(kept->bits, i))
            continue;
        parent = number_of(kept, parent);
        branched = parent + 1 != n;
        if (n % 32 == 0)
            stacks->word[n / 32].before = n_branched;
        stacks->word[n / 32].branched &= ~bit;
        stacks->word[n / 32].branched |= branched ? bit : 0;
        if (branched)
            stacks->parent[n_branched++] = parent;
        stacks->frame[n++] = stacks->frame[i];
    }
    stacks->count = n;
    stacks->n_branched = n_branched;
}

/* False: no memory, and nothing has changed. */
static bool unused_drop(struct stack_table *stacks, struct trace *trace) {
    struct arena *arena = &trace->arena;
    uint32_t n_words = (stacks->count - 1) / 32 + 1;
    struct kept kept = {.bits = arena_zeros(arena, n_words, sizeof *kept.bits),
                        .before = arena_column(arena, n_words, sizeof *kept.before)};
    bool done = kept.bits != NULL && kept.before != NULL;
    if (done) {
        bit_set(kept.bits, 0);
        for (uint32_t i = 0; i < trace->n_devices; i++)
            device_visit(&trace->devices[i], &kept, visit_mark);
        parents_mark(stacks, &kept);
        kept_count(&kept, n_words);
        for (uint32_t i = 0; kept.count < stacks->count && i < trace->n_devices; i++)
            device_visit(&trace->devices[i], &kept, visit_renumber);
        stacks_keep(stacks, &kept);
    }
    ARENA_DROP(arena, kept.before, kept.bits);
    return done;
}

static void table_drop(struct stack_table *stacks, struct arena *arena) {
    ARENA_DROP(arena, stacks->frame, stacks->word, stacks->parent);
}

bool stack_tree_finish(struct stack_tree *tree, struct trace *trace) {
    struct arena *arena = &trace->arena;
    struct stack_table *stacks = &tree->table;
    if (stacks->count == 0)
        return true;
    ARENA_DROP(arena, tree->slot, tree->node);
    if (!unused_drop(stacks, trace))
        return false;
    table_drop(&trace->stacks, arena);
    trace->stacks = *stacks;
    *tree = (struct stack_tree){0};
    stacks = &trace->stacks;
    ARENA_TRIM(arena, stacks->frame, stacks->capacity, stacks->count);
    ARENA_TRIM(arena, stacks->word, stacks->word_capacity, (stacks->count - 1) / 32 + 1);
    return true;
}

void stack_tree_release(struct stack_tree *tree, struct arena *arena) {
    table_drop(&tree->table, arena);
    ARENA_DROP(arena, tree->node, tree->slot);
    *tree = (struct stack_tree){0};
}
