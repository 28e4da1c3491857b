#include "analysis/outliers.h"

#include "base/sort.h"

enum { COMPARED_LEAST = 4 };

/* A difference that is not more than both is nobody's problem, however regular the other ranks are. */
static const uint64_t worth_bytes = 1 << 20, worth_share = 100;

/* 0.6745 makes the median deviation comparable to a standard deviation (Iglewicz and Hoaglin). */
static const uint64_t score_factor = 6745;

static const uint64_t none = UINT64_MAX;

struct cohort {
    struct outlier_row *rows;
    const uint32_t *member; /* [count] rows */
    uint32_t count;
    struct arena *arena;
    struct sort_row *values, *deviations, *spare; /* [count] */
    struct tally *kept;                           /* of the last comparison; NULL: none */
    bool without_oom; /* ranks that ran out of memory are not what the others are compared with */
};

/* ---- robust figures ---- */

struct spread {
    uint64_t median, deviation; /* the median of the distances from it */
    uint32_t count;
};

static uint64_t median_of(struct sort_row *rows, struct sort_row *spare, uint32_t count) {
    sort_rows(rows, spare, count);
    uint64_t low = rows[(count - 1) / 2].key, high = rows[count / 2].key;
    return low + (high - low) / 2;
}

static uint64_t distance(uint64_t a, uint64_t b) {
    return a > b ? a - b : b - a;
}

/* Of cohort->values[count]; count >= 1. */
static struct spread spread_of(struct cohort *cohort, uint32_t count) {
    struct spread spread = {.count = count, .median = median_of(cohort->values, cohort->spare, count)};
    for (uint32_t i = 0; i < count; i++)
        cohort->deviations[i] = (struct sort_row){distance(cohort->values[i].key, spread.median), 0};
    spread.deviation = median_of(cohort->deviations, cohort->spare, count);
    return spread;
}

/*
 * How far out is odd, in thousandths of a standard deviation. 3.5 for many; of few ranks the deviation is itself
 * uncertain, hence 1 + 3 / n times that; of thousands some are far out by chance: sqrt(2 ln n) + 1.
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

/* Is the row one of those that say what is usual? */
static bool row_is_usual(const struct cohort *cohort, uint32_t index) {
    return !cohort->without_oom || !cohort->rows[index].oom;
}

/* ---- values ---- */

/* The highest of the complete steps up to `step`. */
static uint64_t peak_until(const struct rank_profile *profile, int64_t step) {
    uint64_t peak = 0;
    for (uint32_t i = 0; i < profile->n_steps && profile->step[i].number <= step; i++)
        if (profile->step[i].complete && profile->step[i].peak_bytes > peak)
            peak = profile->step[i].peak_bytes;
    return peak;
}

/* First complete step whose end is taken as the beginning of growth: the second, since the first makes what stays. */
static uint32_t growth_begin(const struct rank_profile *profile) {
    return profile->n_steps > 2 ? 1 : 0;
}

/* What came on top since that step's end. */
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

/* Growth is held against what is there at the end. */
static uint64_t whole_of(const struct outlier_row *row, enum outlier_measure measure, uint64_t median,
                         int64_t step) {
    uint64_t end = measure == OUTLIER_GROWTH ? value_at(row, OUTLIER_END, step) : median;
    return end == none ? median : end;
}

static void figure_judge(struct outlier_row *row, enum outlier_measure measure, struct spread spread,
                         uint64_t second) {
    struct outlier_figure *figure = &row->figure[measure];
    uint64_t difference = distance(figure->value, spread.median);
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

/* All rows of the cohort that are compared at `step`, by one measure. */
static void measure_judge(struct cohort *cohort, enum outlier_measure measure, int64_t step) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < cohort->count; i++) {
        uint64_t value = value_at(&cohort->rows[cohort->member[i]], measure, step);
        if (value != none && row_is_usual(cohort, cohort->member[i]))
            cohort->values[count++] = (struct sort_row){value, cohort->member[i]};
    }
    if (count == 0)
        return;
    struct spread spread = spread_of(cohort, count);
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

/* ---- differences by call site ---- */

struct tally {
    int64_t step;
    enum rank_moment at;
    struct spread totals;
    struct sort_row *entries, *spare; /* key: site; value: index into `bytes` */
    uint64_t *bytes;
    uint32_t count, n_tables;
};

/* From that many ranks on, a rank is compared with all, itself too, which hardly moves a median; so one tally serves
 * all. */
enum { TALLY_SHARED = 16 };

/* Tables to compare with: the same moment of every row of the cohort but, where `but` is one, that row. */
static bool tally_collect(struct cohort *cohort, int64_t step, enum rank_moment at, uint32_t but,
                          struct tally *tally) {
    uint32_t n_tables = 0;
    *tally = (struct tally){.step = step, .at = at};
    tally->entries =
        arena_column(cohort->arena, (uint64_t)cohort->count * RANK_ENTRIES_MOST, sizeof *tally->entries);
    tally->spare =
        arena_column(cohort->arena, (uint64_t)cohort->count * RANK_ENTRIES_MOST, sizeof *tally->spare);
    tally->bytes =
        arena_column(cohort->arena, (uint64_t)cohort->count * RANK_ENTRIES_MOST, sizeof *tally->bytes);
    if (tally->entries == NULL || tally->spare == NULL || tally->bytes == NULL)
        return false;
    for (uint32_t i = 0; i < cohort->count; i++) {
        const struct rank_profile *profile = cohort->rows[cohort->member[i]].of.profile;
        const struct rank_table *table = cohort->member[i] != but ? rank_table_of(profile, step, at) : NULL;
        if (table == NULL)
            continue;
        cohort->values[n_tables++] = (struct sort_row){table->total_bytes, 0};
        for (uint32_t k = 0; k < table->count; k++) {
            tally->bytes[tally->count] = table->entry[k].bytes;
            tally->entries[tally->count] =
                (struct sort_row){profile->call[table->entry[k].call].site, tally->count};
            tally->count++;
        }
    }
    tally->n_tables = n_tables;
    sort_rows(tally->entries, tally->spare, tally->count);
    if (n_tables != 0)
        tally->totals = spread_of(cohort, n_tables);
    return true;
}

static void tally_drop(struct cohort *cohort, struct tally *tally) {
    arena_drop(cohort->arena, (void **)&tally->entries);
    arena_drop(cohort->arena, (void **)&tally->spare);
    arena_drop(cohort->arena, (void **)&tally->bytes);
}

/* Median of a site whose entries are [from, to); tables without it count as 0. */
static uint64_t tally_median(struct cohort *cohort, const struct tally *tally, uint32_t from, uint32_t to) {
    uint32_t present = to - from < cohort->count ? to - from : cohort->count;
    uint32_t absent = tally->n_tables > present ? tally->n_tables - present : 0;
    for (uint32_t i = 0; i < present; i++)
        cohort->values[i] = (struct sort_row){tally->bytes[tally->entries[from + i].value], 0};
    sort_rows(cohort->values, cohort->spare, present);
    uint32_t low = (tally->n_tables - 1) / 2, high = tally->n_tables / 2;
    uint64_t a = low < absent ? 0 : cohort->values[low - absent].key;
    uint64_t b = high < absent ? 0 : cohort->values[high - absent].key;
    return a + (b - a) / 2;
}

static uint64_t table_bytes(const struct rank_profile *profile, const struct rank_table *table,
                            uint32_t site) {
    for (uint32_t i = 0; i < table->count; i++)
        if (profile->call[table->entry[i].call].site == site)
            return table->entry[i].bytes;
    return 0;
}

/* More before less, each by falling size. */
static bool difference_before(const struct outlier_difference *a, const struct outlier_difference *b) {
    bool more_a = a->bytes > a->median_bytes, more_b = b->bytes > b->median_bytes;
    if (more_a != more_b)
        return more_a;
    return distance(a->bytes, a->median_bytes) > distance(b->bytes, b->median_bytes);
}

static void difference_add(struct outlier_row *row, struct outlier_difference difference) {
    if (difference.bytes == difference.median_bytes)
        return;
    uint32_t at = row->n_differences;
    while (at > 0 && difference_before(&difference, &row->difference[at - 1]))
        at--;
    if (at == OUTLIER_DIFFERENCES)
        return;
    uint32_t last = row->n_differences < OUTLIER_DIFFERENCES ? row->n_differences++ : OUTLIER_DIFFERENCES - 1;
    for (uint32_t i = last; i > at; i--)
        row->difference[i] = row->difference[i - 1];
    row->difference[at] = difference;
}

/* A row that has the site, to find its name. */
static uint32_t site_owner(const struct cohort *cohort, uint32_t site, uint32_t first) {
    for (uint32_t i = 0; i <= cohort->count; i++) {
        uint32_t row = i == 0 ? first : cohort->member[i - 1];
        const struct rank_profile *profile = cohort->rows[row].of.profile;
        for (uint32_t k = 0; k < profile->n_calls; k++)
            if (profile->call[k].site == site)
                return row;
    }
    return first;
}

static void differences_of(struct cohort *cohort, uint32_t index, const struct rank_table *mine,
                           const struct tally *tally) {
    struct outlier_row *row = &cohort->rows[index];
    const struct rank_profile *profile = row->of.profile;
    for (uint32_t from = 0, to; from < tally->count; from = to) {
        uint32_t site = (uint32_t)tally->entries[from].key;
        for (to = from + 1; to < tally->count && tally->entries[to].key == site;)
            to++;
        difference_add(row, (struct outlier_difference){site, 0, table_bytes(profile, mine, site),
                                                        tally_median(cohort, tally, from, to)});
    }
    for (uint32_t i = 0; i < mine->count; i++) {
        uint32_t site = profile->call[mine->entry[i].call].site, low = 0, high = tally->count;
        while (low < high) {
            uint32_t middle = low + (high - low) / 2;
            if (tally->entries[middle].key < site)
                low = middle + 1;
            else
                high = middle;
        }
        if (low == tally->count || tally->entries[low].key != site)
            difference_add(row, (struct outlier_difference){site, 0, mine->entry[i].bytes, 0});
    }
    for (uint32_t i = 0; i < row->n_differences; i++)
        row->difference[i].owner = site_owner(cohort, row->difference[i].site, index);
}

static void tally_use(struct cohort *cohort, uint32_t index, const struct rank_table *mine,
                      const struct tally *tally) {
    struct outlier_row *row = &cohort->rows[index];
    if (tally->n_tables == 0)
        return;
    row->n_differences = 0;
    row->compared_at = mine->at;
    row->total_bytes = mine->total_bytes;
    row->total_median_bytes = tally->totals.median;
    differences_of(cohort, index, mine, tally);
}

static bool compare_at(struct cohort *cohort, uint32_t index, const struct rank_table *mine, int64_t step,
                       enum rank_moment at) {
    struct tally tally;
    if (cohort->count >= TALLY_SHARED) {
        if (cohort->kept->entries == NULL || cohort->kept->step != step || cohort->kept->at != at) {
            tally_drop(cohort, cohort->kept);
            if (!tally_collect(cohort, step, at, UINT32_MAX, cohort->kept))
                return false;
        }
        tally_use(cohort, index, mine, cohort->kept);
        return true;
    }
    if (!tally_collect(cohort, step, at, index, &tally))
        return false;
    tally_use(cohort, index, mine, &tally);
    tally_drop(cohort, &tally);
    return true;
}

/* The last step until `step` of which there are tables. */
static int64_t step_with_tables(const struct rank_profile *profile, int64_t step, enum rank_moment at) {
    int64_t found = RANK_NO_STEP;
    for (uint32_t i = 0; i < profile->n_tables; i++)
        if (profile->table[i].at == at && profile->table[i].step <= step && profile->table[i].step > found)
            found = profile->table[i].step;
    return found;
}

/* Phase of the highest moment of a step, and the last step with the table of it. */
static enum rank_moment peak_phase(const struct rank_profile *profile, int64_t until, int64_t *step) {
    uint64_t most = 0;
    enum rank_moment at = RANK_AT_END;
    for (uint32_t i = 0; i < profile->n_tables; i++) {
        const struct rank_table *table = &profile->table[i];
        if (table->step != RANK_NO_STEP && table->step <= until && table->total_bytes > most) {
            most = table->total_bytes;
            at = table->at;
            *step = table->step;
        }
    }
    return at;
}

static bool row_compare(struct cohort *cohort, uint32_t index) {
    struct outlier_row *row = &cohort->rows[index];
    const struct rank_profile *profile = row->of.profile;
    const struct outlier_figure *peak = &row->figure[OUTLIER_PEAK];
    int64_t step = RANK_NO_STEP;
    enum rank_moment at = RANK_AT_PEAK;
    if (row->oom && profile->oom_step != RANK_NO_STEP && profile->oom_phase >= 0) {
        const struct rank_table *mine = rank_table_of(profile, RANK_NO_STEP, RANK_AT_OOM);
        at = (enum rank_moment)profile->oom_phase;
        if (mine != NULL && !compare_at(cohort, index, mine, profile->oom_step, at))
            return false;
        /* Where the others did not come that far, their last step has the same phase. */
        if (mine != NULL && row->total_median_bytes == 0 && row->at_step != RANK_NO_STEP)
            return compare_at(cohort, index, mine, step_with_tables(profile, row->at_step, at), at);
        if (mine != NULL)
            return true;
    }
    if (row->at_step != RANK_NO_STEP) {
        if (peak->odd || peak->higher || row->oom)
            at = peak_phase(profile, row->at_step, &step);
        else
            step = step_with_tables(profile, row->at_step, at = RANK_AT_END);
    } else if (!peak->odd && !peak->higher)
        at = row->figure[OUTLIER_END].odd ? RANK_AT_END : RANK_AT_PEAK;
    const struct rank_table *mine = rank_table_of(profile, step, at);
    return mine == NULL || compare_at(cohort, index, mine, step, at);
}

/* ---- growth ---- */

static void growth_site_find(struct outlier_row *row, const struct rank_table *from,
                             const struct rank_table *to, uint64_t n_steps) {
    const struct rank_profile *profile = row->of.profile;
    for (uint32_t i = 0; i < to->count; i++) {
        uint32_t site = profile->call[to->entry[i].call].site;
        uint64_t before = table_bytes(profile, from, site), now = to->entry[i].bytes;
        uint64_t per_step = now > before ? (now - before) / n_steps : 0;
        if (per_step > row->growth_site_bytes) {
            row->growth_site_bytes = per_step;
            row->growth_site = site;
        }
    }
}

/* The median of what each step leaves, so that one step that makes something for good is not growth. */
static void growth_find(struct cohort *cohort, struct outlier_row *row) {
    enum { STEPS_LEAST = 2 };
    const struct rank_profile *profile = row->of.profile;
    struct sort_row changes[RANK_STEPS_MOST], spare[RANK_STEPS_MOST];
    uint32_t n = 0, first = growth_begin(profile);
    (void)cohort;
    for (uint32_t i = first + 1; first != 0 && i < profile->n_steps; i++)
        if (profile->step[i].complete)
            /* Shifted, so that falls sort below rises. */
            changes[n++] = (struct sort_row){
                profile->step[i].end_bytes - profile->step[i - 1].end_bytes + ((uint64_t)1 << 63), 0};
    row->n_growth = n;
    if (n < STEPS_LEAST)
        return;
    row->growth_bytes = (int64_t)(median_of(changes, spare, n) - ((uint64_t)1 << 63));
    const struct rank_table *from = rank_table_of(profile, profile->step[first].number, RANK_AT_END);
    int64_t last = step_with_tables(profile, INT64_MAX, RANK_AT_END);
    const struct rank_table *to = rank_table_of(profile, last, RANK_AT_END);
    if (row->growth_bytes > 0 && from != NULL && to != NULL && to->step > from->step)
        growth_site_find(row, from, to, (uint64_t)(to->step - from->step));
}

/* ---- lines that only one rank has ---- */

struct seen_site {
    struct sort_row *sites, *spare; /* key: step of the name and site; value: row */
    uint32_t count;
};

static uint64_t seen_key(const struct outlier_row *row, uint32_t site) {
    return ((uint64_t)row->of.step + 1) << 32 | site;
}

static void only_note(struct outlier_row *row, uint32_t site) {
    const struct rank_profile *profile = row->of.profile;
    for (uint32_t i = 0; i < profile->n_tables; i++) {
        const struct rank_table *table = &profile->table[i];
        uint64_t bytes = table_bytes(profile, table, site);
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
            return true; /* what is missing in a list cut short may be there */
    }
    seen.sites = arena_column(arena, total, sizeof *seen.sites);
    seen.spare = arena_column(arena, total, sizeof *seen.spare);
    if (seen.sites == NULL || seen.spare == NULL || total > UINT32_MAX)
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
    arena_drop(arena, (void **)&seen.sites);
    arena_drop(arena, (void **)&seen.spare);
    return true;
}

/* ---- a cohort ---- */

static uint32_t steps_complete(const struct rank_profile *profile) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < profile->n_steps; i++)
        count += profile->step[i].complete;
    return count;
}

/* Of the usual rows: how many complete steps half of them have, and the number of the step that half have reached
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
    *median_steps = (uint32_t)median_of(cohort->deviations, cohort->spare, count);
    return (int64_t)cohort->values[(count - 1) / 2].key - 1;
}

/* Each row is compared at the last step that it has in common with most; where most have none, over the whole. */
static void steps_choose(struct cohort *cohort) {
    uint32_t median, n_whole = 0;
    for (uint32_t i = 0; i < cohort->count; i++) {
        struct outlier_row *row = &cohort->rows[cohort->member[i]];
        row->n_steps = steps_complete(row->of.profile);
        n_whole += !row->oom;
    }
    cohort->without_oom = n_whole >= COMPARED_LEAST;
    int64_t common = common_step(cohort, &median);
    for (uint32_t i = 0; i < cohort->count; i++) {
        struct outlier_row *row = &cohort->rows[cohort->member[i]];
        int64_t last = rank_last_step(row->of.profile);
        row->median_steps = median;
        row->at_step = last < common ? last : common;
        if (common != RANK_NO_STEP && row->at_step == RANK_NO_STEP)
            row->at_step = INT64_MAX; /* not compared: it has no whole step */
    }
}

/* Every distinct step at which rows are compared. `at` is sorted by it. */
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
    arena_drop(cohort->arena, (void **)&at);
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
        growth_find(cohort, row);
        if (cohort->count > 1 && row_is_told(row))
            done = row_compare(cohort, cohort->member[i]);
    }
    tally_drop(cohort, &kept);
    cohort->kept = NULL;
    return done;
}

bool outliers_find(struct outlier_row *rows, uint32_t n_rows, struct arena *arena, uint32_t *n_cohorts) {
    struct cohort_row *of = arena_column(arena, n_rows, sizeof *of);
    uint32_t *number = arena_column(arena, n_rows, sizeof *number);
    uint32_t *member = arena_column(arena, n_rows, sizeof *member);
    struct sort_row *order = arena_column(arena, n_rows, sizeof *order);
    struct cohort cohort = {.rows = rows, .arena = arena};
    cohort.values = arena_column(arena, n_rows, sizeof *cohort.values);
    cohort.deviations = arena_column(arena, n_rows, sizeof *cohort.deviations);
    cohort.spare = arena_column(arena, n_rows, sizeof *cohort.spare);
    if (of == NULL || number == NULL || member == NULL || order == NULL || cohort.values == NULL ||
        cohort.deviations == NULL || cohort.spare == NULL)
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
        for (to = from + 1; to < n_rows && order[to].key == order[from].key;)
            to++;
        cohort.member = member + from;
        cohort.count = to - from;
        if (!cohort_judge(&cohort))
            return false;
    }
    return only_sites_find(rows, n_rows, arena);
}
