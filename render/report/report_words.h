/* Phrases and tables that several sections of the report use. Private to the report; texts live in the sheet's arena.
 */
#pragma once

#include "render/report/report_parts.h"
#include "render/report/report_sheet.h"

/* A sheet for one of the formats for people. */
struct sheet words_sheet(struct buffer *out, struct arena *arena, enum report_format format,
                         struct text_look look);

/* Writes the heading of a device's part: "Device 3", "Rank or GPU 3", "CPU". */
void words_device_heading(struct sheet *sheet, enum trace_kind kind, int32_t ordinal);

/* "train.py:41 forward" */
const char *words_site(struct sheet *sheet, const struct trace *trace, uint32_t frame);

/* "after event 18,204 (12.3 s)", "before the first event" */
const char *words_moment(struct sheet *sheet, const struct timeline *timeline, uint32_t moment);

/* "71.2 GiB (76,450,123,456 bytes)" */
const char *words_bytes(struct sheet *sheet, uint64_t bytes);

/* "1 allocation", "210 allocations" */
const char *words_counted(struct sheet *sheet, uint64_t count, const char *thing);

/* Writes "Not listed: 3 call sites with 1.2 GiB (4 %)." of the groups from `shown` on; nothing if there are none. */
void words_rest(struct sheet *sheet, const struct group *groups, uint32_t shown, uint32_t n_groups,
                const char *thing, uint64_t whole);

/* "category": "categories". */
const char *words_plural(struct sheet *sheet, const char *thing);

/* Makes "Call sites" of "call sites". For our own words only, which begin with a to z. */
const char *words_capital(struct sheet *sheet, const char *text);

/* Lists all devices but one (NULL: all), those that ran out of memory first; of many only the first ones. */
const char *words_devices(struct sheet *sheet, const struct trace *trace, const struct device_trace *but);

/* Writes free blocks by pool, stream and class of requests, as a table. */
void words_free_blocks(struct sheet *sheet, const struct device_trace *device,
                       const struct free_blocks_summary *summary);

/* The sections that have files of their own. */
void report_ooms(struct sheet *sheet, const struct report_device *report);
/* Lists the checks that found nothing: clear, or not judged. */
void report_checks(struct sheet *sheet, const struct verdicts *verdicts);
void report_peak_made(struct sheet *sheet, const struct report_device *report);

/* Writes the number of layers and how alike they are; nothing if there are none. */
void report_layers(struct sheet *sheet, const struct report_device *report);
void report_findings(struct sheet *sheet, const struct report_device *report);
/* Writes a finding as a point: its title, and `in_full` what it is about and what to do. */
void report_finding(struct sheet *sheet, const struct report_device *report, const struct finding *finding,
                    bool in_full);
/* Writes the plan's answer with its certainty, and what to paste; nothing if there is none. */
void report_plan_said(struct sheet *sheet, const struct report_device *report);
void report_steps(struct sheet *sheet, const struct report_device *report);
void report_categories(struct sheet *sheet, const struct report_device *report);
void report_fragmentation(struct sheet *sheet, const struct report_device *report);

/* Writes the levels that a log prints, as a table; the other function the whole section. */
void report_log_levels(struct sheet *sheet, const struct report_device *report);
void report_log_text(struct sheet *sheet, const struct report_device *report);

/* Writes which memory stayed, came and went between the dumps of a series; nothing if there are no dumps. */
void report_series_text(struct sheet *sheet, const struct report_device *report);
