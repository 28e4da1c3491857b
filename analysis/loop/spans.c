#include "analysis/loop/spans.h"

#include "base/search.h"
#include "layout/phases.h"

const char *const span_kind_name[] = {
    [SPAN_STEP] = "step",           [SPAN_FORWARD] = "forward", [SPAN_BACKWARD] = "backward",
    [SPAN_OPTIMIZER] = "optimizer", [SPAN_OTHER] = "other",     [SPAN_ANNOTATION] = "annotation",
};

struct span span_make(const struct timeline *timeline, enum span_kind kind, uint32_t from, uint32_t end,
                      uint32_t name) {
    uint32_t peak = timeline_peak_in(timeline, from, end);
    return (struct span){.from_moment = from,
                         .to_moment = end - 1,
                         .peak_moment = peak,
                         .step = SPAN_NO_STEP,
                         .name = name,
                         .kind = (uint8_t)kind,
                         .begin_known = true,
                         .begin_bytes = timeline->live[from - 1],
                         .peak_bytes = timeline->live[peak],
                         .end_bytes = timeline->live[end - 1]};
}

struct span_list {
    struct spans *spans;
    const struct timeline *timeline;
    struct arena *arena;
    uint32_t capacity;
    bool failed;
};

/* Adds moments [from, end); a span without events is left out. */
static void span_add(struct span_list *list, enum span_kind kind, uint32_t from, uint32_t end, uint32_t step,
                     uint32_t name) {
    struct spans *spans = list->spans;
    const struct timeline *timeline = list->timeline;
    end = end < timeline->n_moments ? end : timeline->n_moments;
    from = from > 0 ? from : 1; /* moment 0 belongs to no event */
    if (from >= end || list->failed)
        return;
    if (spans->count == SPANS_MOST) {
        spans->left_out++;
        return;
    }
    if (!ARENA_GROW(list->arena, spans->span, list->capacity, (uint64_t)spans->count + 1)) {
        list->failed = true;
        return;
    }
    spans->span[spans->count] = span_make(timeline, kind, from, end, name);
    spans->span[spans->count++].step = step;
}

bool spans_of_turns(struct spans *spans, const struct turns *turns, const struct timeline *timeline,
                    struct arena *arena) {
    struct span_list list = {.spans = spans, .timeline = timeline, .arena = arena};
    *spans = (struct spans){0};
    for (uint32_t i = 0; i < turns->count; i++)
        span_add(&list, SPAN_STEP, turns->turn[i].begin_moment, turns->turn[i].end_moment, i, 0);
    return !list.failed;
}

/* Cuts at the beginning of runs and of turns, and after the last turn. */
struct cutter {
    const struct phase_runs *runs;
    const struct turns *turns;
    const uint32_t *birth; /* of allocations */
    uint32_t turn;         /* the next turn to cut at */
};

/* The first cut in (from, end]. */
static uint32_t next_cut(struct cutter *cutter, uint32_t from, uint32_t end) {
    const struct turns *turns = cutter->turns;
    while (cutter->turn < turns->count && turns->turn[cutter->turn].first <= from)
        cutter->turn++;
    uint32_t cut = cutter->turn < turns->count ? turns->turn[cutter->turn].first : end;
    uint32_t last = turns->count > 0 ? turns->turn[turns->count - 1].end : end;
    cut = last > from && last < cut ? last : cut;
    return cut < end ? cut : end;
}

static uint32_t birth_at(const struct cutter *cutter, uint32_t recorded, uint32_t n_moments) {
    return recorded < cutter->runs->n_allocations ? cutter->birth[recorded] : n_moments;
}

/* Adds a piece of the forward side in three: before its first forward, from there on, and what is made after the last
 * one. If a backward follows, the last part is of the loss, and counts as forward. */
static void forward_add(struct span_list *list, const struct cutter *cutter, uint32_t from, uint32_t end,
                        uint32_t step, bool backward_follows) {
    const uint8_t *letter = cutter->runs->letter + cutter->runs->first_allocation;
    uint32_t forward = from, behind = end, n = list->timeline->n_moments;
    while (forward < end && letter[forward] != PHASE_FORWARD)
        forward++;
    while (!backward_follows && behind > forward && letter[behind - 1] != PHASE_FORWARD)
        behind--;
    span_add(list, SPAN_OTHER, birth_at(cutter, from, n), birth_at(cutter, forward, n), step, 0);
    span_add(list, SPAN_FORWARD, birth_at(cutter, forward, n), birth_at(cutter, behind, n), step, 0);
    if (behind > forward)
        span_add(list, SPAN_OTHER, birth_at(cutter, behind, n), birth_at(cutter, end, n), step, 0);
}

static bool is_before_backward(const struct cutter *cutter, const struct phase_run *run) {
    uint32_t next = (uint32_t)(run - cutter->runs->run) + 1;
    return next < cutter->runs->count && cutter->runs->run[next].side == SIDE_BACKWARD;
}

static void run_add(struct span_list *list, struct cutter *cutter, const struct phase_run *run) {
    for (uint32_t from = run->first, end; from <= run->last; from = end) {
        end = next_cut(cutter, from, run->last + 1);
        uint32_t step = turns_at(cutter->turns, from), n = list->timeline->n_moments;
        if (run->side == SIDE_FORWARD)
            forward_add(list, cutter, from, end, step, end > run->last && is_before_backward(cutter, run));
        else
            span_add(list, run->side == SIDE_BACKWARD ? SPAN_BACKWARD : SPAN_OPTIMIZER,
                     birth_at(cutter, from, n), birth_at(cutter, end, n), step, 0);
    }
}

static uint32_t step_at_moment(const struct turns *turns, uint32_t moment) {
    uint32_t low = SEARCH(0, turns->count, i, turns->turn[i].begin_moment <= moment);
    return low > 0 && moment < turns->turn[low - 1].end_moment ? low - 1 : SPAN_NO_STEP;
}

static bool annotations_add(struct span_list *list, const struct turns *turns) {
    const struct timeline *timeline = list->timeline;
    struct phases phases;
    if (!phases_find(timeline, list->arena, &phases))
        return false;
    for (uint32_t i = 0; i < phases.count; i++) {
        const struct phase *phase = &phases.phase[i];
        if (phase->internal)
            continue;
        uint32_t from = timeline_moment_at(timeline, phase->start_us - 1) + 1;
        uint32_t end = phase->end_us == INT64_MAX ? timeline->n_moments
                                                  : timeline_moment_at(timeline, phase->end_us) + 1;
        span_add(list, SPAN_ANNOTATION, from, end, step_at_moment(turns, from), phase->name);
    }
    return true;
}

bool spans_of_phases(struct spans *spans, const struct phase_runs *runs, const struct turns *turns,
                     const struct timeline *timeline, struct arena *arena) {
    struct span_list list = {.spans = spans, .timeline = timeline, .arena = arena};
    struct cutter cutter = {.runs = runs, .turns = turns};
    if (runs->count != 0) /* a device without allocations has no column */
        cutter.birth = timeline->device->allocations.birth + runs->first_allocation;
    *spans = (struct spans){0};
    for (uint32_t i = 0; i < runs->count && runs->stacks != STACKS_NONE; i++)
        run_add(&list, &cutter, &runs->run[i]);
    return annotations_add(&list, turns) && !list.failed;
}
