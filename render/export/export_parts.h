/* Declarations shared by the kinds of export. Private to render/export/. */
#pragma once

#include "analysis/findings/verdicts.h"
#include "layout/place.h"
#include "render/export/export.h"

/* An export in progress. */
struct export_work {
    struct buffer *out;
    const struct trace *trace;
    const struct export_options *options;
    struct arena *scratch; /* lives as long as the export; each device has an arena of its own */
    enum export_result result;
    char *reason; /* [EXPORT_REASON_NBYTES] */
};

/* One device, computed. All of it is released once the device is written. */
struct export_device {
    struct export_work *work;
    const struct trace *trace;
    const struct device_trace *device;
    struct trace part;          /* `trace` with the annotations that this device sees */
    struct timeline timeline;   /* of the whole device, in `part` */
    struct selection selection; /* the allocations that pass the filter, if the options have one */
    struct verdicts verdicts;
    struct export_range range;
    uint32_t first_id; /* id of its first allocation; ids run through all devices */
    struct arena *arena;
};

/* Writes one device. False: work->result says why, or there is no memory. */
typedef bool export_device_writer(void *context, struct export_device *device);

/* Computes and writes each requested device. False: work->result says why. */
bool export_each_device(struct export_work *work, export_device_writer *write, void *context);

/* Ends the export with EXPORT_FAILED and this phrase. Always false. */
bool export_fail(struct export_work *work, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The timeline that is exported: that of the filtered allocations, or the recording's. */
static inline const struct timeline *export_shown(const struct export_device *device) {
    return device->work->options->filter != NULL ? &device->selection.timeline : &device->timeline;
}

/* Does the allocation pass the filter, and is it alive in the range? */
static inline bool export_keeps(const struct export_device *device, uint32_t allocation) {
    const struct allocations *allocations = &device->device->allocations;
    return allocations->birth[allocation] < device->range.until &&
           allocations->death[allocation] > device->range.from &&
           filter_keeps(device->selection.keep, allocation);
}

/* The number of an event in exported files: -1 is the state before the first event. */
static inline int64_t export_event(uint32_t moment) {
    return (int64_t)moment - 1;
}

/* ---- one allocation as a row (export_row.c) ---- */

enum { EXPORT_NO_EVENT = -2 };
enum { EXPORT_NO_STEP = -1 };

struct export_row {
    uint32_t id;
    /* EXPORT_NO_EVENT: allocated before the recording, or never freed in it */
    int64_t alloc_event, free_event;
    int64_t alloc_us, free_us; /* microseconds since the epoch, where the events are known and `timed` */
    bool timed, older;
    uint64_t bytes, address; /* address 0: not known */
    uint32_t stream;
    char pool[44];         /* "default", "0,1"; "": not known */
    char address_text[20]; /* "0x7f2a10000200"; "": not known */
    const char *category;
    const char *phase; /* NULL: the allocation lies in none */
    int64_t step;      /* number of the step; EXPORT_NO_STEP: the allocation lies in none */
    uint32_t site, stack;
};

/* Walks over the rows of a device, in the order in which they were allocated. */
struct export_rows {
    const struct export_device *device;
    uint32_t next;        /* index of the next allocation */
    uint32_t step, phase; /* the first span that begins after the last row */
};

/* Moves to the next row. False: there is none. O(1) amortised. */
bool export_rows_next(struct export_rows *rows, struct export_row *row);

/* ---- text (export_text.c) ---- */

/* Writes the digits of a number, without a terminator, and returns how many. */
uint32_t export_signed_digits(int64_t number, char digits[21]);

/* Appends text of a recording as harmless UTF-8: wrong bytes become U+FFFD, control characters blanks, and `instead`
 * replaces every `forbidden` character (ASCII; 0: none is forbidden). */
void export_text_add(struct buffer *out, struct text text, char forbidden, char instead);

/* Appends "file.py:41 function", with the file's whole path. */
void export_frame_add(struct buffer *out, const struct trace *trace, uint32_t frame, char forbidden,
                      char instead);

/* Appends "train.py:41 forward": a call site as every output names it. */
void export_site_add(struct buffer *out, const struct trace *trace, uint32_t site);

/* The texts of a frame, which export_frame_add writes with a blank between them. */
struct place export_place_of(const struct trace *trace, uint32_t frame);

/* Frames of the recording, numbered from 1 on as they are met. */
struct export_met {
    uint32_t *number; /* [frames]; 0: not met yet */
    uint32_t *frame;  /* [count] the frame with number i + 1 */
    uint32_t count, capacity;
};

/* Memory comes from the export's scratch. export_met_number returns the number of a frame. False, 0: no memory. */
bool export_met_init(struct export_met *met, struct export_work *work);
uint32_t export_met_number(struct export_met *met, uint32_t frame, struct export_work *work);

/*
 * The frames of a stack, outermost first: `frame[count]`, in a growing column of `arena`. A stack deeper than
 * EXPORT_FRAMES_MOST gives only its innermost frames; so does, once 2^28 frames were requested, a stack deeper than 64.
 * Otherwise a hostile recording of a megabyte would fill any disk. `cut` says whether frames were left out.
 */
enum { EXPORT_FRAMES_MOST = 16384, EXPORT_FRAMES_LEAST = 64, EXPORT_FRAMES_FREE = 1 << 28 };
struct export_frames {
    uint32_t *frame;
    uint32_t count, capacity;
    uint64_t asked; /* frames requested so far */
    bool cut;
};
bool export_frames_find(struct export_frames *frames, const struct trace *trace, uint32_t stack,
                        struct arena *arena);

/* The name of the frame that stands for those that were cut. */
#define EXPORT_MORE_FRAMES "(more frames, too many to be shown)"

/* ---- sums by stack (export_sums.c) ---- */

/* Allocations of one stack, category and origin: live at the range's moment, and allocated in the range. */
struct export_sum {
    uint64_t live_bytes, live_count, allocated_bytes, allocated_count;
    uint32_t stack, next; /* next: the next sum of the same stack, plus 1 */
    uint8_t category;
    bool of_free; /* `stack` is where it was freed: where it was allocated is not known */
};

struct export_sums {
    struct export_sum *sum;
    uint32_t count, capacity;
    uint64_t live_bytes, allocated_bytes;
};

/* Finds the sums, in the order of the allocations. False: no memory. O(allocations + stacks). */
bool export_sums_find(struct export_sums *sums, const struct export_device *device);

/* The bytes of a sum that the options ask for: live or allocated. */
static inline uint64_t export_sum_bytes(const struct export_device *device, const struct export_sum *sum) {
    return device->work->options->allocated ? sum->allocated_bytes : sum->live_bytes;
}

/* The outermost frame for a stack of which only the free is known, and the frame for an empty stack. */
#define EXPORT_OF_FREE  "(older than the recording; freed here)"
#define EXPORT_NO_STACK "(no stack recorded)"

/* ---- the curve (export_curve.c) ---- */

enum { EXPORT_CURVE_MOST = 4096 };

/* Chooses at most EXPORT_CURVE_MOST rising moments that show the range's curves: its ends, peaks, out-of-memory events,
 * and the highest and lowest of each slice. `*moments` is a column of the arena. False: no memory. */
bool export_curve_find(const struct export_device *device, uint32_t **moments, uint32_t *count);

/* ---- the writers behind export_render ---- */

/* True: written. False: work->result says why, or there is no memory. */
#define STRATA_EXPORT_KIND_WRITER(NUMBER, name, ending, other, text) \
    bool export_##name(struct export_work *work);
STRATA_EXPORT_KINDS(STRATA_EXPORT_KIND_WRITER)
#undef STRATA_EXPORT_KIND_WRITER
