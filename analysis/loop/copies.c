#include "analysis/loop/copies.h"

#include "analysis/loop/category.h"
#include "analysis/loop/frame_bits.h"
#include "analysis/loop/size_set.h"

enum { COPY_NBYTES = 1024, BORN_BEHIND = 4 };

struct copying {
    const struct timeline *timeline;
    const struct allocations *allocations;
    const struct phase_runs *runs;
    const struct turns *turns;
    uint8_t *category;
    struct size_set sizes; /* of weights */
    uint32_t *n_weights;   /* [sizes.count] */
    bool native;           /* a C++ frame names each copy; otherwise their number must tell too */
};

/* Older memory without a category may be a weight. */
static bool is_weight(const struct copying *copying, uint32_t allocation) {
    uint8_t category = copying->category[allocation];
    bool held = allocation < copying->runs->first_allocation &&
                copying->allocations->request[allocation] >= copying->timeline->n_moments;
    return category == CATEGORY_PARAMETER || (held && category == CATEGORY_OTHER);
}

static bool weights_count(struct copying *copying, struct arena *arena) {
    uint32_t count = 0, n = 0;
    for (uint32_t i = 0; i < copying->allocations->count; i++)
        count += is_weight(copying, i);
    struct sort_row *rows = arena_column(arena, (uint64_t)count * 2, sizeof *rows);
    if (rows == NULL)
        return false;
    for (uint32_t i = 0; n < count; i++)
        if (is_weight(copying, i))
            rows[n++] = (struct sort_row){copying->allocations->size[i], i};
    sort_rows(rows, rows + count, n);
    if (!size_set_init(&copying->sizes, rows, n, arena) ||
        (copying->n_weights = arena_column(arena, copying->sizes.count, sizeof *copying->n_weights)) == NULL)
        return false;
    for (uint32_t i = 0, at = 0; i < n; i++) {
        at += i > 0 && rows[i].key != rows[i - 1].key;
        copying->n_weights[at] = i == 0 || rows[i].key != rows[i - 1].key ? 1 : copying->n_weights[at] + 1;
    }
    ARENA_DROP(arena, rows);
    return true;
}

/* The number of weights of twice a size or, if there are none, of four times. */
static uint32_t weights_of(struct copying *copying, uint64_t nbytes) {
    if (nbytes > UINT64_MAX / 4)
        return 0;
    uint32_t at = size_set_at(&copying->sizes, nbytes * 2);
    if (at == SIZE_NONE)
        at = size_set_at(&copying->sizes, nbytes * 4);
    return at == SIZE_NONE ? 0 : copying->n_weights[at];
}

/* Does the same line make the allocation before or after it, as the operator that casts a weight makes its result? */
static bool has_company(const struct allocations *allocations, uint32_t i) {
    return (i > 0 && allocations->stack[i - 1] == allocations->stack[i]) ||
           allocations->stack[i + 1] == allocations->stack[i];
}

static bool is_candidate(struct copying *copying, uint32_t i) {
    const struct allocations *allocations = copying->allocations;
    uint32_t bits = copying->runs->stack_bits[allocations->stack[i]];
    if (!(bits & (copying->native ? BIT_CAST : BIT_FORWARD)) || allocations->size[i] < COPY_NBYTES ||
        side_of_letter(copying->runs->letter[i]) != SIDE_FORWARD || allocations->count - i <= BORN_BEHIND ||
        allocations->birth[i + BORN_BEHIND] >= allocations->request[i])
        return false;
    return (copying->native || has_company(allocations, i)) &&
           (copying->turns->count == 0 ||
            turns_at(copying->turns, i - copying->runs->first_allocation) != UINT32_MAX) &&
           weights_of(copying, allocations->size[i]) != 0;
}

/* Candidates by turn, then size, then falling lifetime, then birth. NULL: no memory. */
static struct sort_row *candidates_sorted(struct copying *copying, uint32_t *count, struct arena *arena) {
    const struct allocations *allocations = copying->allocations;
    struct sort_row *rows = NULL;
    uint32_t capacity = 0;
    *count = 0;
    for (uint32_t i = copying->runs->first_allocation; i < allocations->count; i++) {
        if (!is_candidate(copying, i))
            continue;
        if (!ARENA_GROW(arena, rows, capacity, (uint64_t)*count + 1))
            return NULL;
        rows[(*count)++] =
            (struct sort_row){UINT32_MAX - (allocations->request[i] - allocations->birth[i]), i};
    }
    struct sort_row *spare = arena_column(arena, *count, sizeof *spare);
    if (spare == NULL || (rows == NULL && (rows = arena_column(arena, 0, sizeof *rows)) == NULL))
        return NULL;
    sort_rows(rows, spare, *count);
    SORT_AGAIN(rows, spare, *count, own, allocations->size[own]);
    SORT_AGAIN(rows, spare, *count, own, turns_at(copying->turns, own - copying->runs->first_allocation));
    ARENA_DROP(arena, spare);
    return rows;
}

/* Rows of one turn, or of one size in it. */
struct stretch {
    const struct sort_row *rows;
    uint32_t from, to, count;
};

/* The next stretch of equal rows; false: there is none. */
static bool stretch_next(const struct copying *copying, struct stretch *stretch, bool of_size) {
    const uint64_t *size = copying->allocations->size;
    const struct sort_row *rows = stretch->rows;
    uint32_t from = stretch->to, to = from;
    while (to < stretch->count && rows[to].key == rows[from].key &&
           (!of_size || size[rows[to].value] == size[rows[from].value]))
        to++;
    stretch->from = from;
    stretch->to = to;
    return to > from;
}

/* The number of copies of one size in a turn, at most the number of weights of it; fewer count only with native
 * frames. */
static uint32_t copies_of_size(struct copying *copying, const struct stretch *stretch) {
    uint32_t n = stretch->to - stretch->from,
             most = weights_of(copying, copying->allocations->size[stretch->rows[stretch->from].value]);
    return n >= most ? most : copying->native ? n : 0;
}

/* Without native frames an activation may have such a size by chance. But autocast copies nearly all weights in a
 * turn: at least two sizes and half of the weights, so that the copies have a quarter of their bytes. */
static bool turn_casts(struct copying *copying, const struct stretch *turn) {
    struct stretch part = {turn->rows, turn->from, turn->from, turn->to};
    uint64_t weights = size_set_bytes(&copying->sizes, copying->n_weights), bytes = 0;
    uint32_t n_sizes = 0;
    while (stretch_next(copying, &part, true)) {
        uint32_t n = copies_of_size(copying, &part);
        n_sizes += n > 0;
        bytes += n * copying->allocations->size[turn->rows[part.from].value];
    }
    return copying->native || (n_sizes >= 2 && bytes >= weights / 4);
}

static bool copies_name(struct copying *copying, struct arena *arena) {
    const struct allocations *allocations = copying->allocations;
    uint32_t count;
    struct sort_row *rows = candidates_sorted(copying, &count, arena);
    if (rows == NULL)
        return false;
    struct stretch turn = {rows, 0, 0, count};
    while (stretch_next(copying, &turn, false)) {
        struct stretch part = {rows, turn.from, turn.from, turn.to};
        if (!turn_casts(copying, &turn))
            continue;
        while (stretch_next(copying, &part, true))
            for (uint32_t n = copies_of_size(copying, &part), i = part.from; i < part.from + n; i++)
                if (copying->timeline->trace->contexts.context[allocations->context[rows[i].value]]
                        .category == 0)
                    copying->category[rows[i].value] = CATEGORY_WEIGHT_COPY;
    }
    ARENA_DROP(arena, rows);
    return true;
}

bool weight_copies_name(const struct timeline *timeline, const struct phase_runs *runs,
                        const struct turns *turns, uint8_t *category, struct arena *arena) {
    struct copying copying = {.timeline = timeline,
                              .allocations = &timeline->device->allocations,
                              .runs = runs,
                              .turns = turns,
                              .category = category,
                              .native = runs->stacks != STACKS_PYTHON};
    bool any = false; /* is there a stack that may make copies? Few recordings have one */
    for (uint32_t i = 0; i < timeline->trace->stacks.count && !any; i++)
        any = (runs->stack_bits[i] & (copying.native ? BIT_CAST : BIT_FORWARD)) != 0;
    if (!any)
        return true;
    bool done = weights_count(&copying, arena) && (copying.sizes.count == 0 || copies_name(&copying, arena));
    ARENA_DROP(arena, copying.n_weights, copying.sizes.nbytes);
    return done;
}
