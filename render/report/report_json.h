/* The parts of the JSON report. Private to the report. */
#pragma once

#include "base/json_writer.h"
#include "render/report/report_parts.h"

/* Writes `name`: a call site of any length, or null if it is not `known`. */
void report_site_json(struct json_writer *json, const char *name, const struct trace *trace, uint32_t site,
                      bool known);

/* Writes "categories_inferred" and "categories_at_peak" of a device. */
void report_json_categories(struct json_writer *json, const struct report_device *report);

/* Writes "findings", "judged", "steps" and "phases" of a device. */
void report_json_verdicts(struct json_writer *json, const struct report_device *report);

/* Writes "fragmentation_at" of a device. */
void report_gap_json(struct json_writer *json, const struct report_device *report);

/* Writes "replay" of a device: the self-check. */
void report_replay_json(struct json_writer *json, const struct replay *replay);

/* Writes "levels", "budget" and "oom_details" of a device whose recording is a log. */
void report_log_json(struct json_writer *json, const struct report_device *report);

/* Writes "series" of a device. */
void report_series_json(struct json_writer *json, const struct report_device *report);
