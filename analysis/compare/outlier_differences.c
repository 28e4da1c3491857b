/* Finds the call sites that make a rank unlike the others: compares each site's bytes at a moment with the peers'
 * median at the same moment. The other ranks' tables are collected in a tally, sorted by site. */
#include "analysis/compare/outliers_internal.h"
#include "base/search.h"
#include "base/sort.h"

/* Among peers of at least this number a rank is compared with all ranks, itself included, which hardly moves a median;
 * so one tally serves all. */
enum { TALLY_SHARED = 16 };

/* Collects the tables to compare with: the same moment of every one of the peers except row `but`. */
static bool tally_collect(struct crew *peers, int64_t step, enum rank_moment at, uint32_t but,
                          struct tally *tally) {
    uint32_t n_tables = 0;
    *tally = (struct tally){.step = step, .at = at};
    if (!ARENA_COLUMNS(peers->arena, (uint64_t)peers->count * RANK_ENTRIES_MOST, tally->entries, tally->spare,
                       tally->bytes))
        return false;
    for (uint32_t i = 0; i < peers->count; i++) {
        const struct rank_profile *profile = peers->rows[peers->member[i]].profile;
        const struct rank_table *table = peers->member[i] != but ? rank_table_of(profile, step, at) : NULL;
        if (table == NULL)
            continue;
        peers->values[n_tables++] = (struct sort_row){table->total_bytes, 0};
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
        tally->median_total = outliers_median(peers->values, peers->spare, n_tables);
    return true;
}

void outliers_tally_drop(struct crew *peers, struct tally *tally) {
    ARENA_DROP(peers->arena, tally->entries, tally->spare, tally->bytes);
}

/* The median of a site whose entries are [from, to); tables without it count as 0. */
static uint64_t tally_median(struct crew *peers, const struct tally *tally, uint32_t from, uint32_t to) {
    uint32_t present = to - from < peers->count ? to - from : peers->count;
    uint32_t absent = tally->n_tables > present ? tally->n_tables - present : 0;
    for (uint32_t i = 0; i < present; i++)
        peers->values[i] = (struct sort_row){tally->bytes[tally->entries[from + i].value], 0};
    sort_rows(peers->values, peers->spare, present);
    uint32_t low = (tally->n_tables - 1) / 2, high = tally->n_tables / 2;
    uint64_t a = low < absent ? 0 : peers->values[low - absent].key;
    uint64_t b = high < absent ? 0 : peers->values[high - absent].key;
    return a + (b - a) / 2;
}

/* Bytes of a site in a table; 0 if absent. */
static uint64_t table_bytes(const struct rank_profile *profile, const struct rank_table *table,
                            uint32_t site) {
    for (uint32_t i = 0; i < table->count; i++)
        if (profile->call[table->entry[i].call].site == site)
            return table->entry[i].bytes;
    return 0;
}

/* Excess before deficit, each by falling size. */
static bool difference_before(const struct outlier_difference *a, const struct outlier_difference *b) {
    bool more_a = a->bytes > a->median_bytes, more_b = b->bytes > b->median_bytes;
    if (more_a != more_b)
        return more_a;
    return distance_of(a->bytes, a->median_bytes) > distance_of(b->bytes, b->median_bytes);
}

static void difference_add(struct outlier_row *row, struct outlier_difference difference) {
    if (difference.bytes != difference.median_bytes)
        INSERT(row->difference, row->n_differences, OUTLIER_DIFFERENCES, difference, other,
               difference_before(&difference, other));
}

/* A row that has the site, to find its name. */
static uint32_t site_owner(const struct crew *peers, uint32_t site, uint32_t first) {
    for (uint32_t i = 0; i <= peers->count; i++) {
        uint32_t row = i == 0 ? first : peers->member[i - 1];
        const struct rank_profile *profile = peers->rows[row].profile;
        for (uint32_t k = 0; k < profile->n_calls; k++)
            if (profile->call[k].site == site)
                return row;
    }
    return first;
}

static void differences_of(struct crew *peers, uint32_t index, const struct rank_table *mine,
                           const struct tally *tally) {
    struct outlier_row *row = &peers->rows[index];
    const struct rank_profile *profile = row->profile;
    for (uint32_t from = 0, to; from < tally->count; from = to) {
        uint32_t site = (uint32_t)tally->entries[from].key;
        to = sort_rows_end(tally->entries, tally->count, from);
        difference_add(row, (struct outlier_difference){site, 0, table_bytes(profile, mine, site),
                                                        tally_median(peers, tally, from, to)});
    }
    for (uint32_t i = 0; i < mine->count; i++) {
        uint32_t site = profile->call[mine->entry[i].call].site;
        uint32_t low = SEARCH(0, tally->count, k, tally->entries[k].key < site);
        if (low == tally->count || tally->entries[low].key != site)
            difference_add(row, (struct outlier_difference){site, 0, mine->entry[i].bytes, 0});
    }
    for (uint32_t i = 0; i < row->n_differences; i++)
        row->difference[i].owner = site_owner(peers, row->difference[i].site, index);
}

static void tally_use(struct crew *peers, uint32_t index, const struct rank_table *mine,
                      const struct tally *tally) {
    struct outlier_row *row = &peers->rows[index];
    if (tally->n_tables == 0)
        return;
    row->n_differences = 0;
    row->total_bytes = mine->total_bytes;
    row->total_median_bytes = tally->median_total;
    differences_of(peers, index, mine, tally);
}

static bool compare_at(struct crew *peers, uint32_t index, const struct rank_table *mine, int64_t step,
                       enum rank_moment at) {
    struct tally tally;
    if (peers->count >= TALLY_SHARED) {
        if (peers->kept->entries == NULL || peers->kept->step != step || peers->kept->at != at) {
            outliers_tally_drop(peers, peers->kept);
            if (!tally_collect(peers, step, at, UINT32_MAX, peers->kept))
                return false;
        }
        tally_use(peers, index, mine, peers->kept);
        return true;
    }
    if (!tally_collect(peers, step, at, index, &tally))
        return false;
    tally_use(peers, index, mine, &tally);
    outliers_tally_drop(peers, &tally);
    return true;
}

/* The last step up to `step` that has tables. */
static int64_t step_with_tables(const struct rank_profile *profile, int64_t step, enum rank_moment at) {
    int64_t found = RANK_NO_STEP;
    for (uint32_t i = 0; i < profile->n_tables; i++)
        if (profile->table[i].at == at && profile->table[i].step <= step && profile->table[i].step > found)
            found = profile->table[i].step;
    return found;
}

/* The phase of a step's highest moment, and the last step with its table. */
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

bool outliers_compare(struct crew *peers, uint32_t index) {
    struct outlier_row *row = &peers->rows[index];
    const struct rank_profile *profile = row->profile;
    const struct outlier_figure *peak = &row->figure[OUTLIER_PEAK];
    int64_t step = RANK_NO_STEP;
    enum rank_moment at = RANK_AT_PEAK;
    if (row->oom && profile->oom_step != RANK_NO_STEP && profile->oom_phase >= 0) {
        const struct rank_table *mine = rank_table_of(profile, RANK_NO_STEP, RANK_AT_OOM);
        at = (enum rank_moment)profile->oom_phase;
        if (mine != NULL && !compare_at(peers, index, mine, profile->oom_step, at))
            return false;
        /* If the others never reached that step, compares with their last step, which has the same phase. */
        if (mine != NULL && row->total_median_bytes == 0 && row->at_step != RANK_NO_STEP)
            return compare_at(peers, index, mine, step_with_tables(profile, row->at_step, at), at);
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
    return mine == NULL || compare_at(peers, index, mine, step, at);
}
