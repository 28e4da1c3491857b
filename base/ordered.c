#include "base/ordered.h"

#include "base/assert.h"
#include "base/bytes.h"

__extension__ typedef unsigned __int128 wide; /* both halves of a key */

struct ordered_leaf {
    uint32_t count; /* of an empty leaf: the next empty one */
    struct ordered_key key[ORDERED_LEAF_KEYS];
};

/* The largest possible keys stand behind the keys of a leaf and behind the array of largest ones; no search goes beyond
 * them. So a search compares as many keys however many there are, and no branch on their number is mispredicted. */
static void keys_clear(struct ordered_key *key, uint32_t count) {
    bytes_fill(key, 0xFF, count * sizeof *key);
}

enum { COUNTED = 8 }; /* keys that are compared one after the other instead of halved */

static wide wide_of(uint64_t first, uint64_t second) {
    return (wide)first << 64 | second;
}

/* Branches on a key would be mispredicted half of the time, so both halves are compared as one number, and what comes
 * out is used as one. */
static bool key_below(const struct ordered_key *key, wide wanted) {
    return wide_of(key->first, key->second) < wanted;
}

/* Counts the keys below the one sought among the first few. No comparison waits for another. */
static uint32_t below_count(const struct ordered_key *key, wide wanted) {
    uint32_t below = 0;
    for (uint32_t i = 0; i < COUNTED; i++)
        below += key_below(&key[i], wanted);
    return below;
}

/* The first leaf whose largest key is not below the one sought; n_leaves: none. */
static uint32_t most_seek(const struct ordered *set, wide wanted) {
    uint32_t low = 0;
    for (uint32_t count = set->n_leaves; count > COUNTED;) {
        uint32_t half = (count + 1) / 2;
        low += half & (0 - (uint32_t)key_below(&set->most[low + half - 1], wanted));
        count -= half;
    }
    return low + below_count(set->most + low, wanted);
}

/* The first key of a leaf that is not below the one sought. */
static uint32_t leaf_seek(const struct ordered_leaf *leaf, wide wanted) {
    uint32_t low = 0;
    for (uint32_t half = ORDERED_LEAF_KEYS / 2; half >= COUNTED; half /= 2)
        low += half & (0 - (uint32_t)key_below(&leaf->key[low + half - 1], wanted));
    return low + below_count(leaf->key + low, wanted);
}

/* Would leaf_seek return the slot where the set was changed last? */
static bool last_is(const struct ordered *set, const struct ordered_leaf *leaf, wide wanted) {
    uint32_t slot = set->last;
    return slot < leaf->count && !key_below(&leaf->key[slot], wanted) &&
           (slot == 0 || key_below(&leaf->key[slot - 1], wanted));
}

/* Leaf 0 stays unused, so that 0 can end the list of empty ones. UINT32_MAX: no memory. */
static uint32_t leaf_take(struct ordered_store *store) {
    uint32_t leaf = store->spare;
    if (leaf != 0) {
        store->spare = store->leaf[leaf].count;
    } else {
        leaf = store->count == 0 ? 1 : store->count;
        if (!ARENA_GROW(store->arena, store->leaf, store->capacity, (uint64_t)leaf + 1))
            return UINT32_MAX;
        store->count = leaf + 1;
    }
    store->leaf[leaf].count = 0;
    keys_clear(store->leaf[leaf].key, ORDERED_LEAF_KEYS);
    return leaf;
}

static void leaf_give(struct ordered_store *store, uint32_t leaf) {
    store->leaf[leaf].count = store->spare;
    store->spare = leaf;
}

/* Makes room for one more leaf. */
static bool set_reserve(struct ordered *set, struct arena *arena) {
    uint64_t wanted = (uint64_t)set->n_leaves + 1;
    if (!ARENA_GROW(arena, set->leaf, set->leaf_capacity, wanted) ||
        !ARENA_GROW(arena, set->most, set->most_capacity, wanted + COUNTED))
        return false;
    keys_clear(set->most + set->n_leaves, COUNTED + 1);
    return true;
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
    keys_clear(&set->most[--set->n_leaves], 1);
}

/* Moves the upper half of a full leaf into a new one after it. */
static bool leaf_split(struct ordered *set, struct ordered_store *store, uint32_t at) {
    enum { HALF = ORDERED_LEAF_KEYS / 2 };
    if (!leaf_insert(set, store, at + 1))
        return false;
    struct ordered_leaf *lower = &store->leaf[set->leaf[at]], *upper = &store->leaf[set->leaf[at + 1]];
    bytes_copy(upper->key, lower->key + HALF, HALF * sizeof *upper->key);
    keys_clear(lower->key + HALF, HALF);
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

/* Writes a key of a leaf whose count is right already. */
static void key_put(struct ordered *set, struct ordered_leaf *leaf, struct ordered_place place,
                    struct ordered_key key) {
    leaf->key[place.slot] = key;
    set->last = place.slot;
    if (place.slot + 1 == leaf->count)
        set->most[place.leaf] = key;
}

bool ordered_add(struct ordered *set, struct ordered_store *store, uint64_t first, uint64_t second,
                 uint32_t value) {
    const wide wanted = wide_of(first, second);
    if (set->count == 0) {
        set->only = (struct ordered_key){first, second, value};
        set->count = 1;
        return true;
    }
    if (set->n_leaves == 0 && !only_move(set, store))
        return false;
    uint32_t at = most_seek(set, wanted);
    if (at == set->n_leaves)
        at--; /* larger than all: goes to the end of the last leaf */
    if (store->leaf[set->leaf[at]].count == ORDERED_LEAF_KEYS) {
        if (!leaf_split(set, store, at))
            return false;
        at += key_below(&set->most[at], wanted);
    }
    struct ordered_leaf *leaf = &store->leaf[set->leaf[at]];
    uint32_t slot = leaf_seek(leaf, wanted);
    assert(slot == leaf->count || wide_of(leaf->key[slot].first, leaf->key[slot].second) > wanted);
    bytes_move(leaf->key + slot + 1, leaf->key + slot, (leaf->count - slot) * sizeof *leaf->key);
    leaf->count++;
    set->count++;
    key_put(set, leaf, (struct ordered_place){at, slot}, (struct ordered_key){first, second, value});
    return true;
}

void ordered_remove_at(struct ordered *set, struct ordered_store *store, struct ordered_place place) {
    assert(set->count > 0 && (set->n_leaves == 0 || place.leaf < set->n_leaves));
    set->count--;
    if (set->n_leaves == 0)
        return;
    struct ordered_leaf *leaf = &store->leaf[set->leaf[place.leaf]];
    assert(place.slot < leaf->count);
    leaf->count--;
    bytes_move(leaf->key + place.slot, leaf->key + place.slot + 1,
               (leaf->count - place.slot) * sizeof *leaf->key);
    keys_clear(&leaf->key[leaf->count], 1);
    if (leaf->count == 0)
        leaf_remove(set, store, place.leaf);
    else if (place.slot == leaf->count)
        set->most[place.leaf] = leaf->key[place.slot - 1];
}

bool ordered_move(struct ordered *set, struct ordered_store *store, struct ordered_place place,
                  uint64_t first, uint64_t second, uint32_t value) {
    const wide wanted = wide_of(first, second);
    const struct ordered_key *before = ordered_at(set, store, ordered_before(set, store, place));
    const struct ordered_key *behind = ordered_at(set, store, ordered_next(set, store, place));
    bool stays =
        (before == NULL || key_below(before, wanted)) && (behind == NULL || !key_below(behind, wanted));
    if (set->n_leaves != 0 && stays) {
        key_put(set, &store->leaf[set->leaf[place.leaf]], place, (struct ordered_key){first, second, value});
        return true;
    }
    ordered_remove_at(set, store, place);
    return ordered_add(set, store, first, second, value);
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
    const wide wanted = wide_of(first, second);
    if (set->n_leaves == 0)
        return (struct ordered_place){set->count != 0 && key_below(&set->only, wanted), 0};
    if (set->n_leaves == 1 && last_is(set, &store->leaf[set->leaf[0]], wanted))
        return (struct ordered_place){0, set->last};
    uint32_t at = most_seek(set, wanted);
    if (at == set->n_leaves)
        return (struct ordered_place){at, 0};
    const struct ordered_leaf *leaf = &store->leaf[set->leaf[at]];
    return (struct ordered_place){at, leaf_seek(leaf, wanted)};
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
