/* The distinct sizes of some allocations, numbered by rising size, so that multisets of them are arrays of counts.
 * Freestanding. */
#pragma once

#include "base/arena.h"
#include "base/sort.h"

enum { SIZE_SET_RECENT = 512 /* a power of two */, SIZE_NONE = UINT32_MAX };

struct size_set {
    uint64_t *nbytes; /* [count] rising */
    uint32_t count;
    struct {
        uint64_t nbytes;
        uint32_t index;
    } recent[SIZE_SET_RECENT]; /* the last lookups, by some bits of the size */
};

/* Makes the set of the keys of `rows`, which are sorted by them. False: no memory. */
bool size_set_init(struct size_set *set, const struct sort_row *rows, uint32_t count, struct arena *arena);

/* Index of a size; SIZE_NONE: not in the set. O(1) for recent lookups, otherwise O(log count). */
uint32_t size_set_at(struct size_set *set, uint64_t nbytes);

/* Does the multiset `all` contain 95 % of the bytes of `part`? `[count]` each. */
bool size_set_covers(const struct size_set *set, const uint32_t *all, const uint32_t *part);

/* Bytes of a multiset. */
uint64_t size_set_bytes(const struct size_set *set, const uint32_t *counts);
