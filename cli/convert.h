/* Shared by the verbs for one recording: html and png make a file of one device, report and whatif describe all
 * devices. */
#pragma once

#include "base/buffer.h"
#include "cli/output.h"
#include "cli/recording.h"

/* Appends the output to `out`; `device` is an index into trace.devices. Returns an enum exit_code; errors
 * are printed. */
typedef int convert_render(struct buffer *out, struct recording *recording, const struct settings *settings,
                           uint32_t device);

/* Reads the input, chooses the device and writes what `render` makes of it; where no output is named, to a file beside
 * the input with this part (such as ".plan", or "") and ending. Returns an enum exit_code. */
int convert_run(const struct settings *settings, const char *part, const char *ending,
                convert_render *render);

/* Appends the text about the recording to `out`; works in `scratch`, whose limit holds for `out` too.
 * Returns an enum exit_code; errors are printed. */
typedef int convert_tell(struct buffer *out, const struct recording *recording,
                         const struct settings *settings, struct arena *scratch);

/* Reads the input and writes what `tell` makes of it to standard output, or where -o says; if that is a directory, to a
 * file in it with this part and the ending of the format. Returns an enum exit_code. */
int convert_words(const struct settings *settings, const char *part, convert_tell *tell);

/* The output of convert_words. */
struct output_request convert_words_request(const struct settings *settings, const char *part);

/* Does the same with any ending, but where no output is named it writes a file beside the input. `binary`: never
 * written to a terminal. */
int convert_file(const struct settings *settings, const char *ending, bool binary, convert_tell *tell);
