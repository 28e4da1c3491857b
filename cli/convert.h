/* What html and png have in common: one recording in, one file out. */
#ifndef STRATA_CLI_CONVERT_H
#define STRATA_CLI_CONVERT_H

#include "base/buffer.h"
#include "cli/recording.h"

/* Appends what is written to `out`; `device` is an index into trace.devices. Returns an enum exit_code; errors are
 * printed. */
typedef int convert_render(struct buffer *out, struct recording *recording, const struct settings *settings,
                           uint32_t device);

/* Reads the input, chooses the device and writes what `render` makes of it, to a file beside the input with this ending
 * where no output is named. Returns an enum exit_code. */
int convert_run(const struct settings *settings, const char *ending, convert_render *render);

#endif
