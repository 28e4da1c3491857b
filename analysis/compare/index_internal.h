/*
 * Findings of the index, shared by index_findings.c (which rows are one finding), index_rows.c (what is said of a row) and
 * index_titles.c (what is said of several). Private to them.
 */
#pragma once

#include "analysis/compare/index.h"

/* Of a title, with its NUL. */
enum { FINDING_CAPACITY = 1400, RANKS_SHOWN = 160 };

/* A copy in the index's arena. NULL: no memory. */
char *index_text(struct index *index, const char *text);

/* ---- index_rows.c ---- */

struct subject {
    char text[288];
};

/* "rank 3, step 10", and the path where that is not one recording; "it" after the first sentence. */
struct subject index_subject(const struct index_row *row, const char *finding);

/* Fills what a row has from its comparison: `of` says which row each compared one is. False: no memory. */
bool index_row_tell(struct index *index, struct index_row *row, const struct outlier_row *from,
                    const uint32_t *of);

/* ---- index_titles.c ---- */

/* Of rows whose own findings are alike, and of notes that are; `title` has FINDING_CAPACITY bytes. */
void index_title_of_rows(const struct index *index, const struct index_finding *finding, char *title);
void index_title_of_notes(const struct index *index, const struct index_finding *finding,
                          const struct index_note *note, char *title);
