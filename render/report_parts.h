/* What the kinds of report share. Private to report.c, report_json.c, report_text.c and report_sheet.c. */
#ifndef STRATA_RENDER_REPORT_PARTS_H
#define STRATA_RENDER_REPORT_PARTS_H

#include "render/report.h"

/* One device, computed; `arena` holds everything and is released after the device has been written. */
struct report_device {
    const struct trace *trace;
    const struct device_trace *device;
    const struct report_options *options;
    struct timeline timeline;
    struct group *groups; /* at the peak, all of them */
    uint32_t n_groups, n_shown;
    struct arena *arena;
};

/* Writes one device; `nth` counts from 0. False: no memory. */
typedef bool report_device_writer(struct buffer *out, const struct report_device *device, uint32_t nth);

/* Computes and writes each device that is asked for, one after the other. False: no memory. */
bool report_each_device(struct buffer *out, const struct trace *trace, const struct report_options *options,
                        struct arena *scratch, report_device_writer *write);

/* An event as reports count them: -1 is the state before the first. */
static inline int64_t report_event(uint32_t moment) {
    return (int64_t)moment - 1;
}

/* The writers behind report_render. */
bool report_json(struct buffer *out, const struct trace *trace, const struct report_options *options,
                 struct arena *scratch);
bool report_text(struct buffer *out, const struct trace *trace, const struct report_options *options,
                 struct arena *scratch);

#endif
