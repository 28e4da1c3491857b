/* Several dumps while they become one recording. Private to series.c (windows that join), series_ids.c (equal ids
 * and events), series_feed.c (events again) and series_gap.c (missing events). */
#pragma once

#include "parser/series/series.h"

#include "base/sort.h"
#include "parser/recorder.h"

/* Maps the ids of a part to the ids of the whole. */
struct ids {
    uint32_t *string, *frame, *stack, *context;
};

struct series {
    struct trace *to;
    const struct series_part *parts;
    uint32_t n_parts;
    uint32_t other_run; /* the first part whose events contradict those before it; 0: none */
    struct interner interner;
    struct ids *ids; /* [n_parts] */
};

/* Windows joined by gaps, as one device. */
struct chain {
    struct series *series;
    struct recorder recorder;
    struct note *notes;
    uint32_t n_notes, note_capacity;
};

/* Hands a device's events to a recorder again, rebuilt from what they did. */
struct feeder {
    struct recorder *recorder;
    const struct device_trace *device;
    const struct ids *ids; /* NULL: they are the whole's already */
    struct sort_row *deaths, *requests;
    uint32_t n_deaths, n_requests, next_death, next_request, next_birth, next_segment, next_oom,
        next_snapshot;
};

static inline struct arena *series_arena(struct series *series) {
    return &series->to->arena;
}

/* ---- series_ids.c ---- */

/* Fills the ids of a part. False: no memory. */
bool series_map(struct series *series, uint32_t part);

/* Counts b's first events that are a's last ones; 0: they do not join. False: no memory. */
bool series_overlap(struct series *series, const struct device_trace *a, const struct device_trace *b,
                    uint32_t *n);

/* ---- series_feed.c ---- */

/* An allocation's event as the recorder takes it, and the same as part of the event before. */
struct event series_allocation_event(const struct feeder *feeder, uint32_t allocation, enum action action);
bool series_allocation_join(struct feeder *feeder, uint32_t allocation, enum action action);

/* Feeds the events from `from` on; `ids` NULL: they are the whole's already. False: no memory. */
bool series_feed(struct recorder *recorder, const struct device_trace *device, const struct ids *ids,
                 uint32_t from, struct arena *arena);

/* Feeds the final segments and blocks, which describe the end. */
bool series_feed_finals(struct recorder *recorder, const struct device_trace *device, const struct ids *ids);

/* ---- series_gap.c ---- */

/* Feeds the events that must lie between the end of `a` and the beginning of `b`. False: no memory. */
bool series_gap_feed(struct chain *chain, const struct device_trace *a, const struct device_trace *b);
