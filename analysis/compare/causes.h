/*
 * Why two recordings differ: one cause for each call site that behaves differently (or for many that do so in the
 * same way), largest difference first. Causes that only follow from looking at other moments come after these.
 * Freestanding.
 */
#pragma once

#include "analysis/compare/compare.h"
#include "analysis/loop/spans.h"

enum cause_kind {
    CAUSE_NEW,       /* only B has the site */
    CAUSE_GONE,      /* only A has it */
    CAUSE_SIZE,      /* the size of its allocations differs */
    CAUSE_DTYPE,     /* the same because the data type differs */
    CAUSE_PHASE,     /* only one recording has a backward, or an optimizer, in which these sites allocate */
    CAUSE_OFTEN,     /* it allocates more or less often */
    CAUSE_OLDER,     /* more or less of it is older than the recording */
    CAUSE_KEPT,      /* its allocations live longer or shorter */
    CAUSE_MOMENT,    /* they hold more or less at the compared moments, and why is not known */
    CAUSE_ELSEWHERE, /* hidden at the compared moments: a phase in which the recordings differ more */
    CAUSE_MOVED,     /* no difference in bytes: the line, the file or the function was renamed */
    CAUSE_KINDS
};

struct cause {
    enum cause_kind kind;
    int64_t bytes; /* b - a, over all its sites */
    uint32_t row;  /* its site in the comparison, or the one with the largest difference */
    uint32_t
        n_sites; /* 1, or more for causes that many sites share; 0: no site of these moments (ELSEWHERE) */
    uint64_t from,
        /* SIZE: bytes of one allocation; OFTEN: allocations per step, or in the run; OLDER: allocations */
        to;
    bool freed_here;        /* NEW, GONE, OLDER, SIZE: the site freed the memory; who made it is not known */
    bool per_step;          /* OFTEN: both recordings have steps */
    bool mean;              /* SIZE: the mean of several sizes */
    uint8_t dies_a, dies_b; /* KEPT: enum cause_death, the place where most of its allocations end */
    uint8_t phase;          /* PHASE: enum run_side; ELSEWHERE: enum span_kind */
    /* ELSEWHERE: SIZE, DTYPE or OFTEN if that is the first cause in the phase (then `from`, `to` and sites are
     * its); otherwise ELSEWHERE */
    uint8_t inside;
    /* a consequence of the first cause: another sequence length also changes what depends on its square */
    bool follows;
};

/* The place in its own step where an allocation ends. */
enum cause_death {
    DIES_UNKNOWN,
    DIES_IN_FORWARD,
    DIES_IN_BACKWARD,
    DIES_IN_OPTIMIZER,
    DIES_LATER,
    DIES_NEVER
};

struct causes {
    uint32_t count;
    struct cause *cause; /* by falling size of `bytes`; then consequences; then MOMENT, then MOVED */
};

/* Of how many steps the sides' profiles count `in_steps`. 0: unknown. */
struct cause_steps {
    uint32_t a, b;
};

/* Finds the causes of a comparison. Memory from `arena`. O(sites log sites). False: no memory. */
bool causes_find(struct causes *causes, const struct comparison *comparison, struct cause_steps steps,
                 struct arena *arena);

/* The highest moment of each kind of phase (forward, backward, optimizer), and what is alive at it. */
struct phase_peak {
    uint32_t a_moment, b_moment;
    uint64_t a_bytes, b_bytes;
    bool known; /* both recordings have the phase */
};
enum { PHASE_PEAKS = 3 };
void phase_peaks_find(struct phase_peak peaks[PHASE_PEAKS], const struct spans *a, const struct spans *b);

/* If the recordings differ much more in some phase than at the compared moments (by at least a tenth of the larger
 * peak), puts this phase first, with the first cause of that difference. Sides and steps are those of the
 * comparison. O(causes_find + compare_sites). False: no memory. */
bool causes_add_phase(struct causes *causes, const struct comparison *comparison,
                      const struct phase_peak peaks[PHASE_PEAKS], struct cause_steps steps,
                      const struct compare_side *a, const struct compare_side *b, struct arena *arena);

/* Finds where the allocations of the first causes of kind KEPT end (`dies_a`, `dies_b`), by the phases of each side.
 * O(16 * (allocations + frames)). False: no memory. */
bool causes_find_deaths(struct causes *causes, const struct comparison *comparison,
                        const struct compare_side *a, const struct spans *phases_a,
                        const struct compare_side *b, const struct spans *phases_b, struct arena *arena);
