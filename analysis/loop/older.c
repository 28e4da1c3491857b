#include "analysis/loop/older.h"

#include "analysis/loop/older_internal.h"
#include "base/bytes.h"
#include "base/hashed.h"

const char *const older_source_name[] = {
    [OLDER_NONE] = "none", [OLDER_GRADIENTS] = "gradients", [OLDER_OPTIMIZER] = "optimizer"};

/* ---- allocations with the sizes of the parameters ---- */

/* Allocations that one backward keeps, or that one line makes in one run of the optimizer. */
struct group {
    uint32_t run, slot; /* the run, and in an optimizer's run the slot of the line's stack */
    uint64_t bytes;
};

static bool group_has(const struct naming *naming, const struct group *group, uint32_t allocation) {
    if (naming->runs->run[group->run].side == SIDE_BACKWARD)
        return naming->category[allocation] == CATEGORY_GRADIENT;
    return id_slot(&naming->runs->slots, naming->allocations->stack[allocation]) == group->slot;
}

/* The next member of the group from a recorded allocation on; UINT32_MAX: none. */
static uint32_t group_next(const struct naming *naming, const struct group *group, uint32_t from) {
    const struct phase_run *run = &naming->runs->run[group->run];
    for (uint32_t k = from > run->first ? from : run->first; group->bytes != 0 && k <= run->last; k++)
        if (group_has(naming, group, naming->runs->first_allocation + k))
            return k;
    return UINT32_MAX;
}

static void gradients_find(const struct naming *naming, struct group *best) {
    const struct phase_runs *runs = naming->runs;
    for (uint32_t r = 0; r < runs->count; r++) {
        uint64_t bytes = 0;
        if (runs->run[r].side != SIDE_BACKWARD)
            continue;
        for (uint32_t k = runs->run[r].first; k <= runs->run[r].last; k++)
            if (naming->category[runs->first_allocation + k] == CATEGORY_GRADIENT)
                bytes += naming->allocations->size[runs->first_allocation + k];
        if (bytes > best->bytes)
            *best = (struct group){.run = r, .bytes = bytes};
    }
}

/* Bytes of each stack in the current run. */
struct stack_sum {
    uint32_t run; /* + 1 */
    uint64_t bytes;
};

static struct stack_sum *sum_of(const struct naming *naming, struct stack_sum *sums, uint32_t run,
                                uint32_t allocation) {
    struct stack_sum *sum = &sums[id_slot(&naming->runs->slots, naming->allocations->stack[allocation])];
    if (sum->run != run + 1)
        *sum = (struct stack_sum){.run = run + 1};
    return sum;
}

static void optimizer_find(const struct naming *naming, struct stack_sum *sums, struct group *best) {
    const struct phase_runs *runs = naming->runs;
    for (uint32_t r = 0; r < runs->count; r++)
        for (uint32_t k = runs->run[r].first; runs->run[r].side == SIDE_OPTIMIZER && k <= runs->run[r].last;
             k++) {
            uint32_t allocation = runs->first_allocation + k;
            struct stack_sum *sum = sum_of(naming, sums, r, allocation);
            sum->bytes += naming->allocations->size[allocation];
            if (sum->bytes > best->bytes)
                *best = (struct group){r, id_slot(&runs->slots, naming->allocations->stack[allocation]),
                                       sum->bytes};
        }
}

/* The different sizes of a group. */
static bool group_sizes(const struct naming *naming, const struct group *group, struct size_set *set,
                        struct arena *arena) {
    uint32_t n = 0, count = 0;
    for (uint32_t k = group_next(naming, group, 0); k != UINT32_MAX; k = group_next(naming, group, k + 1))
        count++;
    struct sort_row *rows = arena_column(arena, (uint64_t)count * 2, sizeof *rows);
    if (rows == NULL)
        return false;
    for (uint32_t k = group_next(naming, group, 0); k != UINT32_MAX; k = group_next(naming, group, k + 1))
        rows[n++] = (struct sort_row){naming->allocations->size[naming->runs->first_allocation + k], k};
    sort_rows(rows, rows + count, n);
    bool done = size_set_init(set, rows, n, arena);
    ARENA_DROP(arena, rows);
    return done;
}

/* Chooses a line that makes one allocation for each parameter. The line with the most bytes may make two, as foreach
 * does; another line of the run with all of its sizes but fewer bytes makes one. False: no memory. */
static bool optimizer_narrow(const struct naming *naming, struct group *best, struct arena *arena) {
    const struct phase_runs *runs = naming->runs;
    struct size_set wanted;
    if (!group_sizes(naming, best, &wanted, arena))
        return false;
    uint32_t *seen = arena_column(arena, (uint64_t)wanted.count, sizeof *seen);
    bool done = seen != NULL;
    const struct phase_run *run = &runs->run[best->run];
    struct group own = {.run = best->run};
    struct sort_row *rows, *spare;
    done = ARENA_COLUMNS(arena, (uint64_t)run->last - run->first + 1, rows, spare) && done;
    uint32_t n = 0;
    for (uint32_t k = run->first; done && k <= run->last; k++)
        rows[n++] = (struct sort_row){
            id_slot(&runs->slots, naming->allocations->stack[runs->first_allocation + k]), k};
    if (done)
        sort_rows(rows, spare, n);
    for (uint32_t from = 0, to; from < n; from = to) {
        uint32_t n_sizes = 0;
        own.slot = (uint32_t)rows[from].key;
        own.bytes = 0;
        bytes_zero(seen, wanted.count * sizeof *seen);
        for (to = from; to < n && rows[to].key == rows[from].key; to++) {
            uint64_t size = naming->allocations->size[runs->first_allocation + rows[to].value];
            uint32_t at = size_set_at(&wanted, size);
            own.bytes += size;
            n_sizes += at != SIZE_NONE && seen[at]++ == 0;
        }
        if (n_sizes == wanted.count && own.bytes < best->bytes)
            *best = own;
    }
    ARENA_DROP(arena, spare, rows, seen, wanted.nbytes);
    return done;
}

static uint64_t signature_of(const struct naming *naming, const struct group *group) {
    uint64_t sum = 0;
    for (uint32_t k = group_next(naming, group, 0); k != UINT32_MAX; k = group_next(naming, group, k + 1))
        sum += hash_mix(0, naming->allocations->size[naming->runs->first_allocation + k]);
    return group->bytes != 0 && sum == 0 ? 1 : sum;
}

/* False: no memory. */
static bool source_find(struct naming *naming, struct group *gradients, struct group *chosen,
                        struct older *older, struct arena *arena) {
    const struct phase_runs *runs = naming->runs;
    struct group optimizer = {0};
    uint32_t n_backward = 0;
    struct stack_sum *sums = arena_zeros(arena, runs->slots.count, sizeof *sums);
    if (sums == NULL)
        return false;
    for (uint32_t r = 0; r < runs->count; r++)
        n_backward += runs->run[r].side == SIDE_BACKWARD;
    naming->has_backward = n_backward > 0;
    naming->begins_backward = runs->count > 0 && runs->run[0].side == SIDE_BACKWARD;
    gradients_find(naming, gradients);
    optimizer_find(naming, sums, &optimizer);
    bool cut = n_backward == 1 && naming->begins_backward;
    bool done = true;
    if (optimizer.bytes != 0 && (gradients->bytes == 0 || cut || optimizer.bytes / 4 >= gradients->bytes))
        done = optimizer_narrow(naming, &optimizer, arena);
    bool added = optimizer.bytes / 4 >= gradients->bytes && optimizer.bytes > gradients->bytes * 4;
    if (gradients->bytes != 0 && !cut && !added)
        older->source = OLDER_GRADIENTS;
    else if (optimizer.bytes != 0)
        older->source = OLDER_OPTIMIZER;
    *chosen = older->source == OLDER_GRADIENTS ? *gradients : optimizer;
    older->signature = signature_of(naming, gradients->bytes != 0 ? gradients : &optimizer);
    naming->source = older->source;
    ARENA_DROP(arena, sums);
    return done;
}

/* ---- multisets ---- */

static void group_count(struct naming *naming, const struct group *group, uint32_t *counts) {
    for (uint32_t k = group_next(naming, group, 0); k != UINT32_MAX; k = group_next(naming, group, k + 1)) {
        uint32_t at = size_at(naming, naming->runs->first_allocation + k);
        counts[at] += at != SIZE_NONE;
    }
}

/* The sizes of all older memory and of the parameters. */
static bool sizes_collect(struct naming *naming, const struct group *gradients, const struct group *chosen,
                          struct arena *arena) {
    uint32_t n_older = naming->runs->first_allocation, n = 0;
    const struct group *groups[] = {gradients, chosen};
    uint64_t most = n_older;
    for (uint32_t g = 0; g < 2; g++)
        if (groups[g]->bytes != 0)
            most += naming->runs->run[groups[g]->run].last - naming->runs->run[groups[g]->run].first + 1;
    struct sort_row *rows = arena_column(arena, (uint64_t)most * 2, sizeof *rows);
    if (rows == NULL)
        return false;
    for (; n < n_older; n++)
        rows[n] = (struct sort_row){naming->allocations->size[n], n};
    for (uint32_t g = 0; g < 2; g++)
        for (uint32_t k = group_next(naming, groups[g], 0); k != UINT32_MAX;
             k = group_next(naming, groups[g], k + 1))
            rows[n++] = (struct sort_row){naming->allocations->size[naming->runs->first_allocation + k], k};
    sort_rows(rows, rows + most, n);
    bool done = size_set_init(&naming->sizes, rows, n, arena);
    ARENA_DROP(arena, rows);
    return done;
}

static bool counts_fill(struct naming *naming, const struct group *gradients, const struct group *chosen,
                        struct arena *arena) {
    if (!sizes_collect(naming, gradients, chosen, arena) ||
        !ARENA_ZEROS(arena, naming->sizes.count, naming->parameters, naming->gradients, naming->held,
                     naming->states, naming->carry))
        return false;
    group_count(naming, gradients, naming->gradients);
    if (naming->source != OLDER_NONE)
        group_count(naming, chosen, naming->parameters);
    return true;
}

/* Counts recorded allocations of each size: optimizer state, and those carried from turn to turn. */
static void recorded_count(struct naming *naming) {
    const struct turns *turns = naming->turns;
    uint32_t first = naming->runs->first_allocation, next = 0;
    for (uint32_t i = first; i < naming->allocations->count; i++) {
        uint8_t category = naming->category[i];
        while (next < turns->count && turns->turn[next].begin_moment <= naming->allocations->birth[i])
            next++;
        bool carried = turns->count >= 2 && next < turns->count && category != CATEGORY_OTHER &&
                       category != CATEGORY_PARAMETER &&
                       naming->allocations->request[i] >= turns->turn[next].begin_moment;
        if (!carried && category != CATEGORY_OPTIMIZER_STATE)
            continue;
        uint32_t at = size_at(naming, i);
        if (at == SIZE_NONE)
            continue;
        naming->states[at] += category == CATEGORY_OPTIMIZER_STATE;
        naming->carry[at] |= carried ? 1u << category : 0;
    }
}

/* ---- freed or held ---- */

static bool is_freed(const struct naming *naming, uint32_t allocation) {
    uint32_t let_go = naming->allocations->request[allocation];
    return let_go < naming->timeline->n_moments && !(naming->exits && let_go > naming->made);
}

/* If almost nothing is alive at the end, frees after the last allocation mean that the program exits. */
static void exit_find(struct naming *naming, struct older *older) {
    const struct allocations *allocations = naming->allocations;
    uint64_t held = 0;
    naming->made =
        naming->runs->n_allocations > 0 ? allocations->birth[allocations->count - 1] : naming->made;
    for (uint32_t i = 0; i < naming->runs->first_allocation; i++) {
        older->bytes += allocations->size[i];
        held += allocations->request[i] < naming->timeline->n_moments ? 0 : allocations->size[i];
    }
    naming->exits = older->exits = held < older->bytes / 10;
}

/* Older allocations without a category, by address, then by size, then (if freed) by gap. NULL: no memory. */
static struct sort_row *unnamed_rows(struct naming *naming, bool freed, uint32_t *count,
                                     struct arena *arena) {
    const struct allocations *allocations = naming->allocations;
    uint32_t n = 0;
    for (uint32_t i = 0; i < naming->runs->first_allocation; i++)
        n += is_unnamed(naming, i) && is_freed(naming, i) == freed;
    struct sort_row *rows, *spare;
    *count = 0;
    if (!ARENA_COLUMNS(arena, n, rows, spare))
        return NULL;
    for (uint32_t i = 0; i < naming->runs->first_allocation; i++)
        if (is_unnamed(naming, i) && is_freed(naming, i) == freed)
            rows[(*count)++] = (struct sort_row){allocations->address[i], i};
    sort_rows(rows, spare, n);
    SORT_AGAIN(rows, spare, n, own, allocations->size[own]);
    for (uint32_t i = 0; freed && i < n; i++)
        rows[i].key = recorded_from(naming->runs, allocations->request[rows[i].value]);
    if (freed)
        sort_rows(rows, spare, n);
    ARENA_DROP(arena, spare);
    return rows;
}

static void held_count(struct naming *naming) {
    for (uint32_t i = 0; i < naming->runs->first_allocation; i++)
        if (!is_freed(naming, i))
            naming->held[size_at(naming, i)]++;
}

static void named_sum(const struct naming *naming, struct older *older) {
    older->named_bytes = 0;
    for (uint32_t i = 0; i < naming->runs->first_allocation; i++)
        older->named_bytes += naming->category[i] == CATEGORY_OTHER || naming->category[i] == CATEGORY_UNKNOWN
                                  ? 0
                                  : naming->allocations->size[i];
}

static bool all_name(struct naming *naming, struct older *older, struct arena *arena) {
    uint32_t n_freed, n_held;
    exit_find(naming, older);
    recorded_count(naming);
    held_count(naming);
    struct sort_row *freed = unnamed_rows(naming, true, &n_freed, arena);
    if (freed == NULL || !freed_name(naming, freed, n_freed, arena))
        return false;
    struct sort_row *held = unnamed_rows(naming, false, &n_held, arena);
    bool done = held != NULL && held_name(naming, held, n_held, &older->copies, arena);
    ARENA_DROP(arena, held, freed);
    pools_name(naming);
    named_sum(naming, older);
    return done;
}

bool older_name(struct older *older, const struct timeline *timeline, const struct phase_runs *runs,
                const struct turns *turns, uint8_t *category, uint8_t *reason, struct arena *arena) {
    struct naming naming = {.timeline = timeline,
                            .allocations = &timeline->device->allocations,
                            .runs = runs,
                            .turns = turns,
                            .category = category,
                            .reason = reason};
    struct group gradients = {0}, chosen = {0};
    *older = (struct older){0};
    bool done = source_find(&naming, &gradients, &chosen, older, arena);
    if (done && runs->first_allocation > 0)
        done = counts_fill(&naming, &gradients, &chosen, arena) && all_name(&naming, older, arena);
    ARENA_DROP(arena, naming.carry, naming.states, naming.held, naming.gradients, naming.parameters,
               naming.sizes.nbytes);
    return done;
}
