#include "parser/log/log_pieces.h"

#include "base/units.h"

#include <string.h>

static uint32_t cell_skip(struct text line, uint32_t at) {
    while (at < line.nbytes && strchr(" \t|:='\",", line.at[at]) != NULL)
        at++;
    return at;
}

static uint32_t number_read(struct text line, uint32_t at, struct decimal *decimal) {
    return at < line.nbytes ? decimal_read(decimal, text_from(line, at)) : 0;
}

/* "12.5 GB" of 10^9 bytes each; a bare number in `bare`, if that is not 0. */
static bool decimal_size(struct text line, uint32_t at, uint64_t bare, uint64_t *nbytes) {
    struct decimal decimal;
    uint32_t length = number_read(line, at, &decimal), end = at + length;
    uint64_t unit = log_unit(line, at + length, &end), power = 1;
    for (uint64_t left = unit; left > 1; left >>= 10)
        power *= 1000;
    if (unit != 0)
        bare = text_ends((struct text){line.at, end}, "iB") ? unit : power;
    return length != 0 && bare != 0 && decimal.whole < 100000000 && decimal_times(&decimal, bare, nbytes);
}

/* The first or second figure of "(18.40/79.15 GiB", "(18.40 GiB/79.15 GiB", "(0.9, 71.27 GiB", "xpu:0 (18.40/79.15
 * GiB". A unit of the second holds for the first too. */
static bool pair_size(struct text line, uint32_t at, bool second, uint64_t bare, uint64_t *nbytes) {
    struct decimal decimal;
    uint64_t number, all;
    uint32_t open = log_match(line, at, "%:# (", NULL, &number), next;
    at = open != LOG_NONE ? open : at + (at < line.nbytes && line.at[at] == '(');
    uint32_t stroke = at + number_read(line, at, &decimal);
    if (stroke == at)
        return false;
    if (log_unit(line, stroke, &next) != 0)
        stroke = next;
    stroke = log_skip(line, stroke);
    if (stroke >= line.nbytes || (line.at[stroke] != '/' && line.at[stroke] != ','))
        return false;
    uint32_t behind = log_skip(line, stroke + 1), end = behind + number_read(line, behind, &decimal);
    uint64_t unit = log_unit(line, end, &next);
    unit = unit != 0 ? unit : bare;
    if (log_size(line, behind, unit, &all) == LOG_NONE)
        return false;
    *nbytes = all;
    return second || log_size(line, at, unit, nbytes) != LOG_NONE;
}

/* The figures around the last stroke: "70123MiB /  81559MiB", "3352 / 65536". */
static bool last_pair(struct text line, uint32_t stroke, bool total, uint64_t unit, uint64_t *nbytes) {
    uint64_t used, all;
    uint32_t end = stroke;
    while (end > 0 && line.at[end - 1] == ' ')
        end--;
    bool bare = end > 0 && is_digit(line.at[end - 1]);
    bool sized = bare ? log_size(line, log_digits_begin(line, end), unit, &used) == end
                      : log_size_before(line, stroke, &used);
    if (!sized || log_find(line, stroke + 1, "/ ") != LOG_NONE ||
        log_size(line, log_skip(line, stroke + 1), unit, &all) == LOG_NONE || used > all || all == 0)
        return false;
    *nbytes = total ? all : used;
    return true;
}

static uint32_t word_begin(struct text line, uint32_t at, bool blanks) {
    while (at > 0 && (line.at[at - 1] == ' ') == blanks)
        at--;
    return at;
}

/* "12 WORDS", "12 CUDA WORDS" */
static bool count_before(struct text line, uint32_t at, uint64_t *count) {
    for (unsigned i = 0; i < 2; i++) {
        at = word_begin(line, word_begin(line, at, true), false);
        if (log_count(line, at, count) != LOG_NONE)
            return true;
    }
    return false;
}

/* "1,234,567" */
static bool count_behind(struct text line, uint32_t at, uint64_t *count) {
    uint64_t nbytes;
    return log_size(line, at, 1, &nbytes) != LOG_NONE && (*count = nbytes, true);
}

/* Reads the figure whose words lie from `at` to `end`. */
static bool figure_read(struct text line, uint32_t at, uint32_t end, const struct log_figure *figure,
                        uint64_t *number) {
    uint32_t behind = log_skip(line, end);
    if ((figure->place == WHOLE || figure->place == ADDED) && at != 0 &&
        strchr(" |\t]:,", line.at[at - 1]) == NULL)
        return false;
    switch (figure->place) {
    case WHOLE:
    case ADDED:
    case BEHIND:
        return (figure->what == NOTE_ASKED ? log_size_asked : log_size)(line, behind, figure->unit, number) !=
               LOG_NONE;
    case ON_TOP:
    case BEFORE: return log_size_before(line, at, number);
    case CELL: return log_size(line, cell_skip(line, end), figure->unit, number) != LOG_NONE;
    case NEXT_CELL: {
        uint32_t cell = log_find(line, cell_skip(line, end), "|");
        return cell != LOG_NONE && log_size(line, log_skip(line, cell + 1), figure->unit, number) != LOG_NONE;
    }
    case DECIMAL: return decimal_size(line, cell_skip(line, end), figure->unit, number);
    case USED_OF:
    case TOTAL_OF: return pair_size(line, behind, figure->place == TOTAL_OF, figure->unit, number);
    case USED_OF_LAST:
    case TOTAL_OF_LAST: return last_pair(line, at, figure->place == TOTAL_OF_LAST, figure->unit, number);
    case PAGES: return log_size(line, cell_skip(line, end), 1, number) != LOG_NONE && *number % 512 == 0;
    case NUMBER_BEFORE:
        return log_size((struct text){line.at, at}, log_digits_begin(line, at), figure->unit, number) == at;
    case COUNTED: return count_behind(line, cell_skip(line, end), number);
    case COUNT_BEFORE: return count_before(line, at, number);
    }
    return false;
}

/* Reads the figure at the first occurrence of its words that has one. */
static bool figure_find(struct text line, const struct log_figure *figure, uint64_t *number) {
    uint32_t length = word_length(figure->words);
    for (uint32_t at = log_find(line, 0, figure->words); at != LOG_NONE;
         at = log_find(line, at + 1, figure->words))
        if (figure_read(line, at, at + length, figure, number))
            return true;
    return false;
}

unsigned log_figures_read(struct text line, const struct log_figure *figures, struct log_row *row) {
    unsigned n = 0;
    uint64_t number, before = 0;
    for (const struct log_figure *figure = figures; figure->words != NULL; figure++) {
        bool known = log_knows(row, figure->what) && figure->place != ADDED;
        if (known || !figure_find(line, figure, &number))
            continue;
        number += figure->place == ON_TOP ? before : 0;
        number += figure->place == ADDED ? log_number(row, figure->what) : 0;
        log_know(row, figure->what, number);
        before = number;
        n++;
    }
    return n;
}

uint32_t log_behind(struct text line, const char *words) {
    uint32_t at = log_find(line, 0, words);
    return at != LOG_NONE ? log_skip(line, at + word_length(words)) : LOG_NONE;
}

bool log_count_behind(struct text line, const char *word, uint64_t *count) {
    uint32_t at = log_behind(line, word);
    return at != LOG_NONE && log_count(line, at, count) != LOG_NONE;
}

uint32_t log_digits_begin(struct text line, uint32_t end) {
    while (end > 0 && (is_digit(line.at[end - 1]) || line.at[end - 1] == '.'))
        end--;
    return end;
}

void log_gpu_set(struct log_row *row, uint64_t number) {
    if (number < 65536)
        row->of.gpu = (int32_t)number;
}

void log_gpu_find(struct text line, const char *const *words, uint32_t n_words, struct log_row *row) {
    uint64_t number;
    for (uint32_t i = 0; i < n_words && row->of.gpu == LOG_NO_DEVICE; i++)
        if (log_count_behind(line, words[i], &number))
            log_gpu_set(row, number);
}

/* "(after 10 iterations)", "step: 2", "global_step=3", "'step': 4", "Iter 5", "iteration 6" */
void log_step_find(struct text line, struct log_row *row) {
    static const char *const words[] = {"(after", "tep", "teration", "iter", "Iter"};
    uint64_t step;
    for (size_t i = 0; i < sizeof words / sizeof *words && !log_knows(row, NOTE_STEP); i++)
        for (uint32_t at = log_find(line, 0, words[i]); at != LOG_NONE; at = log_find(line, at, words[i])) {
            at += word_length(words[i]);
            at += at < line.nbytes && (line.at[at] == '\'' || line.at[at] == '"');
            uint32_t digits = log_skip(line, at);
            if (digits == at || log_count(line, digits, &step) == LOG_NONE)
                continue;
            log_know(row, NOTE_STEP, step);
            break;
        }
}
