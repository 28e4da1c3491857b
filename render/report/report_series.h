/* Writes which memory stayed, came and went between the dumps of a series. Private to the report. */
#pragma once

#include "base/json_writer.h"
#include "render/report/report_words.h"

/* Writes nothing if the recording is not a series. */
void report_series_text(struct sheet *sheet, const struct report_device *report);

/* Writes "series" of a device. */
void report_series_json(struct json_writer *json, const struct report_device *report);

/* Writes "series" of the file: the sums of the devices. False: no memory. */
bool report_series_sums_json(struct json_writer *json, const struct trace *trace, int32_t device,
                             struct arena *arena);
