/* Reads several dumps one after the other and joins them to one recording (parser/series/series.h). */
#pragma once

#include "cli/recording.h"

/* Fills the recording's trace, which is empty and initialised, from all inputs of the settings, and its fingerprint from
 * theirs. All parts are in memory at once, within the limit. False: printed. */
bool series_read(struct recording *recording, const struct settings *settings);
