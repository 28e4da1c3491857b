#include "cli/window.h"

#include "base/format.h"

#include <inttypes.h>
#include <stdio.h>

static int64_t clamp(int64_t value, int64_t low, int64_t high) {
    return value < low ? low : value > high ? high : value;
}

/* The event that a position names, before offsets and clamping. -1: the state before the first event. */
static bool base_event(const struct timeline *timeline, struct position position, int64_t *event,
                       const char **reason) {
    const struct device_trace *device = timeline->device;
    *event = 0;
    if (position.base == POSITION_PEAK)
        *event = (int64_t)timeline->peak_moment - 1;
    if (position.base == POSITION_OOM && device->n_ooms == 0) {
        *reason = "the device has no out-of-memory event";
        return false;
    }
    if (position.base == POSITION_OOM)
        *event = device->ooms[0].event;
    return true;
}

/* Converts a position in events to one on the axis, in 1/65536. */
static int64_t axis_of_event(const struct view *view, const struct timeline *timeline, int64_t event) {
    int64_t n_events = (int64_t)timeline->n_moments - 1;
    event = clamp(event, -1, n_events);
    if (view->axis == AXIS_EVENTS)
        return event * 65536;
    int64_t us = event == n_events ? timeline->end_us : timeline_start_us(timeline, (uint32_t)event + 1);
    return us * 65536;
}

static int64_t axis_of_time(const struct view *view, const struct timeline *timeline, int64_t us) {
    us = clamp(us, timeline_start_us(timeline, 0), timeline->end_us);
    if (view->axis == AXIS_TIME)
        return us * 65536;
    return ((int64_t)timeline_moment_at(timeline, us) - 1) * 65536;
}

/* The point just after an event, where the next one begins. Of several events in one microsecond it is the begin of
 * the first later one, so that a window that ends there shows the event's mark, which is at the event's begin. */
static int64_t axis_behind_event(const struct view *view, const struct timeline *timeline, int64_t event) {
    int64_t n_events = (int64_t)timeline->n_moments - 1, next = event + 1;
    int64_t begin = axis_of_event(view, timeline, event), end = axis_of_event(view, timeline, next);
    while (event >= 0 && next < n_events && end == begin)
        end = axis_of_event(view, timeline, ++next);
    return end;
}

/* Does a window that ends here include it? A place with a name is included, a number is not. */
static bool position_is_inclusive(struct position position) {
    return position.base == POSITION_PEAK || position.base == POSITION_OOM;
}

/* The sentence of the last refusal. */
static char refusal[160];

/* Is it the index of an event or, where a window ends, the index behind the last one? */
static bool event_is_there(const struct timeline *timeline, int64_t event, bool is_end, const char **reason) {
    int64_t n_events = (int64_t)timeline->n_moments - 1;
    if (event < n_events + is_end)
        return true;
    if (n_events == 0)
        snprintf(refusal, sizeof refusal, "event %" PRId64 " is beyond the recording, which has no events",
                 event);
    else
        snprintf(refusal, sizeof refusal, "event %s is beyond the recording, whose events are 0 to %s",
                 format_count((uint64_t)event).text, format_count((uint64_t)n_events - 1).text);
    *reason = refusal;
    return false;
}

static bool time_is_there(const struct timeline *timeline, int64_t us, const char **reason) {
    if (!timeline_timed(timeline))
        *reason = "the recording has no times; give the window in events";
    else if (us <= timeline->end_us)
        return true;
    else {
        snprintf(refusal, sizeof refusal, "%s is beyond the recording, whose times are 0 to %s",
                 format_duration(us).text, format_duration(timeline->end_us).text);
        *reason = refusal;
    }
    return false;
}

/* Resolves a position. `is_end`: it is the end of a window. */
static bool position_resolve(const struct view *view, const struct timeline *timeline,
                             struct position position, bool is_end, int64_t *axis_q16, const char **reason) {
    int64_t event;
    if (position.base == POSITION_NONE)
        return true;
    if (position.base == POSITION_TIME) {
        if (!time_is_there(timeline, position.offset, reason))
            return false;
        *axis_q16 = axis_of_time(view, timeline, position.offset);
        return true;
    }
    if (position.base == POSITION_EVENT && !event_is_there(timeline, position.offset, is_end, reason))
        return false;
    if (!base_event(timeline, position, &event, reason))
        return false;
    event += position.offset;
    *axis_q16 = is_end && position_is_inclusive(position) ? axis_behind_event(view, timeline, event)
                                                          : axis_of_event(view, timeline, event);
    return true;
}

bool window_resolve(struct view *view, const struct timeline *timeline, struct position from,
                    struct position to, const char **reason) {
    if (view->axis == AXIS_TIME && !timeline_timed(timeline)) {
        *reason = "the recording has no times; --axis events shows it";
        return false;
    }
    view_fit(view, timeline);
    if (!position_resolve(view, timeline, from, false, &view->from_q16, reason) ||
        !position_resolve(view, timeline, to, true, &view->to_q16, reason))
        return false;
    if (view->from_q16 < view->to_q16)
        return true;
    *reason = "--from and --to leave no events between them";
    return false;
}

bool window_moment(const struct timeline *timeline, struct position position, uint32_t *moment,
                   const char **reason) {
    struct view view = {.axis = AXIS_EVENTS};
    int64_t axis_q16 = 0;
    if (!position_resolve(&view, timeline, position, false, &axis_q16, reason))
        return false;
    int64_t event = axis_q16 / 65536;
    *moment = event >= timeline->device->n_events ? timeline->device->n_events : (uint32_t)(event + 1);
    return true;
}
