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
static bool row_is_usual(const struct crew *crew, uint32_t index) {
    return !crew->without_oom || !crew->rows[index].oom;
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
    const struct rank_profile *profile = row->profile;
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

/* How far from its peers' median a rank of the crew usually is. */
struct spread {
    uint64_t deviation; /* the median of the distances */
    uint64_t second;    /* the second highest value of two or three */
    uint32_t count;
};

static void figure_judge(struct outlier_figure *figure, enum outlier_measure measure, uint64_t whole,
                         struct spread spread) {
    uint64_t difference = distance_of(figure->value, figure->median);
    uint64_t score = score_of(difference, spread.deviation);
    figure->score = figure->value < figure->median ? -(int64_t)score : (int64_t)score;
    if (spread.count >= COMPARED_LEAST)
        figure->odd = is_worth(measure, difference, whole) &&
                      (spread.deviation == 0 || score > score_limit(spread.count)) &&
                      (measure != OUTLIER_GROWTH || figure->value > figure->median);
    else if (spread.count > 1 && figure->value > spread.second && measure != OUTLIER_EVENTS) {
        figure->median = spread.second;
        figure->higher = is_worth(measure, figure->value - spread.second, spread.second);
    }
}

/* The end of the members from `from` on that are peers. */
static uint32_t peers_end(const struct crew *crew, uint32_t from) {
    uint32_t to = from, peers = crew->rows[crew->member[from]].peers;
    while (to < crew->count && crew->rows[crew->member[to]].peers == peers)
        to++;
    return to;
}

/* Fills values and medians with what the usual ranks have at `step`. The median of two peers is the lower value, so that
 * one that has too much does not move it. Values are nearer to a median of few peers, which they move, than to that of
 * all: so a distance of 0 for each further median does not count, and the deviation is larger by the part of the values
 * that medians take. */
static struct spread crew_spread(struct crew *crew, enum outlier_measure measure, int64_t step) {
    struct spread spread = {0};
    uint32_t n_medians = 0;
    for (uint32_t from = 0, to; from < crew->count; from = to) {
        struct sort_row *own = crew->values + spread.count;
        uint32_t n = 0;
        to = peers_end(crew, from);
        for (uint32_t i = from; i < to; i++) {
            uint64_t value = value_at(&crew->rows[crew->member[i]], measure, step);
            if (value != none && row_is_usual(crew, crew->member[i]))
                own[n++] = (struct sort_row){value, crew->member[i]};
        }
        uint64_t median = n != 0 ? outliers_median(own, crew->spare, n) : 0;
        if (n == 2 && crew->count > 2)
            median = own[0].key;
        n_medians += n != 0;
        spread.second = n > 1 ? own[n - 2].key : 0;
        for (uint32_t i = 0; i < n; i++, spread.count++) {
            crew->medians[spread.count] = median;
            crew->deviations[spread.count] = (struct sort_row){distance_of(own[i].key, median), 0};
        }
    }
    if (spread.count == 0)
        return spread;
    sort_rows(crew->deviations, crew->spare, spread.count);
    spread.deviation =
        outliers_median(crew->deviations + (n_medians - 1), crew->spare, spread.count - (n_medians - 1));
    if (spread.count > n_medians)
        spread.deviation += spread.deviation / (spread.count - n_medians) * (n_medians - 1);
    return spread;
}

/* Judges all rows of the crew that are compared at `step`, by one measure. */
static void measure_judge(struct crew *crew, enum outlier_measure measure, int64_t step) {
    const struct spread spread = crew_spread(crew, measure, step);
    for (uint32_t i = 0; i < spread.count; i++) {
        struct outlier_row *row = &crew->rows[crew->values[i].value];
        struct outlier_figure *figure = &row->figure[measure];
        if (row->at_step != step)
            continue;
        *figure = (struct outlier_figure){true, crew->values[i].key, crew->medians[i], 0, false, false};
        figure_judge(figure, measure, whole_of(row, measure, figure->median, step), spread);
    }
}

/* ---- growth ---- */

/* The median of what each step adds, so that one step that makes something permanent is not growth. */
static void growth_find(struct outlier_row *row) {
    enum { STEPS_LEAST = 2 };
    const struct rank_profile *profile = row->profile;
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
}

/* ---- a crew ---- */

/* The number of complete steps that half of the usual rows have, and the number of the step that half have reached
 * (RANK_NO_STEP: fewer than half have one). */
static int64_t common_step(struct crew *crew, uint32_t *median_steps) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < crew->count; i++) {
        const struct outlier_row *row = &crew->rows[crew->member[i]];
        if (!row_is_usual(crew, crew->member[i]))
            continue;
        crew->deviations[count] = (struct sort_row){row->n_steps, 0};
        crew->values[count++] = (struct sort_row){(uint64_t)rank_last_step(row->profile) + 1, 0};
    }
    sort_rows(crew->values, crew->spare, count);
    *median_steps = (uint32_t)outliers_median(crew->deviations, crew->spare, count);
    return (int64_t)crew->values[(count - 1) / 2].key - 1;
}

static uint64_t events_of(const struct outlier_row *row) {
    return row->n_events;
}

static uint64_t begin_of(const struct outlier_row *row) {
    return row->profile->n_steps != 0 ? row->profile->step[0].begin_bytes : 0;
}

static uint64_t crew_median(struct crew *crew, uint64_t (*figure)(const struct outlier_row *row)) {
    for (uint32_t i = 0; i < crew->count; i++)
        crew->values[i] = (struct sort_row){figure(&crew->rows[crew->member[i]]), 0};
    return outliers_median(crew->values, crew->spare, crew->count);
}

/* Compares each row at the last step that it shares with most rows; if most have none, over the whole recording. */
static void steps_choose(struct crew *crew) {
    uint32_t median, n_whole = 0;
    for (uint32_t i = 0; i < crew->count; i++) {
        struct outlier_row *row = &crew->rows[crew->member[i]];
        row->n_steps = rank_complete_steps(row->profile);
        n_whole += !row->oom;
    }
    crew->without_oom = n_whole >= COMPARED_LEAST;
    int64_t common = common_step(crew, &median);
    uint64_t events = crew_median(crew, events_of), begin = crew_median(crew, begin_of);
    for (uint32_t i = 0; i < crew->count; i++) {
        struct outlier_row *row = &crew->rows[crew->member[i]];
        int64_t last = rank_last_step(row->profile);
        row->median_steps = median;
        row->stopped_early = last < common && row->n_events < events - events / 20 &&
                             begin_of(row) <= begin + begin / worth_share + worth_bytes;
        row->at_step = last < common ? last : common;
        if (common != RANK_NO_STEP && row->at_step == RANK_NO_STEP)
            row->at_step = INT64_MAX; /* not compared, because it has no complete step */
    }
}

/* Judges at every distinct step at which rows are compared. `at` is sorted by it. */
static bool steps_judge(struct crew *crew) {
    struct sort_row *at = arena_column(crew->arena, crew->count, sizeof *at);
    if (at == NULL)
        return false;
    for (uint32_t i = 0; i < crew->count; i++)
        at[i] = (struct sort_row){(uint64_t)crew->rows[crew->member[i]].at_step + 1, 0};
    sort_rows(at, crew->spare, crew->count);
    for (uint32_t i = 0; i < crew->count; i++)
        if (i == 0 || at[i].key != at[i - 1].key)
            for (uint32_t measure = 0; measure < OUTLIER_MEASURES; measure++)
                measure_judge(crew, (enum outlier_measure)measure, (int64_t)(at[i].key - 1));
    ARENA_DROP(crew->arena, at);
    return true;
}

static bool row_stands_out(const struct outlier_row *row) {
    for (uint32_t i = 0; i < OUTLIER_MEASURES; i++)
        if (row->figure[i].odd || row->figure[i].higher)
            return true;
    return row->oom;
}

/* Finds the differences of those of some peers that stand out. */
static bool peers_compare(struct crew peers) {
    struct tally kept = {0};
    bool done = true;
    peers.kept = &kept;
    for (uint32_t i = 0; done && peers.count > 1 && i < peers.count; i++)
        if (row_stands_out(&peers.rows[peers.member[i]]))
            done = outliers_compare(&peers, peers.member[i]);
    outliers_tally_drop(&peers, &kept);
    return done;
}

static bool crew_judge(struct crew *crew) {
    steps_choose(crew);
    bool done = steps_judge(crew);
    for (uint32_t from = 0, to; done && from < crew->count; from = to) {
        struct crew peers = *crew;
        to = peers_end(crew, from);
        peers.member += from;
        peers.count = to - from;
        for (uint32_t i = from; i < to; i++) {
            crew->rows[crew->member[i]].crew_size = crew->count;
            growth_find(&crew->rows[crew->member[i]]);
        }
        done = peers_compare(peers);
    }
    return done;
}

bool outliers_find(struct outlier_row *rows, uint32_t n_rows, struct arena *arena) {
    struct peer_row *of;
    uint32_t *peers, *number, *member;
    struct sort_row *order;
    struct crew crew = {.rows = rows, .arena = arena};
    if (!ARENA_COLUMNS(arena, n_rows, of, peers, number, member, order, crew.values, crew.deviations,
                       crew.spare, crew.medians))
        return false;
    for (uint32_t i = 0; i < n_rows; i++)
        of[i] = rows[i].of;
    if (!peers_find(of, n_rows, arena, peers, number))
        return false;
    SORT_BY(order, crew.spare, n_rows, i, peers[i]);
    for (uint32_t i = 0; i < n_rows; i++) {
        rows[i].peers = peers[i];
        member[i] = order[i].value;
    }
    SORT_AGAIN(order, crew.spare, n_rows, own, number[own]);
    for (uint32_t from = 0, to; from < n_rows; from = to) {
        to = sort_rows_end(order, n_rows, from);
        crew.member = member + from;
        crew.count = to - from;
        if (!crew_judge(&crew))
            return false;
    }
    return true;
}
