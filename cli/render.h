/* The outputs of the verbs for one recording; a batch makes all of them at once. Errors are printed. */
#pragma once

#include "base/buffer.h"
#include "cli/recording.h"
#include "render/page/html.h"
#include "render/png/chart.h"

/* Appends the page to `page`; `device` is an index into trace.devices, `view` as in html.h, `beside` as of
 * report_build. What is not HTML_DONE is printed. In cmd_html.c. */
enum html_result page_render(struct buffer *page, struct recording *recording,
                             const struct settings *settings, uint32_t device, const char *view, bool beside);

/* The same with the plan of every device, opened on it. An enum exit_code. In cmd_plan.c. */
int page_render_plan(struct buffer *out, struct recording *recording, const struct settings *settings,
                     uint32_t device);

enum { PAGE_VIEW_CAPACITY = 256 + 3 * FILTER_CAPACITY };

/* The view that a page opens with, as in its own address: `text` becomes "" where the settings say nothing
 * about it. An enum exit_code. In cmd_html.c. */
int page_view_choose(char *text, size_t capacity, const struct recording *recording,
                     const struct settings *settings, uint32_t device);

/* Appends the picture to `picture`. Returns an enum exit_code. In cmd_png.c. */
int picture_render(struct buffer *picture, const struct recording *recording, const struct settings *settings,
                   uint32_t device);

/* Prints why there is no picture, except for lack of memory, which the caller prints; `file`: whose picture, NULL:
 * of several. Returns an enum exit_code. In cmd_png.c. */
int picture_print_error(const char *file, enum chart_error error, const struct settings *settings);

/* Appends the report that settings->format asks for, with `more` (NULL: nothing) at the end of JSON; works in `scratch`,
 * whose limit holds for `report` too if it shares it. `beside`: a second thread helps, where it is worth it; a batch has
 * one file for each core anyway. False: printed. In cmd_report.c. */
bool report_build(struct buffer *report, const struct recording *recording, const struct settings *settings,
                  const struct report_more *more, bool beside, struct arena *scratch);

/* Appends the export of settings->export_kind, which a file in `folder` (NULL: the system's place) may be needed for. Returns an
 * enum exit_code; what is not done is printed. In cmd_export.c. */
int export_write(struct buffer *out, const struct recording *recording, const struct settings *settings,
                 const char *folder, struct arena *scratch);

/* Appends the page of the difference of two operands (cli/operand.h); format and device are not the settings'. False:
 * printed. In cmd_diff.c. */
bool difference_render(struct buffer *out, const char *a, const char *b, const struct settings *settings);
