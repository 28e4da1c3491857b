#include "parser/stack_tree.h"

#include "base/bytes.h"

#include <stddef.h>

enum { FIRST_SLOTS = 1024, WORD_BITS = 32 };

static bool bit_get(const uint32_t *bits, uint32_t i) {
    return bits[i / WORD_BITS] >> i % WORD_BITS & 1;
}

static void bit_set(uint32_t *bits, uint32_t i, bool value) {
    uint32_t mask = UINT32_C(1) << i % WORD_BITS;
    bits[i / WORD_BITS] = value ? bits[i / WORD_BITS] | mask : bits[i / WORD_BITS] & ~mask;
}

/* ---- adding ---- */

/* Multiplication by an odd constant and the upper half: good enough for two small ids, and fast. */
static uint32_t node_hash(uint32_t parent, uint32_t frame) {
    uint64_t key = ((uint64_t)parent << 32 | frame) * 0x9E3779B97F4A7C15u;
    return (uint32_t)(key ^ key >> 32);
}

/* The slot of a branch, or the empty one where it belongs. */
static uint32_t *branch_slot(const struct stack_tree *tree, uint32_t parent, uint32_t frame) {
    uint32_t at = node_hash(parent, frame) & tree->mask;
    for (; tree->slot[at] != 0; at = (at + 1) & tree->mask) {
        const struct stack_branch *branch = &tree->branch[tree->slot[at] - 1];
        if (branch->parent == parent && tree->frame[branch->node] == frame)
            break;
    }
    return &tree->slot[at];
}

/* Keeps the index at most half full, so that probing stays short. */
static bool slots_reserve(struct stack_tree *tree, struct arena *arena) {
    if (tree->mask != 0 && tree->n_branches < tree->mask / 2)
        return true;
    uint64_t n_slots = tree->mask == 0 ? FIRST_SLOTS : ((uint64_t)tree->mask + 1) * 2;
    uint32_t *slot = arena_column(arena, n_slots, sizeof *slot);
    if (slot == NULL)
        return false;
    bytes_zero(slot, (size_t)n_slots * sizeof *slot);
    ARENA_DROP(arena, tree->slot);
    tree->slot = slot;
    tree->mask = (uint32_t)(n_slots - 1);
    for (uint32_t i = 0; i < tree->n_branches; i++)
        *branch_slot(tree, tree->branch[i].parent, tree->frame[tree->branch[i].node]) = i + 1;
    return true;
}

static bool node_add(struct stack_tree *tree, struct arena *arena, uint32_t frame, bool branched) {
    uint64_t count = (uint64_t)tree->count + 1;
    if (!ARENA_GROW(arena, tree->frame, tree->capacity, count) ||
        !ARENA_GROW(arena, tree->branched, tree->branched_capacity, tree->count / WORD_BITS + 1))
        return false;
    if (tree->count % WORD_BITS == 0)
        tree->branched[tree->count / WORD_BITS] = 0;
    tree->frame[tree->count] = frame;
    bit_set(tree->branched, tree->count, branched);
    tree->count = (uint32_t)count;
    return true;
}

static bool branch_add(struct stack_tree *tree, struct arena *arena, uint32_t parent, uint32_t frame,
                       uint32_t *id) {
    if (!slots_reserve(tree, arena))
        return false;
    uint32_t *slot = branch_slot(tree, parent, frame);
    if (*slot != 0) {
        *id = tree->branch[*slot - 1].node;
        return true;
    }
    *id = tree->count;
    if (!ARENA_GROW(arena, tree->branch, tree->branch_capacity, (uint64_t)tree->n_branches + 1) ||
        !node_add(tree, arena, frame, true))
        return false;
    tree->branch[tree->n_branches++] = (struct stack_branch){*id, parent};
    *slot = tree->n_branches;
    return true;
}

/* A first child is found behind its parent and is not in the index: a file where no two stacks begin alike makes no use of
 * that at all. */
static bool child_add(struct stack_tree *tree, struct arena *arena, uint32_t parent, uint32_t frame,
                      uint32_t *id) {
    *id = parent + 1;
    if (*id == tree->count)
        return node_add(tree, arena, frame, false);
    if (tree->frame[*id] == frame && !bit_get(tree->branched, *id))
        return true;
    return branch_add(tree, arena, parent, frame, id);
}

bool stack_tree_add(struct stack_tree *tree, struct arena *arena, const uint32_t *frames, uint32_t n_frames,
                    uint32_t *id) {
    uint32_t node = 0;
    if (tree->count == 0 && !node_add(tree, arena, 0, false))
        return false;
    for (uint32_t i = n_frames; i-- > 0;)
        if (!child_add(tree, arena, node, frames[i], &node))
            return false;
    *id = node;
    return true;
}

uint32_t stack_tree_parent(const struct stack_tree *tree, uint32_t stack) {
    uint32_t low = 0, high = tree->n_branches;
    if (!bit_get(tree->branched, stack))
        return stack - (stack != 0);
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (tree->branch[middle].node < stack)
            low = middle + 1;
        else
            high = middle;
    }
    return tree->branch[low].parent;
}

/* ---- what is used ---- */

/* Bits of nodes, and how many are set before each word. */
struct kept {
    uint32_t *bits, *before;
    uint32_t count;
};

typedef uint32_t stack_visit(struct kept *kept, uint32_t stack);

static uint32_t visit_mark(struct kept *kept, uint32_t stack) {
    bit_set(kept->bits, stack, true);
    return stack;
}

static uint32_t visit_renumber(struct kept *kept, uint32_t stack) {
    uint32_t below = kept->bits[stack / WORD_BITS] & ((UINT32_C(1) << stack % WORD_BITS) - 1);
    return kept->before[stack / WORD_BITS] + (uint32_t)__builtin_popcount(below);
}

/* Every stack that a device has, once for each time. */
static void device_visit(struct device_trace *device, struct kept *kept, stack_visit *visit) {
    for (uint32_t i = 0; i < device->lives.count; i++)
        device->lives.stack[i] = visit(kept, device->lives.stack[i]);
    for (uint32_t i = 0; i < device->n_segment_events; i++)
        device->segment_events[i].stack = visit(kept, device->segment_events[i].stack);
    for (uint32_t i = 0; i < device->n_ooms; i++)
        device->ooms[i].stack = visit(kept, device->ooms[i].stack);
    for (uint32_t i = 0; i < device->n_segments; i++)
        device->segments[i].stack = visit(kept, device->segments[i].stack);
    for (uint32_t i = 0; i < device->n_blocks; i++)
        device->blocks[i].stack = visit(kept, device->blocks[i].stack);
}

/* A parent comes before its children, so one walk from the end marks all that the marked ones begin with. */
static void parents_mark(const struct stack_tree *tree, struct kept *kept) {
    uint32_t next = tree->n_branches;
    for (uint32_t i = tree->count; i-- > 1;) {
        bool branched = bit_get(tree->branched, i);
        next -= branched;
        if (bit_get(kept->bits, i))
            bit_set(kept->bits, branched ? tree->branch[next].parent : i - 1, true);
    }
}

static void kept_count(struct kept *kept, uint32_t n_words) {
    for (uint32_t i = 0; i < n_words; i++) {
        kept->before[i] = kept->count;
        kept->count += (uint32_t)__builtin_popcount(kept->bits[i]);
    }
}

/* Moves the nodes that are kept to the front; what branches off there may follow its parent now. */
static void nodes_keep(struct stack_tree *tree, struct kept *kept) {
    uint32_t n = 1, n_branches = 0;
    for (uint32_t i = 1, next = 0; i < tree->count; i++) {
        bool branched = bit_get(tree->branched, i);
        uint32_t parent = branched ? tree->branch[next++].parent : i - 1;
        if (!bit_get(kept->bits, i))
            continue;
        parent = visit_renumber(kept, parent);
        if (parent + 1 != n)
            tree->branch[n_branches++] = (struct stack_branch){n, parent};
        bit_set(tree->branched, n, parent + 1 != n);
        tree->frame[n++] = tree->frame[i];
    }
    tree->count = n;
    tree->n_branches = n_branches;
}

/* False: no memory, and nothing is changed. */
static bool unused_drop(struct stack_tree *tree, struct trace *trace) {
    struct arena *arena = &trace->arena;
    uint32_t n_words = (tree->count - 1) / WORD_BITS + 1;
    struct kept kept = {.bits = arena_column(arena, n_words, sizeof *kept.bits),
                        .before = arena_column(arena, n_words, sizeof *kept.before)};
    bool done = kept.bits != NULL && kept.before != NULL;
    if (done) {
        bytes_zero(kept.bits, n_words * sizeof *kept.bits);
        bit_set(kept.bits, 0, true);
        for (uint32_t i = 0; i < trace->n_devices; i++)
            device_visit(&trace->devices[i], &kept, visit_mark);
        parents_mark(tree, &kept);
        kept_count(&kept, n_words);
        for (uint32_t i = 0; kept.count < tree->count && i < trace->n_devices; i++)
            device_visit(&trace->devices[i], &kept, visit_renumber);
        nodes_keep(tree, &kept);
    }
    ARENA_DROP(arena, kept.before);
    ARENA_DROP(arena, kept.bits);
    return done;
}

/* ---- handing over ---- */

_Static_assert(sizeof(struct stack) == 2 * sizeof(uint32_t) && offsetof(struct stack, frame) == 4,
               "two words are a row");

/* Frames become rows where they lie, from the last one on, so that no node is there twice. False: no memory. */
static bool rows_spread(struct stack_tree *tree, struct arena *arena, uint32_t *capacity) {
    uint32_t next = tree->n_branches;
    *capacity = tree->capacity / 2;
    if (!arena_grow(arena, (void **)&tree->frame, capacity, tree->count, sizeof(struct stack)))
        return false;
    for (uint32_t i = tree->count; i-- > 0;) {
        bool branched = bit_get(tree->branched, i);
        uint32_t frame = tree->frame[i], before = i - (i != 0);
        next -= branched;
        tree->frame[2 * (size_t)i] = branched ? tree->branch[next].parent : before;
        tree->frame[2 * (size_t)i + 1] = frame;
    }
    return true;
}

bool stack_tree_finish(struct stack_tree *tree, struct trace *trace) {
    struct stack_table *table = &trace->stacks;
    struct arena *arena = &trace->arena;
    uint32_t capacity;
    if (tree->count == 0)
        return true;
    ARENA_DROP(arena, tree->slot);
    if (!unused_drop(tree, trace) || !rows_spread(tree, arena, &capacity))
        return false;
    ARENA_DROP(arena, table->stack);
    *table = (struct stack_table){.count = tree->count, .capacity = capacity, .stack = (void *)tree->frame};
    tree->frame = NULL;
    stack_tree_release(tree, arena);
    ARENA_TRIM(arena, table->stack, table->capacity, table->count);
    return true;
}

void stack_tree_release(struct stack_tree *tree, struct arena *arena) {
    ARENA_DROP(arena, tree->frame);
    ARENA_DROP(arena, tree->branched);
    ARENA_DROP(arena, tree->branch);
    ARENA_DROP(arena, tree->slot);
    *tree = (struct stack_tree){0};
}
