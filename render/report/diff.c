#include "render/report/diff.h"

#include "analysis/loop/modules.h"
#include "base/format.h"
#include "base/json_writer.h"
#include "base/numbers.h"
#include "base/utf8.h"
#include "layout/site.h"
#include "render/report/report_words.h"
#include "render/words/device.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- figures ---- */

static uint32_t n_steps(const struct diff_side *side) {
    return side->verdicts->steps.count;
}

/* The steps [from, returned) without those of which the beginning or the end was not recorded, and without the first,
 * which also makes what stays. */
static uint32_t whole_steps(const struct diff_side *side, uint32_t *from) {
    const struct turns *turns = &side->verdicts->turns;
    uint32_t until = n_steps(side);
    *from = until > 1 && turns->turn[0].begin_moment <= 1;
    until -= until > *from + 1 && !turns->closed;
    *from += until > *from + 1;
    return until;
}

static uint32_t n_whole_steps(const struct diff_side *side) {
    uint32_t from, until = whole_steps(side, &from);
    return until - from;
}

static struct compare_side compare_side_of(const struct diff_side *side) {
    const struct turns *turns = &side->verdicts->turns;
    uint32_t from, until = whole_steps(side, &from);
    return (struct compare_side){.timeline = side->timeline,
                                 .steps_from = from < until ? turns->turn[from].begin_moment : 0,
                                 .steps_until = from < until ? turns->turn[until - 1].end_moment : 0,
                                 .keep = side->keep,
                                 .moment = side->moment,
                                 .category = side->verdicts->category,
                                 .runs = &side->verdicts->runs};
}

/* Makes rows of the call sites that are alive at one of the moments. */
static bool sites_name(struct diff *diff, struct arena *arena) {
    char text[1024];
    diff->sites.row = arena_column(arena, diff->comparison.n_listed, sizeof *diff->sites.row);
    for (uint32_t i = 0; diff->sites.row != NULL && i < diff->comparison.n_listed; i++) {
        const struct compare_site *site = &diff->comparison.site[i];
        diff_site_text(diff, site, text, sizeof text);
        char *name = arena_alloc(arena, strlen(text) + 1);
        if (name == NULL)
            return false;
        diff->sites.row[diff->sites.count++] = (struct compare_named){
            strcpy(name, text), 0, site->a.bytes, site->b.bytes, site->a.count, site->b.count, site};
    }
    return diff->sites.row != NULL;
}

bool diff_compute(struct diff *diff, struct arena *arena) {
    struct compare_side a = compare_side_of(&diff->a), b = compare_side_of(&diff->b);
    struct cause_steps steps = {n_whole_steps(&diff->a), n_whole_steps(&diff->b)};
    phase_peaks_find(diff->phase, &diff->a.verdicts->phases, &diff->b.verdicts->phases);
    if (!compare_named(&a, &b, COMPARE_BY_CATEGORY, arena, &diff->categories.row, &diff->categories.count) ||
        (diff->by != COMPARE_BY_SITE &&
         !compare_named(&a, &b, diff->by, arena, &diff->groups.row, &diff->groups.count)) ||
        !compare_sites(&diff->comparison, &a, &b, arena) || !sites_name(diff, arena) ||
        !causes_find(&diff->causes, &diff->comparison, steps, arena))
        return false;
    if (diff->aligned_by == DIFF_BY_PEAK && diff->filter == NULL &&
        !causes_add_phase(&diff->causes, &diff->comparison, diff->phase, steps, &a, &b, arena))
        return false;
    return causes_find_deaths(&diff->causes, &diff->comparison, &a, &diff->a.verdicts->phases, &b,
                              &diff->b.verdicts->phases, arena);
}

static const struct {
    const char *name, *words;
} alignments[] = {[DIFF_BY_PEAK] = {"peak", "each at its peak"},
                  [DIFF_BY_STEP] = {"step", "each at the peak of its step"},
                  [DIFF_BY_ANNOTATION] = {"annotation", "at the peak of the same annotation"},
                  [DIFF_BY_EVENT] = {"event", "at the given moments"}};

/* ---- JSON ---- */

static void add_side(struct json_writer *json, const char *name, const struct diff_side *side) {
    json_object(json, name, JSON_COMPACT);
    json_text(json, "file", side->file);
    json_text(json, "fingerprint", side->fingerprint);
    json_i64(json, "device", side->timeline->device->ordinal);
    json_i64(json, "event", (int64_t)side->moment - 1);
    json_end(json);
}

static enum site_change row_change(const struct compare_named *row) {
    return compare_change(row->a_bytes, row->b_bytes, row->a_count, row->b_count);
}

/* Is the site's name in B another than in A? */
static bool is_renamed(const struct compare_site *site) {
    return site->match != SITE_SAME && site->match != SITE_ALONE;
}

/* Adds rows. `thing`: what the rows' names mean. */
static void add_rows(struct json_writer *json, const struct diff *diff, const char *name, const char *thing,
                     const struct diff_rows *rows) {
    static const char *const matches[] = {
        [SITE_SAME] = "same",      [SITE_MOVED] = "moved",    [SITE_RENAMED] = "renamed",
        [SITE_BY_STACK] = "stack", [SITE_BY_SIZES] = "sizes", [SITE_ALONE] = "alone"};
    char text[1024];
    json_array(json, name, JSON_LINES);
    for (uint32_t i = 0; i < rows->count && !json->out->failed; i++) {
        const struct compare_named *row = &rows->row[i];
        json_object(json, NULL, JSON_COMPACT);
        json_text(json, thing, row->name);
        json_u64(json, "a_bytes", row->a_bytes);
        json_u64(json, "b_bytes", row->b_bytes);
        json_i64(json, "delta_bytes", compare_delta(row->a_bytes, row->b_bytes));
        json_u64(json, "a_count", row->a_count);
        json_u64(json, "b_count", row->b_count);
        json_text(json, "change", diff_change_name(row_change(row)));
        if (row->site != NULL)
            json_text(json, "match", matches[row->site->match]);
        if (row->site != NULL && is_renamed(row->site)) {
            site_text(diff->a.timeline->trace, row->site->a.site, text, sizeof text);
            json_text(json, "a_site", text);
        }
        json_end(json);
    }
    json_end(json);
}

static void add_causes(struct json_writer *json, const struct diff *diff) {
    static const char *const kinds[CAUSE_KINDS] = {[CAUSE_NEW] = "new",       [CAUSE_GONE] = "gone",
                                                   [CAUSE_SIZE] = "size",     [CAUSE_DTYPE] = "dtype",
                                                   [CAUSE_PHASE] = "phase",   [CAUSE_OFTEN] = "often",
                                                   [CAUSE_OLDER] = "older",   [CAUSE_KEPT] = "kept",
                                                   [CAUSE_MOMENT] = "moment", [CAUSE_ELSEWHERE] = "elsewhere",
                                                   [CAUSE_MOVED] = "moved"};
    char text[2048];
    json_array(json, "causes", JSON_LINES);
    for (uint32_t i = 0; i < diff->causes.count; i++) {
        const struct cause *cause = &diff->causes.cause[i];
        json_object(json, NULL, JSON_COMPACT);
        diff_cause_text(diff, cause, true, text, sizeof text);
        json_text(json, "title", text);
        diff_cause_text(diff, cause, false, text, sizeof text);
        json_text(json, "sentence", text);
        text[0] = '\0';
        if (cause->n_sites != 0)
            diff_site_text(diff, &diff->comparison.site[cause->row], text, sizeof text);
        json_text(json, "site", text);
        json_i64(json, "bytes", cause->bytes);
        json_text(json, "kind", kinds[cause->kind]);
        json_u64(json, "sites", cause->n_sites);
        json_bool(json, "follows", cause->follows || cause->kind == CAUSE_MOMENT);
        json_end(json);
    }
    json_end(json);
}

/* Adds each phase at its own highest moment. */
static void add_phases(struct json_writer *json, const struct diff *diff) {
    json_array(json, "phases", JSON_LINES);
    for (uint32_t p = 0; p < PHASE_PEAKS; p++) {
        const struct phase_peak *peak = &diff->phase[p];
        if (!peak->known)
            continue;
        json_object(json, NULL, JSON_COMPACT);
        json_text(json, "phase", span_kind_name[(SPAN_FORWARD + p)]);
        json_u64(json, "a_bytes", peak->a_bytes);
        json_u64(json, "b_bytes", peak->b_bytes);
        json_i64(json, "delta_bytes", compare_delta(peak->a_bytes, peak->b_bytes));
        json_i64(json, "a_event", (int64_t)peak->a_moment - 1);
        json_i64(json, "b_event", (int64_t)peak->b_moment - 1);
        json_end(json);
    }
    json_end(json);
}

static void add_diff(struct json_writer *json, const struct diff *diff) {
    const struct comparison *comparison = &diff->comparison;
    add_side(json, "a", &diff->a);
    add_side(json, "b", &diff->b);
    json_text(json, "aligned_by", alignments[diff->aligned_by].name);
    if (diff->filter != NULL)
        json_text(json, "filter", diff->filter);
    json_u64(json, "a_bytes", comparison->a_bytes);
    json_u64(json, "b_bytes", comparison->b_bytes);
    json_i64(json, "delta_bytes", compare_delta(comparison->a_bytes, comparison->b_bytes));
    json_i64(json, "peak_delta_bytes",
             compare_delta(diff->a.timeline->peak_bytes, diff->b.timeline->peak_bytes));
    add_phases(json, diff);
    add_causes(json, diff);
    add_rows(json, diff, "sites", "site", &diff->sites);
    add_rows(json, diff, "categories", "category", &diff->categories);
    if (diff->by != COMPARE_BY_SITE) {
        json_text(json, "group", compare_by_name[diff->by]);
        add_rows(json, diff, "groups", "name", &diff->groups);
    }
}

/* ---- text ---- */

static const char *diff_file(struct sheet *sheet, const struct diff_side *side) {
    return sheet_name(sheet, side->file, strlen(side->file));
}

/* Writes "B holds 14.8 GiB more than A: 86.0 GiB instead of 71.2 GiB." Two totals that are written alike are
 * practically the same. */
static void verdict_write(struct sheet *sheet, const struct diff *diff) {
    const struct comparison *comparison = &diff->comparison;
    int64_t delta = compare_delta(comparison->a_bytes, comparison->b_bytes);
    struct figure a = format_bytes(comparison->a_bytes), b = format_bytes(comparison->b_bytes),
                  by = format_bytes(magnitude_of(delta));
    if (delta == 0)
        sheet_say(sheet, "A and B hold the same: %s.", words_bytes(sheet, comparison->a_bytes));
    else if (strcmp(a.text, b.text) == 0)
        sheet_say(sheet, "A and B hold practically the same, %s; B has %s %s.", a.text, by.text,
                  delta > 0 ? "more" : "less");
    else
        sheet_say(sheet, "B holds %s %s than A: %s instead of %s.", by.text, delta > 0 ? "more" : "less",
                  b.text, a.text);
    if (diff->filter != NULL)
        sheet_say(sheet, "Only what passes the filter: %s.",
                  sheet_name(sheet, diff->filter, strlen(diff->filter)));
}

/* Writes the findings about call sites of a kind that only this side has. */
static void findings_write(struct sheet *sheet, const struct verdicts *own, const struct verdicts *others,
                           const char *side) {
    char title[FINDING_TEXT_NBYTES];
    for (uint32_t i = 0; i < own->findings.count; i++) {
        const struct finding *finding = &own->findings.finding[i];
        bool alone = finding->site != 0 && finding->n_ids != 0;
        for (uint32_t k = 0; k < others->findings.count; k++)
            alone &= others->findings.finding[k].kind != finding->kind;
        if (alone) {
            finding_title(own, finding, title, sizeof title);
            sheet_point(sheet, "only %s has this finding: %s", side,
                        sheet_quote(sheet, title, strlen(title)));
        }
    }
}

static void causes_write(struct sheet *sheet, const struct diff *diff) {
    enum { CAUSES_SHOWN = 12 };
    char text[2048];
    findings_write(sheet, diff->a.verdicts, diff->b.verdicts, "A");
    findings_write(sheet, diff->b.verdicts, diff->a.verdicts, "B");
    for (uint32_t i = 0; i < diff->causes.count && i < CAUSES_SHOWN; i++) {
        diff_cause_text(diff, &diff->causes.cause[i], true, text, sizeof text);
        sheet_point(sheet, "%s", sheet_quote(sheet, text, strlen(text)));
    }
    if (diff->causes.count > CAUSES_SHOWN)
        sheet_point(sheet, "and %s smaller; --json has them all",
                    format_count(diff->causes.count - CAUSES_SHOWN).text);
    if (diff->causes.count == 0)
        sheet_say(sheet, "No call site differs at these moments.");
}

static void figure_row(struct sheet *sheet, const char *name, uint64_t a, uint64_t b, unsigned unit) {
    SHEET_CELLS(sheet, name, format_bytes_in(a, unit).text, format_bytes_in(b, unit).text,
                format_change_in(compare_delta(a, b), unit).text);
}

static uint64_t unused_at_peak(const struct timeline *timeline) {
    uint64_t live = timeline->live[timeline->reserved_peak_moment];
    return timeline->reserved_peak > live ? timeline->reserved_peak - live : 0;
}

static void count_row(struct sheet *sheet, const char *name, uint64_t a, uint64_t b) {
    SHEET_CELLS(sheet, name, format_count(a).text, format_count(b).text);
    sheet_cell(sheet, "%s%s", b > a ? "+" : b < a ? "-" : "", format_count(distance_of(a, b)).text);
}

static void figures_write(struct sheet *sheet, const struct diff *diff) {
    static const char *const headings[] = {"Figure", "A", "B", "Difference", NULL};
    const struct timeline *a = diff->a.timeline, *b = diff->b.timeline;
    unsigned unit = format_unit_fine(
        larger_of(larger_of(a->peak_bytes, b->peak_bytes), larger_of(a->reserved_peak, b->reserved_peak)));
    sheet_heading(sheet, 3, "Figures");
    sheet_table(sheet, headings, "lrrr");
    figure_row(sheet, "Compared", diff->comparison.a_bytes, diff->comparison.b_bytes, unit);
    figure_row(sheet, "Peak", a->peak_bytes, b->peak_bytes, unit);
    static const char *const phases[] = {"Peak in forward", "Peak in backward", "Peak in optimizer"};
    for (uint32_t p = 0; p < PHASE_PEAKS; p++)
        if (diff->phase[p].known)
            figure_row(sheet, phases[p], diff->phase[p].a_bytes, diff->phase[p].b_bytes, unit);
    figure_row(sheet, "At the beginning", a->start_bytes, b->start_bytes, unit);
    figure_row(sheet, "At the end", a->end_bytes, b->end_bytes, unit);
    figure_row(sheet, "Reserved peak", a->reserved_peak, b->reserved_peak, unit);
    figure_row(sheet, "Reserved, not in use then", unused_at_peak(a), unused_at_peak(b), unit);
    count_row(sheet, "Allocations", a->device->allocations.count, b->device->allocations.count);
    count_row(sheet, "Events", a->device->n_events, b->device->n_events);
    if (n_steps(&diff->a) + n_steps(&diff->b) != 0)
        count_row(sheet, "Steps", n_steps(&diff->a), n_steps(&diff->b));
    sheet_table_end(sheet);
}

/* Writes "categories": a table of at most `top` rows that differ; 0: all. */
static void rows_write(struct sheet *sheet, const struct diff_rows *rows, enum compare_by by, uint32_t top) {
    const char *thing = compare_by_thing[by], *things = words_capital(sheet, words_plural(sheet, thing));
    const char *headings[] = {"Difference", "A", "B", "in A", "in B", "Change", words_capital(sheet, thing),
                              NULL};
    uint32_t differ = 0, shown = 0;
    uint64_t most = 0;
    for (uint32_t i = 0; i < rows->count; i++)
        if (row_change(&rows->row[i]) != CHANGE_SAME && (differ++ < top || top == 0))
            most = larger_of(most, larger_of(rows->row[i].a_bytes, rows->row[i].b_bytes));
    unsigned unit = format_unit_fine(most);
    if (rows->count == 0)
        return;
    sheet_heading(sheet, 3, "%s", things);
    if (differ == 0) {
        sheet_say(sheet, "All %s are the same.", words_counted(sheet, rows->count, thing));
        return;
    }
    sheet_table(sheet, headings, "rrrrrll");
    for (uint32_t i = 0; i < rows->count && (top == 0 || shown < top); i++) {
        const struct compare_named *row = &rows->row[i];
        if (row_change(row) == CHANGE_SAME)
            continue;
        SHEET_CELLS(sheet, format_change_in(compare_delta(row->a_bytes, row->b_bytes), unit).text,
                    format_bytes_in(row->a_bytes, unit).text, format_bytes_in(row->b_bytes, unit).text,
                    format_count(row->a_count).text, format_count(row->b_count).text,
                    diff_change_name(row_change(row)),
                    compare_name_is_ours(by) ? row->name : sheet_name(sheet, row->name, strlen(row->name)));
        shown++;
    }
    sheet_table_end(sheet);
    if (differ > shown)
        sheet_say(sheet, "Not listed: %s that differ, and %s that are the same.",
                  words_counted(sheet, differ - shown, thing), format_count(rows->count - differ).text);
    else if (rows->count > differ)
        sheet_say(sheet, "%s %s the same.", words_counted(sheet, rows->count - differ, thing),
                  rows->count - differ == 1 ? "is" : "are");
}

/* Says which recording has nothing alive in a module. */
static void modules_missing(struct sheet *sheet, const struct diff_rows *rows) {
    bool a = false, b = false;
    for (uint32_t i = 0; i < rows->count; i++) {
        a |= rows->row[i].key >= MODULE_NAMED && rows->row[i].a_count != 0;
        b |= rows->row[i].key >= MODULE_NAMED && rows->row[i].b_count != 0;
    }
    if (!a || !b)
        sheet_say(sheet, "Nothing of a module is alive in %s.", a ? "B" : b ? "A" : "either");
}

/* ", step 3": of the step with its peak at the side's moment. */
static const char *step_words(struct sheet *sheet, const struct diff_side *side) {
    const struct spans *steps = &side->verdicts->steps;
    for (uint32_t i = 0; i < steps->count; i++)
        if (steps->span[i].peak_moment == side->moment)
            return sheet_format(sheet, ", step %" PRId64,
                                turns_number(&side->verdicts->turns, steps->span[i].step));
    return "";
}

static void side_write(struct sheet *sheet, const char *letter, const struct diff_side *side, bool by_step) {
    sheet_point(sheet, "%s: %s, %s%s, %s", letter, diff_file(sheet, side),
                device_words(side->timeline->device->ordinal).text, by_step ? step_words(sheet, side) : "",
                words_moment(sheet, side->timeline, side->moment));
}

static void text_write(struct sheet *sheet, const struct diff *diff, uint32_t top) {
    sheet_heading(sheet, 2, "%s against %s", diff_file(sheet, &diff->b), diff_file(sheet, &diff->a));
    verdict_write(sheet, diff);
    causes_write(sheet, diff);
    sheet_say(sheet, "Compared %s:", alignments[diff->aligned_by].words);
    side_write(sheet, "A", &diff->a, diff->aligned_by == DIFF_BY_STEP);
    side_write(sheet, "B", &diff->b, diff->aligned_by == DIFF_BY_STEP);
    if (diff->by != COMPARE_BY_CATEGORY) /* categories have a table of their own in any case */
        rows_write(sheet, diff->by == COMPARE_BY_SITE ? &diff->sites : &diff->groups, diff->by, top);
    if (diff->by == COMPARE_BY_MODULE)
        modules_missing(sheet, &diff->groups);
    rows_write(sheet, &diff->categories, COMPARE_BY_CATEGORY, 0);
    figures_write(sheet, diff);
}

/* ---- several recordings ---- */

/* One of several recordings, as a row of the table before their texts. */
struct several_row {
    char file[512], base[512], cause[2048];
    uint64_t a_bytes, b_bytes, b_peak_bytes;
};

static void row_note(struct buffer *rows, const struct diff *diff) {
    struct several_row row = {.a_bytes = diff->comparison.a_bytes,
                              .b_bytes = diff->comparison.b_bytes,
                              .b_peak_bytes = diff->b.timeline->peak_bytes};
    snprintf(row.file, sizeof row.file, "%s", diff->b.file);
    snprintf(row.base, sizeof row.base, "%s", diff->a.file);
    utf8_trim(row.file);
    utf8_trim(row.base);
    if (diff->causes.count != 0)
        diff_cause_text(diff, &diff->causes.cause[0], true, row.cause, sizeof row.cause);
    buffer_add(rows, &row, sizeof row);
}

/* Writes the table, then the texts. */
static void several_write(struct sheet *sheet, const struct diff_writer *writer) {
    static const char *const headings[] = {"Difference", "Compared",      "Peak",
                                           "Recording",  "Largest cause", NULL};
    const struct several_row *row = (const struct several_row *)(const void *)writer->rows.bytes;
    const struct several_row *end = row + writer->rows.nbytes / sizeof *row;
    sheet_heading(sheet, 2, "%s against %s", words_counted(sheet, (uint64_t)(end - row), "recording"),
                  sheet_name(sheet, row->base, strlen(row->base)));
    sheet_table(sheet, headings, "rrrll");
    for (; row < end; row++)
        SHEET_CELLS(sheet, format_bytes_change(compare_delta(row->a_bytes, row->b_bytes)).text,
                    format_bytes(row->b_bytes).text, format_bytes(row->b_peak_bytes).text,
                    sheet_name(sheet, row->file, strlen(row->file)),
                    row->cause[0] != '\0' ? sheet_quote(sheet, row->cause, strlen(row->cause)) : "-");
    sheet_table_end(sheet);
    buffer_add_text(sheet->out, "\n");
    buffer_add(sheet->out, writer->texts.bytes, writer->texts.nbytes);
}

/* ---- documents ---- */

void diff_begin(struct diff_writer *writer) {
    if (writer->options->format != REPORT_JSON)
        return;
    json_object(writer->json, NULL, JSON_LINES);
    json_u64(writer->json, "schema", 1);
    if (writer->options->as_several)
        json_array(writer->json, "comparisons", JSON_LINES);
}

static struct sheet sheet_of(const struct diff_writer *writer, struct buffer *out) {
    struct sheet sheet = words_sheet(out, writer->arena, writer->options->format, writer->options->look);
    sheet.last = out->nbytes == 0 ? SHEET_NOTHING : SHEET_PARAGRAPH;
    return sheet;
}

bool diff_write(struct diff_writer *writer, const struct diff *diff) {
    bool several = writer->options->as_several;
    if (writer->options->format == REPORT_JSON) {
        if (several)
            json_object(writer->json, NULL, JSON_LINES);
        add_diff(writer->json, diff);
        if (several)
            json_end(writer->json);
        return !writer->out->failed;
    }
    struct buffer *out = several ? &writer->texts : writer->out;
    struct sheet sheet = sheet_of(writer, out);
    text_write(&sheet, diff, writer->options->top);
    if (several)
        row_note(&writer->rows, diff);
    return !out->failed && !writer->rows.failed;
}

bool diff_end(struct diff_writer *writer) {
    if (writer->options->format == REPORT_JSON) {
        if (writer->options->as_several)
            json_end(writer->json);
        json_end(writer->json);
        buffer_add_text(writer->out, "\n");
    } else if (writer->options->as_several && writer->rows.nbytes != 0) {
        struct sheet sheet = sheet_of(writer, writer->out);
        several_write(&sheet, writer);
    }
    return !writer->out->failed;
}

void diff_writer_release(struct diff_writer *writer) {
    buffer_release(&writer->rows);
    buffer_release(&writer->texts);
}

static void add_matches(struct json_writer *json, const struct diff *diff) {
    char text[1024];
    json_array(json, "matches", JSON_LINES);
    for (uint32_t i = 0; i < diff->comparison.n_sites && !json->out->failed; i++) {
        const struct compare_site *site = &diff->comparison.site[i];
        if (!is_renamed(site))
            continue;
        json_object(json, NULL, JSON_COMPACT);
        diff_site_text(diff, site, text, sizeof text);
        json_text(json, "site", text);
        site_text(diff->a.timeline->trace, site->a.site, text, sizeof text);
        json_text(json, "a_site", text);
        json_end(json);
    }
    json_end(json);
}

bool diff_write_figures(struct buffer *out, const struct diff *diff) {
    struct json_writer json = json_document(out, 1);
    add_diff(&json, diff);
    add_matches(&json, diff);
    json_end(&json);
    return !out->failed;
}
