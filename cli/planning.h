/* Plans beside another output: for the page, the picture and the report of what ran out of memory, or with --gpu. */
#pragma once

#include "analysis/plan/plan.h"
#include "cli/recording.h"

/* The request, by the settings, for a plan beside another output, within its work; false: none (--no-plan). */
bool planning_request(struct plan_request *request, const struct settings *settings);

/* The budget: --gpu less --keep; 0: no device is named. */
uint64_t planning_budget(const struct settings *settings);

/* The plans of all devices that ran out of memory, of all with --gpu, as `strata plan --json` has them; devices whose search
 * would take long are left out. Stays empty where none is left. False: no memory, printed. */
bool planning_json(struct buffer *out, const struct recording *recording, const struct settings *settings);
