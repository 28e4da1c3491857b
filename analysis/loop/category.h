/*
 * What an allocation is for. A profiler's file, or a rule of the user, says it in the allocation's context;
 * otherwise it is inferred from where the allocation was made and what it outlived. docs/report-reference.md,
 * "Categories", has the rules for people. Freestanding.
 */
#pragma once

#include "analysis/loop/turns.h"

enum category {
    CATEGORY_OTHER, /* unknown; enum category_reason tells why */
    CATEGORY_PARAMETER,
    CATEGORY_GRADIENT,
    CATEGORY_OPTIMIZER_STATE,
    CATEGORY_ACTIVATION,
    CATEGORY_TEMPORARY,
    CATEGORY_INPUT,
    CATEGORY_AUTOGRAD_DETAIL, /* only a profiler knows this one and the next */
    CATEGORY_UNKNOWN,         /* the profiler's own word for unknown */
    CATEGORY_WORKSPACE,       /* for cuBLAS, cuDNN, NCCL and the like */
    CATEGORY_RESULT,          /* of a model that runs without backward: outlives its turn */
    CATEGORY_WEIGHT_COPY,     /* a weight in 16 bits, made by autocast; a weight gathered from all ranks */
    CATEGORY_COUNT
};

/* Why the category is unknown, and some ways in which it was inferred. */
enum category_reason {
    REASON_NONE,      /* it is known */
    REASON_OLDER,     /* from before the recording: its stack is unknown or does not tell */
    REASON_NO_STACK,  /* none was recorded */
    REASON_NATIVE,    /* only C++ frames: loading, forward and optimizer look alike */
    REASON_NO_PHASES, /* no forward, backward or turn was recorded */
    REASON_CUT_OFF,   /* the recording ends too early to tell */
    REASON_OF_FILE,   /* the file has a word of its own for it */
    REASON_KEPT,      /* a leak keeps it, so no graph needs it */
    REASON_BY_SIZE,   /* known: older than the recording, with the size of such memory */
    /* its size is a parameter's, but it is one copy more than parameters, gradients and state need */
    REASON_COPY,
    REASON_POOL,  /* older than the recording, and in a private pool, as for CUDA graphs */
    REASON_CACHE, /* a server's room for keys and values */
    REASON_COUNT
};

/* "optimizer_state", spelt as by profilers; "optimizer state", singular and plural. */
extern const struct wording category_label[CATEGORY_COUNT];
extern const struct wording category_reason_label[REASON_COUNT];

/* The category with this name; CATEGORY_COUNT: none has it. */
enum category category_by_name(struct text name);

static inline bool category_is_known(struct text name) {
    return category_by_name(name) != CATEGORY_COUNT;
}

/* Fills category and reason of every allocation of the timeline's device, `category[allocations.count]` and
 * `reason[allocations.count]` (NULL: not wanted): first each allocation by itself, then by others like it, those of
 * backward passes first. O(allocations log runs). False: no memory. */
bool categories_find(const struct timeline *timeline, const struct phase_runs *runs,
                     const struct turns *turns, uint8_t *category, uint8_t *reason, struct arena *arena);
