/* Steps and phases as stretches of a recording, with the figures that people print around them: bytes at the begin,
 * at the highest moment and at the end. Freestanding. */
#pragma once

#include "analysis/loop/turns.h"

enum span_kind {
    SPAN_STEP,
    SPAN_FORWARD,
    SPAN_BACKWARD,
    SPAN_OPTIMIZER,
    SPAN_OTHER,
    SPAN_ANNOTATION,
    SPAN_KINDS
};

enum { SPAN_NO_STEP = UINT32_MAX, SPANS_MOST = 100000 };

struct span {
    uint32_t from_moment, to_moment; /* after its first and its last event; from <= to */
    uint32_t peak_moment;            /* in [from, to], the first with the maximum */
    uint32_t step;                   /* index of its turn; SPAN_NO_STEP: none */
    uint32_t name;                   /* string, for an annotation; otherwise 0 */
    uint8_t kind;                    /* enum span_kind */
    bool begin_known;                /* false only in a log before its first level */
    uint64_t begin_bytes;            /* alive before its first event */
    uint64_t peak_bytes, end_bytes;
};

struct spans {
    uint32_t count, left_out; /* count: at most SPANS_MOST */
    struct span *span;        /* by rising begin; annotations last */
};

/* The span of the moments [from, end) of a timeline, 0 < from < end, of no step and with a known begin. O(log n). */
struct span span_make(const struct timeline *timeline, enum span_kind kind, uint32_t from, uint32_t end,
                      uint32_t name);

/* "forward", for JSON and for people. */
extern const char *const span_kind_name[]; /* by enum span_kind */

/* Makes a span for each turn. O(turns * 64 + moments / 64). False: no memory. */
bool spans_of_turns(struct spans *spans, const struct turns *turns, const struct timeline *timeline,
                    struct arena *arena);

/* Makes spans for forward, backward, optimizer and the rest, by turn; then for annotations except the compiler's
 * own. False: no memory. */
bool spans_of_phases(struct spans *spans, const struct phase_runs *runs, const struct turns *turns,
                     const struct timeline *timeline, struct arena *arena);
