/* strata plan for several recordings: compares settings only, by what they need for all recordings. */
#pragma once

#include "cli/options.h"

/* Runs it. `ending`: the output's ending where only a directory is named. Returns an enum exit_code. */
int plan_together_main(const struct settings *settings, const char *ending);
