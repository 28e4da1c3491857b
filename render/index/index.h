/* Writes an index, whose content analysis/compare/index.h finds. */
#pragma once

#include "analysis/compare/index.h"
#include "base/json_writer.h"

/* Writes summary.json: totals, one row per file, findings, refusals. False: no memory. */
bool index_json(struct buffer *out, const struct index *index);

/* Writes index.html, self-contained. False: no memory. */
bool index_html(struct buffer *out, const struct index *index);

/* Writes the document of both: for the page with the curves, steps and notes of the rows. False: no memory. */
bool index_write(struct json_writer *json, const struct index *index);
