/*
 * One device of a recording of several, as a recording of its own: frames, stacks and annotations are those that it has, in
 * the order of the whole. So what an answer looks for in all stacks costs what this device's cost, and all devices together
 * what the file costs: of 1,024 devices with 40 call sites each none looks at the 40,000 of the others.
 *
 * Freestanding.
 */
#pragma once

#include "trace/trace.h"

/* Keeps with a trace of several devices from when to when each annotation matters (trace->spans), where all are the process'
 * own and rise in time. To be called when annotations do not change any more. O(annotations). False: no memory. */
bool annotations_keep(struct trace *trace);

/*
 * Fills `part` with what device `index` needs of `trace`, under the same index; allocations and events have the same numbers,
 * stacks and frames others, unless it is the only device. The other devices are there for what they say of themselves (ordinal, counts), and their stacks
 * mean nothing in `part`, except those of pinned host memory. Texts and contexts are shared with `trace`, which must outlive it; the rest is memory of `arena`, and
 * `part` is not to be released. O(rows of the device * depth of its stacks + annotations + devices + (stacks + frames) / 64).
 * False: no memory.
 */
bool device_part_init(struct trace *part, const struct trace *trace, uint32_t index, struct arena *arena);

/* The same with all frames and stacks, under the numbers of `trace`. O(annotations + events). */
bool device_part_share(struct trace *part, const struct trace *trace, uint32_t index, struct arena *arena);
