/* Writes the answers of strata whatif as text, Markdown and JSON. docs/whatif.md explains each figure. */
#pragma once

#include "analysis/findings/verdicts.h"
#include "analysis/model/extrapolate.h"
#include "analysis/model/whatif.h"
#include "analysis/plan/largest.h"
#include "render/report/report.h"
#include "render/report/report_sheet.h"

struct whatif_report {
    enum report_format format;
    struct text_look look; /* for text only */
    const char *file, *fingerprint;
    uint32_t n_devices;
    const struct whatif *device;
    const struct verdicts *const
        *verdicts; /* [n_devices]; NULL if no request failed for good (whatif_lack) */
};

/* Appends all devices to `out`. Texts are made in `scratch`. False: no memory. */
bool whatif_report_write(struct buffer *out, const struct whatif_report *report, struct arena *scratch);

/* A program at a size that was not recorded. */
struct extrapolation_report {
    enum report_format format;
    struct text_look look; /* for text only */
    const char *file[2], *fingerprint[2];
    uint64_t size[2], asked; /* the recorded sizes, rising, and the size that is asked for */
    uint32_t n_devices;
    const struct extrapolated {
        int32_t ordinal;
        struct extrapolation extrapolation;
        struct replay replay[2];
        struct whatif whatif; /* of the extrapolation; it has no scenarios if that is refused */
        /* [whatif.n_scenarios] the largest size that fits; NULL: not asked for */
        const struct largest *largest;
    } * device;
};
bool extrapolation_report_write(struct buffer *out, const struct extrapolation_report *report,
                                struct arena *scratch);

/* Writes "At 48: a.pickle (2) and b.pickle (4)" into the sheet's arena, with names as the sheet writes them. */
const char *extrapolation_title(struct sheet *sheet, const struct extrapolation_report *report);
