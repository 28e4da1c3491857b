/*
 * Keys in order, in two levels: leaves of up to 32 keys, and the largest key of each leaf in one array.
 *
 *     most    |   30   |   71   |   98   |       found by bisection, as is the key in its leaf
 *     leaf    |12 20 30|44 71   |80 98   |
 *
 * A set of one key holds it in itself, so thousands of such sets need no leaves. A tree of nodes would wait for
 * memory at every level; a search here reads two runs of memory, and a change moves one. Sets that belong together
 * share one store of leaves. Freestanding. Not thread safe.
 */
#pragma once

#include "base/arena.h"

/* Ordered by `first`, then `second`; `value` is for the caller. */
struct ordered_key {
    uint64_t first, second;
    uint32_t value;
};

enum { ORDERED_LEAF_KEYS = 32 };

struct ordered_leaf;

/* Memory of the leaves of any number of sets. Starts as {.arena = ...}. */
struct ordered_store {
    struct arena *arena;
    struct ordered_leaf *leaf; /* a column of the arena */
    uint32_t count, capacity;
    uint32_t spare; /* list of leaves that are empty; 0: none */
};

/* Starts as {0}. */
struct ordered {
    uint32_t *leaf; /* [n_leaves] indices into the store, in order of the keys; none is empty */
    struct ordered_key *most;
    uint32_t n_leaves, leaf_capacity, most_capacity;
    uint32_t count;          /* keys */
    uint32_t last;           /* slot of the last change, where a search in a single leaf looks first */
    struct ordered_key only; /* the only key, while there is no leaf */
};

/* The place of a key. Valid until the set changes. */
struct ordered_place {
    uint32_t leaf, slot;
};

/* Adds a key that is not there yet. O(log n), and O(sqrt n) moved bytes for every 16 keys. False: no memory, and
 * nothing is changed. */
bool ordered_add(struct ordered *set, struct ordered_store *store, uint64_t first, uint64_t second,
                 uint32_t value);

/* Takes a key out; false where it is not there. O(log n). */
bool ordered_remove(struct ordered *set, struct ordered_store *store, uint64_t first, uint64_t second);

/* Takes out the key at a place that holds one. O(1), and bytes moved as above. */
void ordered_remove_at(struct ordered *set, struct ordered_store *store, struct ordered_place place);

/* Gives the key at a place that holds one another rank and value. O(1) if it stays between its neighbours; otherwise it
 * is removed and added. False: no memory, and the key is gone. */
bool ordered_move(struct ordered *set, struct ordered_store *store, struct ordered_place place,
                  uint64_t first, uint64_t second, uint32_t value);

/* The first key that is at least (first, second); the place after the last key if there is none. */
struct ordered_place ordered_seek(const struct ordered *set, const struct ordered_store *store,
                                  uint64_t first, uint64_t second);

/* The key at a place; NULL after the last one. */
const struct ordered_key *ordered_at(const struct ordered *set, const struct ordered_store *store,
                                     struct ordered_place place);

/* The next and the previous place. The one before the first is the place after the last. */
struct ordered_place ordered_next(const struct ordered *set, const struct ordered_store *store,
                                  struct ordered_place place);
struct ordered_place ordered_before(const struct ordered *set, const struct ordered_store *store,
                                    struct ordered_place place);

/* Gives the leaves back to the store, and the set's own arrays to the arena. The set is empty afterwards. */
void ordered_release(struct ordered *set, struct ordered_store *store);
