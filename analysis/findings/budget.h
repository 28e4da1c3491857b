/* How a server plans to divide the device's memory, from the lines of its start in a log's notes. Freestanding. */
#pragma once

#include "trace/trace.h"

enum budget_part {
    BUDGET_TOTAL,
    BUDGET_USABLE,
    BUDGET_WEIGHTS,
    BUDGET_ACTIVATIONS,
    BUDGET_KV_CACHE,
    BUDGET_GRAPHS,
    BUDGET_NON_TORCH,
    BUDGET_AVAILABLE,
    BUDGET_GRAPHS_PLANNED,
    BUDGET_SLEEP,
    BUDGET_TOKENS, /* of the KV cache: a count, not bytes */
    BUDGET_PARTS
};

struct budget {
    unsigned known; /* bits of `bytes`; 0: no line has any */
    uint64_t bytes[BUDGET_PARTS];
};

/* The last figure of each part. O(notes). */
void budget_of(struct budget *budget, const struct device_trace *device);

/* Do the bands of the device show its parts? They do if no line prints a level. O(notes). */
bool budget_is_drawn(const struct device_trace *device);

/* "kv_cache", "KV cache" */
extern const struct wording budget_label[BUDGET_PARTS];
