#include "parser/log/log_rows.h"

#include "parser/intern.h"

#include <string.h>

static bool name_intern(struct interner *interner, const char *name, uint32_t *id) {
    return intern_string(interner, name, strlen(name), id);
}

static bool values_add(struct log_rows *rows, struct arena *arena, const struct log_row *row) {
    for (unsigned what = 0; what < NOTE_KINDS; what++) {
        if (!log_knows(row, (enum note_what)what))
            continue;
        if (!ARENA_GROW(arena, rows->value, rows->value_capacity, (uint64_t)rows->n_values + 1))
            return false;
        rows->value[rows->n_values++] = row->value[what];
    }
    return true;
}

bool log_rows_put(struct log_rows *rows, struct interner *interner, uint32_t index,
                  const struct log_row *row) {
    struct log_entry entry = {.known = row->known,
                              .time_us = row->time_us,
                              .first = rows->n_values,
                              .line = row->line,
                              .label = row->label,
                              .stack = row->stack,
                              .rank = row->rank,
                              .gpu = row->gpu,
                              .has_time = row->has_time,
                              .is_oom = row->is_oom,
                              .max_is_reset = row->max_is_reset,
                              .retried = row->retried,
                              .possible = row->possible};
    if (!values_add(rows, &interner->trace->arena, row) ||
        !name_intern(interner, row->backend, &entry.backend) ||
        !name_intern(interner, row->setting, &entry.setting) ||
        !name_intern(interner, row->killed, &entry.killed) || !name_intern(interner, row->most, &entry.most))
        return false;
    rows->entry[index] = entry;
    return true;
}

bool log_rows_add(struct log_rows *rows, struct interner *interner, const struct log_row *row) {
    if (!ARENA_GROW(&interner->trace->arena, rows->entry, rows->capacity, (uint64_t)rows->count + 1))
        return false;
    return log_rows_put(rows, interner, rows->count++, row);
}
