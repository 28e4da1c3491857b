/* Finds dumps that continue each other, and joins their runs into one recording. */
#include "parser/series/series_internal.h"

#include "base/bytes.h"

#include <string.h>

/* A stretch of one part's events: those from `from` on. */
struct window {
    uint32_t part, from;
};

/* Windows that join, as one device. */
struct run {
    uint32_t first, end; /* windows */
    struct device_trace device;
    /* [end - first] last event of each window in `device`; UINT32_MAX: before the first */
    uint32_t *dump_event;
};

/* ---- runs ---- */

static const struct device_trace *device_of(const struct series *series, const struct window *window,
                                            int32_t ordinal) {
    return trace_device(series->parts[window->part].trace, ordinal);
}

static bool run_make(struct series *series, struct run *run, const struct window *windows, int32_t ordinal) {
    struct recorder recorder;
    bool done = recorder_init(&recorder, &series->interner, ordinal);
    run->dump_event = arena_column(series_arena(series), run->end - run->first, sizeof *run->dump_event);
    done = done && run->dump_event != NULL;
    for (uint32_t w = run->first; w < run->end && done; w++) {
        const struct device_trace *device = device_of(series, &windows[w], ordinal);
        const struct ids *ids = &series->ids[windows[w].part];
        done = series_feed(&recorder, device, ids, windows[w].from, series_arena(series)) &&
               (w + 1 < run->end || series_feed_finals(&recorder, device, ids));
        run->dump_event[w - run->first] = recorder.device.n_events - 1;
    }
    return done && recorder_finish(&recorder, &run->device);
}

/* ---- gaps ---- */

static bool dump_note(struct chain *chain, uint32_t event, uint32_t part, bool gap) {
    const char *name = chain->series->parts[part].name;
    uint32_t text;
    if (!ARENA_GROW(series_arena(chain->series), chain->notes, chain->note_capacity,
                    (uint64_t)chain->n_notes + 1) ||
        !intern_string(&chain->series->interner, name, strlen(name), &text))
        return false;
    chain->notes[chain->n_notes++] =
        (struct note){.event = event, .text = text, .number = part, .what = gap ? NOTE_DUMP_GAP : NOTE_DUMP};
    return true;
}

static uint64_t active_end(const struct device_trace *device) {
    uint64_t nbytes = 0;
    for (uint32_t i = 0; i < device->n_segments; i++)
        nbytes += device->segments[i].active_size;
    return nbytes;
}

static bool first_feed(struct chain *chain, const struct device_trace *device) {
    struct feeder feeder = {.recorder = &chain->recorder, .device = device};
    for (uint32_t i = 0; i < device->allocations.preexisting; i++) {
        struct event event = series_allocation_event(&feeder, i, ACTION_ALLOC);
        if (!recorder_before(&chain->recorder, &event))
            return false;
    }
    return true;
}

/* ---- one device ---- */

static bool run_notes(struct chain *chain, const struct run *run, const struct window *windows,
                      uint32_t first_event, bool last) {
    for (uint32_t w = run->first; w < run->end; w++) {
        bool gap = w + 1 == run->end && !last;
        uint32_t event = run->dump_event[w - run->first] + first_event;
        if (gap || (last && w + 1 == run->end))
            event = chain->recorder.device.n_events - 1;
        if (!dump_note(chain, event, windows[w].part, gap))
            return false;
    }
    return true;
}

/* Chains the runs, all of which are made, with gaps between them. */
static bool runs_chain(struct chain *chain, struct run *runs, uint32_t n_runs, const struct window *windows) {
    for (uint32_t r = 0; r < n_runs; r++) {
        const struct device_trace *device = &runs[r].device;
        bool last = r + 1 == n_runs;
        if ((r == 0 && !first_feed(chain, device)) ||
            (r > 0 && !series_gap_feed(chain, &runs[r - 1].device, device)))
            return false;
        uint32_t first_event = chain->recorder.device.n_events;
        if (!series_feed(&chain->recorder, device, NULL, 0, series_arena(chain->series)))
            return false;
        /* A mark at the end of a dump after which events are missing. */
        const struct event mark = {.action = ACTION_SNAPSHOT, .size = active_end(device)};
        if (!last && !recorder_event(&chain->recorder, &mark))
            return false;
        if (!run_notes(chain, &runs[r], windows, first_event, last))
            return false;
    }
    return series_feed_finals(&chain->recorder, &runs[n_runs - 1].device, NULL);
}

/* A process has one history: where two dumps cover the same time, they must agree. */
static bool times_cross(const struct device_trace *a, const struct device_trace *b) {
    return a->time_us != NULL && b->time_us != NULL && a->n_events != 0 && b->n_events != 0 &&
           b->time_us[0] < a->time_us[a->n_events - 1];
}

static bool runs_find(struct series *series, struct window *all, uint32_t n, int32_t ordinal,
                      struct run *runs, uint32_t *n_runs) {
    for (uint32_t w = 0; w < n; w++) {
        uint32_t joined = 0;
        const struct device_trace *a = w > 0 ? device_of(series, &all[w - 1], ordinal) : NULL,
                                  *b = device_of(series, &all[w], ordinal);
        if (a != NULL && !series_overlap(series, a, b, &joined))
            return false;
        if (a != NULL && joined == 0 && times_cross(a, b)) {
            series->other_run = all[w].part;
            return false;
        }
        all[w].from = joined;
        if (joined == 0)
            runs[(*n_runs)++] = (struct run){.first = w};
        runs[*n_runs - 1].end = w + 1;
    }
    return true;
}

static bool gap_diagnose(struct series *series, int32_t ordinal, uint32_t n_runs, uint32_t n_windows) {
    const uint64_t numbers[DIAGNOSTIC_NUMBERS] = {n_windows, n_runs - 1, n_windows - n_runs};
    return trace_diagnose(series->to, n_runs == 1 ? "series_joined" : "series_gaps", ordinal, numbers);
}

static bool device_chain(struct series *series, struct run *runs, uint32_t n_runs,
                         const struct window *windows, int32_t ordinal, struct device_trace *device) {
    struct chain chain = {.series = series};
    uint32_t n_diagnostics = series->to->n_diagnostics;
    for (uint32_t r = 0; r < n_runs; r++) {
        series->to->n_diagnostics = n_diagnostics; /* keep the diagnostics of the last run only */
        if (!run_make(series, &runs[r], windows, ordinal))
            return false;
    }
    bool done = true;
    if (n_runs == 1) {
        *device = runs[0].device;
        for (uint32_t w = 0; w < runs[0].end && done; w++)
            done = device->n_events == 0 || dump_note(&chain, runs[0].dump_event[w], windows[w].part, false);
    } else {
        uint32_t kept = series->to->n_diagnostics;
        done = recorder_init(&chain.recorder, &series->interner, ordinal) &&
               runs_chain(&chain, runs, n_runs, windows) && recorder_finish(&chain.recorder, device);
        series->to->n_diagnostics = kept;
    }
    device->notes = chain.notes;
    device->n_notes = chain.n_notes;
    return done;
}

static bool device_make(struct series *series, int32_t ordinal, struct device_trace *device) {
    struct arena *arena = series_arena(series);
    struct window *windows;
    struct run *runs;
    uint32_t n = 0, n_runs = 0;
    if (!ARENA_COLUMNS(arena, series->n_parts, windows, runs))
        return false;
    for (uint32_t part = 0; part < series->n_parts; part++)
        if (trace_device(series->parts[part].trace, ordinal) != NULL)
            windows[n++] = (struct window){part, 0};
    bool done = runs_find(series, windows, n, ordinal, runs, &n_runs) &&
                device_chain(series, runs, n_runs, windows, ordinal, device) &&
                gap_diagnose(series, ordinal, n_runs, n);
    const struct device_trace *last = device_of(series, &windows[n - 1], ordinal);
    device->capacity_bytes = last->capacity_bytes;
    ARENA_DROP(arena, runs, windows);
    return done;
}

/* ---- what belongs together ---- */

static int64_t last_us(const struct trace *trace) {
    int64_t last = INT64_MIN;
    for (uint32_t i = 0; i < trace->n_devices; i++) {
        const struct device_trace *device = &trace->devices[i];
        if (device->time_us != NULL && device->n_events != 0 && device->time_us[device->n_events - 1] > last)
            last = device->time_us[device->n_events - 1];
    }
    return last;
}

static enum series_result part_check(const struct series_part *parts, uint32_t part) {
    const struct trace *trace = parts[part].trace, *first = parts[0].trace;
    bool common = false;
    if (trace->kind != TRACE_SNAPSHOT)
        return SERIES_NOT_SNAPSHOTS;
    for (uint32_t i = 0; i < trace->n_devices; i++)
        if (trace->devices[i].allocations.merged != NULL)
            return SERIES_MERGED;
    if (trace->rank != RANK_UNKNOWN && first->rank != RANK_UNKNOWN && trace->rank != first->rank)
        return SERIES_OTHER_RANK;
    for (uint32_t i = 0; i < trace->n_devices; i++)
        common |= trace_device(first, trace->devices[i].ordinal) != NULL;
    if (!common)
        return SERIES_OTHER_DEVICES;
    if (part > 0 && last_us(trace) != INT64_MIN && last_us(trace) < last_us(parts[part - 1].trace))
        return SERIES_NOT_IN_ORDER;
    return SERIES_DONE;
}

/* Finds the ordinals in all parts, rising, each once. */
static bool ordinals_find(struct series *series, int32_t **ordinals, uint32_t *n) {
    uint32_t capacity = 0;
    for (uint32_t part = 0; part < series->n_parts; part++) {
        const struct trace *trace = series->parts[part].trace;
        for (uint32_t i = 0; i < trace->n_devices; i++) {
            uint32_t at = 0;
            while (at < *n && (*ordinals)[at] < trace->devices[i].ordinal)
                at++;
            if (at < *n && (*ordinals)[at] == trace->devices[i].ordinal)
                continue;
            if (!ARENA_GROW(series_arena(series), *ordinals, capacity, (uint64_t)*n + 1))
                return false;
            bytes_move(*ordinals + at + 1, *ordinals + at, (*n - at) * sizeof **ordinals);
            (*ordinals)[at] = trace->devices[i].ordinal;
            ++*n;
        }
    }
    return true;
}

/* Takes settings and annotations of the last part, and annotations of the others that are older than its first. */
static bool rest_take(struct series *series) {
    struct trace *to = series->to;
    uint32_t capacity = 0;
    int64_t until = INT64_MIN;
    const struct ids *ids = &series->ids[series->n_parts - 1];
    to->settings = ids->string[series->parts[series->n_parts - 1].trace->settings];
    to->rank = series->parts[0].trace->rank;
    for (uint32_t part = 0; part < series->n_parts; part++) {
        const struct trace *trace = series->parts[part].trace;
        for (uint32_t i = 0; i < trace->n_annotations; i++) {
            struct annotation row = trace->annotations[i];
            if (row.time_us <= until)
                continue; /* the part before has it */
            if (!ARENA_GROW(&to->arena, to->annotations, capacity, (uint64_t)to->n_annotations + 1))
                return false;
            row.name = series->ids[part].string[row.name];
            to->annotations[to->n_annotations++] = row;
        }
        if (to->n_annotations != 0)
            until = to->annotations[to->n_annotations - 1].time_us;
    }
    return true;
}

static bool series_fill(struct series *series) {
    struct trace *to = series->to;
    int32_t *ordinals = NULL;
    uint32_t n = 0;
    for (uint32_t part = 0; part < series->n_parts; part++)
        if (!series_map(series, part))
            return false;
    if (!ordinals_find(series, &ordinals, &n) ||
        (to->devices = arena_column(&to->arena, n, sizeof *to->devices)) == NULL)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        if (!device_make(series, ordinals[i], &to->devices[i]))
            return false;
        to->n_devices++;
    }
    return rest_take(series);
}

enum series_result series_make(struct trace *to, const struct series_part *parts, uint32_t n_parts,
                               uint32_t *wrong) {
    struct series series = {.to = to, .parts = parts, .n_parts = n_parts};
    for (*wrong = 0; *wrong < n_parts; ++*wrong) {
        enum series_result result = part_check(parts, *wrong);
        if (result != SERIES_DONE)
            return result;
    }
    to->kind = TRACE_SERIES;
    series.ids = arena_column(&to->arena, n_parts, sizeof *series.ids);
    if (series.ids == NULL)
        return SERIES_NO_MEMORY;
    interner_init(&series.interner, to);
    bool done = series_fill(&series) && interner_finish(&series.interner);
    interner_release(&series.interner);
    if (!done && series.other_run != 0) {
        *wrong = series.other_run;
        return SERIES_OTHER_RUN;
    }
    return done ? SERIES_DONE : SERIES_NO_MEMORY;
}
