#include "layout/phases.h"

/* Names that torch gives to the work of its compiler: "_compile.compile_inner (dynamo_timed)". There are hundreds,
 * each a few events long. */
static bool name_is_internal(struct text name) {
    static const char *const words[] = {"dynamo_timed", "TorchDynamo", "dynamo.", "inductor_", "aot_"};
    return text_contains_any(name, words, sizeof words / sizeof *words) ||
           (name.nbytes > 0 && name.at[0] == '_');
}

/* "#5" in "ProfilerStep#5". */
static struct text name_number(struct text name) {
    uint32_t at = name.nbytes;
    while (at > 0 && name.at[at - 1] != '#')
        at--;
    return at < 2 || at == name.nbytes ? (struct text){name.at, 0}
                                       : (struct text){name.at + at - 1, name.nbytes - at + 1};
}

struct text phase_name(struct text name, uint32_t nth) {
    /* Known names: the whole name or, for those with '#', its beginning. */
    static const char *const known[][3] = {{"forward", "fwd", ""},
                                           {"backward", "bwd", ""},
                                           {"optimizer", "opt", ""},
                                           {"optimizer.step#", "optimizer", "opt"},
                                           {"optimizer.zero_grad#", "zero_grad", ""}};
    if (name.nbytes > 6 && text_begins(name, "## ") && text_ends(name, " ##"))
        name = (struct text){name.at + 3, name.nbytes - 6};
    if (nth == 0)
        return name;
    for (uint32_t i = 0; i < sizeof known / sizeof *known; i++) {
        uint32_t n = word_length(known[i][0]);
        if (name.nbytes >= n && text_is_lower((struct text){name.at, n}, known[i][0]) &&
            (name.nbytes == n || known[i][0][n - 1] == '#'))
            return word_text(nth < 3 ? known[i][nth] : "");
    }
    return nth == 1 ? name_number(name) : word_text("");
}

struct phase_stack {
    uint32_t open[PHASE_OPEN_MAX];
    uint32_t depth, plain_depth;
};

/* Times in a hostile file may be anything. Microseconds beyond 2^46 (two years) do not fit a view, so they are
 * cut. */
static int64_t us_since_first(const struct timeline *timeline, int64_t time_us) {
    const int64_t most = INT64_C(1) << 46;
    int64_t us;
    if (__builtin_sub_overflow(time_us, timeline->first_us, &us))
        return time_us < 0 ? -most : most;
    return us < -most ? -most : us > most ? most : us;
}

static void phase_start(struct phases *phases, struct phase_stack *stack, const struct timeline *timeline,
                        const struct annotation *annotation) {
    if (stack->depth == PHASE_OPEN_MAX)
        return;
    bool internal = name_is_internal(trace_text(timeline->trace, annotation->name));
    uint32_t id = phases->count++;
    phases->phase[id] = (struct phase){.start_us = us_since_first(timeline, annotation->time_us),
                                       .end_us = INT64_MAX,
                                       .name = annotation->name,
                                       .depth = (uint8_t)stack->depth,
                                       .plain_depth = (uint8_t)stack->plain_depth,
                                       .internal = internal};
    stack->open[stack->depth++] = id;
    stack->plain_depth += !internal;
    phases->internal_count += internal;
    if (stack->depth > phases->rows)
        phases->rows = (uint8_t)stack->depth;
    if (stack->plain_depth > phases->plain_rows)
        phases->plain_rows = (uint8_t)stack->plain_depth;
}

/* Ends the innermost open phase of that name, and those still open inside it. */
static void phase_end(struct phases *phases, struct phase_stack *stack, const struct timeline *timeline,
                      const struct annotation *annotation) {
    uint32_t at = stack->depth;
    while (at > 0 &&
           !trace_strings_equal(timeline->trace, phases->phase[stack->open[at - 1]].name, annotation->name))
        at--;
    for (; at > 0 && stack->depth >= at; stack->depth--) {
        struct phase *phase = &phases->phase[stack->open[stack->depth - 1]];
        int64_t end_us = us_since_first(timeline, annotation->time_us);
        phase->end_us = end_us < phase->start_us ? phase->start_us : end_us;
        stack->plain_depth -= !phase->internal;
    }
}

bool phases_find(const struct timeline *timeline, struct arena *arena, struct phases *phases) {
    const struct trace *trace = timeline->trace;
    *phases = (struct phases){0};
    if (!timeline_timed(timeline) || trace->n_annotations == 0 || timeline->device->n_events == 0)
        return true;
    uint32_t n_begun = 0;
    for (uint32_t i = 0; i < trace->n_annotations; i++)
        n_begun += trace->annotations[i].stage == ANNOTATION_START &&
                   annotation_concerns(&trace->annotations[i], timeline->device->ordinal);
    phases->phase = arena_alloc(arena, ((size_t)n_begun + 1) * sizeof *phases->phase);
    if (phases->phase == NULL)
        return false;
    struct phase_stack stack = {.depth = 0};
    for (uint32_t i = 0; i < trace->n_annotations; i++) {
        const struct annotation *annotation = &trace->annotations[i];
        if (!annotation_concerns(annotation, timeline->device->ordinal))
            continue;
        if (annotation->stage == ANNOTATION_START)
            phase_start(phases, &stack, timeline, annotation);
        else
            phase_end(phases, &stack, timeline, annotation);
    }
    return true;
}

int64_t phase_q16(const struct timeline *timeline, enum axis axis, int64_t us) {
    if (us == INT64_MAX) {
        struct view view = {.axis = axis};
        view_fit(&view, timeline);
        return view.to_q16;
    }
    if (axis == AXIS_TIME)
        return us * 65536;
    return ((int64_t)timeline_moment_at(timeline, us) - 1) * 65536;
}
