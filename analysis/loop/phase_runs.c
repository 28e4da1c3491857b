#include "analysis/loop/phase_runs.h"

#include "analysis/loop/frame_bits.h"
#include "analysis/loop/marks.h"
#include "base/assert.h"
#include "base/search.h"

enum {
    ABSORBED_MOST = 32, /* the longest run that its neighbours absorb */
    ABSORBED_SHARE = 20 /* and at most this fraction of the smaller neighbour */
};

static uint8_t letter_of_bits(uint32_t bits) {
    if (bits & BIT_BACKWARD_WITHIN)
        return PHASE_FORWARD;
    if (bits & BIT_BACKWARD)
        return bits & BIT_OPTIMIZER_INSIDE ? PHASE_OPTIMIZER : PHASE_BACKWARD;
    if (bits & BIT_OPTIMIZER)
        return bits & BIT_FORWARD_INSIDE ? PHASE_FORWARD : PHASE_OPTIMIZER;
    if (bits & BIT_FORWARD)
        return PHASE_FORWARD;
    if (bits & BIT_PYTHON)
        return PHASE_HOST;
    if (bits & BIT_KERNEL)
        return PHASE_BACKWARD;
    return bits == 0 ? PHASE_UNKNOWN : PHASE_HOST;
}

static enum stack_kind kind_of_stacks(const struct phase_runs *runs, const struct allocations *allocations) {
    uint64_t n_stacks = 0, n_python = 0, n_native = 0;
    for (uint32_t i = runs->first_allocation; i < allocations->count; i++) {
        uint32_t bits = runs->stack_bits[allocations->stack[i]];
        n_stacks += allocations->stack[i] != 0;
        n_python += (bits & BIT_PYTHON) != 0;
        n_native += (bits & BIT_NATIVE) != 0;
    }
    if (n_stacks * 10 < runs->n_allocations || n_stacks == 0)
        return STACKS_NONE;
    if (n_native * 20 < n_stacks)
        return STACKS_PYTHON;
    return n_python * 20 < n_stacks ? STACKS_NATIVE : STACKS_MIXED;
}

/* Do stacks of the recording show where the program begins? */
static bool has_roots(const struct phase_runs *runs, const struct allocations *allocations) {
    for (uint32_t i = runs->first_allocation; i < allocations->count; i++)
        if (runs->stack_bits[allocations->stack[i]] & BIT_ROOT)
            return true;
    return false;
}

/* Autograd's own thread has no Python frames but those of hooks: if only Python was recorded, it made the allocations
 * whose stack does not begin where the program or a thread of it does, and follows others of that thread. */
static void letters_by_stack(struct phase_runs *runs, const struct allocations *allocations) {
    uint8_t before = PHASE_HOST;
    bool rooted = runs->stacks == STACKS_PYTHON && has_roots(runs, allocations);
    for (uint32_t i = 0; i < runs->first_allocation; i++)
        runs->letter[i] = allocations->flags[i] & ALLOCATION_STACK_OF_FREE
                              ? (uint8_t)PHASE_UNKNOWN
                              : letter_of_bits(runs->stack_bits[allocations->stack[i]]);
    for (uint32_t i = runs->first_allocation; i < allocations->count; i++) {
        uint32_t bits = runs->stack_bits[allocations->stack[i]];
        uint8_t letter = letter_of_bits(bits);
        if (runs->stacks == STACKS_NONE)
            letter = PHASE_HOST;
        else if (letter == PHASE_UNKNOWN ||
                 (rooted && !(bits & BIT_ROOT) && before == PHASE_BACKWARD && letter != PHASE_OPTIMIZER))
            letter = runs->stacks == STACKS_PYTHON ? PHASE_BACKWARD : before;
        runs->letter[i] = before = letter;
    }
}

/* Allocations inside Optimizer.step, except those of backward, belong to the optimizer. */
static void letters_by_annotations(struct phase_runs *runs, const struct timeline *timeline) {
    const struct allocations *allocations = &timeline->device->allocations;
    struct mark_walk walk = {.word = "Optimizer.step#"};
    uint32_t allocation = runs->first_allocation, depth = 0;
    if (runs->stacks == STACKS_NONE)
        return;
    while (marks_next(&walk, timeline)) {
        for (; allocation < allocations->count && allocations->birth[allocation] < walk.moment;
             allocation++) {
            bool host = runs->letter[allocation] == PHASE_HOST ||
                        (runs->stacks == STACKS_NATIVE && runs->letter[allocation] != PHASE_BACKWARD);
            if (depth > 0 && host)
                runs->letter[allocation] = PHASE_OPTIMIZER;
        }
        if (walk.stage == ANNOTATION_START)
            depth++;
        else if (depth > 0)
            depth--;
    }
}

struct letter_run {
    uint32_t first, count;
    uint8_t letter;
    bool from_python; /* its first allocation has a Python frame */
};

static bool run_is_swallowed(const struct letter_run *before, const struct letter_run *own,
                             const struct letter_run *behind, enum stack_kind stacks) {
    enum run_side side = side_of_letter(before->letter);
    uint32_t smaller = before->count < behind->count ? before->count : behind->count;
    if (side != side_of_letter(behind->letter) || side == SIDE_FORWARD || own->count > ABSORBED_MOST)
        return false;
    if (side == SIDE_OPTIMIZER || (uint64_t)own->count * ABSORBED_SHARE <= smaller)
        return true;
    /* A hook inside one backward runs no model. A separate backward would begin with a gradient that Python makes. */
    return stacks == STACKS_MIXED && own->letter == PHASE_HOST && !behind->from_python;
}

/* Joins adjacent runs of equal letters, from the end of the list on. */
static uint32_t runs_fold(struct letter_run *run, uint32_t count, enum stack_kind stacks) {
    while (count >= 2) {
        if (run[count - 2].letter == run[count - 1].letter) {
            run[count - 2].count += run[count - 1].count;
            count--;
        } else if (count >= 3 &&
                   run_is_swallowed(&run[count - 3], &run[count - 2], &run[count - 1], stacks)) {
            run[count - 3].count += run[count - 2].count + run[count - 1].count;
            count -= 2;
        } else
            break;
    }
    return count;
}

/* The end of the letters that are equal to the one at `from`. */
static uint32_t letters_end(const uint8_t *letter, uint32_t from, uint32_t count) {
    uint32_t end = from + 1;
    while (end < count && letter[end] == letter[from])
        end++;
    return end;
}

static uint32_t letter_runs_count(const struct phase_runs *runs) {
    const uint8_t *letter = runs->letter + runs->first_allocation;
    uint32_t n = 0;
    for (uint32_t k = 0; k < runs->n_allocations; k++)
        n += k == 0 || letter[k] != letter[k - 1];
    return n;
}

/* Makes runs of equal letters, and gives absorbed runs the letter of their neighbours. False: no memory. */
static bool letters_smooth(struct phase_runs *runs, const struct allocations *allocations,
                           struct arena *arena) {
    uint8_t *letter = runs->letter + runs->first_allocation;
    struct letter_run *run = arena_column(arena, letter_runs_count(runs), sizeof *run);
    uint32_t count = 0;
    if (run == NULL)
        return false;
    for (uint32_t k = 0, end; k < runs->n_allocations; k = end) {
        end = letters_end(letter, k, runs->n_allocations);
        uint32_t bits = runs->stack_bits[allocations->stack[runs->first_allocation + k]];
        run[count++] = (struct letter_run){k, end - k, letter[k], (bits & BIT_PYTHON) != 0};
        count = runs_fold(run, count, runs->stacks);
    }
    for (uint32_t i = 0; i < count; i++)
        if (side_of_letter(run[i].letter) != SIDE_FORWARD)
            for (uint32_t k = run[i].first; k < run[i].first + run[i].count; k++)
                letter[k] = run[i].letter;
    ARENA_DROP(arena, run);
    return true;
}

static bool sides_build(struct phase_runs *runs, struct arena *arena) {
    const uint8_t *letter = runs->letter + runs->first_allocation;
    uint32_t next = UINT32_MAX;
    runs->run = arena_column(arena, letter_runs_count(runs), sizeof *runs->run); /* sides change less often */
    if (runs->run == NULL)
        return false;
    for (uint32_t k = 0, end; k < runs->n_allocations; k = end) {
        end = letters_end(letter, k, runs->n_allocations);
        uint8_t side = (uint8_t)side_of_letter(letter[k]);
        if (k == 0 || side != runs->run[runs->count - 1].side)
            runs->run[runs->count++] = (struct phase_run){.first = k, .side = side};
        runs->run[runs->count - 1].last = end - 1;
        runs->run[runs->count - 1].has_forward |= letter[k] == PHASE_FORWARD;
    }
    for (uint32_t i = runs->count; i-- > 0;) {
        runs->run[i].next_backward = next;
        if (runs->run[i].side == SIDE_BACKWARD)
            next = i;
    }
    return true;
}

enum { BORN_MOMENTS = 16 };

static bool births_count(struct phase_runs *runs, struct arena *arena) {
    const uint32_t n = runs->n_moments / BORN_MOMENTS + 2;
    runs->born = arena_column(arena, n, sizeof *runs->born);
    for (uint32_t i = 0, k = 0; runs->born != NULL && i < n; i++) {
        while (k < runs->n_allocations && runs->birth[k] < (uint64_t)i * BORN_MOMENTS)
            k++;
        runs->born[i] = k;
    }
    return runs->born != NULL;
}

uint32_t recorded_from(const struct phase_runs *runs, uint32_t moment) {
    if (moment >= runs->n_moments)
        return runs->n_allocations;
    const uint32_t *born = &runs->born[moment / BORN_MOMENTS];
    uint32_t k = SEARCH(born[0], born[1], i, runs->birth[i] < moment);
    assert((k == 0 || runs->birth[k - 1] < moment) && (k == runs->n_allocations || runs->birth[k] >= moment));
    return k;
}

bool phase_runs_find(struct phase_runs *runs, const struct timeline *timeline, struct arena *arena) {
    const struct allocations *allocations = &timeline->device->allocations;
    const struct trace *trace = timeline->trace;
    *runs = (struct phase_runs){.first_allocation = allocations->preexisting,
                                .n_allocations = allocations->count - allocations->preexisting,
                                .n_moments = timeline->n_moments};
    if (runs->n_allocations != 0)
        runs->birth = allocations->birth + allocations->preexisting;
    if (!ARENA_COLUMNS(arena, trace->frames.count, runs->frame_bits) ||
        !ARENA_COLUMNS(arena, trace->stacks.count, runs->stack_bits) ||
        !ARENA_COLUMNS(arena, allocations->count, runs->letter) || !births_count(runs, arena) ||
        !frames_bits(trace, runs->frame_bits, arena))
        return false;
    stacks_bits(trace, runs->frame_bits, runs->stack_bits);
    runs->stacks = kind_of_stacks(runs, allocations);
    letters_by_stack(runs, allocations);
    letters_by_annotations(runs, timeline);
    return id_slots_init(&runs->slots, trace->stacks.count, allocations->stack, allocations->count, arena) &&
           letters_smooth(runs, allocations, arena) && sides_build(runs, arena);
}

bool phase_runs_has(const struct phase_runs *runs, enum run_side side) {
    for (uint32_t i = 0; i < runs->count; i++)
        if (runs->run[i].side == side)
            return true;
    return false;
}

bool phase_runs_has_forward(const struct phase_runs *runs) {
    for (uint32_t i = 0; i < runs->count; i++)
        if (runs->run[i].has_forward)
            return true;
    return false;
}

uint32_t phase_runs_at(const struct phase_runs *runs, uint32_t recorded) {
    /* the first run after it */
    uint32_t low = SEARCH(0, runs->count, i, runs->run[i].first <= recorded);
    assert(low > 0 && recorded <= runs->run[low - 1].last);
    return low - 1;
}
