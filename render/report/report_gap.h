/* Reserved memory that is not in use, by cause. Private to the report. */
#pragma once

#include "base/json_writer.h"
#include "render/report/report_parts.h"
#include "render/report/report_sheet.h"

/* Are the three moments alike, that is: is as much reserved and in use at the end as ever? O(log n). */
bool report_gap_is_one(const struct timeline *timeline);

/* Fills in `gap` of the report, after the replay. False: no memory. */
bool report_gap_find(struct report_device *report);

/* report_gap_json writes the member "fragmentation_at"; the other function the table of causes, and what keeps segments
 * that are nearly empty. */
void report_gap_json(struct json_writer *json, const struct report_device *report);
void report_gap(struct sheet *sheet, const struct report_device *report);

/* Writes the member "site" of a frame. */
void report_site_json(struct json_writer *json, const struct trace *trace, uint32_t site);
