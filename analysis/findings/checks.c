/* The checks besides growth, in sentences. A check is "clear" only if its search met places that could have shown
 * the fault. */
#include "analysis/findings/verdicts.h"
#include "base/numbers.h"

static const struct {
    enum finding_kind kind;
    const char *fault; /* as a sentence about a check that was not judged begins */
} checks[] = {{FINDING_GRADIENTS_KEPT, "Gradients that are kept: "},
              {FINDING_HELD_OVER, "Results that are held: "},
              {FINDING_FRAGMENTATION, "Fragmentation: "},
              {FINDING_RETRY_FLUSH, "Cache given back to serve a request: "}};

const char *const check_state_name[] = {
    [CHECK_CLEAR] = "clear", [CHECK_FOUND] = "found", [CHECK_NOT_JUDGED] = "not_judged"};

uint32_t verdicts_checks(const struct verdicts *verdicts) {
    const struct timeline *timeline = verdicts->timeline;
    return !trace_has_allocations(timeline->trace) || timeline->device->n_events == 0
               ? 0
               : (uint32_t)(sizeof checks / sizeof *checks);
}

static bool is_found(const struct verdicts *verdicts, enum finding_kind kind) {
    for (uint32_t i = 0; i < verdicts->findings.count; i++)
        if (verdicts->findings.finding[i].kind == kind)
            return true;
    return false;
}

static void say_reserved(struct words *words, const struct timeline *timeline) {
    uint64_t reserved = timeline->reserved_peak,
             beyond = reserved > timeline->peak_bytes ? reserved - timeline->peak_bytes : 0;
    if (beyond == 0) {
        WORDS_TELL(words, "All of the %b reserved at most were in use at once.", reserved);
        return;
    }
    WORDS_TELL(words, "Of the %b reserved at most, %b (%p) are more than was ever in use at once", reserved,
               beyond, beyond, reserved);
    words_say(words, beyond >= reserved / 4 && beyond < 1024 * MIB
                         ? ": below 1 GiB that is not called fragmentation."
                         : ".");
}

/* Begins a sentence, which excepts a leak that has been reported: it is not reported again under another name. */
static void say_besides(struct words *words, const struct verdicts *verdicts, const char *alone,
                        const char *behind) {
    bool blamed = is_found(verdicts, FINDING_LEAK) || is_found(verdicts, FINDING_GROWING_BUFFER);
    words_say(words, blamed ? "Besides what is named above, " : "");
    words_say(words, blamed ? behind : alone);
}

static void say_clear(struct words *words, const struct verdicts *verdicts, struct check check) {
    bool steps = verdicts->turns.source < TURNS_BACKWARD;
    switch (check.kind) {
    case FINDING_GRADIENTS_KEPT:
        WORDS_TELL(words, "Almost no gradients survive into a later forward (%n forward%s).", check.looked);
        break;
    case FINDING_HELD_OVER:
        say_besides(words, verdicts, "Next", "next");
        WORDS_TELL(words,
                   steps ? " to nothing that a step made is held while the next makes the same (%n pair%s of "
                           "steps)."
                         : " to nothing that a turn made is held while the next makes the same (%n pair%s of "
                           "turns).",
                   check.looked);
        break;
    case FINDING_FRAGMENTATION: say_reserved(words, verdicts->timeline); break;
    default: words_say(words, "No request made the allocator give its cache back."); break;
    }
}

/* Why the fault could not have been seen. */
static const char *obstacle(const struct verdicts *verdicts, enum finding_kind kind) {
    enum stack_kind stacks = verdicts->runs.stacks;
    if (kind == FINDING_FRAGMENTATION)
        return "reserved memory over time is not known.";
    if (kind == FINDING_RETRY_FLUSH)
        return verdicts->timeline->device->n_segment_events == 0
                   ? "no segment event was recorded."
                   : "backward has no stacks, so the requests cannot be identified.";
    if (verdicts->runs.n_allocations == 0)
        return "no allocation was recorded.";
    if (stacks == STACKS_NONE)
        return "no stacks were recorded.";
    if (kind == FINDING_HELD_OVER && verdicts->turns.count > 1)
        return "many lines hold something, no backward follows, and what the next turn needs is not known.";
    return verdicts->turns.count < 2             ? "it takes two steps to see them."
           : verdicts->findings.gradients_unsure ? "backward may add to gradients that are older than the "
                                                   "recording. Record from before the first "
                                                   "step to see them."
                                                 : "no gradient was recognised before a later forward.";
}

struct check verdicts_check(const struct verdicts *verdicts, uint32_t index, char *text, uint32_t capacity) {
    enum finding_kind kind = checks[index].kind;
    struct check check = {kind, CHECK_NOT_JUDGED, verdicts->findings.looked[kind]};
    struct words words = {text, capacity, 0};
    uint64_t spared = verdicts->findings.spared[kind];
    if (is_found(verdicts, kind) || spared != 0)
        check.state = CHECK_FOUND;
    else if (check.looked != 0)
        check.state = CHECK_CLEAR;
    if (!is_found(verdicts, kind) && spared != 0)
        WORDS_TELL(
            &words,
            kind == FINDING_GRADIENTS_KEPT
                ? "%b of gradients survive into the next forward, but the peak would be as high without them."
                : "%b are held from one to the next, but the peak would be as high without them.",
            spared);
    if (check.state == CHECK_CLEAR)
        say_clear(&words, verdicts, check);
    if (check.state == CHECK_NOT_JUDGED) {
        words_say(&words, checks[index].fault);
        words_say(&words, obstacle(verdicts, kind));
    }
    words_end(&words);
    return check;
}
