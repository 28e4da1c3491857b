#include "analysis/loop/steps.h"

#include "analysis/loop/marks.h"
#include "base/bytes.h"
#include "layout/stack_slots.h"

enum {
    MIN_TURNS = 3,     /* fewer repetitions show no period */
    MIN_SIMILAR = 500, /* thousandths; below, what was found is not a step */
    MIN_COVERED = 800, /* thousandths of a stack's span that its regular distances must make up */
    MIN_LOOP = 500     /* thousandths of the allocations that lie inside of the loop */
};

/* ---- annotations ---- */

/* Does the annotation's name begin with `word`? `*rest` is what follows. */
static bool name_begins(const struct trace *trace, uint32_t name, const char *word, const uint8_t **rest,
                        uint32_t *rest_nbytes) {
    uint32_t nbytes, n = 0;
    const uint8_t *bytes = trace_string(trace, name, &nbytes);
    for (; word[n] != '\0'; n++)
        if (n >= nbytes || bytes[n] != (uint8_t)word[n])
            return false;
    *rest = bytes + n;
    *rest_nbytes = nbytes - n;
    return true;
}

/* Boundaries under construction; times rise, so moments do. */
struct marks {
    uint32_t *moment;
    uint32_t count;
};

static void marks_add(struct marks *marks, const struct timeline *timeline, uint32_t moment) {
    if (moment > timeline->n_moments)
        moment = timeline->n_moments;
    if (marks->count == 0 || moment > marks->moment[marks->count - 1])
        marks->moment[marks->count++] = moment;
}

static void marks_settle(struct steps *steps, const struct marks *marks, enum steps_source source) {
    if (marks->count < 3)
        return;
    steps->source = source;
    steps->begin = marks->moment;
    steps->count = marks->count - 1;
}

/* Every START begins a step, and the last END ends the last one. */
static void steps_of_profiler(struct steps *steps, const struct timeline *timeline, struct marks *marks) {
    const struct trace *trace = timeline->trace;
    const uint8_t *rest;
    uint32_t nbytes;
    int64_t last_end_us = INT64_MIN, last_start_us = INT64_MIN;
    for (uint32_t i = 0; i < trace->n_annotations; i++) {
        const struct annotation *annotation = &trace->annotations[i];
        if (!name_begins(trace, annotation->name, "ProfilerStep#", &rest, &nbytes))
            continue;
        if (annotation->stage == ANNOTATION_END) {
            last_end_us = annotation->time_us;
            continue;
        }
        last_start_us = annotation->time_us;
        marks_add(marks, timeline, mark_moment(timeline, last_start_us));
        if (marks->count ==
            1) /* of several that begin before the recording, the last is the one that it shows */
            steps->first_number = mark_digits(rest, nbytes);
    }
    if (last_end_us > last_start_us)
        marks_add(marks, timeline, mark_moment(timeline, last_end_us));
    marks_settle(steps, marks, STEPS_PROFILER_STEP);
}

/* The optimizer that steps most often: of a GAN's two, one is enough. */
static uint32_t optimizer_name(const struct trace *trace, uint32_t *most) {
    const uint8_t *rest;
    uint32_t nbytes, best = 0, seen[8], n_of[8], n_seen = 0;
    *most = 0;
    for (uint32_t i = 0; i < trace->n_annotations; i++) {
        uint32_t name = trace->annotations[i].name, k = 0;
        if (trace->annotations[i].stage != ANNOTATION_END ||
            !name_begins(trace, name, "Optimizer.step#", &rest, &nbytes))
            continue;
        while (k < n_seen && !trace_strings_equal(trace, seen[k], name))
            k++;
        if (k == n_seen && n_seen < 8) {
            seen[n_seen] = name;
            n_of[n_seen++] = 0;
        }
        if (k < n_seen && ++n_of[k] > *most) {
            *most = n_of[k];
            best = name;
        }
    }
    return best;
}

static void steps_of_optimizer(struct steps *steps, const struct timeline *timeline, struct marks *marks) {
    const struct trace *trace = timeline->trace;
    uint32_t n_ends, name = optimizer_name(trace, &n_ends);
    marks->count = 0;
    for (uint32_t i = 0; i < trace->n_annotations && n_ends != 0; i++)
        if (trace->annotations[i].stage == ANNOTATION_END &&
            trace_strings_equal(trace, trace->annotations[i].name, name))
            marks_add(marks, timeline, mark_moment(timeline, trace->annotations[i].time_us));
    marks_settle(steps, marks, STEPS_OPTIMIZER);
}

/* ---- period ---- */

/* The recorded allocations in order of birth are allocations [preexisting, count). */
struct sequence {
    const struct allocations *allocations;
    uint32_t first, count;
    uint32_t n_stacks;
    uint32_t *start; /* [n_stacks + 1] into `at` */
    uint32_t *at;    /* [count] positions, by stack and then rising */
};

static bool sequence_build(struct sequence *sequence, const struct timeline *timeline, struct arena *arena) {
    const struct allocations *allocations = &timeline->device->allocations;
    *sequence = (struct sequence){.allocations = allocations,
                                  .first = allocations->preexisting,
                                  .count = allocations->count - allocations->preexisting,
                                  .n_stacks = timeline->trace->stacks.count};
    sequence->start = arena_column(arena, (uint64_t)sequence->n_stacks + 2, sizeof *sequence->start);
    sequence->at = arena_column(arena, sequence->count, sizeof *sequence->at);
    if (sequence->start == NULL || sequence->at == NULL)
        return false;
    uint32_t *start = sequence->start;
    bytes_zero(start, ((size_t)sequence->n_stacks + 2) * sizeof *start);
    for (uint32_t i = 0; i < sequence->count; i++)
        start[allocations->stack[sequence->first + i] + 2]++;
    for (uint32_t s = 0; s < sequence->n_stacks; s++)
        start[s + 2] += start[s + 1];
    for (uint32_t i = 0; i < sequence->count; i++)
        sequence->at[start[allocations->stack[sequence->first + i] + 1]++] = i;
    return true;
}

/* The mean distance between occurrences, if the distances within a factor of two of it make up nearly all of the
 * span; 0: the stack does not come back regularly. */
static uint32_t regular_distance(const uint32_t *at, uint32_t count) {
    uint64_t span = at[count - 1] - at[0], mean = span / (count - 1), covered = 0;
    for (uint32_t i = 1; i < count; i++) {
        uint64_t distance = at[i] - at[i - 1];
        if (distance * 2 >= mean && distance <= mean * 2)
            covered += distance;
    }
    return mean != 0 && covered * 1000 >= span * MIN_COVERED ? (uint32_t)mean : 0;
}

/* How many stacks come back regularly so many times, over most of the recording. */
static uint32_t turns_find(const struct sequence *sequence, uint32_t *votes, uint32_t n_votes) {
    uint32_t best = 0;
    bytes_zero(votes, (size_t)n_votes * sizeof *votes);
    for (uint32_t s = 1; s < sequence->n_stacks; s++) {
        const uint32_t *at = sequence->at + sequence->start[s];
        uint32_t count = sequence->start[s + 1] - sequence->start[s];
        if (count < MIN_TURNS || count >= n_votes - 1)
            continue;
        uint64_t span = at[count - 1] - at[0];
        if (span * 1000 >= (uint64_t)sequence->count * MIN_LOOP && regular_distance(at, count) != 0)
            votes[count]++;
    }
    /* The last turn may be cut off, so a loop of n turns also has stacks that occur n - 1 times. */
    for (uint32_t n = MIN_TURNS; n + 1 < n_votes; n++)
        if (votes[n] > 0 && (best == 0 || votes[n] + votes[n - 1] > votes[best] + votes[best - 1]))
            best = n;
    return best != 0 && votes[best] + votes[best - 1] >= 2 ? best : 0;
}

/* The stack whose first occurrence is the earliest among those that come back `turns` times. */
static const uint32_t *turns_anchor(const struct sequence *sequence, uint32_t turns) {
    const uint32_t *anchor = NULL;
    for (uint32_t s = 1; s < sequence->n_stacks; s++) {
        const uint32_t *at = sequence->at + sequence->start[s];
        uint32_t count = sequence->start[s + 1] - sequence->start[s];
        if (count == turns && regular_distance(at, count) != 0 && (anchor == NULL || at[0] < anchor[0]))
            anchor = at;
    }
    return anchor;
}

/* A last turn that is about as long as the others is whole. */
static bool last_turn_is_whole(const uint32_t *at, uint32_t turns, uint32_t count) {
    if (turns < 2)
        return false;
    uint64_t mean = (at[turns - 1] - at[0]) / (turns - 1), last = count - at[turns - 1];
    return last * 10 >= mean * 9 && last * 10 <= mean * 11;
}

static bool steps_of_period(struct steps *steps, const struct timeline *timeline, struct marks *marks,
                            struct arena *arena) {
    struct sequence sequence;
    if (!sequence_build(&sequence, timeline, arena))
        return false;
    uint32_t n_votes = sequence.count / MIN_TURNS + 2;
    uint32_t *votes = arena_column(arena, n_votes, sizeof *votes);
    if (votes == NULL)
        return false;
    uint32_t turns = sequence.count == 0 ? 0 : turns_find(&sequence, votes, n_votes);
    const uint32_t *at = turns != 0 ? turns_anchor(&sequence, turns) : NULL;
    marks->count = 0;
    for (uint32_t i = 0; at != NULL && i < turns; i++)
        marks_add(marks, timeline, sequence.allocations->birth[sequence.first + at[i]]);
    if (at != NULL && last_turn_is_whole(at, turns, sequence.count))
        marks_add(marks, timeline, timeline->n_moments);
    marks_settle(steps, marks, STEPS_PERIOD);
    ARENA_DROP(arena, votes);
    ARENA_DROP(arena, sequence.at);
    ARENA_DROP(arena, sequence.start);
    return true;
}

/* ---- how sure ---- */

struct tally {
    uint32_t step; /* + 1 of the last step with this stack; counts of others are stale */
    uint32_t now, before;
};

static void tally_turn(struct tally *tally, uint32_t step) {
    if (tally->step == step + 1)
        return;
    tally->before = tally->step == step ? tally->now : 0;
    tally->now = 0;
    tally->step = step + 1;
}

static void median_insert(uint32_t *sorted, uint32_t count, uint32_t value) {
    uint32_t i = count;
    for (; i > 0 && sorted[i - 1] > value; i--)
        sorted[i] = sorted[i - 1];
    sorted[i] = value;
}

/* Median over the steps but the first, at most 1,000 of them. */
static bool similar_measure(struct steps *steps, const struct timeline *timeline, struct arena *arena) {
    enum { STEPS_MEASURED = 1000 };
    const struct allocations *allocations = &timeline->device->allocations;
    struct stack_slots slots;
    if (!stack_slots_init(&slots, timeline->trace, allocations->stack, allocations->count, arena))
        return false;
    struct tally *tally = arena_column(arena, slots.count, sizeof *tally);
    uint32_t *similar = arena_column(arena, STEPS_MEASURED, sizeof *similar), n_similar = 0;
    if (tally == NULL || similar == NULL)
        return false;
    bytes_zero(tally, slots.count * sizeof *tally);
    uint32_t allocation = allocations->preexisting;
    while (allocation < allocations->count && allocations->birth[allocation] < steps->begin[0])
        allocation++;
    for (uint32_t step = 0; step < steps->count && n_similar < STEPS_MEASURED; step++) {
        uint32_t matched = 0, all = 0;
        for (; allocation < allocations->count && allocations->birth[allocation] < steps->begin[step + 1];
             allocation++, all++) {
            struct tally *own = &tally[stack_slot(&slots, allocations->stack[allocation])];
            tally_turn(own, step);
            matched += own->now++ < own->before;
        }
        if (step > 0 && all > 0)
            median_insert(similar, n_similar++, (uint32_t)((uint64_t)matched * 1000 / all));
    }
    steps->similar_permil = n_similar == 0 ? 0 : similar[n_similar / 2];
    ARENA_DROP(arena, tally);
    ARENA_DROP(arena, similar);
    stack_slots_drop(&slots, arena);
    return true;
}

/* ---- entry ---- */

bool steps_find(struct steps *steps, const struct timeline *timeline, struct arena *arena) {
    *steps = (struct steps){0};
    uint64_t most = (uint64_t)timeline->trace->n_annotations + timeline->device->allocations.count + 2;
    struct marks marks = {.moment = arena_column(arena, most, sizeof *marks.moment)};
    if (marks.moment == NULL)
        return false;
    if (timeline_timed(timeline)) {
        steps_of_profiler(steps, timeline, &marks);
        if (steps->source == STEPS_NONE)
            steps_of_optimizer(steps, timeline, &marks);
    }
    if (steps->source == STEPS_NONE && !steps_of_period(steps, timeline, &marks, arena))
        return false;
    if (steps->source != STEPS_NONE && !similar_measure(steps, timeline, arena))
        return false;
    if (steps->source == STEPS_PERIOD && steps->similar_permil < MIN_SIMILAR)
        *steps = (struct steps){0};
    return true;
}
