/* The report of a log, which has levels at lines. What a log does not say is left out; in JSON it is null. Private to
 * the report. */
#pragma once

#include "base/json_writer.h"
#include "render/report/report_words.h"

void report_log_text(struct sheet *sheet, const struct report_device *report);

/* Writes the members of a device's object, all that the contract names. */
void report_log_json(struct json_writer *json, const struct report_device *report);
