#include "parser/log/log_pieces.h"

#include <string.h>

bool log_figure_find(struct text line, const struct log_figure *figure, uint64_t *number) {
    uint32_t length = (uint32_t)strlen(figure->words);
    for (uint32_t at = log_find(line, 0, figure->words); at != LOG_NONE;
         at = log_find(line, at + 1, figure->words)) {
        if (figure->place == BEFORE && log_size_before(line, at, number))
            return true;
        if (figure->place == BEHIND &&
            log_size(line, log_skip(line, at + length), figure->unit, number) != LOG_NONE)
            return true;
        if (figure->place == COUNTED && log_count(line, log_skip(line, at + length), number) != LOG_NONE)
            return true;
    }
    return false;
}

unsigned log_figures_read(struct text line, const struct log_figure *figures, struct log_row *row) {
    unsigned n = 0;
    uint64_t number;
    for (const struct log_figure *figure = figures; figure->words != NULL; figure++)
        if (!log_knows(row, figure->what) && log_figure_find(line, figure, &number)) {
            log_know(row, figure->what, number);
            n++;
        }
    return n;
}

bool log_count_behind(struct text line, const char *word, uint64_t *count) {
    uint32_t at = log_find(line, 0, word);
    return at != LOG_NONE && log_count(line, log_skip(line, at + (uint32_t)strlen(word)), count) != LOG_NONE;
}

void log_gpu_set(struct log_row *row, uint64_t number) {
    if (number < 65536)
        row->gpu = (int32_t)number;
}

void log_step_find(struct text line, struct log_row *row) {
    static const char *const words[] = {"(after ", "step:", "step=", "step ", "iteration ",   "iteration:",
                                        "Step ",   "iter ", "Iter ", "Step:", "global_step=", "'step':"};
    uint64_t step;
    for (size_t i = 0; i < sizeof words / sizeof *words && !log_knows(row, NOTE_STEP); i++)
        if (log_count_behind(line, words[i], &step))
            log_know(row, NOTE_STEP, step);
}

void log_name_set(char name[LOG_NAME_NBYTES], struct text text) {
    uint32_t length = text.nbytes < LOG_NAME_NBYTES ? text.nbytes : LOG_NAME_NBYTES - 1;
    memset(name, 0, LOG_NAME_NBYTES);
    memcpy(name, text.at, length);
}
