/* Finds figures in lines of a log. Private to parser/log/. */
#pragma once

#include "parser/log/log_rows.h"
#include "parser/log/log_text.h"

/* Where a figure stands. */
enum log_place {
    BEHIND,        /* "WORDS 12.5 GB", with blanks, colons and equals signs in between */
    WHOLE,         /* like BEHIND, if the words do not continue another word */
    BEFORE,        /* "12.5 GB WORDS" */
    NEXT_CELL,     /* in the cell after that */
    CELL,          /* "WORDS | 12.5 GB": in the next cell of a table, or behind quotes and colons */
    DECIMAL,       /* "WORDS 12.5 GB" in powers of ten */
    USED_OF,       /* "WORDS (12.5/79.1 GiB": the first figure */
    TOTAL_OF,      /* "WORDS (12.5/79.1 GiB": the second figure */
    USED_OF_LAST,  /* "70123MiB /  81559MiB": before the line's last stroke, the words */
    TOTAL_OF_LAST, /* behind it */
    PAGES, /* like CELL, if it is a multiple of 512, as PyTorch's sizes are; other programs have divided it */
    NUMBER_BEFORE, /* "12WORDS": a number without a unit, which `unit` multiplies */
    ADDED,         /* like WHOLE; adds to what the line says already */
    ON_TOP,        /* like BEFORE, "7.5GB (+0.5GB WORDS": above the line's figure before it */
    COUNTED,       /* "WORDS 12", "12 WORDS": a number that is not of bytes; groups of digits are fine */
    COUNT_BEFORE   /* "12 CUDA WORDS": a number that is not of bytes, perhaps with one word in between */
};

/* A figure of a form. */
struct log_figure {
    const char *words; /* NULL ends a list */
    enum log_place place;
    enum note_what what;
    uint64_t unit; /* unit of a bare number; 0: a bare number is not a size */
};

/* Adds all figures of a list that the line has to the row, unless the row has them. Returns how many were added. */
unsigned log_figures_read(struct text line, const struct log_figure *figures, struct log_row *row);

static inline bool log_has(struct text line, const char *words) {
    return log_find(line, 0, words) != LOG_NONE;
}

/* The place after the first `words`, and after what log_skip skips; LOG_NONE: they do not occur. */
uint32_t log_behind(struct text line, const char *words);

/* The number after the first "WORD". */
bool log_count_behind(struct text line, const char *word, uint64_t *count);

/* Where a number of digits begins that ends at `end`. */
uint32_t log_digits_begin(struct text line, uint32_t end);

/* Sets the row's GPU, unless the number is too large for one. */
void log_gpu_set(struct log_row *row, uint64_t number);

/* Takes the number after the first of the words that has one as the row's GPU, if it has none. */
void log_gpu_find(struct text line, const char *const *words, uint32_t n_words, struct log_row *row);

/* Reads the step or iteration that the line names. */
void log_step_find(struct text line, struct log_row *row);
