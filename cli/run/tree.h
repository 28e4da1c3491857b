/* The processes below us, as /proc shows them: their memory, and what became of those that are gone. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { GROWTH_POINTS = 64, TREE_GONE = 16, PROCESS_NAME = 20 };

/* The course of a size: at most GROWTH_POINTS points, evenly spaced; when they are full, every other one goes. */
struct growth {
    int64_t us[GROWTH_POINTS];
    uint64_t bytes[GROWTH_POINTS];
    uint32_t n, stride, skipped; /* one sample of `stride` becomes a point */
};

struct process {
    int32_t pid, parent;
    char name[PROCESS_NAME];
    bool ours, seen;
    uint64_t resident_bytes; /* pages in memory, shared ones in full */
    uint64_t share_bytes,
        share_resident; /* proportional share, and what was resident when it was read; 0: not yet */
    uint64_t bytes;     /* share where readable, moved on by what is resident; else resident */
    uint64_t most_bytes;
    uint64_t address_bytes, address_limit; /* the most so far; of RLIMIT_AS, UINT64_MAX: none */
    int64_t seen_us;
    struct growth *growth; /* ours only */
};

struct tree {
    int32_t self, helper; /* a child of ours that is not counted; 0: none */
    /* by rising pid; those that are not ours are kept so that they are read once */
    struct process *processes;
    uint32_t n, capacity, n_scans;
    uint64_t bytes, most_bytes; /* of ours */
    uint32_t n_ours;
    struct process largest;         /* at the moment of most_bytes; without growth */
    struct process gone[TREE_GONE]; /* the largest of those that ended; with growth */
    uint32_t n_gone;
    uint32_t next_share; /* whose proportional share is read next */
};

/* Starts empty; `self` is our own process id, which is not counted. */
void tree_init(struct tree *tree, int32_t self);

/* Looks at /proc. `now_us` rises. Without memory, or without /proc, the tree stays as it was. O(processes log processes)
 * and a file for each of ours, and for each that is new. */
void tree_scan(struct tree *tree, int64_t now_us);

/* Is this one below us? O(log processes). */
bool tree_has(const struct tree *tree, int32_t pid);

/* The largest that ended at or after `since_us`. NULL: none. */
const struct process *tree_gone_largest(const struct tree *tree, int64_t since_us);

/* Finds the moment and the size from which the process has risen to its last size. False: it did not rise. */
bool process_rise(const struct process *process, int64_t *since_us, uint64_t *from_bytes);

void tree_release(struct tree *tree);
