/* Inside of `strata whatif`: what a recording and a program at another size (cli/extrapolation.c) share. */
#pragma once

#include "analysis/model/whatif.h"
#include "cli/recording.h"
#include "render/report/report.h"

/* Solves all scenarios, each by a thread. False: no memory. */
bool scenarios_solve(struct whatif *whatif, const struct arena *scratch);

/* The ending added to the input's name if only a directory is given. */
const char *whatif_ending(enum report_format format);

/* One device to be drawn. */
struct drawing {
    const struct recording *recording; /* whose memory it takes */
    const struct trace *trace;
    uint32_t index; /* of the device in it */
    const struct whatif *whatif;
    const char *file, *fingerprint;
    bool extrapolated; /* struct whatif_chart_options */
};

/* Appends its picture as PNG. An enum exit_code; errors are said. */
int drawing_make(struct buffer *out, const struct drawing *drawing, const struct settings *settings,
                 bool dark, struct arena *scratch);

/* strata whatif --extrapolate. An enum exit_code. */
int extrapolation_main(const struct settings *settings);
