/* The rows of an index: their order, the row to compare an odd one with, and settings that serve all. */
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

/* ---- medians ---- */

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
           row->peers == odd->peers;
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

/* ---- one setting for all ranks ---- */

static const struct index_setting *setting_named(const struct index_row *row, const char *name) {
    for (uint32_t i = 0; i < row->n_settings; i++)
        if (strcmp(row->settings[i].name, name) == 0)
            return &row->settings[i];
    return NULL;
}

/* Keeps the settings that all rows have. One must give each rank what it needs, so its figure is the highest need. */
static void settings_unite(struct index *index, const struct index_row *row) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < index->n_together; i++) {
        const struct index_setting *own = setting_named(row, index->together[i].name);
        struct index_setting united = index->together[i];
        if (own == NULL)
            continue;
        united.peak_bytes = own->peak_bytes > united.peak_bytes ? own->peak_bytes : united.peak_bytes;
        united.served &= own->served;
        index->together[n++] = united;
    }
    index->n_together = n;
}

bool index_unite_settings(struct index *index) {
    for (uint32_t i = 0; i < index->n_rows; i++) {
        const struct index_row *row = &index->rows[i];
        if (row->n_settings == 0 || row->copy_of != NULL)
            continue;
        if (index->n_planned++ != 0) {
            settings_unite(index, row);
            continue;
        }
        index->together = arena_alloc(index->arena, row->n_settings * sizeof *index->together);
        if (index->together == NULL)
            return false;
        memcpy(index->together, row->settings, row->n_settings * sizeof *row->settings);
        index->n_together = row->n_settings;
    }
    return true;
}

const struct index_setting *index_best_setting(const struct index *index) {
    const struct index_setting *best = NULL;
    for (uint32_t i = 0; i < index->n_together; i++)
        if (best == NULL || index->together[i].served > best->served ||
            (index->together[i].served == best->served && index->together[i].peak_bytes < best->peak_bytes))
            best = &index->together[i];
    return best;
}
