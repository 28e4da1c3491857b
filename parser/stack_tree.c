#include "parser/stack_tree.h"

#include "trace/id_slots.h"

/* The hash of a row of the index: a branched stack + 1. */
static uint32_t branch_hash(const void *context, uint32_t row) {
    const struct stack_tree *tree = context;
    return hash_of_pair(tree->table.parent[row - 1], tree->table.frame[tree->node[row - 1]]);
}

static bool branch_add(struct stack_tree *tree, struct arena *arena, uint32_t parent, uint32_t frame,
                       uint32_t *id) {
    if (!row_table_reserve(&tree->index, arena, branch_hash, tree))
        return false;
    uint32_t *slot =
        ROW_SEEK(&tree->index, hash_of_pair(parent, frame), i,
                 tree->table.parent[i - 1] == parent && tree->table.frame[tree->node[i - 1]] == frame);
    uint32_t branch = tree->table.n_branched;
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
    tree->index.count++;
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

/* Moves the kept stacks to the front. A branched stack may follow its parent now, so none needs more room than
 * before. */
static void stacks_keep(struct stack_table *stacks, const struct id_slots *kept) {
    uint32_t n = 1, n_branched = 0;
    for (uint32_t i = 1, next = 0; i < stacks->count; i++) {
        bool branched = stack_is_branched(stacks, i);
        uint32_t parent = branched ? stacks->parent[next++] : i - 1, bit = UINT32_C(1) << n % 32;
        if (!id_has_slot(kept, i))
            continue;
        parent = id_slot(kept, parent);
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
    struct id_slots kept;
    bool done = id_slots_begin(&kept, stacks->count, &trace->arena);
    if (done) {
        for (uint32_t i = 0; i < trace->n_devices; i++)
            id_slots_use_device(&kept, &trace->devices[i]);
        id_slots_use_parents(&kept, stacks);
        id_slots_number(&kept);
        for (uint32_t i = 0; kept.count < stacks->count && i < trace->n_devices; i++)
            id_slots_renumber_device(&kept, &trace->devices[i]);
        stacks_keep(stacks, &kept);
    }
    id_slots_drop(&kept, &trace->arena);
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
    ARENA_DROP(arena, tree->index.slot, tree->node);
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
    ARENA_DROP(arena, tree->node, tree->index.slot);
    *tree = (struct stack_tree){0};
}
