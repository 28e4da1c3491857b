/* Names older memory that is freed in the recording: by the stack of the free, or else by the recorded allocations
 * around the free. */
#include "analysis/loop/older_internal.h"

#include "analysis/loop/frame_bits.h"
#include "base/bytes.h"

enum { IN_FLIGHT = 32, GRAPH_LEAST = 8 };

/* Older allocations that are freed between the same two recorded ones: rows [from, to). */
struct gap {
    const struct sort_row *rows;
    uint32_t from, to;
    uint32_t before;    /* recorded allocations before them */
    enum run_side side; /* of the last of these */
    bool first;         /* there are none before them */
};

static uint32_t free_bits(const struct naming *naming, uint32_t allocation) {
    bool known = (naming->allocations->flags[allocation] & ALLOCATION_STACK_OF_FREE) != 0;
    return known ? naming->runs->stack_bits[naming->allocations->stack[allocation]] : 0;
}

/* Names one allocation by the stack of its free, or by the allocations around the free. */
static void one_name(struct naming *naming, const struct gap *gap, uint32_t allocation) {
    uint32_t bits = free_bits(naming, allocation);
    bool in_flight = naming->begins_backward && gap->before <= IN_FLIGHT;
    if (bits & BIT_ZERO_GRAD)
        name_as(naming, allocation, CATEGORY_GRADIENT, REASON_NONE);
    else if (((bits & BIT_BACKWARD) || (!gap->first && gap->side == SIDE_BACKWARD)) && !in_flight &&
             naming->parameters[size_at(naming, allocation)] == 0)
        name_as(naming, allocation, CATEGORY_ACTIVATION, REASON_NONE);
}

/* The first `n` of each size, by address, get one name and the others another. */
static void gap_split(struct naming *naming, const struct gap *gap, enum category first, enum category rest,
                      bool of_states) {
    uint32_t n = 0;
    uint64_t size = 0;
    for (uint32_t i = gap->from; i < gap->to; i++) {
        uint32_t allocation = gap->rows[i].value, at = size_at(naming, allocation);
        n = i > gap->from && naming->allocations->size[allocation] == size ? n : 0;
        size = naming->allocations->size[allocation];
        if (!is_unnamed(naming, allocation) || (of_states && naming->states[at] == 0))
            continue;
        name_as(naming, allocation, n++ < naming->parameters[at] ? first : rest, REASON_BY_SIZE);
    }
}

static bool gap_covers(struct naming *naming, const struct gap *gap, uint32_t *counts) {
    bytes_zero(counts, (size_t)naming->sizes.count * sizeof *counts);
    for (uint32_t i = gap->from; i < gap->to; i++)
        if (is_unnamed(naming, gap->rows[i].value))
            counts[size_at(naming, gap->rows[i].value)]++;
    return size_set_covers(&naming->sizes, counts, naming->parameters);
}

/* The only category that is carried from turn to turn in this size, if that is a result or an activation. */
static enum category carried_as(const struct naming *naming, uint32_t at) {
    return naming->carry[at] == 1u << CATEGORY_RESULT       ? CATEGORY_RESULT
           : naming->carry[at] == 1u << CATEGORY_ACTIVATION ? CATEGORY_ACTIVATION
                                                            : CATEGORY_OTHER;
}

static void forward_name(struct naming *naming, const struct gap *gap) {
    uint32_t left = 0;
    if (naming->runs->n_allocations == 0)
        return; /* without events: what waits for another stream is no graph of a previous pass */
    for (uint32_t i = gap->from; i < gap->to; i++)
        left += is_unnamed(naming, gap->rows[i].value);
    for (uint32_t i = gap->from; i < gap->to; i++) {
        uint32_t allocation = gap->rows[i].value;
        if (!is_unnamed(naming, allocation))
            continue;
        name_as(naming, allocation,
                left > GRAPH_LEAST ? CATEGORY_ACTIVATION : carried_as(naming, size_at(naming, allocation)),
                REASON_NONE);
    }
}

bool freed_name(struct naming *naming, const struct sort_row *rows, uint32_t count, struct arena *arena) {
    bool known = naming->source != OLDER_NONE, gradient_named = false;
    bool kept = known && size_set_covers(&naming->sizes, naming->held, naming->parameters);
    uint32_t *counts = arena_column(arena, naming->sizes.count, sizeof *counts);
    uint64_t least = known ? size_set_bytes(&naming->sizes, naming->parameters) / 2 : 0;
    if (counts == NULL)
        return false;
    for (uint32_t i = 0; i < naming->runs->first_allocation; i++)
        naming->zero_grad_seen |= (free_bits(naming, i) & BIT_ZERO_GRAD) != 0;
    struct gap gap = {.rows = rows};
    for (; gap.from < count; gap.from = gap.to) {
        uint64_t bytes = 0;
        gap.before = (uint32_t)rows[gap.from].key;
        gap.first = gap.before == 0;
        gap.side =
            gap.first ? SIDE_FORWARD
                      : side_of_letter(naming->runs->letter[naming->runs->first_allocation + gap.before - 1]);
        for (gap.to = gap.from; gap.to < count && rows[gap.to].key == gap.before; gap.to++) {
            one_name(naming, &gap, rows[gap.to].value);
            gradient_named |= naming->category[rows[gap.to].value] == CATEGORY_GRADIENT;
            bytes += naming->allocations->size[rows[gap.to].value];
        }
        if (gap.side == SIDE_OPTIMIZER && known)
            gap_split(naming, &gap, kept ? CATEGORY_OPTIMIZER_STATE : CATEGORY_PARAMETER,
                      CATEGORY_OPTIMIZER_STATE, true);
        if (gap.side != SIDE_FORWARD)
            continue;
        if (naming->source == OLDER_GRADIENTS && !gradient_named && bytes >= least &&
            gap_covers(naming, &gap, counts)) {
            gap_split(naming, &gap, CATEGORY_GRADIENT, CATEGORY_OTHER, false);
            gradient_named = true;
        }
        forward_name(naming, &gap);
    }
    ARENA_DROP(arena, counts);
    return true;
}
