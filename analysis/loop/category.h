/*
 * What an allocation is for. Its context says it where a profiler wrote the file or where a rule of the user's met it;
 * otherwise it is inferred from where it was born and what it outlived. docs/report-reference.md, "Categories", states the rules
 * for people. Freestanding.
 */
#pragma once

#include "analysis/loop/turns.h"

enum category {
    CATEGORY_OTHER, /* nothing tells; enum category_reason says why */
    CATEGORY_PARAMETER,
    CATEGORY_GRADIENT,
    CATEGORY_OPTIMIZER_STATE,
    CATEGORY_ACTIVATION,
    CATEGORY_TEMPORARY,
    CATEGORY_INPUT,
    CATEGORY_AUTOGRAD_DETAIL, /* only a profiler knows these */
    CATEGORY_UNKNOWN,         /* a profiler's own word for what it could not tell */
    CATEGORY_WORKSPACE,       /* of cuBLAS, cuDNN, NCCL and the like */
    CATEGORY_RESULT,          /* of a model that runs without backward: outlives the turn it was made in */
    CATEGORY_WEIGHT_COPY,     /* a weight in 16 bits, made by autocast */
    CATEGORY_COUNT
};

/* Why nothing tells. */
enum category_reason {
    REASON_NONE,      /* something does */
    REASON_OLDER,     /* than the recording: its stack is unknown, or tells nothing */
    REASON_NO_STACK,  /* none was recorded */
    REASON_NATIVE,    /* only frames of C++: loading, forward and optimizer look alike */
    REASON_NO_PHASES, /* neither a forward, nor a backward, nor a turn was recorded */
    REASON_CUT_OFF,   /* the recording ends before it could tell */
    REASON_OF_FILE,   /* the file has a word of its own for it */
    REASON_KEPT,      /* a leak was found that keeps it, so no graph needs it */
    REASON_BY_SIZE, /* something does: it is older than the recording, and its size is that of such a thing */
    REASON_COPY, /* its size is a parameter's, and it is one copy more than parameters, gradients and state need */
    REASON_POOL,  /* older than the recording, and in a private pool, as those of CUDA graphs are */
    REASON_CACHE, /* a server made room for keys and values, which is none of the others */
    REASON_COUNT
};

/* "optimizer_state": as profilers spell it, for files and JSON. */
const char *category_name(enum category category);

/* "optimizer state": for people, one such thing or all of them. */
const char *category_title(enum category category);

/* The category with this name; CATEGORY_COUNT: none has it. */
enum category category_by_name(const uint8_t *name, uint32_t nbytes);

static inline bool category_is_known(const uint8_t *name, uint32_t nbytes) {
    return category_by_name(name, nbytes) != CATEGORY_COUNT;
}

/* "older": for JSON. */
const char *category_reason_name(enum category_reason reason);

/* "older than the recording": for people. */
const char *category_reason_title(enum category_reason reason);

/* Category and reason of every allocation of the timeline's device into `category[allocations.count]` and `reason[allocations.count]`
 * (NULL: not wanted), in two steps: each allocation for itself, then those that others like it tell of. The first returns
 * what the second needs; everything given must live until then. O(allocations log runs). NULL, false: no memory. */
struct judge;
struct judge *categories_begin(const struct timeline *timeline, const struct phase_runs *runs,
                               const struct turns *turns, uint8_t *category, uint8_t *reason,
                               struct arena *arena);
bool categories_end(struct judge *judge, struct arena *arena);

/* The same with phases and turns of its own. False: no memory. */
bool categories_find(const struct timeline *timeline, uint8_t *category, struct arena *arena);
