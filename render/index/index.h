/* Writes an index; analysis/compare/index.h finds its content. */
#pragma once

#include "analysis/compare/index.h"
#include "base/json_writer.h"

/* summary.json: totals, one row per file, findings, refusals. False: no memory. */
bool index_json(struct buffer *out, const struct index *index);

/* summary.csv and metrics.prom: a line for each row, and for each of its figures. False: no memory. */
bool index_csv(struct buffer *out, const struct index *index);
bool index_prometheus(struct buffer *out, const struct index *index);

/* index.html, self-contained. False: no memory. */
bool index_html(struct buffer *out, const struct index *index);

/* The document of both, with curves, steps and notes of the rows where the writer is for the page. False: no memory. */
bool index_write(struct json_writer *json, const struct index *index);
