/* Puts the comparison of ranks into words: a sentence for each row, and the notes beside it in the table. */
#include "analysis/compare/index_internal.h"

#include "base/format.h"
#include "base/numbers.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Appends a sentence, separated by "; ". */
__attribute__((format(printf, 2, 3))) static void sentence_add(char *finding, const char *format, ...) {
    size_t used = strlen(finding);
    va_list arguments;
    va_start(arguments, format);
    if (used != 0)
        used += (size_t)snprintf(finding + used, FINDING_CAPACITY - used, "; ");
    if (used < FINDING_CAPACITY)
        vsnprintf(finding + used, FINDING_CAPACITY - used, format, arguments);
    va_end(arguments);
}

/* The name of a site in a row, by its hash. NULL: the row does not have it. */
static const char *site_name(const struct index_row *row, uint32_t site) {
    for (uint32_t i = 0; i < row->profile.n_calls; i++)
        if (row->profile.call[i].site == site)
            return row->call_names[i];
    return NULL;
}

static bool row_take_differences(struct index *index, struct index_row *row, const struct outlier_row *from,
                                 const uint32_t *of) {
    row->differences = arena_alloc(index->arena, (from->n_differences + 1) * sizeof *row->differences);
    for (uint32_t i = 0; row->differences != NULL && i < from->n_differences; i++) {
        const struct outlier_difference *difference = &from->difference[i];
        const char *name = site_name(&index->rows[of[difference->owner]], difference->site);
        if (name != NULL)
            row->differences[row->n_differences++] =
                (struct index_difference){name, difference->bytes, difference->median_bytes};
    }
    return row->differences != NULL;
}

/* "rank 3, step 10"; "it" after the first sentence. */
struct subject index_subject(const struct index_row *row, const char *finding) {
    struct subject subject;
    char step[32] = "", path[208] = "";
    if (row->step != INDEX_UNKNOWN)
        snprintf(step, sizeof step, ", step %" PRId64, row->step);
    if (row->has_namesake)
        snprintf(path, sizeof path, " (%.200s)", row->input);
    if (*finding != '\0')
        snprintf(subject.text, sizeof subject.text, "it");
    else if (row->rank == INDEX_UNKNOWN && !row->has_allocations && row->n_devices > 1 && row->device >= 0)
        snprintf(subject.text, sizeof subject.text, "%.200s, GPU %" PRId64, row->input, row->device);
    else if (row->rank == INDEX_UNKNOWN)
        snprintf(subject.text, sizeof subject.text, "%.200s", row->input);
    else
        snprintf(subject.text, sizeof subject.text, "rank %" PRId64 "%s%s", row->rank, step, path);
    return subject;
}

/* Names the site with the largest excess, or deficit; calls it a part of the whole only if it does not exceed
 * that. */
static void blame_sentence(struct index_row *row, uint64_t value, uint64_t median, char *finding) {
    const struct index_difference *best = NULL;
    bool more = value > median;
    for (uint32_t i = 0; i < row->n_differences; i++) {
        const struct index_difference *each = &row->differences[i];
        if ((each->bytes > each->median_bytes) == more &&
            (best == NULL ||
             distance_of(each->bytes, each->median_bytes) > distance_of(best->bytes, best->median_bytes)))
            best = each;
    }
    if (best == NULL)
        return;
    uint64_t part = distance_of(best->bytes, best->median_bytes);
    row->blamed = best->site;
    if (more && part <= value - median)
        sentence_add(finding, "%s of it from %.200s", format_bytes(part).text, best->site);
    else
        sentence_add(finding, "%.200s holds %s %s", best->site, format_bytes(part).text,
                     more ? "more" : "less");
}

static void oom_sentence(struct index_row *row, const struct outlier_row *from, char *finding) {
    bool asked = row->oom_requested_bytes != OOM_UNKNOWN, free = asked && row->oom_free_bytes != OOM_UNKNOWN;
    sentence_add(finding, "%s ran out of memory%s%s%s%s%s%s", index_subject(row, finding).text,
                 asked ? ": " : "", asked ? format_bytes(row->oom_requested_bytes).text : "",
                 asked ? " requested" : "", free ? ", " : "",
                 free ? format_bytes(row->oom_free_bytes).text : "",
                 free ? row->device >= 0 ? " free on the GPU" : " free" : "");
    if (row->n_differences == 0)
        return;
    uint64_t difference = distance_of(from->total_bytes, from->total_median_bytes);
    bool at_oom = from->compared_at == RANK_AT_OOM;
    row->difference_bytes =
        from->total_bytes > from->total_median_bytes ? (int64_t)difference : -(int64_t)difference;
    if (difference < 1 << 20) {
        sentence_add(finding, "the others hold as much at the same moment");
        return;
    }
    sentence_add(finding, "%s it held %s %s than the median of the others %s",
                 at_oom ? "then" : "at its peak", format_bytes(difference).text,
                 from->total_bytes > from->total_median_bytes ? "more" : "less",
                 at_oom ? "in the same step and phase" : "in the same steps");
    if (row->differences[0].bytes > row->differences[0].median_bytes) {
        row->blamed = row->differences[0].site;
        sentence_add(finding, "%.200s holds %s more", row->blamed,
                     format_bytes(row->differences[0].bytes - row->differences[0].median_bytes).text);
    }
}

static void peak_sentence(struct index_row *row, const struct outlier_row *from, char *finding) {
    const struct outlier_figure *peak = &from->figure[OUTLIER_PEAK];
    uint64_t difference = distance_of(peak->value, peak->median);
    if (peak->higher)
        sentence_add(finding, "%s peaks %s higher than the next", index_subject(row, finding).text,
                     format_bytes(difference).text);
    else
        sentence_add(finding, "%s peaks %s %s the median", index_subject(row, finding).text,
                     format_bytes(difference).text, peak->value > peak->median ? "above" : "below");
    row->difference_bytes = peak->value > peak->median ? (int64_t)difference : -(int64_t)difference;
    blame_sentence(row, peak->value, peak->median, finding);
}

static void end_sentence(struct index_row *row, const struct outlier_row *from, bool blame, char *finding) {
    const struct outlier_figure *end = &from->figure[OUTLIER_END];
    uint64_t difference = distance_of(end->value, end->median);
    char where[48] = "ends";
    if (from->at_step != RANK_NO_STEP)
        snprintf(where, sizeof where, "is, after step %" PRId64 ",", from->at_step);
    sentence_add(finding, "%s %s %s %s the %s", index_subject(row, finding).text, where,
                 format_bytes(difference).text, end->value > end->median ? "above" : "below",
                 end->higher ? "next" : "median");
    if (!blame)
        return;
    row->difference_bytes = end->value > end->median ? (int64_t)difference : -(int64_t)difference;
    blame_sentence(row, end->value, end->median, finding);
}

static void growth_sentence(struct index_row *row, char *finding) {
    if (row->growth_bytes < 1 << 10)
        return;
    sentence_add(finding, "%s keeps %s more each step", index_subject(row, finding).text,
                 format_bytes((uint64_t)row->growth_bytes).text);
    if (row->growth_site != NULL) {
        sentence_add(finding, "%.200s grows most", row->growth_site);
        row->blamed = row->growth_site;
    }
}

static void steps_sentence(struct index_row *row, const struct outlier_row *from, char *finding) {
    sentence_add(finding, "%s %s %" PRIu32 " complete step%s, the median is %" PRIu32,
                 index_subject(row, finding).text, from->stopped_early ? "stopped early:" : "has",
                 from->n_steps, from->n_steps == 1 ? "" : "s", from->median_steps);
}

static void events_sentence(struct index_row *row, const struct outlier_row *from, char *finding) {
    const struct outlier_figure *events = &from->figure[OUTLIER_EVENTS];
    bool early = events->value < events->median && row->truncation == NULL;
    sentence_add(finding, "%s recorded %s event%s, the median is %s%s", index_subject(row, finding).text,
                 format_count(events->value).text, events->value == 1 ? "" : "s",
                 format_count(events->median).text,
                 early ? ": it stopped early, or is behind the others" : "");
}

static void row_mark_odd(struct index_row *row, const struct outlier_row *from) {
    static const unsigned flags[OUTLIER_MEASURES] = {INDEX_ODD_PEAK, INDEX_ODD_END, INDEX_ODD_GROWTH,
                                                     INDEX_ODD_EVENTS};
    for (uint32_t i = 0; i < OUTLIER_MEASURES; i++) {
        const struct outlier_figure *figure = &from->figure[i];
        row->odd |= figure->odd ? flags[i] : 0;
        double share =
            (double)distance_of(figure->value, figure->median) / ((double)figure->median + 1048576.0);
        if (figure->odd && share > row->severity && i != OUTLIER_EVENTS)
            row->severity = share;
    }
    if (row->odd & INDEX_ODD_END)
        row->odd &= ~(unsigned)INDEX_ODD_GROWTH; /* that growth explains the higher end above */
    if (row->n_ooms != 0)
        row->odd |= INDEX_ODD_OOM;
    if (row->truncation != NULL)
        row->odd |= INDEX_ODD_TRUNCATED;
    if (from->only_site != 0)
        row->odd |= INDEX_ODD_LINE;
    if (from->cohort_size >= 4 && from->n_steps < from->median_steps && row->truncation == NULL)
        row->odd |= INDEX_ODD_STEPS;
}

/* The row's kind in summary.json: the first that applies. */
static const char *row_kind(const struct index_row *row) {
    return row->odd & INDEX_ODD_OOM    ? "out_of_memory"
           : row->odd & INDEX_ODD_LINE ? "rank_only_line"
                                       : "rank_odd";
}

static void line_sentence(const struct index_row *row, const struct outlier_row *from, const char *name,
                          char *finding) {
    struct figure nbytes = format_bytes(from->only_bytes);
    if (*finding == '\0')
        sentence_add(finding, "only %s has %.200s, which holds %s", index_subject(row, finding).text, name,
                     nbytes.text);
    else
        sentence_add(finding, "no other rank has %.200s, which holds %s", name, nbytes.text);
}

static void row_sentences(struct index_row *row, const struct outlier_row *from, char *finding) {
    bool peak = from->figure[OUTLIER_PEAK].odd || from->figure[OUTLIER_PEAK].higher;
    bool end = from->figure[OUTLIER_END].odd || from->figure[OUTLIER_END].higher;
    if (row->odd & INDEX_ODD_OOM)
        oom_sentence(row, from, finding);
    if (peak && !(row->odd & INDEX_ODD_OOM))
        peak_sentence(row, from, finding);
    if (row->odd & INDEX_ODD_TRUNCATED)
        sentence_add(finding, "%s has a file that is cut short", index_subject(row, finding).text);
    if (end)
        end_sentence(row, from, !peak && !(row->odd & INDEX_ODD_OOM), finding);
    if (from->figure[OUTLIER_GROWTH].odd || (end && row->growth_bytes > 1 << 20))
        growth_sentence(row, finding);
    if (row->odd & INDEX_ODD_LINE) {
        const char *name = site_name(row, from->only_site);
        line_sentence(row, from, name != NULL ? name : "(unknown)", finding);
        row->blamed = name;
    }
    if (row->odd & INDEX_ODD_STEPS)
        steps_sentence(row, from, finding);
    if (row->odd & INDEX_ODD_EVENTS)
        events_sentence(row, from, finding);
}

bool index_row_tell(struct index *index, struct index_row *row, const struct outlier_row *from,
                    const uint32_t *of) {
    char finding[FINDING_CAPACITY] = "";
    row->cohort = from->cohort;
    row->cohort_size = from->cohort_size;
    row->at_step = from->at_step;
    row->n_steps = from->n_steps;
    row->growth_bytes = from->growth_bytes;
    row->growth_site = from->growth_site != 0 ? site_name(row, from->growth_site) : NULL;
    row->score = (double)from->figure[OUTLIER_PEAK].score / (double)OUTLIER_UNIT;
    row_mark_odd(row, from);
    if (!row_take_differences(index, row, from, of))
        return false;
    row_sentences(row, from, finding);
    if (*finding == '\0')
        return true;
    row->kind = row_kind(row);
    row->finding = index_text(index, finding);
    return row->finding != NULL;
}
