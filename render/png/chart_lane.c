/*
 * Flags above the plot: a triangle exactly at the moment, a text of the same colour near it. Two rows; texts
 * never overlap, and a leader that would cross a text is left out. With at most FLAGS_MAX texts, every
 * arrangement is tried and the nearest one wins.
 *
 *       OOM: 2.0 GiB requested, 1.1 GiB free  upper row, with a leader
 *     peak 71.2 GiB · event 18,204    |      lower row
 *                  v                  v      triangles
 *     +------------------------------------+ plot
 */
#include "render/png/chart_maker.h"

#include "base/format.h"

#include <stdio.h>

enum { FLAGS_MAX = 3, FLAG_ROWS = 2, FLAG_PLACES = FLAG_ROWS * 3 };

struct flag {
    int32_t x; /* place of the moment in the picture */
    uint32_t color;
    int32_t width;
    char text[FONT_TEXT_NBYTES];
};

struct place {
    int32_t x, row;
};

static int32_t flag_marker_height(const struct chart_maker *maker) {
    return maker->em * 5 / 8;
}

/* Was only one state recorded? Then its maximum says nothing. */
static bool lane_is_static(const struct chart_maker *maker) {
    return maker->in->timeline->device->n_events < 2;
}

bool chart_moment_is_shown(const struct chart_maker *maker, uint32_t moment) {
    const struct chart_window *window = &maker->in->window;
    return moment >= window->first_moment && moment < window->end_moment;
}

static bool oom_is_shown(const struct chart_maker *maker, const struct oom_event *oom) {
    return chart_moment_is_shown(maker, oom->event + 1);
}

/* Does the legend's moment have a flag? The peak has one of its own. */
static bool legend_is_flagged(const struct chart_maker *maker) {
    return maker->in->moment != maker->in->window.peak_moment &&
           chart_moment_is_shown(maker, maker->in->moment);
}

static uint32_t oom_count(const struct chart_maker *maker, const struct oom_event **last) {
    const struct device_trace *device = maker->in->timeline->device;
    uint32_t n = 0;
    *last = NULL;
    for (uint32_t i = 0; i < device->n_ooms; i++) {
        if (!oom_is_shown(maker, &device->ooms[i]))
            continue;
        *last = &device->ooms[i];
        n++;
    }
    return n;
}

static int32_t lane_rows(const struct chart_maker *maker) {
    const struct oom_event *last;
    return legend_is_flagged(maker) || oom_count(maker, &last) > 0 ? FLAG_ROWS : 1;
}

int32_t chart_lane_height(const struct chart_maker *maker) {
    /* At least two lines high, because the unit of the y axis stands beside the lane. */
    int32_t line = chart_line(maker->small);
    int32_t height = lane_rows(maker) * line + flag_marker_height(maker) + maker->em / 4;
    return height > 2 * line ? height : 2 * line;
}

static void flag_of_peak(const struct chart_maker *maker, struct flag *flag) {
    const struct timeline *timeline = maker->in->timeline;
    uint32_t moment = maker->in->window.peak_moment;
    char when[96];
    chart_moment_text(timeline, moment, when, sizeof when);
    snprintf(flag->text, sizeof flag->text, "%s %s \xc2\xb7 %s",
             moment == timeline->peak_moment ? "peak" : "highest here",
             format_bytes(timeline->live[moment]).text, when);
    flag->color = maker->out->colors->text;
    flag->x = chart_moment_x(maker, moment);
}

void chart_oom_text(const struct oom_event *oom, const char *which, char *text, size_t capacity) {
    if (oom->size == OOM_UNKNOWN)
        snprintf(text, capacity, "%s", which);
    else if (oom->device_free == OOM_UNKNOWN)
        snprintf(text, capacity, "%s: %s requested", which, format_bytes(oom->size).text);
    else
        snprintf(text, capacity, "%s: %s requested, %s free", which, format_bytes(oom->size).text,
                 format_bytes(oom->device_free).text);
}

static void flag_of_oom(const struct chart_maker *maker, const struct oom_event *oom, uint32_t n,
                        struct flag *flag) {
    char which[64] = "OOM";
    if (n > 1)
        snprintf(which, sizeof which, "OOM (last of %s)", format_count(n).text);
    chart_oom_text(oom, which, flag->text, sizeof flag->text);
    flag->color = maker->out->colors->bad;
    flag->x = chart_moment_x(maker, oom->event + 1);
}

static void flag_of_legend(const struct chart_maker *maker, struct flag *flag) {
    char when[96];
    chart_moment_text(maker->in->timeline, maker->in->moment, when, sizeof when);
    snprintf(flag->text, sizeof flag->text, "legend: %s", when);
    flag->color = maker->out->colors->dim;
    flag->x = chart_moment_x(maker, maker->in->moment);
}

/* The flags with a text, most important first. */
static uint32_t lane_flags(const struct chart_maker *maker, struct flag flags[FLAGS_MAX], struct rect lane) {
    const struct oom_event *oom;
    uint32_t n = 0, n_ooms = oom_count(maker, &oom);
    if (!lane_is_static(maker))
        flag_of_peak(maker, &flags[n++]);
    if (oom)
        flag_of_oom(maker, oom, n_ooms, &flags[n++]);
    if (legend_is_flagged(maker))
        flag_of_legend(maker, &flags[n++]);
    for (uint32_t i = 0; i < n; i++) {
        char text[FONT_TEXT_NBYTES];
        font_elide(maker->font, maker->small, flags[i].text, (uint32_t)lane.width, FONT_CUT_END, text);
        snprintf(flags[i].text, sizeof flags[i].text, "%s", text);
        flags[i].width = chart_text_width(maker, maker->small, text);
        flags[i].x = lane.x + (flags[i].x < 0 ? 0 : flags[i].x >= lane.width ? lane.width - 1 : flags[i].x);
    }
    return n;
}

/* Places a flag's text: centred on the moment, beginning there or ending there, and always inside of the lane. */
static struct place flag_place(const struct flag *flag, uint32_t choice, struct rect lane) {
    int32_t shift = choice % 3 == 0 ? flag->width / 2 : choice % 3 == 1 ? 0 : flag->width;
    int32_t x = flag->x - shift, most = lane.x + lane.width - flag->width;
    x = x > most ? most : x;
    return (struct place){x < lane.x ? lane.x : x, (int32_t)(choice / 3)};
}

static bool places_overlap(const struct flag *a, struct place at_a, const struct flag *b, struct place at_b,
                           int32_t gap) {
    return at_a.row == at_b.row && at_a.x < at_b.x + b->width + gap && at_b.x < at_a.x + a->width + gap;
}

/* Would the leader of the upper flag cross the text of the lower one? */
static bool leader_crosses(const struct flag *upper, struct place at_upper, const struct flag *lower,
                           struct place at_lower, int32_t gap) {
    return at_upper.row > at_lower.row && upper->x > at_lower.x - gap &&
           upper->x < at_lower.x + lower->width + gap;
}

static int64_t place_cost(const struct flag *flag, struct place place, int32_t em) {
    int32_t off = place.x + flag->width / 2 - flag->x;
    return (int64_t)place.row * 8 * em + (off < 0 ? -off : off);
}

/* The cost of one arrangement; `code` has one digit of base FLAG_PLACES for each flag. -1: texts collide. */
static int64_t arrangement_cost(const struct chart_maker *maker, const struct flag *flags, uint32_t n,
                                uint32_t code, struct rect lane, struct place *places) {
    int64_t cost = 0;
    for (uint32_t i = 0; i < n; i++, code /= FLAG_PLACES) {
        places[i] = flag_place(&flags[i], code % FLAG_PLACES, lane);
        if (places[i].row >= lane_rows(maker))
            return -1;
        for (uint32_t k = 0; k < i; k++) {
            if (places_overlap(&flags[i], places[i], &flags[k], places[k], maker->em))
                return -1;
            if (leader_crosses(&flags[i], places[i], &flags[k], places[k], maker->em / 3) ||
                leader_crosses(&flags[k], places[k], &flags[i], places[i], maker->em / 3))
                cost += 20 * maker->em;
        }
        cost += place_cost(&flags[i], places[i], maker->em);
    }
    return cost;
}

/* Finds the best arrangement of the first n flags. False: there is none. */
static bool lane_arrange(const struct chart_maker *maker, const struct flag *flags, uint32_t n,
                         struct rect lane, struct place *best) {
    uint32_t codes = n == 0 ? 0 : n == 1 ? FLAG_PLACES : n == 2 ? FLAG_PLACES * FLAG_PLACES : 216;
    int64_t least = -1;
    for (uint32_t code = 0; code < codes; code++) {
        struct place places[FLAGS_MAX];
        int64_t cost = arrangement_cost(maker, flags, n, code, lane, places);
        if (cost < 0 || (least >= 0 && cost >= least))
            continue;
        least = cost;
        for (uint32_t i = 0; i < n; i++)
            best[i] = places[i];
    }
    return least >= 0;
}

static void marker_put(struct chart_maker *maker, struct rect lane, int32_t x, uint32_t color) {
    int32_t height = flag_marker_height(maker), width = height * 5 / 4 | 1;
    /* The marker is narrower, so that it shows on both sides of a peak that ends in an out-of-memory event. */
    if (color == maker->out->colors->bad)
        width = width / 2 | 1;
    struct rect rect = {x - width / 2, lane.y + lane.height - height - maker->scale, width, height};
    chart_put(maker, CHART_MARKER, rect, color);
}

static bool flag_has_leader(const struct chart_maker *maker, const struct flag *flags,
                            const struct place *places, uint32_t n, uint32_t i) {
    for (uint32_t k = 0; k < n; k++)
        if (leader_crosses(&flags[i], places[i], &flags[k], places[k], maker->em / 3))
            return false;
    return places[i].row > 0;
}

static void flag_put(struct chart_maker *maker, const struct flag *flag, struct place place, bool leader,
                     struct rect lane) {
    int32_t line = chart_line(maker->small);
    int32_t bottom = lane.y + lane.height - flag_marker_height(maker) - 2 * maker->scale;
    struct rect text = {place.x, bottom - (place.row + 1) * line, flag->width, line};
    if (leader)
        chart_put(maker, CHART_FILL, (struct rect){flag->x, text.y + line, maker->scale, place.row * line},
                  flag->color);
    chart_put_text(maker, text, CHART_LEFT, maker->small, flag->color, flag->text);
}

/* Draws the markers of all out-of-memory events, also of those without a text. Events in the same pixel share a
 * triangle. */
static void oom_markers_put(struct chart_maker *maker, struct rect lane) {
    const struct device_trace *device = maker->in->timeline->device;
    int32_t last = -1;
    for (uint32_t i = 0; i < device->n_ooms; i++) {
        int32_t x = chart_moment_x(maker, device->ooms[i].event + 1);
        if (!oom_is_shown(maker, &device->ooms[i]) || x == last || x < 0 || x >= lane.width)
            continue;
        marker_put(maker, lane, lane.x + x, maker->out->colors->bad);
        last = x;
    }
}

/* Says why there is no curve, and names the other device if there is room for it. */
static void lane_put_reason(struct chart_maker *maker, struct rect lane) {
    const char *reason = maker->in->timeline->device->n_events == 0
                             ? "No history was recorded: this is what was there when the snapshot was taken."
                             : "Only one event was recorded: this is what was there around it.";
    char elsewhere[96], text[256];
    chart_elsewhere_text(maker, elsewhere, sizeof elsewhere);
    snprintf(text, sizeof text, "%s%s", reason, elsewhere);
    bool fits = chart_paragraph_height(maker, lane.width, maker->small, text) <= lane.height;
    chart_put_paragraph(maker, lane, maker->small, maker->out->colors->note, fits ? text : reason);
}

void chart_lane_put(struct chart_maker *maker, struct rect lane) {
    struct flag flags[FLAGS_MAX];
    struct place places[FLAGS_MAX];
    uint32_t n = lane_flags(maker, flags, lane), shown = n;
    while (shown > 0 && !lane_arrange(maker, flags, shown, lane, places))
        shown--;
    for (uint32_t i = n; i > 0; i--)
        marker_put(maker, lane, flags[i - 1].x, flags[i - 1].color);
    oom_markers_put(maker, lane);
    for (uint32_t i = 0; i < shown; i++)
        flag_put(maker, &flags[i], places[i], flag_has_leader(maker, flags, places, shown, i), lane);
    if (lane_is_static(maker) && n == 0)
        lane_put_reason(maker, lane);
}
