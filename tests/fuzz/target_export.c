/* Exports a recipe in every format: each allocation has a row, lines add up, and JSON is valid. */
#include "render/export/export.h"
#include "tests/fuzz/examine.h"
#include "tests/fuzz/recipe.h"
#include "tests/fuzz/target.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct asked {
    uint32_t from, until, at;
};

/* Chooses any window that the device has. If it lacks the moment, the device is left out. */
static bool range_choose(void *context, const struct timeline *timeline, struct export_range *range) {
    const struct asked *asked = context;
    range->from = asked->from % timeline->n_moments;
    range->until = range->from + 1 + asked->until % (timeline->n_moments - range->from);
    range->at = asked->at % (timeline->n_moments + 1);
    range->none = range->at == timeline->n_moments;
    range->whole = false;
    return true;
}

static uint64_t lines_of(const struct buffer *text) {
    uint64_t n = 0;
    for (size_t i = 0; i < text->nbytes; i++)
        n += text->bytes[i] == '\n';
    return n;
}

static void csv_check(const struct buffer *out, const struct trace *trace) {
    uint64_t n = 1; /* the header; quoted texts may contain line breaks */
    for (uint32_t i = 0; i < trace->n_devices; i++)
        n += trace->devices[i].allocations.count;
    EXAMINE_CHECK(lines_of(out) >= n);
}

/* Each line ends in a blank and a number above 0. */
static void folded_check(const struct buffer *out) {
    for (size_t at = 0; at < out->nbytes;) {
        const uint8_t *end = memchr(out->bytes + at, '\n', out->nbytes - at);
        EXAMINE_CHECK(end != NULL);
        const uint8_t *number = end;
        while (number > out->bytes + at && number[-1] >= '0' && number[-1] <= '9')
            number--;
        EXAMINE_CHECK(number < end && number > out->bytes + at && number[-1] == ' ');
        at = (size_t)(end - out->bytes) + 1;
    }
}

/* The format's name and ending select this format. */
static void kind_check(enum export_kind kind) {
    char path[64];
    snprintf(path, sizeof path, "x%s", export_kinds[kind].ending);
    EXAMINE_CHECK(export_kind_by_name(export_kinds[kind].name) == kind);
    EXAMINE_CHECK(export_kind_of_path(path) == kind && export_kind_of_path(path + 1) == EXPORT_KINDS);
}

static void export_check(const struct trace *trace, enum export_kind kind, struct asked *asked,
                         uint8_t choice) {
    const struct export_options options = {
        .kind = kind,
        .file = "input",
        .fingerprint = "xxh128:",
        .source = "snapshot",
        .device = choice & 1 && trace->n_devices != 0 ? trace->devices[0].ordinal : EXPORT_ALL_DEVICES,
        .allocated = (choice & 2) != 0,
        .range = choice & 4 ? range_choose : NULL,
        .context = asked};
    char reason[EXPORT_REASON_NBYTES] = "";
    struct arena scratch;
    arena_init(&scratch, fuzz_host, FUZZ_TRACE_NBYTES);
    struct buffer out = {.host = arena_share(&scratch)};
    enum export_result result = export_render(&out, trace, &options, &scratch, reason);
    EXAMINE_CHECK(result == EXPORT_DONE || result == EXPORT_FAILED || scratch.limit_hit);
    EXAMINE_CHECK((result == EXPORT_FAILED) == (reason[0] != '\0'));
    if (result == EXPORT_DONE && kind == EXPORT_CSV && (choice & 5) == 0)
        csv_check(&out, trace);
    if (result == EXPORT_DONE && kind == EXPORT_FOLDED)
        folded_check(&out);
    if (result == EXPORT_DONE && kind == EXPORT_SQLITE)
        EXAMINE_CHECK(memcmp(out.bytes, "SQLite format 3", 16) == 0);
    kind_check(kind);
    buffer_release(&out);
    arena_release(&scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes) {
    uint8_t choice = recipe_u8(&bytes, &nbytes);
    struct asked asked;
    asked.from = recipe_u8(&bytes, &nbytes);
    asked.until = recipe_u8(&bytes, &nbytes);
    asked.at = recipe_u8(&bytes, &nbytes);
    struct trace trace;
    if (examine_read_recipe(&trace, bytes, nbytes))
        for (uint32_t kind = 0; kind < EXPORT_KINDS; kind++)
            export_check(&trace, (enum export_kind)kind, &asked, choice);
    trace_release(&trace);
    return 0;
}
