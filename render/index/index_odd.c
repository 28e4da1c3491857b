/* Which rows are unlike the others, and the sentence that says so. */
#include "render/index/index.h"

#include "base/format.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COHORT_LEAST = 4, FINDING_CAPACITY = 1024 };

/* Iglewicz and Hoaglin's modified z-score: 0.6745 makes the MAD comparable to a standard deviation, and beyond 3.5
 * a value is called an outlier. */
static const double score_limit_least = 3.5, score_factor = 0.6745;
/* Where more than half of the values are equal the MAD is 0; the mean deviation takes its place. */
static const double mean_factor = 1.253314;

/* A difference below both is nobody's problem, however regular the other ranks are. */
static const double worth_share = 0.01;
static const double worth_bytes = 1 << 20;
static const double worth_events_share = 0.05;

/* The rows of one step, [from, to) of `order`. */
struct cohort {
    struct index *index;
    const uint32_t *order;
    uint32_t count;
    double *values, *deviations; /* [count], scratch */
};

struct spread {
    double median, scale; /* score = (x - median) / scale; scale 0: all are equal */
};

static int double_compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts `values`. */
static double median_of(double *values, uint32_t count) {
    qsort(values, count, sizeof *values, double_compare);
    double low = values[(count - 1) / 2], high = values[count / 2];
    return low + (high - low) / 2;
}

static struct spread spread_of(struct cohort *cohort) {
    double sum = 0;
    struct spread spread = {.median = median_of(cohort->values, cohort->count)};
    for (uint32_t i = 0; i < cohort->count; i++) {
        cohort->deviations[i] = fabs(cohort->values[i] - spread.median);
        sum += cohort->deviations[i];
    }
    spread.scale = median_of(cohort->deviations, cohort->count) / score_factor;
    if (spread.scale == 0)
        spread.scale = sum / cohort->count * mean_factor;
    return spread;
}

/* The highest of n ordinary values lies near sqrt(2 ln n): of thousands of ranks some are beyond 3.5 by chance. */
static double score_limit(uint32_t count) {
    double limit = sqrt(2 * log(count)) + 1;
    return limit > score_limit_least ? limit : score_limit_least;
}

static double score_of(double value, struct spread spread) {
    return spread.scale == 0 ? 0 : (value - spread.median) / spread.scale;
}

/* ---- what is compared ---- */

struct measure {
    enum index_odd odd;
    uint64_t (*value)(const struct index_row *row);
    bool bytes;
};

static uint64_t peak_of(const struct index_row *row) {
    return row->peak_bytes;
}

static uint64_t end_of(const struct index_row *row) {
    return row->end_bytes;
}

static uint64_t events_of(const struct index_row *row) {
    return row->n_events;
}

static const struct measure measures[] = {
    {INDEX_ODD_PEAK, peak_of, true},
    {INDEX_ODD_END, end_of, true},
    {INDEX_ODD_EVENTS, events_of, false},
};

static bool difference_matters(const struct measure *measure, double difference, double median) {
    double size = fabs(difference);
    return measure->bytes ? size >= worth_bytes && size >= worth_share * median
                          : size >= worth_events_share * median;
}

/* Appends a sentence to the row's finding, "; " between. */
__attribute__((format(printf, 2, 3))) static void finding_add(char *finding, const char *format, ...) {
    size_t used = strlen(finding);
    va_list arguments;
    va_start(arguments, format);
    if (used != 0)
        used += (size_t)snprintf(finding + used, FINDING_CAPACITY - used, "; ");
    if (used < FINDING_CAPACITY)
        vsnprintf(finding + used, FINDING_CAPACITY - used, format, arguments);
    va_end(arguments);
}

/* ---- differences by call site ---- */

struct site_row {
    const char *site;
    uint64_t bytes;
};

static int site_row_compare(const void *a, const void *b) {
    const struct site_row *x = a, *y = b;
    int order = strcmp(x->site, y->site);
    return order != 0 ? order : (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* All call sites of the cohort's rows, sorted by site and bytes. NULL: no memory or none. */
static struct site_row *sites_collect(const struct cohort *cohort, uint32_t *count) {
    size_t total = 0;
    for (uint32_t i = 0; i < cohort->count; i++)
        total += cohort->index->rows[cohort->order[i]].n_sites;
    struct site_row *sites = total != 0 ? malloc(total * sizeof *sites) : NULL;
    *count = 0;
    for (uint32_t i = 0; sites != NULL && i < cohort->count; i++) {
        const struct index_row *row = &cohort->index->rows[cohort->order[i]];
        for (uint32_t j = 0; j < row->n_sites; j++)
            sites[(*count)++] = (struct site_row){row->sites[j].site, row->sites[j].bytes};
    }
    if (sites != NULL)
        qsort(sites, *count, sizeof *sites, site_row_compare);
    return sites;
}

/* Medians by call site that are not 0, in place: at most two for each site of a row. A row without the site counts as 0. */
static uint32_t sites_to_medians(struct site_row *sites, uint32_t count, uint32_t n_rows) {
    uint32_t kept = 0;
    for (uint32_t from = 0, to; from < count; from = to) {
        for (to = from + 1; to < count && strcmp(sites[to].site, sites[from].site) == 0;)
            to++;
        uint32_t present = to - from, absent = n_rows > present ? n_rows - present : 0;
        uint32_t low = (n_rows - 1) / 2, high = n_rows / 2;
        uint64_t a = low < absent ? 0 : sites[from + low - absent].bytes;
        uint64_t b = high < absent ? 0 : sites[from + high - absent].bytes;
        /* What fewer than half of the rows have is nobody's lack, and would be looked for in each of them. */
        if (b != 0)
            sites[kept++] = (struct site_row){sites[from].site, a + (b - a) / 2};
    }
    return kept;
}

static uint64_t site_median(const struct site_row *medians, uint32_t count, const char *site) {
    struct site_row key = {site, 0};
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (strcmp(medians[middle].site, key.site) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && strcmp(medians[low].site, site) == 0 ? medians[low].bytes : 0;
}

/* By falling difference: what a high peak has more, or what a low one lacks. */
struct ranked_difference {
    struct index_difference difference;
    double missing; /* sort key, falling */
};

static int ranked_compare(const void *a, const void *b) {
    const struct ranked_difference *x = a, *y = b;
    if (x->missing != y->missing)
        return x->missing < y->missing ? 1 : -1;
    return strcmp(x->difference.site, y->difference.site);
}

static uint64_t row_site_bytes(const struct index_row *row, const char *site) {
    for (uint32_t i = 0; i < row->n_sites; i++)
        if (strcmp(row->sites[i].site, site) == 0)
            return row->sites[i].bytes;
    return 0;
}

/* `direction`: 1 for a peak above the median, -1 below. */
static bool row_differences(struct index *index, struct index_row *row, const struct site_row *medians,
                            uint32_t n_medians, int direction) {
    uint32_t most = direction > 0 ? row->n_sites : n_medians, count = 0;
    struct ranked_difference *ranked = calloc((size_t)most + 1, sizeof *ranked);
    if (ranked == NULL)
        return false;
    for (uint32_t i = 0; i < most; i++) {
        const char *site = direction > 0 ? row->sites[i].site : medians[i].site;
        uint64_t bytes = direction > 0 ? row->sites[i].bytes : row_site_bytes(row, site);
        uint64_t median = direction > 0 ? site_median(medians, n_medians, site) : medians[i].bytes;
        double missing = ((double)bytes - (double)median) * direction;
        if (missing > 0)
            ranked[count++] = (struct ranked_difference){{site, bytes, median}, missing};
    }
    qsort(ranked, count, sizeof *ranked, ranked_compare);
    row->n_differences = count < INDEX_DIFFERENCES ? count : INDEX_DIFFERENCES;
    row->differences = arena_alloc(index->arena, (row->n_differences + 1) * sizeof *row->differences);
    for (uint32_t i = 0; row->differences != NULL && i < row->n_differences; i++)
        row->differences[i] = ranked[i].difference;
    free(ranked);
    return row->differences != NULL;
}

/* ---- sentences ---- */

/* What a sentence begins with: who it is about, or "it" after the first. */
struct subject {
    char text[256];
};

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

static void peak_sentence(const struct index_row *row, double median, char *finding) {
    double difference = (double)row->peak_bytes - median;
    finding_add(finding, "%s peaks %s %s the median", subject_of(row, finding).text,
                format_bytes((uint64_t)fabs(difference)).text, difference > 0 ? "above" : "below");
    if (row->n_differences == 0)
        return;
    const struct index_difference *first = &row->differences[0];
    if (difference > 0)
        finding_add(finding, "%s of it from %.200s", format_bytes(first->bytes - first->median_bytes).text,
                    first->site);
    else
        finding_add(finding, "%.200s holds %s less", first->site,
                    format_bytes(first->median_bytes - first->bytes).text);
}

static void end_sentence(const struct index_row *row, double median, char *finding) {
    double difference = (double)row->end_bytes - median;
    finding_add(finding, "%s ends %s %s the median", subject_of(row, finding).text,
                format_bytes((uint64_t)fabs(difference)).text, difference > 0 ? "above" : "below");
}

static void events_sentence(const struct index_row *row, double median, char *finding) {
    double difference = (double)row->n_events - median;
    bool early = difference < 0 && row->truncation == NULL;
    finding_add(finding, "%s recorded %s events, the median is %s%s", subject_of(row, finding).text,
                format_count(row->n_events).text, format_count((uint64_t)median).text,
                early ? ": it stopped early, or is behind the others" : "");
}

static void oom_sentence(const struct index_row *row, char *finding) {
    finding_add(finding, "%s ran out of memory: asked for %s with %s free on the device",
                subject_of(row, finding).text, format_bytes(row->oom_requested_bytes).text,
                format_bytes(row->oom_free_bytes).text);
}

static void truncation_sentence(const struct index_row *row, char *finding) {
    finding_add(finding, "%s has a file that is cut short", subject_of(row, finding).text);
}

/* ---- analysis ---- */

static bool row_finding(struct cohort *cohort, struct index_row *row, const struct spread *spreads,
                        const struct site_row *medians, uint32_t n_medians) {
    char finding[FINDING_CAPACITY] = "";
    if (row->odd & INDEX_ODD_OOM)
        oom_sentence(row, finding);
    if (row->odd & INDEX_ODD_PEAK) {
        int direction = (double)row->peak_bytes > spreads[0].median ? 1 : -1;
        if (!row_differences(cohort->index, row, medians, n_medians, direction))
            return false;
        peak_sentence(row, spreads[0].median, finding);
    }
    if (row->odd & INDEX_ODD_TRUNCATED)
        truncation_sentence(row, finding);
    if (row->odd & INDEX_ODD_END)
        end_sentence(row, spreads[1].median, finding);
    if (row->odd & INDEX_ODD_EVENTS)
        events_sentence(row, spreads[2].median, finding);
    if (*finding == '\0')
        return true;
    char *copy = arena_alloc(cohort->index->arena, strlen(finding) + 1);
    if (copy != NULL)
        memcpy(copy, finding, strlen(finding) + 1);
    row->finding = copy;
    return copy != NULL;
}

static void cohort_measure(struct cohort *cohort, const struct measure *measure, struct spread *spread) {
    for (uint32_t i = 0; i < cohort->count; i++)
        cohort->values[i] = (double)measure->value(&cohort->index->rows[cohort->order[i]]);
    *spread = spread_of(cohort);
    for (uint32_t i = 0; i < cohort->count && cohort->count >= COHORT_LEAST; i++) {
        struct index_row *row = &cohort->index->rows[cohort->order[i]];
        double value = (double)measure->value(row), score = score_of(value, *spread);
        if (measure->odd == INDEX_ODD_PEAK)
            row->score = score;
        if (fabs(score) <= score_limit(cohort->count) ||
            !difference_matters(measure, value - spread->median, spread->median))
            continue;
        row->odd |= measure->odd;
        row->severity = fabs(score) > row->severity ? fabs(score) : row->severity;
    }
}

static bool cohort_analyse(struct cohort *cohort) {
    struct spread spreads[sizeof measures / sizeof measures[0]];
    uint32_t n_sites;
    for (size_t i = 0; i < sizeof measures / sizeof measures[0]; i++)
        cohort_measure(cohort, &measures[i], &spreads[i]);
    struct site_row *sites = sites_collect(cohort, &n_sites);
    uint32_t n_medians = sites != NULL ? sites_to_medians(sites, n_sites, cohort->count) : 0;
    bool done = true;
    for (uint32_t i = 0; done && i < cohort->count; i++) {
        struct index_row *row = &cohort->index->rows[cohort->order[i]];
        if (row->n_ooms != 0)
            row->odd |= INDEX_ODD_OOM;
        if (row->truncation != NULL)
            row->odd |= INDEX_ODD_TRUNCATED;
        done = row_finding(cohort, row, spreads, sites, n_medians);
    }
    free(sites);
    return done;
}

/* qsort has no context; the rows are reached through the keys. */
struct order_key {
    int64_t step;
    uint32_t row;
};

static int order_key_compare(const void *a, const void *b) {
    const struct order_key *x = a, *y = b;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static bool cohorts_analyse(struct index *index, struct order_key *keys, uint32_t *order, double *scratch) {
    for (uint32_t i = 0; i < index->n_rows; i++)
        keys[i] = (struct order_key){index->rows[i].step, i};
    qsort(keys, index->n_rows, sizeof *keys, order_key_compare);
    for (uint32_t i = 0; i < index->n_rows; i++)
        order[i] = keys[i].row;
    for (uint32_t from = 0, to; from < index->n_rows; from = to) {
        for (to = from + 1; to < index->n_rows && keys[to].step == keys[from].step;)
            to++;
        struct cohort cohort = {index, order + from, to - from, scratch, scratch + index->n_rows};
        if (!cohort_analyse(&cohort))
            return false;
    }
    return true;
}

/* Out of memory first, then by falling severity. */
static bool finding_before(const struct index_row *a, const struct index_row *b) {
    unsigned oom_a = a->odd & INDEX_ODD_OOM, oom_b = b->odd & INDEX_ODD_OOM;
    return oom_a != oom_b ? oom_a > oom_b : a->severity > b->severity;
}

struct finding_key {
    const struct index_row *row;
    uint32_t index;
};

static int finding_compare(const void *a, const void *b) {
    const struct finding_key *x = a, *y = b;
    if (finding_before(x->row, y->row))
        return -1;
    if (finding_before(y->row, x->row))
        return 1;
    return (x->index > y->index) - (x->index < y->index);
}

static bool findings_collect(struct index *index) {
    struct finding_key *keys = malloc(((size_t)index->n_rows + 1) * sizeof *keys);
    index->findings = arena_alloc(index->arena, ((size_t)index->n_rows + 1) * sizeof *index->findings);
    index->n_findings = 0;
    if (keys != NULL && index->findings != NULL) {
        for (uint32_t i = 0; i < index->n_rows; i++)
            if (index->rows[i].finding != NULL)
                keys[index->n_findings++] = (struct finding_key){&index->rows[i], i};
        qsort(keys, index->n_findings, sizeof *keys, finding_compare);
        for (uint32_t i = 0; i < index->n_findings; i++)
            index->findings[i] = keys[i].index;
    }
    bool done = keys != NULL && index->findings != NULL;
    free(keys);
    return done;
}

bool index_analyse(struct index *index) {
    size_t n = (size_t)index->n_rows + 1;
    struct order_key *keys = malloc(n * sizeof *keys);
    uint32_t *order = malloc(n * sizeof *order);
    double *scratch = malloc(2 * n * sizeof *scratch);
    bool done = keys != NULL && order != NULL && scratch != NULL &&
                cohorts_analyse(index, keys, order, scratch) && findings_collect(index);
    free(keys);
    free(order);
    free(scratch);
    return done;
}
