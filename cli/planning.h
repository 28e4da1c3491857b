/* Plans inside of another output: the page, the picture and the report of a recording that ran out of memory, or of any
 * recording with --gpu. */
#pragma once

#include "analysis/plan/plan.h"
#include "cli/recording.h"

/* Makes the request for such a plan from the settings.
 * False: none is wanted (--no-plan). */
bool planning_request(struct plan_request *request, const struct settings *settings);

/* The budget: --gpu less --keep; 0: no device is named. */
uint64_t planning_budget(const struct settings *settings);

/* Appends the plans, as `strata plan --json` has them, of all devices that ran out of memory, or of all devices with
 * --gpu. Devices whose search would take long are left out; `out` stays empty if none is left. False: no memory,
 * printed. */
bool planning_json(struct buffer *out, const struct recording *recording, const struct settings *settings);
