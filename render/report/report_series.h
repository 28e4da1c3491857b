/* Memory that stayed, came and went between the dumps of a series. Private to the report. */
#pragma once

#include "base/json_writer.h"
#include "render/report/report_words.h"

/* Nothing where the recording is not a series. */
void report_series_text(struct sheet *sheet, const struct report_device *report);

/* "series" of a device. */
void report_series_json(struct json_writer *json, const struct report_device *report);

/* "series" of the file: the devices' sums. False: no memory. */
bool report_series_sums_json(struct json_writer *json, const struct trace *trace, int32_t device,
                             struct arena *arena);
