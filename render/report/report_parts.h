/* A computed device, shared by the kinds of report. Private to render/report/. */
#pragma once

#include "analysis/findings/oom_advice.h"
#include "analysis/findings/verdicts.h"
#include "analysis/loop/modules.h"
#include "analysis/model/fragmentation.h"
#include "analysis/model/free_blocks.h"
#include "analysis/model/replay.h"
#include "layout/groups.h"
#include "render/report/report.h"
#include "render/words/plan.h"

struct category_sum {
    uint64_t bytes, count;
    /* bytes older than the recording; of these, the bytes whose category their size tells */
    uint64_t older_bytes, sized_bytes;
};

enum { REPORT_GAPS = 3 };

/* One device, computed. `arena` holds everything and is released once the device is written. */
struct report_device {
    const struct trace *trace;
    const struct device_trace *device;
    const struct report_options *options;
    struct timeline timeline;
    struct selection selection; /* the allocations that pass the filter, if the options have one */
    uint32_t *alive, n_alive;   /* the filtered allocations at the peak */
    const uint8_t *column;      /* their category, or key of their module if groups are modules */
    struct group *groups;       /* all groups of them */
    uint32_t n_groups, n_shown;
    struct category_sum category_at_peak[CATEGORY_COUNT];
    uint64_t reason_at_peak[REASON_COUNT]; /* bytes of CATEGORY_OTHER by reason */
    bool categories_inferred;              /* no event gives the category of at least one allocation */
    struct free_blocks_summary free_blocks;
    bool replayed; /* false: a recording of this size is replayed only on demand */
    struct replay replay;
    /* Memory for what another thread does: `replay`, or half of the timeline and `layers`. Released together with
     * `arena`. */
    struct arena replay_arena;
    bool gap_known;
    struct fragmentation gap[REPORT_GAPS]; /* when most is reserved, when most is in use, at the end */
    struct verdicts verdicts;
    struct layer_summary layers; /* not made for a page */
    struct modules *modules;     /* if groups are modules */
    bool has_layers;             /* made only for a page */
    struct plan_said plan;
    struct oom_ground *oom_ground; /* NULL: there is no such event */
    struct arena *arena;
};

/* Writes the report of one screen about a device. False: no memory. */
bool report_screen_device(struct buffer *out, const struct report_device *report);

/* Writes the part of a page about a device for readers without its program. `picture` is called after the headings. */
bool report_still(const struct report_page *page, const struct report_device *report);

/* Writes one device. False: no memory. */
typedef bool report_device_writer(void *context, const struct report_device *device);

/* Computes and writes the device at this index of the trace. A timeline takes several times the memory of its columns,
 * so no two timelines are kept at once. False: no memory. */
bool report_one_device(const struct trace *trace, uint32_t index, const struct report_options *options,
                       struct arena *scratch, report_device_writer *write, void *context);

/* Computes and writes each requested device, one after the other. False: no memory. */
bool report_each_device(const struct trace *trace, const struct report_options *options,
                        struct arena *scratch, report_device_writer *write, void *context);

/* The number of an event in reports: -1 is the state before the first event. */
static inline int64_t report_event(uint32_t moment) {
    return (int64_t)moment - 1;
}

/* The timeline that is listed: that of the filtered allocations, or the recording's. */
static inline const struct timeline *report_shown(const struct report_device *report) {
    return report->options->filter != NULL ? &report->selection.timeline : &report->timeline;
}

/* An out-of-memory event and the allocator's state at it. Its free blocks are in the report's arena. */
struct report_oom {
    const struct oom_event *event;
    struct oom_state state; /* free blocks are known if `in_full` */
    uint64_t pending_bytes; /* the part of the live bytes that is freed but waits for other streams */
    bool in_full;           /* one of the first REPORT_OOMS_IN_FULL, or the last */
};
/* Only a few are written in full, because a run that continues after an error tries the same again and again. */
enum { REPORT_OOMS_IN_FULL = 5 };

/* Fills in `gap` of the report, after the replay. False: no memory. */
bool report_gap_find(struct report_device *report);

/* Does anything in the recording say how much was reserved? */
bool report_reserved_known(const struct device_trace *device);

/* Computes an event's state: O(1), in full O(allocations + blocks log). False: no memory. */
bool report_oom_of(struct report_oom *oom, const struct report_device *report, const struct oom_event *event);

/* Advice after an out-of-memory event: one sentence each, with the figure that justifies it. O(1), in full
 * O(blocks). */
enum { REPORT_ADVICE_MAX = OOM_ADVICE_MOST + 1 }; /* one more for the plan's first sentence */
struct report_advice {
    const char *code; /* its spelling never changes: "enable_expandable_segments" */
    char text[1024];
    uint64_t short_bytes; /* the bytes that are still lacking after it; 0: none, or not known */
};
uint32_t report_oom_advice(const struct report_device *report, const struct report_oom *oom,
                           struct report_advice advice[REPORT_ADVICE_MAX]);

/* The writers behind report_render. */
#define STRATA_EXPORT_WRITER(NUMBER, name, ending, writer)              \
    bool report_##writer(struct buffer *out, const struct trace *trace, \
                         const struct report_options *options, struct arena *scratch);
STRATA_EXPORTS(STRATA_EXPORT_WRITER)
#undef STRATA_EXPORT_WRITER
