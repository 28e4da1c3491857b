/* The verbs of STRATA_VERBS (cli/options.h), one file each: cmd_NAME.c. */
#pragma once

#include "cli/options.h"

#define STRATA_VERB_DECLARE(BIT, name) extern const struct verb verb_##name;
STRATA_VERBS(STRATA_VERB_DECLARE)
#undef STRATA_VERB_DECLARE
