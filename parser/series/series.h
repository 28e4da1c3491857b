/*
 * Several dumps of one process as one recording. Where the events of a dump go on from those of the one before (the same
 * events, by time, address and size), both are one run; where events between them are missing, what stayed, what came and
 * what went is known from the two states alone.
 */
#pragma once

#include "trace/trace.h"

enum series_result {
    SERIES_DONE,
    SERIES_NO_MEMORY,
    SERIES_NOT_SNAPSHOTS, /* part `*wrong` is another kind of recording */
    SERIES_OTHER_RANK,    /* it is of another rank than the first */
    SERIES_OTHER_DEVICES, /* it has no device in common with the first */
    SERIES_NOT_IN_ORDER,  /* its last event is older than that of the part before */
    SERIES_OTHER_RUN,     /* it has other events of a time that the part before tells of, too */
    SERIES_MERGED         /* it is a page in which allocations are merged: which is which is not known */
};

struct series_part {
    const struct trace *trace;
    const char *name; /* of its file */
};

/* Fills an empty, initialised trace from two parts or more, oldest first; they are not changed. Diagnostics of the parts
 * are those of the last one, with what is missing between them. O(n log n) for n events, allocations and stacks. */
enum series_result series_make(struct trace *to, const struct series_part *parts, uint32_t n_parts,
                               uint32_t *wrong);
