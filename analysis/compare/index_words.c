/* Puts the comparison of ranks into words: one sentence about each row, and one about several rows that are alike. A
 * sentence says by what the row stands out, and then which line makes it so; what else is odd, row->odd lists. */
#include "analysis/compare/index_internal.h"

#include "base/format.h"
#include "base/numbers.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *index_say(struct index *index, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *text = length >= 0 ? arena_alloc(index->arena, (size_t)length + 1) : NULL;
    index->lacks_memory |= text == NULL;
    if (text == NULL)
        return "";
    va_start(arguments, format);
    vsnprintf(text, (size_t)length + 1, format, arguments);
    va_end(arguments);
    return text;
}

#define SHORT(text) UTF8_FIT((text), 200)

/* "rank 3, step 10", with the path if that is ambiguous. */
static const char *subject_of(struct index *index, const struct index_row *row) {
    const char *step = row->step != INDEX_UNKNOWN ? index_say(index, ", step %" PRId64, row->step) : "";
    if (row->rank == INDEX_UNKNOWN && !row->has_allocations && row->n_devices > 1 && row->device >= 0)
        return index_say(index, "%.*s, GPU %" PRId64, SHORT(row->input), row->device);
    if (row->rank == INDEX_UNKNOWN)
        return index_say(index, "%.*s", SHORT(row->input));
    if (row->has_namesake)
        return index_say(index, "rank %" PRId64 "%s (%.*s)", row->rank, step, SHORT(row->input));
    return index_say(index, "rank %" PRId64 "%s", row->rank, step);
}

/* ---- one row ---- */

/* The name of a site in a row, by its hash. NULL: the row does not have it. */
static const char *site_name(const struct index_row *row, uint32_t site) {
    for (uint32_t i = 0; i < row->profile.n_calls; i++)
        if (row->profile.call[i].site == site)
            return row->call_names[i];
    return NULL;
}

static void row_take_differences(struct index *index, struct index_row *row, const struct outlier_row *from,
                                 const uint32_t *of) {
    row->differences = arena_alloc(index->arena, (from->n_differences + 1) * sizeof *row->differences);
    index->lacks_memory |= row->differences == NULL;
    for (uint32_t i = 0; row->differences != NULL && i < from->n_differences; i++) {
        const struct outlier_difference *difference = &from->difference[i];
        const char *name = site_name(&index->rows[of[difference->owner]], difference->site);
        if (name != NULL && name[0] != '\0')
            row->differences[row->n_differences++] =
                (struct index_difference){name, difference->bytes, difference->median_bytes};
    }
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
    if (from->crew_size >= 4 && from->n_steps < from->median_steps && row->truncation == NULL)
        row->odd |= INDEX_ODD_STEPS;
}

/* A sentence in the making. */
struct telling {
    struct index *index;
    struct index_row *row;
    const struct outlier_row *from;
    uint64_t value, median; /* of the figure that the head names; equal: it names none that lines add up to */
};

static const char *tell_oom(struct telling *telling) {
    struct index_row *row = telling->row;
    bool asked = row->oom_requested_bytes != OOM_UNKNOWN, free = asked && row->oom_free_bytes != OOM_UNKNOWN;
    if (row->n_differences != 0) {
        telling->value = telling->from->total_bytes;
        telling->median = telling->from->total_median_bytes;
    }
    return index_say(telling->index, "ran out of memory%s%s%s%s%s%s", asked ? ": " : "",
                     asked ? format_bytes(row->oom_requested_bytes).text : "", asked ? " requested" : "",
                     free ? ", " : "", free ? format_bytes(row->oom_free_bytes).text : "",
                     !free              ? ""
                     : row->device >= 0 ? " free on the GPU"
                                        : " free");
}

static const char *tell_figure(struct telling *telling, enum outlier_measure measure, const char *verb) {
    const struct outlier_figure *figure = &telling->from->figure[measure];
    telling->value = figure->value;
    telling->median = figure->median;
    return index_say(telling->index, "%s %s %s the %s", verb,
                     format_bytes(distance_of(figure->value, figure->median)).text,
                     figure->value > figure->median ? "above" : "below", figure->higher ? "next" : "median");
}

/* By what the row stands out: the first that holds. NULL: nothing. */
static const char *head_of(struct telling *telling) {
    const struct outlier_row *from = telling->from;
    const struct outlier_figure *figure = from->figure, *events = &figure[OUTLIER_EVENTS];
    struct index *index = telling->index;
    struct index_row *row = telling->row;
    if (row->odd & INDEX_ODD_OOM)
        return tell_oom(telling);
    if (figure[OUTLIER_PEAK].odd || figure[OUTLIER_PEAK].higher)
        return tell_figure(telling, OUTLIER_PEAK, "peaks");
    if (row->odd & INDEX_ODD_TRUNCATED)
        return "has a file that is cut short";
    if (figure[OUTLIER_END].odd || figure[OUTLIER_END].higher)
        return tell_figure(telling, OUTLIER_END,
                           from->at_step != RANK_NO_STEP
                               ? index_say(index, "is, after step %" PRId64 ",", from->at_step)
                               : "ends");
    if (row->odd & INDEX_ODD_GROWTH)
        return index_say(index, "keeps %s more each step",
                         format_bytes((uint64_t)(row->growth_bytes > 0 ? row->growth_bytes : 0)).text);
    if (row->odd & INDEX_ODD_STEPS)
        return index_say(index, "%s %" PRIu32 " complete step%s, the median is %" PRIu32,
                         from->stopped_early ? "stopped early:" : "has", from->n_steps,
                         from->n_steps == 1 ? "" : "s", from->median_steps);
    if (row->odd & INDEX_ODD_EVENTS)
        return index_say(index, "recorded %s event%s, the median is %s", format_count(events->value).text,
                         events->value == 1 ? "" : "s", format_count(events->median).text);
    return NULL;
}

/* The call site whose bytes differ most in the direction of the figure that the head names. It becomes row->site.
 * NULL: unknown. */
static const char *tail_of(struct telling *telling) {
    struct index_row *row = telling->row;
    bool more = telling->value > telling->median;
    const struct index_difference *best = NULL;
    for (uint32_t i = 0; telling->value != telling->median && i < row->n_differences; i++) {
        const struct index_difference *each = &row->differences[i];
        if ((each->bytes > each->median_bytes) == more &&
            (best == NULL ||
             distance_of(each->bytes, each->median_bytes) > distance_of(best->bytes, best->median_bytes)))
            best = each;
    }
    if (best == NULL)
        return NULL;
    const struct figure own = format_bytes(distance_of(best->bytes, best->median_bytes));
    row->site = best->site;
    if ((row->odd & INDEX_ODD_OOM) == 0 &&
        strcmp(own.text, format_bytes(distance_of(telling->value, telling->median)).text) == 0)
        return index_say(telling->index, "all of it at %.*s", SHORT(best->site));
    return index_say(telling->index, "%.*s holds %s %s", SHORT(best->site), own.text, more ? "more" : "less");
}

void index_row_tell(struct index *index, struct index_row *row, const struct outlier_row *from,
                    const uint32_t *of) {
    struct telling telling = {.index = index, .row = row, .from = from};
    row->peers = from->peers;
    row->n_steps = from->n_steps;
    row->growth_bytes = from->growth_bytes;
    row->score = (double)from->figure[OUTLIER_PEAK].score / (double)OUTLIER_UNIT;
    row_mark_odd(row, from);
    row_take_differences(index, row, from, of);
    const char *head = head_of(&telling), *tail = head != NULL ? tail_of(&telling) : NULL;
    row->difference_bytes = (int64_t)(telling.value - telling.median);
    if (head == NULL)
        return;
    row->kind = row->odd & INDEX_ODD_OOM ? "out_of_memory" : "rank_odd";
    row->predicate = tail == NULL ? head : index_say(index, "%s; %s", head, tail);
    row->finding = index_say(index, "%s %s", subject_of(index, row), row->predicate);
}

/* ---- several rows ---- */

static uint32_t distinct_ranks(const struct index *index, const uint32_t *rows, uint32_t count) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++)
        n += i == 0 || index->rows[rows[i]].rank == INDEX_UNKNOWN ||
             index->rows[rows[i]].rank != index->rows[rows[i - 1]].rank;
    return n;
}

/* "ranks 2, 5-9 and 7 more" for rows sorted by rank; "rank 3, 2 steps" for rows of one. */
static const char *ranks_text(struct index *index, const uint32_t *rows, uint32_t count) {
    enum { RANGES_SHOWN = 4 };
    const char *text = "";
    uint32_t i = 0, n_ranges = 0;
    if (distinct_ranks(index, rows, count) == 1 && index->rows[rows[0]].rank != INDEX_UNKNOWN) {
        bool steps = true;
        for (uint32_t k = 0; k < count; k++)
            steps = steps && index->rows[rows[k]].step != INDEX_UNKNOWN && !index->rows[rows[k]].has_namesake;
        return index_say(index, "rank %" PRId64 ", %" PRIu32 " %s", index->rows[rows[0]].rank, count,
                         steps ? "steps" : "recordings");
    }
    while (i < count && n_ranges < RANGES_SHOWN && index->rows[rows[i]].rank != INDEX_UNKNOWN) {
        int64_t from = index->rows[rows[i]].rank, last = from;
        for (i++; i < count && (index->rows[rows[i]].rank == last || index->rows[rows[i]].rank == last + 1);
             i++)
            last = index->rows[rows[i]].rank;
        text = index_say(index, last > from ? "%s%s%" PRId64 "-%" PRId64 : "%s%s%" PRId64, text,
                         n_ranges++ != 0 ? ", " : "ranks ", from, last);
    }
    uint32_t left = distinct_ranks(index, rows + i, count - i);
    return left == 0       ? text
           : n_ranges == 0 ? index_say(index, "%" PRIu32 " recordings", left)
                           : index_say(index, "%s and %" PRIu32 " more", text, left);
}

static bool of_host(const struct index_row *row, const char *host) {
    return row->copy_of == NULL && row->host != NULL && strcmp(row->host, host) == 0;
}

/* " (all of node3)": if the rows are exactly those of one host, the host is odd. */
static const char *host_text(struct index *index, const struct index_finding *finding) {
    const char *host = index->rows[finding->rows[0]].host;
    uint32_t n_there = 0, n_elsewhere = 0;
    if (host == NULL || *host == '\0')
        return "";
    for (uint32_t i = 0; i < finding->n_rows; i++)
        if (!of_host(&index->rows[finding->rows[i]], host))
            return "";
    for (uint32_t i = 0; i < index->n_rows; i++) {
        n_there += of_host(&index->rows[i], host);
        n_elsewhere += index->rows[i].copy_of == NULL && !of_host(&index->rows[i], host);
    }
    if (n_there < finding->n_rows || n_there == 0 || n_elsewhere == 0)
        return "";
    return index_say(index, " (%s of %.*s)", n_there == finding->n_rows ? "all" : "several", SHORT(host));
}

/* The row that ran out of memory first: by step, then by event. */
static uint32_t first_oom(const struct index *index, const uint32_t *rows, uint32_t count) {
    uint32_t first = rows[0];
    for (uint32_t i = 1; i < count; i++) {
        const struct index_row *a = &index->rows[rows[i]], *b = &index->rows[first];
        if (a->profile.oom_step < b->profile.oom_step ||
            (a->profile.oom_step == b->profile.oom_step && a->oom_event < b->oom_event))
            first = rows[i];
    }
    return first;
}

const char *index_title_of_rows(struct index *index, const struct index_finding *finding) {
    const struct index_row *row = &index->rows[finding->rows[0]];
    uint32_t n_ranks = distinct_ranks(index, finding->rows, finding->n_rows);
    if (finding->n_rows == 1)
        return row->finding;
    const char *ranks = ranks_text(index, finding->rows, finding->n_rows);
    if (n_ranks == 1 && row->rank != INDEX_UNKNOWN && !row->has_namesake && row->step != INDEX_UNKNOWN)
        return index_say(index, "%s, as in step %" PRId64 ": %s", ranks, row->step, row->predicate);
    if (n_ranks == 1 && row->rank != INDEX_UNKNOWN)
        return index_say(index, "%s, as in %.*s: %s", ranks, SHORT(row->input), row->predicate);
    if (row->odd & INDEX_ODD_OOM) {
        const struct index_row *first = &index->rows[first_oom(index, finding->rows, finding->n_rows)];
        return index_say(index, "%" PRIu32 " ranks ran out of memory, %s first (%s%s)", n_ranks,
                         subject_of(index, first), ranks, host_text(index, finding));
    }
    return index_say(index, "%s%s are alike; %s", ranks, host_text(index, finding), row->finding);
}

const char *index_title_of_notes(struct index *index, const struct index_finding *finding,
                                 const struct index_note *note) {
    const char *whom = finding->n_rows > 1 ? ranks_text(index, finding->rows, finding->n_rows)
                                           : subject_of(index, &index->rows[finding->rows[0]]);
    return index_say(index, "%s%s: %.*s", whom, finding->n_rows > 1 ? host_text(index, finding) : "",
                     UTF8_FIT(note->title, 1000));
}
