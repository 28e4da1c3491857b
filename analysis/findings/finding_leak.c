/*
 * A leak: what a call site makes turn after turn is kept, and freed together at the loop's end or not at all. Not leaks:
 * a weight that stays, a state that is made once, a queue that frees one for each that it takes.
 *
 *     turns        0    1    2    3    4    5
 *     a leak       never never never never never never
 *     one an epoch 2    2    2    5    5    5           freed together: two groups
 *     a queue      2    3    4    5    never never      nine tenths are in groups of one
 */
#include "analysis/findings/finder.h"

#include "analysis/loop/passes.h"
#include "base/bits.h"
#include "base/search.h"
#include "base/sort.h"

enum {
    INNER_LEAST = 3,
    BEGIN_MOST = 4096 /* allocations behind an optimizer's that are examined */
};

/* What a site keeps, over all its rows. */
struct kept {
    uint32_t first_turn, last_turn, n_turns; /* of rows that are freed together with another */
    uint32_t last_allocation;
    uint64_t bytes, last_bytes;
    uint32_t freed, gap; /* of the last row: sites with equal ones are let go together */
    uint32_t group_turn; /* of the last rows that are freed together: the first one */
    uint64_t group_bytes, group_first_bytes;
};

/* ---- which sites leak ---- */

/* The number of older allocations of this size that a turn frees: a full queue begins with such. */
static uint32_t olds_let_go(const struct lives *lives, const struct turn *turn, uint64_t size) {
    const struct sort_row *row = lives->old;
    uint32_t low = SEARCH(0, lives->n_old, i, row[i].key < size), count = 0;
    for (; low < lives->n_old && row[low].key == size; low++) {
        uint32_t freed = lives->allocations->request[row[low].value];
        count += freed >= turn->begin_moment && freed < turn->end_moment;
    }
    return count;
}

/* A walk over the rows of a site that are freed together with the row before or after them. */
struct leak_walk {
    struct life life, before, next;
    uint32_t n_others; /* rows that are not, from the first one that keeps anything on */
    bool begun, more, together;
};

static bool is_together(const struct life *a, const struct life *b) {
    return a->n_kept > 0 && b->n_kept > 0 && a->freed == b->freed && a->gap == b->gap;
}

static bool leak_next(const struct lives *lives, uint32_t site, struct leak_walk *walk) {
    if (!walk->begun) {
        walk->next.to = lives->start[site];
        walk->more = lives_next(lives, site, &walk->next);
        walk->begun = true;
    }
    while (walk->more) {
        walk->before = walk->life;
        walk->life = walk->next;
        walk->more = lives_next(lives, site, &walk->next);
        if (is_together(&walk->before, &walk->life) || (walk->more && is_together(&walk->life, &walk->next)))
            return true;
        walk->n_others += walk->life.n_kept > 0 || walk->together;
    }
    return false;
}

/* Bytes of a site alive at a moment, of any turn or of none. */
static uint64_t alive_at(const struct lives *lives, uint32_t site, uint32_t moment) {
    const struct allocations *allocations = lives->allocations;
    uint64_t bytes = 0;
    for (uint32_t at = lives->start[site]; at < lives->start[site + 1]; at++) {
        uint32_t own = lives->order[at];
        bytes += allocations->birth[own] < moment && allocations->request[own] >= moment
                     ? allocations->size[own]
                     : 0;
    }
    return bytes;
}

/* Is more alive after each turn, of the site and in all? A queue that was filled before the loop, whoever filled it, or in
 * its first turn, is as large after the last. The level of a turn has what those before it keep. */
static bool site_rises(const struct lives *lives, uint32_t site, const struct kept *kept) {
    const struct turn *turn = lives->turns->turn;
    uint32_t first = kept->group_turn, last = kept->last_turn, end = turn[last].end_moment;
    uint64_t before = alive_at(lives, site, turn[first].end_moment),
             after = alive_at(lives, site, end < lives->end + 1 ? end : lives->end + 1),
             kept_bytes = kept->group_bytes - kept->group_first_bytes;
    uint64_t low = lives->floor[first + 1 < last ? first + 1 : first], high = lives->floor[last];
    return after >= before + kept_bytes / 2 && after > before && high >= low &&
           high - low >= (kept_bytes - kept->last_bytes) / 2;
}

/* Are most of the rows in groups that are freed together, into the loop's second half? */
static bool site_leaks(const struct lives *lives, uint32_t site, struct kept *kept) {
    const struct turn *turn = lives->turns->turn;
    struct leak_walk walk = {0};
    uint32_t n_replaced = 0;
    *kept = (struct kept){0};
    while (leak_next(lives, site, &walk)) {
        const struct life *life = &walk.life;
        if (kept->n_turns++ == 0)
            kept->first_turn = life->turn;
        walk.together = true;
        kept->last_turn = life->turn;
        kept->last_allocation = life->last_kept;
        kept->bytes += life->kept_bytes;
        kept->last_bytes = life->kept_bytes;
        kept->freed = life->freed;
        kept->gap = life->gap;
        if (!is_together(&walk.before, life)) {
            kept->group_turn = life->turn;
            kept->group_bytes = 0;
            kept->group_first_bytes = life->kept_bytes;
        }
        kept->group_bytes += life->kept_bytes;
        n_replaced +=
            life->turn > kept->first_turn &&
            olds_let_go(lives, &turn[life->turn], lives->allocations->size[life->last_kept]) >= life->n_kept;
    }
    uint64_t n = kept->n_turns;
    if (n < 2 || n * 10 <= (n + walk.n_others) * 8 || (n_replaced > 0 && n_replaced * 2 >= n - 1))
        return false;
    uint64_t begin = turn[0].begin_moment, end = turn[lives->n_turns - 1].end_moment;
    return (uint64_t)lives->allocations->birth[kept->last_allocation] * 2 >= begin + end &&
           site_rises(lives, site, kept);
}

/* A workspace is made for each stream, and stays. */
static bool may_leak(const struct finder *finder, const struct lives *lives, uint32_t site) {
    if (lives->start[site] == lives->start[site + 1])
        return false;
    uint32_t first = lives->order[lives->start[site]];
    if (finder->verdicts->category[first] == CATEGORY_WORKSPACE ||
        (lives != &finder->lives && finder->verdicts->category[first] == CATEGORY_INPUT))
        return false;
    /* if turns come from repetition, only the forward side shows turns */
    return lives->turns->source != TURNS_REPETITION || finder_side(finder, first) == SIDE_FORWARD;
}

/* ---- what they keep ---- */

/* Is it made behind a backward or an optimizer's step and before the next forward? Then it is for a log or a list of
 * copies, unless it is a batch or a model. */
static bool is_aside(const struct finder *finder, const struct lives *lives, const struct turn *turn,
                     uint32_t allocation) {
    enum turns_source source = lives->turns->source;
    const uint8_t *letter = finder->verdicts->runs.letter + finder->allocations->preexisting;
    uint32_t recorded = allocation - finder->allocations->preexisting, k = recorded;
    uint8_t category = finder->verdicts->category[allocation];
    if (letter[k] != PHASE_HOST || category == CATEGORY_INPUT || category == CATEGORY_PARAMETER)
        return false;
    while (k > turn->first && recorded - k < BEGIN_MOST && letter[k] == PHASE_HOST)
        k--;
    bool begins = source == TURNS_OPTIMIZER || source == TURNS_OPTIMIZER_MARKS; /* behind a step */
    return letter[k] == PHASE_OPTIMIZER || letter[k] == PHASE_BACKWARD ||
           (begins && k == turn->first && letter[k] == PHASE_HOST && turn->first > 0);
}

/* When a program that does not keep a row frees it: when it makes the next, as its name is bound to that; the last row is
 * in use. What is made aside has no name. */
static uint32_t end_of_use(const struct finder *finder, const struct lives *lives,
                           const struct leak_walk *walk, uint32_t allocation) {
    const uint32_t *birth = finder->allocations->birth;
    if (is_aside(finder, lives, &lives->turns->turn[walk->life.turn], allocation))
        return birth[allocation] + 1;
    return walk->life.next == UINT32_MAX ? UINT32_MAX : birth[lives->order[walk->life.to]];
}

/* Counts what a site keeps and takes it out of the curve. What the loop makes last is in use. */
static void site_measure(struct finder *finder, const struct lives *lives, uint32_t site,
                         struct finding *finding, bool remove) {
    struct leak_walk walk = {0};
    while (leak_next(lives, site, &walk))
        for (uint32_t at = walk.life.from; at < walk.life.to; at++) {
            uint32_t allocation = lives->order[at];
            if (lives_freed(lives, allocation, walk.life.turn) != walk.life.freed ||
                bits_has(lives->told, allocation))
                continue;
            if (remove) {
                finder_remove(finder, allocation, end_of_use(finder, lives, &walk, allocation),
                              finder->allocations->death[allocation]);
                continue;
            }
            finding->leak.bytes += finder->allocations->size[allocation];
            finding->leak.count += allocation_stands_for(finder->allocations, allocation);
            finder_count(finder, finding, allocation);
        }
}

/* Nothing else is about this memory, and a leak keeps it, so no graph needs it. */
static void site_tell(struct finder *finder, const struct lives *lives, uint32_t site) {
    const struct verdicts *verdicts = finder->verdicts;
    for (uint32_t at = lives->start[site]; at < lives->start[site + 1]; at++) {
        uint32_t allocation = lives->order[at], turn = lives_turn(lives, allocation);
        bits_add(lives->told, allocation);
        if (turn >= lives->n_turns || lives_freed(lives, allocation, turn) == turn ||
            verdicts->category[allocation] != CATEGORY_ACTIVATION)
            continue;
        verdicts->category[allocation] = CATEGORY_OTHER;
        if (verdicts->reason != NULL)
            verdicts->reason[allocation] = REASON_KEPT;
    }
}

/* ---- findings ---- */

/* A leak that is small after ten turns can end a run of two thousand. */
static enum finding_severity severity_of_leak(const struct finding *finding, uint64_t peak) {
    uint64_t kept = finding->leak.bytes;
    if (finding->per_n <= 2) /* a loader that works ahead holds two batches */
        return SEVERITY_LOW;
    if (is_percent(kept, peak, 5) || is_percent(finding->per_bytes, peak, 1))
        return SEVERITY_HIGH;
    return is_percent(kept, peak, 1) || finding->per_bytes >= peak / 10000 ? SEVERITY_MEDIUM : SEVERITY_LOW;
}

/* One finding about the leaking sites rows[0, count). */
static void leak_report(struct finder *finder, const struct lives *lives, const struct sort_row *rows,
                        uint32_t count, bool with_saving) {
    const struct turn *turn = lives->turns->turn;
    bool inner = lives != &finder->lives;
    struct finding finding = {.kind = FINDING_LEAK,
                              .unit = (uint8_t)(inner ? UNIT_TURN : finder_unit(finder)),
                              .at_moment = finder->timeline->peak_moment,
                              .leak.n_turns = lives->n_turns};
    uint64_t of_line = 0, largest = 0, second = 0;
    struct kept kept = {0};
    for (uint32_t i = 0; i < count; i++) {
        uint32_t line = finder_site(finder, lives->order[lives->start[rows[i].value]]);
        bool last =
            i + 1 == count || line != finder_site(finder, lives->order[lives->start[rows[i + 1].value]]);
        site_leaks(lives, rows[i].value, &kept);
        of_line += kept.bytes;
        if (last && of_line > largest) {
            second = largest;
            finding.leak.other = finding.site;
            largest = of_line;
            finding.site = line;
            finding.stack = finder->allocations->stack[kept.last_allocation];
        } else if (last && of_line > second) {
            second = of_line;
            finding.leak.other = line;
        }
        of_line = last ? 0 : of_line;
        finding.n_sites += last;
        site_measure(finder, lives, rows[i].value, &finding, false);
        if (with_saving)
            site_measure(finder, lives, rows[i].value, NULL, true);
    }
    finding.per_n = kept.n_turns;
    finding.per_bytes = finding.leak.bytes / finding.per_n;
    finding.grows = !inner && kept.freed == LIVES_NEVER;
    finding.from_moment = turn[kept.first_turn].begin_moment;
    finding.to_moment = turn[kept.last_turn].end_moment - 1;
    finding.confidence = (uint8_t)confidence_of_turns(finding.per_n);
    finding.severity = (uint8_t)severity_of_leak(&finding, finder->timeline->peak_bytes);
    if (inner && finding.severity == SEVERITY_HIGH)
        finding.severity = SEVERITY_MEDIUM; /* they may be collected on purpose */
    if (with_saving)
        finder_saves(finder, &finding);
    finder_add(finder, &finding);
}

/* What is kept in the same turns and let go together has one cause. */
static uint64_t cause_of(const struct kept *kept) {
    uint64_t key = kept->n_turns;
    key = (key * UINT32_MAX + kept->first_turn) * UINT32_MAX + kept->last_turn;
    return (key * UINT32_MAX + kept->freed) * UINT32_MAX + kept->gap;
}

/* Leaking sites: `value` is a site, those with one cause have one key, and those of one line are adjacent. NULL: no
 * memory. */
static struct sort_row *leaks_by_cause(struct finder *finder, const struct lives *lives, uint32_t *count) {
    struct sort_row *rows, *spare;
    struct kept kept;
    *count = 0;
    if (!ARENA_COLUMNS(finder->arena, finder->lives.n_sites, rows, spare)) {
        finder->failed = true;
        return NULL;
    }
    for (uint32_t site = 0; site < finder->lives.n_sites; site++)
        if (may_leak(finder, lives, site) && site_leaks(lives, site, &kept))
            rows[(*count)++] = (struct sort_row){finder_site(finder, kept.last_allocation), site};
    sort_rows(rows, spare, *count);
    for (uint32_t i = 0; i < *count; i++) {
        site_leaks(lives, rows[i].value, &kept);
        rows[i].key = cause_of(&kept);
    }
    sort_rows(rows, spare, *count);
    ARENA_DROP(finder->arena, spare);
    return rows;
}

/* Asks a table of turns. */
static void leaks_find(struct finder *finder, const struct lives *lives) {
    uint32_t count = 0, n_told = 0;
    struct sort_row *rows = finder->failed ? NULL : leaks_by_cause(finder, lives, &count);
    for (uint32_t from = 0, to; !finder->failed && from < count && n_told < FINDINGS_OF_KIND;
         from = to, n_told++) {
        to = sort_rows_end(rows, count, from);
        leak_report(finder, lives, rows + from, to - from, n_told < SAVINGS_OF_KIND);
    }
    for (uint32_t i = 0; !finder->failed && i < count; i++)
        site_tell(finder, lives, rows[i].value);
    ARENA_DROP(finder->arena, rows);
}

/* Does a backward free some of what the pass made? */
static bool is_trained(const struct finder *finder, const struct pass *pass) {
    const struct phase_runs *runs = &finder->verdicts->runs;
    for (uint32_t k = pass->first; !pass->has_backward && k <= pass->last; k++) {
        uint32_t freed = finder->allocations->request[runs->first_allocation + k];
        uint32_t gap = freed < finder->timeline->n_moments ? recorded_from(runs, freed) : 0;
        if (gap != 0 && gap < runs->n_allocations && phase_runs_side(runs, gap - 1) == SIDE_BACKWARD &&
            phase_runs_side(runs, gap) == SIDE_BACKWARD)
            return true;
    }
    return pass->has_backward;
}

/* The passes that no backward follows are turns of loops inside of a turn, as of an evaluation. */
static void leaks_of_inner_loops(struct finder *finder) {
    const struct phase_runs *runs = &finder->verdicts->runs;
    struct passes passes;
    struct lives inner;
    struct turns turns = {.source = TURNS_REPETITION, .closed = true};
    uint32_t n = 0;
    finder->failed |= !passes_find(&passes, runs, finder->timeline, finder->arena) ||
                      !ARENA_COLUMNS(finder->arena, passes.count, turns.turn);
    const uint32_t *birth = finder->allocations->birth + finder->allocations->preexisting;
    for (uint32_t i = 0; !finder->failed && i < passes.count; i++) {
        const struct pass *pass = &passes.pass[i];
        uint32_t end = i + 1 < passes.count ? passes.pass[i + 1].begin : runs->n_allocations;
        if (is_trained(finder, pass))
            continue;
        turns.turn[n++] = (struct turn){pass->begin, end, birth[pass->begin],
                                        end < runs->n_allocations ? birth[end] : finder->timeline->n_moments};
    }
    turns.count = n;
    if (!finder->failed && n >= INNER_LEAST) {
        finder->failed |= !lives_again(&inner, &finder->lives, &turns, finder->arena);
        leaks_find(finder, &inner);
        ARENA_DROP(finder->arena, inner.floor);
    }
    ARENA_DROP(finder->arena, turns.turn);
    passes_drop(&passes, finder->arena);
}

static void leak_find(struct finder *finder) {
    if (finder->verdicts->runs.stacks == STACKS_NONE)
        return;
    if (!finder->failed && finder->verdicts->judged.growth == GROWTH_JUDGED && finder->lives.n_turns >= 2)
        leaks_find(finder, &finder->lives);
    if (!finder->failed && phase_runs_has(&finder->verdicts->runs, SIDE_BACKWARD))
        leaks_of_inner_loops(finder);
}

static void leak_title(struct telling *telling) {
    const struct finding *finding = telling->finding;
    tell(telling, "%S");
    if (finding->n_sites > 1) {
        tell(telling, finding->n_sites == 2 ? " and " : ", ");
        tell_frame(telling, finding->leak.other);
    }
    if (finding->n_sites > 2)
        TELL(telling, " and %n other call site%s", finding->n_sites - 2);
    tell(telling, finding->n_sites > 1 ? " keep" : " keeps");
    if (finding->variant == LEAK_OF_GRAPHS)
        tell(telling, " its graph:");
    TELL(telling, " %b more", finding->per_bytes);
    if (finding->per_n == finding->leak.n_turns)
        tell(telling, " each %U");
    else
        TELL(telling, " in each of %n %U%s", finding->per_n);
}

static void leak_detail(struct telling *telling) {
    const struct finding *finding = telling->finding;
    TELL(telling,
         "%n allocation%s %(of|with) %b, made in %n of %n %U%s, %(is|are) kept while the loop runs, ",
         finding->leak.count, finding->leak.bytes, finding->per_n, finding->leak.n_turns);
    if (finding->bytes != 0)
        TELL(telling, "%b at the peak.", finding->bytes);
    else
        tell(telling, "none of it at the peak.");
    tell_saving(telling, "Without it:");
    if (finding->per_n == 2)
        tell(telling, " Two are the least that can show it: a third would rule out a double buffer.");
    else if (finding->per_n == 3)
        tell(telling, " A queue that is not full yet would look the same: a longer recording would tell.");
}

static struct advice leak_advise(const struct telling *telling) {
    return telling->finding->variant == LEAK_OF_GRAPHS
               ? ADVICE_RETAINED
               : (struct advice){.action = "Free it in the loop, keep a number of it, or move it to the CPU.",
                                 "value = value.detach().cpu()  # where %S is kept"};
}

const struct kind kind_leak = {KIND(leak), "Leak", .flags = KIND_OF_SET | KIND_EACH,
                               .change = "free what each turn keeps", .advise = leak_advise};
