#include "cli/exit_code.h"
#include "cli/memory.h"
#include "cli/output.h"
#include "cli/recording.h"
#include "cli/render.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "render/html.h"
#include "trace/format.h"

#include <inttypes.h>

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

static int page_write(struct recording *recording, const struct settings *settings,
                      const struct output *output) {
    uint32_t device;
    int code;
    if (!recording_read(recording, settings))
        return EXIT_CODE_FAILED;
    if (!recording_choose_device(recording, settings, &device, &code))
        return code;
    struct buffer page = {0};
    bool done =
        page_render(&page, recording, settings, device) && output_write(output, page.bytes, page.nbytes);
    if (done && !output->in_place)
        terminal_note(output->shown, "written, %s", format_bytes(page.nbytes).text);
    buffer_release(&page);
    return done ? EXIT_CODE_DONE : EXIT_CODE_FAILED;
}

static int html_run(const struct settings *settings) {
    struct recording recording;
    struct output output;
    struct output_request request = {settings->output, ".html", settings->force, true};
    if (!recording_open(&recording, settings))
        return EXIT_CODE_FAILED;
    int code = EXIT_CODE_FAILED;
    if (output_choose(&output, &request, &recording.input)) {
        code = page_write(&recording, settings, &output);
        output_release(&output);
    }
    recording_release(&recording);
    return code;
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
