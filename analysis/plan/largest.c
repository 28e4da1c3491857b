#include "analysis/plan/largest.h"

struct trying {
    struct largest *largest;
    const struct largest_request *request;
    struct arena *arena;
    bool failed;
};

static bool run_one(struct trying *trying, const struct program *program, uint64_t budget, bool descending,
                    struct whatif_result *result, struct arena *arena) {
    struct whatif_case what = {.settings = trying->request->settings,
                               .budget_bytes = budget,
                               .device_bytes = trying->request->budget_bytes,
                               .descending = descending};
    bool done = whatif_run(result, program, &what, arena);
    trying->failed |= !done;
    return done;
}

/* In both orders of new addresses; rounded sizes above the budget decide without a replay. */
static bool program_is_served(struct trying *trying, const struct program *program, struct arena *arena) {
    struct whatif_bounds bounds;
    struct whatif_result result;
    if (!whatif_bounds_find(&bounds, program, false, arena)) {
        trying->failed = true;
        return false;
    }
    if (bounds.rounded_peak_bytes > trying->request->budget_bytes)
        return false;
    for (int down = 0; down < 2; down++) {
        trying->largest->n_replays++;
        if (!run_one(trying, program, trying->request->budget_bytes, down != 0, &result, arena) ||
            result.oom.happened || result.endless)
            return false;
    }
    return true;
}

static bool peaks_find(struct trying *trying, const struct program *program, struct arena *arena) {
    struct whatif_result up, down;
    if (!run_one(trying, program, ALLOCATOR_UNLIMITED, false, &up, arena) ||
        !run_one(trying, program, ALLOCATOR_UNLIMITED, true, &down, arena))
        return false;
    bool lower = down.peak_reserved_bytes < up.peak_reserved_bytes;
    trying->largest->peak_min_bytes = lower ? down.peak_reserved_bytes : up.peak_reserved_bytes;
    trying->largest->peak_max_bytes = lower ? up.peak_reserved_bytes : down.peak_reserved_bytes;
    return true;
}

/* Asks a question about the program at one size: is it served, or what are its peaks? */
static bool size_try(struct trying *trying, uint64_t size,
                     bool (*ask)(struct trying *trying, const struct program *program, struct arena *arena)) {
    const struct largest_request *request = trying->request;
    struct extrapolation extrapolation;
    struct arena own;
    bool answer = false;
    if (trying->failed)
        return false;
    arena_init(&own, arena_share(trying->arena), SIZE_MAX);
    if (!extrapolate(&extrapolation, request->a, request->x0, request->b, request->x1, size, &own))
        trying->failed = true;
    else if (extrapolation.refused == NULL)
        answer = ask(trying, &extrapolation.program, &own);
    arena_release(&own);
    return answer;
}

bool largest_find(struct largest *largest, const struct largest_request *request, struct arena *arena) {
    struct trying trying = {largest, request, arena, false};
    uint64_t low = 0, high = request->x1, top = largest_most(request->x1);
    *largest = (struct largest){.settings = request->settings};
    while (low < top && size_try(&trying, high, program_is_served)) {
        low = high;
        high *= 2;
    }
    while (low < top && high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        *(size_try(&trying, middle, program_is_served) ? &low : &high) = middle;
    }
    largest->size = low;
    for (uint64_t size = low + 1; low != 0 && size <= low + LARGEST_ALSO && size <= top; size++)
        if (size_try(&trying, size, program_is_served))
            largest->also[largest->n_also++] = size;
    if (low != 0)
        (void)size_try(&trying, low, peaks_find);
    return !trying.failed;
}
