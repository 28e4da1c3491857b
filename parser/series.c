#include "parser/series.h"

#include "base/bytes.h"
#include "base/sort.h"
#include "parser/recorder.h"

#include <string.h>

enum {
    UNTIMED_LEAST = 16
}; /* events without times that must be alike before two windows are taken for one run */

/* What the ids of a part are in the whole. */
struct ids {
    uint32_t *string, *frame, *stack, *context;
};

struct series {
    struct trace *to;
    const struct series_part *parts;
    uint32_t n_parts;
    struct interner interner;
    struct ids *ids; /* [n_parts] */
};

/* A stretch of one part's events: those from `from` on. */
struct window {
    uint32_t part, from;
};

/* Windows that join, as one device. */
struct run {
    uint32_t first, end; /* windows */
    struct device_trace device;
    uint32_t *dump_event; /* [end - first] last event of each in `device`; UINT32_MAX: before the first */
};

static struct arena *arena_of(struct series *series) {
    return &series->to->arena;
}

/* ---- ids ---- */

static bool strings_map(struct series *series, const struct trace *from, struct ids *ids) {
    for (uint32_t i = 0; i < from->strings.count; i++) {
        uint32_t nbytes;
        const uint8_t *bytes = trace_string(from, i, &nbytes);
        if (!intern_string(&series->interner, bytes, nbytes, &ids->string[i]))
            return false;
    }
    return true;
}

static bool frame_map(struct series *series, const struct trace *from, struct ids *ids, uint32_t i) {
    struct frame frame = from->frames.frame[i];
    struct fx fx = from->fx.fx[frame.fx];
    fx = (struct fx){ids->string[fx.op], ids->string[fx.name], ids->string[fx.target],
                     ids->string[fx.original_trace]};
    frame.file = ids->string[frame.file];
    frame.name = ids->string[frame.name];
    return intern_fx(&series->interner, fx, &frame.fx) &&
           intern_frame(&series->interner, frame, &ids->frame[i]);
}

/* Outermost frame last, as intern_stack takes them. */
static bool stack_map(struct series *series, const struct trace *from, struct ids *ids, uint32_t i,
                      uint32_t *frames) {
    uint32_t n = 0;
    for (uint32_t at = i; at != 0; at = from->stacks.stack[at].parent)
        frames[n++] = ids->frame[from->stacks.stack[at].frame];
    return intern_stack(&series->interner, frames, n, &ids->stack[i]);
}

static uint32_t deepest(const struct trace *from, uint32_t *depth) {
    uint32_t most = 0;
    depth[0] = 0;
    for (uint32_t i = 1; i < from->stacks.count; i++) {
        depth[i] = depth[from->stacks.stack[i].parent] + 1;
        most = depth[i] > most ? depth[i] : most;
    }
    return most;
}

/* Only stacks that something has: a prefix is made with the stack. */
static bool stacks_map(struct series *series, const struct trace *from, struct ids *ids) {
    uint32_t *depth = arena_column(arena_of(series), from->stacks.count, sizeof *depth);
    uint8_t *inner = arena_column(arena_of(series), from->stacks.count, 1);
    if (depth == NULL || inner == NULL)
        return false;
    uint32_t *frames = arena_column(arena_of(series), deepest(from, depth), sizeof *frames);
    bool done = frames != NULL;
    bytes_zero(ids->stack, from->stacks.count * sizeof *ids->stack);
    bytes_zero(inner, from->stacks.count);
    for (uint32_t d = 0; d < from->n_devices; d++) {
        const struct device_trace *device = &from->devices[d];
        for (uint32_t i = 0; i < device->lives.count; i++)
            inner[device->lives.stack[i]] = 1;
        for (uint32_t i = 0; i < device->n_segment_events; i++)
            inner[device->segment_events[i].stack] = 1;
        for (uint32_t i = 0; i < device->n_ooms; i++)
            inner[device->ooms[i].stack] = 1;
        for (uint32_t i = 0; i < device->n_segments; i++)
            inner[device->segments[i].stack] = 1;
        for (uint32_t i = 0; i < device->n_blocks; i++)
            inner[device->blocks[i].stack] = 1;
    }
    for (uint32_t i = 1; i < from->stacks.count && done; i++)
        done = inner[i] == 0 || stack_map(series, from, ids, i, frames);
    ARENA_DROP(arena_of(series), frames);
    ARENA_DROP(arena_of(series), inner);
    ARENA_DROP(arena_of(series), depth);
    return done;
}

static bool contexts_map(struct series *series, const struct trace *from, struct ids *ids) {
    for (uint32_t i = 0; i < from->contexts.count; i++) {
        struct context context = from->contexts.context[i];
        context = (struct context){ids->string[context.compile_context], ids->string[context.user_metadata],
                                   ids->string[context.category], ids->string[context.forward_frames]};
        if (!intern_context(&series->interner, context, &ids->context[i]))
            return false;
    }
    return true;
}

static bool part_map(struct series *series, uint32_t part) {
    const struct trace *from = series->parts[part].trace;
    struct ids *ids = &series->ids[part];
    struct arena *arena = arena_of(series);
    *ids = (struct ids){arena_column(arena, from->strings.count, sizeof(uint32_t)),
                        arena_column(arena, from->frames.count, sizeof(uint32_t)),
                        arena_column(arena, from->stacks.count, sizeof(uint32_t)),
                        arena_column(arena, from->contexts.count, sizeof(uint32_t))};
    if (ids->string == NULL || ids->frame == NULL || ids->stack == NULL || ids->context == NULL ||
        !strings_map(series, from, ids))
        return false;
    for (uint32_t i = 0; i < from->frames.count; i++)
        if (!frame_map(series, from, ids, i))
            return false;
    return stacks_map(series, from, ids) && contexts_map(series, from, ids);
}

/* ---- what an event was, from what it did ---- */

static uint64_t mix(uint64_t kind, uint64_t a, uint64_t b) {
    uint64_t key = (a + kind * 0x9E3779B97F4A7C15u) * 0xBF58476D1CE4E5B9u;
    key = (key ^ (key >> 29) ^ b) * 0x94D049BB133111EBu;
    return key ^ (key >> 32);
}

/* `sign[n_events]`. Requests are left out: of one that its completion follows at once nothing remains, and whether it does
 * may lie behind the end of a window. */
static void events_sign(const struct device_trace *device, uint64_t *sign) {
    const struct lives *lives = &device->lives;
    for (uint32_t e = 0; e < device->n_events; e++)
        sign[e] = device->time_us != NULL ? mix(1, (uint64_t)device->time_us[e], 0) : 0;
    for (uint32_t i = 0; i < lives->count; i++) {
        if (lives->birth[i] > 0)
            sign[lives->birth[i] - 1] += mix(2, lives->address[i], lives->size[i]);
        if (lives->death[i] > 0 && lives->death[i] <= device->n_events &&
            (lives->flags[i] & LIFE_REOPENED) == 0)
            sign[lives->death[i] - 1] += mix(3, lives->address[i], lives->size[i]);
    }
    for (uint32_t i = 0; i < device->n_segment_events; i++) {
        const struct segment_event *event = &device->segment_events[i];
        sign[event->event] += mix(4u + event->change, event->address, event->size);
    }
    for (uint32_t i = 0; i < device->n_ooms; i++)
        sign[device->ooms[i].event] += mix(8, device->ooms[i].size, device->ooms[i].device_free);
    for (uint32_t i = 0; i < device->n_snapshots; i++)
        sign[device->snapshots[i].event] += mix(9, device->snapshots[i].size, 0);
}

/* Length of the longest begin of b that is an end of a (Knuth, Morris and Pratt). `fail[n_b]` is room. */
static uint32_t overlap_find(const uint64_t *a, uint32_t n_a, const uint64_t *b, uint32_t n_b,
                             uint32_t *fail) {
    uint32_t k = 0;
    if (n_b == 0)
        return 0;
    fail[0] = 0;
    for (uint32_t i = 1; i < n_b; i++) {
        while (k > 0 && b[i] != b[k])
            k = fail[k - 1];
        k += b[i] == b[k];
        fail[i] = k;
    }
    k = 0;
    for (uint32_t i = 0; i < n_a; i++) {
        while (k > 0 && (k == n_b || a[i] != b[k]))
            k = fail[k - 1];
        k += a[i] == b[k];
    }
    return k;
}

/* How many of b's first events are a's last ones; 0: they do not join. False: no memory. */
static bool windows_overlap(struct series *series, const struct device_trace *a, const struct device_trace *b,
                            uint32_t *n) {
    struct arena *arena = arena_of(series);
    uint64_t *sign_a = arena_column(arena, a->n_events, sizeof *sign_a);
    uint64_t *sign_b = arena_column(arena, b->n_events, sizeof *sign_b);
    uint32_t *fail = arena_column(arena, b->n_events, sizeof *fail);
    bool done = sign_a != NULL && sign_b != NULL && fail != NULL;
    *n = 0;
    if (done) {
        events_sign(a, sign_a);
        events_sign(b, sign_b);
        *n = overlap_find(sign_a, a->n_events, sign_b, b->n_events, fail);
        bool timed = a->time_us != NULL && b->time_us != NULL;
        *n = timed || *n >= UNTIMED_LEAST ? *n : 0;
    }
    ARENA_DROP(arena, fail);
    ARENA_DROP(arena, sign_b);
    ARENA_DROP(arena, sign_a);
    return done;
}

/* ---- events again ---- */

/* A device's events are handed to a recorder once more, from what they did. */
struct feeder {
    struct recorder *recorder;
    const struct device_trace *device;
    const struct ids *ids; /* NULL: they are the whole's already */
    struct sort_row *deaths, *requests;
    uint32_t n_deaths, n_requests, next_death, next_request, next_birth, next_segment, next_oom,
        next_snapshot;
};

static uint32_t id_of(const uint32_t *map, uint32_t id) {
    return map != NULL ? map[id] : id;
}

static struct event life_event(const struct feeder *feeder, uint32_t life, enum action action) {
    const struct lives *lives = &feeder->device->lives;
    const struct ids *ids = feeder->ids;
    bool own = action == ACTION_ALLOC || (lives->flags[life] & LIFE_STACK_OF_FREE) != 0;
    struct event event = {.action = action,
                          .address = lives->address[life],
                          .size = lives->size[life],
                          .stream = feeder->device->streams[lives->stream[life]],
                          .context = id_of(ids != NULL ? ids->context : NULL, lives->context[life]),
                          .stack = own ? id_of(ids != NULL ? ids->stack : NULL, lives->stack[life]) : 0,
                          .has_pool = lives->pool[life] != POOL_UNKNOWN,
                          .pool = feeder->device->pools[lives->pool[life]]};
    return event;
}

static bool life_join(struct feeder *feeder, uint32_t life, enum action action) {
    struct event event = life_event(feeder, life, action);
    return recorder_join(feeder->recorder, &event);
}

static bool feeder_init(struct feeder *feeder, struct arena *arena) {
    const struct lives *lives = &feeder->device->lives;
    uint32_t n_events = feeder->device->n_events;
    feeder->deaths = arena_column(arena, (uint64_t)lives->count * 2, sizeof *feeder->deaths);
    feeder->requests = arena_column(arena, (uint64_t)lives->count * 2, sizeof *feeder->requests);
    if (feeder->deaths == NULL || feeder->requests == NULL)
        return false;
    for (uint32_t i = 0; i < lives->count; i++) {
        if (lives->death[i] <= n_events && (lives->flags[i] & LIFE_REOPENED) == 0)
            feeder->deaths[feeder->n_deaths++] = (struct sort_row){lives->death[i], i};
        if (lives->request[i] > 0 && lives->request[i] < lives->death[i] && lives->request[i] <= n_events)
            feeder->requests[feeder->n_requests++] = (struct sort_row){lives->request[i], i};
    }
    sort_rows(feeder->deaths, feeder->deaths + lives->count, feeder->n_deaths);
    sort_rows(feeder->requests, feeder->requests + lives->count, feeder->n_requests);
    feeder->next_birth = lives->preexisting;
    return true;
}

static bool deaths_feed(struct feeder *feeder, uint32_t moment, bool told) {
    const struct lives *lives = &feeder->device->lives;
    for (; feeder->next_death < feeder->n_deaths && feeder->deaths[feeder->next_death].key <= moment;
         feeder->next_death++) {
        uint32_t life = feeder->deaths[feeder->next_death].value;
        bool requested = lives->request[life] < lives->death[life];
        if (told && ((!requested && !life_join(feeder, life, ACTION_FREE_REQUESTED)) ||
                     !life_join(feeder, life, ACTION_FREE_COMPLETED)))
            return false;
    }
    for (; feeder->next_request < feeder->n_requests && feeder->requests[feeder->next_request].key <= moment;
         feeder->next_request++)
        if (told && !life_join(feeder, feeder->requests[feeder->next_request].value, ACTION_FREE_REQUESTED))
            return false;
    return true;
}

static bool births_feed(struct feeder *feeder, uint32_t moment, bool told) {
    const struct lives *lives = &feeder->device->lives;
    for (; feeder->next_birth < lives->count && lives->birth[feeder->next_birth] <= moment;
         feeder->next_birth++)
        if (told && !life_join(feeder, feeder->next_birth, ACTION_ALLOC))
            return false;
    return true;
}

static bool segments_feed(struct feeder *feeder, uint32_t event, bool told) {
    static const enum action actions[] = {[SEGMENT_ALLOC] = ACTION_SEGMENT_ALLOC,
                                          [SEGMENT_FREE] = ACTION_SEGMENT_FREE,
                                          [SEGMENT_MAP] = ACTION_SEGMENT_MAP,
                                          [SEGMENT_UNMAP] = ACTION_SEGMENT_UNMAP};
    const struct device_trace *device = feeder->device;
    for (; feeder->next_segment < device->n_segment_events &&
           device->segment_events[feeder->next_segment].event <= event;
         feeder->next_segment++) {
        const struct segment_event *row = &device->segment_events[feeder->next_segment];
        struct event change = {.action = actions[row->change],
                               .address = row->address,
                               .size = row->size,
                               .stream = device->streams[row->stream],
                               .stack = id_of(feeder->ids != NULL ? feeder->ids->stack : NULL, row->stack)};
        if (told && !recorder_join(feeder->recorder, &change))
            return false;
    }
    return true;
}

static bool marks_feed(struct feeder *feeder, uint32_t event, bool told) {
    const struct device_trace *device = feeder->device;
    for (; feeder->next_oom < device->n_ooms && device->ooms[feeder->next_oom].event <= event;
         feeder->next_oom++) {
        const struct oom_event *row = &device->ooms[feeder->next_oom];
        struct event oom = {.action = ACTION_OOM,
                            .size = row->size,
                            .address = row->device_free,
                            .stack = id_of(feeder->ids != NULL ? feeder->ids->stack : NULL, row->stack)};
        if (told && !recorder_join(feeder->recorder, &oom))
            return false;
    }
    for (; feeder->next_snapshot < device->n_snapshots &&
           device->snapshots[feeder->next_snapshot].event <= event;
         feeder->next_snapshot++) {
        struct event mark = {.action = ACTION_SNAPSHOT,
                             .size = device->snapshots[feeder->next_snapshot].size};
        if (told && !recorder_join(feeder->recorder, &mark))
            return false;
    }
    return true;
}

/* What frees goes first: an address may be given out again at once. */
static bool event_feed(struct feeder *feeder, uint32_t e, bool told) {
    const struct device_trace *device = feeder->device;
    struct event event = {.action = ACTION_IGNORED,
                          .has_time = device->time_us != NULL,
                          .time_us = device->time_us != NULL ? device->time_us[e] : 0};
    return (!told || recorder_event(feeder->recorder, &event)) && segments_feed(feeder, e, told) &&
           deaths_feed(feeder, e + 1, told) && births_feed(feeder, e + 1, told) &&
           marks_feed(feeder, e, told);
}

/* The events from `from` on. */
static bool device_feed(struct recorder *recorder, const struct device_trace *device, const struct ids *ids,
                        uint32_t from, struct arena *arena) {
    struct feeder feeder = {.recorder = recorder, .device = device, .ids = ids};
    bool done = feeder_init(&feeder, arena);
    for (uint32_t e = 0; e < device->n_events && done; e++)
        done = event_feed(&feeder, e, e >= from);
    ARENA_DROP(arena, feeder.requests);
    ARENA_DROP(arena, feeder.deaths);
    return done;
}

/* The final segments and blocks, which tell what was there at the end. */
static bool finals_feed(struct recorder *recorder, const struct device_trace *device, const struct ids *ids) {
    const uint32_t *stacks = ids != NULL ? ids->stack : NULL;
    for (uint32_t s = 0; s < device->n_segments; s++) {
        struct segment segment = device->segments[s];
        segment.stack = id_of(stacks, segment.stack);
        if (!recorder_segment(recorder, &segment, device->streams[device->segments[s].stream],
                              device->pools[device->segments[s].pool]))
            return false;
        for (uint32_t b = 0; b < device->segments[s].block_count; b++) {
            struct block block = device->blocks[device->segments[s].first_block + b];
            block.stack = id_of(stacks, block.stack);
            if (!recorder_block(recorder, &block))
                return false;
        }
    }
    return true;
}

/* ---- runs ---- */

static const struct device_trace *device_in(const struct trace *trace, int32_t ordinal) {
    for (uint32_t i = 0; i < trace->n_devices; i++)
        if (trace->devices[i].ordinal == ordinal)
            return &trace->devices[i];
    return NULL;
}

static const struct device_trace *device_of(const struct series *series, const struct window *window,
                                            int32_t ordinal) {
    return device_in(series->parts[window->part].trace, ordinal);
}

static bool run_make(struct series *series, struct run *run, const struct window *windows, int32_t ordinal) {
    struct recorder recorder;
    bool done = recorder_init(&recorder, &series->interner, ordinal);
    run->dump_event = arena_column(arena_of(series), run->end - run->first, sizeof *run->dump_event);
    done = done && run->dump_event != NULL;
    for (uint32_t w = run->first; w < run->end && done; w++) {
        const struct device_trace *device = device_of(series, &windows[w], ordinal);
        const struct ids *ids = &series->ids[windows[w].part];
        done = device_feed(&recorder, device, ids, windows[w].from, arena_of(series)) &&
               (w + 1 < run->end || finals_feed(&recorder, device, ids));
        run->dump_event[w - run->first] = recorder.device.n_events - 1;
    }
    return done && recorder_finish(&recorder, &run->device);
}

/* ---- gaps ---- */

struct chain {
    struct series *series;
    struct recorder recorder;
    struct note *notes;
    uint32_t n_notes, note_capacity;
};

static bool dump_note(struct chain *chain, uint32_t event, uint32_t part, bool gap) {
    const char *name = chain->series->parts[part].name;
    uint32_t text;
    if (!ARENA_GROW(arena_of(chain->series), chain->notes, chain->note_capacity,
                    (uint64_t)chain->n_notes + 1) ||
        !intern_string(&chain->series->interner, name, strlen(name), &text))
        return false;
    chain->notes[chain->n_notes++] =
        (struct note){.event = event, .text = text, .number = part, .what = gap ? NOTE_DUMP_GAP : NOTE_DUMP};
    return true;
}

/* An event of a gap, at the time of what follows it. */
static bool gap_event(struct chain *chain, const struct device_trace *after) {
    bool timed = after->time_us != NULL && after->n_events != 0;
    struct event event = {
        .action = ACTION_IGNORED, .has_time = timed, .time_us = timed ? after->time_us[0] : 0};
    return recorder_event(&chain->recorder, &event);
}

static uint64_t active_end(const struct device_trace *device) {
    uint64_t nbytes = 0;
    for (uint32_t i = 0; i < device->n_segments; i++)
        nbytes += device->segments[i].active_size;
    return nbytes;
}

/* Rows of lives that are alive at the end, or from the beginning, by address. */
static uint32_t alive_rows(const struct device_trace *device, bool at_end, struct sort_row *rows) {
    const struct lives *lives = &device->lives;
    uint32_t n = 0;
    for (uint32_t i = 0; i < (at_end ? lives->count : lives->preexisting); i++)
        if (!at_end || lives->death[i] == device->n_events + 1)
            rows[n++] = (struct sort_row){lives->address[i], i};
    sort_rows(rows, rows + lives->count, n);
    return n;
}

/* Marks in both those that stayed: the same address and size. */
static void stayed_mark(const struct device_trace *a, const struct sort_row *rows_a, uint32_t n_a,
                        uint8_t *stayed_a, const struct device_trace *b, const struct sort_row *rows_b,
                        uint32_t n_b, uint8_t *stayed_b) {
    for (uint32_t i = 0, k = 0; i < n_a && k < n_b;) {
        if (rows_a[i].key < rows_b[k].key) {
            i++;
            continue;
        }
        if (rows_a[i].key > rows_b[k].key) {
            k++;
            continue;
        }
        bool same = a->lives.size[rows_a[i].value] == b->lives.size[rows_b[k].value];
        stayed_a[rows_a[i].value] = stayed_b[rows_b[k].value] = same;
        i++;
        k++;
    }
}

/* Reserved bytes at the end, and before the first event. */
static uint64_t reserved_end(const struct device_trace *device) {
    uint64_t nbytes = 0;
    for (uint32_t i = 0; i < device->n_segments; i++)
        nbytes += device->segments[i].total_size;
    return nbytes;
}

static uint64_t reserved_start(const struct device_trace *device) {
    uint64_t nbytes = reserved_end(device);
    for (uint32_t i = device->n_segment_events; i-- > 0;) {
        const struct segment_event *event = &device->segment_events[i];
        bool more = event->change == SEGMENT_ALLOC || event->change == SEGMENT_MAP;
        nbytes += more ? 0 - event->size : event->size;
    }
    return nbytes;
}

/* Two states side by side: what is not in the later one goes, then what is new comes. */
static bool gap_join(struct chain *chain, const struct device_trace *a, const uint8_t *stayed_a,
                     const struct device_trace *b, const uint8_t *stayed_b) {
    struct feeder before = {.recorder = &chain->recorder, .device = a};
    struct feeder after = {.recorder = &chain->recorder, .device = b};
    uint64_t had = reserved_end(a), has = reserved_start(b);
    struct event less = {.action = ACTION_SEGMENT_FREE, .size = had - has};
    struct event more = {.action = ACTION_SEGMENT_ALLOC, .size = has - had};
    bool done = gap_event(chain, b) && (had <= has || recorder_join(&chain->recorder, &less));
    for (uint32_t i = 0; i < a->lives.count && done; i++)
        if (a->lives.death[i] == a->n_events + 1 && stayed_a[i] == 0)
            done =
                (a->lives.request[i] < a->lives.death[i] || life_join(&before, i, ACTION_FREE_REQUESTED)) &&
                life_join(&before, i, ACTION_FREE_COMPLETED);
    done = done && gap_event(chain, b) && (has <= had || recorder_join(&chain->recorder, &more));
    for (uint32_t i = 0; i < b->lives.preexisting && done; i++)
        if (stayed_b[i] == 0)
            done = life_join(&after, i, ACTION_ALLOC);
    return done;
}

static bool gap_feed(struct chain *chain, const struct device_trace *a, const struct device_trace *b) {
    struct arena *arena = arena_of(chain->series);
    struct sort_row *rows_a = arena_column(arena, (uint64_t)a->lives.count * 2, sizeof *rows_a);
    struct sort_row *rows_b = arena_column(arena, (uint64_t)b->lives.count * 2, sizeof *rows_b);
    uint8_t *stayed_a = arena_column(arena, a->lives.count, 1),
            *stayed_b = arena_column(arena, b->lives.count, 1);
    bool done = rows_a != NULL && rows_b != NULL && stayed_a != NULL && stayed_b != NULL;
    if (done) {
        bytes_zero(stayed_a, a->lives.count);
        bytes_zero(stayed_b, b->lives.count);
        uint32_t n_a = alive_rows(a, true, rows_a), n_b = alive_rows(b, false, rows_b);
        stayed_mark(a, rows_a, n_a, stayed_a, b, rows_b, n_b, stayed_b);
        done = gap_join(chain, a, stayed_a, b, stayed_b);
    }
    ARENA_DROP(arena, stayed_b);
    ARENA_DROP(arena, stayed_a);
    ARENA_DROP(arena, rows_b);
    ARENA_DROP(arena, rows_a);
    return done;
}

static bool first_feed(struct chain *chain, const struct device_trace *device) {
    struct feeder feeder = {.recorder = &chain->recorder, .device = device};
    for (uint32_t i = 0; i < device->lives.preexisting; i++) {
        struct event event = life_event(&feeder, i, ACTION_ALLOC);
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

/* Runs with gaps between them; every run has been made. */
static bool runs_chain(struct chain *chain, struct run *runs, uint32_t n_runs, const struct window *windows) {
    for (uint32_t r = 0; r < n_runs; r++) {
        const struct device_trace *device = &runs[r].device;
        bool last = r + 1 == n_runs;
        if ((r == 0 && !first_feed(chain, device)) ||
            (r > 0 && !gap_feed(chain, &runs[r - 1].device, device)))
            return false;
        uint32_t first_event = chain->recorder.device.n_events;
        if (!device_feed(&chain->recorder, device, NULL, 0, arena_of(chain->series)))
            return false;
        /* A mark where a dump ends and events are missing behind it. */
        const struct event mark = {.action = ACTION_SNAPSHOT, .size = active_end(device)};
        if (!last && !recorder_event(&chain->recorder, &mark))
            return false;
        if (!run_notes(chain, &runs[r], windows, first_event, last))
            return false;
    }
    return finals_feed(&chain->recorder, &runs[n_runs - 1].device, NULL);
}

static bool runs_find(struct series *series, struct window *all, uint32_t n, int32_t ordinal,
                      struct run *runs, uint32_t *n_runs) {
    for (uint32_t w = 0; w < n; w++) {
        uint32_t joined = 0;
        if (w > 0 && !windows_overlap(series, device_of(series, &all[w - 1], ordinal),
                                      device_of(series, &all[w], ordinal), &joined))
            return false;
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
        series->to->n_diagnostics = n_diagnostics; /* those of the last run */
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
    struct arena *arena = arena_of(series);
    struct window *windows = arena_column(arena, series->n_parts, sizeof *windows);
    struct run *runs = arena_column(arena, series->n_parts, sizeof *runs);
    uint32_t n = 0, n_runs = 0;
    if (windows == NULL || runs == NULL)
        return false;
    for (uint32_t part = 0; part < series->n_parts; part++)
        if (device_in(series->parts[part].trace, ordinal) != NULL)
            windows[n++] = (struct window){part, 0};
    bool done = runs_find(series, windows, n, ordinal, runs, &n_runs) &&
                device_chain(series, runs, n_runs, windows, ordinal, device) &&
                gap_diagnose(series, ordinal, n_runs, n);
    const struct device_trace *last = device_of(series, &windows[n - 1], ordinal);
    device->capacity_bytes = last->capacity_bytes;
    ARENA_DROP(arena, runs);
    ARENA_DROP(arena, windows);
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
    if (trace->rank != RANK_UNKNOWN && first->rank != RANK_UNKNOWN && trace->rank != first->rank)
        return SERIES_OTHER_RANK;
    for (uint32_t i = 0; i < trace->n_devices; i++)
        common |= device_in(first, trace->devices[i].ordinal) != NULL;
    if (!common)
        return SERIES_OTHER_DEVICES;
    if (part > 0 && last_us(trace) != INT64_MIN && last_us(trace) < last_us(parts[part - 1].trace))
        return SERIES_NOT_IN_ORDER;
    return SERIES_DONE;
}

/* Ordinals of all parts, rising, each once. */
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
            if (!ARENA_GROW(arena_of(series), *ordinals, capacity, (uint64_t)*n + 1))
                return false;
            bytes_move(*ordinals + at + 1, *ordinals + at, (*n - at) * sizeof **ordinals);
            (*ordinals)[at] = trace->devices[i].ordinal;
            ++*n;
        }
    }
    return true;
}

/* Settings and annotations of the last part; annotations of the others that are older than its first. */
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
        if (!part_map(series, part))
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
    bool done = series_fill(&series);
    interner_release(&series.interner);
    return done ? SERIES_DONE : SERIES_NO_MEMORY;
}
