#include "cli/batch/batch_convert.h"

#include "cli/batch/batch_sidecar.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/render.h"
#include "cli/terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Writes under `staging`; messages name the place where it will be in the end. */
static bool part_write(const struct batch *batch, const struct batch_file *file, const char *staging,
                       const char *ending, const struct buffer *part) {
    struct output output = {.force = true};
    bool done = asprintf(&output.path, "%s/%s%s", staging, batch_base_name(file), ending) >= 0;
    if (!done)
        output.path = NULL;
    done = done && asprintf(&output.shown, "%s/%s%s", batch->directory, file->name, ending) >= 0;
    if (done)
        done = output_write(&output, part->bytes, part->nbytes);
    else
        terminal_error(file->path, "no memory");
    output_release(&output);
    return done;
}

static enum convert_code convert_page(const struct batch *batch, const struct batch_file *file,
                                      struct recording *recording, const struct settings *settings,
                                      const char *staging, uint32_t device) {
    struct buffer page = {.host = arena_share(&recording->trace.arena)};
    char view[PAGE_VIEW_CAPACITY] = "";
    if (settings->filter[0] != '\0' &&
        page_view_choose(view, sizeof view, recording, settings, device) != EXIT_CODE_DONE)
        return CONVERT_NO_MEMORY;
    enum html_result result = page_render(&page, recording, settings, device, view[0] != '\0' ? view : NULL);
    enum convert_code code = result == HTML_NO_MEMORY ? CONVERT_NO_MEMORY : CONVERT_FAILED;
    if (result == HTML_DONE && part_write(batch, file, staging, ".html", &page))
        code = CONVERT_DONE;
    buffer_release(&page);
    return code;
}

static enum convert_code convert_picture(const struct batch *batch, const struct batch_file *file,
                                         const struct recording *recording, const struct settings *settings,
                                         const char *staging, uint32_t device) {
    struct buffer picture = {0};
    enum convert_code code = CONVERT_NO_MEMORY;
    if (picture_render(&picture, recording, settings, device) == EXIT_CODE_DONE)
        code = part_write(batch, file, staging, ".png", &picture) ? CONVERT_DONE : CONVERT_FAILED;
    buffer_release(&picture);
    return code;
}

static enum convert_code convert_sidecar(const struct batch *batch, const struct batch_file *file,
                                         const struct recording *recording, const char *staging,
                                         uint32_t device) {
    struct arena scratch;
    recording_scratch(recording, &scratch);
    struct buffer sidecar = {.host = arena_share(&scratch)};
    enum convert_code code = CONVERT_NO_MEMORY;
    bool built = file->series != NULL
                     ? sidecar_build_series(&sidecar, recording, batch, file, device, &scratch)
                     : sidecar_build(&sidecar, recording, batch, file, device, &scratch);
    if (built)
        code = part_write(batch, file, staging, ".strata.json", &sidecar) ? CONVERT_DONE : CONVERT_FAILED;
    buffer_release(&sidecar);
    arena_release(&scratch);
    return code;
}

/* Whether windows of events meet on any device. */
static bool series_joins(const struct trace *trace) {
    for (uint32_t i = 0; i < trace->n_diagnostics; i++) {
        uint32_t nbytes;
        const uint8_t *code = trace_string(trace, trace->diagnostics[i].code, &nbytes);
        if (nbytes == strlen("series_joined") && memcmp(code, "series_joined", nbytes) == 0)
            return true;
    }
    return false;
}

static enum convert_code convert_read(const struct batch_file *file, struct recording *recording,
                                      const struct settings *settings) {
    if (!recording_open(recording, settings))
        return CONVERT_FAILED;
    bool done = recording_read(recording, settings);
    /* Texts of all kinds quote lines of logs: those that nobody named are passed over. */
    if (done && recording->trace.kind == TRACE_LOG && !file->named)
        return CONVERT_NO_SNAPSHOT;
    if (done && file->series != NULL && file->series->must_join && !series_joins(&recording->trace))
        return CONVERT_NO_SNAPSHOT;
    if (done)
        return CONVERT_DONE;
    bool none = recording->error.code == READ_UNKNOWN_KIND || recording->error.code == READ_BAD_SHAPE;
    if (none && !file->named)
        return CONVERT_NO_SNAPSHOT;
    return recording->error.code == READ_NO_MEMORY ? CONVERT_NO_MEMORY : CONVERT_FAILED;
}

enum convert_code batch_convert(const struct batch *batch, const struct batch_file *file, const char *staging,
                                size_t memory_nbytes) {
    struct settings settings = *batch->settings;
    struct recording recording = {0};
    uint32_t device = 0;
    int choice;
    settings.input = file->path;
    if (file->series != NULL) {
        settings.series = true;
        settings.inputs = file->series->pages;
        settings.n_inputs = file->series->n;
        settings.input = settings.inputs[0];
    }
    settings.max_memory_nbytes = memory_nbytes;
    settings.format = REPORT_JSON; /* the sidecar's */
    enum convert_code code = convert_read(file, &recording, &settings);
    if (code == CONVERT_DONE && !recording_choose_device(&recording, &settings, &device, &choice))
        code = CONVERT_FAILED;
    if (code == CONVERT_DONE && settings.png)
        code = convert_picture(batch, file, &recording, &settings, staging, device);
    if (code == CONVERT_DONE)
        code = convert_sidecar(batch, file, &recording, staging, device);
    if (code == CONVERT_DONE) /* last, because it writes its facts into the trace */
        code = convert_page(batch, file, &recording, &settings, staging, device);
    recording_release(&recording);
    return code;
}
