/* The answers of strata plan as text, Markdown and JSON. docs/plan.md explains each figure. */
#pragma once

#include "analysis/plan/plan.h"
#include "render/report/report.h"

struct plan_report {
    enum report_format format;
    struct text_look look; /* text only */
    const char *file, *fingerprint;
    uint32_t n_devices;
    const struct plan *device;
};

/* Appends all devices to `out`; texts are made in `scratch`. False: no memory. */
bool plan_report_write(struct buffer *out, const struct plan_report *report, struct arena *scratch);
