#include "analysis/compare/stages.h"

#include "base/bytes.h"
#include "base/numbers.h"
#include "base/sort.h"

struct ranks {
    const struct stage_row *rows;
    const struct sort_row *order; /* rows of one step, by rank */
    uint32_t count;
};

static uint64_t signature_at(const struct ranks *ranks, uint32_t at) {
    return ranks->rows[ranks->order[at].value].signature;
}

/* The end of the part that begins at `from`. */
static uint32_t part_end(const struct ranks *ranks, uint32_t from) {
    uint32_t to = from;
    while (to < ranks->count && signature_at(ranks, to) == signature_at(ranks, from))
        to++;
    return to;
}

/* Is every rank known, and present once? */
static bool ranks_are_known(const struct ranks *ranks) {
    for (uint32_t i = 0; i < ranks->count; i++) {
        int64_t rank = ranks->rows[ranks->order[i].value].rank;
        if (rank < 0 || (i > 0 && rank == ranks->rows[ranks->order[i - 1].value].rank))
            return false;
    }
    return true;
}

/* Do all parts begin at multiples of one length of at least two, and have multiples of it as length? */
static bool parts_are_even(const struct ranks *ranks) {
    uint64_t block = ranks->count;
    for (uint32_t from = 0, to; from < ranks->count; from = to) {
        to = part_end(ranks, from);
        block = common_divisor(common_divisor(block, from), to - from);
    }
    return block >= 2;
}

/* Has each model only one part? */
static bool parts_differ(const struct ranks *ranks, struct sort_row *parts, struct sort_row *spare) {
    uint32_t n = 0;
    for (uint32_t from = 0; from < ranks->count; from = part_end(ranks, from))
        parts[n++] = (struct sort_row){signature_at(ranks, from), from};
    sort_rows(parts, spare, n);
    for (uint32_t i = 1; i < n; i++)
        if (parts[i].key == parts[i - 1].key)
            return false;
    return true;
}

static void step_cut(const struct ranks *ranks, struct sort_row *parts, struct sort_row *spare,
                     uint32_t *stage) {
    uint32_t number = 0;
    if (!ranks_are_known(ranks) || !parts_are_even(ranks) || !parts_differ(ranks, parts, spare))
        return;
    for (uint32_t from = 0, to; from < ranks->count; from = to, number++) {
        to = part_end(ranks, from);
        for (uint32_t i = from; i < to; i++)
            stage[ranks->order[i].value] = number;
    }
}

bool stages_find(const struct stage_row *rows, uint32_t n_rows, struct arena *arena, uint32_t *stage) {
    struct sort_row *order, *parts, *spare;
    if (!ARENA_COLUMNS(arena, n_rows, order, parts, spare))
        return false;
    bytes_zero(stage, (size_t)n_rows * sizeof *stage);
    SORT_BY(order, spare, n_rows, i, (uint64_t)rows[i].rank);
    SORT_AGAIN(order, spare, n_rows, own, (uint64_t)rows[own].step);
    for (uint32_t from = 0, to; from < n_rows; from = to) {
        to = sort_rows_end(order, n_rows, from);
        step_cut(&(struct ranks){rows, order + from, to - from}, parts, spare, stage);
    }
    ARENA_DROP(arena, spare, parts, order);
    return true;
}
