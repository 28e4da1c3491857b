/* The part of a timeline that --from and --to ask for. */
#pragma once

#include "cli/units.h"
#include "layout/scene.h"

/*
 * Translates positions to the axis of `view` and sets from_q16 and to_q16. A position that is not given leaves that end
 * of the whole run. `to` is exclusive, but with peak and oom the window ends just after the event. What lies outside
 * only by its offset (peak-500 of a peak at event 100) is moved to the end of the run; an event or a time that the
 * recording does not have is refused. False: `*reason` says in a sentence without its full stop why there is no such
 * window; it is valid until the next call.
 */
bool window_resolve(struct view *view, const struct timeline *timeline, struct position from,
                    struct position to, const char **reason);

/* Finds the moment that a position names: the state after that event. False: `*reason` as above. */
bool window_moment(const struct timeline *timeline, struct position position, uint32_t *moment,
                   const char **reason);
