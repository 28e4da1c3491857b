/* Annotations as bands below the plot: what the program said it was doing. Two levels are shown. */
#include "render/chart_maker.h"

enum { PHASE_ROWS = 2, PHASE_OPEN_MAX = 64 };

/* Times in a hostile file may be anything; microseconds beyond 2^46 (two years) do not fit a view. */
static int64_t phase_us(const struct timeline *timeline, int64_t time_us) {
    const int64_t most = INT64_C(1) << 46;
    int64_t us;
    if (__builtin_sub_overflow(time_us, timeline->first_us, &us))
        return time_us < 0 ? -most : most;
    return us < -most ? -most : us > most ? most : us;
}

/* The phases that are open; those beyond PHASE_OPEN_MAX are counted, not kept. */
struct phase_stack {
    uint32_t open[PHASE_OPEN_MAX];
    uint32_t depth;
};

static void phase_start(struct chart_maker *maker, struct phase_stack *stack,
                        const struct annotation *annotation) {
    uint32_t id = maker->n_phases++;
    maker->phases[id] = (struct chart_phase){.start_us = phase_us(maker->in->timeline, annotation->time_us),
                                             .end_us = INT64_MAX,
                                             .name = annotation->name,
                                             .depth = stack->depth};
    if (stack->depth < PHASE_OPEN_MAX)
        stack->open[stack->depth++] = id;
}

/* Equal names may have different ids, because strings are not unique. */
static bool string_equal(const struct trace *trace, uint32_t a, uint32_t b) {
    uint32_t a_nbytes, b_nbytes;
    const uint8_t *a_bytes = trace_string(trace, a, &a_nbytes), *b_bytes = trace_string(trace, b, &b_nbytes);
    return a == b || (a_nbytes == b_nbytes && __builtin_memcmp(a_bytes, b_bytes, a_nbytes) == 0);
}

/* Ends the innermost open phase of that name, and whatever is still open inside of it. An end without a start
 * is left out: the ring buffer has lost when it began. */
static void phase_end(struct chart_maker *maker, struct phase_stack *stack,
                      const struct annotation *annotation) {
    const struct timeline *timeline = maker->in->timeline;
    uint32_t at = stack->depth;
    while (at > 0 &&
           !string_equal(timeline->trace, maker->phases[stack->open[at - 1]].name, annotation->name))
        at--;
    for (; at > 0 && stack->depth >= at; stack->depth--)
        maker->phases[stack->open[stack->depth - 1]].end_us = phase_us(timeline, annotation->time_us);
}

/* Position along the axis. */
static int64_t phase_q16(const struct chart_maker *maker, int64_t us) {
    const struct view *view = &maker->out->view;
    if (us == INT64_MAX)
        return view->to_q16;
    if (view->axis == AXIS_TIME)
        return us * 65536;
    return ((int64_t)timeline_moment_at(maker->in->timeline, us) - 1) * 65536;
}

/* In 1/64 of the window; -1: outside. Also tells how much of the window a phase takes. */
static int32_t phase_share(const struct chart_maker *maker, const struct chart_phase *phase) {
    const struct view *view = &maker->out->view;
    int64_t from = phase_q16(maker, phase->start_us), to = phase_q16(maker, phase->end_us);
    from = from < view->from_q16 ? view->from_q16 : from;
    to = to > view->to_q16 ? view->to_q16 : to;
    if (to < from || from >= view->to_q16 || to <= view->from_q16)
        return -1;
    return (int32_t)((to - from) / ((view->to_q16 - view->from_q16) / 64 + 1));
}

/* Rows that are worth their room: in each, one phase at least can be seen well. Timers of a compiler, to name
 * an example, are a few events long and would only be specks. */
static uint32_t phase_rows_wanted(const struct chart_maker *maker) {
    uint32_t rows = 0;
    for (uint32_t i = 0; i < maker->n_phases; i++)
        if (maker->phases[i].depth >= rows && maker->phases[i].depth < PHASE_ROWS &&
            phase_share(maker, &maker->phases[i]) > 0)
            rows = maker->phases[i].depth + 1;
    return rows;
}

/* Leaves those that are shown. */
static void phases_filter(struct chart_maker *maker) {
    uint32_t kept = 0, rows = phase_rows_wanted(maker);
    for (uint32_t i = 0; i < maker->n_phases; i++)
        if (maker->phases[i].depth < rows && phase_share(maker, &maker->phases[i]) >= 0)
            maker->phases[kept++] = maker->phases[i];
    maker->n_phases = kept;
}

void chart_phases_find(struct chart_maker *maker) {
    const struct timeline *timeline = maker->in->timeline;
    const struct trace *trace = timeline->trace;
    if (!timeline->start_us || trace->n_annotations == 0 || timeline->device->n_events == 0)
        return;
    maker->phases = arena_alloc(&maker->out->arena, (size_t)trace->n_annotations * sizeof *maker->phases);
    if (!maker->phases) {
        maker->failed = true;
        return;
    }
    struct phase_stack stack = {.depth = 0};
    for (uint32_t i = 0; i < trace->n_annotations; i++) {
        const struct annotation *annotation = &trace->annotations[i];
        if (annotation->device != timeline->device->ordinal)
            continue;
        if (annotation->stage == ANNOTATION_START)
            phase_start(maker, &stack, annotation);
        else
            phase_end(maker, &stack, annotation);
    }
    phases_filter(maker);
}

static int32_t phase_row_height(const struct chart_maker *maker) {
    return chart_line(maker->small) + 2 * maker->scale;
}

static int32_t phase_rows(const struct chart_maker *maker) {
    int32_t rows = 0;
    for (uint32_t i = 0; i < maker->n_phases; i++)
        if ((int32_t)maker->phases[i].depth + 1 > rows)
            rows = (int32_t)maker->phases[i].depth + 1;
    return rows;
}

int32_t chart_phases_height(const struct chart_maker *maker) {
    return phase_rows(maker) * phase_row_height(maker);
}

static int32_t phase_x(const struct chart_maker *maker, int64_t us) {
    int32_t x = chart_axis_x(maker, phase_q16(maker, us));
    return x < 0 ? 0 : x;
}

/* A name is written where it fits, or enough of it to be recognised. */
static void phase_put_name(struct chart_maker *maker, const struct chart_phase *phase, struct rect band) {
    uint32_t nbytes;
    const uint8_t *name = trace_string(maker->in->timeline->trace, phase->name, &nbytes);
    char text[FONT_TEXT_NBYTES];
    int32_t pad = maker->em / 3;
    nbytes = nbytes < sizeof text - 1 ? nbytes : (uint32_t)sizeof text - 1;
    __builtin_memcpy(text, name, nbytes);
    text[nbytes] = '\0';
    if (band.width < 6 * maker->em && band.width < chart_text_width(maker, maker->small, text) + 2 * pad)
        return;
    chart_put_text(maker, (struct rect){band.x + pad, band.y, band.width - 2 * pad, 0}, CHART_LEFT,
                   maker->small, maker->out->colors.text, text);
}

void chart_phases_put(struct chart_maker *maker, struct rect area) {
    int32_t drawn_to[PHASE_ROWS] = {0}, height = phase_row_height(maker), gap = maker->scale;
    uint32_t n[PHASE_ROWS] = {0};
    for (uint32_t i = 0; i < maker->n_phases; i++) {
        const struct chart_phase *phase = &maker->phases[i];
        int32_t left = phase_x(maker, phase->start_us), right = phase_x(maker, phase->end_us);
        left = left < drawn_to[phase->depth] ? drawn_to[phase->depth] : left;
        right = right < left + gap ? left + gap : right;
        if (left + gap > area.width)
            continue;
        /* A pixel between neighbours tells them apart. */
        int32_t width = right - left > 4 * gap ? right - left - gap : right - left;
        struct rect band = {area.x + left, area.y + (int32_t)phase->depth * height + 2 * gap, width,
                            height - 2 * gap};
        chart_put(maker, CHART_FILL, band, maker->out->colors.phase[n[phase->depth]++ % 2]);
        phase_put_name(maker, phase, band);
        drawn_to[phase->depth] = right;
    }
}
