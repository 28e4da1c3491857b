/*
 * Findings: what Strata concludes from a recording, each a sentence with the figures that justify it. The sentences are
 * made here, from the figures, so that every output says the same. Freestanding.
 */
#pragma once

#include "base/words.h"
#include "layout/timeline.h"

/* Every kind, in the order in which they are looked for: leaks and growing buffers before what they explain, since what
 * is blamed once is not blamed again. A new kind is its file, finding_NAME.c, and its line here. */
#define STRATA_FINDINGS(X)                          \
    X(OUT_OF_MEMORY, out_of_memory)                 \
    X(LEAK, leak)                                   \
    X(GROWING_BUFFER, growing_buffer)               \
    X(GRADIENTS_KEPT, gradients_kept)               \
    X(HELD_OVER, held_over)                         \
    X(KEPT_PER_LAYER, kept_per_layer)               \
    X(UNUSED_GRAPH, unused_graph)                   \
    X(AUTOCAST_COPIES, autocast_copies)             \
    X(OPTIMIZER_TEMPORARIES, optimizer_temporaries) \
    X(NEXT_STEP_PEAK, next_step_peak)               \
    X(OFFLOADED, offloaded)                         \
    X(FRAGMENTATION, fragmentation)                 \
    X(CACHED_FREE, cached_free)                     \
    X(RETRY_FLUSH, retry_flush)                     \
    X(CACHE_CHURN, cache_churn)                     \
    X(PRIVATE_POOL_HELD, private_pool_held)         \
    X(LEVELS_RISE, levels_rise)                     \
    X(STOPS_AT_PEAK, stops_at_peak)                 \
    X(STARTS_LATE, starts_late)                     \
    X(HISTORY_FULL, history_full)                   \
    X(NO_HISTORY, no_history)

enum finding_kind {
#define STRATA_FINDING_KIND(kind, name) FINDING_##kind,
    STRATA_FINDINGS(STRATA_FINDING_KIND)
#undef STRATA_FINDING_KIND
        FINDING_KINDS
};

/* Growing buffers are looked for among so many equal parts of the allocations, one in each step: it takes longest. */
enum { FINDING_PARTS = 6 };

enum finding_severity { SEVERITY_INFO, SEVERITY_LOW, SEVERITY_MEDIUM, SEVERITY_HIGH };
enum finding_confidence { CONFIDENCE_POSSIBLE, CONFIDENCE_LIKELY, CONFIDENCE_CERTAIN };
/* How an optimizer goes over the parameters, the variant of optimizer_temporaries. */
enum finding_way { WAY_FOREACH, WAY_SINGLE, WAY_OWN, WAYS };

enum finding_unit { UNIT_NONE, UNIT_STEP, UNIT_TURN, UNIT_LAYER };

struct finding {
    uint8_t kind, severity, confidence;
    uint8_t unit;         /* enum finding_unit of what follows */
    uint8_t variant;      /* of the kind: its file says which */
    bool saves_known;     /* `saves` is defined */
    uint32_t per_n;       /* so many units */
    uint32_t set;         /* while findings are looked for: number of its set; 0: none */
    uint64_t per_bytes;   /* in each */
    uint32_t site, stack; /* frame id and stack of the largest site; 0: none */
    uint32_t n_sites;     /* how many sites it is about; 0 where sites do not matter */
    uint32_t count;       /* its allocations alive at `at_moment` */
    uint64_t bytes;       /* of these */
    uint64_t saves;       /* the peak less what it would be without them */
    uint32_t from_moment, to_moment, at_moment, n_ids;
    uint64_t figure[6];         /* what the kind's sentences need besides */
    uint32_t first_cut, n_cuts; /* of the findings' cuts: what `saves` is the saving of */
    /* [n_ids] rising: what it is about, alive at `at_moment`; NULL: it is about no set */
    const uint32_t *ids;
};

/* An allocation that would not be there in the moments [from, to): its death or more, for good. */
struct finding_cut {
    uint32_t allocation, from, to;
};

struct findings {
    uint32_t count;
    struct finding *finding; /* most urgent first */
    struct finding_cut *cut; /* by finding, where verdicts have them; NULL: not asked for */
    uint32_t looked
        [FINDING_KINDS];  /* of kinds that verdicts_check asks about: how many places could have shown it */
    uint64_t kept_seldom; /* bytes at the end that single turns made, too few to be a leak or not to be one */
    /* there may be gradients that are older than the recording, to which a backward adds */
    bool gradients_unsure;
};

/* "leak", "high", "likely", "step" (NULL: none): as JSON has them. */
const char *finding_kind_name(enum finding_kind kind);
const char *finding_severity_name(enum finding_severity severity);
const char *finding_confidence_name(enum finding_confidence confidence);
const char *finding_unit_name(enum finding_unit unit);
const char *finding_way_name(enum finding_way way);

struct verdicts;

/* Sets the bits of the finding's set in `bitmap[allocations.count / 64 + 1]`, and leaves the others. False: it is about no set,
 * but a request or the recording. O(n_ids). */
bool finding_set(const struct finding *finding, uint64_t *bitmap);

/* Room that every title and detail fits into, names of files being cut. */
enum { FINDING_TEXT_NBYTES = 2048 };

/* The title, one line without a full stop, and the sentences with the figures, into `text`, cut at capacity - 1 bytes and
 * always terminated. Return the full length. */
uint32_t finding_title(const struct verdicts *verdicts, const struct finding *finding, char *text,
                       uint32_t capacity);
uint32_t finding_detail(const struct verdicts *verdicts, const struct finding *finding, char *text,
                        uint32_t capacity);

/* What to do, which the detail ends with. The same; empty where nothing is known to help. */
uint32_t finding_action(const struct verdicts *verdicts, const struct finding *finding, char *text,
                        uint32_t capacity);

/* Is it about an amount of bytes at `at_moment`? Else `bytes` says nothing. */
bool finding_has_bytes(const struct finding *finding);

/* The hash of the page that shows it: "#device=0&at=573&focus=line_train.py:41%20step". The same about the capacity and the result. */
uint32_t finding_view(const struct verdicts *verdicts, const struct finding *finding, char *text,
                      uint32_t capacity);
