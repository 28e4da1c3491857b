#include "base/format.h"
#include "cli/convert.h"
#include "cli/ending.h"
#include "cli/exit_code.h"
#include "cli/planning.h"
#include "cli/render.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "cli/window.h"
#include "render/page/html.h"
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

static void note_merged(const struct recording *recording, const struct html_outcome *outcome) {
    if (outcome->n_merged + outcome->n_hidden != 0)
        terminal_note(
            recording->input.shown,
            "%s of %s allocations are merged into %s bands and %s are not drawn, to keep the page small (see "
            "--max-html-size)",
            format_count(outcome->n_merged).text, format_count(outcome->n_allocations).text,
            format_count(outcome->n_bands).text, format_count(outcome->n_hidden).text);
}

/* The filter as the page's address has it: words, encoded as the value of a query. */
static int filter_text(char *text, size_t capacity, const char *words) {
    int n = snprintf(text, capacity, "&filter=");
    for (; *words != '\0'; words++) {
        bool plain = isalnum((unsigned char)*words) || strchr("-_.~", *words) != NULL;
        n += snprintf(text + n, capacity - (size_t)n, plain ? "%c" : "%%%02X", (unsigned char)*words);
    }
    return n;
}

/* What the page shows first, as it would write it into its address itself. An enum exit_code. */
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

/* What follows from running out of memory, as a string into `text`, which stays empty where nothing ran out. */
static bool follows_find(struct buffer *text, const struct recording *recording,
                         const struct settings *settings) {
    const struct trace *trace = &recording->trace;
    struct arena scratch;
    uint32_t n_ooms = 0;
    for (uint32_t i = 0; i < trace->n_devices; i++)
        n_ooms += trace->devices[i].n_ooms != 0;
    if (n_ooms == 0)
        return true;
    recording_scratch(recording, &scratch);
    struct plan_request request;
    bool planned = planning_request(&request, settings);
    bool done = report_follows(text, trace, planned ? &request : NULL, &scratch);
    buffer_add(text, "", 1);
    if (!done || text->failed)
        recording_print_no_memory(recording, scratch.limit_hit);
    arena_release(&scratch);
    return done && !text->failed;
}

enum html_result page_render(struct buffer *page, struct recording *recording,
                             const struct settings *settings, uint32_t device, const char *view) {
    struct buffer follows = {.host = arena_share(&recording->trace.arena)};
    if (!follows_find(&follows, recording, settings)) {
        buffer_release(&follows);
        return HTML_NO_MEMORY;
    }
    struct buffer plan = {.host = arena_share(&recording->trace.arena)};
    if (!planning_json(&plan, recording, settings)) {
        buffer_release(&plan);
        buffer_release(&follows);
        return HTML_NO_MEMORY;
    }
    struct html_options options = {
        .file = recording->input.name,
        .fingerprint = recording->fingerprint,
        .title = settings->title,
        .theme = settings->theme,
        .device = recording->trace.devices[device].ordinal,
        .color = options_color_name(recording_color_by(recording, settings)),
        .view = view,
        .follows = (const char *)follows.bytes,
        .plan = (const char *)plan.bytes,
        .plan_nbytes = plan.nbytes,
        .capacity_bytes = recording_capacity(recording, settings, device),
        .max_nbytes = settings->max_html_nbytes,
    };
    struct html_outcome outcome;
    enum html_result result =
        html_render(page, &recording->trace, arena_share(&recording->trace.arena), &options, &outcome);
    buffer_release(&plan);
    buffer_release(&follows);
    if (page->refused)
        return result; /* which was printed */
    if (result == HTML_NO_MEMORY)
        recording_print_no_memory(recording, recording->trace.arena.limit_hit);
    else if (result == HTML_TOO_LARGE)
        print_too_large(recording, settings, outcome.least_nbytes);
    else
        note_merged(recording, &outcome);
    return result;
}

static int html_render_page(struct buffer *out, struct recording *recording, const struct settings *settings,
                            uint32_t device) {
    char view[PAGE_VIEW_CAPACITY];
    int code = page_view_choose(view, sizeof view, recording, settings, device);
    if (code != EXIT_CODE_DONE)
        return code;
    return page_render(out, recording, settings, device, view[0] != '\0' ? view : NULL) == HTML_DONE
               ? EXIT_CODE_DONE
               : EXIT_CODE_FAILED;
}

static int html_run(const struct settings *settings) {
    if (!ending_agrees("html", settings->output, ENDING_PAGE))
        return EXIT_CODE_USAGE;
    return convert_run(settings, ".html", html_render_page);
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
