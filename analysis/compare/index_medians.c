#include "analysis/compare/index.h"

#include <stdlib.h>

struct candidate {
    uint64_t peak_bytes;
    uint32_t row;
};

static int candidate_compare(const void *a, const void *b) {
    const struct candidate *x = a, *y = b;
    if (x->peak_bytes != y->peak_bytes)
        return x->peak_bytes < y->peak_bytes ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static bool is_candidate(const struct index_row *row, const struct index_row *odd) {
    return row != odd && row->copy_of == NULL && row->finding == NULL && row->truncation == NULL &&
           row->cohort == odd->cohort && row->step == odd->step;
}

static uint32_t median_of(const struct index *index, uint32_t odd, struct candidate *candidates) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < index->n_rows; i++)
        if (is_candidate(&index->rows[i], &index->rows[odd]))
            candidates[count++] = (struct candidate){index->rows[i].peak_bytes, i};
    if (count == 0)
        return INDEX_NOBODY;
    qsort(candidates, count, sizeof *candidates, candidate_compare);
    return candidates[(count - 1) / 2].row;
}

bool index_choose_medians(struct index *index) {
    struct candidate *candidates = malloc(((size_t)index->n_rows + 1) * sizeof *candidates);
    for (uint32_t i = 0; candidates != NULL && i < index->n_findings; i++) {
        struct index_finding *finding = &index->findings[i];
        bool differs = finding->about == INDEX_OF_RANK && index->rows[finding->rows[0]].has_allocations;
        finding->against = differs ? median_of(index, finding->rows[0], candidates) : INDEX_NOBODY;
    }
    free(candidates);
    return candidates != NULL;
}
