/*
 * The stacks of a trace while it is being read, in half the memory that they take afterwards. Stacks that are new are
 * chains of new nodes, each the first child of the one before and right behind it, so that a parent is written down only
 * where a chain begins:
 *
 *     node     0   1   2   3   4   5   6        0 - 1 - 2 - 3
 *     frame    .   a   b   c   d   e   f                \ 4 - 5 - 6
 *     branch                  4: 2
 *
 * All ids are those of struct stack_table. A file where no two stacks begin alike has nearly as many nodes as frames, and
 * most are of frees, which nothing asks for when the allocations are known: stack_tree_finish leaves these out.
 */
#ifndef STRATA_PARSER_STACK_TREE_H
#define STRATA_PARSER_STACK_TREE_H

#include "trace/trace.h"

struct stack_tree {
    uint32_t count, capacity; /* nodes, the empty stack included; 0: none yet */
    uint32_t *frame;
    uint32_t *branched; /* a bit for each node: its parent is not the node before it */
    uint32_t branched_capacity;
    struct stack_branch {
        uint32_t node, parent;
    } * branch; /* by rising nodes */
    uint32_t n_branches, branch_capacity;
    uint32_t *slot; /* 1 + index of a branch, by parent and frame; 0: empty */
    uint32_t mask;  /* slots - 1; 0: none yet */
};

/* The stack of `frames` (innermost first), added where it is not there. O(n_frames). False: no memory. Starts as {0}; all
 * memory is of `arena`. */
bool stack_tree_add(struct stack_tree *tree, struct arena *arena, const uint32_t *frames, uint32_t n_frames,
                    uint32_t *id);

/* The stack without its innermost frame. O(log branches), and O(1) inside of a chain. */
uint32_t stack_tree_parent(const struct stack_tree *tree, uint32_t stack);

/* Hands the stacks over to a trace that has none yet: those that its devices use and what these begin with, numbered anew
 * in the same order, in the devices too. The tree is empty afterwards. O(nodes + what the devices have). False: no memory;
 * the tree is to be released. */
bool stack_tree_finish(struct stack_tree *tree, struct trace *trace);

void stack_tree_release(struct stack_tree *tree, struct arena *arena);

#endif
