#include "cli/convert.h"
#include "cli/exit_code.h"
#include "cli/render.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "render/html.h"
#include "trace/format.h"

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
            format_count(outcome->n_merged).text, format_count(outcome->n_lives).text,
            format_count(outcome->n_bands).text, format_count(outcome->n_hidden).text);
}

enum html_result page_render(struct buffer *page, struct recording *recording,
                             const struct settings *settings, uint32_t device) {
    struct html_options options = {
        .file = recording->input.name,
        .sha256 = recording->sha256,
        .title = settings->title,
        .theme = settings->theme,
        .device = recording->trace.devices[device].ordinal,
        .color = options_color_name(recording_color_by(recording, settings)),
        .capacity_bytes = recording_capacity(recording, settings, device),
        .max_nbytes = settings->max_html_nbytes,
    };
    struct html_outcome outcome;
    enum html_result result = html_render(page, &recording->trace, &options, &outcome);
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
    return page_render(out, recording, settings, device) == HTML_DONE ? EXIT_CODE_DONE : EXIT_CODE_FAILED;
}

static int html_run(const struct settings *settings) {
    return convert_run(settings, ".html", html_render_page);
}

const struct verb verb_html = {
    .name = "html",
    .bit = VERB_HTML,
    .summary = "an interactive page in one file that opens anywhere (the default verb)",
    .about = "Writes one self-contained page: every allocation over the run, coloured by call site,\n"
             "with stacks, search and zoom. It needs no network and no other file.\n",
    .examples = "  strata html snapshot.pickle                 writes snapshot.html\n"
                "  strata snapshot.pickle -o report/           writes report/snapshot.html\n"
                "  strata html --capacity 80GiB oom.pickle.gz\n"
                "  ssh node cat /scratch/snapshot.pickle | strata html - > page.html\n",
    .run = html_run,
};
