/* The replay's self-check, in words and as JSON. */
#include "base/format.h"
#include "render/report/report_json.h"
#include "render/report/report_words.h"

#include <string.h>

void report_replay_json(struct json_writer *json, const struct replay *replay) {
    json_object(json, "replay", JSON_LINES);
    json_u64(json, "allocations", replay->allocations);
    json_u64(json, "allocations_exact", replay->allocations_exact);
    json_u64(json, "driver_events", replay->driver_events);
    json_u64(json, "driver_events_exact", replay->driver_events_exact);
    json_u64(json, "releases", replay->releases);
    json_u64(json, "releases_exact", replay->releases_exact);
    json_u64(json, "blocks", replay->blocks);
    json_u64(json, "blocks_exact", replay->blocks_exact);
    json_u64(json, "reserved_max_error_bytes", replay->reserved_max_error_bytes);
    json_text(json, "grade", replay_grade_text[replay->grade]);
    json_text(json, "reason", replay->reason);
    json_end(json);
}

/* "676 of 678 driver allocations", "all 678 driver allocations", or "the only driver allocation". */
static const char *part_text(struct sheet *sheet, uint64_t exact, uint64_t of, const char *what) {
    if (exact == of && of == 1)
        return sheet_format(sheet, "the only %.*s", (int)strlen(what) - 1, what);
    if (exact == of)
        return sheet_format(sheet, "all %s %s", format_count(of).text, what);
    return sheet_format(sheet, "%s of %s %s", format_count(exact).text, format_count(of).text, what);
}

static const char *parts_text(struct sheet *sheet, const struct replay *replay) {
    const char *text = part_text(sheet, replay->allocations_exact, replay->allocations, "allocations");
    if (replay->driver_events != 0)
        text = sheet_format(
            sheet, "%s, %s", text,
            part_text(sheet, replay->driver_events_exact, replay->driver_events, "driver allocations"));
    if (replay->releases != 0)
        text = sheet_format(sheet, "%s, %s", text,
                            part_text(sheet, replay->releases_exact, replay->releases, "releases"));
    return text;
}

const char *report_replay_text(struct sheet *sheet, const struct replay *replay) {
    if (replay->grade == REPLAY_EXACT)
        return sheet_format(sheet, "Replay check: %s and the reserved curve are exactly as recorded.",
                            parts_text(sheet, replay));
    if (replay->allocations_exact == 0 && replay->driver_events == 0)
        return sheet_format(sheet, "Replay check: refused, because %s.", replay->reason);
    return sheet_format(sheet, "Replay check: %s: %s are as recorded, the reserved curve within %s; %s.",
                        replay->grade == REPLAY_NEAR ? "near" : "refused", parts_text(sheet, replay),
                        format_bytes(replay->reserved_max_error_bytes).text, replay->reason);
}
