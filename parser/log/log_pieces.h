/* Pieces that the forms of a log's lines are made of. Private to parser/log/. */
#pragma once

#include "parser/log/log_rows.h"
#include "parser/log/log_text.h"

/* The place of a figure. */
enum log_place {
    BEHIND,   /* "WORDS 12.5 GB", blanks, colons and equals signs between them */
    BEFORE,   /* "12.5 GB WORDS" */
    CELL,     /* the same in the next cell of a table */
    DECIMAL,  /* "WORDS 12.5 GB" in powers of ten */
    USED_OF,  /* "WORDS (12.5/79.1 GiB": the first, */
    TOTAL_OF, /* and the second */
    PAGES, /* like CELL, if it is a multiple of 512, as PyTorch's sizes are; other programs have divided it */
    NUMBER_BEFORE, /* "12WORDS": a number without a unit, which `unit` multiplies */
    COUNTED,       /* "WORDS 12": a number without a unit, not of bytes */
    COUNT_BEFORE   /* "12 CUDA WORDS": one word may be in between */
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

/* The first or second of "(18.40/79.15 GiB", "(18.40 GiB/79.15 GiB", "(0.9, 71.27 GiB", "cuda:0 (18.40/79.15 GiB". */
bool log_pair_size(struct text line, uint32_t at, bool second, uint64_t unit, uint64_t *nbytes);

/* Puts all figures of a list that the line has into the row. Returns how many. */
unsigned log_figures_read(struct text line, const struct log_figure *figures, struct log_row *row);

/* The text from `at` on. */
static inline struct text log_rest(struct text line, uint32_t at) {
    return (struct text){line.at + at, line.nbytes - at};
}

static inline bool log_has(struct text line, const char *words) {
    return log_find(line, 0, words) != LOG_NONE;
}

/* "WORD 12" */
bool log_count_behind(struct text line, const char *word, uint64_t *count);

/* The figure before `at`; a bare one in `unit`. False: none. */
bool log_size_in(struct text line, uint32_t at, uint64_t unit, uint64_t *nbytes);

/* Takes the number after "GPU", "cuda:" or "Device" as the row's GPU. Returns the place after it; LOG_NONE: none. */
uint32_t log_gpu_find(struct text line, struct log_row *row);

/* The number of a device as the row's GPU. */
void log_gpu_set(struct log_row *row, uint64_t number);

/* The step or iteration that the line names. */
void log_step_find(struct text line, struct log_row *row);

/* A figure printed only as a maximum is also the level of its line, and marked so: it is its own maximum. */
void log_maxima_show(struct log_row *row);

/* Copies text into a name of the row, cut to its room. */
void log_name_set(char name[LOG_NAME_NBYTES], struct text text);
