/* One setting for all ranks: it must give each what it needs, so the figure is the highest need of any rank. */
#include "analysis/compare/index.h"

#include <string.h>

static const struct index_setting *setting_named(const struct index_row *row, const char *name) {
    for (uint32_t i = 0; i < row->n_settings; i++)
        if (strcmp(row->settings[i].name, name) == 0)
            return &row->settings[i];
    return NULL;
}

/* Keeps the settings that all rows have. */
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
