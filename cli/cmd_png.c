#include "base/format.h"
#include "cli/beside.h"
#include "cli/convert.h"
#include "cli/ending.h"
#include "cli/exit_code.h"
#include "cli/filter.h"
#include "cli/planning.h"
#include "cli/render.h"
#include "cli/terminal.h"
#include "cli/window.h"
#include "render/png/chart.h"
#include "render/words/plan.h"

#include <stdio.h>
#include <string.h>

struct chart_options picture_options_of(const struct recording *recording, const struct settings *settings) {
    return (struct chart_options){
        .file = recording->input.name,
        .fingerprint = recording->fingerprint,
        .title = settings->title,
        .flags = settings->flags,
        .width = settings->width,
        .height = settings->height,
        .scale = settings->scale,
        .dark = strcmp(settings->theme, "dark") == 0,
        .axis = settings->axis,
        .color_by = recording_color_by(recording, settings),
        .map = settings->map,
        .no_names = settings->no_names,
        .legend_moment = UINT32_MAX,
    };
}

/* Applies the window of the settings. Returns an enum exit_code. */
static int picture_window(const struct recording *recording, const struct settings *settings,
                          const struct timeline *timeline, struct chart_options *options) {
    struct view view = {.axis = options->axis, .width = options->width, .height = options->height};
    const char *reason = NULL;
    if (!window_resolve(&view, timeline, settings->from, settings->to, &reason)) {
        terminal_error(recording->input.shown, "%s", reason);
        return EXIT_CODE_USAGE;
    }
    if (settings->from.base != POSITION_NONE || settings->to.base != POSITION_NONE) {
        options->from_q16 = view.from_q16;
        options->to_q16 = view.to_q16;
    }
    if (settings->at.base == POSITION_NONE ||
        window_moment(timeline, settings->at, &options->legend_moment, &reason))
        return EXIT_CODE_DONE;
    terminal_error(recording->input.shown, "--at: %s", reason);
    return EXIT_CODE_USAGE;
}

/* Prints the limit on the size. The limit is on the plot; what surrounds it is a small part of a picture of that
 * size. */
static void print_size(const struct settings *settings) {
    uint32_t side = settings->width > settings->height ? settings->width : settings->height;
    if (side * settings->scale > VIEW_MAX_SIDE)
        terminal_error(NULL, "%ux%u pixels at scale %u is too large: the plot has at most %s pixels a side",
                       settings->width, settings->height, settings->scale, format_count(VIEW_MAX_SIDE).text);
    else
        terminal_error(NULL, "%ux%u pixels at scale %u is too small: no room is left for the plot",
                       settings->width, settings->height, settings->scale);
}

int picture_print_error(const char *file, enum chart_error error, const struct settings *settings) {
    if (error == CHART_SIZE) {
        print_size(settings);
        return EXIT_CODE_USAGE;
    }
    if (error == CHART_FONT)
        terminal_error(file, "cannot draw: the font does not load");
    else if (error == CHART_PNG)
        terminal_error(file, "cannot draw: the PNG library failed");
    return EXIT_CODE_FAILED;
}

static int picture_draw(struct buffer *picture, const struct recording *recording,
                        const struct timeline *timeline, const struct settings *settings,
                        struct arena *scratch) {
    struct chart_options options = picture_options_of(recording, settings);
    struct filter_set filter;
    if (!filter_set_make(&filter, recording, settings->filter, scratch))
        return EXIT_CODE_FAILED;
    options.filter = filter.query;
    options.capacity_bytes =
        recording_capacity(recording, settings, (uint32_t)(timeline->device - recording->trace.devices));
    int code = picture_window(recording, settings, timeline, &options);
    if (code != EXIT_CODE_DONE)
        return code;
    struct plan_request request;
    struct plan_said plan;
    char line[PLAN_TEXT + 16];
    bool planned = planning_request(&request, settings);
    if (!plan_said_find(&plan, timeline, planned ? &request : NULL, NULL, scratch))
        return recording_print_no_memory(recording, scratch->limit_hit);
    snprintf(line, sizeof line, plan.certainty != NULL ? "[%s] %s" : "%s%s",
             plan.certainty != NULL ? plan.certainty : "", plan.text);
    options.plan = plan.text[0] != '\0' ? line : NULL;
    options.plan_code = options.plan != NULL ? plan.code : NULL;
    enum chart_error error = chart_png(picture, timeline, &options, scratch);
    if (error == CHART_OK)
        return EXIT_CODE_DONE;
    if (error == CHART_NO_MEMORY && !picture->refused)
        recording_print_no_memory(recording, scratch->limit_hit);
    return picture_print_error(recording->input.shown, error, settings);
}

/* The memory of a timeline that two threads make. */
struct timeline_memory {
    struct beside beside;
    struct arena side;
};

static bool picture_timeline(struct timeline *timeline, struct timeline_memory *memory,
                             const struct trace *trace, uint32_t device, struct arena *scratch) {
    beside_init(&memory->beside, scratch);
    arena_init(&memory->side, memory->beside.hooks.host, SIZE_MAX);
    return timeline_init_beside(timeline, trace, device, &memory->beside.hooks, true, &memory->side,
                                &memory->beside.arena);
}

int picture_render(struct buffer *picture, struct recording *recording, const struct settings *settings,
                   uint32_t device) {
    struct arena scratch;
    struct timeline timeline;
    struct timeline_memory memory;
    int code = EXIT_CODE_FAILED;
    recording_scratch(recording, &scratch);
    if (picture_timeline(&timeline, &memory, &recording->trace, device, &scratch))
        code = picture_draw(picture, recording, &timeline, settings, &scratch);
    else
        recording_print_no_memory(recording, scratch.limit_hit);
    arena_release(&memory.side);
    beside_release(&memory.beside);
    arena_release(&scratch);
    return code;
}

/* The map's ending differs, so that both pictures of a recording can lie beside it. */
static int png_run(const struct settings *settings) {
    if (!ending_agrees("png", settings->output, ENDING_PICTURE))
        return EXIT_CODE_USAGE;
    return convert_run(settings, settings->map ? ".map" : "", ".png", picture_render);
}

const struct verb verb_png = {
    .name = "png",
    .bit = VERB_PNG,
    .summary = "an annotated picture for a bug report",
    .operands = "SNAPSHOT... (several are one series, and need -o)",
    .about =
        "Draws the run, or a window of it, as a picture that explains itself: axes, peak, out-of-memory\n"
        "events, and a legend of the call sites that hold the most memory.\n",
    .examples = "  strata png snapshot.pickle                  writes snapshot.png\n"
                "  strata png --scale 2 --theme dark snapshot.pickle -o slide.png\n"
                "  strata png --from peak-500 --to peak+500 snapshot.pickle\n"
                "  strata png --map --at oom snapshot.pickle    segments and blocks at that moment\n"
                "  strata png --axis time --from 12.5s --to 14s snapshot.pickle\n",
    .run = png_run,
};
