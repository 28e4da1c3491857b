/* strata plan of several recordings: settings alone are compared, by what they need over all. */
#pragma once

#include "cli/options.h"

/* An enum exit_code. `ending`: of the output where only a directory is named. */
int plan_together_main(const struct settings *settings, const char *ending);
