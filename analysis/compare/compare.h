/*
 * Compares two states of memory, of one recording or of two.
 *
 *     extent --allocations--> groups by site, stack, file, category, stream, ...          compare_groups
 *     A, B (any two timelines) --sites matched--> rows that sum up to the difference   compare_sites
 *
 * Every allocation is in exactly one row, so the rows' differences add up to the difference of the totals, to the
 * byte, however well sites were matched. Freestanding.
 */
#pragma once

#include "analysis/loop/modules.h"
#include "base/numbers.h"
#include "layout/extent.h"
#include "layout/filter.h"
#include "layout/groups.h"

/* ---- groups of any allocations ---- */

/* The groupings of every verb and of the page, in the page's order: name, and what a group is called. */
#define STRATA_GROUPINGS(X)             \
    X(SITE, "site", "call site")        \
    X(STACK, "stack", "stack")          \
    X(FILE, "file", "file")             \
    X(CATEGORY, "category", "category") \
    X(STREAM, "stream", "stream")       \
    X(POOL, "pool", "pool")             \
    X(MODULE, "module", "module")       \
    X(METADATA, "metadata", "note")

#define COMPARE_KEY(NAME, name, thing) COMPARE_BY_##NAME,
enum compare_by { STRATA_GROUPINGS(COMPARE_KEY) COMPARE_KINDS };
#undef COMPARE_KEY

/* The grouping's name ("module"), and the name for one of its groups ("layer"). */
extern const char *const compare_by_name[];  /* by enum compare_by */
extern const char *const compare_by_thing[]; /* by enum compare_by */

/* Groups `allocations[n_allocations]` as groups_sum does. Keys: the first frame with the same place, stack id, the first
 * frame in a file of that base name, enum category, index of stream or pool, as in analysis/loop/modules.h, string of the
 * metadata (0: none). `category[allocations.count]` is read only for COMPARE_BY_CATEGORY, and for COMPARE_BY_MODULE, where
 * it is modules->key. O(frames + stacks + allocations). False: no memory. */
bool compare_groups(const struct timeline *timeline, const uint32_t *allocations, uint32_t n_allocations,
                    enum compare_by by, const uint8_t *category, struct arena *arena, struct group **groups,
                    uint32_t *n_groups);

/* The group's key of each of `allocations[n_allocations]`, in the arena. The rest as for compare_groups. NULL: no
 * memory. */
uint32_t *compare_keys(const struct timeline *timeline, const uint32_t *allocations, uint32_t n_allocations,
                       enum compare_by by, const uint8_t *category, struct arena *arena);

/* Keeps those of `allocations[*n_allocations]` that are in group `key`, in their order. `category` and the rest as
 * for compare_groups; without memory they stay unchanged. */
bool compare_within(const struct timeline *timeline, uint32_t *allocations, uint32_t *n_allocations,
                    enum compare_by by, uint32_t key, const uint8_t *category, struct arena *arena);

/* Writes a group's name, "train.py:41 forward", "train.py", "gradient", "stream 3", "private pool (0, 1)"; cut at
 * capacity - 1 bytes, terminated; returns the length written. `modules`: for COMPARE_BY_MODULE only. */
uint32_t compare_name(const struct timeline *timeline, enum compare_by by, uint32_t key,
                      const struct modules *modules, char *text, uint32_t capacity);

/* Are names of these groups our own words, and nothing that a recording holds? */
static inline bool compare_name_is_ours(enum compare_by by) {
    return by == COMPARE_BY_CATEGORY || by == COMPARE_BY_STREAM || by == COMPARE_BY_POOL;
}

/* Groups of two extents of one device, by key: `a` and `b` are indices of groups, COMPARE_NONE if only the other
 * has it. By falling size of the difference, then rising key. */
enum { COMPARE_NONE = UINT32_MAX };
struct compare_pair {
    uint32_t a, b;
};
bool compare_pairs(const struct group *a, uint32_t n_a, const struct group *b, uint32_t n_b,
                   struct arena *arena, struct compare_pair **pairs, uint32_t *n_pairs);

/* ---- the allocations to highlight: those of a group, or of a frame ---- */

/* One more kind beside enum compare_by: everything whose stack contains a frame. */
enum { HIGHLIGHT_BY_FRAME = COMPARE_KINDS };

struct highlight {
    uint32_t by, key; /* enum compare_by or HIGHLIGHT_BY_FRAME; for site, file and frame the key is a frame */
};

/* Do this kind and, if it needs one, this frame exist? */
bool highlight_is_valid(const struct trace *trace, struct highlight highlight);

/* Sets in `bits` (a zeroed bitmap [allocations.count / 64 + 1]) the allocations of a valid highlight. `category` is
 * [allocations.count], read for COMPARE_BY_CATEGORY, and as modules for COMPARE_BY_MODULE. O(allocations + frames +
 * stacks). False: no memory in `scratch`. */
bool highlight_bits(const struct timeline *timeline, struct highlight highlight, const uint8_t *category,
                    uint64_t *bits, struct arena *scratch);

/* ---- two recordings ---- */

struct compare_side {
    const struct timeline *timeline; /* the whole device */
    const uint64_t *keep;            /* what a filter keeps; NULL: all */
    uint32_t moment;
    const uint8_t *category;          /* of each allocation; NULL: unknown */
    const struct phase_runs *runs;    /* phases of all allocations; NULL: unknown */
    uint32_t steps_from, steps_until; /* the moments of whole steps; equal: none */
};

/* A group of both recordings, identified by its name; groups with one key are in the same order as `key`. */
struct compare_named {
    const char *name;
    uint32_t key; /* as for compare_groups, of A if it has the group */
    uint64_t a_bytes, b_bytes, a_count, b_count;
    const struct compare_site *site; /* NULL: it is of compare_named */
};

/* What two moments have of a group; "same": bytes and count are equal. */
enum site_change { CHANGE_NEW, CHANGE_GONE, CHANGE_GROWN, CHANGE_SHRUNK, CHANGE_SAME };
enum site_change compare_change(uint64_t a_bytes, uint64_t b_bytes, uint64_t a_count, uint64_t b_count);

/* What is alive at the two moments, by falling size of the difference, then rising key and name. Not by stack, for
 * which two recordings have no common name. `*rows` and the names are in `arena`. Native only. O(alive + groups log
 * groups). False: no memory. */
bool compare_named(const struct compare_side *a, const struct compare_side *b, enum compare_by by,
                   struct arena *arena, struct compare_named **rows, uint32_t *n_rows);

/* What a call site did over the whole run, and what of it is alive at the compared moment. */
struct site_profile {
    uint32_t site;                    /* frame id */
    uint32_t stack;                   /* of one of its allocations, if one is alive at the moment */
    uint64_t bytes, count;            /* at the moment */
    uint64_t largest;                 /* of these, in bytes */
    uint64_t made, made_bytes;        /* while recording */
    uint64_t in_steps;                /* of these, made in the side's whole steps */
    uint64_t least_bytes, most_bytes; /* of one allocation */
    /* sum over what was made of the binary logarithms of lifetimes in events, in 1/256 */
    uint64_t lifetime_bits;
    uint64_t older, at_end; /* older: from before the recording; at_end: alive at its end */
    uint64_t freed_here;    /* of the older ones: this is where they were freed; who made them is not known */
    uint64_t sizes;         /* a hash of the multiset of sizes of all its allocations */
    uint32_t categories, parts; /* bits of enum category, and of enum run_side for what was recorded */
};

enum site_match {
    SITE_SAME,     /* base name, line and function */
    SITE_MOVED,    /* another line of the same function */
    SITE_RENAMED,  /* the same function in a file with another name */
    SITE_BY_STACK, /* called by the same lines, under another name */
    /* the same parameters, gradients or optimizer state, made in another place or before the recording */
    SITE_BY_SIZES,
    SITE_ALONE /* only one side has it */
};

struct compare_site {
    /* `made` and `older` are 0 if a recording lacks the site; its `site` is then COMPARE_NONE */
    struct site_profile a, b;
    enum site_match match;
    enum site_change change; /* at the compared moments */
};

struct comparison {
    uint64_t a_bytes, b_bytes; /* at the moments, of what the filters keep */
    uint32_t n_sites;          /* of either recording; those alive at neither moment come last */
    uint32_t n_listed;         /* those alive at one of the moments at least */
    struct compare_site *site; /* by falling size of the difference, then falling bytes of b and a */
};

/* Difference b - a; figures of files beyond 2^63 wrap. */
static inline int64_t compare_delta(uint64_t a, uint64_t b) {
    return (int64_t)(b - a);
}

static inline bool profile_exists(const struct site_profile *profile) {
    return profile->site != COMPARE_NONE;
}

/* Compares two recordings, or one with itself (then every site matches itself). Memory from `arena`. O((allocations
 * + stacks + frames) log). False: no memory. */
bool compare_sites(struct comparison *comparison, const struct compare_side *a, const struct compare_side *b,
                   struct arena *arena);
