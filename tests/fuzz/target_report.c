/* Every kind of report of a recipe: JSON is valid, and text has no control characters. */
#include "render/report/report.h"
#include "tests/fuzz/examine.h"
#include "tests/fuzz/recipe.h"
#include "tests/fuzz/target.h"

#include <cjson/cJSON.h>

/* The text must not contain characters that control a terminal. */
static void text_check(const struct buffer *text) {
    for (size_t i = 0; i < text->nbytes; i++)
        EXAMINE_CHECK(text->bytes[i] == '\n' || (text->bytes[i] >= 0x20 && text->bytes[i] != 0x7f));
}

static void json_check(const struct buffer *text, uint32_t n_devices) {
    cJSON *report = cJSON_ParseWithLength((const char *)text->bytes, text->nbytes);
    EXAMINE_CHECK(report != NULL);
    EXAMINE_CHECK(cJSON_GetArraySize(cJSON_GetObjectItem(report, "devices")) <= (int)n_devices);
    cJSON_Delete(report);
}

static void report_check(const struct trace *trace, enum report_format format, uint8_t choice) {
    const struct report_options options = {
        .format = format,
        .file = "input",
        .fingerprint = "xxh128:",
        .recording_id = "xxh128:",
        .kind = "snapshot",
        .group = choice % COMPARE_KINDS,
        .top = choice >> 4,
        .device = choice & 8 && trace->n_devices != 0 ? trace->devices[0].ordinal : REPORT_ALL_DEVICES,
        .first = trace->n_devices != 0 ? trace->devices[0].ordinal : ORDINAL_NONE};
    struct arena scratch;
    arena_init(&scratch, fuzz_host, FUZZ_TRACE_NBYTES);
    struct buffer out = {.host = arena_share(&scratch)};
    if (!report_render(&out, trace, &options, &scratch))
        EXAMINE_CHECK(scratch.limit_hit);
    else if (format == REPORT_JSON)
        json_check(&out, trace->n_devices);
    else
        text_check(&out);
    buffer_release(&out);
    arena_release(&scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes) {
    uint8_t choice = recipe_u8(&bytes, &nbytes);
    struct trace trace;
    if (examine_read_recipe(&trace, bytes, nbytes)) {
        report_check(&trace, REPORT_TEXT, choice);
        report_check(&trace, REPORT_FULL, choice);
        report_check(&trace, REPORT_MARKDOWN, choice);
        report_check(&trace, REPORT_JSON, choice);
    }
    trace_release(&trace);
    return 0;
}
