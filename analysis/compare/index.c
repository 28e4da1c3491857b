/* The rows of an index, and their order. */
#include "analysis/compare/index.h"

#include <stdlib.h>
#include <string.h>

bool index_add_row(struct index *index, const struct index_row *row) {
    if (!ARENA_GROW(index->arena, index->rows, index->rows_capacity,
                    (uint64_t)index->n_rows + row->n_others + 1))
        return false;
    index->rows[index->n_rows++] = *row;
    for (uint32_t i = 0; i < row->n_others; i++)
        index->rows[index->n_rows++] = row->others[i];
    return true;
}

/* Compares numbers; unknown ones come last. */
static int number_compare(int64_t a, int64_t b) {
    if (a == b)
        return 0;
    if (a == INDEX_UNKNOWN || b == INDEX_UNKNOWN)
        return a == INDEX_UNKNOWN ? 1 : -1;
    return a < b ? -1 : 1;
}

static int row_compare(const void *a, const void *b) {
    const struct index_row *x = a, *y = b;
    int order = number_compare(x->rank, y->rank);
    if (order == 0)
        order = number_compare(x->step, y->step);
    if (order == 0)
        order = strcmp(x->input, y->input);
    if (order == 0)
        order = strcmp(x->name, y->name);
    return order != 0 ? order : number_compare(x->device, y->device);
}

static int refusal_compare(const void *a, const void *b) {
    const struct index_refusal *x = a, *y = b;
    int order = strcmp(x->input, y->input);
    return order != 0 ? order : strcmp(x->reason, y->reason);
}

void index_sort(struct index *index) {
    if (index->n_rows != 0)
        qsort(index->rows, index->n_rows, sizeof *index->rows, row_compare);
    if (index->n_failed != 0)
        qsort(index->failed, index->n_failed, sizeof *index->failed, refusal_compare);
    if (index->n_skipped != 0)
        qsort(index->skipped, index->n_skipped, sizeof *index->skipped, refusal_compare);
}
