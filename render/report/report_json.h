/* Shared by the files of the JSON report. Private to the report. */
#pragma once

#include "base/json_writer.h"
#include "render/report/report_parts.h"

/* Writes "categories_inferred" and "categories_at_peak" of a device. */
void report_json_categories(struct json_writer *json, const struct report_device *report);

/* Writes "findings", "judged", "steps" and "phases" of a device. */
void report_json_verdicts(struct json_writer *json, const struct report_device *report);
