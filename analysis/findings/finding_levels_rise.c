/*
 * Levels in a log that rise. Lines are compared only with lines of the same label, because those of other labels
 * are other moments of a step. Rules: at least four lines (from six on the first is skipped as a warm-up); a rise
 * of at least 1 % and 1 MiB, in at least three places; falls of at most a tenth of it; and a quarter of it in the
 * later half, so that a level reached once is no rise. Maxima are no levels: they never fall.
 */
#include "analysis/findings/finder.h"
#include "analysis/findings/levels.h"
#include "base/sort.h"

enum { LINES_LEAST = 4, RISES_LEAST = 3, WARM_UP_FROM = 6, RISE_LEAST_BYTES = 1 << 20 };

/* A line; `key` is that of its label, so that lines of one label are adjacent after sorting. */
struct level_line {
    uint64_t bytes, step;
    uint32_t event, label;
    bool has_step, has_bytes, is_oom;
};

struct rise {
    const struct level_line *first, *last;
    uint64_t bytes;
    uint32_t n;
    uint32_t confidence;
};

/* Hash (FNV-1a) of the label without digits: "after step 12" and "after step 13" are equal. */
static uint64_t label_key(const struct trace *trace, uint32_t label) {
    struct text text = trace_text(trace, label);
    uint64_t key = 14695981039346656037u;
    for (uint32_t i = 0; i < text.nbytes; i++)
        if (text.at[i] < '0' || text.at[i] > '9')
            key = (key ^ text.at[i]) * 1099511628211u;
    return key;
}

/* Reads one line per event with notes. Returns how many. */
static uint32_t lines_read(const struct device_trace *device, uint8_t what, struct level_line *line) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < device->n_notes; i++) {
        const struct note *note = &device->notes[i];
        if (i == 0 || note[-1].event != note->event)
            line[n++] = (struct level_line){.event = note->event};
        struct level_line *last = &line[n - 1];
        last->is_oom |= note->what == NOTE_ASKED;
        if (note->what == NOTE_LABEL)
            last->label = note->text;
        if (note->what == NOTE_STEP) {
            last->step = note->number;
            last->has_step = true;
        }
        if (note->what == what && !levels_is_peak(device, note->event, note->what)) {
            last->bytes = note->number;
            last->has_bytes = true;
        }
    }
    return n;
}

/* The lines of one label, in the order of the log. */
struct row_of_lines {
    const struct level_line *line;
    const struct sort_row *order;
    uint32_t n;
};

static const struct level_line *line_at(const struct row_of_lines *row, uint32_t i) {
    return &row->line[row->order[i].value];
}

static bool rise_find(struct row_of_lines row, struct rise *rise) {
    uint64_t fallen = 0;
    uint32_t rises = 0;
    if (row.n >= WARM_UP_FROM) {
        row.order++;
        row.n--;
    }
    if (row.n < LINES_LEAST)
        return false;
    const struct level_line *first = line_at(&row, 0), *last = line_at(&row, row.n - 1);
    for (uint32_t i = 1; i < row.n; i++) {
        uint64_t before = line_at(&row, i - 1)->bytes, now = line_at(&row, i)->bytes;
        fallen += before > now ? before - now : 0;
        rises += now > before;
    }
    uint64_t bytes = last->bytes > first->bytes ? last->bytes - first->bytes : 0;
    uint64_t middle = line_at(&row, row.n / 2)->bytes;
    uint64_t late = last->bytes > middle ? last->bytes - middle : 0;
    if (bytes < RISE_LEAST_BYTES || bytes < first->bytes / 100 || fallen > bytes / 10 || late < bytes / 4 ||
        rises < RISES_LEAST || rises * 4 < row.n)
        return false;
    bool steady = fallen == 0 && rises + 1 == row.n;
    *rise = (struct rise){.first = first,
                          .last = last,
                          .bytes = bytes,
                          .n = row.n - 1,
                          .confidence = steady && rises >= 7 ? CONFIDENCE_CERTAIN
                                        : rises >= 4         ? CONFIDENCE_LIKELY
                                                             : CONFIDENCE_POSSIBLE};
    return true;
}

/* ---- the finding ---- */

static void rise_add(struct finder *finder, const struct levels *levels, const struct rise *rise) {
    const struct device_trace *device = finder->timeline->device;
    bool stepped = rise->first->has_step && rise->last->has_step && rise->last->step > rise->first->step;
    uint64_t units = stepped ? rise->last->step - rise->first->step : rise->n;
    uint64_t peak = levels->track[levels->shown].peak;
    struct finding finding = {.kind = FINDING_LEVELS_RISE,
                              .severity = (uint8_t)severity_of_saving(rise->bytes, peak),
                              .confidence = (uint8_t)rise->confidence,
                              .unit = stepped ? UNIT_STEP : UNIT_TURN,
                              .per_n = units < UINT32_MAX ? (uint32_t)units : UINT32_MAX,
                              .per_bytes = rise->bytes / units,
                              .bytes = rise->bytes,
                              .from_moment = rise->first->event + 1,
                              .to_moment = rise->last->event + 1,
                              .at_moment = rise->last->event + 1,
                              .rise = {rise->first->bytes, rise->last->bytes, levels->shown,
                                       rise->last->label, levels_line(device, rise->first->event),
                                       levels_line(device, rise->last->event)}};
    if (finding.confidence == CONFIDENCE_POSSIBLE && finding.severity == SEVERITY_HIGH)
        finding.severity = SEVERITY_MEDIUM;
    finder_add(finder, &finding);
}

/* Sorts lines by label, keeping their order, and takes the largest rise. */
static void lines_judge(struct finder *finder, const struct levels *levels, struct level_line *line,
                        struct sort_row *order) {
    const struct device_trace *device = finder->timeline->device;
    uint32_t n_lines = lines_read(device, (uint8_t)level_note(levels->shown), line), n = 0;
    struct rise best = {.bytes = 0}, rise;
    for (uint32_t i = 0; i < n_lines; i++)
        if (line[i].has_bytes && !line[i].is_oom)
            order[n++] = (struct sort_row){label_key(finder->timeline->trace, line[i].label), i};
    sort_rows(order, order + n_lines, n);
    for (uint32_t from = 0, end; from < n; from = end) {
        end = sort_rows_end(order, n, from);
        if (rise_find((struct row_of_lines){line, order + from, end - from}, &rise) &&
            rise.bytes > best.bytes)
            best = rise;
    }
    if (best.bytes != 0)
        rise_add(finder, levels, &best);
}

static void levels_rise_find(struct finder *finder) {
    const struct device_trace *device = finder->timeline->device;
    struct levels levels;
    if (trace_has_allocations(finder->timeline->trace) || device->ordinal == ORDINAL_CPU)
        return;
    levels_find(&levels, device);
    struct level_line *line = arena_column(finder->arena, device->n_notes, sizeof *line);
    struct sort_row *order = arena_column(finder->arena, (uint64_t)device->n_notes * 2, sizeof *order);
    if (line != NULL && order != NULL)
        lines_judge(finder, &levels, line, order);
    finder->failed |= line == NULL || order == NULL;
    ARENA_DROP(finder->arena, order, line);
}

static void levels_rise_title(struct telling *telling) {
    const struct finding *finding = telling->finding;
    tell(telling, level_title[finding->rise.level]);
    TELL(telling,
         finding->unit == UNIT_STEP ? " rises by %b per step, by the log"
                                    : " rises by %b from line to line of the log",
         finding->per_bytes);
}

static void levels_rise_detail(struct telling *telling) {
    const struct finding *finding = telling->finding;
    struct text label = trace_text(telling->verdicts->timeline->trace, finding->rise.label);
    uint64_t capacity = telling->verdicts->timeline->device->capacity_bytes;
    TELL(telling, "From %b in line %n to %b in line %n", finding->rise.first, finding->rise.first_line,
         finding->rise.last, finding->rise.last_line);
    if (label.nbytes != 0) {
        tell(telling, " (lines like \"");
        words_add(telling->words, label);
        tell(telling, "\")");
    }
    TELL(telling, finding->unit == UNIT_STEP ? ": %b in %n step%s." : ": %b in %n interval%s.",
         finding->bytes, finding->per_n);
    if (capacity > finding->rise.last && finding->per_bytes != 0)
        TELL(telling, " At this rate the device's %b are full after %n more such interval%s.", capacity,
             (capacity - finding->rise.last) / finding->per_bytes);
    if (finding->rise.level == LEVEL_RESERVED)
        tell(telling, " Reserved memory also rises where the cache is fragmented, with nothing kept.");
}

const struct kind kind_levels_rise = {
    KIND(levels_rise), "Levels rise", .flags = KIND_OF_LEVELS | KIND_EACH,
    .advice.action = "Record a snapshot over a few steps: a log does not say which line of code keeps it."};
