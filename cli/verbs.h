/* The verbs, one file each: cmd_html.c, cmd_png.c, cmd_report.c, cmd_batch.c, cmd_diff.c, cmd_whatif.c. */
#ifndef STRATA_CLI_VERBS_H
#define STRATA_CLI_VERBS_H

#include "cli/options.h"

extern const struct verb verb_html;
extern const struct verb verb_png;
extern const struct verb verb_report;
extern const struct verb verb_batch;
extern const struct verb verb_diff;
extern const struct verb verb_whatif;
extern const struct verb verb_check;

#endif
