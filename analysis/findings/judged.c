/* The judgement in sentences. A check that could not run says "not judged", never "clear". */
#include "analysis/findings/verdicts.h"

static uint32_t leaks_count(const struct verdicts *verdicts) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < verdicts->findings.count; i++) {
        uint8_t kind = verdicts->findings.finding[i].kind;
        n += kind == FINDING_LEAK || kind == FINDING_GROWING_BUFFER || kind == FINDING_HELD_OVER ||
             kind == FINDING_GRADIENTS_KEPT;
    }
    return n;
}

/* Is there memory without a stack worth mentioning? A memory timeline never has stacks. */
static bool is_worth_saying(const struct verdicts *verdicts) {
    const struct phase_runs *runs = &verdicts->runs;
    return trace_has_call_sites(verdicts->timeline->trace) &&
           (runs->stacks != STACKS_PYTHON || phase_runs_has(runs, SIDE_BACKWARD));
}

static void say_stacks(struct words *words, const struct verdicts *verdicts) {
    static const char *const texts[] = {
        [STACKS_NONE] = "",
        [STACKS_PYTHON] =
            " Backward has no stack here (only Python frames were recorded): gradients and their temporaries "
            "are told apart by what outlives backward, not by lines. Record with stacks='all' to see them.",
        [STACKS_NATIVE] = " Only C++ frames were recorded: forward, optimizer and loading cannot be told "
                          "apart, and what is never freed is 'other'. Record with stacks='all' to see them.",
        [STACKS_MIXED] = "",
    };
    if (is_worth_saying(verdicts))
        words_say(words, texts[verdicts->runs.stacks]);
}

static void say_source(struct words *words, const struct verdicts *verdicts) {
    static const char *const texts[] = {
        [TURNS_NONE] = "",
        [TURNS_PROFILER_STEP] = ", by the annotations ProfilerStep#N",
        [TURNS_OPTIMIZER_MARKS] = ", by the ends of the annotations Optimizer.step",
        [TURNS_LINES] = "",
        [TURNS_OPTIMIZER] = ", by what the optimizer allocates",
        [TURNS_BACKWARD] = ", by backward passes; where gradients are accumulated, several make one step",
        [TURNS_REPETITION] = ", by allocations that come again and again",
    };
    words_say(words, texts[verdicts->turns.source]);
}

static void say_too_short(struct words *words, const struct verdicts *verdicts) {
    uint32_t n = verdicts->turns.count;
    if (verdicts->runs.n_allocations == 0) {
        words_say(words, "No allocation was recorded: what stays from step to step cannot be seen.");
        return;
    }
    if (n == 0) {
        words_say(words, verdicts->judged.phases ? "No turns of a loop were found"
                                                 : "Neither a forward pass nor a loop was found");
        words_say(words, ": what stays from step to step cannot be seen.");
        return;
    }
    words_add_things(words, n, turns_unit(&verdicts->turns));
    words_say(words, n == 1 ? " was found" : " were found");
    say_source(words, verdicts);
    words_say(words, n == 1 ? ": what stays from step to step cannot be seen in one."
                            : ": a third would be needed to tell a leak from a result that is held.");
}

/* The difference between what is alive when turns begin, from the second on: the first one makes what stays. */
static uint64_t begins_differ(const struct verdicts *verdicts, uint64_t *most) {
    uint64_t least = UINT64_MAX;
    *most = 0;
    for (uint32_t i = 1; i < verdicts->turns.count; i++) {
        uint32_t begin = verdicts->turns.turn[i].begin_moment;
        uint64_t live = verdicts->timeline->live[begin > 0 ? begin - 1 : 0];
        least = live < least ? live : least;
        *most = live > *most ? live : *most;
    }
    return *most > least ? *most - least : 0;
}

static void say_none(struct words *words, const struct verdicts *verdicts) {
    uint64_t most, apart = begins_differ(verdicts, &most), little = verdicts->findings.spared[FINDING_LEAK];
    if (verdicts->turns.count < 3)
        words_say(words, ": no call site was seen to keep more, but a third would be needed to tell");
    else if (apart > most / 100)
        WORDS_TELL(
            words,
            ": no call site was found that keeps more, but what is alive when one begins differs by %b",
            apart);
    else if (little != 0)
        WORDS_TELL(words, ": call sites keep only %b more", little);
    else
        words_say(words, ": no call site keeps more");
    if (verdicts->turns.count >= 3 && apart <= most / 100) {
        words_say(words, " from one ");
        words_say(words, turns_unit(&verdicts->turns));
        words_say(words, " to the next");
    }
}

static void say_judged(struct words *words, const struct verdicts *verdicts) {
    uint32_t n = verdicts->turns.count;
    words_add_things(words, n, turns_unit(&verdicts->turns));
    words_say(words, " were compared");
    say_source(words, verdicts);
    if (leaks_count(verdicts) == 0)
        say_none(words, verdicts);
    words_say(words, ".");
    if (!verdicts->turns.closed) {
        words_say(
            words,
            " The last one is cut off by the end of the recording; what is alive because of that is not "
            "counted.");
    }
}

uint32_t verdicts_judged_text(const struct verdicts *verdicts, char *text, uint32_t capacity) {
    struct words words = {text, capacity, 0};
    if (!trace_has_allocations(verdicts->timeline->trace)) {
        words_say(&words, "These are levels printed in a log, not allocations: it does not say what holds "
                          "the memory, nor what stays from step to step.");
        return words_end(&words);
    }
    if (verdicts->timeline->device->n_events == 0) {
        words_say(&words, "No event was recorded: how this state came about cannot be seen.");
        if (trace_has_segments(verdicts->timeline->trace))
            words_say(&words, " Call torch.cuda.memory._record_memory_history(max_entries=1000000) before "
                              "the model is made.");
        return words_end(&words);
    }
    switch (verdicts->judged.growth) {
    case GROWTH_NO_STACKS:
        words_say(
            &words,
            !trace_has_call_sites(verdicts->timeline->trace)
                ? "A memory timeline says what each allocation is for, and not which line made it: what "
                  "a line keeps from step to step cannot be seen."
                : "No stacks were recorded: only amounts and times are known.");
        break;
    case GROWTH_TOO_SHORT: say_too_short(&words, verdicts); break;
    case GROWTH_JUDGED: say_judged(&words, verdicts); break;
    }
    say_stacks(&words, verdicts);
    return words_end(&words);
}
