/*
 * Trees of callers and callees that hold memory: allocations summed over the user's own frames, from the outermost
 * caller in (callees) or from the call site out (callers). Frames of torch, of Python's library and of C++ are
 * folded away; a stack without any frame of the user's counts under its call site alone.
 *
 *     callees   ""  main.py:12 main  train.py:40 step   attention.py:88 forward   itself
 *     callers   ""  attention.py:88 forward   block.py:31 forward   ...
 *     places    ""  attention.py   forward   attention.py:88 forward          call sites by file, function, line
 *
 * From a given frame on, callees are the frames that it called and callers those that called it; other paths are
 * left out, and for a recursive frame the outermost call counts.
 *
 * A node's bytes beyond its children's are its own (`self_bytes`): their path ends there. Freestanding.
 */
#pragma once

#include "layout/timeline.h"

enum tree_direction { TREE_CALLEES, TREE_CALLERS, TREE_PLACES };

/* The kind of a tree. */
struct tree_way {
    enum tree_direction direction;
    uint32_t through; /* the frame to begin with; 0: everything */
    uint32_t levels;  /* callers: at most this many levels, with a recursive function as one; 0: all */
};

/* The limit on nodes. Ten thousand deep stacks that differ at their innermost frame have millions of caller paths,
 * in a file of a few MB. A tree has as many nodes as it needs up to TREE_NODES_LEAST, and beyond that so many per
 * stack that holds something. What lies further out is left out: the node before it keeps the bytes as its own, and
 * `cut` is set. */
enum { TREE_NODES_LEAST = 1 << 15, TREE_NODES_PER_STACK = 16, TREE_NODES_MAX = 1 << 20 };

struct tree_node {
    /* for site_text; 0 for the root and for what has no stack; for places the first of its file or function */
    uint32_t frame;
    uint32_t parent;                  /* 0 for the root */
    uint32_t first_child, n_children; /* side by side, by falling bytes, then by rising frame */
    uint64_t bytes, self_bytes;
    uint64_t count, self_count;
    /* bytes of the allocations that it is compared with; 0 in a tree that is not compared */
    uint64_t before_bytes;
};

struct tree {
    uint32_t n_nodes; /* at least 1: node 0 is the root, which holds everything */
    struct tree_node *node;
    bool cut; /* left out nodes beyond the limit */
};

/* A tree of the allocations `allocations[n_allocations]`, each once, compared with `before[n_before]`: what only
 * the latter hold has nodes too, with no bytes. Memory from `arena`. O(stacks + allocations + nodes log nodes).
 * False: no memory. */
bool tree_against(struct tree *tree, const struct timeline *timeline, const uint32_t *allocations,
                  uint32_t n_allocations, const uint32_t *before, uint32_t n_before, struct tree_way way,
                  struct arena *arena);
