/* Shared by the verbs of one recording: html and png make a file of a device, report and whatif describe all of it. */
#pragma once

#include "base/buffer.h"
#include "cli/recording.h"

/* Appends the output to `out`; `device` is an index into trace.devices. Returns an enum exit_code; errors
 * are printed. */
typedef int convert_render(struct buffer *out, struct recording *recording, const struct settings *settings,
                           uint32_t device);

/* Reads the input, chooses the device and writes what `render` makes of it, to a file beside the input with this ending
 * where no output is named. Returns an enum exit_code. */
int convert_run(const struct settings *settings, const char *ending, convert_render *render);

/* Appends the text about the recording to `out`; works in `scratch`, whose limit holds for `out` too.
 * Returns an enum exit_code; errors are printed. */
typedef int convert_tell(struct buffer *out, const struct recording *recording,
                         const struct settings *settings, struct arena *scratch);

/* Reads the input and writes what `tell` makes of it: to standard output, or where -o says, with this ending where that
 * is a directory. Returns an enum exit_code. */
int convert_words(const struct settings *settings, const char *ending, convert_tell *tell);

/* The same into a file beside the input where no output is named; `binary`: not for a terminal. */
int convert_file(const struct settings *settings, const char *ending, bool binary, convert_tell *tell);
