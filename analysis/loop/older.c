#include "analysis/loop/older.h"

#include "analysis/loop/frame_bits.h"
#include "analysis/loop/size_set.h"
#include "base/bits.h"
#include "base/bytes.h"
#include "base/numbers.h"

const char *const older_source_name[] = {
    [OLDER_NONE] = "none", [OLDER_GRADIENTS] = "gradients", [OLDER_OPTIMIZER] = "optimizer"};

enum {
    IN_FLIGHT = 32,             /* allocations of a backward that the recording begins in */
    GRAPH_LEAST = 8,            /* freed at once, they are a graph */
    WORTH_NBYTES = 1024,        /* smaller ones are many, with few sizes */
    WORKSPACE_NBYTES = 8519680, /* cuBLAS's default */
    NEW_WORKSPACE_NBYTES = 33554432,
    COPIES_MOST = 8,
    KINDS_MOST = 4,
    /* A copy is there or is not: with all of its bytes, or with the few of other memory of the same sizes. */
    COPY_PERCENT = 75,
    SIZES_LEAST = 3 /* fewer may be chance */
};

struct naming {
    const struct timeline *timeline;
    const struct allocations *allocations;
    const struct phase_runs *runs;
    uint8_t *category, *reason; /* reason may be NULL */
    enum older_source source;
    struct size_set sizes;            /* the arrays below have its indices */
    uint32_t *parameters, *gradients; /* of one step, by the source; by the recorded backwards */
    uint32_t *states;                 /* recorded allocations of optimizer state */
    uint32_t *held;                   /* older memory that still exists at the end */
    uint32_t *now;                    /* room for one more multiset */
    uint32_t made;                    /* moment of the last recorded birth */
    bool exits;                       /* what is freed after it counts as held */
    bool has_backward, begins_backward, zero_grad_seen;
    bool gradients_held; /* each parameter has one, to which a backward adds */
};

static uint32_t size_at(struct naming *naming, uint32_t allocation) {
    return size_set_at(&naming->sizes, naming->allocations->size[allocation]);
}

static uint64_t bytes_of(const struct naming *naming, const uint32_t *counts) {
    return size_set_bytes(&naming->sizes, counts);
}

static uint32_t bits_of(const struct naming *naming, uint32_t allocation) {
    return naming->runs->stack_bits[naming->allocations->stack[allocation]];
}

static bool is_unnamed(const struct naming *naming, uint32_t allocation) {
    return naming->category[allocation] == CATEGORY_OTHER && !(bits_of(naming, allocation) & BIT_CACHE) &&
           naming->timeline->trace->contexts.context[naming->allocations->context[allocation]].category == 0;
}

/* `reason`: REASON_BY_SIZE, or REASON_NONE if the stack or the place of its free tells. */
static void name_as(struct naming *naming, uint32_t allocation, enum category category,
                    enum category_reason reason) {
    naming->category[allocation] = (uint8_t)category;
    if (naming->reason != NULL)
        naming->reason[allocation] = (uint8_t)reason;
}

/* ---- the sizes of the parameters ---- */

static bool is_sized(const struct naming *naming, uint32_t allocation, enum run_side side) {
    uint8_t category = naming->category[allocation];
    return allocation < naming->runs->first_allocation || side == SIDE_OPTIMIZER ||
           category == CATEGORY_GRADIENT || category == CATEGORY_PARAMETER;
}

/* The sizes of all that is older, of parameters and gradients, and of what optimizers make. False: no memory. */
static bool sizes_collect(struct naming *naming, struct arena *arena) {
    const struct phase_runs *runs = naming->runs;
    uint32_t count = naming->allocations->count, n = 0;
    struct sort_row *rows, *spare;
    if (!ARENA_COLUMNS(arena, count, rows, spare))
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (is_sized(naming, i, side_of_letter(runs->letter[i])))
            rows[n++] = (struct sort_row){naming->allocations->size[i], i};
    sort_rows(rows, spare, n);
    bool done = size_set_init(&naming->sizes, rows, n, arena);
    ARENA_DROP(arena, spare, rows);
    return done && ARENA_ZEROS(arena, naming->sizes.count, naming->parameters, naming->gradients,
                               naming->states, naming->held, naming->now);
}

/* A backward makes at most one gradient for each parameter: counts the most of each size that one backward keeps. A
 * GAN's backwards have different parameters, and accumulation adds to gradients that are there. */
static void gradients_count(struct naming *naming) {
    const struct phase_runs *runs = naming->runs;
    bool others = false;
    for (uint32_t r = 1; r < runs->count; r++)
        others |= runs->run[r].side == SIDE_BACKWARD;
    for (uint32_t r = naming->begins_backward && others; r < runs->count; r++) {
        if (runs->run[r].side != SIDE_BACKWARD)
            continue;
        for (uint32_t round = 0; round < 2; round++)
            for (uint32_t k = runs->run[r].first; k <= runs->run[r].last; k++) {
                uint32_t i = runs->first_allocation + k, at;
                if (naming->category[i] != CATEGORY_GRADIENT)
                    continue;
                at = size_at(naming, i);
                if (round == 1)
                    naming->now[at] = 0;
                else if (++naming->now[at] > naming->gradients[at])
                    naming->gradients[at] = naming->now[at];
            }
    }
}

/* What one line of an optimizer makes in one run: rows [from, to). */
struct line {
    uint32_t from, to;
    uint32_t n_sizes, n_wanted; /* distinct sizes; those of them with a count */
    uint64_t bytes;
};

/* The line that begins at row `from`. */
static struct line line_of(struct naming *naming, const struct sort_row *rows, uint32_t n, uint32_t from,
                           const uint32_t *counts) {
    struct line line = {.from = from, .to = from};
    for (; line.to < n && rows[line.to].key == rows[from].key; line.to++) {
        uint32_t at = size_at(naming, rows[line.to].value);
        bool first = naming->now[at]++ == 0;
        line.n_sizes += first;
        line.n_wanted += first && counts[at] != 0;
        line.bytes += naming->allocations->size[rows[line.to].value];
    }
    for (uint32_t i = from; i < line.to; i++)
        naming->now[size_at(naming, rows[i].value)] = 0;
    return line;
}

static void line_count(struct naming *naming, const struct sort_row *rows, const struct line *line,
                       uint32_t *counts) {
    for (uint32_t i = line->from; i < line->to; i++)
        counts[size_at(naming, rows[i].value)] = 0;
    for (uint32_t i = line->from; i < line->to; i++)
        counts[size_at(naming, rows[i].value)]++;
}

/* The run of the optimizer with the most bytes; NULL: none. */
static const struct phase_run *optimizer_run(const struct naming *naming) {
    const struct phase_runs *runs = naming->runs;
    const struct phase_run *best = NULL;
    uint64_t most = 0;
    for (uint32_t r = 0; r < runs->count; r++) {
        uint64_t bytes = 0;
        for (uint32_t k = runs->run[r].first; runs->run[r].side == SIDE_OPTIMIZER && k <= runs->run[r].last;
             k++)
            bytes += naming->allocations->size[runs->first_allocation + k];
        if (bytes > most) {
            most = bytes;
            best = &runs->run[r];
        }
    }
    return best;
}

/* Counts what one line of an optimizer makes in one run: the line with the most bytes; but that may make two for each
 * parameter, as foreach does, so one with all of its sizes and fewer bytes is better. False: no memory. */
static bool optimizer_count(struct naming *naming, uint32_t *counts, struct arena *arena) {
    const struct phase_run *run = optimizer_run(naming);
    struct sort_row *rows, *spare;
    uint32_t n = run == NULL ? 0 : run->last - run->first + 1;
    struct line best = {0}, line;
    if (!ARENA_COLUMNS(arena, n, rows, spare))
        return false;
    SORT_BY(rows, spare, n, i,
            id_slot(&naming->runs->slots,
                    naming->allocations->stack[naming->runs->first_allocation + run->first + i]));
    for (uint32_t i = 0; i < n; i++)
        rows[i].value += naming->runs->first_allocation + run->first;
    for (uint32_t from = 0; from < n; from = line.to) {
        line = line_of(naming, rows, n, from, counts);
        best = line.bytes > best.bytes ? line : best;
    }
    line_count(naming, rows, &best, counts);
    for (uint32_t from = 0; from < n; from = line.to) {
        line = line_of(naming, rows, n, from, counts);
        best = line.n_wanted == best.n_sizes && line.bytes < best.bytes ? line : best;
    }
    line_count(naming, rows, &best, counts);
    ARENA_DROP(arena, spare, rows);
    return true;
}

/* Is the one backward that was recorded cut off at its begin? */
static bool is_cut(const struct naming *naming) {
    uint32_t n = 0;
    for (uint32_t r = 0; r < naming->runs->count; r++)
        n += naming->runs->run[r].side == SIDE_BACKWARD;
    return n == 1 && naming->begins_backward;
}

/* Ranks are compared by it, each of which another process has read: so it has no key of the process (base/hashed.h). */
static uint64_t signature_of(const struct naming *naming, const uint32_t *counts) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < naming->sizes.count; i++) {
        uint64_t mixed = naming->sizes.nbytes[i] * UINT64_C(0x9e3779b97f4a7c15);
        sum += counts[i] * ((mixed ^ mixed >> 31) * UINT64_C(0xbf58476d1ce4e5b9));
    }
    return bytes_of(naming, counts) != 0 && sum == 0 ? 1 : sum;
}

/* False: no memory. */
static bool parameters_count(struct naming *naming, struct older *older, struct arena *arena) {
    uint32_t *optimizer = arena_zeros(arena, naming->sizes.count, sizeof *optimizer);
    gradients_count(naming);
    if (optimizer == NULL || !optimizer_count(naming, optimizer, arena))
        return false;
    uint64_t gradient_bytes = bytes_of(naming, naming->gradients), bytes = bytes_of(naming, optimizer);
    /* Backward adds to gradients that are there: it makes far fewer than the optimizer has parameters. */
    bool added = bytes / 4 > gradient_bytes;
    if (gradient_bytes != 0 && !is_cut(naming) && !added)
        naming->source = OLDER_GRADIENTS;
    else if (bytes != 0)
        naming->source = OLDER_OPTIMIZER;
    older->source = naming->source;
    older->signature = signature_of(naming, gradient_bytes != 0 ? naming->gradients : optimizer);
    if (naming->source != OLDER_NONE)
        bytes_copy(naming->parameters, naming->source == OLDER_GRADIENTS ? naming->gradients : optimizer,
                   naming->sizes.count * sizeof *optimizer);
    ARENA_DROP(arena, optimizer);
    return true;
}

/* ---- freed in the recording ---- */

static bool is_freed(const struct naming *naming, uint32_t allocation) {
    uint32_t let_go = naming->allocations->request[allocation];
    return let_go < naming->timeline->n_moments && !(naming->exits && let_go > naming->made);
}

/* Older allocations that are freed between the same two recorded ones: rows [from, to), by size. */
struct gap {
    const struct sort_row *rows;
    uint32_t from, to;
    uint32_t before;    /* recorded allocations before them */
    enum run_side side; /* of the last of these */
};

static uint32_t free_bits(const struct naming *naming, uint32_t allocation) {
    bool known = (naming->allocations->flags[allocation] & ALLOCATION_STACK_OF_FREE) != 0;
    return known ? bits_of(naming, allocation) : 0;
}

/* Names one allocation by the stack of its free, or by the allocations around the free. */
static void one_name(struct naming *naming, const struct gap *gap, uint32_t allocation) {
    uint32_t bits = free_bits(naming, allocation);
    bool sized = naming->parameters[size_at(naming, allocation)] != 0,
         in_flight = naming->begins_backward && gap->before <= IN_FLIGHT;
    if (bits & BIT_ZERO_GRAD)
        name_as(naming, allocation, CATEGORY_GRADIENT, REASON_NONE);
    else if (gap->side == SIDE_OPTIMIZER && naming->states[size_at(naming, allocation)] != 0)
        name_as(naming, allocation, CATEGORY_OPTIMIZER_STATE, REASON_BY_SIZE);
    else if (((bits & BIT_BACKWARD) || gap->side == SIDE_BACKWARD) && !in_flight && !sized)
        name_as(naming, allocation, CATEGORY_ACTIVATION, REASON_NONE);
}

/* Names what a forward, or the code before it, lets go: the gradients of the step before, if all are there; and a
 * graph. */
static void forward_name(struct naming *naming, const struct gap *gap, bool *gradients) {
    uint32_t left = 0;
    for (uint32_t i = gap->from; i < gap->to; i++)
        if (is_unnamed(naming, gap->rows[i].value))
            naming->now[size_at(naming, gap->rows[i].value)]++;
    bool all = naming->source == OLDER_GRADIENTS && !*gradients &&
               size_set_covers(&naming->sizes, naming->now, naming->parameters);
    *gradients |= all;
    for (uint32_t i = gap->from; i < gap->to; i++) {
        uint32_t allocation = gap->rows[i].value, at = size_at(naming, allocation);
        if (!is_unnamed(naming, allocation))
            continue;
        if (all && naming->now[at] > 0 && naming->parameters[at] > 0)
            name_as(naming, allocation, CATEGORY_GRADIENT, REASON_BY_SIZE);
        else
            left++;
    }
    for (uint32_t i = gap->from; i < gap->to; i++) {
        naming->now[size_at(naming, gap->rows[i].value)] = 0;
        if (left > GRAPH_LEAST && is_unnamed(naming, gap->rows[i].value))
            name_as(naming, gap->rows[i].value, CATEGORY_ACTIVATION, REASON_NONE);
    }
}

/* Names older allocations that are freed in the recording; `rows` by gap, size and address. */
static void freed_name(struct naming *naming, const struct sort_row *rows, uint32_t count) {
    bool gradients = false;
    for (uint32_t i = 0; i < naming->runs->first_allocation; i++)
        naming->zero_grad_seen |= (free_bits(naming, i) & BIT_ZERO_GRAD) != 0;
    struct gap gap = {.rows = rows};
    for (; gap.from < count; gap.from = gap.to) {
        gap.before = (uint32_t)rows[gap.from].key;
        uint32_t last = naming->runs->first_allocation + gap.before - 1;
        gap.side = gap.before == 0 ? SIDE_FORWARD : side_of_letter(naming->runs->letter[last]);
        for (gap.to = gap.from; gap.to < count && rows[gap.to].key == gap.before; gap.to++) {
            one_name(naming, &gap, rows[gap.to].value);
            gradients |= naming->category[rows[gap.to].value] == CATEGORY_GRADIENT;
        }
        /* without events: what waits for another stream is no graph of a previous pass */
        if (gap.side == SIDE_FORWARD && naming->runs->n_allocations != 0)
            forward_name(naming, &gap, &gradients);
    }
}

/* ---- held to the end ---- */

/* Sets `naming->held` to the numbers of those rows that have no name; cuBLAS's workspaces get theirs. */
static void held_count(struct naming *naming, const struct sort_row *rows, uint32_t count) {
    bytes_zero(naming->held, naming->sizes.count * sizeof *naming->held);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t allocation = rows[i].value;
        if (naming->allocations->size[allocation] == WORKSPACE_NBYTES)
            name_as(naming, allocation, CATEGORY_WORKSPACE, REASON_BY_SIZE);
        naming->held[size_at(naming, allocation)] += is_unnamed(naming, allocation);
    }
}

/* Is the `n`-th copy there: most of its bytes, and of its sizes? */
static bool copy_is_there(const struct naming *naming, uint64_t whole, uint32_t n) {
    uint64_t bytes = 0;
    uint32_t n_sizes = 0, n_there = 0;
    for (uint32_t i = 0; i < naming->sizes.count; i++) {
        uint64_t own = naming->parameters[i], taken = n * own,
                 left = naming->held[i] > taken ? naming->held[i] - taken : 0;
        bytes += naming->sizes.nbytes[i] * (left < own ? left : own);
        n_sizes += own != 0 && naming->held[i] != 0;
        n_there += own != 0 && left != 0;
    }
    return is_percent(bytes, whole, COPY_PERCENT) && n_there * 100 >= n_sizes * COPY_PERCENT;
}

static uint32_t copies_count(const struct naming *naming) {
    uint64_t whole = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < naming->sizes.count; i++)
        whole += naming->held[i] != 0 ? naming->sizes.nbytes[i] * naming->parameters[i] : 0;
    if (whole == 0 || whole < bytes_of(naming, naming->parameters) / 2)
        return 0;
    while (n < COPIES_MOST && copy_is_there(naming, whole, n))
        n++;
    return n;
}

/* The numbers of what is held, by `n`, become the parameters, if n divides nearly all of them. */
static bool held_divide(struct naming *naming, uint32_t n) {
    uint32_t n_even = 0;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < naming->sizes.count; i++) {
        bool even = naming->held[i] % n == 0 && naming->held[i] != 0;
        bytes += even ? naming->sizes.nbytes[i] * naming->held[i] : 0;
        n_even += even && naming->sizes.nbytes[i] >= WORTH_NBYTES;
    }
    if (n_even < SIZES_LEAST || !is_percent(bytes, bytes_of(naming, naming->held), 99))
        return false;
    for (uint32_t i = 0; i < naming->sizes.count; i++)
        naming->parameters[i] = naming->held[i] % n == 0 ? naming->held[i] / n : 0;
    return true;
}

/* How often `made` lies in what is held, by the size with the most bytes: the vocabulary's weights, of whose size a
 * backward makes nothing but gradients. 0: it does not. */
static uint32_t times_held(const struct naming *naming, const uint32_t *made) {
    uint64_t most = 0, covered = 0, one = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < naming->sizes.count; i++) {
        uint64_t bytes = naming->sizes.nbytes[i] * naming->held[i];
        if (made[i] == 0 || made[i] >= naming->held[i] || naming->held[i] % made[i] != 0 || bytes <= most)
            continue;
        most = bytes;
        n = naming->held[i] / made[i];
    }
    for (uint32_t i = 0; n != 0 && i < naming->sizes.count; i++) {
        uint64_t own = naming->held[i] / n;
        one += naming->sizes.nbytes[i] * own;
        covered += naming->sizes.nbytes[i] * (made[i] < own ? made[i] : own);
    }
    return n <= KINDS_MOST && is_percent(covered, one, 95) ? n : 0;
}

/* Without an optimizer that allocates, gradients to which a backward adds have the sizes of what it makes for that, and
 * are there once for each parameter. */
static bool added_count(struct naming *naming) {
    const struct phase_runs *runs = naming->runs;
    const struct phase_run *longest = NULL;
    for (uint32_t r = naming->begins_backward; r < runs->count; r++)
        if (runs->run[r].side == SIDE_BACKWARD &&
            (longest == NULL || runs->run[r].last - runs->run[r].first > longest->last - longest->first))
            longest = &runs->run[r];
    if (longest == NULL || naming->zero_grad_seen)
        return false;
    for (uint32_t k = longest->first; k <= longest->last; k++) {
        uint32_t at = size_at(naming, runs->first_allocation + k);
        if (at != SIZE_NONE)
            naming->now[at]++;
    }
    uint32_t n = times_held(naming, naming->now);
    bytes_zero(naming->now, naming->sizes.count * sizeof *naming->now);
    /* What backward keeps is little of one copy. */
    bool little = n >= 2 && bytes_of(naming, naming->gradients) < bytes_of(naming, naming->held) / n / 2;
    return little && held_divide(naming, n);
}

/* The categories of the copies, in order. Returns how many have a name. */
static uint32_t kinds_of(const struct naming *naming, uint8_t kinds[KINDS_MOST]) {
    uint32_t n = 0;
    uint64_t whole = bytes_of(naming, naming->parameters);
    bool adds = naming->source == OLDER_OPTIMIZER && naming->has_backward && !naming->zero_grad_seen &&
                !naming->begins_backward && bytes_of(naming, naming->gradients) < whole / 4;
    kinds[n++] = CATEGORY_PARAMETER;
    if (adds || naming->gradients_held)
        kinds[n++] = CATEGORY_GRADIENT; /* backward adds to them in place */
    if (!size_set_covers(&naming->sizes, naming->states, naming->parameters))
        for (uint32_t i = 0; i < 2; i++)
            kinds[n++] = CATEGORY_OPTIMIZER_STATE;
    return n;
}

/* How often a size occurs in one copy. The last few of a backward are uncertain, so a number that divides the held
 * ones is preferred. */
static uint32_t copy_length(const struct naming *naming, uint32_t at, uint32_t copies) {
    uint32_t own = naming->parameters[at], even = naming->held[at] / copies, near = own / 4 + 1;
    bool whole = naming->held[at] % copies == 0 && !naming->begins_backward && even != 0;
    return whole && even + near >= own && even <= own + near ? even : own;
}

/* `rows` by size and address. */
static void copies_name(struct naming *naming, const struct sort_row *rows, uint32_t count, uint32_t copies) {
    uint8_t kinds[KINDS_MOST];
    uint32_t n_kinds = kinds_of(naming, kinds);
    bool cut = naming->begins_backward && naming->source == OLDER_OPTIMIZER;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t allocation = rows[i].value, at = size_at(naming, allocation);
        if (naming->parameters[at] == 0 || !is_unnamed(naming, allocation))
            continue;
        uint32_t length = copy_length(naming, at, copies), nth = naming->now[at]++;
        /* A backward that was cut off made some of its gradients before. */
        uint32_t before = cut && length > naming->gradients[at] ? length - naming->gradients[at] : 0;
        if (nth >= length && nth - length < before) {
            name_as(naming, allocation, CATEGORY_GRADIENT, REASON_BY_SIZE);
            continue;
        }
        uint32_t copy = (nth >= length ? nth - before : nth) / length;
        if (copy < copies && copy < n_kinds)
            name_as(naming, allocation, (enum category)kinds[copy], REASON_BY_SIZE);
        else if (copy < copies && naming->reason != NULL)
            naming->reason[allocation] = REASON_COPY;
    }
    bytes_zero(naming->now, naming->sizes.count * sizeof *naming->now);
}

/* An optimizer's 32-bit copies of 16-bit parameters, and its states of their size: if they are there for most of the
 * parameters. */
static void masters_name(struct naming *naming, const struct sort_row *rows, uint32_t count) {
    uint64_t bytes = 0;
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < count; i++) {
            uint64_t nbytes = naming->allocations->size[rows[i].value];
            uint32_t half = nbytes % 2 == 0 ? size_set_at(&naming->sizes, nbytes / 2) : SIZE_NONE;
            if (half == SIZE_NONE || !is_unnamed(naming, rows[i].value) ||
                naming->now[half] >= 3 * naming->parameters[half])
                continue;
            bool weight = naming->now[half]++ < naming->parameters[half];
            bytes += weight ? nbytes / 2 : 0;
            if (round == 1)
                name_as(naming, rows[i].value, CATEGORY_OPTIMIZER_STATE, REASON_BY_SIZE);
        }
        bytes_zero(naming->now, naming->sizes.count * sizeof *naming->now);
        if (!is_percent(bytes, bytes_of(naming, naming->parameters), COPY_PERCENT))
            return;
    }
}

/* Marks in `naming->now` the sizes that recorded forwards keep, if half of these sizes are held too: one or two are
 * chance, and no graph. False: no memory. */
static bool kept_mark(struct naming *naming, struct arena *arena) {
    uint32_t first = naming->runs->first_allocation, n = 0, n_kept = 0, n_held = 0;
    struct sort_row *rows, *spare;
    if (!ARENA_COLUMNS(arena, naming->allocations->count - first, rows, spare))
        return false;
    for (uint32_t i = first; i < naming->allocations->count; i++)
        if ((naming->category[i] == CATEGORY_ACTIVATION || naming->category[i] == CATEGORY_RESULT) &&
            naming->allocations->size[i] >= WORTH_NBYTES)
            rows[n++] = (struct sort_row){naming->allocations->size[i], i};
    sort_rows(rows, spare, n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = size_set_at(&naming->sizes, rows[i].key);
        bool another = i == 0 || rows[i].key != rows[i - 1].key,
             held = at != SIZE_NONE && naming->held[at] != 0;
        n_kept += another;
        n_held += another && held;
        if (held)
            naming->now[at] = 1;
    }
    if (n_held * 2 < n_kept)
        bytes_zero(naming->now, naming->sizes.count * sizeof *naming->now);
    ARENA_DROP(arena, spare, rows);
    return true;
}

/* Of a size that no library's workspace has, no parameter that learns, and no forward keeps. */
static bool is_resident(struct naming *naming, uint32_t allocation, bool workspaces) {
    uint32_t at = size_at(naming, allocation);
    bool workspace = !workspaces && naming->sizes.nbytes[at] == NEW_WORKSPACE_NBYTES && naming->held[at] <= 2;
    return is_unnamed(naming, allocation) && naming->now[at] == 0 && naming->parameters[at] == 0 &&
           !workspace;
}

/* What stays while models run is their weights, those of a model that does not learn too, but for sizes that recorded
 * forwards keep: those may belong to a graph, or to a list of results. False: no memory. */
static bool residents_name(struct naming *naming, const struct sort_row *rows, uint32_t count,
                           uint32_t *copies, struct arena *arena) {
    uint32_t n_sizes = 0;
    bool workspaces = false; /* are known by their stacks */
    if (!kept_mark(naming, arena))
        return false;
    for (uint32_t i = 0; i < naming->runs->first_allocation; i++)
        workspaces |= naming->category[i] == CATEGORY_WORKSPACE;
    for (uint32_t i = 0, last = SIZE_NONE; i < count; i++)
        if (is_resident(naming, rows[i].value, workspaces) && size_at(naming, rows[i].value) != last) {
            last = size_at(naming, rows[i].value);
            n_sizes += naming->sizes.nbytes[last] >= WORTH_NBYTES;
        }
    for (uint32_t i = 0; n_sizes >= SIZES_LEAST && i < count; i++)
        if (is_resident(naming, rows[i].value, workspaces))
            name_as(naming, rows[i].value, CATEGORY_PARAMETER, REASON_BY_SIZE);
    *copies = *copies == 0 && n_sizes >= SIZES_LEAST ? 1 : *copies;
    bytes_zero(naming->now, naming->sizes.count * sizeof *naming->now);
    return true;
}

/* Names older allocations that still exist at the end; `rows` by size and address. False: no memory. */
static bool held_name(struct naming *naming, const struct sort_row *rows, uint32_t count, uint32_t *copies,
                      struct arena *arena) {
    /* Kineto has one sum for older memory, which fits no size. */
    bool total = naming->timeline->trace->kind == TRACE_KINETO,
         forward = phase_runs_has_forward(naming->runs);
    if (naming->source == OLDER_NONE && !naming->has_backward && (total || !forward))
        return true;
    held_count(naming, rows, count);
    if (naming->source != OLDER_OPTIMIZER && naming->has_backward)
        naming->gradients_held = added_count(naming);
    else if (naming->source == OLDER_NONE) { /* parameters and Adam's states, with gradients or without */
        naming->gradients_held = held_divide(naming, 4);
        if (!naming->gradients_held)
            (void)held_divide(naming, 3);
    }
    *copies = copies_count(naming);
    if (*copies > 0) {
        copies_name(naming, rows, count, *copies);
        masters_name(naming, rows, count);
    }
    return !forward || residents_name(naming, rows, count, copies, arena);
}

/* ---- read from a file ---- */

/* What was read from a file while parameters of its sizes exist besides is a copy of them; and the rest of a
 * checkpoint, if it has their sizes too, is the state of the optimizer that uses it. */
static void loaded_name(struct naming *naming) {
    uint64_t bytes = 0, known = 0;
    uint32_t first = naming->runs->first_allocation, count = naming->allocations->count;
    bool learns = phase_runs_has(naming->runs, SIDE_OPTIMIZER);
    bytes_zero(naming->held, naming->sizes.count * sizeof *naming->held);
    for (uint32_t i = 0; i < count; i++)
        if (naming->category[i] == CATEGORY_PARAMETER && !(bits_of(naming, i) & BIT_LOAD))
            naming->held[size_at(naming, i)]++;
    for (uint32_t i = first; i < count; i++) {
        if (naming->category[i] != CATEGORY_PARAMETER || !(bits_of(naming, i) & BIT_LOAD))
            continue;
        bytes += naming->allocations->size[i];
        known += naming->held[size_at(naming, i)] != 0 ? naming->allocations->size[i] : 0;
    }
    for (uint32_t i = first; known != 0 && is_percent(known, bytes, 95) && i < count; i++) {
        if (naming->category[i] != CATEGORY_PARAMETER || !(bits_of(naming, i) & BIT_LOAD))
            continue;
        uint32_t at = size_at(naming, i),
                 own = naming->parameters[at] != 0 ? naming->parameters[at] : naming->held[at];
        bool state = learns && naming->now[at]++ >= own;
        name_as(naming, i, state ? CATEGORY_OPTIMIZER_STATE : CATEGORY_OTHER,
                state ? REASON_BY_SIZE : REASON_COPY);
    }
    bytes_zero(naming->now, naming->sizes.count * sizeof *naming->now);
}

/* ---- all ---- */

/* If most of what lives at the last allocation is freed after it, the program exits there. */
static void exit_find(struct naming *naming, struct older *older) {
    const struct allocations *allocations = naming->allocations;
    uint64_t alive = 0, freed = 0;
    naming->made = naming->runs->n_allocations > 0 ? allocations->birth[allocations->count - 1] : 0;
    for (uint32_t i = 0; i < naming->runs->first_allocation; i++) {
        uint32_t let_go = allocations->request[i];
        older->bytes += allocations->size[i];
        alive += let_go > naming->made ? allocations->size[i] : 0;
        freed += let_go > naming->made && let_go < naming->timeline->n_moments ? allocations->size[i] : 0;
    }
    naming->exits = freed > alive / 2;
}

/* Older allocations without a category, by address, then by size, then (if freed) by gap. NULL: no memory. */
static struct sort_row *unnamed_rows(struct naming *naming, bool freed, uint32_t *count,
                                     struct arena *arena) {
    const struct allocations *allocations = naming->allocations;
    uint32_t n = naming->runs->first_allocation;
    struct sort_row *rows, *spare;
    *count = 0;
    if (!ARENA_COLUMNS(arena, n, rows, spare))
        return NULL;
    for (uint32_t i = 0; i < n; i++)
        if (is_unnamed(naming, i) && is_freed(naming, i) == freed)
            rows[(*count)++] = (struct sort_row){allocations->address[i], i};
    n = *count;
    sort_rows(rows, spare, n);
    SORT_AGAIN(rows, spare, n, own, allocations->size[own]);
    for (uint32_t i = 0; freed && i < n; i++)
        rows[i].key = recorded_from(naming->runs, allocations->request[rows[i].value]);
    if (freed)
        sort_rows(rows, spare, n);
    ARENA_DROP(arena, spare);
    return rows;
}

/* Counts what is named, and tells of memory in private pools that it is there. */
static void named_sum(struct naming *naming, struct older *older) {
    for (uint32_t i = 0; i < naming->runs->first_allocation; i++) {
        bool named = naming->category[i] != CATEGORY_OTHER;
        older->named_bytes +=
            named && naming->category[i] != CATEGORY_UNKNOWN ? naming->allocations->size[i] : 0;
        if (!named && naming->reason != NULL && naming->reason[i] == REASON_OLDER &&
            naming->allocations->pool[i] > POOL_DEFAULT)
            naming->reason[i] = REASON_POOL;
    }
}

static bool older_rows_name(struct naming *naming, struct older *older, struct arena *arena) {
    uint32_t n_freed, n_held;
    exit_find(naming, older);
    struct sort_row *freed = unnamed_rows(naming, true, &n_freed, arena);
    if (freed == NULL)
        return false;
    freed_name(naming, freed, n_freed);
    struct sort_row *held = unnamed_rows(naming, false, &n_held, arena);
    bool done = held != NULL && held_name(naming, held, n_held, &older->copies, arena);
    ARENA_DROP(arena, held, freed);
    named_sum(naming, older);
    return done;
}

bool older_name(struct older *older, const struct timeline *timeline, const struct phase_runs *runs,
                uint8_t *category, uint8_t *reason, struct arena *arena) {
    struct naming naming = {.timeline = timeline,
                            .allocations = &timeline->device->allocations,
                            .runs = runs,
                            .category = category,
                            .reason = reason,
                            .has_backward = phase_runs_has(runs, SIDE_BACKWARD),
                            .begins_backward = runs->count > 0 && runs->run[0].side == SIDE_BACKWARD};
    *older = (struct older){0};
    bool done = sizes_collect(&naming, arena) && parameters_count(&naming, older, arena);
    for (uint32_t i = runs->first_allocation; done && i < naming.allocations->count; i++)
        if (category[i] == CATEGORY_OPTIMIZER_STATE && size_at(&naming, i) != SIZE_NONE)
            naming.states[size_at(&naming, i)]++;
    done = done && (runs->first_allocation == 0 || older_rows_name(&naming, older, arena));
    if (done)
        loaded_name(&naming);
    ARENA_DROP(arena, naming.now, naming.held, naming.states, naming.gradients, naming.parameters,
               naming.sizes.nbytes);
    return done;
}
