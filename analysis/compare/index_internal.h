/* Private to the files of the index: index_findings.c (which rows form one finding), index_rows.c (sentences about
 * one row) and index_titles.c (sentences about several). */
#pragma once

#include "analysis/compare/index.h"

/* Room for a title, with its NUL. */
enum { FINDING_CAPACITY = 1400, RANKS_SHOWN = 160 };

/* Copies a text into the index's arena. NULL: no memory. */
char *index_text(struct index *index, const char *text);

/* ---- index_rows.c ---- */

struct subject {
    char text[288];
};

/* "rank 3, step 10", with the path if that is ambiguous; "it" after the first sentence. */
struct subject index_subject(const struct index_row *row, const char *finding);

/* Writes a row's sentences from its comparison: `of` maps compared rows to rows. False: no memory. */
bool index_row_tell(struct index *index, struct index_row *row, const struct outlier_row *from,
                    const uint32_t *of);

/* ---- index_titles.c ---- */

/* The title for rows whose own findings, or notes, are alike; `title` has FINDING_CAPACITY bytes. */
void index_title_of_rows(const struct index *index, const struct index_finding *finding, char *title);
void index_title_of_notes(const struct index *index, const struct index_finding *finding,
                          const struct index_note *note, char *title);
