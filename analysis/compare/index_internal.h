/* Private to the files of the index: index_findings.c (which rows form one finding) and index_words.c (sentences about
 * one row, and about several). */
#pragma once

#include "analysis/compare/index.h"

/* A text in the index's arena; without memory it is "", and index->lacks_memory is set. */
__attribute__((format(printf, 2, 3))) const char *index_say(struct index *index, const char *format, ...);

/* Fills what follows from a row's comparison, with a sentence of at most 25 words: `of` maps compared rows to rows. */
void index_row_tell(struct index *index, struct index_row *row, const struct outlier_row *from,
                    const uint32_t *of);

/* The title for rows whose own findings are alike, and for rows with the same note. */
const char *index_title_of_rows(struct index *index, const struct index_finding *finding);
const char *index_title_of_notes(struct index *index, const struct index_finding *finding,
                                 const struct index_note *note);
