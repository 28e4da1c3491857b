/*
 * Backward adds to existing gradients: what it makes for a parameter is freed at once, and the recording shows no
 * gradient. An allocation that lives until backward ends, such as the gradient of the first layer's input, then
 * looks like one freed by zero_grad. If no gradient was recorded, existing ones are older than the recording. As
 * long as older memory of unknown origin exists, the sizes of parameters and their numbers decide:
 *
 *     made anew    |--------------------|             as many outlive their backward as there are parameters
 *     added        |-|                                none does, or one by chance
 *                  |<---- backward ---->| zero_grad
 */
#include "analysis/findings/gradients_made.h"

#include "base/search.h"
#include "base/sort.h"

enum {
    /* allocations for which nothing shows whether they were added to others or set to None */
    LAST_OF_BACKWARD = 8,
    OLDS_PER_GRADIENT = 4 /* parameter, the optimizer's state for it, and a copy or one more state */
};

/* A size that parameters have, and the older memory of this size, which may be parameters or gradients. */
struct size {
    uint64_t nbytes;
    uint32_t parameter; /* moment at which the last possible parameter of this size is freed */
    uint32_t gradient;  /* the same for the last possible gradient; 0: none */
    uint32_t n_olds;    /* how many may be */
    uint32_t turn;      /* turn that n_made counts, + 1 */
    uint32_t n_made;    /* gradients that the turn makes */
};

struct sizes {
    struct size *size; /* rising by nbytes, each once */
    uint32_t count;
    uint32_t last;  /* the latest `gradient` of all sizes */
    uint32_t since; /* moment of the second forward; memory freed before it is not kept until a forward */
};

static bool may_be_gradient(const struct finder *finder, const struct sizes *sizes, uint32_t allocation) {
    uint8_t category = finder->verdicts->category[allocation];
    bool no_stack = finder->allocations->stack[allocation] == 0 ||
                    (finder->allocations->flags[allocation] & ALLOCATION_STACK_OF_FREE) != 0;
    return allocation < finder->allocations->preexisting &&
           finder->allocations->death[allocation] > sizes->since &&
           (category == CATEGORY_OTHER || category == CATEGORY_GRADIENT || no_stack);
}

static bool may_be_parameter(const struct finder *finder, uint32_t allocation) {
    return allocation < finder->allocations->preexisting ||
           finder->verdicts->category[allocation] == CATEGORY_PARAMETER;
}

/* Fills the sizes; `row`: everything that may be a parameter, by size. */
static void sizes_fill(struct sizes *sizes, const struct finder *finder, const struct sort_row *row,
                       uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        uint32_t allocation = row[i].value, goes = finder->allocations->death[allocation];
        if (sizes->count == 0 || sizes->size[sizes->count - 1].nbytes != row[i].key)
            sizes->size[sizes->count++] = (struct size){.nbytes = row[i].key};
        struct size *size = &sizes->size[sizes->count - 1];
        if (goes > size->parameter)
            size->parameter = goes;
        if (!may_be_gradient(finder, sizes, allocation))
            continue;
        size->n_olds++;
        if (goes > size->gradient)
            size->gradient = goes;
        if (goes > sizes->last)
            sizes->last = goes;
    }
}

static bool sizes_find(struct sizes *sizes, const struct finder *finder, uint32_t since) {
    const struct allocations *allocations = finder->allocations;
    uint32_t count = 0, n = 0;
    for (uint32_t i = 0; i < allocations->count; i++)
        count += may_be_parameter(finder, i);
    struct sort_row *row = arena_column(finder->arena, (uint64_t)count * 2, sizeof *row);
    *sizes = (struct sizes){.size = arena_column(finder->arena, count, sizeof *sizes->size), .since = since};
    if (row == NULL || sizes->size == NULL)
        return false;
    for (uint32_t i = 0; i < allocations->count; i++)
        if (may_be_parameter(finder, i))
            row[n++] = (struct sort_row){allocations->size[i], i};
    sort_rows(row, row + count, n);
    sizes_fill(sizes, finder, row, n);
    ARENA_DROP(finder->arena, row);
    return true;
}

/* NULL: no parameter has that size. */
static struct size *sizes_at(const struct sizes *sizes, uint64_t nbytes) {
    uint32_t low = SEARCH(0, sizes->count, i, sizes->size[i].nbytes < nbytes);
    return low < sizes->count && sizes->size[low].nbytes == nbytes ? &sizes->size[low] : NULL;
}

/* The size of an allocation of a turn's backward, if a parameter alive at `next` has it; otherwise NULL. */
static struct size *size_of(const struct finder *finder, const struct sizes *sizes, uint32_t allocation,
                            uint32_t next) {
    struct size *size = sizes_at(sizes, finder->allocations->size[allocation]);
    return size != NULL && size->parameter > next ? size : NULL;
}

static bool is_backward(const struct finder *finder, uint32_t allocation) {
    return finder->verdicts->runs.letter[allocation] == PHASE_BACKWARD;
}

/* Counts the gradients of each size that a turn's backward makes. */
static void turn_count(const struct finder *finder, struct sizes *sizes, uint32_t index, uint32_t next) {
    const struct turn *turn = &finder->verdicts->turns.turn[index];
    uint32_t n_later = 0; /* allocations of this turn's backward after it */
    for (uint32_t k = turn->end; k-- > turn->first;) {
        uint32_t allocation = finder->allocations->preexisting + k;
        if (!is_backward(finder, allocation))
            continue;
        if (n_later++ < LAST_OF_BACKWARD || !is_gradient(finder, allocation))
            continue;
        struct size *size = size_of(finder, sizes, allocation, next);
        if (size == NULL)
            continue;
        size->n_made = size->turn == index + 1 ? size->n_made + 1 : 1;
        size->turn = index + 1;
    }
}

/* Bytes of gradients that a turn's backward makes, if there is no older gradient to add to. */
static uint64_t turn_sum(const struct finder *finder, const struct turn *turn) {
    uint64_t made = 0;
    for (uint32_t k = turn->first; k < turn->end; k++) {
        uint32_t allocation = finder->allocations->preexisting + k;
        if (is_backward(finder, allocation) && is_gradient(finder, allocation))
            made += finder->allocations->size[allocation];
    }
    return made;
}

/* The same if there may be one; `next`: the next forward, until which gradients would be kept. */
static uint64_t turn_made(struct finder *finder, struct sizes *sizes, uint32_t index, uint32_t next) {
    const struct turn *turn = &finder->verdicts->turns.turn[index];
    uint64_t made = 0, added = 0;
    turn_count(finder, sizes, index, next);
    for (uint32_t k = turn->first; k < turn->end; k++) {
        uint32_t allocation = finder->allocations->preexisting + k;
        uint8_t category = finder->verdicts->category[allocation];
        const struct size *size =
            is_backward(finder, allocation) ? size_of(finder, sizes, allocation, next) : NULL;
        if (size == NULL)
            continue;
        bool anew = size->turn == index + 1 && (uint64_t)size->n_made * OLDS_PER_GRADIENT >= size->n_olds;
        if (is_gradient(finder, allocation))
            made += anew ? size->nbytes : 0;
        else if (category == CATEGORY_TEMPORARY && size->gradient > next)
            added += anew ? 0 : size->nbytes;
    }
    finder->gradients_unsure |= made <= added;
    return made > added ? made : 0;
}

bool gradients_made(struct finder *finder, const uint32_t *forward_moment, uint64_t *made) {
    const struct turns *turns = &finder->verdicts->turns;
    struct sizes sizes;
    if (!sizes_find(&sizes, finder, turns->count > 1 ? forward_moment[1] : finder->timeline->n_moments))
        return false;
    for (uint32_t t = 0; t < turns->count; t++) {
        uint32_t next = t + 1 < turns->count ? forward_moment[t + 1] : finder->timeline->n_moments;
        made[t] = sizes.last > next ? turn_made(finder, &sizes, t, next) : turn_sum(finder, &turns->turn[t]);
    }
    ARENA_DROP(finder->arena, sizes.size);
    return true;
}
