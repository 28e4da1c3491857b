/* Writes speedscope's own format (https://www.speedscope.app/file-format-schema.json): a sampled profile of each
 * device, in bytes. */
#include "base/json_writer.h"
#include "render/export/export_parts.h"
#include "render/words/device.h"

#include <inttypes.h>
#include <stdio.h>

/* Frames are numbered as they are met. The first numbers are those of frames that are not lines of a program. */
enum { FRAME_OF_FREE, FRAME_NO_STACK, FRAME_MORE, FRAMES_MADE };
static const char *const made_frame[FRAMES_MADE] = {EXPORT_OF_FREE, EXPORT_NO_STACK, EXPORT_MORE_FRAMES};

struct speedscope {
    struct json_writer json;
    struct export_work *work;
    struct export_met met; /* a frame's number there is its index in the file less FRAMES_MADE, plus 1 */
};

static bool frame_write(struct speedscope *to, uint32_t frame) {
    uint32_t number = export_met_number(&to->met, frame, to->work);
    json_u64(&to->json, NULL, FRAMES_MADE + number - 1);
    return number != 0;
}

static bool sample_write(struct speedscope *to, const struct export_sum *sum,
                         const struct export_frames *frames) {
    bool done = true;
    json_array(&to->json, NULL, JSON_COMPACT);
    if (sum->of_free)
        json_u64(&to->json, NULL, FRAME_OF_FREE);
    else if (frames->count == 0)
        json_u64(&to->json, NULL, FRAME_NO_STACK);
    if (frames->cut)
        json_u64(&to->json, NULL, FRAME_MORE);
    for (uint32_t i = 0; i < frames->count && done; i++)
        done = frame_write(to, frames->frame[i]);
    json_end(&to->json);
    return done;
}

static bool samples_write(struct speedscope *to, const struct export_device *device,
                          const struct export_sums *sums) {
    struct export_frames frames = {0};
    bool done = true;
    json_array(&to->json, "samples", JSON_LINES);
    for (uint32_t i = 0; i < sums->count && done; i++)
        if (export_sum_bytes(device, &sums->sum[i]) != 0)
            done = export_frames_find(&frames, device->trace, sums->sum[i].stack, device->arena) &&
                   sample_write(to, &sums->sum[i], &frames);
    json_end(&to->json);
    return done;
}

static void weights_write(struct speedscope *to, const struct export_device *device,
                          const struct export_sums *sums) {
    json_array(&to->json, "weights", JSON_COMPACT);
    for (uint32_t i = 0; i < sums->count; i++)
        if (export_sum_bytes(device, &sums->sum[i]) != 0)
            json_u64(&to->json, NULL, export_sum_bytes(device, &sums->sum[i]));
    json_end(&to->json);
}

static void profile_name(char text[96], const struct export_device *device) {
    struct figure name = device_named("GPU", device->device->ordinal);
    if (device->work->options->allocated)
        snprintf(text, 96, "%s: allocated", name.text);
    else
        snprintf(text, 96, "%s: live after event %" PRId64, name.text, export_event(device->range.at));
}

static bool speedscope_write(void *context, struct export_device *device) {
    struct speedscope *to = context;
    struct export_sums sums;
    char name[96];
    if (!export_sums_find(&sums, device))
        return false;
    profile_name(name, device);
    json_object(&to->json, NULL, JSON_LINES);
    json_text(&to->json, "type", "sampled");
    json_text(&to->json, "name", name);
    json_text(&to->json, "unit", "bytes");
    json_u64(&to->json, "startValue", 0);
    json_u64(&to->json, "endValue",
             device->work->options->allocated ? sums.allocated_bytes : sums.live_bytes);
    bool done = samples_write(to, device, &sums);
    weights_write(to, device, &sums);
    json_end(&to->json);
    return done;
}

static void frame_describe(struct json_writer *json, const struct trace *trace, uint32_t frame) {
    struct place place = export_place_of(trace, frame);
    json_object(json, NULL, JSON_COMPACT);
    json_string(json, "name", place.name.at, place.name.nbytes);
    if (place.file.nbytes != 0)
        json_string(json, "file", place.file.at, place.file.nbytes);
    if (place.line != 0)
        json_u64(json, "line", place.line);
    json_end(json);
}

static void frames_write(struct speedscope *to, const struct trace *trace) {
    json_object(&to->json, "shared", JSON_LINES);
    json_array(&to->json, "frames", JSON_LINES);
    for (uint32_t i = 0; i < FRAMES_MADE; i++) {
        json_object(&to->json, NULL, JSON_COMPACT);
        json_text(&to->json, "name", made_frame[i]);
        json_end(&to->json);
    }
    for (uint32_t i = 0; i < to->met.count; i++)
        frame_describe(&to->json, trace, to->met.frame[i]);
    json_end(&to->json);
    json_end(&to->json);
}

bool export_speedscope(struct export_work *work) {
    struct speedscope to = {.json = json_writer_of(work->out), .work = work};
    if (!export_met_init(&to.met, work))
        return false;
    json_object(&to.json, NULL, JSON_LINES);
    json_text(&to.json, "$schema", "https://www.speedscope.app/file-format-schema.json");
    json_text(&to.json, "exporter", "strata");
    json_text(&to.json, "name", work->options->file);
    json_u64(&to.json, "activeProfileIndex", 0);
    json_array(&to.json, "profiles", JSON_LINES);
    if (!export_each_device(work, speedscope_write, &to))
        return false;
    json_end(&to.json);
    frames_write(&to, work->trace);
    json_end(&to.json);
    buffer_add_text(work->out, "\n");
    return true;
}
