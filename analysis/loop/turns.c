#include "analysis/loop/turns_internal.h"

#include "analysis/loop/marks.h"
#include "base/assert.h"
#include "base/search.h"

/* ---- helpers ---- */

static uint32_t birth_of(const struct phase_runs *runs, const struct timeline *timeline, uint32_t recorded) {
    return recorded < runs->n_allocations
               ? timeline->device->allocations.birth[runs->first_allocation + recorded]
               : timeline->n_moments;
}

/* Turns have similar lengths, so the place is guessed and then searched for in growing steps. */
uint32_t turns_at(const struct turns *turns, uint32_t recorded) {
    const struct turn *turn = turns->turn;
    uint32_t low = 0, high = turns->count, step = 1; /* low: the first turn after it */
    if (high == 0 || recorded < turn[0].first)
        return UINT32_MAX;
    uint64_t span = (uint64_t)turn[high - 1].first - turn[0].first + 1, place = recorded - turn[0].first;
    uint32_t guess = place >= span ? high - 1 : (uint32_t)(place * (high - 1) / span);
    if (turn[guess].first <= recorded) {
        for (low = guess + 1; low + step < high && turn[low + step - 1].first <= recorded; step *= 2)
            low += step;
        high = low + step < high ? low + step : high;
    } else {
        for (high = guess; high > step && turn[high - step].first > recorded; step *= 2)
            high -= step;
        low = high > step ? high - step : 0;
    }
    low = SEARCH(low, high, i, turn[i].first <= recorded);
    return low > 0 && recorded < turn[low - 1].end ? low - 1 : UINT32_MAX;
}

bool turns_settle(struct turns *turns, const struct phase_runs *runs, const struct timeline *timeline,
                  const uint32_t *begin, uint32_t count, uint32_t end, struct arena *arena) {
    turns->turn = arena_column(arena, count, sizeof *turns->turn);
    if (turns->turn == NULL)
        return false;
    turns->count = count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t next = i + 1 < count ? begin[i + 1] : end;
        turns->turn[i] =
            (struct turn){begin[i], next, birth_of(runs, timeline, begin[i]), birth_of(runs, timeline, next)};
    }
    return true;
}

/* ---- ProfilerStep#N ---- */

/* Every START begins a turn, and the last END ends the last one. Of several that begin before the recording, only
 * the last counts. False: no memory. */
static bool turns_of_profiler(struct turns *turns, const struct phase_runs *runs,
                              const struct timeline *timeline, bool has_backward, struct arena *arena) {
    struct mark_walk walk = {.word = "ProfilerStep#"};
    struct turn *turn = arena_column(arena, timeline->trace->n_annotations, sizeof *turn);
    uint32_t count = 0, end = 0;
    if (turn == NULL)
        return false;
    while (marks_next(&walk, timeline)) {
        if (walk.stage == ANNOTATION_END) {
            end = walk.moment;
            continue;
        }
        if (walk.moment >= timeline->n_moments)
            break;
        if (count == 0 || walk.moment > turn[count - 1].begin_moment)
            turn[count++].begin_moment = walk.moment;
        if (count == 1)
            turns->first_number = mark_number(&walk, timeline->trace);
    }
    if (count < (has_backward ? 1 : 2)) {
        ARENA_DROP(arena, turn);
        return true;
    }
    turns->closed = end > turn[count - 1].begin_moment;
    for (uint32_t i = 0; i < count; i++) {
        turn[i].end_moment = i + 1 < count   ? turn[i + 1].begin_moment
                             : turns->closed ? end
                                             : timeline->n_moments;
        turn[i].first = recorded_from(runs, turn[i].begin_moment);
        turn[i].end = recorded_from(runs, turn[i].end_moment);
    }
    turns->source = TURNS_PROFILER_STEP;
    turns->turn = turn;
    turns->count = count;
    return true;
}

/* ---- runs ---- */

/* Ends of turns: allocations, rising. */
struct turn_ends {
    uint32_t *end;
    uint32_t count;
};

static void ends_add(struct turn_ends *ends, uint32_t end) {
    if (end != 0 && (ends->count == 0 || end > ends->end[ends->count - 1]))
        ends->end[ends->count++] = end;
}

/* Joins optimizer runs that no backward separates. */
static void ends_of_optimizer(struct turn_ends *ends, const struct phase_runs *runs) {
    uint32_t end = 0;
    for (uint32_t i = 0; i < runs->count; i++) {
        if (runs->run[i].side == SIDE_BACKWARD)
            ends_add(ends, end);
        if (runs->run[i].side == SIDE_OPTIMIZER)
            end = runs->run[i].last + 1;
    }
    ends_add(ends, end);
}

/* Each backward, with the optimizer after it. */
static void ends_of_backward(struct turn_ends *ends, const struct phase_runs *runs) {
    uint32_t end = 0;
    for (uint32_t i = 0; i < runs->count; i++) {
        if (runs->run[i].side == SIDE_BACKWARD)
            ends_add(ends, end);
        if (runs->run[i].side != SIDE_FORWARD && (end != 0 || runs->run[i].side == SIDE_BACKWARD))
            end = runs->run[i].last + 1;
    }
    ends_add(ends, end);
}

/* Of several ends without a backward between them only the last counts, if backward is known. */
static void ends_of_marks(struct turn_ends *ends, const struct phase_runs *runs,
                          const struct timeline *timeline) {
    struct mark_walk walk = {.word = "Optimizer.step#"};
    uint32_t run = 0, end = 0;
    while (marks_next(&walk, timeline)) {
        if (walk.stage != ANNOTATION_END)
            continue;
        uint32_t own = recorded_from(runs, walk.moment);
        bool backward = runs->stacks == STACKS_NONE;
        for (; run < runs->count && runs->run[run].first < own; run++)
            backward |= runs->run[run].side == SIDE_BACKWARD;
        if (backward)
            ends_add(ends, end);
        end = own;
    }
    ends_add(ends, end);
}

/* An optimizer run that makes the state once, in one step of many, does not define steps: more backward passes
 * follow the last run than ever lay between two. */
static bool optimizer_is_regular(const struct phase_runs *runs) {
    uint32_t n = 0, most = 0;
    for (uint32_t i = 0; i < runs->count; i++) {
        n += runs->run[i].side == SIDE_BACKWARD;
        if (runs->run[i].side != SIDE_OPTIMIZER)
            continue;
        most = n > most ? n : most;
        n = 0;
    }
    return n <= most;
}

/* ---- from ends to turns ---- */

/* The loop's beginning: the first allocation of forward, backward or optimizer, or the batch before it, recognised
 * by stacks that come again in a later turn. UINT32_MAX: no memory. */
static uint32_t first_begin(const struct phase_runs *runs, const struct timeline *timeline,
                            uint32_t first_end, struct arena *arena) {
    const uint32_t *stack = timeline->device->allocations.stack + runs->first_allocation;
    const uint8_t *letter = runs->letter + runs->first_allocation;
    uint32_t n_stacks = timeline->trace->stacks.count, begin = 0;
    uint8_t *again = arena_zeros(arena, n_stacks, sizeof *again);
    if (again == NULL)
        return UINT32_MAX;
    for (uint32_t k = first_end; k < runs->n_allocations; k++)
        again[stack[k]] = 1;
    while (begin < first_end && letter[begin] == PHASE_HOST)
        begin++;
    while (begin > 0 && letter[begin - 1] == PHASE_HOST && again[stack[begin - 1]])
        begin--;
    ARENA_DROP(arena, again);
    return begin;
}

bool has_forward_from(const struct phase_runs *runs, uint32_t from) {
    const uint8_t *letter = runs->letter + runs->first_allocation;
    for (uint32_t k = from; k < runs->n_allocations; k++)
        if (letter[k] == PHASE_FORWARD)
            return true;
    return false;
}

bool begins_move(const struct phase_runs *runs, const struct timeline *timeline, uint32_t *begin,
                 uint32_t count, uint32_t last, struct arena *arena) {
    const uint32_t *stack = timeline->device->allocations.stack + runs->first_allocation;
    const uint8_t *letter = runs->letter + runs->first_allocation;
    uint8_t *behind = arena_zeros(arena, timeline->trace->stacks.count, sizeof *behind);
    if (behind == NULL)
        return false;
    for (uint32_t k = last; k < runs->n_allocations; k++)
        behind[stack[k]] = 1;
    for (uint32_t i = 1; i < count; i++)
        while (begin[i] + 1 < begin[i + 1] && letter[begin[i]] == PHASE_HOST && behind[stack[begin[i]]])
            begin[i]++;
    ARENA_DROP(arena, behind);
    return true;
}

/* Did what follows the last turn, from allocation `last` on, run no backward, and is nearly all gone that its forward
 * made? It is an evaluation, and no step that the recording cuts off. */
static bool rest_is_over(const struct phase_runs *runs, const struct timeline *timeline, uint32_t last) {
    const struct allocations *allocations = &timeline->device->allocations;
    uint64_t made = 0, left = 0;
    for (uint32_t i = runs->first_allocation + last; i < allocations->count; i++) {
        if (side_of_letter(runs->letter[i]) == SIDE_BACKWARD)
            return false;
        made += runs->letter[i] == PHASE_FORWARD ? allocations->size[i] : 0;
        left += runs->letter[i] == PHASE_FORWARD && allocations->request[i] >= timeline->n_moments
                    ? allocations->size[i]
                    : 0;
    }
    return timeline->device->n_ooms == 0 && left <= made / 10;
}

/* A short rest without a forward belongs to the last turn, as does an evaluation; another rest is an open turn. False:
 * no memory. */
static bool turns_of_ends(struct turns *turns, const struct phase_runs *runs, const struct timeline *timeline,
                          struct turn_ends *ends, enum turns_source source, struct arena *arena) {
    uint32_t n = ends->count;
    if (n == 0)
        return true;
    uint32_t last = ends->end[n - 1], first = first_begin(runs, timeline, ends->end[0], arena);
    uint32_t *begin = arena_column(arena, (uint64_t)n + 1, sizeof *begin);
    if (begin == NULL || first == UINT32_MAX)
        return false;
    uint32_t mean = (last - first) / n, rest = runs->n_allocations - last;
    begin[0] = first;
    for (uint32_t i = 0; i < n; i++)
        begin[i + 1] = ends->end[i];
    turns->source = source;
    bool evaluated = has_forward_from(runs, last) && rest_is_over(runs, timeline, last);
    turns->closed = rest == 0 || evaluated || ((uint64_t)rest * 10 < mean && !has_forward_from(runs, last));
    if (!evaluated && turns->closed && rest > 0 && !begins_move(runs, timeline, begin, n, last, arena))
        return false;
    return turns_settle(turns, runs, timeline, begin, turns->closed ? n : n + 1, runs->n_allocations, arena);
}

static bool turns_of_runs(struct turns *turns, const struct phase_runs *runs, const struct timeline *timeline,
                          bool has_backward, struct arena *arena) {
    uint64_t most = (uint64_t)runs->count + timeline->trace->n_annotations + 1;
    struct turn_ends own = {0}, marks = {0};
    bool done = ARENA_COLUMNS(arena, most, own.end, marks.end);
    if (!done)
        return false;
    ends_of_optimizer(&own, runs);
    ends_of_marks(&marks, runs, timeline);
    if (marks.count > 0 && marks.count >= own.count)
        done = turns_of_ends(turns, runs, timeline, &marks, TURNS_OPTIMIZER_MARKS, arena);
    else if (own.count > 0 && optimizer_is_regular(runs))
        done = turns_of_ends(turns, runs, timeline, &own, TURNS_OPTIMIZER, arena);
    else if (has_backward) {
        own.count = 0;
        ends_of_backward(&own, runs);
        done = turns_of_ends(turns, runs, timeline, &own, TURNS_BACKWARD, arena);
    }
    ARENA_DROP(arena, marks.end, own.end);
    return done;
}

static uint32_t loop_first(const struct turns *turns, const struct phase_runs *runs) {
    const uint8_t *letter = runs->letter + runs->first_allocation;
    uint32_t first = turns->count > 0 ? turns->turn[0].first : runs->n_allocations;
    for (uint32_t k = 0; k < first; k++)
        if (letter[k] == PHASE_FORWARD || letter[k] == PHASE_BACKWARD)
            return k;
    return first;
}

bool turns_find(struct turns *turns, const struct phase_runs *runs, const struct timeline *timeline,
                struct arena *arena) {
    bool has_backward = phase_runs_has(runs, SIDE_BACKWARD);
    *turns = (struct turns){0};
    if (!turns_of_profiler(turns, runs, timeline, has_backward, arena))
        return false;
    if (turns->source == TURNS_NONE && !turns_of_runs(turns, runs, timeline, has_backward, arena))
        return false;
    /* a memory timeline has categories instead, which come again many times within one turn */
    if (turns->source == TURNS_NONE && trace_has_call_sites(timeline->trace) &&
        !turns_repeat(turns, runs, timeline, arena))
        return false;
    turns->loop_first = loop_first(turns, runs);
    for (uint32_t i = 0; i < turns->count; i++) /* turns_at and the table of lives rely on it */
        assert(turns->turn[i].first <= turns->turn[i].end && turns->turn[i].end <= runs->n_allocations &&
               (i == 0 || turns->turn[i - 1].end <= turns->turn[i].first));
    return true;
}
