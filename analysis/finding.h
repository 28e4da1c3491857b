/*
 * Findings: what Strata concludes from a recording, each a sentence with the figures that justify it. The sentences are
 * made here, from the figures, so that every output says the same. Freestanding.
 */
#ifndef STRATA_ANALYSIS_FINDING_H
#define STRATA_ANALYSIS_FINDING_H

#include "base/words.h"
#include "layout/timeline.h"

enum finding_kind {
    FINDING_OUT_OF_MEMORY,
    FINDING_LEAK,
    FINDING_GROWING_BUFFER,
    FINDING_GRADIENTS_KEPT,
    FINDING_HELD_OVER,
    FINDING_KEPT_PER_LAYER,
    FINDING_FRAGMENTATION,
    FINDING_RETRY_FLUSH,
    FINDING_CACHE_CHURN,
    FINDING_PRIVATE_POOL_HELD,
    FINDING_STOPS_AT_PEAK,
    FINDING_STARTS_LATE,
    FINDING_KINDS
};

enum finding_severity { SEVERITY_INFO, SEVERITY_LOW, SEVERITY_MEDIUM, SEVERITY_HIGH };
enum finding_confidence { CONFIDENCE_POSSIBLE, CONFIDENCE_LIKELY, CONFIDENCE_CERTAIN };
enum finding_unit { UNIT_NONE, UNIT_STEP, UNIT_TURN, UNIT_LAYER };

struct finding {
    uint8_t kind, severity, confidence;
    uint8_t unit;         /* enum finding_unit of what follows */
    uint8_t variant;      /* of the kind: its file says which */
    bool saves_known;     /* `saves` is defined */
    uint32_t per_n;       /* so many units */
    uint64_t per_bytes;   /* in each */
    uint32_t site, stack; /* frame id and stack of the largest site; 0: none */
    uint32_t n_sites;     /* how many sites it is about; 0 where sites do not matter */
    uint32_t count;       /* its allocations alive at `at_moment` */
    uint64_t bytes;       /* of these */
    uint64_t saves;       /* the peak less what it would be without them */
    uint32_t from_moment, to_moment, at_moment;
    uint64_t figure[6]; /* what the kind's sentences need besides */
};

struct findings {
    uint32_t count;
    struct finding *finding; /* most urgent first */
};

/* "leak", "high", "likely", "step" (NULL: none): as JSON has them. */
const char *finding_kind_name(enum finding_kind kind);
const char *finding_severity_name(enum finding_severity severity);
const char *finding_confidence_name(enum finding_confidence confidence);
const char *finding_unit_name(enum finding_unit unit);

struct verdicts;

/* Room that every title and detail fits into, names of files being cut. */
enum { FINDING_TEXT_NBYTES = 2048 };

/* The title, one line without a full stop, and the sentences with the figures, into `text`, cut at capacity - 1 bytes and
 * always terminated. Return the full length. */
uint32_t finding_title(const struct verdicts *verdicts, const struct finding *finding, char *text,
                       uint32_t capacity);
uint32_t finding_detail(const struct verdicts *verdicts, const struct finding *finding, char *text,
                        uint32_t capacity);

/* The hash of the page that shows it: "#device=0&at=573&focus=site_12". The same about the capacity and the result. */
uint32_t finding_view(const struct verdicts *verdicts, const struct finding *finding, char *text,
                      uint32_t capacity);

#endif
