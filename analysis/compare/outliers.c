/* Finds odd ranks by robust statistics: medians, and median distances from them. */
#include "analysis/compare/outliers_internal.h"

enum { COMPARED_LEAST = 4 };

/* A difference must exceed both to be reported, however regular the other ranks are. */
static const uint64_t worth_bytes = 1 << 20, worth_share = 100;

/* 0.6745 makes the median deviation comparable to a standard deviation (Iglewicz and Hoaglin). */
static const uint64_t score_factor = 6745;

static const uint64_t none = UINT64_MAX;

/* ---- robust figures ---- */

uint64_t outliers_median(struct sort_row *rows, struct sort_row *spare, uint32_t count) {
    sort_rows(rows, spare, count);
    uint64_t low = rows[(count - 1) / 2].key, high = rows[count / 2].key;
    return low + (high - low) / 2;
}

/* Of cohort->values[count]; count >= 1. */
struct spread outliers_spread(struct cohort *cohort, uint32_t count) {
    struct spread spread = {.count = count, .median = outliers_median(cohort->values, cohort->spare, count)};
    for (uint32_t i = 0; i < count; i++)
        cohort->deviations[i] = (struct sort_row){distance_of(cohort->values[i].key, spread.median), 0};
    spread.deviation = outliers_median(cohort->deviations, cohort->spare, count);
    return spread;
}

/*
 * The distance that counts as odd, in thousandths of a standard deviation. 3.5 for many ranks. For few, the
 * deviation is itself uncertain, so it is 1 + 3 / n times that; among thousands some are far out by chance, so it
 * is sqrt(2 ln n) + 1.
 */
static uint64_t score_limit(uint32_t count) {
    static const uint16_t by_logarithm[] = {3630, 3880, 4110, 4330, 4530, 4720, 4900, 5080, 5240, 5400, 5560};
    uint32_t bits = 0;
    while (bits < 31 && count >> (bits + 1) != 0)
        bits++;
    uint64_t limit = 3500 + 3500 * 3 / count;
    uint64_t many = bits < 5 ? 0 : bits < 16 ? by_logarithm[bits - 5] : by_logarithm[10] + 150 * (bits - 15);
    return limit > many ? limit : many;
}

static uint64_t score_of(uint64_t difference, uint64_t deviation) {
    if (deviation == 0)
        return 0;
    while (difference > UINT64_MAX / score_factor / 2) {
        difference /= 2;
        deviation = deviation / 2 + 1;
    }
    return difference * score_factor / 10 / deviation; /* in thousandths */
}

static bool is_worth(enum outlier_measure measure, uint64_t difference, uint64_t whole) {
    if (measure == OUTLIER_EVENTS)
        return difference > whole / 20;
    return difference > worth_bytes && difference > whole / worth_share;
}

/* Does the row count towards the usual values? */
static bool row_is_usual(const struct cohort *cohort, uint32_t index) {
    return !cohort->without_oom || !cohort->rows[index].oom;
}

/* ---- values ---- */

/* The highest peak of the complete steps up to `step`. */
static uint64_t peak_until(const struct rank_profile *profile, int64_t step) {
    uint64_t peak = 0;
    for (uint32_t i = 0; i < profile->n_steps && profile->step[i].number <= step; i++)
        if (profile->step[i].complete && profile->step[i].peak_bytes > peak)
            peak = profile->step[i].peak_bytes;
    return peak;
}

/* The complete step after which growth is counted: the second, because the first makes what stays. */
static uint32_t growth_begin(const struct rank_profile *profile) {
    return profile->n_steps > 2 ? 1 : 0;
}

/* Growth since the end of that step. */
static uint64_t grown_until(const struct rank_profile *profile, int64_t step) {
    const struct rank_step *last = rank_step_of(profile, step);
    uint32_t first = growth_begin(profile);
    if (last == NULL || first == 0 || profile->step[first].number >= step)
        return none;
    uint64_t before = profile->step[first].end_bytes;
    return last->end_bytes > before ? last->end_bytes - before : 0;
}

static uint64_t value_at(const struct outlier_row *row, enum outlier_measure measure, int64_t step) {
    const struct rank_profile *profile = row->of.profile;
    if (step == RANK_NO_STEP)
        return measure == OUTLIER_PEAK     ? row->peak_bytes
               : measure == OUTLIER_END    ? row->end_bytes
               : measure == OUTLIER_EVENTS ? row->n_events
                                           : none;
    const struct rank_step *found = rank_step_of(profile, step);
    if (found == NULL || !found->complete || measure == OUTLIER_EVENTS)
        return none;
    return measure == OUTLIER_PEAK  ? peak_until(profile, step)
           : measure == OUTLIER_END ? found->end_bytes
                                    : grown_until(profile, step);
}

/* ---- judging ---- */

/* Growth is related to the bytes alive at the end. */
static uint64_t whole_of(const struct outlier_row *row, enum outlier_measure measure, uint64_t median,
                         int64_t step) {
    uint64_t end = measure == OUTLIER_GROWTH ? value_at(row, OUTLIER_END, step) : median;
    return end == none ? median : end;
}

static void figure_judge(struct outlier_row *row, enum outlier_measure measure, struct spread spread,
                         uint64_t second) {
    struct outlier_figure *figure = &row->figure[measure];
    uint64_t difference = distance_of(figure->value, spread.median);
    uint64_t score = score_of(difference, spread.deviation);
    figure->median = spread.median;
    figure->score = figure->value < spread.median ? -(int64_t)score : (int64_t)score;
    if (spread.count >= COMPARED_LEAST)
        figure->odd = is_worth(measure, difference, whole_of(row, measure, spread.median, row->at_step)) &&
                      (spread.deviation == 0 || score > score_limit(spread.count)) &&
                      (measure != OUTLIER_GROWTH || figure->value > spread.median);
    else if (spread.count > 1 && figure->value > second && measure != OUTLIER_EVENTS) {
        figure->median = second;
        figure->higher = is_worth(measure, figure->value - second, second);
    }
}

/* Judges all rows of the cohort that are compared at `step`, by one measure. */
static void measure_judge(struct cohort *cohort, enum outlier_measure measure, int64_t step) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < cohort->count; i++) {
        uint64_t value = value_at(&cohort->rows[cohort->member[i]], measure, step);
        if (value != none && row_is_usual(cohort, cohort->member[i]))
            cohort->values[count++] = (struct sort_row){value, cohort->member[i]};
    }
    if (count == 0)
        return;
    struct spread spread = outliers_spread(cohort, count);
    uint64_t second = count > 1 ? cohort->values[count - 2].key : 0;
    for (uint32_t i = 0; i < count; i++) {
        struct outlier_row *row = &cohort->rows[cohort->values[i].value];
        if (row->at_step != step)
            continue;
        row->figure[measure].known = true;
        row->figure[measure].value = cohort->values[i].key;
        figure_judge(row, measure, spread, second);
    }
}

/* ---- growth ---- */

static void growth_site_find(struct outlier_row *row, const struct rank_table *from,
                             const struct rank_table *to, uint64_t n_steps) {
    const struct rank_profile *profile = row->of.profile;
    for (uint32_t i = 0; i < to->count; i++) {
        uint32_t site = profile->call[to->entry[i].call].site;
        uint64_t before = outliers_table_bytes(profile, from, site), now = to->entry[i].bytes;
        uint64_t per_step = now > before ? (now - before) / n_steps : 0;
        if (per_step > row->growth_site_bytes) {
            row->growth_site_bytes = per_step;
            row->growth_site = site;
        }
    }
}

/* The median of what each step adds, so that one step that makes something permanent is not growth. */
static void growth_find(struct outlier_row *row) {
    enum { STEPS_LEAST = 2 };
    const struct rank_profile *profile = row->of.profile;
    struct sort_row changes[RANK_STEPS_MOST], spare[RANK_STEPS_MOST];
    uint32_t n = 0, first = growth_begin(profile);
    for (uint32_t i = first + 1; first != 0 && i < profile->n_steps; i++)
        if (profile->step[i].complete)
            /* shifted, so that falls sort below rises */
            changes[n++] = (struct sort_row){
                profile->step[i].end_bytes - profile->step[i - 1].end_bytes + ((uint64_t)1 << 63), 0};
    if (n < STEPS_LEAST)
        return;
    row->growth_bytes = (int64_t)(outliers_median(changes, spare, n) - ((uint64_t)1 << 63));
    const struct rank_table *from = rank_table_of(profile, profile->step[first].number, RANK_AT_END);
    int64_t last = outliers_step_with_tables(profile, INT64_MAX, RANK_AT_END);
    const struct rank_table *to = rank_table_of(profile, last, RANK_AT_END);
    if (row->growth_bytes > 0 && from != NULL && to != NULL && to->step > from->step)
        growth_site_find(row, from, to, (uint64_t)(to->step - from->step));
}

/* ---- call sites that only one rank has ---- */

struct seen_site {
    struct sort_row *sites, *spare; /* key: step of the file's name and site; value: row */
    uint32_t count;
};

static uint64_t seen_key(const struct outlier_row *row, uint32_t site) {
    return ((uint64_t)row->of.step + 1) << 32 | site;
}

static void only_note(struct outlier_row *row, uint32_t site) {
    const struct rank_profile *profile = row->of.profile;
    for (uint32_t i = 0; i < profile->n_tables; i++) {
        const struct rank_table *table = &profile->table[i];
        uint64_t bytes = outliers_table_bytes(profile, table, site);
        if (bytes > row->only_bytes && bytes > worth_bytes && bytes > table->total_bytes / worth_share) {
            row->only_bytes = bytes;
            row->only_site = site;
        }
    }
}

static bool only_sites_find(struct outlier_row *rows, uint32_t n_rows, struct arena *arena) {
    struct seen_site seen = {0};
    uint64_t total = 0;
    for (uint32_t i = 0; i < n_rows; i++) {
        total += rows[i].of.profile->n_calls;
        if (rows[i].of.profile->calls_left_out)
            return true; /* a list that was cut may lack some of the rank's sites */
    }
    if (!ARENA_COLUMNS(arena, total, seen.sites, seen.spare) || total > UINT32_MAX)
        return false;
    for (uint32_t i = 0; i < n_rows; i++)
        for (uint32_t k = 0; k < rows[i].of.profile->n_calls; k++)
            seen.sites[seen.count++] =
                (struct sort_row){seen_key(&rows[i], rows[i].of.profile->call[k].site), i};
    sort_rows(seen.sites, seen.spare, seen.count);
    for (uint32_t i = 0; i < seen.count; i++) {
        bool again = (i > 0 && seen.sites[i - 1].key == seen.sites[i].key) ||
                     (i + 1 < seen.count && seen.sites[i + 1].key == seen.sites[i].key);
        struct outlier_row *row = &rows[seen.sites[i].value];
        if (!again && row->cohort_size >= COMPARED_LEAST)
            only_note(row, (uint32_t)seen.sites[i].key);
    }
    ARENA_DROP(arena, seen.sites, seen.spare);
    return true;
}

/* ---- a cohort ---- */

/* The number of complete steps that half of the usual rows have, and the number of the step that half have reached
 * (RANK_NO_STEP: fewer than half have one). */
static int64_t common_step(struct cohort *cohort, uint32_t *median_steps) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < cohort->count; i++) {
        const struct outlier_row *row = &cohort->rows[cohort->member[i]];
        if (!row_is_usual(cohort, cohort->member[i]))
            continue;
        cohort->deviations[count] = (struct sort_row){row->n_steps, 0};
        cohort->values[count++] = (struct sort_row){(uint64_t)rank_last_step(row->of.profile) + 1, 0};
    }
    sort_rows(cohort->values, cohort->spare, count);
    *median_steps = (uint32_t)outliers_median(cohort->deviations, cohort->spare, count);
    return (int64_t)cohort->values[(count - 1) / 2].key - 1;
}

static uint64_t events_of(const struct outlier_row *row) {
    return row->n_events;
}

static uint64_t begin_of(const struct outlier_row *row) {
    return row->of.profile->n_steps != 0 ? row->of.profile->step[0].begin_bytes : 0;
}

static uint64_t cohort_median(struct cohort *cohort, uint64_t (*figure)(const struct outlier_row *row)) {
    for (uint32_t i = 0; i < cohort->count; i++)
        cohort->values[i] = (struct sort_row){figure(&cohort->rows[cohort->member[i]]), 0};
    return outliers_median(cohort->values, cohort->spare, cohort->count);
}

/* Compares each row at the last step that it shares with most rows; if most have none, over the whole recording. */
static void steps_choose(struct cohort *cohort) {
    uint32_t median, n_whole = 0;
    for (uint32_t i = 0; i < cohort->count; i++) {
        struct outlier_row *row = &cohort->rows[cohort->member[i]];
        row->n_steps = rank_complete_steps(row->of.profile);
        n_whole += !row->oom;
    }
    cohort->without_oom = n_whole >= COMPARED_LEAST;
    int64_t common = common_step(cohort, &median);
    uint64_t events = cohort_median(cohort, events_of), begin = cohort_median(cohort, begin_of);
    for (uint32_t i = 0; i < cohort->count; i++) {
        struct outlier_row *row = &cohort->rows[cohort->member[i]];
        int64_t last = rank_last_step(row->of.profile);
        row->median_steps = median;
        row->stopped_early = last < common && row->n_events < events - events / 20 &&
                             begin_of(row) <= begin + begin / worth_share + worth_bytes;
        row->at_step = last < common ? last : common;
        if (common != RANK_NO_STEP && row->at_step == RANK_NO_STEP)
            row->at_step = INT64_MAX; /* not compared, because it has no complete step */
    }
}

/* Judges at every distinct step at which rows are compared. `at` is sorted by it. */
static bool steps_judge(struct cohort *cohort) {
    struct sort_row *at = arena_column(cohort->arena, cohort->count, sizeof *at);
    if (at == NULL)
        return false;
    for (uint32_t i = 0; i < cohort->count; i++)
        at[i] = (struct sort_row){(uint64_t)cohort->rows[cohort->member[i]].at_step + 1, 0};
    sort_rows(at, cohort->spare, cohort->count);
    for (uint32_t i = 0; i < cohort->count; i++)
        if (i == 0 || at[i].key != at[i - 1].key)
            for (uint32_t measure = 0; measure < OUTLIER_MEASURES; measure++)
                measure_judge(cohort, (enum outlier_measure)measure, (int64_t)(at[i].key - 1));
    ARENA_DROP(cohort->arena, at);
    return true;
}

static bool row_is_told(const struct outlier_row *row) {
    for (uint32_t i = 0; i < OUTLIER_MEASURES; i++)
        if (row->figure[i].odd || row->figure[i].higher)
            return true;
    return row->oom;
}

static bool cohort_judge(struct cohort *cohort) {
    struct tally kept = {0};
    cohort->kept = &kept;
    steps_choose(cohort);
    bool done = steps_judge(cohort);
    for (uint32_t i = 0; done && i < cohort->count; i++) {
        struct outlier_row *row = &cohort->rows[cohort->member[i]];
        row->cohort_size = cohort->count;
        growth_find(row);
        if (cohort->count > 1 && row_is_told(row))
            done = outliers_compare(cohort, cohort->member[i]);
    }
    outliers_tally_drop(cohort, &kept);
    cohort->kept = NULL;
    return done;
}

bool outliers_find(struct outlier_row *rows, uint32_t n_rows, struct arena *arena, uint32_t *n_cohorts) {
    struct cohort_row *of;
    uint32_t *number, *member;
    struct sort_row *order;
    struct cohort cohort = {.rows = rows, .arena = arena};
    if (!ARENA_COLUMNS(arena, n_rows, of, number, member, order, cohort.values, cohort.deviations,
                       cohort.spare))
        return false;
    for (uint32_t i = 0; i < n_rows; i++)
        of[i] = rows[i].of;
    if (!cohorts_find(of, n_rows, arena, number, n_cohorts))
        return false;
    for (uint32_t i = 0; i < n_rows; i++) {
        rows[i].cohort = number[i];
        order[i] = (struct sort_row){number[i], i};
    }
    sort_rows(order, cohort.spare, n_rows);
    for (uint32_t i = 0; i < n_rows; i++)
        member[i] = order[i].value;
    for (uint32_t from = 0, to; from < n_rows; from = to) {
        to = sort_rows_end(order, n_rows, from);
        cohort.member = member + from;
        cohort.count = to - from;
        if (!cohort_judge(&cohort))
            return false;
    }
    return only_sites_find(rows, n_rows, arena);
}
