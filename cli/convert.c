#include "cli/convert.h"

#include "cli/browser.h"
#include "cli/exit_code.h"
#include "cli/filter.h"

/* A conversion of the opened recording to the output: `write` knows which of the two functions it calls. */
struct conversion {
    int (*write)(struct recording *recording, const struct settings *settings, const struct output *output,
                 const struct conversion *conversion);
    union {
        convert_render *render;
        convert_tell *tell;
    };
};

static int device_write(struct recording *recording, const struct settings *settings,
                        const struct output *output, const struct conversion *conversion) {
    uint32_t device;
    int code;
    if (!recording_read(recording, settings))
        return EXIT_CODE_FAILED;
    if (!recording_choose_device(recording, settings, &device, &code) ||
        (code = filter_look(recording, settings, &device)) != EXIT_CODE_DONE)
        return code;
    struct buffer out = {.host = arena_share(&recording->trace.arena)};
    struct output_stream stream;
    output_stream(&stream, output, &out);
    code = output_end(&stream, conversion->render(&out, recording, settings, device));
    buffer_release(&out);
    return code;
}

static int words_write(struct recording *recording, const struct settings *settings,
                       const struct output *output, const struct conversion *conversion) {
    struct arena scratch;
    struct output_stream stream;
    if (!recording_read(recording, settings))
        return EXIT_CODE_FAILED;
    if (!recording_check_device(recording, settings))
        return EXIT_CODE_USAGE;
    int code = filter_look(recording, settings, NULL);
    if (code != EXIT_CODE_DONE)
        return code;
    recording_scratch(recording, &scratch);
    struct buffer out = {.host = arena_share(&scratch)};
    output_stream(&stream, output, &out);
    code = output_end(&stream, conversion->tell(&out, recording, settings, &scratch));
    buffer_release(&out);
    arena_release(&scratch);
    return code;
}

/* Refuses an output that would overwrite an input after the first, or a log of --host. */
static bool others_are_spared(const struct output *output, const struct settings *settings) {
    bool spared = true;
    for (uint32_t i = 0; i < settings->n_hosts; i++)
        spared = spared && output_spares_path(output, settings->hosts[i]);
    for (uint32_t i = 1; spared && settings->series && i < settings->n_inputs; i++)
        spared = output_spares_path(output, settings->inputs[i]);
    return spared;
}

static int convert_open(const struct settings *settings, const struct output_request *request,
                        const struct conversion *conversion) {
    struct recording recording;
    struct output output;
    if (!recording_open(&recording, settings))
        return EXIT_CODE_FAILED;
    int code = EXIT_CODE_FAILED;
    if (output_choose(&output, request, &recording.input)) {
        if (others_are_spared(&output, settings))
            code = conversion->write(&recording, settings, &output, conversion);
        if (code == EXIT_CODE_DONE)
            browser_open(settings, output.path);
        output_release(&output);
    }
    recording_release(&recording);
    return code;
}

int convert_run(const struct settings *settings, const char *part, const char *ending,
                convert_render *render) {
    struct output_request request = {settings->output, part, ending, settings->force, true};
    return convert_open(settings, &request, &(struct conversion){.write = device_write, .render = render});
}

struct output_request convert_words_request(const struct settings *settings, const char *part) {
    return (struct output_request){settings->output != NULL ? settings->output : "-", part,
                                   report_format_ending(settings->format), settings->force, false};
}

int convert_words(const struct settings *settings, const char *part, convert_tell *tell) {
    struct output_request request = convert_words_request(settings, part);
    return convert_open(settings, &request, &(struct conversion){.write = words_write, .tell = tell});
}

int convert_file(const struct settings *settings, const char *ending, bool binary, convert_tell *tell) {
    struct output_request request = {settings->output, "", ending, settings->force, binary};
    return convert_open(settings, &request, &(struct conversion){.write = words_write, .tell = tell});
}
