/*
 * What a filter leaves of a device: the bitmap, and the same device as if only these allocations had been recorded. The
 * words' facts (categories, phases, steps) are found here, so that every output means the same by a filter. Freestanding.
 */
#pragma once

#include "layout/filter.h"

struct verdicts;

/* A filter and what only the caller can know of it. */
struct filter_query {
    struct filter filter;
    const char *text;                   /* the words, for people and files */
    const struct filter_regex *regexes; /* [filter.n_regexes], of the trace */
};

struct selection {
    const uint64_t *keep;     /* [filter_bitmap_words] for scene.keep */
    struct timeline timeline; /* of what is kept */
    uint64_t allocations;     /* kept, all of the run */
};

/* Memory from `arena`, which the selection lives as long as; `whole` and `query` must outlive it. O(words * (allocations +
 * frames + stacks) + categories, phases and steps where a word asks for them). False: no memory. */
bool selection_make(struct selection *selection, const struct timeline *whole,
                    const struct filter_query *query, struct arena *arena);

/* The same where somebody has judged the timeline already: `known` are its verdicts; NULL: there are none. */
bool selection_make_judged(struct selection *selection, const struct timeline *whole,
                           const struct filter_query *query, const struct verdicts *known,
                           struct arena *arena);

/*
 * The same step by step, for a host that has other things to do between them: each takes about a pass over the allocations.
 * `bits_only`: the bitmap is all that is wanted; there is no timeline. Starts as
 * {.selection = ..., .whole = ..., .query = ..., .known = ..., .bits_only = ..., .arena = ...}.
 */
struct selecting {
    struct selection *selection; /* complete when it is done; its `keep` is NULL until then */
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

/* The upper end of the bytes' axis for what is kept: where it would fill less than a third of `top_bytes`, a scale of its
 * own, else that. */
uint64_t selection_headroom(const struct selection *selection, uint64_t top_bytes, uint32_t first,
                            uint32_t end);
