/* Names memory beyond the copies of the parameters: gradients that a backward adds to, 32-bit copies of 16-bit
 * parameters, frozen weights; and sets the reason for the rest. */
#include "analysis/loop/older_internal.h"
#include "base/bytes.h"
#include "base/numbers.h"

enum { MASTERS_MOST = 3, COPIES_ADDED_MOST = 4, ADAPTER_SIZES = 8, REST_SIZES = 4096, RANK_MOST = 1024 };

/* ---- gradients that are added to, without a recorded optimizer ---- */

/* Counts each size in the longest complete backward, kept or not. NULL: no memory. */
static uint32_t *backward_count(struct naming *naming, struct arena *arena) {
    uint32_t *made = arena_zeros(arena, naming->sizes.count, sizeof *made);
    const struct phase_run *longest = NULL;
    if (made == NULL)
        return NULL;
    for (uint32_t r = naming->begins_backward; r < naming->runs->count; r++) {
        const struct phase_run *run = &naming->runs->run[r];
        if (run->side == SIDE_BACKWARD &&
            (longest == NULL || run->last - run->first > longest->last - longest->first))
            longest = run;
    }
    for (uint32_t k = longest != NULL ? longest->first : 1, last = longest != NULL ? longest->last : 0;
         k <= last; k++) {
        uint32_t at = size_at(naming, naming->runs->first_allocation + k);
        if (at != SIZE_NONE)
            made[at]++;
    }
    return made;
}

/* Backward makes each parameter's gradient once and adds it to the existing one. So the number of a size that is
 * held, over the number that backward makes, is the number of copies. The vocabulary's weights decide, because
 * backward makes nothing else of their sizes. */
static uint32_t ratio_of_largest(const struct naming *naming, const struct held_rows *rows,
                                 const uint32_t *made) {
    uint64_t most = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < naming->sizes.count; i++) {
        uint32_t held = rows->of_size[i];
        if (made[i] == 0 || made[i] >= held || held % made[i] != 0 || naming->sizes.nbytes[i] * held <= most)
            continue;
        most = naming->sizes.nbytes[i] * held;
        n = held / made[i];
    }
    return n;
}

/* 0: unknown, or backward keeps what it makes. */
static uint32_t added_copies(const struct naming *naming, const struct held_rows *rows,
                             const uint32_t *made) {
    uint64_t even = 0, one = 0, covered = 0;
    uint32_t n = ratio_of_largest(naming, rows, made), n_sizes = 0;
    if (n < 2 || n > COPIES_ADDED_MOST)
        return 0;
    for (uint32_t i = 0; i < naming->sizes.count; i++) {
        uint64_t nbytes = naming->sizes.nbytes[i], part = rows->of_size[i] / n;
        one += nbytes * part;
        covered += nbytes * (made[i] < part ? made[i] : part);
        if (rows->of_size[i] % n != 0 || rows->of_size[i] == 0 || nbytes < WORTH_NBYTES)
            continue;
        even += nbytes * rows->of_size[i];
        n_sizes++;
    }
    bool added = size_set_bytes(&naming->sizes, naming->gradients) < one / 2;
    return added && n_sizes >= 3 && is_percent(covered, one, 95) &&
                   is_percent(even, size_set_bytes(&naming->sizes, rows->of_size), 99)
               ? n
               : 0;
}

bool added_name(struct naming *naming, const struct held_rows *rows, uint32_t *copies, struct arena *arena) {
    static const uint8_t kinds[COPIES_ADDED_MOST] = {CATEGORY_PARAMETER, CATEGORY_GRADIENT,
                                                     CATEGORY_OPTIMIZER_STATE, CATEGORY_OPTIMIZER_STATE};
    uint32_t *made = backward_count(naming, arena);
    if (made == NULL)
        return false;
    uint32_t n = added_copies(naming, rows, made);
    for (uint32_t from = 0, to; n != 0 && from < rows->count; from = to) {
        uint32_t at = held_run(naming, rows, from, &to), count = rows->of_size[at];
        for (uint32_t q = 0; count % n == 0 && made[at] >= count / n && q < count; q++)
            name_as(naming, rows->row[from + q].value, (enum category)kinds[q / (count / n)], REASON_BY_SIZE);
    }
    *copies = n;
    ARENA_DROP(arena, made);
    return true;
}

/* ---- 32-bit copies of 16-bit parameters ---- */

/* Counts the allocations without a name yet in `rows->of_size`. */
static void rest_count(struct naming *naming, const struct held_rows *rows) {
    bytes_zero(rows->of_size, (size_t)naming->sizes.count * sizeof *rows->of_size);
    for (uint32_t i = 0; i < rows->count; i++)
        if (is_unnamed(naming, rows->row[i].value))
            rows->of_size[size_at(naming, rows->row[i].value)]++;
}

/* The number of copies twice the parameters' size: at most the 32-bit weights and Adam's two states. */
static uint32_t masters_count(struct naming *naming, const struct held_rows *rows) {
    uint64_t whole = size_set_bytes(&naming->sizes, naming->parameters), covered;
    uint32_t n = 0;
    do {
        covered = 0;
        for (uint32_t i = 0; i < naming->sizes.count; i++) {
            uint32_t own = naming->parameters[i];
            uint32_t twice = own != 0 ? size_set_at(&naming->sizes, naming->sizes.nbytes[i] * 2) : SIZE_NONE;
            uint64_t taken = (uint64_t)n * own, left = twice != SIZE_NONE && rows->of_size[twice] > taken
                                                           ? rows->of_size[twice] - taken
                                                           : 0;
            covered += naming->sizes.nbytes[i] * (left < own ? left : own);
        }
    } while (is_percent(covered, whole, 95) && ++n < MASTERS_MOST);
    return n;
}

static void masters_name(struct naming *naming, const struct held_rows *rows, uint32_t copies) {
    for (uint32_t from = 0, to; from < rows->count; from = to) {
        uint64_t nbytes = naming->allocations->size[rows->row[from].value];
        held_run(naming, rows, from, &to);
        uint32_t half = nbytes % 2 == 0 ? size_set_at(&naming->sizes, nbytes / 2) : SIZE_NONE;
        uint64_t most = half != SIZE_NONE ? (uint64_t)copies * naming->parameters[half] : 0;
        for (uint32_t q = from; q < to && most > 0; q++) {
            if (!is_unnamed(naming, rows->row[q].value))
                continue;
            name_as(naming, rows->row[q].value, CATEGORY_OPTIMIZER_STATE, REASON_BY_SIZE);
            most--;
        }
    }
}

/* An adapter is two matrices, r x n and m x r, for a weight m x n: the product of their sizes is the weight's size
 * times r * r, times a factor from the widths of their numbers, the same for every weight. 0: these two do not
 * belong to this weight. */
static uint64_t adapter_factor(uint64_t a, uint64_t b, uint64_t weight) {
    if (a > UINT64_MAX / b || a * b % weight != 0)
        return 0;
    uint64_t factor = a * b / weight;
    return factor >= 4 && factor <= (uint64_t)RANK_MOST * RANK_MOST * 16 ? factor : 0;
}

/* The parameters' distinct sizes, the largest first, as many as fit. */
static uint32_t adapter_sizes(const struct naming *naming, uint64_t sizes[ADAPTER_SIZES]) {
    uint32_t n = 0;
    for (uint32_t i = naming->sizes.count; i-- > 0 && n < ADAPTER_SIZES;)
        if (naming->parameters[i] != 0 && naming->sizes.nbytes[i] >= WORTH_NBYTES)
            sizes[n++] = naming->sizes.nbytes[i];
    return n;
}

static bool is_adapted(const uint64_t *sizes, uint32_t n, uint64_t weight, uint64_t factor) {
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = a; b < n; b++)
            if (adapter_factor(sizes[a], sizes[b], weight) == factor)
                return true;
    return false;
}

/* Bytes of the rest that adapters with this factor belong to, and the number of distinct sizes in it. */
static uint64_t adapted_bytes(const struct naming *naming, const struct held_rows *rows,
                              const uint64_t *sizes, uint32_t n, uint64_t factor, uint32_t *n_sizes) {
    uint64_t bytes = 0;
    *n_sizes = 0;
    for (uint32_t i = 0; i < naming->sizes.count; i++) {
        if (rows->of_size[i] < 2 || naming->sizes.nbytes[i] < WORTH_NBYTES ||
            !is_adapted(sizes, n, naming->sizes.nbytes[i], factor))
            continue;
        bytes += naming->sizes.nbytes[i] * rows->of_size[i];
        (*n_sizes)++;
    }
    return bytes;
}

/* Is the rest the model that adapters of one rank are for? At least two sizes of it, with a tenth of its bytes,
 * must fit them. */
static bool rest_is_adapted(const struct naming *naming, const struct held_rows *rows) {
    uint64_t sizes[ADAPTER_SIZES], rest = size_set_bytes(&naming->sizes, rows->of_size);
    uint32_t n = adapter_sizes(naming, sizes), n_sizes, tried = 0;
    /* No model has so many distinct sizes, and up to 300 rounds over all of them follow. */
    if (n == 0 || naming->sizes.count > REST_SIZES ||
        rest < size_set_bytes(&naming->sizes, naming->parameters))
        return false;
    for (uint32_t i = naming->sizes.count; i-- > 0 && tried < ADAPTER_SIZES;) {
        if (rows->of_size[i] < 2 || naming->sizes.nbytes[i] < WORTH_NBYTES)
            continue;
        tried++;
        for (uint32_t a = 0; a < n; a++)
            for (uint32_t b = a; b < n; b++) {
                uint64_t factor = adapter_factor(sizes[a], sizes[b], naming->sizes.nbytes[i]);
                if (factor != 0 && adapted_bytes(naming, rows, sizes, n, factor, &n_sizes) >= rest / 10 &&
                    n_sizes >= 2)
                    return true;
            }
    }
    return false;
}

/* Names the rest, except sizes that recorded forwards make too, because those may belong to a graph. False: no
 * memory. */
static bool frozen_name(struct naming *naming, const struct held_rows *rows, struct arena *arena) {
    uint8_t *made = arena_zeros(arena, naming->sizes.count, 1);
    if (made == NULL)
        return false;
    for (uint32_t i = naming->runs->first_allocation; i < naming->allocations->count; i++) {
        uint32_t at = naming->category[i] == CATEGORY_ACTIVATION || naming->category[i] == CATEGORY_RESULT
                          ? size_at(naming, i)
                          : SIZE_NONE;
        if (at != SIZE_NONE)
            made[at] = 1;
    }
    for (uint32_t i = 0; i < rows->count; i++) {
        uint32_t at = size_at(naming, rows->row[i].value);
        if (is_unnamed(naming, rows->row[i].value) && naming->parameters[at] == 0 && made[at] == 0)
            name_as(naming, rows->row[i].value, CATEGORY_PARAMETER, REASON_BY_SIZE);
    }
    ARENA_DROP(arena, made);
    return true;
}

bool rest_name(struct naming *naming, const struct held_rows *rows, struct arena *arena) {
    rest_count(naming, rows);
    uint32_t masters = masters_count(naming, rows);
    if (masters > 0) {
        masters_name(naming, rows, masters);
        rest_count(naming, rows);
    }
    return !rest_is_adapted(naming, rows) || frozen_name(naming, rows, arena);
}

void pools_name(struct naming *naming) {
    for (uint32_t i = 0; naming->reason != NULL && i < naming->runs->first_allocation; i++)
        if (naming->category[i] == CATEGORY_OTHER && naming->reason[i] == REASON_OLDER &&
            naming->allocations->pool[i] > POOL_DEFAULT)
            naming->reason[i] = REASON_POOL;
}
