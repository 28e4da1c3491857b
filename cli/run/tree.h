/* The processes below this one, as /proc shows them: their memory, and that of those that ended. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { TREE_GONE = 16, PROCESS_NAME = 20 };

struct process {
    int32_t pid, parent;
    char name[PROCESS_NAME];
    bool ours, seen;
    uint64_t resident_bytes; /* pages in memory, shared ones in full */
    /* the proportional share, and what was resident when it was read; 0: not read yet */
    uint64_t share_bytes, share_resident;
    /* the share where it can be read, adjusted by what became resident since; else what is resident */
    uint64_t bytes;
    uint64_t most_bytes;
    int64_t seen_us;
};

/* Starts as {.self = our own process id}. */
struct tree {
    int32_t self; /* not counted */
    /* by rising pid; those that are not ours are kept, so that each is read only once */
    struct process *processes;
    uint32_t n, capacity, n_scans;
    uint64_t bytes, most_bytes; /* of ours */
    uint32_t n_ours;
    struct process largest;         /* when most_bytes was reached */
    struct process gone[TREE_GONE]; /* the largest of those that ended */
    uint32_t n_gone;
    uint32_t next_share; /* index of the process whose proportional share is read next */
};

/* Reads /proc. `now_us` rises. Without memory, or without /proc, the tree stays as it was. O(processes log processes),
 * and reads a file for each of ours and for each new one. */
void tree_scan(struct tree *tree, int64_t now_us);

/* Is this process below us? O(log processes). */
bool tree_has(const struct tree *tree, int32_t pid);

/* The largest process that ended at or after `since_us`. NULL: none. */
const struct process *tree_gone_largest(const struct tree *tree, int64_t since_us);

void tree_release(struct tree *tree);
