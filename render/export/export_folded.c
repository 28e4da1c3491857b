/* Writes stacks with their bytes, one per line, as flamegraph.pl, inferno and speedscope read them. */
#include "render/export/export_parts.h"

static void stack_add(struct buffer *out, const struct export_device *device, const struct export_sum *sum,
                      const struct export_frames *frames) {
    if (sum->of_free)
        buffer_add_text(out, frames->count != 0 ? EXPORT_OF_FREE ";" : EXPORT_OF_FREE);
    else if (frames->count == 0)
        buffer_add_text(out, EXPORT_NO_STACK);
    if (frames->cut)
        buffer_add_text(out, EXPORT_MORE_FRAMES ";");
    for (uint32_t i = 0; i < frames->count; i++) {
        buffer_add(out, ";", i != 0);
        export_frame_add(out, device->trace, frames->frame[i], ';', ',');
    }
}

static bool folded_write(void *context, struct export_device *device) {
    struct buffer *out = context;
    struct export_sums sums;
    struct export_frames frames = {0};
    if (!export_sums_find(&sums, device))
        return false;
    for (uint32_t i = 0; i < sums.count; i++) {
        const struct export_sum *sum = &sums.sum[i];
        uint64_t bytes = export_sum_bytes(device, sum);
        char digits[20];
        if (bytes == 0)
            continue;
        if (!export_frames_find(&frames, device->trace, sum->stack, device->arena))
            return false;
        stack_add(out, device, sum, &frames);
        buffer_add(out, " ", 1);
        buffer_add(out, digits, digits_put(bytes, digits));
        buffer_add(out, "\n", 1);
    }
    return true;
}

bool export_folded(struct export_work *work) {
    return export_each_device(work, folded_write, work->out);
}
