/*
 * The stacks of a trace while it is read, with an index. A stack that directly follows its parent is found there
 * and is not in the index (struct stack_table), so a file in which no two stacks begin alike hardly uses it. Such a
 * file has nearly as many stacks as frames, and most belong to frees, which nothing needs once the allocations are
 * known: stack_tree_finish drops them.
 */
#pragma once

#include "base/hashed.h"
#include "trace/trace.h"

struct stack_tree {
    struct stack_table table; /* with ids of its own */
    uint32_t *node;           /* [table.n_branched] the branched stacks, rising */
    uint32_t node_capacity;
    struct row_table index; /* 1 + index into `node`, by parent and frame */
};

/* Finds or adds the stack of `frames` (innermost first). O(n_frames). False: no memory. Starts as {0}; all memory
 * comes from `arena`. */
bool stack_tree_add(struct stack_tree *tree, struct arena *arena, const uint32_t *frames, uint32_t n_frames,
                    uint32_t *id);

/* Finds or adds the stack of `parent`, which the tree has (0: nothing), and one more `frame` inside. As above.
 * O(1). */
bool stack_tree_extend(struct stack_tree *tree, struct arena *arena, uint32_t parent, uint32_t frame,
                       uint32_t *id);

/* Hands the stacks to a trace that has only the empty one: those that its devices use and their ancestors,
 * renumbered in the same order, in the devices too. The tree is empty afterwards. O(nodes + what the devices have).
 * False: no memory; release the tree. */
bool stack_tree_finish(struct stack_tree *tree, struct trace *trace);

void stack_tree_release(struct stack_tree *tree, struct arena *arena);
