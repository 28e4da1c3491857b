/*
 * Why two recordings differ: one cause for each call site that behaves in another way (or for many that do so in the same
 * way), largest difference first; what only follows from looking at other moments comes after these. Freestanding.
 */
#pragma once

#include "analysis/compare/compare.h"
#include "analysis/loop/spans.h"

enum cause_kind {
    CAUSE_NEW,       /* only B has the site */
    CAUSE_GONE,      /* only A has it */
    CAUSE_SIZE,      /* its allocations are of another size */
    CAUSE_DTYPE,     /* the same because the data type is another */
    CAUSE_PHASE,     /* only one recording runs a backward, or an optimizer, in which these sites allocate */
    CAUSE_OFTEN,     /* it allocates more or less often */
    CAUSE_OLDER,     /* more or less of it is older than the recording */
    CAUSE_KEPT,      /* its allocations live longer or shorter */
    CAUSE_MOMENT,    /* these sites behave as before: what differs is the moments */
    CAUSE_ELSEWHERE, /* what the compared moments hide: a phase in which the recordings differ more */
    CAUSE_MOVED,     /* no difference in bytes: the line, the file or the function has another name */
    CAUSE_KINDS
};

struct cause {
    enum cause_kind kind;
    int64_t bytes;    /* b - a, of all its sites */
    uint32_t row;     /* of the comparison: its site, or the one with the largest difference */
    uint32_t n_sites; /* 1 but for causes that many sites share */
    uint64_t from,
        to; /* SIZE: bytes of one allocation; OFTEN: allocations of a step, or of the run; OLDER: allocations;
                          KEPT: events that an allocation lives, the geometric mean */
    bool per_step;          /* OFTEN: both recordings have steps */
    bool mean;              /* SIZE: they are of several sizes, and this is their mean */
    uint8_t dies_a, dies_b; /* KEPT: enum cause_death, where most of its allocations end */
    uint8_t phase;          /* PHASE: enum run_side; ELSEWHERE: enum span_kind */
    /* ELSEWHERE: SIZE, DTYPE or OFTEN, the first cause in that phase, whose `from`, `to` and sites these
     * are; else ELSEWHERE */
    uint8_t inside;
    bool follows; /* from the first cause: another sequence length changes what depends on its square too */
};

/* Where in its own step an allocation ends. */
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
    struct cause *cause; /* by falling size of `bytes`; then what follows; then MOMENT, then MOVED */
};

/* What the recordings' loops look like. 0: not known. */
struct cause_steps {
    uint32_t a, b;
};

/* Of a comparison. Memory from `arena`. O(sites log sites). False: no memory. */
bool causes_find(struct causes *causes, const struct comparison *comparison, struct cause_steps steps,
                 struct arena *arena);

/* The highest moment of each kind of phase, forward, backward and optimizer, and what is alive there. */
struct phase_peak {
    uint32_t a_moment, b_moment;
    uint64_t a_bytes, b_bytes;
    bool known; /* both recordings have the phase */
};
enum { PHASE_PEAKS = 3 };
void phase_peaks_find(struct phase_peak peaks[PHASE_PEAKS], const struct spans *a, const struct spans *b);

/* Adds, first, the phase in which the recordings differ most, where that is much more than what is compared: by a tenth of the
 * larger peak, with the first cause of that. The sides and steps are those of the comparison. O(causes_find + compare_sites).
 * False: no memory. */
bool causes_add_phase(struct causes *causes, const struct comparison *comparison,
                      const struct phase_peak peaks[PHASE_PEAKS], struct cause_steps steps,
                      const struct compare_side *a, const struct compare_side *b, struct arena *arena);

/* Finds where the allocations of the first causes of kind KEPT end (`dies_a`, `dies_b`), by the phases of each side.
 * O(16 * (allocations + frames)). False: no memory. */
bool causes_find_deaths(struct causes *causes, const struct comparison *comparison,
                        const struct compare_side *a, const struct spans *phases_a,
                        const struct compare_side *b, const struct spans *phases_b, struct arena *arena);
