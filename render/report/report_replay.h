/* Writes the replay's self-check as JSON and as a sentence, for the report and for strata whatif. */
#pragma once

#include "analysis/model/replay.h"
#include "base/json_writer.h"
#include "render/report/report_sheet.h"

/* Writes the member "replay" of a device. */
void report_replay_json(struct json_writer *json, const struct replay *replay);

/* "Replay check: all 8,768 allocations, all 678 driver allocations and the reserved curve are exactly as recorded." */
const char *report_replay_text(struct sheet *sheet, const struct replay *replay);
