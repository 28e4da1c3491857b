/*
 * Makes a recording of one device of several, with only the frames, stacks and annotations that it has, in the
 * order of the whole. So work on a device costs what its own stacks cost: of 1,024 devices with 40 call sites each,
 * none pays for the 40,000 of the others.
 *
 * Freestanding.
 */
#pragma once

#include "trace/trace.h"

/* In a trace of several devices, finds the time in which each annotation matters (trace->spans), if all annotations
 * belong to the process and are in order of time. Call it when annotations no longer change. O(annotations). False:
 * no memory. */
bool annotations_keep(struct trace *trace);

/*
 * Fills `part` with what device `index` needs of `trace`, under the same index. Allocations and events keep their
 * numbers; stacks and frames get new ones, unless it is the only device. The other devices keep what describes them
 * (ordinal, counts), but their stacks mean nothing in `part`, except those of pinned host memory. Texts and
 * contexts are shared with `trace`, which must outlive `part`; the rest is memory of `arena`, so do not release
 * `part`. O(rows of the device * depth of its stacks + annotations + devices + (stacks + frames) / 64). False: no
 * memory.
 */
bool device_part_init(struct trace *part, const struct trace *trace, uint32_t index, struct arena *arena);

/* The same with all frames and stacks, numbered as in `trace`. O(annotations + events). */
bool device_part_share(struct trace *part, const struct trace *trace, uint32_t index, struct arena *arena);
