#include "base/format.h"
#include "cli/beside.h"
#include "cli/convert.h"
#include "cli/ending.h"
#include "cli/exit_code.h"
#include "cli/planning.h"
#include "cli/render.h"
#include "cli/terminal.h"
#include "cli/window.h"
#include "render/page/html.h"
#include "render/page/template.h"
#include "render/report/report.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void print_too_large(const struct recording *recording, const struct settings *settings,
                            uint64_t least) {
    terminal_error(
        recording->input.shown,
        "the page cannot be made as small as %s: with everything merged that can be, it takes %s (see "
        "--max-html-size)",
        format_bytes(settings->max_html_nbytes).text, format_bytes(least).text);
}

void page_note_merged(const struct recording *recording, const struct html_outcome *outcome) {
    if (outcome->n_merged + outcome->n_hidden != 0)
        terminal_note(
            recording->input.shown,
            "%s of %s allocations are merged into %s bands and %s are not drawn, to keep the page small (see "
            "--max-html-size)",
            format_count(outcome->n_merged).text, format_count(outcome->n_allocations).text,
            format_count(outcome->n_bands).text, format_count(outcome->n_hidden).text);
}

/* Writes the filter as the page's address has it: its words, encoded as the value of a query. */
static int filter_text(char *text, size_t capacity, const char *words) {
    int n = snprintf(text, capacity, "&filter=");
    for (; *words != '\0'; words++) {
        bool plain = isalnum((unsigned char)*words) || strchr("-_.~", *words) != NULL;
        n += snprintf(text + n, capacity - (size_t)n, plain ? "%c" : "%%%02X", (unsigned char)*words);
    }
    return n;
}

/* Writes the view that the page opens with, as in its own address. Returns an enum exit_code. */
static int first_view(char *text, size_t capacity, const struct recording *recording,
                      const struct settings *settings, const struct timeline *timeline) {
    struct view view = {.axis = settings->axis, .width = 1, .height = 1};
    const char *reason = NULL;
    uint32_t moment;
    int n = snprintf(text, capacity, "device=%" PRId32 "&axis=%s", timeline->device->ordinal,
                     settings->axis == AXIS_TIME ? "time" : "events");
    if (!window_resolve(&view, timeline, settings->from, settings->to, &reason)) {
        terminal_error(recording->input.shown, "%s", reason);
        return EXIT_CODE_USAGE;
    }
    if (settings->from.base != POSITION_NONE || settings->to.base != POSITION_NONE)
        n += snprintf(text + n, capacity - (size_t)n, "&window=%.3f_%.3f", (double)view.from_q16 / 65536,
                      (double)view.to_q16 / 65536);
    if (settings->filter[0] != '\0')
        n += filter_text(text + n, capacity - (size_t)n, settings->filter);
    if (settings->at.base == POSITION_NONE)
        return EXIT_CODE_DONE;
    if (!window_moment(timeline, settings->at, &moment, &reason)) {
        terminal_error(recording->input.shown, "--at: %s", reason);
        return EXIT_CODE_USAGE;
    }
    snprintf(text + n, capacity - (size_t)n, "&at=%" PRId64, (int64_t)moment - 1);
    return EXIT_CODE_DONE;
}

static bool view_is_chosen(const struct settings *settings) {
    return settings->from.base != POSITION_NONE || settings->to.base != POSITION_NONE ||
           settings->at.base != POSITION_NONE || settings->axis != AXIS_EVENTS || settings->filter[0] != '\0';
}

int page_view_choose(char *text, size_t capacity, const struct recording *recording,
                     const struct settings *settings, uint32_t device) {
    struct arena scratch;
    struct timeline timeline;
    text[0] = '\0';
    if (!view_is_chosen(settings))
        return EXIT_CODE_DONE;
    recording_scratch(recording, &scratch);
    int code = EXIT_CODE_FAILED;
    if (timeline_init(&timeline, &recording->trace, device, &scratch))
        code = first_view(text, capacity, recording, settings, &timeline);
    else
        recording_print_no_memory(recording, scratch.limit_hit);
    arena_release(&scratch);
    return code;
}

/* The picture for readers without the page's program: its text has at most STILL_NBYTES. */
enum { STILL_WIDTH = 760, STILL_NBYTES = 90000, STILL_BASE64 = STILL_NBYTES / 4 * 3 };

struct still {
    const struct recording *recording;
    const struct settings *settings;
    uint64_t capacity_bytes;
};

static void still_add(struct buffer *out, const struct buffer *png, uint32_t height) {
    buffer_printf(out,
                  "<img width=\"%d\" height=\"%" PRIu32
                  "\" alt=\"Memory over the run\" src=\"data:image/png;base64,",
                  STILL_WIDTH, height);
    template_add_base64(out, png->bytes, png->nbytes);
    buffer_add_text(out, "\">\n");
}

/* Draws the picture. If it is too large, it is drawn again with less height. */
static bool still_draw(struct buffer *out, const struct verdicts *verdicts, const void *context,
                       struct arena *scratch) {
    static const uint32_t heights[] = {520, 400, 300};
    const struct still *still = context;
    enum chart_error error = CHART_OK;
    for (size_t i = 0; error == CHART_OK && i < sizeof heights / sizeof *heights; i++) {
        struct buffer png = {.host = arena_share(scratch)};
        error = chart_png(
            &png, verdicts->timeline,
            &(struct chart_options){.file = still->recording->input.name,
                                    .fingerprint = still->recording->fingerprint,
                                    .title = still->settings->title,
                                    .flags = "",
                                    .width = STILL_WIDTH,
                                    .height = heights[i],
                                    .scale = 1,
                                    .color_by = recording_color_by(still->recording, still->settings),
                                    .capacity_bytes = still->capacity_bytes,
                                    .legend_moment = UINT32_MAX,
                                    .few_colors = true,
                                    .verdicts = verdicts},
            scratch);
        bool fits = error == CHART_OK && png.nbytes <= STILL_BASE64;
        if (fits)
            still_add(out, &png, heights[i]);
        buffer_release(&png);
        if (fits)
            break;
    }
    return error == CHART_OK || error == CHART_SIZE; /* libraries report missing memory as another error */
}

/* The parts of the report in the page, as text. */
struct page_words {
    struct buffer follows, still, opening;
};

/* Finds the texts of the report. `turn` NULL: no other thread helps. */
static bool page_words_find(struct page_words *words, const struct recording *recording,
                            const struct settings *settings, uint32_t device,
                            const struct report_turn *turn) {
    struct arena scratch;
    struct beside beside;
    struct plan_request request;
    const struct still still = {recording, settings, recording_capacity(recording, settings, device)};
    recording_scratch(recording, &scratch);
    beside_init(&beside, &scratch);
    bool planned = planning_request(&request, settings);
    const struct report_page page = {.follows = &words->follows,
                                     .still = &words->still,
                                     .opening = &words->opening,
                                     .file = recording->input.name,
                                     .device = recording->trace.devices[device].ordinal,
                                     .picture = still_draw,
                                     .picture_context = &still,
                                     .beside = turn != NULL ? &beside.hooks : NULL,
                                     .turn = turn};
    bool done = report_page_write(&page, &recording->trace, planned ? &request : NULL, &beside.arena);
    buffer_add(&words->follows, "", 1);
    buffer_add(&words->still, "", 1);
    buffer_add(&words->opening, "", 1);
    done = done && !words->follows.failed && !words->still.failed && !words->opening.failed;
    if (!done)
        recording_print_no_memory(recording, scratch.limit_hit);
    beside_release(&beside);
    arena_release(&scratch);
    return done;
}

/* The payload, packed in another thread while the rest of the page is found. A recording that ran out of memory is not
 * packed so, because the payload then holds what follows from that, which is found first. */
struct packing {
    struct trace trace; /* a copy of the original; the recording's arena keeps changing */
    struct html_options options;
    struct buffer payload;
    struct arena memory;
    struct beside beside;
    bool begun;
};

/* With fewer events, the memory for doing both at once costs more than the saved tenth of a second is worth. Sanitizers
 * see only small files, so there the limit is low. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { PACKED_BESIDE_LEAST = BESIDE_EVENTS_LEAST };
#else
enum { PACKED_BESIDE_LEAST = 2000000 };
#endif

static void packing_work(void *context) {
    struct packing *packing = context;
    html_payload(&packing->payload, &packing->trace, &packing->options);
}

static void packing_begin(void *context) {
    struct packing *packing = context;
    const struct trace *trace = &packing->trace;
    uint64_t nbytes = 0;
    uint32_t n_ooms = 0, n_events = 0;
    for (uint32_t i = 0; i < trace->n_devices; i++) {
        const struct device_trace *device = &trace->devices[i];
        n_ooms += device->n_ooms;
        n_events = device->n_events > n_events ? device->n_events : n_events;
        nbytes += 2 * beside_ample_nbytes(device->n_events, device->allocations.count);
    }
    if (!packing->begun && n_ooms == 0 && n_events >= PACKED_BESIDE_LEAST)
        packing->begun =
            packing->beside.hooks.begin(packing->beside.hooks.context, nbytes, packing_work, packing);
}

static void packing_init(struct packing *packing, const struct recording *recording,
                         const struct html_options *options) {
    *packing = (struct packing){.trace = recording->trace, .options = *options};
    packing->options.threads = 1; /* it is the second thread already */
    recording_scratch(recording, &packing->memory);
    beside_init(&packing->beside, &packing->memory);
    packing->payload.host = packing->beside.hooks.host;
}

static void packing_release(struct packing *packing) {
    buffer_release(&packing->payload);
    beside_release(&packing->beside);
    arena_release(&packing->memory);
}

static const char nothing_follows[] = "{}";

/* With fewer allocations, findings are found at once. */
enum { OPENING_ALLOCATIONS_LEAST = 200000 };

/* Can the page draw its first picture before the findings? They decide how categories are coloured and what a given view
 * shows, and a page prepares its first device. */
static bool opens_early(const struct html_options *options, const struct recording *recording,
                        uint32_t device) {
    return device == 0 && options->view == NULL && strcmp(options->color, "category") != 0 &&
           recording->trace.devices[device].allocations.count > OPENING_ALLOCATIONS_LEAST;
}

/* Completes the options, and packs the payload at the same time. False: printed. */
static bool page_find(struct html_options *options, struct page_words *words, struct buffer *plan,
                      struct packing *packing, const struct recording *recording,
                      const struct settings *settings, uint32_t device, bool beside) {
    packing_init(packing, recording, options);
    const struct report_turn turn = {packing_begin, packing};
    bool found = page_words_find(words, recording, settings, device, beside ? &turn : NULL) &&
                 planning_json(plan, recording, settings);
    if (packing->begun)
        packing->beside.hooks.end(packing->beside.hooks.context);
    if (!found)
        return false;
    options->follows = (const char *)words->follows.bytes;
    options->still = (const char *)words->still.bytes;
    options->opening = opens_early(options, recording, device) ? (const char *)words->opening.bytes : NULL;
    options->plan = (const char *)plan->bytes;
    options->plan_nbytes = plan->nbytes;
    options->payload = strcmp(options->follows, nothing_follows) == 0 ? &packing->payload : NULL;
    return true;
}

enum html_result page_render(struct buffer *page, struct recording *recording,
                             const struct settings *settings, uint32_t device, const char *view,
                             bool beside) {
    struct arena_host host = arena_share(&recording->trace.arena);
    struct page_words words = {{.host = host}, {.host = host}, {.host = host}};
    struct buffer plan = {.host = host};
    struct packing packing;
    struct html_options options = {
        .file = recording->input.name,
        .fingerprint = recording->fingerprint,
        .title = settings->title,
        .theme = settings->theme,
        .device = recording->trace.devices[device].ordinal,
        .color = options_color_name(recording_color_by(recording, settings)),
        .view = view,
        .follows = nothing_follows,
        .capacity_bytes = recording_capacity(recording, settings, device),
        .max_nbytes = settings->max_html_nbytes,
    };
    struct html_outcome outcome;
    bool found = page_find(&options, &words, &plan, &packing, recording, settings, device, beside);
    enum html_result result =
        found ? html_render(page, &recording->trace, host, &options, &outcome) : HTML_NO_MEMORY;
    packing_release(&packing);
    buffer_release(&plan);
    buffer_release(&words.follows);
    buffer_release(&words.still);
    buffer_release(&words.opening);
    if (!found || page->refused)
        return result; /* the error was printed */
    if (result == HTML_NO_MEMORY)
        recording_print_no_memory(recording, recording->trace.arena.limit_hit);
    else if (result == HTML_TOO_LARGE)
        print_too_large(recording, settings, outcome.least_nbytes);
    else
        page_note_merged(recording, &outcome);
    return result;
}

static int html_render_page(struct buffer *out, struct recording *recording, const struct settings *settings,
                            uint32_t device) {
    char view[PAGE_VIEW_CAPACITY];
    int code = page_view_choose(view, sizeof view, recording, settings, device);
    if (code != EXIT_CODE_DONE)
        return code;
    return page_render(out, recording, settings, device, view[0] != '\0' ? view : NULL, true) == HTML_DONE
               ? EXIT_CODE_DONE
               : EXIT_CODE_FAILED;
}

static int html_run(const struct settings *settings) {
    if (!ending_agrees("html", settings->output, ENDING_PAGE))
        return EXIT_CODE_USAGE;
    return convert_run(settings, "", ".html", html_render_page);
}

const struct verb verb_html = {
    .name = "html",
    .bit = VERB_HTML,
    .summary = "an interactive page in one file (the default verb)",
    .operands = "SNAPSHOT... (several are one series, and need -o)",
    .about = "Writes one self-contained page: every allocation over the run, coloured by call site,\n"
             "with stacks, search and zoom. It needs no network and no other file.\n",
    .examples = "  strata html snapshot.pickle                 writes snapshot.html\n"
                "  strata snapshot.pickle -o report/           writes report/snapshot.html\n"
                "  strata html --capacity 80GiB oom.pickle.gz\n"
                "  ssh node cat /scratch/snapshot.pickle | strata html - > page.html\n",
    .run = html_run,
};
