/* Names older memory that is alive at the end: copies of the parameters, by their sizes. */
#include "analysis/loop/copies.h"
#include "analysis/loop/older_internal.h"
#include "base/bits.h"
#include "base/bytes.h"
#include "base/numbers.h"

enum {
    WORKSPACE_NBYTES = 8519680, /* cuBLAS's default */
    NEW_WORKSPACE_NBYTES = 33554432,
    COPIES_MOST = 8,
    KINDS_MOST = 4,
    MODELS_MOST = 4,
    FURTHER_SIZES = 3 /* fewer may be chance */
};

/* Names workspaces; they are in no multiset. */
static void rows_count(struct naming *naming, struct held_rows *rows) {
    for (uint32_t i = 0; i < rows->count; i++) {
        uint32_t allocation = rows->row[i].value;
        if (naming->allocations->size[allocation] == WORKSPACE_NBYTES)
            name_as(naming, allocation, CATEGORY_WORKSPACE, REASON_BY_SIZE);
        else
            rows->of_size[size_at(naming, allocation)]++;
    }
}

/* ---- copies of the parameters ---- */

/* Bytes of the parameters that a further copy, after `before` of them, would hold. */
static uint64_t copy_bytes(const struct naming *naming, const struct held_rows *rows, uint32_t before) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < naming->sizes.count; i++) {
        uint64_t taken = (uint64_t)before * naming->parameters[i],
                 left = rows->of_size[i] > taken ? rows->of_size[i] - taken : 0;
        bytes +=
            naming->sizes.nbytes[i] * (left < naming->parameters[i] ? left : (uint64_t)naming->parameters[i]);
    }
    return bytes;
}

static uint32_t copies_count(const struct naming *naming, const struct held_rows *rows) {
    uint64_t whole = size_set_bytes(&naming->sizes, naming->parameters);
    uint32_t n = 0;
    while (n < COPIES_MOST && is_percent(copy_bytes(naming, rows, n), whole, 95))
        n++;
    return n;
}

/* The categories of the copies, in order. Returns how many have a name. */
static uint32_t kinds_of(const struct naming *naming, uint8_t kinds[KINDS_MOST]) {
    uint32_t n = 0;
    uint64_t whole = size_set_bytes(&naming->sizes, naming->parameters);
    kinds[n++] = CATEGORY_PARAMETER;
    if (naming->source == OLDER_OPTIMIZER && naming->has_backward && !naming->zero_grad_seen &&
        !naming->begins_backward && size_set_bytes(&naming->sizes, naming->gradients) < whole / 4)
        kinds[n++] = CATEGORY_GRADIENT; /* backward adds to them in place */
    if (!size_set_covers(&naming->sizes, naming->states, naming->parameters))
        for (uint32_t i = 0; i < 2; i++)
            kinds[n++] = CATEGORY_OPTIMIZER_STATE;
    return n;
}

/* Reduces the parameters to the sizes that are held, if these have half of their bytes. */
static bool parameters_narrow(struct naming *naming, const struct held_rows *rows) {
    uint64_t whole = size_set_bytes(&naming->sizes, naming->parameters);
    for (uint32_t i = 0; i < naming->sizes.count; i++)
        if (rows->of_size[i] == 0)
            naming->parameters[i] = 0;
    uint64_t left = size_set_bytes(&naming->sizes, naming->parameters);
    return left != 0 && left >= whole - left;
}

/* How often a size occurs in one copy. The last few of a backward are uncertain, so a number that divides the held
 * ones is preferred. */
static uint32_t copy_length(const struct naming *naming, const struct held_rows *rows, uint32_t at,
                            uint32_t copies) {
    uint32_t own = naming->parameters[at], even = rows->of_size[at] / copies;
    bool whole = rows->of_size[at] % copies == 0 && !naming->begins_backward;
    return whole && even >= own && even <= own + own / 4 + 1 ? even : own;
}

static void copies_name(struct naming *naming, const struct held_rows *rows, uint32_t copies) {
    uint8_t kinds[KINDS_MOST];
    uint32_t n_kinds = kinds_of(naming, kinds);
    bool cut = naming->begins_backward && naming->source == OLDER_OPTIMIZER;
    for (uint32_t from = 0, to; from < rows->count; from = to) {
        uint32_t at = held_run(naming, rows, from, &to);
        if (naming->parameters[at] == 0 || rows->of_size[at] == 0)
            continue;
        uint32_t length = copy_length(naming, rows, at, copies), made = naming->gradients[at];
        uint32_t older = cut && length > made ? length - made : 0; /* gradients made before the recording */
        for (uint32_t q = 0; q < to - from; q++) {
            uint32_t allocation = rows->row[from + q].value, copy = q / length;
            if (q >= length && q - length < older)
                name_as(naming, allocation, CATEGORY_GRADIENT, REASON_BY_SIZE);
            else if (q >= length)
                copy = (q - older) / length;
            if (!is_unnamed(naming, allocation) || copy >= copies)
                continue;
            if (copy < n_kinds)
                name_as(naming, allocation, (enum category)kinds[copy], REASON_BY_SIZE);
            else if (naming->reason != NULL)
                naming->reason[allocation] = REASON_COPY;
        }
    }
}

/* ---- further models, as in a GAN, or models whose steps train parts of them ---- */

/* Bytes of the gradients that a backward keeps and whose sizes are not in `known`; adds their numbers to `counts`
 * (NULL: does not). */
static uint64_t run_count(struct naming *naming, const struct phase_run *run, const uint8_t *known,
                          uint32_t *counts) {
    uint64_t bytes = 0;
    for (uint32_t i = naming->runs->first_allocation + run->first;
         i <= naming->runs->first_allocation + run->last; i++) {
        uint64_t size = naming->allocations->size[i];
        uint32_t at =
            naming->category[i] == CATEGORY_GRADIENT ? size_set_at(&naming->sizes, size) : SIZE_NONE;
        if (at == SIZE_NONE || known[at] != 0)
            continue;
        bytes += size;
        if (counts != NULL)
            counts[at]++;
    }
    return bytes;
}

/* The parameters become those of the backward with the most bytes in sizes of no earlier model. */
static bool further_find(struct naming *naming, uint8_t *known) {
    const struct phase_run *best = NULL;
    uint64_t most = 0;
    uint32_t n_sizes = 0;
    for (uint32_t i = 0; i < naming->sizes.count; i++)
        known[i] |= naming->parameters[i] != 0 || naming->gradients[i] != 0;
    for (uint32_t r = 0; r < naming->runs->count; r++) {
        const struct phase_run *run = &naming->runs->run[r];
        uint64_t bytes = run->side == SIDE_BACKWARD ? run_count(naming, run, known, NULL) : 0;
        if (bytes > most) {
            most = bytes;
            best = run;
        }
    }
    bytes_zero(naming->parameters, (size_t)naming->sizes.count * sizeof *naming->parameters);
    if (best != NULL)
        run_count(naming, best, known, naming->parameters);
    for (uint32_t i = 0; i < naming->sizes.count; i++)
        n_sizes += naming->parameters[i] != 0;
    return n_sizes >= FURTHER_SIZES;
}

static void further_name(struct naming *naming, const struct held_rows *rows, uint8_t *known) {
    for (uint32_t model = 1; model < MODELS_MOST && further_find(naming, known); model++) {
        uint32_t copies = parameters_narrow(naming, rows) ? copies_count(naming, rows) : 0;
        if (copies > 0)
            copies_name(naming, rows, copies);
    }
}

/* ---- without parameters ---- */

static bool is_multiple(const struct naming *naming, const struct held_rows *rows, uint32_t n) {
    uint64_t n_sizes = 0, n_even = 0, bytes = 0;
    for (uint32_t i = 0; i < naming->sizes.count; i++) {
        if (rows->of_size[i] < n || naming->sizes.nbytes[i] < WORTH_NBYTES)
            continue;
        n_sizes++;
        if (rows->of_size[i] % n != 0)
            continue;
        n_even++;
        bytes += naming->sizes.nbytes[i] * rows->of_size[i];
    }
    return n_sizes >= 3 && n_even * 10 >= n_sizes * 9 &&
           is_percent(bytes, size_set_bytes(&naming->sizes, rows->of_size), 99);
}

/* Marks sizes of activations and results with 1 (a graph of a previous pass would have them), and those of casts
 * with 2. False: no memory. */
static bool passes_mark(struct naming *naming, const struct held_rows *rows, uint8_t *mark,
                        struct arena *arena) {
    const struct allocations *allocations = naming->allocations;
    uint64_t *casts = arena_bits(arena, allocations->count);
    uint32_t n_kept = 0, n_held = 0;
    /* Distinct sizes that are recorded but not held count too: they are those outside of the set. */
    if (casts == NULL ||
        !weight_copies_find(naming->timeline, naming->runs, naming->turns, naming->category, casts, arena))
        return false;
    struct sort_row *rest = NULL;
    uint32_t n_rest = 0, capacity = 0;
    for (uint32_t i = naming->runs->first_allocation; i < allocations->count; i++) {
        uint8_t category = naming->category[i];
        bool cast = bits_has(casts, i);
        uint64_t size = allocations->size[i];
        for (uint32_t times = 2; cast && times <= 4; times += 2) {
            uint32_t weight = size <= UINT64_MAX / 4 ? size_set_at(&naming->sizes, size * times) : SIZE_NONE;
            if (weight != SIZE_NONE)
                mark[weight] |= 2;
        }
        if (cast || size < WORTH_NBYTES || (category != CATEGORY_ACTIVATION && category != CATEGORY_RESULT))
            continue;
        uint32_t at = size_set_at(&naming->sizes, size);
        if (at != SIZE_NONE && rows->of_size[at] != 0) {
            n_held += (mark[at] & 1) == 0;
            mark[at] |= 1;
        } else if (n_rest == 0 || rest[n_rest - 1].key != size) {
            if (!ARENA_GROW(arena, rest, capacity, (uint64_t)n_rest + 1))
                return false;
            rest[n_rest++] = (struct sort_row){size, 0};
        }
    }
    struct sort_row *spare = arena_column(arena, n_rest, sizeof *spare);
    if (spare == NULL)
        return false;
    if (n_rest > 0)
        sort_rows(rest, spare, n_rest);
    for (uint32_t i = 0; i < n_rest; i++)
        n_kept += i == 0 || rest[i].key != rest[i - 1].key;
    n_kept += n_held;
    for (uint32_t i = 0; n_held * 2 < n_kept && i < naming->sizes.count; i++)
        mark[i] &= 2;
    ARENA_DROP(arena, spare, rest, casts);
    return true;
}

static void forward_only_name(struct naming *naming, const struct held_rows *rows, const uint8_t *mark,
                              uint32_t copies) {
    static const uint8_t kinds[KINDS_MOST][KINDS_MOST] = {
        {CATEGORY_PARAMETER},
        {CATEGORY_OTHER},
        {CATEGORY_PARAMETER, CATEGORY_OPTIMIZER_STATE, CATEGORY_OPTIMIZER_STATE},
        {CATEGORY_PARAMETER, CATEGORY_GRADIENT, CATEGORY_OPTIMIZER_STATE, CATEGORY_OPTIMIZER_STATE}};
    for (uint32_t from = 0, to; from < rows->count; from = to) {
        uint32_t at = held_run(naming, rows, from, &to), count = rows->of_size[at];
        bool workspace = naming->sizes.nbytes[at] == NEW_WORKSPACE_NBYTES && count <= 2;
        if (count == 0 || count % copies != 0 || mark[at] == 1 || workspace)
            continue;
        for (uint32_t q = 0; q < to - from; q++)
            name_as(naming, rows->row[from + q].value, (enum category)kinds[copies - 1][q / (count / copies)],
                    REASON_BY_SIZE);
    }
}

/* ---- both ways ---- */

bool held_name(struct naming *naming, const struct sort_row *row, uint32_t count, uint32_t *copies,
               struct arena *arena) {
    struct held_rows rows = {row, count, NULL};
    uint8_t *mark;
    bool sizes_known = naming->source != OLDER_NONE,
         total = naming->timeline->trace->kind ==
                 TRACE_KINETO, /* it has one sum for older memory, which fits no size */
        forward_only =
            !sizes_known && !total && !naming->has_backward && phase_runs_has_forward(naming->runs),
         done = true;
    if (!ARENA_ZEROS(arena, naming->sizes.count, rows.of_size, mark))
        return false;
    if (sizes_known || forward_only || naming->has_backward)
        rows_count(naming, &rows);
    if (count > 0 && naming->has_backward && !naming->zero_grad_seen)
        done = added_name(naming, &rows, copies, arena);
    if (done && *copies == 0 && sizes_known && parameters_narrow(naming, &rows)) {
        *copies = copies_count(naming, &rows);
        if (*copies > 0) {
            copies_name(naming, &rows, *copies);
            done = rest_name(naming, &rows, arena);
            if (naming->source == OLDER_GRADIENTS)
                further_name(naming, &rows, mark);
        }
    }
    if (done && forward_only && count > 0 && (done = passes_mark(naming, &rows, mark, arena))) {
        *copies = is_multiple(naming, &rows, 4) ? 4 : is_multiple(naming, &rows, 3) ? 3 : 1;
        forward_only_name(naming, &rows, mark, *copies);
    }
    ARENA_DROP(arena, mark, rows.of_size);
    return done;
}
