#include "parser/log/log_rows.h"

#include "base/arena.h"

bool log_rows_put(struct log_rows *rows, struct arena *arena, uint32_t index, const struct log_row *row) {
    if (!ARENA_GROW(arena, rows->entry, rows->capacity, (uint64_t)index + 1) ||
        !ARENA_GROW(arena, rows->value, rows->value_capacity, (uint64_t)rows->n_values + NOTE_KINDS))
        return false;
    rows->count += index == rows->count;
    rows->entry[index] = row->of;
    rows->entry[index].first = rows->n_values;
    for (unsigned what = 0; what < NOTE_KINDS; what++)
        if (log_knows(row, (enum note_what)what))
            rows->value[rows->n_values++] = row->value[what];
    return true;
}

void log_rows_get(const struct log_rows *rows, uint32_t index, struct log_row *row) {
    *row = (struct log_row){.of = rows->entry[index]};
    uint32_t at = row->of.first;
    for (unsigned what = 0; what < NOTE_KINDS; what++)
        if (log_knows(row, (enum note_what)what))
            row->value[what] = rows->value[at++];
}
