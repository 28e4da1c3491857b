#include "cli/picture_rows.h"

static void whole_widen(struct picture_rows *rows, const struct timeline *timeline, int64_t shift_us) {
    struct view own = {.axis = AXIS_TIME};
    view_fit(&own, timeline);
    own.from_q16 -= shift_us * 65536;
    own.to_q16 -= shift_us * 65536;
    if (own.from_q16 < rows->whole.from_q16)
        rows->whole.from_q16 = own.from_q16;
    if (own.to_q16 > rows->whole.to_q16)
        rows->whole.to_q16 = own.to_q16;
}

/* Is the shift between two recordings small enough (about a year) to show both on one axis? */
static bool shift_is_near(int64_t shift_us) {
    const int64_t limit = INT64_C(1) << 45;
    return shift_us > -limit && shift_us < limit;
}

bool picture_rows_find(struct picture_rows *rows, const struct recording *recording,
                       const struct timeline *timeline, struct arena *arena) {
    const struct trace *trace = &recording->trace;
    struct timeline *timelines = arena_column(arena, trace->n_devices, sizeof *timelines);
    *rows = (struct picture_rows){.whole = {.axis = AXIS_TIME}};
    if (!ARENA_COLUMNS(arena, trace->n_devices, rows->part, rows->shift_us) || timelines == NULL)
        return false;
    view_fit(&rows->whole, timeline);
    for (uint32_t i = 0; timeline_timed(timeline) && i < trace->n_devices; i++) {
        struct timeline *other = &timelines[rows->count];
        if (&trace->devices[i] == timeline->device || trace->devices[i].n_events == 0)
            continue;
        if (!timeline_init(other, trace, i, arena))
            return false;
        int64_t shift_us = (int64_t)((uint64_t)timeline->first_us - (uint64_t)other->first_us);
        if (!timeline_timed(other) || !shift_is_near(shift_us))
            continue;
        rows->part[rows->count].timeline = other;
        rows->shift_us[rows->count++] = shift_us;
        whole_widen(rows, other, shift_us);
    }
    return true;
}

static int64_t place_of(const struct timeline *timeline, uint32_t moment, int64_t shift_us) {
    return moment == MOMENT_NONE ? PLACE_NONE : (timeline_start_us(timeline, moment) + shift_us) * 65536;
}

void picture_row_fill(struct picture_rows *rows, uint32_t nth, const struct chart_options *options,
                      const struct timeline *timeline, struct chart_address *address) {
    struct chart_part *part = &rows->part[nth];
    const int64_t shift_us = rows->shift_us[nth], shift_q16 = shift_us * 65536;
    const struct highlight *highlight = options->address->highlight;
    part->options = *options;
    part->options.from_q16 += shift_q16;
    part->options.to_q16 += shift_q16;
    part->options.bottom_bytes = part->options.top_bytes = 0;
    part->options.whole_scale = true;
    part->options.address = address;
    part->options.rows = NULL;
    part->options.n_rows = 0;
    part->options.legend_moment = part->timeline->peak_moment;
    *address = *options->address;
    address->compares = false;
    /* Drops a highlight by stream or pool, because each device numbers its own. */
    if (highlight != NULL && (highlight->by == COMPARE_BY_STREAM || highlight->by == COMPARE_BY_POOL))
        address->highlight = NULL;
    struct raster_marks *marks = &address->marks;
    marks->pinned = UINT32_MAX;
    marks->placed = true;
    marks->held_q16 = place_of(timeline, marks->held, shift_us);
    for (uint32_t i = 0; i < RASTER_MARKS; i++)
        marks->mark_q16[i] = place_of(timeline, marks->mark[i], shift_us);
    if (marks->range_from_q16 < marks->range_to_q16) {
        marks->range_from_q16 += shift_q16;
        marks->range_to_q16 += shift_q16;
    }
}
