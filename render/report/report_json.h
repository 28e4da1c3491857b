/* What the files of the JSON report share. Private to the report. */
#ifndef STRATA_RENDER_REPORT_REPORT_JSON_H
#define STRATA_RENDER_REPORT_REPORT_JSON_H

#include "base/json_writer.h"
#include "render/report/report_parts.h"

/* "categories_inferred" and "categories_at_peak" of a device. */
void report_json_categories(struct json_writer *json, const struct report_device *report);

/* "findings", "judged", "steps" and "phases" of a device. */
void report_json_verdicts(struct json_writer *json, const struct report_device *report);

#endif
