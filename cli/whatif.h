/* Shared inside `strata whatif`: by one recording's answer and a program's at another size (cli/extrapolation.c). */
#pragma once

#include "analysis/model/whatif.h"
#include "cli/recording.h"
#include "render/report/report.h"

/* Solves all scenarios, each by a thread. False: no memory. */
bool scenarios_solve(struct whatif *whatif, const struct arena *scratch);

/* The request of the command line. */
struct whatif_request whatif_request_of(const struct settings *settings);

/* Makes the program of a device and solves all scenarios of the request. False: no memory. */
bool device_solve(struct whatif *whatif, struct program *program, const struct trace *trace, uint32_t device,
                  const struct whatif_request *request, struct arena *scratch);

/* One device that is drawn. */
struct drawing {
    const struct recording *recording; /* the recording whose memory limit holds */
    const struct trace *trace;
    uint32_t index; /* index of the device in it */
    const struct whatif *whatif;
    const char *file, *fingerprint;
    bool extrapolated; /* as for whatif_chart_png */
};

/* Appends its picture as PNG. Returns an enum exit_code; errors are printed. */
int drawing_make(struct buffer *out, const struct drawing *drawing, const struct settings *settings,
                 struct arena *scratch);

/* Runs strata whatif --extrapolate. Returns an enum exit_code. */
int extrapolation_main(const struct settings *settings);
