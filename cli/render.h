/* The outputs of the verbs for one recording; a batch makes all of them. Errors are printed. */
#pragma once

#include "base/buffer.h"
#include "cli/recording.h"
#include "render/page/html.h"
#include "render/png/chart.h"

/* Appends the page to `page`; `device` is an index into trace.devices, `view` as in html.h, `beside` as for
 * report_build. Any result but HTML_DONE was printed. In cmd_html.c. */
enum html_result page_render(struct buffer *page, struct recording *recording,
                             const struct settings *settings, uint32_t device, const char *view, bool beside);

/* Prints a note on the allocations that are merged or left out to keep a page small. In cmd_html.c. */
void page_note_merged(const struct recording *recording, const struct html_outcome *outcome);

enum { PAGE_VIEW_CAPACITY = 256 + 3 * FILTER_CAPACITY };

/* Writes the view that a page opens with, as in its own address; `text` becomes "" where the settings say nothing about
 * it. Returns an enum exit_code. In cmd_html.c. */
int page_view_choose(char *text, size_t capacity, const struct recording *recording,
                     const struct settings *settings, uint32_t device);

/* Appends the picture to `picture`. Returns an enum exit_code. In cmd_png.c. */
int picture_render(struct buffer *picture, struct recording *recording, const struct settings *settings,
                   uint32_t device);

/* The options of a picture without the window, the filter and the capacity. In cmd_png.c. */
struct chart_options picture_options_of(const struct recording *recording, const struct settings *settings);

/* Prints why there is no picture. Lack of memory is left to the caller. `file`: whose picture; NULL: of several files.
 * Returns an enum exit_code. In cmd_png.c. */
int picture_print_error(const char *file, enum chart_error error, const struct settings *settings);

/* Appends the report in settings->format, with `more` (NULL: nothing) at the end of JSON. Works in `scratch`, whose
 * limit holds for `report` too if it shares it. `beside`: a second thread may help; a batch has one file for each core
 * anyway. False: printed. In cmd_report.c. */
bool report_build(struct buffer *report, const struct recording *recording, const struct settings *settings,
                  const struct report_more *more, bool beside, struct arena *scratch);

/* Appends the export of settings->export_kind, which may need a file in `folder` (NULL: the system's place for such
 * files). Returns an enum exit_code; a failure was printed. In cmd_export.c. */
int export_write(struct buffer *out, const struct recording *recording, const struct settings *settings,
                 const char *folder, struct arena *scratch);

/* Appends the page of the difference of two operands of strata diff; format and device of the settings do not count.
 * False: printed. In cmd_diff.c. */
bool difference_render(struct buffer *out, const char *a, const char *b, const struct settings *settings);
