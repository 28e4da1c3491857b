#include "cli/batch/batch_convert.h"

#include "cli/batch/batch_names.h"
#include "cli/batch/batch_sidecar.h"
#include "cli/exit_code.h"
#include "cli/memory.h"
#include "cli/output.h"
#include "cli/render.h"
#include "cli/terminal.h"

#include <stdio.h>
#include <stdlib.h>

/* A file whose results are written into `staging`. Messages name their final place. */
struct parts {
    const struct batch *batch;
    const struct batch_file *file;
    const char *staging;
};

static void part_begin(struct output_file *part, const struct parts *parts, const char *ending,
                       struct arena_host host) {
    char *path = memory_text("%s/%s%s", parts->staging, parts->file->name, ending);
    char *shown = memory_text("%s/%s%s", parts->batch->directory, parts->file->name, ending);
    output_file_begin(part, path, shown, host);
    free(path);
    free(shown);
}

/* Ends a part whose making gave `code`. Where the file refused its bytes, that was printed, and memory is not the
 * cause. */
static enum convert_code part_end(struct output_file *part, enum convert_code code) {
    code = part->out.refused ? CONVERT_FAILED : code;
    bool done = output_file_end(part, code == CONVERT_DONE);
    return code == CONVERT_DONE && !done ? CONVERT_FAILED : code;
}

static enum convert_code convert_page(const struct parts *parts, struct recording *recording,
                                      const struct settings *settings, uint32_t device) {
    struct output_file page;
    char view[PAGE_VIEW_CAPACITY] = "";
    if (settings->filter[0] != '\0' &&
        page_view_choose(view, sizeof view, recording, settings, device) != EXIT_CODE_DONE)
        return CONVERT_NO_MEMORY;
    part_begin(&page, parts, ".html", arena_share(&recording->trace.arena));
    switch (page_render(&page.out, recording, settings, device, view[0] != '\0' ? view : NULL, false)) {
    case HTML_DONE: return part_end(&page, CONVERT_DONE);
    case HTML_NO_MEMORY: return part_end(&page, CONVERT_NO_MEMORY);
    case HTML_TOO_LARGE: break;
    }
    return part_end(&page, CONVERT_FAILED);
}

static enum convert_code convert_picture(const struct parts *parts, struct recording *recording,
                                         const struct settings *settings, uint32_t device) {
    struct output_file picture;
    part_begin(&picture, parts, ".png", (struct arena_host){0});
    bool drawn = picture_render(&picture.out, recording, settings, device) == EXIT_CODE_DONE;
    return part_end(&picture, drawn ? CONVERT_DONE : CONVERT_NO_MEMORY);
}

static enum convert_code convert_sidecar(const struct parts *parts, const struct recording *recording,
                                         uint32_t device) {
    struct arena scratch;
    struct output_file sidecar;
    recording_scratch(recording, &scratch);
    part_begin(&sidecar, parts, ".strata.json", arena_share(&scratch));
    bool built = sidecar_build(&sidecar.out, recording, parts->batch, parts->file, device, &scratch);
    enum convert_code code = part_end(&sidecar, built ? CONVERT_DONE : CONVERT_NO_MEMORY);
    arena_release(&scratch);
    return code;
}

static enum convert_code convert_export(const struct parts *parts, const struct recording *recording,
                                        const struct settings *settings) {
    struct arena scratch;
    struct output_file file;
    recording_scratch(recording, &scratch);
    part_begin(&file, parts, export_kinds[settings->export_kind].ending, arena_share(&scratch));
    int written = export_write(&file.out, recording, settings, parts->staging, &scratch);
    enum convert_code code = part_end(&file, written == EXIT_CODE_DONE ? CONVERT_DONE : CONVERT_FAILED);
    arena_release(&scratch);
    return code;
}

/* Is this text a log? Texts of all kinds quote lines of logs, so one that the command line does not name must be called
 * like a log, and report an error or levels at several lines. */
static bool log_convinces(const struct trace *trace, const struct batch_file *file) {
    enum { LINES_LEAST = 4 };
    uint64_t n_events = 0, n_ooms = 0;
    for (uint32_t i = 0; i < trace->n_devices; i++) {
        n_events += trace->devices[i].n_events;
        n_ooms += trace->devices[i].n_ooms;
    }
    return names_is_log(file->input) && (n_ooms != 0 || n_events >= LINES_LEAST);
}

static enum convert_code convert_read(const struct batch_file *file, struct recording *recording,
                                      const struct settings *settings) {
    if (!recording_open(recording, settings))
        return CONVERT_FAILED;
    bool done = recording_read(recording, settings);
    if (done && !trace_has_allocations(&recording->trace) && !file->named &&
        !log_convinces(&recording->trace, file)) {
        terminal_error(file->path, "is a text with almost no lines about memory; name it to read it anyway");
        return CONVERT_NO_SNAPSHOT;
    }
    if (done)
        return CONVERT_DONE;
    enum read_code why = recording->error.code;
    if ((why == READ_UNKNOWN_KIND || why == READ_BAD_SHAPE) && !file->named)
        return CONVERT_NO_SNAPSHOT;
    return why == READ_NO_MEMORY ? CONVERT_NO_MEMORY : CONVERT_FAILED;
}

enum convert_code batch_convert(const struct batch *batch, const struct batch_file *file, const char *staging,
                                size_t memory_nbytes) {
    const struct parts parts = {batch, file, staging};
    struct settings settings = *batch->settings;
    struct recording recording = {0};
    uint32_t device = 0;
    int choice;
    settings.input = file->path;
    settings.max_memory_nbytes = memory_nbytes;
    settings.format = REPORT_JSON; /* the sidecar's */
    enum convert_code code = convert_read(file, &recording, &settings);
    if (code == CONVERT_DONE && !recording_choose_device(&recording, &settings, &device, &choice))
        code = CONVERT_FAILED;
    if (code == CONVERT_DONE && settings.batch.png)
        code = convert_picture(&parts, &recording, &settings, device);
    if (code == CONVERT_DONE)
        code = convert_sidecar(&parts, &recording, device);
    if (code == CONVERT_DONE && batch_exports(batch))
        code = convert_export(&parts, &recording, &settings);
    if (code == CONVERT_DONE &&
        batch_writes_page(batch, file)) /* last, because it writes its facts into the trace */
        code = convert_page(&parts, &recording, &settings, device);
    recording_release(&recording);
    return code;
}
