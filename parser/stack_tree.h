/*
 * The stacks of a trace while it is being read, with an index of them. A stack that is the first to begin with its parent is
 * found right after it and is not in the index (struct stack_table): a file where no two stacks begin alike makes next to
 * no use of it. Such a file has nearly as many stacks as frames, and most are of frees, which nothing asks for when the
 * allocations are known: stack_tree_finish leaves these out.
 */
#pragma once

#include "trace/trace.h"

struct stack_tree {
    struct stack_table table; /* with ids of its own */
    uint32_t *node;           /* [table.n_branched] the stacks that are branched, rising */
    uint32_t node_capacity;
    uint32_t *slot; /* 1 + index into `node`, by parent and frame; 0: empty */
    uint32_t mask;  /* slots - 1; 0: none yet */
};

/* The stack of `frames` (innermost first), added where it is not there. O(n_frames). False: no memory. Starts as {0}; all
 * memory is of `arena`. */
bool stack_tree_add(struct stack_tree *tree, struct arena *arena, const uint32_t *frames, uint32_t n_frames,
                    uint32_t *id);

/* The stack that begins with `parent`, which the tree has (0: nothing), and ends with `frame`; as above. O(1). */
bool stack_tree_extend(struct stack_tree *tree, struct arena *arena, uint32_t parent, uint32_t frame,
                       uint32_t *id);

/* Hands the stacks over to a trace that has only the empty one: those that its devices use and what these begin with, numbered anew
 * in the same order, in the devices too. The tree is empty afterwards. O(nodes + what the devices have). False: no memory;
 * the tree is to be released. */
bool stack_tree_finish(struct stack_tree *tree, struct trace *trace);

void stack_tree_release(struct stack_tree *tree, struct arena *arena);
