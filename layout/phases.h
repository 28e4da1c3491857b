/*
 * Phases: the program's annotations, whose starts and ends come one by one, as nested spans.
 *
 *      START a   START b   END b   START c   END a          ProfilerStep#1 ------------------
 *        |---------a-------------------------|         ->     forward ----    backward ------
 *                  |---b-----|       |--c----|              (c has no end of its own: it ends with a)
 *
 * An end without a start is left out, because the ring buffer has lost its start. A start without an end lasts
 * until the enclosing phase ends, or else to the end of the recording. Freestanding.
 */
#pragma once

#include "layout/scene.h"

/* Deeper phases are left out. No program nests so deep, but a file may claim it. */
enum { PHASE_OPEN_MAX = 64 };

struct phase {
    int64_t start_us, end_us; /* since the first event; end_us INT64_MAX: lasts to the end */
    uint32_t name;            /* string */
    uint8_t depth;            /* phases around it */
    uint8_t plain_depth;      /* the same, internal phases not counted */
    bool internal;            /* a compiler's timer or the like: shown only on request */
};

struct phases {
    uint32_t count, internal_count;
    uint8_t rows, plain_rows; /* depth of the deepest phase + 1; 0: there are none */
    struct phase *phase;      /* by rising start */
};

/* Finds the phases of the timeline's device, in memory of `arena`. None if the file has no times. O(annotations *
 * depth). False: no memory. */
bool phases_find(const struct timeline *timeline, struct arena *arena, struct phases *phases);

/* A form of a phase's name. nth 0 is the name without torch's decoration ("## forward ##"); from 1 on come ever
 * shorter known names: "fwd" for "forward", "optimizer" and "opt" for "Optimizer.step#Adam.step", "#5" for
 * "ProfilerStep#5". Empty: there are no more. Points into `name`, or at a constant. */
struct text phase_name(struct text name, uint32_t nth);

/* The place of a time on an axis, in 1/65536 as in struct view. On the axis of events: the beginning of
 * the last event at or before it. O(log n). */
int64_t phase_q16(const struct timeline *timeline, enum axis axis, int64_t us);
