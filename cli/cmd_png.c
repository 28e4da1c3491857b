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

#include <string.h>

/* The options without the window and the capacity. */
static struct chart_options chart_options_of(const struct recording *recording,
                                             const struct settings *settings) {
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
        .no_names = settings->no_names || settings->view.given, /* the page writes them over its timeline */
        .legend_moment = UINT32_MAX,
    };
}

static uint32_t moment_of(const struct timeline *timeline, int64_t event) {
    uint32_t last = timeline->n_moments - 1;
    return event >= (int64_t)last - 1 ? last : (uint32_t)(event + 1);
}

/* Finds the event that the page shows as its cursor: the one of the address or, where the address names no moment,
 * the last out-of-memory event. */
static bool view_held(const struct picture_view *view, const struct timeline *timeline, int64_t *event) {
    const struct device_trace *device = timeline->device;
    if (view->has_at && view->at < device->n_events)
        *event = view->at;
    else if (device->n_ooms > 0 && !view->names_moment)
        *event = device->ooms[device->n_ooms - 1].event;
    else
        return false;
    return true;
}

static struct raster_marks view_marks(const struct picture_view *view, const struct timeline *timeline) {
    struct raster_marks marks = {.pinned = UINT32_MAX, .held = MOMENT_NONE};
    int64_t held;
    if (view->has_selected && view->selected < timeline->device->allocations.count)
        marks.pinned = view->selected;
    if (view_held(view, timeline, &held))
        marks.held = moment_of(timeline, held);
    for (uint32_t i = 0; i < RASTER_MARKS; i++)
        marks.mark[i] = view->mark[i].given && view->mark[i].event < timeline->device->n_events
                            ? moment_of(timeline, view->mark[i].event)
                            : MOMENT_NONE;
    marks.range_from_q16 = view->has_range ? view_q16(view->range_from) : 0;
    marks.range_to_q16 = view->has_range ? view_q16(view->range_to) : 0;
    return marks;
}

/* Copies the parts of an address other than the window. Both structs are the caller's. */
static void picture_address(const struct picture_view *view, const struct timeline *timeline,
                            struct chart_address *address, struct highlight *highlight) {
    *address =
        (struct chart_address){.highlight = view_highlight(view, timeline, highlight) ? highlight : NULL,
                               .finding = view->has_finding ? &view->finding : NULL,
                               .each = view->each,
                               .only = view->only && view->search[0] != '\0',
                               .segments = view->segments,
                               .areas = view->areas,
                               .has_range = view->has_range,
                               .compares = view->compares,
                               .end = {view->end[0], view->end[1]},
                               .marks = view_marks(view, timeline)};
    for (uint32_t i = 0; i < RASTER_MARKS; i++)
        address->notes[i] = view->mark[i].note;
}

/* Applies the window of an address, within the `whole` that can be seen, and its moment, as the page would show
 * them. */
static void picture_view(const struct picture_view *view, const struct timeline *timeline,
                         const struct view *whole, struct chart_options *options) {
    int64_t held;
    if (view->has_window)
        view_window(view, whole, &options->from_q16, &options->to_q16);
    options->map |= view->map;
    options->map_order = view->map_order;
    options->whole_scale = !view->has_bytes;
    if (view->has_bytes) {
        options->bottom_bytes = view->bottom_bytes;
        options->top_bytes = view->top_bytes;
    }
    options->legend_moment =
        view_held(view, timeline, &held) ? moment_of(timeline, held) : timeline->peak_moment;
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

struct picture_options picture_options_of(const struct settings *settings, const char *file,
                                          const char *fingerprint) {
    return (struct picture_options){.width = settings->width,
                                    .height = settings->height,
                                    .scale = settings->scale,
                                    .dark = strcmp(settings->theme, "dark") == 0,
                                    .file = file,
                                    .fingerprint = fingerprint,
                                    .flags = settings->flags};
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

/* ---- an address with "all=1" shows the other devices below the chosen one ---- */

struct picture_rows {
    struct chart_part *part; /* [count] timelines; options are the caller's to fill */
    int64_t *shift_us;       /* [count] what to add to a time of the chosen device */
    uint32_t count;
    /* from the first device's begin to the last one's end, in times of the chosen device */
    struct view whole;
};

static void whole_widen(struct picture_rows *rows, const struct timeline *timeline, int64_t shift_us) {
    struct view own = {.axis = AXIS_TIME};
    view_fit(&own, timeline);
    own.from_q16 -= shift_us * 65536;
    own.to_q16 -= shift_us * 65536;
    if (own.from_q16 < rows->whole.from_q16)
        rows->whole.from_q16 = own.from_q16;
    if (own.to_q16 > rows->whole.to_q16)
        rows->whole.to_q16 = own.to_q16;
}

/* Is the shift between two recordings small enough (about a year) to show both on one axis? */
static bool shift_is_near(int64_t shift_us) {
    const int64_t limit = INT64_C(1) << 45;
    return shift_us > -limit && shift_us < limit;
}

/* Finds the other devices whose events have times; there are none where the chosen device has no times. False: no
 * memory. */
static bool picture_rows_find(struct picture_rows *rows, const struct recording *recording,
                              const struct timeline *timeline, struct arena *arena) {
    const struct trace *trace = &recording->trace;
    struct timeline *timelines = arena_column(arena, trace->n_devices, sizeof *timelines);
    *rows = (struct picture_rows){.whole = {.axis = AXIS_TIME}};
    if (!ARENA_COLUMNS(arena, trace->n_devices, rows->part, rows->shift_us) || timelines == NULL)
        return false;
    view_fit(&rows->whole, timeline);
    for (uint32_t i = 0; timeline_timed(timeline) && i < trace->n_devices; i++) {
        struct timeline *other = &timelines[rows->count];
        if (&trace->devices[i] == timeline->device || trace->devices[i].n_events == 0)
            continue;
        if (!timeline_init(other, trace, i, arena))
            return false;
        int64_t shift_us = (int64_t)((uint64_t)timeline->first_us - (uint64_t)other->first_us);
        if (!timeline_timed(other) || !shift_is_near(shift_us))
            continue;
        rows->part[rows->count].timeline = other;
        rows->shift_us[rows->count++] = shift_us;
        whole_widen(rows, other, shift_us);
    }
    return true;
}

static int64_t place_of(const struct timeline *timeline, uint32_t moment, int64_t shift_us) {
    return moment == MOMENT_NONE ? PLACE_NONE : (timeline_start_us(timeline, moment) + shift_us) * 65536;
}

/* Fills a row's options; `options` are those of the picture itself for an address. `address` and what it refers to must
 * live as long as the row. */
static void picture_row_fill(struct picture_rows *rows, uint32_t nth, const struct chart_options *options,
                             const struct timeline *timeline, struct chart_address *address) {
    struct chart_part *part = &rows->part[nth];
    const int64_t shift_us = rows->shift_us[nth], shift_q16 = shift_us * 65536;
    const struct highlight *highlight = options->address->highlight;
    part->options = *options;
    part->options.from_q16 += shift_q16;
    part->options.to_q16 += shift_q16;
    part->options.bottom_bytes = part->options.top_bytes = 0;
    part->options.whole_scale = true;
    part->options.address = address;
    part->options.rows = NULL;
    part->options.n_rows = 0;
    part->options.legend_moment = part->timeline->peak_moment;
    *address = *options->address;
    address->compares = false;
    address->finding = NULL;
    /* Drops a highlight by stream or pool, because each device numbers its own. */
    if (highlight != NULL && (highlight->by == COMPARE_BY_STREAM || highlight->by == COMPARE_BY_POOL))
        address->highlight = NULL;
    struct raster_marks *marks = &address->marks;
    marks->pinned = UINT32_MAX;
    marks->placed = true;
    marks->held_q16 = place_of(timeline, marks->held, shift_us);
    for (uint32_t i = 0; i < RASTER_MARKS; i++)
        marks->mark_q16[i] = place_of(timeline, marks->mark[i], shift_us);
    if (marks->range_from_q16 < marks->range_to_q16) {
        marks->range_from_q16 += shift_q16;
        marks->range_to_q16 += shift_q16;
    }
}

/* ---- an address ---- */

/* The parts of an address that a picture shows. */
struct picture_address {
    struct chart_address address, *row; /* of the chosen device; of each other one */
    struct highlight highlight;
    struct picture_rows rows;
};

/* Fills it from the settings. False: no memory. */
static bool picture_address_fill(struct picture_address *shown, const struct recording *recording,
                                 const struct timeline *timeline, const struct settings *settings,
                                 struct chart_options *options, struct arena *scratch) {
    const struct picture_view *view = &settings->view;
    struct picture_rows *rows = &shown->rows;
    *rows = (struct picture_rows){.count = 0};
    if (view->all && !picture_rows_find(rows, recording, timeline, scratch))
        return false;
    /* Without times the page shows events, whatever the address says. */
    enum axis axis = rows->count > 0 ? AXIS_TIME : options->axis;
    options->axis = timeline_timed(timeline) ? axis : AXIS_EVENTS;
    struct view whole = {.axis = options->axis};
    view_fit(&whole, timeline);
    if (rows->count > 0) {
        whole = rows->whole;
        options->from_q16 = whole.from_q16;
        options->to_q16 = whole.to_q16;
    }
    picture_view(view, timeline, &whole, options);
    picture_address(view, timeline, &shown->address, &shown->highlight);
    shown->address.recorded = rows->count > 0;
    options->address = &shown->address;
    shown->row = arena_column(scratch, (uint64_t)rows->count + 1, sizeof *shown->row);
    for (uint32_t i = 0; shown->row != NULL && i < rows->count; i++) {
        picture_row_fill(rows, i, options, timeline, &shown->row[i]);
        rows->part[i].options.capacity_bytes = recording_capacity(
            recording, settings, (uint32_t)(rows->part[i].timeline->device - recording->trace.devices));
    }
    options->rows = rows->part;
    options->n_rows = rows->count;
    return shown->row != NULL;
}

static int picture_draw(struct buffer *picture, const struct recording *recording,
                        const struct timeline *timeline, const struct settings *settings,
                        struct arena *scratch) {
    struct chart_options options = chart_options_of(recording, settings);
    struct filter_set filter, search;
    if (!filter_set_make(&filter, recording, settings->filter, scratch) ||
        !filter_set_make(&search, recording, settings->view.search, scratch))
        return EXIT_CODE_FAILED;
    options.filter = filter.query;
    options.search = search.query;
    options.capacity_bytes =
        recording_capacity(recording, settings, (uint32_t)(timeline->device - recording->trace.devices));
    struct picture_address shown;
    if (settings->view.given &&
        !picture_address_fill(&shown, recording, timeline, settings, &options, scratch))
        return recording_print_no_memory(recording, scratch->limit_hit);
    int code = picture_window(recording, settings, timeline, &options);
    if (code != EXIT_CODE_DONE)
        return code;
    struct plan_request request;
    char plan[PLAN_TEXT];
    bool planned = planning_request(&request, settings);
    if (!plan_sentence_find(plan, timeline, planned ? &request : NULL, NULL, scratch))
        return recording_print_no_memory(recording, scratch->limit_hit);
    options.plan = plan[0] != '\0' ? plan : NULL;
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
                "  strata png --axis time --from 12.5s --to 14s snapshot.pickle\n"
                "  strata png --view '#device=0&window=200_500&search=conv' snapshot.pickle\n",
    .run = png_run,
};
