/* The replay's self-check, in words and as JSON. */
#include "render/report/report_json.h"
#include "render/report/report_words.h"

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

const char *report_replay_text(struct sheet *sheet, const struct replay *replay) {
    char text[1024];
    struct words words = {text, sizeof text, 0};
    replay_tell(&words, replay);
    (void)words_end(&words);
    return sheet_format(sheet, "%s", text);
}
