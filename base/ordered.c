#include "base/ordered.h"

#include "base/bytes.h"

__extension__ typedef unsigned __int128 wide; /* both halves of a key */

struct ordered_leaf {
    uint32_t count; /* of an empty leaf: the next empty one */
    struct ordered_key key[ORDERED_LEAF_KEYS];
};

enum { COUNTED = 8 }; /* keys that are compared one after the other instead of halved */

static bool key_below(const struct ordered_key *key, uint64_t first, uint64_t second) {
    return key->first < first || (key->first == first && key->second < second);
}

/* The first of `count` rising keys that is not below the one sought. Branches on a key would be mispredicted half
 * of the time, so both halves of a key are compared as one number and the result is used as a mask. The last few are
 * counted, since no comparison then waits for another. */
static uint32_t keys_seek(const struct ordered_key *key, uint32_t count, uint64_t first, uint64_t second) {
    const wide wanted = (wide)first << 64 | second;
    uint32_t low = 0, below = 0;
    while (count > COUNTED) {
        uint32_t half = (count + 1) / 2;
        const struct ordered_key *at = &key[low + half - 1];
        low += half & (0 - (uint32_t)(((wide)at->first << 64 | at->second) < wanted));
        count -= half;
    }
    for (uint32_t i = low; i < low + count; i++)
        below += ((wide)key[i].first << 64 | key[i].second) < wanted;
    return low + below;
}

/* Leaf 0 stays unused, so that 0 can end the list of empty ones. UINT32_MAX: no memory. */
static uint32_t leaf_take(struct ordered_store *store) {
    if (store->spare != 0) {
        uint32_t leaf = store->spare;
        store->spare = store->leaf[leaf].count;
        store->leaf[leaf].count = 0;
        return leaf;
    }
    uint32_t leaf = store->count == 0 ? 1 : store->count;
    if (!ARENA_GROW(store->arena, store->leaf, store->capacity, (uint64_t)leaf + 1))
        return UINT32_MAX;
    store->count = leaf + 1;
    store->leaf[leaf].count = 0;
    return leaf;
}

static void leaf_give(struct ordered_store *store, uint32_t leaf) {
    store->leaf[leaf].count = store->spare;
    store->spare = leaf;
}

static bool set_reserve(struct ordered *set, struct arena *arena) {
    uint64_t wanted = (uint64_t)set->n_leaves + 1;
    return ARENA_GROW(arena, set->leaf, set->leaf_capacity, wanted) &&
           ARENA_GROW(arena, set->most, set->most_capacity, wanted);
}

static bool leaf_insert(struct ordered *set, struct ordered_store *store, uint32_t at) {
    if (!set_reserve(set, store->arena))
        return false;
    uint32_t leaf = leaf_take(store), behind = set->n_leaves - at;
    if (leaf == UINT32_MAX)
        return false;
    bytes_move(set->leaf + at + 1, set->leaf + at, behind * sizeof *set->leaf);
    bytes_move(set->most + at + 1, set->most + at, behind * sizeof *set->most);
    set->leaf[at] = leaf;
    set->n_leaves++;
    return true;
}

static void leaf_remove(struct ordered *set, struct ordered_store *store, uint32_t at) {
    uint32_t behind = set->n_leaves - at - 1;
    leaf_give(store, set->leaf[at]);
    bytes_move(set->leaf + at, set->leaf + at + 1, behind * sizeof *set->leaf);
    bytes_move(set->most + at, set->most + at + 1, behind * sizeof *set->most);
    set->n_leaves--;
}

/* Moves the upper half of a full leaf into a new one after it. */
static bool leaf_split(struct ordered *set, struct ordered_store *store, uint32_t at) {
    enum { HALF = ORDERED_LEAF_KEYS / 2 };
    if (!leaf_insert(set, store, at + 1))
        return false;
    struct ordered_leaf *lower = &store->leaf[set->leaf[at]], *upper = &store->leaf[set->leaf[at + 1]];
    bytes_copy(upper->key, lower->key + HALF, HALF * sizeof *upper->key);
    lower->count = upper->count = HALF;
    set->most[at + 1] = set->most[at];
    set->most[at] = lower->key[HALF - 1];
    return true;
}

/* Moves the only key into a first leaf, before a second key is added. False: no memory, and nothing moved. */
static bool only_move(struct ordered *set, struct ordered_store *store) {
    if (!leaf_insert(set, store, 0))
        return false;
    struct ordered_leaf *leaf = &store->leaf[set->leaf[0]];
    leaf->key[0] = set->most[0] = set->only;
    leaf->count = 1;
    return true;
}

bool ordered_add(struct ordered *set, struct ordered_store *store, uint64_t first, uint64_t second,
                 uint32_t value) {
    if (set->count == 0) {
        set->only = (struct ordered_key){first, second, value};
        set->count = 1;
        return true;
    }
    if (set->n_leaves == 0 && !only_move(set, store))
        return false;
    uint32_t at = keys_seek(set->most, set->n_leaves, first, second);
    if (at == set->n_leaves)
        at--; /* larger than all: goes to the end of the last leaf */
    if (store->leaf[set->leaf[at]].count == ORDERED_LEAF_KEYS) {
        if (!leaf_split(set, store, at))
            return false;
        at += key_below(&set->most[at], first, second);
    }
    struct ordered_leaf *leaf = &store->leaf[set->leaf[at]];
    uint32_t slot = keys_seek(leaf->key, leaf->count, first, second);
    bytes_move(leaf->key + slot + 1, leaf->key + slot, (leaf->count - slot) * sizeof *leaf->key);
    leaf->key[slot] = (struct ordered_key){first, second, value};
    if (slot == leaf->count)
        set->most[at] = (struct ordered_key){first, second, value};
    leaf->count++;
    set->count++;
    return true;
}

void ordered_remove_at(struct ordered *set, struct ordered_store *store, struct ordered_place place) {
    set->count--;
    if (set->n_leaves == 0)
        return;
    struct ordered_leaf *leaf = &store->leaf[set->leaf[place.leaf]];
    leaf->count--;
    bytes_move(leaf->key + place.slot, leaf->key + place.slot + 1,
               (leaf->count - place.slot) * sizeof *leaf->key);
    if (leaf->count == 0)
        leaf_remove(set, store, place.leaf);
    else if (place.slot == leaf->count)
        set->most[place.leaf] = leaf->key[place.slot - 1];
}

bool ordered_remove(struct ordered *set, struct ordered_store *store, uint64_t first, uint64_t second) {
    struct ordered_place place = ordered_seek(set, store, first, second);
    const struct ordered_key *key = ordered_at(set, store, place);
    if (key == NULL || key->first != first || key->second != second)
        return false;
    ordered_remove_at(set, store, place);
    return true;
}

struct ordered_place ordered_seek(const struct ordered *set, const struct ordered_store *store,
                                  uint64_t first, uint64_t second) {
    uint32_t at = keys_seek(set->most, set->n_leaves, first, second);
    if (at == set->n_leaves)
        return (struct ordered_place){
            set->n_leaves == 0 && set->count != 0 ? key_below(&set->only, first, second) : at, 0};
    const struct ordered_leaf *leaf = &store->leaf[set->leaf[at]];
    return (struct ordered_place){at, keys_seek(leaf->key, leaf->count, first, second)};
}

const struct ordered_key *ordered_at(const struct ordered *set, const struct ordered_store *store,
                                     struct ordered_place place) {
    if (place.leaf < set->n_leaves)
        return &store->leaf[set->leaf[place.leaf]].key[place.slot];
    return set->n_leaves == 0 && place.leaf < set->count ? &set->only : NULL;
}

struct ordered_place ordered_next(const struct ordered *set, const struct ordered_store *store,
                                  struct ordered_place place) {
    if (set->n_leaves != 0 && place.slot + 1 < store->leaf[set->leaf[place.leaf]].count)
        return (struct ordered_place){place.leaf, place.slot + 1};
    return (struct ordered_place){place.leaf + 1, 0};
}

struct ordered_place ordered_before(const struct ordered *set, const struct ordered_store *store,
                                    struct ordered_place place) {
    if (set->n_leaves == 0)
        return (struct ordered_place){place.leaf == 0 ? set->count : 0, 0};
    if (place.leaf < set->n_leaves && place.slot > 0)
        return (struct ordered_place){place.leaf, place.slot - 1};
    if (place.leaf == 0)
        return (struct ordered_place){set->n_leaves, 0};
    return (struct ordered_place){place.leaf - 1, store->leaf[set->leaf[place.leaf - 1]].count - 1};
}

void ordered_release(struct ordered *set, struct ordered_store *store) {
    for (uint32_t i = 0; i < set->n_leaves; i++)
        leaf_give(store, set->leaf[i]);
    ARENA_DROP(store->arena, set->leaf, set->most);
    *set = (struct ordered){0};
}
