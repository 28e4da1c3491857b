/* Finds figures in lines of a log. Private to parser/log/. */
#pragma once

#include "parser/log/log_rows.h"
#include "parser/log/log_text.h"

/* Where a figure stands. */
enum log_place {
    BEHIND,   /* "WORDS 12.5 GB", with blanks, colons and equals signs in between */
    WHOLE,    /* like BEHIND, if the words do not continue another word */
    BEFORE,   /* "12.5 GB WORDS" */
    CELL,     /* "WORDS | 12.5 GB": in the next cell of a table */
    DECIMAL,  /* "WORDS 12.5 GB" in powers of ten */
    USED_OF,  /* "WORDS (12.5/79.1 GiB": the first figure */
    TOTAL_OF, /* "WORDS (12.5/79.1 GiB": the second figure */
    PAGES, /* like CELL, if it is a multiple of 512, as PyTorch's sizes are; other programs have divided it */
    NUMBER_BEFORE, /* "12WORDS": a number without a unit, which `unit` multiplies */
    COUNTED,       /* "WORDS 12": a number that is not of bytes */
    COUNT_BEFORE   /* "12 CUDA WORDS": a number that is not of bytes, perhaps with one word in between */
};

/* 10^9 bytes. */
#define GB UINT64_C(1000000000)

/* A figure of a form. */
struct log_figure {
    const char *words; /* NULL ends a list */
    enum log_place place;
    enum note_what what;
    uint64_t unit; /* unit of a bare number; 0: a bare number is not a size */
};

/* Reads the figure at the first occurrence of its words that has one. False: none. O(line). */
bool log_figure_find(struct text line, const struct log_figure *figure, uint64_t *number);

/* Adds all figures of a list that the line has to the row, unless the row has them. Returns how many were added. */
unsigned log_figures_read(struct text line, const struct log_figure *figures, struct log_row *row);

/* The first or second figure of "(18.40/79.15 GiB", "(18.40 GiB/79.15 GiB", "(0.9, 71.27 GiB", "cuda:0 (18.40/79.15
 * GiB". */
bool log_pair_size(struct text line, uint32_t at, bool second, uint64_t unit, uint64_t *nbytes);

static inline bool log_has(struct text line, const char *words) {
    return log_find(line, 0, words) != LOG_NONE;
}

/* Does the line have both of the words? "" is in every line. */
static inline bool log_has_both(struct text line, const char *const words[2]) {
    return log_has(line, words[0]) && (words[1][0] == '\0' || log_has(line, words[1]));
}

/* The place after the first `words` from `from` on, and after what log_skip skips; LOG_NONE: they do not occur, or
 * `from` is LOG_NONE. */
uint32_t log_behind(struct text line, uint32_t from, const char *words);

/* The number after the first "WORD". */
bool log_count_behind(struct text line, const char *word, uint64_t *count);

/* A figure at `at` that may be negative. False: none, or `at` is LOG_NONE. */
bool log_signed_size(struct text line, uint32_t at, uint64_t unit, uint64_t *nbytes, bool *negative);

/* The figure before `at`; a bare one in `unit`. False: none. */
bool log_size_in(struct text line, uint32_t at, uint64_t unit, uint64_t *nbytes);

/* Where a number of digits, and of points if `points`, begins that ends at `end`. */
uint32_t log_digits_begin(struct text line, uint32_t end, bool points);

/* Takes the number after "GPU", "cuda:" or "Device" as the row's GPU. Returns the place after it; LOG_NONE: none. */
uint32_t log_gpu_find(struct text line, struct log_row *row);

/* Sets the row's GPU, unless the number is too large for one. */
void log_gpu_set(struct log_row *row, uint64_t number);

/* Reads the step or iteration that the line names. */
void log_step_find(struct text line, struct log_row *row);

/* Copies a figure that is printed only as a maximum to the level of its line. */
void log_maxima_show(struct log_row *row);

/* Copies text into a name of the row, cut to its room. */
void log_name_set(char name[LOG_NAME_NBYTES], struct text text);
