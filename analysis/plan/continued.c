#include "analysis/plan/continued.h"

#include "base/bytes.h"
#include "base/sort.h"
#include "layout/segments.h"

/* So many equal requests before the failed one make the place certain, or all since the step began. */
enum { ALIKE_LEAST = 16 };

/* Bits of categories. */
enum {
    MADE_ONCE = 1u << CATEGORY_PARAMETER | 1u << CATEGORY_OPTIMIZER_STATE | 1u << CATEGORY_WORKSPACE |
                1u << CATEGORY_WEIGHT_COPY
};

struct continuing {
    const struct verdicts *verdicts;
    const struct allocations *allocations;
    const struct oom_event *oom;
    uint32_t end;   /* the first allocation behind the failed request */
    uint32_t begin; /* the allocation that is that request one step before */
    uint32_t step;  /* the first allocation of the step of the failed request */
    uint32_t *like; /* [end] what each allocation was one step before; UINT32_MAX: nothing */
};

static bool are_alike(const struct allocations *allocations, uint32_t a, uint32_t b) {
    return allocations->stack[a] == allocations->stack[b] && allocations->size[a] == allocations->size[b];
}

/* How many allocations before `row` are like those before the failed request, in its step. */
static uint32_t alike_before(const struct continuing *continuing, uint32_t row, uint32_t most) {
    uint32_t n = 0;
    while (n < most && are_alike(continuing->allocations, row - 1 - n, continuing->end - 1 - n))
        n++;
    return n;
}

/* The same request in the step before. False: there is none, or the place is not certain. */
static bool begin_find(struct continuing *continuing) {
    const struct verdicts *verdicts = continuing->verdicts;
    const struct allocations *allocations = continuing->allocations;
    const struct turns *turns = &verdicts->turns;
    uint32_t older = allocations->preexisting, n_before = continuing->end - older, t = turns->count;
    while (t > 0 && turns->turn[t - 1].first >= n_before)
        t--; /* steps that begin behind the failed request */
    /* What only repeats may be layers. */
    if (t == 0 || continuing->oom->stack == 0 || turns->source > TURNS_BACKWARD)
        return false;
    /* The step of the failed request is the open one; or the last one has ended, and another was about to begin. */
    uint32_t last = t - 1, first = turns->turn[last].first;
    if (turns->turn[last].end < n_before ||
        (turns->closed && t == turns->count && turns->turn[last].end == n_before)) {
        first = turns->turn[last].end;
        last++;
    }
    if (last == 0)
        return false;
    continuing->step = older + first;
    uint32_t most = n_before - first, best = 0, from = turns->turn[last - 1].first;
    bool found = false;
    uint64_t work = (uint64_t)n_before * 8 + 1000000; /* a hostile recording has no end of equal requests */
    for (uint32_t row = older + from; row < older + first; row++) {
        if (allocations->stack[row] != continuing->oom->stack ||
            segments_round(allocations->size[row]) != segments_round(continuing->oom->size))
            continue;
        uint32_t n = alike_before(continuing, row, most < row - older ? most : row - older);
        if (n >= work)
            return false;
        work -= n;
        if (n < best && found)
            continue;
        found = true;
        best = n;
        continuing->begin = row;
    }
    return found && (best == most || best >= ALIKE_LEAST);
}

/* Pairs allocations with those of the step before, from the failed request backward, in their order. What is made once,
 * in one of the steps, is passed over. False: no memory. */
static bool likes_find(struct continuing *continuing, struct arena *arena) {
    const struct allocations *allocations = continuing->allocations;
    uint32_t failed = continuing->oom->event + 1, before = continuing->begin;
    uint64_t work = (uint64_t)continuing->end * 8; /* a hostile recording has no end of what stays */
    continuing->like = arena_column(arena, continuing->end, sizeof *continuing->like);
    for (uint32_t row = continuing->end; continuing->like != NULL && row-- > 0;) {
        uint32_t like = before == 0 ? 0 : before - 1;
        while (like > allocations->preexisting && !are_alike(allocations, row, like) &&
               allocations->death[like] > failed && work > 0) {
            like--;
            work--;
        }
        bool found = like >= allocations->preexisting && before > 0 && are_alike(allocations, row, like);
        continuing->like[row] = found ? like : UINT32_MAX;
        before = found ? like : before == 0 ? 0 : before - 1;
    }
    return continuing->like != NULL;
}

/* Has a whole step of the optimizer been recorded? Its first one makes its state, and passes with accumulated gradients
 * look like steps. It shows by what it makes, or by the step's gradients, of which none is left. */
static bool optimizer_stepped(const struct continuing *continuing) {
    const struct verdicts *verdicts = continuing->verdicts;
    const struct allocations *allocations = continuing->allocations;
    for (uint32_t i = 0; i + 1 < verdicts->runs.count; i++)
        if (verdicts->runs.run[i].side == SIDE_OPTIMIZER &&
            allocations->preexisting + verdicts->runs.run[i + 1].first < continuing->end)
            return true; /* it has ended: another run began behind it */
    bool any = !phase_runs_has(&verdicts->runs, SIDE_BACKWARD); /* nothing is trained */
    for (uint32_t row = continuing->begin; row < continuing->step; row++)
        if (verdicts->category[row] == CATEGORY_GRADIENT) {
            any = true;
            if (allocations->death[row] > continuing->oom->event + 1)
                return false;
        }
    return any;
}

/* Is it made in every step, or does it go within the step? Otherwise it is made once. */
static bool is_made_again(const struct continuing *continuing, uint32_t row) {
    return continuing->allocations->death[row] <= continuing->oom->event + 1 ||
           continuing->like[row] != UINT32_MAX ||
           !(1u << continuing->verdicts->category[row] & (MADE_ONCE | 1u << CATEGORY_GRADIENT));
}

static bool columns_make(struct allocations *own, uint32_t count, struct arena *arena) {
    own->count = count;
    own->merged = NULL;
    return ARENA_COLUMNS(arena, count, own->birth, own->death, own->request, own->size, own->address,
                         own->stack, own->context, own->stream, own->pool, own->flags);
}

static void row_copy(struct allocations *own, uint32_t to, const struct allocations *from, uint32_t row) {
    own->birth[to] = from->birth[row];
    own->death[to] = from->death[row];
    own->request[to] = from->request[row];
    own->size[to] = from->size[row];
    own->address[to] = from->address[row];
    own->stack[to] = from->stack[row];
    own->context[to] = from->context[row];
    own->stream[to] = from->stream[row];
    own->pool[to] = from->pool[row];
    own->flags[to] = from->flags[row];
}

/* Ends a row's life where that of the row one step before ended, or never. */
static void row_end(const struct continuing *continuing, struct allocations *own, uint32_t row,
                    uint32_t before, uint32_t period, uint32_t never) {
    const struct allocations *allocations = continuing->allocations;
    uint32_t failed = continuing->oom->event + 1;
    bool ends = before != UINT32_MAX && allocations->death[before] <= failed &&
                allocations->death[before] + period > failed;
    bool waits = before != UINT32_MAX && allocations->request[before] <= failed &&
                 allocations->request[before] + period > failed;
    own->death[row] = ends ? allocations->death[before] + period : never;
    own->request[row] = waits && own->request[row] > failed ? allocations->request[before] + period
                        : own->request[row] > failed        ? own->death[row]
                                                            : own->request[row];
}

static bool rows_make(const struct continuing *continuing, struct allocations *own, uint32_t events,
                      struct arena *arena) {
    const struct allocations *allocations = continuing->allocations;
    uint32_t end = continuing->end, begin = continuing->begin, n = end;
    uint32_t failed = continuing->oom->event + 1, never = continuing->oom->event + events + 1;
    *own = *allocations;
    for (uint32_t row = begin; row < end; row++)
        n += is_made_again(continuing, row);
    if (!columns_make(own, n, arena))
        return false;
    for (uint32_t row = 0; row < end; row++) {
        row_copy(own, row, allocations, row);
        if (allocations->death[row] > failed)
            row_end(continuing, own, row, continuing->like[row], events, never);
    }
    n = end;
    for (uint32_t row = begin; row < end; row++) {
        if (!is_made_again(continuing, row))
            continue;
        row_copy(own, n, allocations, row);
        own->birth[n] += events;
        own->request[n] = UINT32_MAX;
        row_end(continuing, own, n, row, events, never);
        n++;
    }
    return true;
}

/* What the steps before still held, and no step shows to go. False: no memory. */
static bool held_find(struct continued *continued, const struct continuing *continuing, struct arena *arena) {
    const struct allocations *allocations = continuing->allocations;
    uint32_t room = continuing->step - allocations->preexisting;
    continued->held = arena_column(arena, room, sizeof *continued->held);
    for (uint32_t row = allocations->preexisting; continued->held != NULL && row < continuing->step; row++)
        if (allocations->death[row] > continued->event + 1 && continuing->like[row] == UINT32_MAX &&
            !(1u << continuing->verdicts->category[row] & MADE_ONCE))
            continued->held[continued->n_held++] = row;
    return continued->held != NULL;
}

/* ---- an optimizer's first step ---- */

/* What is alive of what an optimizer makes for each gradient. */
struct lists {
    struct sort_row *gradient; /* by rounded bytes */
    struct sort_row *made;     /* by stack, then by bytes */
    struct sort_row *missing;  /* key: the row of a gradient; value: one of the list that lacks its like */
    uint32_t n_gradients, n_made, n_missing;
    uint32_t failed; /* of `missing`: the request that failed; UINT32_MAX: it is not among them */
};

/* State, or one of the lists of tensors with which PyTorch's optimizers work by default. */
static bool is_listed(const struct continuing *continuing, uint32_t row) {
    const struct verdicts *verdicts = continuing->verdicts;
    const struct trace *trace = verdicts->timeline->trace;
    if (verdicts->runs.letter[row] != PHASE_OPTIMIZER || verdicts->category[row] == CATEGORY_OPTIMIZER_STATE)
        return verdicts->category[row] == CATEGORY_OPTIMIZER_STATE;
    for (uint32_t at = continuing->allocations->stack[row]; at != 0; at = stack_parent(&trace->stacks, at))
        if (text_begins(trace_text(trace, trace->frames.frame[trace->stacks.frame[at]].name),
                        "_multi_tensor_"))
            return true;
    return false;
}

static bool lists_read(const struct continuing *continuing, struct lists *lists, struct arena *arena) {
    const struct allocations *allocations = continuing->allocations;
    uint64_t room = 2 * (uint64_t)continuing->end;
    *lists = (struct lists){.failed = UINT32_MAX};
    if (!ARENA_COLUMNS(arena, room, lists->gradient, lists->made, lists->missing))
        return false;
    for (uint32_t row = allocations->preexisting; row < continuing->end; row++) {
        struct sort_row one = {segments_round(allocations->size[row]), row};
        if (allocations->death[row] <= continuing->oom->event + 1)
            continue;
        if (continuing->verdicts->category[row] == CATEGORY_GRADIENT)
            lists->gradient[lists->n_gradients++] = one;
        else if (is_listed(continuing, row))
            lists->made[lists->n_made++] = one;
    }
    sort_rows(lists->gradient, lists->gradient + lists->n_gradients, lists->n_gradients);
    sort_rows(lists->made, lists->made + lists->n_made, lists->n_made);
    SORT_AGAIN(lists->made, lists->made + lists->n_made, lists->n_made, row, allocations->stack[row]);
    return true;
}

/* What the list of rows [first, end) of `made` lacks, if each of its rows is as large as a gradient of its own. False:
 * all lists lack more than there are allocations. */
static bool list_complete(const struct continuing *continuing, struct lists *lists, uint32_t first,
                          uint32_t end) {
    uint64_t wanted = segments_round(continuing->oom->size);
    bool failed = lists->made[first].key == continuing->oom->stack;
    uint32_t before = lists->n_missing, at = first;
    for (uint32_t i = 0; i < lists->n_gradients; i++) {
        const struct sort_row *gradient = &lists->gradient[i];
        if (at < end &&
            gradient->key == segments_round(continuing->allocations->size[lists->made[at].value])) {
            at++;
            continue;
        }
        if (lists->n_missing == continuing->end)
            return false;
        if (failed && gradient->key == wanted)
            lists->failed = lists->n_missing;
        lists->missing[lists->n_missing++] = (struct sort_row){gradient->value, lists->made[first].value};
    }
    if (at < end) {
        lists->n_missing = before;
        lists->failed = failed ? UINT32_MAX : lists->failed;
    }
    return true;
}

static bool lists_find(const struct continuing *continuing, struct lists *lists, struct arena *arena) {
    if (!lists_read(continuing, lists, arena))
        return false;
    for (uint32_t first = 0, end; first < lists->n_made; first = end) {
        end = sort_rows_end(lists->made, lists->n_made, first);
        if (!list_complete(continuing, lists, first, end))
            lists->n_made = 0;
    }
    if (lists->n_made == 0 || lists->failed == UINT32_MAX || continuing->oom->event < lists->n_missing)
        lists->n_missing = 0;
    if (lists->n_missing == 0)
        return true;
    struct sort_row last = lists->missing[lists->failed];
    lists->missing[lists->failed] = lists->missing[0];
    lists->missing[0] = last;
    return true;
}

/* What is alive stays, and what is missing is made. */
static bool listed_make(const struct continuing *continuing, struct allocations *own,
                        const struct lists *lists, struct arena *arena) {
    const struct allocations *allocations = continuing->allocations;
    uint32_t failed = continuing->oom->event + 1, end = continuing->end, never = failed + lists->n_missing;
    *own = *allocations;
    if (!columns_make(own, end + lists->n_missing, arena))
        return false;
    for (uint32_t row = 0; row < own->count; row++) {
        const struct sort_row *missing = row < end ? NULL : &lists->missing[row - end];
        row_copy(own, row, allocations, missing == NULL ? row : missing->value);
        own->death[row] = own->death[row] <= failed ? own->death[row] : never;
        own->request[row] = own->request[row] <= failed ? own->request[row] : never;
        if (missing != NULL) {
            own->size[row] = allocations->size[missing->key];
            own->birth[row] = failed + (row - end);
        }
    }
    return true;
}

/* All but the allocations. */
static bool device_make(const struct continuing *continuing, struct device_trace *own,
                        const struct device_trace *device, uint32_t events, struct arena *arena) {
    uint32_t event = continuing->oom->event;
    *own = *device;
    own->n_events = event + events;
    own->n_ooms = own->n_oom_places = 0;
    while (own->n_segment_events > 0 && own->segment_events[own->n_segment_events - 1].event > event)
        own->n_segment_events--;
    while (own->n_snapshots > 0 && own->snapshots[own->n_snapshots - 1].event > event)
        own->n_snapshots--;
    while (own->n_notes > 0 && own->notes[own->n_notes - 1].event > event)
        own->n_notes--;
    if (device->time_us != NULL) {
        own->time_us = arena_column(arena, own->n_events, sizeof *own->time_us);
        if (own->time_us == NULL)
            return false;
        bytes_copy(own->time_us, device->time_us, (size_t)event * sizeof *own->time_us);
        for (uint32_t i = event; i < own->n_events; i++)
            own->time_us[i] =
                (int64_t)((uint64_t)own->time_us[i - events] + (uint64_t)device->time_us[event] -
                          (uint64_t)device->time_us[event - events]);
    }
    return true;
}

bool continued_find(struct continued *continued, const struct verdicts *verdicts, struct arena *arena) {
    const struct timeline *timeline = verdicts->timeline;
    const struct device_trace *device = timeline->device;
    const struct allocations *allocations = &device->allocations;
    struct continuing continuing = {
        .verdicts = verdicts, .allocations = allocations, .oom = &device->ooms[0], .end = allocations->count};
    *continued = (struct continued){.event = device->ooms[0].event};
    while (continuing.end > allocations->preexisting &&
           allocations->birth[continuing.end - 1] > continued->event + 1)
        continuing.end--;
    struct lists lists = {0};
    bool step = begin_find(&continuing) && optimizer_stepped(&continuing);
    if (step)
        continued->period = continued->event - (allocations->birth[continuing.begin] - 1);
    else if (!lists_find(&continuing, &lists, arena))
        return false;
    else
        continued->period = lists.n_missing;
    if (continued->period == 0 || (uint64_t)continued->event + continued->period >= UINT32_MAX / 2)
        return true;
    continued->trace = *timeline->trace;
    continued->trace.devices =
        arena_column(arena, continued->trace.n_devices, sizeof *continued->trace.devices);
    if (continued->trace.devices == NULL)
        return false;
    bytes_copy(continued->trace.devices, timeline->trace->devices,
               continued->trace.n_devices * sizeof *continued->trace.devices);
    continued->by = step ? CONTINUED_STEP : CONTINUED_LISTS;
    for (uint32_t i = 0; i < lists.n_missing; i++)
        continued->listed_bytes += allocations->size[lists.missing[i].key];
    struct device_trace *own = &continued->trace.devices[device - timeline->trace->devices];
    return device_make(&continuing, own, device, continued->period, arena) &&
           (step ? likes_find(&continuing, arena) && held_find(continued, &continuing, arena) &&
                       rows_make(&continuing, &own->allocations, continued->period, arena)
                 : listed_make(&continuing, &own->allocations, &lists, arena));
}
