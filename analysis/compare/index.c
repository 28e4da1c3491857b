/* The rows of an index: their order, the row to compare an odd one with, and settings that serve all. */
#include "analysis/compare/index.h"

#include "base/sort.h"

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

bool index_choose_medians(struct index *index) {
    struct sort_row *rows, *spare; /* by rising peak, then row */
    bool done = ARENA_COLUMNS(index->arena, index->n_rows, rows, spare);
    for (uint32_t i = 0; done && i < index->n_findings; i++) {
        struct index_finding *finding = &index->findings[i];
        const struct index_row *odd = &index->rows[finding->rows[0]];
        uint32_t count = 0;
        for (uint32_t k = 0; k < index->n_rows; k++) {
            const struct index_row *row = &index->rows[k];
            if (row != odd && row->copy_of == NULL && row->finding == NULL && row->truncation == NULL &&
                row->peers == odd->peers)
                rows[count++] = (struct sort_row){row->peak_bytes, k};
        }
        sort_rows(rows, spare, count);
        bool differs = finding->about == INDEX_OF_RANK && odd->has_allocations && count != 0;
        finding->against = differs ? rows[(count - 1) / 2].value : INDEX_NOBODY;
    }
    ARENA_DROP(index->arena, spare, rows);
    return done;
}

/* ---- one setting for all ranks ---- */

/* Keeps the settings that all rows have. One must give each rank what it needs, so its figure is the highest need. */
static void settings_unite(struct index *index, const struct index_row *row) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < index->n_together; i++) {
        struct plan_need united = index->together[i];
        uint32_t k = 0;
        while (k < row->n_settings && strcmp(row->settings[k].settings, united.settings) != 0)
            k++;
        if (k == row->n_settings)
            continue;
        plan_need_unite(&united, &row->settings[k]);
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
