#include "cli/convert.h"

#include "base/format.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/terminal.h"

static int convert_write(struct recording *recording, const struct settings *settings,
                         const struct output *output, convert_render *render) {
    uint32_t device;
    int code;
    if (!recording_read(recording, settings))
        return EXIT_CODE_FAILED;
    if (!recording_choose_device(recording, settings, &device, &code))
        return code;
    struct buffer out = {.host = arena_share(&recording->trace.arena)};
    struct output_stream stream;
    output_stream(&stream, output, &out);
    code = render(&out, recording, settings, device);
    if (code == EXIT_CODE_DONE && !output_finish(&stream))
        code = EXIT_CODE_FAILED;
    if (code == EXIT_CODE_DONE && !output->in_place)
        terminal_note(output->shown, "written, %s", format_bytes(buffer_total(&out)).text);
    output_abandon(&stream);
    buffer_release(&out);
    return code;
}

int convert_run(const struct settings *settings, const char *ending, convert_render *render) {
    struct recording recording;
    struct output output;
    struct output_request request = {settings->output, ending, settings->force, true};
    if (!recording_open(&recording, settings))
        return EXIT_CODE_FAILED;
    int code = EXIT_CODE_FAILED;
    if (output_choose(&output, &request, &recording.input)) {
        code = convert_write(&recording, settings, &output, render);
        output_release(&output);
    }
    recording_release(&recording);
    return code;
}
