#include "cli/convert.h"
#include "cli/exit_code.h"
#include "cli/render.h"
#include "cli/verbs.h"
#include "render/html.h"

bool page_render(struct buffer *page, struct recording *recording, const struct settings *settings,
                 uint32_t device) {
    struct html_options options = {
        .file = recording->input.name,
        .sha256 = recording->sha256,
        .title = settings->title,
        .theme = settings->theme,
        .device = recording->trace.devices[device].ordinal,
        .color = options_color_name(recording_color_by(recording, settings)),
        .capacity_bytes = recording_capacity(recording, settings, device),
    };
    if (html_render(page, &recording->trace, &options))
        return true;
    recording_print_no_memory(recording, recording->trace.arena.limit_hit);
    return false;
}

static int html_render_page(struct buffer *out, struct recording *recording, const struct settings *settings,
                            uint32_t device) {
    return page_render(out, recording, settings, device) ? EXIT_CODE_DONE : EXIT_CODE_FAILED;
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
