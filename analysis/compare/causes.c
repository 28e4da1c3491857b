#include "analysis/compare/causes.h"

#include "analysis/loop/category.h"
#include "base/bytes.h"
#include "base/numbers.h"
#include "base/search.h"
#include "base/sort.h"
#include "layout/site.h"

enum {
    SHARED_LEAST = 3, /* this many sites that change by the same factor share a cause */
    LIFETIME_LEAST =
        77, /* in 1/256 of a binary logarithm: a fifth longer; less is the noise of other changes */
    MOVED_MOST = 20
};

/* ---- one site ---- */

static uint64_t mean_of(uint64_t sum, uint64_t count) {
    return count != 0 ? (sum + count / 2) / count : 0;
}

static uint64_t mean_size(const struct site_profile *profile) {
    if (profile->made != 0)
        return mean_of(profile->made_bytes, profile->made);
    return mean_of(profile->bytes, profile->count);
}

static bool sizes_differ(const struct site_profile *a, const struct site_profile *b) {
    uint64_t of_a = mean_size(a), of_b = mean_size(b), apart = distance_of(of_a, of_b);
    if (a->least_bytes == b->least_bytes && a->most_bytes == b->most_bytes)
        return false; /* the mean of the same sizes also moves with how often each is made */
    return apart > (of_a >> 10);
}

/* Objects made once to stay, such as parameters and their state, are not part of every step. */
static bool is_for_good(const struct site_profile *profile) {
    return profile->at_end * 2 >= profile->made;
}

static bool is_per_step(const struct site_profile *a, const struct site_profile *b,
                        struct cause_steps steps) {
    return steps.a != 0 && steps.b != 0 && !(is_for_good(a) && is_for_good(b));
}

/* Do the allocations per step differ (in the whole run, if there are no steps)? */
static bool rates_differ(const struct site_profile *a, const struct site_profile *b,
                         struct cause_steps steps) {
    if (!is_per_step(a, b, steps))
        return a->made != b->made;
    uint64_t left = a->in_steps * steps.b, right = b->in_steps * steps.a, apart = distance_of(left, right);
    uint64_t per_a = mean_of(a->in_steps, steps.a), per_b = mean_of(b->in_steps, steps.b);
    return per_a != per_b && apart > (steps.a != steps.b ? (left < right ? left : right) / 4 : 0);
}

/* Does the rate move as the bytes do and, in proportion, account for at least half of the change in what is alive? */
static bool rate_explains(const struct site_profile *a, const struct site_profile *b,
                          struct cause_steps steps) {
    bool per_step = is_per_step(a, b, steps);
    uint64_t of_a = per_step ? a->in_steps * steps.b : a->made,
             of_b = per_step ? b->in_steps * steps.a : b->made;
    return (of_a < of_b) == (a->bytes < b->bytes) &&
           distance_of(of_a, of_b) * larger_of(a->count, b->count) * 2 >=
               distance_of(a->count, b->count) * larger_of(of_a, of_b);
}

/* Do the same number of steps make alike, and only the number of what stays differs, as of an optimizer's state? */
static bool more_stays(const struct site_profile *a, const struct site_profile *b, struct cause_steps steps) {
    return steps.a == steps.b && a->made != b->made && b->made - a->made == b->at_end - a->at_end &&
           a->older == b->older && (a->made < b->made) == (a->bytes < b->bytes);
}

static uint64_t mean_bits(const struct site_profile *profile) {
    return mean_of(profile->lifetime_bits, profile->made);
}

static bool lifetimes_differ(const struct site_profile *a, const struct site_profile *b) {
    uint64_t of_a = mean_bits(a), of_b = mean_bits(b), apart = distance_of(of_a, of_b);
    return a->made != 0 && b->made != 0 && apart >= LIFETIME_LEAST && (of_a < of_b) == (a->bytes < b->bytes);
}

/* Do they differ only in what is older than the recording, while what was made in it ends as before? */
static bool only_older_differs(const struct site_profile *a, const struct site_profile *b) {
    return a->older != b->older && b->at_end - a->at_end == b->older - a->older &&
           (a->older < b->older) == (a->bytes < b->bytes);
}

/* Is a site known only as the place where older memory was freed? */
static bool is_freed_here(const struct site_profile *profile) {
    return profile->freed_here != 0 && profile->freed_here == profile->older && profile->made == 0;
}

static enum cause_kind kind_of(const struct compare_site *site, struct cause_steps steps) {
    const struct site_profile *a = &site->a, *b = &site->b;
    if (!profile_exists(a))
        return is_freed_here(b) ? CAUSE_OLDER : CAUSE_NEW;
    if (!profile_exists(b))
        return is_freed_here(a) ? CAUSE_OLDER : CAUSE_GONE;
    /* A change that goes against the difference is not its cause. */
    bool size = sizes_differ(a, b) && (mean_size(a) < mean_size(b)) == (a->bytes < b->bytes);
    if (rates_differ(a, b, steps) && rate_explains(a, b, steps))
        return size && a->made == b->made ? CAUSE_SIZE : CAUSE_OFTEN;
    if (size || (a->count != 0 && a->count == b->count)) /* what is alive has other sizes */
        return CAUSE_SIZE;
    if (more_stays(a, b, steps))
        return CAUSE_OFTEN;
    if (!lifetimes_differ(a, b) && only_older_differs(a, b))
        return CAUSE_OLDER;
    if (lifetimes_differ(a, b) || (a->at_end < b->at_end && a->bytes < b->bytes) ||
        (a->at_end > b->at_end && a->bytes > b->bytes))
        return CAUSE_KEPT;
    return a->older != b->older ? CAUSE_OLDER : CAUSE_MOMENT;
}

static void figures_set(struct cause *cause, const struct compare_site *site, struct cause_steps steps) {
    const struct site_profile *a = &site->a, *b = &site->b;
    cause->per_step = is_per_step(a, b, steps) && rates_differ(a, b, steps);
    cause->freed_here = is_freed_here(a) || is_freed_here(b) ||
                        (cause->kind == CAUSE_OLDER && (a->freed_here | b->freed_here) != 0);
    if (cause->kind == CAUSE_SIZE) {
        bool alive = a->count != 0 && a->count == b->count;
        cause->from = alive ? mean_of(a->bytes, a->count) : mean_size(a);
        cause->to = alive ? mean_of(b->bytes, b->count) : mean_size(b);
        cause->mean = alive ? a->bytes != a->largest * a->count || b->bytes != b->largest * b->count
                            : a->least_bytes != a->most_bytes || b->least_bytes != b->most_bytes;
    } else if (cause->kind == CAUSE_OFTEN) {
        cause->from = cause->per_step ? mean_of(a->in_steps, steps.a) : a->made;
        cause->to = cause->per_step ? mean_of(b->in_steps, steps.b) : b->made;
    } else if (cause->kind == CAUSE_OLDER) {
        cause->from = a->older;
        cause->to = b->older;
    }
}

/* ---- the whole ---- */

struct finding {
    struct causes *causes;
    const struct comparison *comparison;
    struct cause_steps steps;
    uint32_t capacity;
    struct arena *arena;
};

static struct cause *cause_add(struct finding *finding, enum cause_kind kind, uint32_t row) {
    struct causes *causes = finding->causes;
    const struct compare_site *site = &finding->comparison->site[row];
    if (!ARENA_GROW(finding->arena, causes->cause, finding->capacity, (uint64_t)causes->count + 1))
        return NULL;
    struct cause *cause = &causes->cause[causes->count++];
    *cause = (struct cause){
        .kind = kind, .bytes = compare_delta(site->a.bytes, site->b.bytes), .row = row, .n_sites = 1};
    figures_set(cause, site, finding->steps);
    return cause;
}

static uint64_t largest_of(const struct compare_site *site) {
    return larger_of(site->a.largest, site->b.largest);
}

/* The largest allocation of the sites of one side that cancel out with what has no stack: they are the same memory. 0: there
 * is no such. O(sites). */
static uint64_t largest_unstacked(const struct comparison *comparison) {
    const struct compare_site *site = comparison->site, *bare = NULL;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < comparison->n_listed; i++)
        if (site[i].match == SITE_ALONE && (site[i].a.site == 0 || site[i].b.site == 0))
            bare = &site[i];
    for (uint32_t i = 0; bare != NULL && i < comparison->n_listed; i++)
        if (site[i].match == SITE_ALONE && largest_of(&site[i]) == largest_of(bare))
            sum += site[i].b.bytes - site[i].a.bytes;
    return bare != NULL && sum == 0 ? largest_of(bare) : 0;
}

/* Rows come with the largest difference first, and so do the causes of one site. */
static bool rows_judge(struct finding *finding) {
    struct cause moment = {.kind = CAUSE_MOMENT};
    uint64_t unstacked = largest_unstacked(finding->comparison);
    for (uint32_t i = 0; i < finding->comparison->n_listed; i++) {
        const struct compare_site *site = &finding->comparison->site[i];
        int64_t delta = compare_delta(site->a.bytes, site->b.bytes);
        if (delta == 0 || (site->match == SITE_ALONE && unstacked != 0 && largest_of(site) == unstacked))
            continue;
        enum cause_kind kind = kind_of(site, finding->steps);
        if (kind != CAUSE_MOMENT) {
            if (cause_add(finding, kind, i) == NULL)
                return false;
            continue;
        }
        moment.row = moment.n_sites == 0 ? i : moment.row;
        moment.bytes = (int64_t)((uint64_t)moment.bytes + (uint64_t)delta);
        moment.n_sites++;
    }
    if (moment.n_sites == 0)
        return true;
    struct cause *cause = cause_add(finding, CAUSE_MOMENT, moment.row);
    if (cause != NULL)
        *cause = moment;
    return cause != NULL;
}

/* The factor that causes of one kind share, in 1/1024. Lifetimes share only their direction. */
static uint64_t factor_of(const struct cause *cause) {
    if (cause->kind == CAUSE_KEPT)
        return cause->bytes > 0;
    uint64_t divisor = common_divisor(cause->from, cause->to);
    uint64_t from = divisor != 0 ? cause->from / divisor : 0, to = divisor != 0 ? cause->to / divisor : 0;
    return from == 0               ? UINT64_MAX >> 8
           : to > UINT64_MAX >> 10 ? UINT64_MAX >> 8
                                   : ((to << 10) + from / 2) / from;
}

/* Joins causes with an equal key into the first of them; `rows` are sorted by key, then by place. */
static void causes_join(struct causes *causes, const struct sort_row *rows, uint32_t count) {
    for (uint32_t from = 0, until; from < count; from = until) {
        until = sort_rows_end(rows, count, from);
        struct cause *first = &causes->cause[rows[from].value];
        if (until - from < SHARED_LEAST)
            continue;
        for (uint32_t i = from + 1; i < until; i++) {
            struct cause *other = &causes->cause[rows[i].value];
            first->bytes = (int64_t)((uint64_t)first->bytes + (uint64_t)other->bytes);
            first->n_sites += other->n_sites;
            other->n_sites = 0; /* joined */
        }
    }
}

static bool shared_join(struct finding *finding) {
    struct causes *causes = finding->causes;
    uint32_t n = 0, left = 0;
    struct sort_row *rows, *spare;
    bool done = ARENA_COLUMNS(finding->arena, causes->count, rows, spare);
    for (uint32_t i = 0; done && i < causes->count; i++) {
        enum cause_kind kind = causes->cause[i].kind;
        if (kind == CAUSE_SIZE || kind == CAUSE_OFTEN || kind == CAUSE_KEPT)
            rows[n++] = (struct sort_row){(uint64_t)kind << 56 | factor_of(&causes->cause[i]) >> 4, i};
    }
    if (done) {
        sort_rows(rows, spare, n);
        causes_join(causes, rows, n);
        for (uint32_t i = 0; i < causes->count; i++)
            if (causes->cause[i].n_sites != 0)
                causes->cause[left++] = causes->cause[i];
        causes->count = left;
    }
    ARENA_DROP(finding->arena, spare, rows);
    return done;
}

/* ---- one change behind several causes ---- */

static const struct compare_site *row_of(const struct finding *finding, const struct cause *cause) {
    return &finding->comparison->site[cause->row];
}

/* Did the data type change, and not batch or sequence? Then weights change too, or copies of them come or go, or
 * token ids, which are integers, stay. */
static bool is_dtype(const struct finding *finding, const struct cause *cause) {
    static const uint32_t weights =
        1u << CATEGORY_PARAMETER | 1u << CATEGORY_GRADIENT | 1u << CATEGORY_OPTIMIZER_STATE;
    uint64_t factor = factor_of(cause);
    uint32_t copies_a = 0, copies_b = 0;
    bool weighs = false, stays = false;
    for (uint32_t i = 0; i < finding->comparison->n_sites; i++) {
        const struct compare_site *site = &finding->comparison->site[i];
        copies_a |= site->a.categories & 1u << CATEGORY_WEIGHT_COPY;
        copies_b |= site->b.categories & 1u << CATEGORY_WEIGHT_COPY;
        if (!profile_exists(&site->a) || !profile_exists(&site->b))
            continue;
        uint32_t both = site->a.categories & site->b.categories;
        weighs |= (both & weights) != 0 && factor_of(&(struct cause){.from = mean_size(&site->a),
                                                                     .to = mean_size(&site->b)}) == factor;
        if ((both & 1u << CATEGORY_INPUT) == 0)
            continue;
        if (sizes_differ(&site->a, &site->b))
            return false;
        stays = true;
    }
    bool width = factor == 256 || factor == 512 || factor == 2048 || factor == 4096; /* in 1024ths */
    const struct compare_site *first = row_of(finding, cause);
    return width && sizes_differ(&first->a, &first->b) && (weighs || stays || copies_a != copies_b);
}

/* The change that most sites share; NULL: none. */
static struct cause *shared_largest(const struct finding *finding) {
    struct cause *best = NULL;
    for (uint32_t i = 0; i < finding->causes->count; i++) {
        struct cause *cause = &finding->causes->cause[i];
        if (cause->kind == CAUSE_SIZE && cause->n_sites >= SHARED_LEAST &&
            (best == NULL || cause->n_sites > best->n_sites))
            best = cause;
    }
    return best;
}

/* Does it follow from a change by the factor `shared`: as its square (attention by sequence length), or as copies
 * for a data type? */
static bool is_entailed(const struct finding *finding, const struct cause *cause,
                        const struct cause *shared) {
    const struct compare_site *site = row_of(finding, cause);
    uint64_t factor = factor_of(shared);
    if (shared->kind == CAUSE_SIZE)
        return cause->kind == CAUSE_SIZE && cause != shared && !cause->mean && factor < UINT64_C(1) << 20 &&
               factor_of(cause) >> 4 == (factor * factor >> 10) >> 4;
    return shared->kind == CAUSE_DTYPE &&
           ((cause->kind == CAUSE_NEW && site->b.categories == 1u << CATEGORY_WEIGHT_COPY) ||
            (cause->kind == CAUSE_GONE && site->a.categories == 1u << CATEGORY_WEIGHT_COPY));
}

static void shared_name(struct finding *finding) {
    struct cause *shared = shared_largest(finding);
    if (shared == NULL)
        return;
    if (is_dtype(finding, shared))
        shared->kind = CAUSE_DTYPE;
    for (uint32_t i = 0; i < finding->causes->count; i++)
        finding->causes->cause[i].follows = is_entailed(finding, &finding->causes->cause[i], shared);
}

/* Joins the sites of a backward (or an optimizer) that only one recording has into one cause, at the place of the
 * first. */
static void phases_join(struct finding *finding) {
    struct causes *causes = finding->causes;
    for (uint32_t side = SIDE_BACKWARD; side <= SIDE_OPTIMIZER; side++) {
        uint32_t parts_a = 0, parts_b = 0, left = 0;
        struct cause *first = NULL;
        for (uint32_t i = 0; i < finding->comparison->n_sites; i++) {
            parts_a |= finding->comparison->site[i].a.parts;
            parts_b |= finding->comparison->site[i].b.parts;
        }
        if (((parts_a ^ parts_b) >> side & 1) == 0 || parts_a == 0 || parts_b == 0)
            continue;
        for (uint32_t i = 0; i < causes->count; i++) {
            struct cause *cause = &causes->cause[i];
            const struct compare_site *site = row_of(finding, cause);
            bool joins = (cause->kind == CAUSE_NEW && site->b.parts == 1u << side) ||
                         (cause->kind == CAUSE_GONE && site->a.parts == 1u << side);
            if (joins && first != NULL) {
                first->bytes = (int64_t)((uint64_t)first->bytes + (uint64_t)cause->bytes);
                first->n_sites++;
                continue;
            }
            causes->cause[left] = *cause;
            if (joins) {
                first = &causes->cause[left];
                first->kind = CAUSE_PHASE;
                first->phase = (uint8_t)side;
                first->from = (parts_a >> side & 1) != 0;
            }
            left++;
        }
        causes->count = left;
    }
}

/* By falling size; consequences of the first cause, and of the moments, come last. */
static uint64_t cause_key(const void *record, uint32_t nth) {
    const struct cause *cause = record;
    return nth == 1 ? ~magnitude_of(cause->bytes) : cause->kind == CAUSE_MOMENT ? 2 : cause->follows;
}

static bool moved_add(struct finding *finding) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < finding->comparison->n_sites && n < MOVED_MOST; i++) {
        const struct compare_site *site = &finding->comparison->site[i];
        if (site->match == SITE_SAME || site->match == SITE_ALONE || site->a.bytes != site->b.bytes)
            continue;
        if (cause_add(finding, CAUSE_MOVED, i) == NULL)
            return false;
        n++;
    }
    return true;
}

bool causes_find(struct causes *causes, const struct comparison *comparison, struct cause_steps steps,
                 struct arena *arena) {
    struct finding finding = {.causes = causes, .comparison = comparison, .steps = steps, .arena = arena};
    *causes = (struct causes){0};
    if (!rows_judge(&finding) || !shared_join(&finding))
        return false;
    phases_join(&finding);
    shared_name(&finding);
    return sort_records(causes->cause, causes->count, sizeof *causes->cause, cause_key, 2, arena) &&
           moved_add(&finding);
}

/* ---- comparing phases ---- */

void phase_peaks_find(struct phase_peak peaks[PHASE_PEAKS], const struct spans *a, const struct spans *b) {
    const struct spans *sides[] = {a, b};
    for (uint32_t p = 0; p < PHASE_PEAKS; p++) {
        bool found[2] = {false, false};
        peaks[p] = (struct phase_peak){0};
        for (uint32_t s = 0; s < 2; s++) {
            uint64_t *bytes = s == 0 ? &peaks[p].a_bytes : &peaks[p].b_bytes;
            uint32_t *moment = s == 0 ? &peaks[p].a_moment : &peaks[p].b_moment;
            for (uint32_t i = 0; i < sides[s]->count; i++) {
                const struct span *span = &sides[s]->span[i];
                if (span->kind != SPAN_FORWARD + p || (found[s] && span->peak_bytes <= *bytes))
                    continue;
                found[s] = true;
                *bytes = span->peak_bytes;
                *moment = span->peak_moment;
            }
        }
        peaks[p].known = found[0] && found[1];
    }
}

bool causes_add_phase(struct causes *causes, const struct comparison *comparison,
                      const struct phase_peak peaks[PHASE_PEAKS], struct cause_steps steps,
                      const struct compare_side *a, const struct compare_side *b, struct arena *arena) {
    uint64_t told = distance_of(comparison->a_bytes, comparison->b_bytes), most = 0;
    uint64_t larger = comparison->a_bytes < comparison->b_bytes ? comparison->b_bytes : comparison->a_bytes;
    uint32_t phase = 0;
    for (uint32_t p = 0; p < PHASE_PEAKS; p++) {
        uint64_t apart = distance_of(peaks[p].a_bytes, peaks[p].b_bytes);
        if (!peaks[p].known || apart <= most)
            continue;
        most = apart;
        phase = p;
    }
    if (most <= told || most - told < larger / 10)
        return true;
    struct compare_side at_a = *a, at_b = *b;
    struct comparison there;
    struct causes found;
    at_a.moment = peaks[phase].a_moment;
    at_b.moment = peaks[phase].b_moment;
    struct cause *cause = arena_column(arena, (uint64_t)causes->count + 1, sizeof *cause);
    if (cause == NULL || !compare_sites(&there, &at_a, &at_b, arena) ||
        !causes_find(&found, &there, steps, arena))
        return false;
    bytes_copy(cause + 1, causes->cause, (size_t)causes->count * sizeof *cause);
    const struct cause phase_alone = {.kind = CAUSE_ELSEWHERE,
                                      .from = peaks[phase].a_bytes,
                                      .to = peaks[phase].b_bytes,
                                      .inside = CAUSE_ELSEWHERE};
    *cause = phase_alone;
    cause->n_sites = 1;
    /* Can the first cause there be told without figures of the compared moments? */
    enum cause_kind kind = found.count > 0 ? found.cause[0].kind : CAUSE_MOMENT;
    if (kind == CAUSE_SIZE || kind == CAUSE_DTYPE || kind == CAUSE_OFTEN) {
        *cause = found.cause[0];
        cause->inside = (uint8_t)kind;
        cause->kind = CAUSE_ELSEWHERE;
    }
    const struct compare_site *site = there.n_sites != 0 ? &there.site[cause->row] : NULL;
    uint32_t row = site != NULL ? 0 : comparison->n_sites;
    while (row < comparison->n_sites &&
           (comparison->site[row].a.site != site->a.site || comparison->site[row].b.site != site->b.site))
        row++;
    if (row == comparison->n_sites) /* no line of these moments is to blame */
        *cause = phase_alone;
    cause->row = row == comparison->n_sites ? 0 : row;
    cause->bytes = compare_delta(peaks[phase].a_bytes, peaks[phase].b_bytes);
    cause->phase = (uint8_t)(SPAN_FORWARD + phase);
    causes->cause = cause;
    causes->count++;
    return true;
}

/* ---- where allocations end ---- */

enum { DEATHS_CAUSES = 16, DEATH_PLACES = DIES_NEVER + 1 };

/* The phase of a step at a moment; NULL: none. Phases rise, annotations come last. */
static const struct span *phase_at(const struct spans *phases, uint32_t moment) {
    uint32_t high = phases->count;
    while (high > 0 && phases->span[high - 1].kind == SPAN_ANNOTATION)
        high--;
    uint32_t low = SEARCH(0, high, i, phases->span[i].from_moment <= moment);
    return low != 0 && moment <= phases->span[low - 1].to_moment ? &phases->span[low - 1] : NULL;
}

static enum cause_death death_of(const struct compare_side *side, const struct spans *phases,
                                 uint32_t allocation) {
    const struct allocations *allocations = &side->timeline->device->allocations;
    const struct span *birth = phase_at(phases, allocations->birth[allocation]), *death;
    if (allocations->death[allocation] >= side->timeline->n_moments)
        return DIES_NEVER;
    death = phase_at(phases, allocations->death[allocation]);
    if (birth == NULL || death == NULL)
        return DIES_UNKNOWN;
    if (birth->step != death->step)
        return DIES_LATER;
    return death->kind == SPAN_FORWARD     ? DIES_IN_FORWARD
           : death->kind == SPAN_BACKWARD  ? DIES_IN_BACKWARD
           : death->kind == SPAN_OPTIMIZER ? DIES_IN_OPTIMIZER
                                           : DIES_UNKNOWN;
}

static enum cause_death deaths_of(const struct compare_side *side, const struct spans *phases,
                                  const uint32_t *same, uint32_t site) {
    const struct allocations *allocations = &side->timeline->device->allocations;
    uint64_t count[DEATH_PLACES] = {0};
    uint32_t most = DIES_UNKNOWN;
    for (uint32_t i = allocations->preexisting; i < allocations->count; i++)
        if (filter_keeps(side->keep, i) && same[side->timeline->site[allocations->stack[i]]] == site)
            count[death_of(side, phases, i)]++;
    uint64_t all = count[DIES_UNKNOWN];
    for (uint32_t i = 1; i < DEATH_PLACES; i++) {
        all += count[i];
        most = count[i] > count[most] ? i : most;
    }
    return count[most] * 2 > all ? (enum cause_death)most : DIES_UNKNOWN;
}

bool causes_find_deaths(struct causes *causes, const struct comparison *comparison,
                        const struct compare_side *a, const struct spans *phases_a,
                        const struct compare_side *b, const struct spans *phases_b, struct arena *arena) {
    uint32_t *same_a = arena_column(arena, a->timeline->trace->frames.count, sizeof *same_a);
    uint32_t *same_b = arena_column(arena, b->timeline->trace->frames.count, sizeof *same_b);
    bool done = same_a != NULL && same_b != NULL && frames_same(a->timeline->trace, same_a, arena) &&
                frames_same(b->timeline->trace, same_b, arena);
    for (uint32_t i = 0, n = 0; done && i < causes->count && n < DEATHS_CAUSES; i++) {
        struct cause *cause = &causes->cause[i];
        const struct compare_site *site = &comparison->site[cause->row];
        /* The mean lifetime may say the opposite: where gradients add up, the few that stay do not move it. */
        if (cause->kind != CAUSE_KEPT || (mean_bits(&site->a) < mean_bits(&site->b)) != (cause->bytes > 0))
            continue;
        cause->dies_a = (uint8_t)deaths_of(a, phases_a, same_a, site->a.site);
        cause->dies_b = (uint8_t)deaths_of(b, phases_b, same_b, site->b.site);
        n++;
    }
    ARENA_DROP(arena, same_b, same_a);
    return done;
}
