/*
 * Several dumps of one process as one recording. Where a dump continues the one before (the same events, by time,
 * address and size), both form one run. Where events between them are missing, the two states tell which allocations
 * stayed, were freed and were made.
 */
#pragma once

#include "trace/trace.h"

enum series_result {
    SERIES_DONE,
    SERIES_NO_MEMORY,
    SERIES_NOT_SNAPSHOTS, /* part `*wrong` is another kind of recording */
    SERIES_OTHER_RANK,    /* part `*wrong` has another rank than the first */
    SERIES_OTHER_DEVICES, /* part `*wrong` has no device in common with the first */
    SERIES_NOT_IN_ORDER,  /* part `*wrong` ends before the part before it does */
    SERIES_OTHER_RUN,     /* part `*wrong` has other events of a time that the part before covers too */
    SERIES_MERGED         /* part `*wrong` is a page with merged allocations, which cannot be told apart */
};

struct series_part {
    const struct trace *trace;
    const char *name; /* of its file */
};

/* Fills an empty, initialised trace from at least two parts, oldest first; they do not change. Diagnostics come
 * from the last part, and from the gaps between parts. O(n log n) for n events, allocations and stacks. */
enum series_result series_make(struct trace *to, const struct series_part *parts, uint32_t n_parts,
                               uint32_t *wrong);
