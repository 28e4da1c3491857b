#include "analysis/findings/oom.h"

static uint64_t beyond(uint64_t all, uint64_t part) {
    return all > part ? all - part : 0;
}

/* What a request takes from the driver exceeds it by rounding to a segment or to granules of expandable segments,
 * and by less than this: 20 MiB for a request of 1 MiB. */
enum { SEGMENT_BEYOND_REQUEST = 64 << 20 };

bool oom_had_room(const struct trace *trace, const struct oom_event *event) {
    return trace_has_segments(trace) && event->device_free != OOM_UNKNOWN &&
           event->device_free >= SEGMENT_BEYOND_REQUEST &&
           event->device_free - SEGMENT_BEYOND_REQUEST >= event->size;
}

void oom_state_of(struct oom_state *state, const struct timeline *timeline, const struct oom_event *event) {
    uint32_t moment = event->event + 1;
    *state = (struct oom_state){.moment = moment,
                                .live_bytes = timeline->live[moment],
                                .reserved_bytes = timeline_reserved_at(timeline, moment),
                                .reserved_known = timeline->device->n_segments != 0};
    state->unused_bytes = beyond(state->reserved_bytes, state->live_bytes);
    if (event->size != OOM_UNKNOWN && event->device_free != OOM_UNKNOWN)
        state->lacking_bytes = beyond(beyond(event->size, state->unused_bytes), event->device_free);
}

bool oom_free_blocks_of(struct oom_state *state, const struct device_trace *device, struct arena *arena) {
    if (device->n_blocks == 0)
        return true;
    state->free_blocks_known =
        free_blocks_at(&state->free_blocks, &state->at_end, device, state->moment, arena);
    return state->free_blocks_known;
}
