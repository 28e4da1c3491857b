/*
 * What a filter keeps of a device: a bitmap, and a timeline as if only these allocations had been recorded. The
 * facts that words refer to (categories, phases, steps) are found here, so that a filter means the same in every
 * output. Freestanding.
 */
#pragma once

#include "layout/filter.h"

struct verdicts;

/* A filter, and what only its caller knows. */
struct filter_query {
    struct filter filter;
    const char *text;                   /* the words as typed, for people and files */
    const struct filter_regex *regexes; /* [filter.n_regexes], of the trace */
};

struct selection {
    const uint64_t *keep;     /* [filter_bitmap_words] for scene.keep */
    struct timeline timeline; /* of the kept allocations */
    uint64_t allocations;     /* kept over the whole run */
};

/* `known` are the timeline's verdicts; NULL: it has not been judged yet. The selection lives in `arena` and as long;
 * `whole` and `query` must outlive it. O(words * (allocations + frames + stacks) + categories, phases and steps if a
 * word needs them). False: no memory. */
bool selection_make(struct selection *selection, const struct timeline *whole,
                    const struct filter_query *query, const struct verdicts *known, struct arena *arena);

/*
 * The same in steps, for a host that has other things to do in between; each takes about a pass over the
 * allocations. `bits_only`: makes only the bitmap, no timeline. Starts as {.selection = ..., .whole = ..., .query =
 * ..., .known = ..., .bits_only = ..., .arena = ...}.
 */
struct selecting {
    struct selection *selection; /* complete at the end; its `keep` is NULL until then */
    const struct timeline *whole;
    const struct filter_query *query;
    const struct verdicts *known;
    bool bits_only;
    struct arena *arena;
    struct filter_facts facts;
    uint64_t *keep;
    uint32_t step;
};
enum selecting_progress { SELECTING_GOES_ON, SELECTING_DONE, SELECTING_NO_MEMORY };
enum selecting_progress selecting_go_on(struct selecting *selecting);

/* The upper end of the axis for what is kept: `top_bytes`, or a lower one if it would fill less than a third of
 * that. */
uint64_t selection_headroom(const struct selection *selection, uint64_t top_bytes, uint32_t first,
                            uint32_t end);
