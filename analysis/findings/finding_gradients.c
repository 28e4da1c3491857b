/*
 * Gradients that are alive when a forward begins, because zero_grad is missing, too late, or left out on purpose.
 *
 * The peak without them is exact if the turn's backward makes their replacements. A kept gradient that was the j-th
 * of its stack and size in its own turn is replaced by the j-th of this turn: in a run that sets gradients to None,
 * that allocation would have been kept.
 *
 *     kept gradient   |-------F--------B..........       F: the forward begins, B: backward makes the j-th of the same
 *     the new one                      |---|             stack and size, which is added to the kept one and goes
 *     taken out               |============|
 */
#include "analysis/findings/finder.h"

#include "analysis/loop/marks.h"
#include "base/bits.h"
#include "base/search.h"
#include "base/sort.h"
#include "layout/filter.h"

enum {
    PAIRS_MOST = 8 << 20,  /* gradients times turns that are followed one by one */
    OLDS_PER_GRADIENT = 4, /* parameter, the optimizer's state for it, and a copy or one more state */
    NTH_MANY = UINT16_MAX  /* places from here on are not distinguished, and nothing replaces them */
};

struct gradients {
    uint32_t *alive; /* gradients that are still alive */
    /* [allocations.count] place among those of equal stack and size in its own turn, or NTH_MANY */
    uint16_t *nth;
    uint32_t n_alive;
    struct sort_row *old, *new, *spare;                                  /* of one turn, by size and stack */
    uint32_t alive_capacity, old_capacity, new_capacity, spare_capacity; /* as many as one turn has had */
    uint64_t *counted;                 /* bitmap of allocations.count: counted in the sum of a forward */
    uint64_t *kept_bytes, *kept_count; /* [turns + 1] alive when the turn's forward begins */
    uint64_t *older_bytes;             /* likewise: memory from before the recording that may be gradients */
    uint64_t *older_count;             /* likewise: all memory from before the recording */
    uint32_t *forward_moment;          /* [turns] begin of its forward; without one, of the next turn's */
    uint64_t n_pairs;
    bool at_least;
};

/* Is it a gradient, and not a copy of one kept by a leak? */
static bool is_gradient(const struct finder *finder, uint32_t allocation) {
    return finder->verdicts->category[allocation] == CATEGORY_GRADIENT &&
           !bits_has(finder->lives.told, allocation);
}

/* Moment of the first backward allocation after the forward in a turn; the turn's end if there is none. */
static uint32_t backward_of(const struct finder *finder, const struct turn *turn, uint32_t forward) {
    const uint8_t *letter = finder->verdicts->runs.letter + finder->allocations->preexisting;
    for (uint32_t k = forward; k < turn->end; k++)
        if (letter[k] == PHASE_BACKWARD)
            return finder->allocations->birth[finder->allocations->preexisting + k];
    return turn->end_moment;
}

/* By stack, then size, then allocation. */
static void rows_sort(const struct allocations *allocations, struct sort_row *rows, struct sort_row *spare,
                      uint32_t count) {
    SORT_AGAIN(rows, spare, count, own, allocations->size[own]);
    SORT_AGAIN(rows, spare, count, own, allocations->stack[own]);
}

static int rows_compare(const struct allocations *allocations, const struct sort_row *a,
                        const struct sort_row *b) {
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    uint64_t x = allocations->size[a->value], y = allocations->size[b->value];
    return x < y ? -1 : x > y;
}

/* Makes room for the allocations of a turn. */
static bool room_make(struct finder *finder, struct gradients *own, uint32_t count) {
    finder->failed |= !ARENA_GROW(finder->arena, own->new, own->new_capacity, count) ||
                      !ARENA_GROW(finder->arena, own->spare, own->spare_capacity, count);
    return !finder->failed;
}

/* Lists the gradients from before the recording, as turn_rows lists those of a turn. */
static uint32_t olds_rows(struct finder *finder, struct gradients *own) {
    uint32_t n = 0, count = 0;
    for (uint32_t i = 0; i < finder->allocations->preexisting; i++)
        count += is_gradient(finder, i);
    if (!room_make(finder, own, count))
        return 0;
    for (uint32_t i = 0; n < count; i++)
        if (is_gradient(finder, i))
            own->new[n++].value = i;
    rows_sort(finder->allocations, own->new, own->spare, n);
    return n;
}

/* Lists the allocations of a turn's backward by stack, size and allocation in own->new; returns their
 * number. */
static uint32_t turn_rows(struct finder *finder, struct gradients *own, const struct turn *turn) {
    const uint8_t *letter = finder->verdicts->runs.letter + finder->allocations->preexisting;
    uint32_t n = 0, count = 0;
    for (uint32_t k = turn->first; k < turn->end; k++)
        count += letter[k] == PHASE_BACKWARD;
    if (!room_make(finder, own, count))
        return 0;
    for (uint32_t k = turn->first; k < turn->end; k++)
        if (letter[k] == PHASE_BACKWARD)
            own->new[n++].value = finder->allocations->preexisting + k;
    rows_sort(finder->allocations, own->new, own->spare, n);
    return n;
}

/* Takes the kept gradients out of the curve, from the forward until their replacements are freed or, for those kept
 * again, until `next`, from where the next turn takes them out; so nothing is taken out twice. */
static void turn_remove(struct finder *finder, struct gradients *own, const struct turn *turn,
                        uint32_t forward, uint32_t next) {
    const struct allocations *allocations = finder->allocations;
    uint32_t from = allocations->birth[allocations->preexisting + forward],
             backward = backward_of(finder, turn, forward);
    uint32_t n_old = 0, n_new = 0, group = 0;
    if (!ARENA_GROW(finder->arena, own->old, own->old_capacity, own->n_alive) ||
        !ARENA_GROW(finder->arena, own->spare, own->spare_capacity, own->n_alive)) {
        finder->failed = true;
        return;
    }
    for (uint32_t i = 0; i < own->n_alive; i++)
        own->old[n_old++].value = own->alive[i];
    n_new = turn_rows(finder, own, turn);
    rows_sort(allocations, own->old, own->spare, n_old);
    for (uint32_t i = 0; i < n_old; i++) {
        uint32_t allocation = own->old[i].value, to = allocations->death[allocation];
        while (group < n_new && rows_compare(allocations, &own->new[group], &own->old[i]) < 0)
            group++;
        uint32_t nth = own->nth[allocation], at = group + nth;
        bool replaced =
            nth < NTH_MANY && at < n_new && rows_compare(allocations, &own->new[at], &own->old[i]) == 0;
        if (to > backward && replaced) {
            uint32_t place = allocations->death[own->new[at].value];
            to = place < to ? place : to;
        } else if (to > backward) {
            to = backward;
            own->at_least = true;
        }
        finder_remove(finder, allocation, from, to < next ? to : next);
    }
}

/* Drops freed gradients from the list, as long as gradients are followed one by one. */
static void alive_compact(struct gradients *own, const struct allocations *allocations, uint32_t moment) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < own->n_alive; i++)
        if (allocations->death[own->alive[i]] > moment)
            own->alive[n++] = own->alive[i];
    own->n_alive = n;
}

/* Measures the gradients alive when a turn's forward begins. */
static void turn_measure(struct finder *finder, struct gradients *own, uint32_t index, uint32_t forward,
                         struct finding *finding) {
    const struct allocations *allocations = finder->allocations;
    const struct turn *turn = &finder->verdicts->turns.turn[index];
    uint32_t birth = own->forward_moment[index];
    uint64_t bytes = own->kept_bytes[index], count = own->kept_count[index];
    if (count == 0) {
        own->n_alive = 0;
        return;
    }
    finding->gradients.n_forwards++;
    finding->per_bytes += bytes;
    finding->from_moment = finding->from_moment == UINT32_MAX ? birth : finding->from_moment;
    finding->to_moment = turn->end_moment - 1;
    own->n_pairs += own->n_alive + (turn->end - turn->first);
    bool followed = own->n_pairs <= PAIRS_MOST;
    if (followed)
        alive_compact(own, allocations, birth);
    if (bytes > finding->gradients.most_bytes) {
        finding->gradients.most_bytes = bytes;
        finding->gradients.count = count;
        if (own->n_alive != 0 && allocations->death[own->alive[0]] > birth) {
            finding->site = finder_site(finder, own->alive[0]);
            finding->stack = allocations->stack[own->alive[0]];
        }
    }
    if (followed)
        turn_remove(finder, own, turn, forward,
                    index + 1 < finder->verdicts->turns.count ? own->forward_moment[index + 1] : UINT32_MAX);
    else
        own->at_least = true;
}

/* The first turn from `from` on whose forward begins at or after a moment. O(log turns). */
static uint32_t turn_later(const struct gradients *own, uint32_t from, uint32_t count, uint32_t moment) {
    return SEARCH(from, count, i, own->forward_moment[i] < moment);
}

/* Adds an allocation to the forwards of the turns from `from` on, until it is freed. */
static void kept_add(struct finder *finder, struct gradients *own, uint32_t from, uint32_t allocation) {
    const struct allocations *allocations = finder->allocations;
    uint32_t count = finder->verdicts->turns.count, death = allocations->death[allocation];
    if (from >= count || own->forward_moment[from] >= death) /* as nearly all are */
        return;
    uint32_t end = turn_later(own, from, count, death);
    own->kept_bytes[from] += allocations->size[allocation];
    own->kept_bytes[end] -= allocations->size[allocation];
    own->kept_count[from] += allocation_stands_for(allocations, allocation);
    own->kept_count[end] -= allocation_stands_for(allocations, allocation);
    bits_add(own->counted, allocation);
}

/* The turn from which older gradients count as kept: the second if the recording may begin in the middle of a
 * backward. */
static uint32_t olds_from(const struct finder *finder) {
    const struct turn *first = &finder->verdicts->turns.turn[0];
    const uint8_t *letter = finder->verdicts->runs.letter + finder->allocations->preexisting;
    for (uint32_t k = 0; k < first->end; k++)
        if (letter[k] == PHASE_FORWARD || letter[k] == PHASE_BACKWARD || letter[k] == PHASE_OPTIMIZER)
            return letter[k] == PHASE_FORWARD ? 0 : 1;
    return 1;
}

/* Adds every gradient to the forwards of the turns after its own, until it is freed. O(allocations log turns). */
static void kept_sum(struct finder *finder, struct gradients *own) {
    const struct turns *turns = &finder->verdicts->turns;
    const struct allocations *allocations = finder->allocations;
    uint32_t from = olds_from(finder);
    for (uint32_t i = 0; i < allocations->preexisting; i++) {
        if (is_gradient(finder, i))
            kept_add(finder, own, from, i);
        uint32_t later = turn_later(own, 0, turns->count, allocations->death[i]);
        own->older_count[0]++;
        own->older_count[later]--;
        if (is_gradient(finder, i) || finder->verdicts->category[i] == CATEGORY_OTHER) {
            own->older_bytes[0] += allocations->size[i];
            own->older_bytes[later] -= allocations->size[i];
        }
    }
    for (uint32_t t = 0; t < turns->count; t++)
        for (uint32_t k = turns->turn[t].first; k < turns->turn[t].end; k++) {
            uint32_t allocation = allocations->preexisting + k;
            if (finder->verdicts->runs.letter[allocation] == PHASE_BACKWARD &&
                is_gradient(finder, allocation))
                kept_add(finder, own, t + 1, allocation);
        }
    for (uint32_t t = 1; t < turns->count; t++) {
        own->kept_bytes[t] += own->kept_bytes[t - 1];
        own->kept_count[t] += own->kept_count[t - 1];
        own->older_bytes[t] += own->older_bytes[t - 1];
        own->older_count[t] += own->older_count[t - 1];
    }
}

/* Adds those of own->new's first n, sorted, that are gradients. */
static void gradients_add(struct finder *finder, struct gradients *own, uint32_t n) {
    uint32_t nth = 0;
    if (!ARENA_GROW(finder->arena, own->alive, own->alive_capacity, (uint64_t)own->n_alive + n)) {
        finder->failed = true;
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t allocation = own->new[i].value;
        nth = i > 0 && rows_compare(finder->allocations, &own->new[i - 1], &own->new[i]) == 0 ? nth + 1 : 0;
        own->nth[allocation] = nth < NTH_MANY ? (uint16_t)nth : NTH_MANY;
        if (is_gradient(finder, allocation))
            own->alive[own->n_alive++] = allocation;
    }
}

static bool gradients_init(struct gradients *own, struct finder *finder) {
    uint32_t n = finder->allocations->count, turns = finder->verdicts->turns.count;
    size_t n_sums = (size_t)turns + 1;
    struct arena *arena = finder->arena;
    *own = (struct gradients){.counted = arena_bits(arena, n)};
    if (own->counted == NULL || !ARENA_COLUMNS(arena, n, own->nth) ||
        !ARENA_ZEROS(arena, n_sums, own->kept_bytes, own->kept_count, own->older_bytes, own->older_count) ||
        !ARENA_COLUMNS(arena, n_sums, own->forward_moment))
        return false;
    uint32_t next = finder->timeline->n_moments;
    for (uint32_t t = turns; t-- > 0;) {
        uint32_t forward = finder_forward(finder, &finder->verdicts->turns.turn[t]);
        if (forward < finder->verdicts->turns.turn[t].end)
            next = finder->allocations->birth[finder->allocations->preexisting + forward];
        own->forward_moment[t] = next;
    }
    kept_sum(finder, own);
    return true;
}

static void gradients_drop(struct gradients *own, struct finder *finder) {
    ARENA_DROP(finder->arena, own->forward_moment, own->older_count, own->older_bytes, own->kept_count,
               own->kept_bytes, own->counted, own->spare);
    ARENA_DROP(finder->arena, own->new, own->old, own->nth, own->alive);
}

/* Do stacks or annotations show an optimizer? */
static bool optimizer_is_seen(const struct verdicts *verdicts) {
    struct mark_walk walk = {.word = "Optimizer.step#"};
    return phase_runs_has(&verdicts->runs, SIDE_OPTIMIZER) || marks_next(&walk, verdicts->timeline);
}

/* Without a known optimizer, gradients may be accumulated on purpose: freed gradients, or few forwards, lower the
 * confidence. */
static void gradients_weigh(struct finder *finder, const struct gradients *own, struct finding *finding) {
    const struct turns *turns = &finder->verdicts->turns;
    uint32_t freed = 0, n = finder->allocations->count;
    finding->severity = (uint8_t)severity_of_saving(finding->saves, finder->timeline->peak_bytes);
    finding->confidence = CONFIDENCE_CERTAIN;
    if (optimizer_is_seen(finder->verdicts) && turns->source != TURNS_BACKWARD)
        return;
    for (uint32_t i = 0; i < n; i++)
        freed += filter_keeps(own->counted, i) && finder->allocations->request[i] <= finder->made;
    bool unsure = freed > 0 || finding->gradients.n_forwards + 1 < 3;
    finding->confidence = unsure ? CONFIDENCE_POSSIBLE : CONFIDENCE_LIKELY;
    finding->variant = 1;
    if (unsure)
        finding->severity = SEVERITY_LOW;
    else if (finding->severity == SEVERITY_HIGH)
        finding->severity = SEVERITY_MEDIUM;
}

/* Fewer bytes than this are not reported. */
static uint64_t least_told(const struct finder *finder) {
    return finder->timeline->peak_bytes / 1000;
}

static void gradients_report(struct finder *finder, struct gradients *own, struct finding *finding) {
    const struct allocations *allocations = finder->allocations;
    finder_saves(finder, finding);
    if (finding->gradients.n_forwards == 0 || finding->gradients.most_bytes < least_told(finder))
        return;
    for (uint32_t i = 0; i < allocations->count; i++)
        if (filter_keeps(own->counted, i))
            finder_count(finder, finding, i);
    finding->gradients.at_least = own->at_least;
    finding->per_n = (uint32_t)finding->gradients.n_forwards;
    finding->per_bytes /= finding->per_n;
    gradients_weigh(finder, own, finding);
    finder_add(finder, finding);
}

/* Did the turn before make gradients that would be reported if they had stayed? If backward may have added to memory from
 * before the recording, none would be seen: what it makes for a parameter is freed at once, and the few that outlast it
 * belong to activations. So there must be a gradient for every OLDS_PER_GRADIENT older allocations. */
static bool is_judged(struct finder *finder, const struct gradients *own, uint32_t index) {
    const struct turn *turn = &finder->verdicts->turns.turn[index - 1];
    uint32_t first = finder->allocations->preexisting;
    uint64_t made = 0, n_made = 0;
    for (uint32_t i = first + turn->first; i < first + turn->end; i++)
        if (finder->verdicts->runs.letter[i] == PHASE_BACKWARD && is_gradient(finder, i)) {
            made += finder->allocations->size[i];
            n_made++;
        }
    bool unsure =
        own->older_bytes[index] > least_told(finder) || n_made * OLDS_PER_GRADIENT < own->older_count[index];
    finder->gradients_unsure |= unsure;
    return !unsure && made > least_told(finder);
}

/* Does the next turn examine what is alive after this one? A turn whose forward finds nothing kept forgets
 * everything. */
static bool is_handed_on(struct finder *finder, const struct gradients *own, uint32_t index) {
    const struct turns *turns = &finder->verdicts->turns;
    const struct turn *next = &turns->turn[index + 1];
    return index + 1 < turns->count &&
           (own->kept_count[index + 1] != 0 || finder_forward(finder, next) >= next->end);
}

static void turns_measure(struct finder *finder, struct gradients *own, struct finding *finding) {
    const struct turns *turns = &finder->verdicts->turns;
    gradients_add(finder, own, olds_rows(finder, own));
    for (uint32_t i = 0; i < turns->count; i++) {
        uint32_t forward = finder_forward(finder, &turns->turn[i]);
        if ((i > 0 || own->kept_count[0] != 0) && forward < turns->turn[i].end) {
            finder->looked[FINDING_GRADIENTS_KEPT] += i > 0 && is_judged(finder, own, i);
            turn_measure(finder, own, i, forward, finding);
        }
        if (is_handed_on(finder, own, i))
            gradients_add(finder, own, turn_rows(finder, own, &turns->turn[i]));
    }
}

static void gradients_in_turns(struct finder *finder) {
    struct gradients own;
    struct finding finding = {.kind = FINDING_GRADIENTS_KEPT,
                              .unit = (uint8_t)finder_unit(finder),
                              .from_moment = UINT32_MAX,
                              .at_moment = finder->timeline->peak_moment};
    finder->failed |= !gradients_init(&own, finder);
    if (!finder->failed)
        turns_measure(finder, &own, &finding);
    if (!finder->failed)
        gradients_report(finder, &own, &finding);
    gradients_drop(&own, finder);
}

static void gradients_kept_find(struct finder *finder) {
    const struct turns *turns = &finder->verdicts->turns;
    uint32_t before = finder->count;
    bool annotated = turns->source == TURNS_PROFILER_STEP || turns->source == TURNS_OPTIMIZER_MARKS;
    if (turns->count >= 2 && turns->source != TURNS_REPETITION &&
        (finder->verdicts->runs.stacks != STACKS_NATIVE || annotated))
        gradients_in_turns(finder);
    if (!finder->failed && finder->count == before)
        finder_gradients_before(finder);
}

static void gradients_kept_title(struct telling *telling) {
    if (telling->finding->variant == KEPT_BEFORE)
        TELL(telling,
             "Gradients of the step before (%b) are alive in the forward; freed before it, the peak would be "
             "%b",
             telling->finding->bytes, telling_peak_left(telling));
    else
        TELL(telling, "%b of gradients survive into the next forward",
             telling->finding->gradients.most_bytes);
}

static void gradients_kept_detail(struct telling *telling) {
    const struct finding *finding = telling->finding;
    if (finding->variant == KEPT_BEFORE) {
        TELL(telling,
             "%n gradient%s, older than the recording, %(is|are) still there after the first allocations of "
             "this forward.",
             finding->count);
        tell_saving(telling, "Freed before it:");
        return;
    }
    TELL(telling, "%n gradient%s %(is|are) there when a forward begins, in %n %U%s; ",
         finding->gradients.count, finding->gradients.n_forwards);
    if (finding->bytes != 0)
        TELL(telling, "%b of them are in the peak.", finding->bytes);
    else
        tell(telling, "none of them is in the peak.");
    tell_saving(telling, finding->gradients.at_least && finding->saves != 0 ? "Cleared before it: at least"
                                                                            : "Cleared before it:");
    if (finding->variant == 1)
        tell(telling, " No optimizer is seen: if you accumulate on purpose, this is what it costs.");
}

const struct kind kind_gradients_kept = {
    KIND(gradients_kept),
    "Gradients not cleared",
    .flags = KIND_OF_SET,
    .change = "set gradients to None before the next forward",
    .advice.action =
        "Call optimizer.zero_grad(set_to_none=True) right after optimizer.step(), before the next forward.",
    .advice.code = "optimizer.step()\noptimizer.zero_grad(set_to_none=True)"};
