/*
 * Steps: the turns of the loop that was recorded, as the `growth` of schema 1 has them (analysis/loop/growth.h says why they
 * are kept beside analysis/loop/turns.h, which all else reads). Where they are is read from annotations, or, without any,
 * found from the sequence of allocations, which repeats itself from step to step. Freestanding.
 *
 *     moments  0 ....... begin[0] ............ begin[1] ............ begin[2] ... begin[count]
 *                           step 0                step 1                ...
 */
#ifndef STRATA_ANALYSIS_STEPS_H
#define STRATA_ANALYSIS_STEPS_H

#include "layout/timeline.h"

enum steps_source {
    STEPS_NONE,          /* the recording shows no loop, or fewer than two turns of it */
    STEPS_PROFILER_STEP, /* annotations ProfilerStep#N */
    STEPS_OPTIMIZER,     /* the ends of annotations Optimizer.step#... */
    STEPS_PERIOD         /* the period of the allocations' stacks */
};

struct steps {
    enum steps_source source;
    uint32_t count;
    uint32_t *begin;      /* [count + 1] moments, rising: step i is [begin[i], begin[i + 1]) */
    int64_t first_number; /* N of the first step's ProfilerStep#N; else 0 */
    uint32_t
        similar_permil; /* how sure: of the allocations of a step, so many thousandths have one of the same stack
                                in the step before; the median of all steps */
};

/* Memory from `arena`. O(allocations log + annotations). False: no memory. */
bool steps_find(struct steps *steps, const struct timeline *timeline, struct arena *arena);

#endif
