/*
 * Phases: the program's annotations, whose starts and ends come one by one, as nested spans.
 *
 *      START a   START b   END b   START c   END a          ProfilerStep#1 ------------------
 *        |---------a-------------------------|         ->     forward ----    backward ------
 *                  |---b-----|       |--c----|              (c has no end of its own: it ends with a)
 *
 * An end without a start is left out, because the ring buffer has lost when it began; a start without an end
 * goes on until what encloses it ends, else to the end of the recording. Freestanding.
 */
#pragma once

#include "layout/scene.h"

/* Deeper ones are left out: no program nests so deep, but a file may. */
enum { PHASE_OPEN_MAX = 64 };

struct phase {
    int64_t start_us, end_us; /* since the first event; end_us INT64_MAX: goes on to the end */
    uint32_t name;            /* string */
    uint8_t depth;            /* phases around it */
    uint8_t plain_depth;      /* the same without internal ones */
    bool internal;            /* the compiler's own timers and the like: only shown when asked for */
};

struct phases {
    uint32_t count, internal_count;
    uint8_t rows, plain_rows; /* depth of the deepest phase + 1; 0: there are none */
    struct phase *phase;      /* by rising start */
};

/* Of the timeline's device, into memory of `arena`. None where the file has no times. O(annotations * depth).
 * False: no memory. */
bool phases_find(const struct timeline *timeline, struct arena *arena, struct phases *phases);

/* A form of a phase's name: nth 0 is all of it without torch's signs around it ("## forward ##"); from 1
 * on ever shorter known names: "fwd" of "forward", "optimizer" and "opt" of "Optimizer.step#Adam.step",
 * "#5" of "ProfilerStep#5". No bytes: there are no more. Points into `name`, or at a constant. */
struct text phase_name(struct text name, uint32_t nth);

/* The place of a time on an axis, in 1/65536 as in struct view. On the axis of events: the beginning of
 * the last event at or before it. O(log n). */
int64_t phase_q16(const struct timeline *timeline, enum axis axis, int64_t us);
