/* Shared by the files of the profiler-trace reader: spans and samples as read, before they become a trace. */
#pragma once

#include "base/sort.h"
#include "parser/json/json.h"
#include "parser/recorder.h"

enum { DEVICE_TYPE_CPU = 0 };

/* An event that encloses others in time: a call, an operator, a user's annotation. */
struct span {
    int64_t start_ns, end_ns;
    uint64_t thread;
    uint32_t frame;
    uint32_t calls; /* the stack that older profilers wrote with the operator */
    bool is_annotation;
};

enum sample_flag {
    SAMPLE_HAS_ADDRESS = 1,
    SAMPLE_HAS_TOTAL = 2,
    SAMPLE_HAS_RESERVED = 4,
    SAMPLE_OOM = 8,
    SAMPLE_ORPHAN = 16, /* frees memory from before the first event */
    SAMPLE_OPEN = 32    /* its allocation is alive at the event being recorded */
};

enum { NO_PARTNER = UINT32_MAX };

/* A [memory] or [OutOfMemory] event. */
struct sample {
    int64_t ts_ns;
    uint64_t thread, address;
    int64_t bytes, total, reserved;
    uint32_t stack;
    uint32_t partner; /* for a free: its allocation; for an allocation: the one still at its address */
    uint16_t device;
    uint8_t flags;
};

struct kineto_device {
    int32_t type, id;
};

struct property {
    int32_t id;
    uint32_t name;
    uint64_t capacity_bytes;
};

struct kineto {
    struct json_scan *scan;
    struct trace *trace;
    struct interner interner;
    ROWS(struct span) spans;
    ROWS(struct sample) samples;
    ROWS(struct kineto_device) devices;
    ROWS(struct property) properties;
    int64_t base_ns; /* time of timestamp 0, since the Unix epoch */
};

#define rows_reserve(kineto, rows, n)                                                                     \
    (ARENA_GROW(&(kineto)->trace->arena, (rows)->row, (rows)->capacity, (uint64_t)(rows)->count + (n)) || \
     json_scan_fail_memory((kineto)->scan))

/* A timestamp of the file as microseconds since the Unix epoch. */
static inline int64_t us_of(const struct kineto *kineto, int64_t ts_ns) {
    int64_t ns;
    return (__builtin_add_overflow(ts_ns, kineto->base_ns, &ns) ? ts_ns : ns) / 1000;
}

/* Maps signed numbers to unsigned ones in the same order. */
static inline uint64_t rising(int64_t value) {
    return (uint64_t)value ^ UINT64_C(1) << 63;
}

struct order {
    struct sort_row *row; /* [2 * count], the second half for sorting */
    uint32_t count;
};

/* The rows 0 to count - 1. Call order_release in any case. */
bool order_init(struct kineto *kineto, struct order *order, uint32_t count);

void order_release(struct kineto *kineto, struct order *order);

/* Sorts by the keys that the caller has set; stable. */
void order_sort(struct order *order);

void order_samples_by_time(const struct kineto *kineto, struct order *order);

/* Sorts by start, enclosing spans first. */
void order_spans(const struct kineto *kineto, struct order *order);

/* Builds the stack of every sample: what was open in its thread at its time. Changes both orders. O(n log n). */
bool kineto_stacks_build(struct kineto *kineto, struct order *spans, struct order *samples);

/* Makes the devices of the trace from their samples in order of time. */
bool kineto_devices_read(struct kineto *kineto, const struct order *by_time);
