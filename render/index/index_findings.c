/* What the comparison of ranks found, in words: one sentence per row, and one finding for all rows that are alike. */
#include "render/index/index.h"

#include "base/format.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FINDING_CAPACITY = 1400, RANKS_SHOWN = 160 };

/* Appends a sentence, "; " between. */
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

static char *text_keep(struct index *index, const char *text) {
    size_t nbytes = strlen(text) + 1;
    char *copy = arena_alloc(index->arena, nbytes);
    if (copy != NULL)
        memcpy(copy, text, nbytes);
    return copy;
}

static uint64_t distance(uint64_t a, uint64_t b) {
    return a > b ? a - b : b - a;
}

/* ---- from the comparison to rows ---- */

static uint64_t group_hash(const char *group) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (const char *at = group; at != NULL && *at != '\0'; at++)
        hash = (hash ^ (unsigned char)*at) * 0x100000001b3u;
    return group != NULL && *group != '\0' ? hash | 1 : 0;
}

/* Name of a site by its hash, as a row calls it. NULL: it does not. */
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

/* ---- sentences ---- */

struct subject {
    char text[256];
};

/* "rank 3, step 10"; "it" after the first sentence. */
static struct subject subject_of(const struct index_row *row, const char *finding) {
    struct subject subject;
    if (*finding != '\0')
        snprintf(subject.text, sizeof subject.text, "it");
    else if (row->rank == INDEX_UNKNOWN)
        snprintf(subject.text, sizeof subject.text, "%.200s", row->input);
    else if (row->step == INDEX_UNKNOWN)
        snprintf(subject.text, sizeof subject.text, "rank %" PRId64, row->rank);
    else
        snprintf(subject.text, sizeof subject.text, "rank %" PRId64 ", step %" PRId64, row->rank, row->step);
    return subject;
}

/* The site that holds most more, or most less; a part is only called that where it does not exceed the whole. */
static void blame_sentence(struct index_row *row, uint64_t value, uint64_t median, char *finding) {
    const struct index_difference *best = NULL;
    bool more = value > median;
    for (uint32_t i = 0; i < row->n_differences; i++) {
        const struct index_difference *each = &row->differences[i];
        if ((each->bytes > each->median_bytes) == more &&
            (best == NULL ||
             distance(each->bytes, each->median_bytes) > distance(best->bytes, best->median_bytes)))
            best = each;
    }
    if (best == NULL)
        return;
    uint64_t part = distance(best->bytes, best->median_bytes);
    row->blamed = best->site;
    if (more && part <= value - median)
        sentence_add(finding, "%s of it from %.200s", format_bytes(part).text, best->site);
    else
        sentence_add(finding, "%.200s holds %s %s", best->site, format_bytes(part).text,
                     more ? "more" : "less");
}

static void oom_sentence(struct index_row *row, const struct outlier_row *from, char *finding) {
    sentence_add(finding, "%s ran out of memory: asked for %s with %s free on the device",
                 subject_of(row, finding).text, format_bytes(row->oom_requested_bytes).text,
                 format_bytes(row->oom_free_bytes).text);
    if (row->n_differences == 0)
        return;
    uint64_t difference = distance(from->total_bytes, from->total_median_bytes);
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
    uint64_t difference = distance(peak->value, peak->median);
    if (peak->higher)
        sentence_add(finding, "%s peaks %s higher than the next", subject_of(row, finding).text,
                     format_bytes(difference).text);
    else
        sentence_add(finding, "%s peaks %s %s the median", subject_of(row, finding).text,
                     format_bytes(difference).text, peak->value > peak->median ? "above" : "below");
    row->difference_bytes = peak->value > peak->median ? (int64_t)difference : -(int64_t)difference;
    blame_sentence(row, peak->value, peak->median, finding);
}

static void end_sentence(struct index_row *row, const struct outlier_row *from, bool blame, char *finding) {
    const struct outlier_figure *end = &from->figure[OUTLIER_END];
    uint64_t difference = distance(end->value, end->median);
    char where[48] = "ends";
    if (from->at_step != RANK_NO_STEP)
        snprintf(where, sizeof where, "is, after step %" PRId64 ",", from->at_step);
    sentence_add(finding, "%s %s %s %s the %s", subject_of(row, finding).text, where,
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
    sentence_add(finding, "%s keeps %s more in every step", subject_of(row, finding).text,
                 format_bytes((uint64_t)row->growth_bytes).text);
    if (row->growth_site != NULL) {
        sentence_add(finding, "%.200s grows most", row->growth_site);
        row->blamed = row->growth_site;
    }
}

static void steps_sentence(struct index_row *row, const struct outlier_row *from, char *finding) {
    sentence_add(finding, "%s stopped early: %" PRIu32 " complete step%s, the median is %" PRIu32,
                 subject_of(row, finding).text, from->n_steps, from->n_steps == 1 ? "" : "s",
                 from->median_steps);
}

static void events_sentence(struct index_row *row, const struct outlier_row *from, char *finding) {
    const struct outlier_figure *events = &from->figure[OUTLIER_EVENTS];
    bool early = events->value < events->median && row->truncation == NULL;
    sentence_add(finding, "%s recorded %s events, the median is %s%s", subject_of(row, finding).text,
                 format_count(events->value).text, format_count(events->median).text,
                 early ? ": it stopped early, or is behind the others" : "");
}

static void row_mark_odd(struct index_row *row, const struct outlier_row *from) {
    static const unsigned flags[OUTLIER_MEASURES] = {INDEX_ODD_PEAK, INDEX_ODD_END, INDEX_ODD_GROWTH,
                                                     INDEX_ODD_EVENTS};
    for (uint32_t i = 0; i < OUTLIER_MEASURES; i++) {
        const struct outlier_figure *figure = &from->figure[i];
        row->odd |= figure->odd ? flags[i] : 0;
        double share = (double)distance(figure->value, figure->median) / ((double)figure->median + 1048576.0);
        if (figure->odd && share > row->severity && i != OUTLIER_EVENTS)
            row->severity = share;
    }
    if (row->odd & INDEX_ODD_END)
        row->odd &= ~(unsigned)INDEX_ODD_GROWTH; /* what has grown is what ends above */
    if (row->n_ooms != 0)
        row->odd |= INDEX_ODD_OOM;
    if (row->truncation != NULL)
        row->odd |= INDEX_ODD_TRUNCATED;
    if (from->only_site != 0)
        row->odd |= INDEX_ODD_LINE;
    if (from->cohort_size >= 4 && from->n_steps < from->median_steps && row->truncation == NULL)
        row->odd |= INDEX_ODD_STEPS;
}

/* What the row's finding is called in summary.json: the first that holds. */
static const char *row_kind(const struct index_row *row) {
    return row->odd & INDEX_ODD_OOM    ? "out_of_memory"
           : row->odd & INDEX_ODD_LINE ? "rank_only_line"
                                       : "rank_odd";
}

static void row_sentences(struct index_row *row, const struct outlier_row *from, char *finding) {
    bool peak = from->figure[OUTLIER_PEAK].odd || from->figure[OUTLIER_PEAK].higher;
    bool end = from->figure[OUTLIER_END].odd || from->figure[OUTLIER_END].higher;
    if (row->odd & INDEX_ODD_OOM)
        oom_sentence(row, from, finding);
    if (peak && !(row->odd & INDEX_ODD_OOM))
        peak_sentence(row, from, finding);
    if (row->odd & INDEX_ODD_TRUNCATED)
        sentence_add(finding, "%s has a file that is cut short", subject_of(row, finding).text);
    if (end)
        end_sentence(row, from, !peak && !(row->odd & INDEX_ODD_OOM), finding);
    if (from->figure[OUTLIER_GROWTH].odd || (end && row->growth_bytes > 1 << 20))
        growth_sentence(row, finding);
    if (row->odd & INDEX_ODD_LINE) {
        const char *name = site_name(row, from->only_site);
        sentence_add(finding, "no other rank has %.200s, which holds %s%s", name != NULL ? name : "(unknown)",
                     format_bytes(from->only_bytes).text, *finding == '\0' ? ", but this one" : "");
        row->blamed = name;
    }
    if (row->odd & INDEX_ODD_STEPS)
        steps_sentence(row, from, finding);
    if (row->odd & INDEX_ODD_EVENTS)
        events_sentence(row, from, finding);
}

static bool row_tell(struct index *index, struct index_row *row, const struct outlier_row *from,
                     const uint32_t *of) {
    char finding[FINDING_CAPACITY] = "";
    row->cohort = from->cohort;
    row->cohort_size = from->cohort_size;
    row->at_step = from->at_step;
    row->n_steps = from->n_steps;
    row->growth_bytes = from->growth_bytes;
    row->growth_site = from->growth_site != 0 ? site_name(row, from->growth_site) : NULL;
    row->score = (double)from->figure[OUTLIER_PEAK].score / OUTLIER_UNIT;
    row_mark_odd(row, from);
    if (!row_take_differences(index, row, from, of))
        return false;
    row_sentences(row, from, finding);
    if (*finding == '\0')
        return true;
    if (strncmp(finding, "no other rank", 13) == 0) { /* a sentence of its own needs its subject */
        char whole[FINDING_CAPACITY];
        snprintf(whole, sizeof whole, "%s: %.1100s", subject_of(row, "").text, finding);
        memcpy(finding, whole, sizeof whole);
    }
    row->kind = row_kind(row);
    row->finding = text_keep(index, finding);
    return row->finding != NULL;
}

/* ---- one recording counts once ---- */

static int id_compare(const void *a, const void *b) {
    const struct index_row *x = *(const struct index_row *const *)a, *y = *(const struct index_row *const *)b;
    int order = strcmp(x->recording_id, y->recording_id);
    return order != 0 ? order : (x > y) - (x < y);
}

/* Two ranks that are known to be two may have equal recordings. */
static bool may_be_copies(const struct index_row *a, const struct index_row *b) {
    bool ranks = a->rank == b->rank || a->rank == INDEX_UNKNOWN || b->rank == INDEX_UNKNOWN;
    bool steps = a->step == b->step || a->step == INDEX_UNKNOWN || b->step == INDEX_UNKNOWN;
    return ranks && steps;
}

static bool copies_mark(struct index *index) {
    struct index_row **order = malloc(((size_t)index->n_rows + 1) * sizeof(struct index_row *));
    uint32_t count = 0;
    if (order == NULL)
        return false;
    for (uint32_t i = 0; i < index->n_rows; i++)
        if (index->rows[i].recording_id != NULL && index->rows[i].recording_id[0] != '\0')
            order[count++] = &index->rows[i];
    qsort(order, count, sizeof *order, id_compare);
    for (uint32_t i = 1, first = 0; i < count; i++) {
        bool equal = strcmp(order[i]->recording_id, order[first]->recording_id) == 0;
        if (equal && may_be_copies(order[first], order[i])) {
            order[i]->copy_of = order[first]->input;
            index->n_copies++;
        } else if (!equal || (order[first]->copy_of == NULL && order[i]->rank != order[first]->rank))
            first = i;
    }
    free(order);
    return true;
}

/* ---- uniting ---- */

/* What is said of a row, or what its own report says. */
struct claim {
    uint32_t row;
    const struct index_note *note; /* NULL: the row's comparison */
    uint64_t key;
    uint32_t urgency; /* 0 first */
};

static uint64_t key_add(uint64_t hash, const char *text) {
    for (; text != NULL && *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return (hash ^ 0xff) * 0x100000001b3u;
}

static uint32_t severity_order(const char *severity) {
    static const char *const names[] = {"high", "medium", "low"};
    for (uint32_t i = 0; i < 3; i++)
        if (strcmp(severity, names[i]) == 0)
            return i + 1;
    return 4;
}

static const char *row_severity(const struct index_row *row) {
    if (row->odd & INDEX_ODD_OOM)
        return "high";
    return row->severity >= 0.10 ? "high" : row->severity >= 0.03 ? "medium" : "low";
}

static uint64_t row_key(const struct index_row *row) {
    uint64_t key = key_add(0xcbf29ce484222325u, row->kind);
    if (row->odd & INDEX_ODD_OOM)
        return key;
    key = (key ^ row->odd ^ (row->difference_bytes < 0 ? 1u << 20 : 0)) * 0x100000001b3u;
    return key_add(key, row->blamed);
}

/* Findings that are about the recording itself are not the index's. */
static bool note_counts(const struct index_note *note) {
    return strcmp(note->severity, "info") != 0 && strcmp(note->kind, "out_of_memory") != 0 &&
           note->title[0] != '\0';
}

static int claim_compare(const void *a, const void *b) {
    const struct claim *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    if (x->urgency != y->urgency)
        return x->urgency < y->urgency ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static int finding_compare(const void *a, const void *b) {
    const struct index_finding *x = a, *y = b;
    uint32_t oom_x = strcmp(x->kind, "out_of_memory") != 0, oom_y = strcmp(y->kind, "out_of_memory") != 0;
    uint32_t order_x = severity_order(x->severity), order_y = severity_order(y->severity);
    if (oom_x != oom_y)
        return oom_x < oom_y ? -1 : 1;
    if (order_x != order_y)
        return order_x < order_y ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->rows[0] != y->rows[0] ? (x->rows[0] < y->rows[0] ? -1 : 1) : strcmp(x->kind, y->kind);
}

static uint32_t distinct_ranks(const struct index *index, const uint32_t *rows, uint32_t count) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++)
        n += i == 0 || index->rows[rows[i]].rank == INDEX_UNKNOWN ||
             index->rows[rows[i]].rank != index->rows[rows[i - 1]].rank;
    return n;
}

/* "ranks 2, 5-9" of rows sorted by rank; files without a rank are counted. */
static void ranks_text(const struct index *index, const uint32_t *rows, uint32_t count, char *text) {
    size_t used = (size_t)snprintf(text, RANKS_SHOWN, "ranks ");
    uint32_t unnamed = 0, shown = 0;
    for (uint32_t i = 0, to; i < count; i = to) {
        int64_t from = index->rows[rows[i]].rank, last = from;
        to = i + 1;
        if (from == INDEX_UNKNOWN) {
            unnamed++;
            continue;
        }
        for (; to < count && (index->rows[rows[to]].rank == last || index->rows[rows[to]].rank == last + 1);
             to++)
            last = index->rows[rows[to]].rank;
        if (used + 60 > RANKS_SHOWN) {
            snprintf(text + used, RANKS_SHOWN - used, " and more");
            return;
        }
        used += (size_t)snprintf(text + used, RANKS_SHOWN - used,
                                 last > from ? "%s%" PRId64 "-%" PRId64 : "%s%" PRId64,
                                 shown++ != 0 ? ", " : "", from, last);
    }
    if (unnamed != 0)
        snprintf(shown != 0 ? text + used : text, shown != 0 ? RANKS_SHOWN - used : RANKS_SHOWN,
                 shown != 0 ? " and %" PRIu32 " more" : "%" PRIu32 " recordings", unnamed);
}

static bool of_host(const struct index_row *row, const char *host) {
    return row->copy_of == NULL && row->host != NULL && strcmp(row->host, host) == 0;
}

/* " (all of node3)": where rows are those of one host, the host is what is odd. */
static void host_text(const struct index *index, const struct index_finding *finding, char *text,
                      size_t capacity) {
    const char *host = index->rows[finding->rows[0]].host;
    uint32_t n_there = 0, n_elsewhere = 0;
    *text = '\0';
    for (uint32_t i = 0; host != NULL && *host != '\0' && i < finding->n_rows; i++)
        if (!of_host(&index->rows[finding->rows[i]], host))
            return;
    for (uint32_t i = 0; host != NULL && *host != '\0' && i < index->n_rows; i++) {
        n_there += of_host(&index->rows[i], host);
        n_elsewhere += index->rows[i].copy_of == NULL && !of_host(&index->rows[i], host);
    }
    if (n_there >= finding->n_rows && n_there != 0 && n_elsewhere != 0)
        snprintf(text, capacity, " (%s of %.100s)", n_there == finding->n_rows ? "all" : "several", host);
}

/* Of the rows that ran out of memory, the one that did so first: by step, then by event. */
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

/* What follows the subject of a sentence about one row. */
static const char *predicate_of(const struct index_row *row) {
    struct subject subject = subject_of(row, "");
    size_t length = strlen(subject.text);
    return strncmp(row->finding, subject.text, length) == 0 ? row->finding + length : row->finding;
}

static void title_of_rows(const struct index *index, const struct index_finding *finding, char *title) {
    const struct index_row *row = &index->rows[finding->rows[0]];
    uint32_t n_ranks = distinct_ranks(index, finding->rows, finding->n_rows);
    char ranks[RANKS_SHOWN + 120];
    if (finding->n_rows == 1) {
        snprintf(title, FINDING_CAPACITY, "%s", row->finding);
        return;
    }
    ranks_text(index, finding->rows, finding->n_rows, ranks);
    if (n_ranks > 1)
        host_text(index, finding, ranks + strlen(ranks), 120);
    if (n_ranks == 1 && row->rank != INDEX_UNKNOWN)
        snprintf(title, FINDING_CAPACITY, "rank %" PRId64 ", %" PRIu32 " steps, as in step %" PRId64 ":%s",
                 row->rank, finding->n_rows, row->step, predicate_of(row));
    else if (row->odd & INDEX_ODD_OOM) {
        const struct index_row *first = &index->rows[first_oom(index, finding->rows, finding->n_rows)];
        snprintf(title, FINDING_CAPACITY, "%" PRIu32 " ranks ran out of memory, %s first (%s)", n_ranks,
                 subject_of(first, "").text, ranks);
    } else
        snprintf(title, FINDING_CAPACITY, "%s are alike; %s", ranks, row->finding);
}

static void title_of_notes(const struct index *index, const struct index_finding *finding,
                           const struct index_note *note, char *title) {
    char ranks[RANKS_SHOWN + 120];
    if (finding->n_rows == 1)
        snprintf(ranks, sizeof ranks, "%.150s", subject_of(&index->rows[finding->rows[0]], "").text);
    else {
        ranks_text(index, finding->rows, finding->n_rows, ranks);
        host_text(index, finding, ranks + strlen(ranks), 120);
    }
    snprintf(title, FINDING_CAPACITY, "%s: %.1000s", ranks, note->title);
}

static int row_order(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static bool finding_make(struct index *index, const struct claim *claims, uint32_t count) {
    struct index_finding *finding = &index->findings[index->n_findings];
    const struct index_row *row = &index->rows[claims[0].row];
    const struct index_note *note = claims[0].note;
    char title[FINDING_CAPACITY] = "";
    *finding = (struct index_finding){.kind = note != NULL ? note->kind : row->kind,
                                      .severity = note != NULL ? note->severity : row_severity(row),
                                      .confidence = note != NULL ? note->confidence : "certain",
                                      .site = note != NULL ? note->site : row->blamed,
                                      .view = note != NULL && note->view[0] != '\0' ? note->view : NULL,
                                      .against = INDEX_NOBODY};
    finding->bytes =
        note != NULL ? note->bytes
                     : (uint64_t)(row->difference_bytes < 0 ? -row->difference_bytes : row->difference_bytes);
    finding->rows = arena_alloc(index->arena, count * sizeof *finding->rows);
    if (finding->rows == NULL)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (i == 0 || claims[i].row != claims[i - 1].row)
            finding->rows[finding->n_rows++] = claims[i].row;
    qsort(finding->rows, finding->n_rows, sizeof *finding->rows, row_order);
    if (finding->site != NULL && finding->site[0] == '\0')
        finding->site = NULL;
    if (note != NULL)
        title_of_notes(index, finding, note, title);
    else
        title_of_rows(index, finding, title);
    finding->title = text_keep(index, title);
    finding->detail = note != NULL ? note->title : index->rows[finding->rows[0]].finding;
    index->n_findings++;
    return finding->title != NULL;
}

/* ---- many lines of one kind ---- */

static uint64_t finding_rows_hash(const struct index_finding *finding) {
    uint64_t hash = key_add(0xcbf29ce484222325u, finding->kind);
    for (uint32_t i = 0; i < finding->n_rows; i++)
        hash = (hash ^ finding->rows[i]) * 0x100000001b3u;
    return hash;
}

/* Alike ones side by side, the most severe of them first. */
static int alike_compare(const void *a, const void *b) {
    uint64_t x = finding_rows_hash(a), y = finding_rows_hash(b);
    return x != y ? (x < y ? -1 : 1) : finding_compare(a, b);
}

static bool findings_alike(const struct index_finding *a, const struct index_finding *b) {
    return strcmp(a->kind, b->kind) == 0 && strncmp(a->kind, "rank_", 5) != 0 && a->n_rows == b->n_rows &&
           memcmp(a->rows, b->rows, a->n_rows * sizeof *a->rows) == 0;
}

/* Forty lines of one leak are one finding: the first speaks, the others are counted, and named in its detail. */
static bool finding_join(struct index *index, struct index_finding *first, uint32_t n_more) {
    char text[FINDING_CAPACITY];
    const char *what = strcmp(first->kind, "out_of_memory") == 0 ? "time" : "line";
    snprintf(text, sizeof text, "%.1300s; likewise %" PRIu32 " more %s%s", first->title, n_more, what,
             n_more == 1 ? "" : "s");
    first->title = text_keep(index, text);
    size_t used = (size_t)snprintf(text, sizeof text, "%.300s", first->detail);
    for (uint32_t i = 1; i <= n_more && used + 100 < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "; %.90s",
                                 first[i].detail != NULL ? first[i].detail : "");
    first->detail = text_keep(index, text);
    return first->title != NULL && first->detail != NULL;
}

static bool findings_join_alike(struct index *index) {
    uint32_t kept = 0;
    if (index->n_findings != 0)
        qsort(index->findings, index->n_findings, sizeof *index->findings, alike_compare);
    for (uint32_t from = 0, to; from < index->n_findings; from = to) {
        struct index_finding *first = &index->findings[from];
        for (to = from + 1; to < index->n_findings && findings_alike(first, &index->findings[to]);)
            to++;
        if (to - from > 1 && !finding_join(index, first, to - from - 1))
            return false;
        index->findings[kept++] = *first;
    }
    index->n_findings = kept;
    return true;
}

static uint32_t claims_collect(const struct index *index, struct claim *claims) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < index->n_rows; i++) {
        const struct index_row *row = &index->rows[i];
        if (row->copy_of != NULL)
            continue;
        if (row->finding != NULL)
            claims[count++] = (struct claim){i, NULL, row_key(row), 0};
        for (uint32_t k = 0; k < row->n_notes; k++) {
            const struct index_note *note = &row->notes[k];
            if (note_counts(note))
                claims[count++] = (struct claim){i, note, key_add(key_add(1, note->kind), note->site),
                                                 severity_order(note->severity)};
        }
    }
    return count;
}

static bool findings_unite(struct index *index) {
    size_t most = 1;
    for (uint32_t i = 0; i < index->n_rows; i++)
        most += 1 + index->rows[i].n_notes;
    struct claim *claims = malloc(most * sizeof *claims);
    index->findings = arena_alloc(index->arena, most * sizeof *index->findings);
    bool done = claims != NULL && index->findings != NULL;
    uint32_t count = done ? claims_collect(index, claims) : 0;
    if (count != 0)
        qsort(claims, count, sizeof *claims, claim_compare);
    for (uint32_t from = 0, to; done && from < count; from = to) {
        for (to = from + 1; to < count && claims[to].key == claims[from].key;)
            to++;
        done = finding_make(index, claims + from, to - from);
    }
    done = done && findings_join_alike(index);
    if (done && index->n_findings != 0)
        qsort(index->findings, index->n_findings, sizeof *index->findings, finding_compare);
    free(claims);
    return done;
}

/* ---- analysis ---- */

static void outlier_fill(struct outlier_row *to, const struct index_row *row) {
    *to = (struct outlier_row){
        .of = {&row->profile, row->step, group_hash(row->group)},
        .peak_bytes = row->peak_bytes,
        .end_bytes = row->end_bytes,
        .n_events = row->n_events,
        .oom = row->n_ooms != 0,
    };
}

bool index_analyse(struct index *index) {
    struct arena scratch;
    arena_init(&scratch, arena_share(index->arena), SIZE_MAX);
    struct outlier_row *rows = arena_column(&scratch, index->n_rows, sizeof *rows);
    uint32_t *of = arena_column(&scratch, index->n_rows, sizeof *of), count = 0;
    bool done = rows != NULL && of != NULL && copies_mark(index);
    for (uint32_t i = 0; done && i < index->n_rows; i++)
        if (index->rows[i].copy_of == NULL) {
            outlier_fill(&rows[count], &index->rows[i]);
            of[count++] = i;
        }
    done = done && outliers_find(rows, count, &scratch, &index->n_cohorts);
    for (uint32_t i = 0; done && i < count; i++)
        done = row_tell(index, &index->rows[of[i]], &rows[i], of);
    arena_release(&scratch);
    return done && findings_unite(index);
}
