/* The replay's self-check in words. */
#include "analysis/model/replay.h"

/* "676 of 678 driver allocations", "all 678 driver allocations", or "the only driver allocation". */
static void tell_part(struct words *words, uint64_t exact, uint64_t of, const char *thing) {
    if (exact == of && of == 1) {
        words_say(words, "the only ");
        words_say(words, thing);
        return;
    }
    if (exact == of)
        words_say(words, "all ");
    else
        WORDS_TELL(words, "%n of ", exact);
    words_add_things(words, of, thing);
}

static void tell_parts(struct words *words, const struct replay *replay) {
    tell_part(words, replay->allocations_exact, replay->allocations, "allocation");
    if (replay->driver_events != 0) {
        words_say(words, ", ");
        tell_part(words, replay->driver_events_exact, replay->driver_events, "driver allocation");
    }
    if (replay->releases != 0) {
        words_say(words, ", ");
        tell_part(words, replay->releases_exact, replay->releases, "release");
    }
}

void replay_tell(struct words *words, const struct replay *replay) {
    words_say(words, "Replay check: ");
    if (replay->grade == REPLAY_EXACT) {
        tell_parts(words, replay);
        words_say(words, " and the reserved curve are exactly as recorded.");
    } else if (replay->allocations_exact == 0 && replay->driver_events == 0) {
        words_say(words, "refused, because ");
        words_say(words, replay->reason);
        words_say(words, ".");
    } else {
        words_say(words, replay->grade == REPLAY_NEAR ? "near: " : "refused: ");
        tell_parts(words, replay);
        WORDS_TELL(words, " are as recorded, the reserved curve within %b; ",
                   replay->reserved_max_error_bytes);
        words_say(words, replay->reason);
        words_say(words, ".");
    }
    for (uint32_t i = 0; i < replay->settings.n_unread; i++) {
        words_say(words, " The allocator's setting \"");
        words_add(words, replay->settings.unread[i]);
        words_say(words, "\" is not read.");
    }
}
