/*
 * A leak: a call site keeps something for good in turn after turn. Not leaks: a weight that stays, a state that is
 * made once, a queue that holds the last few.
 *
 * figure: [0] kept bytes, [1] kept allocations, [2] turns that could be judged. variant: enum leak_variant.
 */
#include "analysis/findings/finder.h"

#include "base/search.h"
#include "base/sort.h"

enum leak_variant { LEAK_OF_SITE, LEAK_OF_GRAPH /* everything that the turns make is kept */ };
enum {
    GRAPH_KEYS = 8,
    BEGIN_MOST = 4096 /* allocations before the first forward of a turn that are examined */
};

/* The order of `olds`: is one smaller than `size`, or as large and freed before the moment? */
static bool olds_before(const struct finder *finder, uint32_t index, uint64_t size, uint32_t moment) {
    const struct sort_row *row = &finder->olds.row[index];
    return row->key < size || (row->key == size && finder->allocations->request[row->value] < moment);
}

/* Collects the older allocations that are freed in the recording, by size, then by when they are freed. */
static void olds_find(struct finder *finder) {
    const struct allocations *allocations = finder->allocations;
    uint32_t n = 0;
    for (uint32_t i = 0; i < allocations->preexisting; i++)
        n += allocations->request[i] < finder->timeline->n_moments;
    struct sort_row *rows, *spare;
    finder->failed |= !ARENA_COLUMNS(finder->arena, n, rows, spare);
    finder->olds.row = rows;
    if (rows == NULL || spare == NULL)
        return;
    for (uint32_t i = 0; i < allocations->preexisting; i++)
        if (allocations->request[i] < finder->timeline->n_moments)
            rows[finder->olds.count++] = (struct sort_row){allocations->request[i], i};
    sort_rows(rows, spare, n);
    SORT_AGAIN(rows, spare, n, own, allocations->size[own]);
    ARENA_DROP(finder->arena, spare);
}

struct kept {
    uint32_t first_turn, last_turn, n_turns; /* turns that keep one */
    uint32_t first_allocation, last_allocation;
    uint64_t bytes, first_bytes; /* over all of them, and in the first */
    bool freed_before;           /* an earlier turn made it and kept none */
};

/* Visits the allocations of a key, those of its leaking stack alone if it has one: *at begins with start[key]. False:
 * there is no other. */
static bool key_next(const struct finder *finder, uint32_t key, uint32_t *at, uint32_t *allocation) {
    uint32_t stack = finder->leaking_stack[key];
    while (*at < finder->start[key + 1]) {
        *allocation = finder->order[(*at)++];
        if (stack == 0 || finder->allocations->stack[*allocation] == stack)
            return true;
    }
    return false;
}

/* The number of turns whose end was recorded: memory alive in an open turn proves nothing. */
static uint32_t turns_judged(const struct finder *finder) {
    const struct turns *turns = &finder->verdicts->turns;
    return turns->count - (turns->count > 0 && !turns->closed);
}

/* A walk over the key's turns, with the number of its allocations that stay in each. */
struct turn_walk {
    const struct finder *finder;
    uint32_t key, at; /* into finder->order */
    uint32_t turn, n_kept, last_kept;
    uint64_t kept_bytes;
};

static bool turn_walk_next(struct turn_walk *walk) {
    const struct finder *finder = walk->finder;
    uint32_t n_turns = turns_judged(finder), turn = UINT32_MAX;
    walk->n_kept = 0;
    walk->kept_bytes = 0;
    for (uint32_t at = walk->at, allocation; key_next(finder, walk->key, &at, &allocation); walk->at = at) {
        uint32_t own = finder_turn(finder, allocation);
        if (own >= n_turns)
            continue;
        if (turn == UINT32_MAX)
            turn = own;
        if (own != turn)
            break;
        if (finder_keeps(finder, allocation)) {
            walk->n_kept++;
            walk->kept_bytes += finder->allocations->size[allocation];
            walk->last_kept = allocation;
        }
    }
    walk->turn = turn;
    return turn != UINT32_MAX;
}

/* The number of older allocations of this size that a turn frees. */
static uint32_t olds_let_go(const struct finder *finder, const struct turn *turn, uint64_t size) {
    uint32_t n = finder->olds.count, low = SEARCH(0, n, i, olds_before(finder, i, size, turn->begin_moment));
    return SEARCH(low, n, i, olds_before(finder, i, size, turn->end_moment)) - low;
}

/* Bytes that the key keeps in the turns (first, last] in place of memory from before the recording: an older
 * allocation of the same size was freed in the same turn. */
static uint64_t kept_for_olds(const struct finder *finder, uint32_t key, const struct kept *kept) {
    uint64_t bytes = 0, size = UINT64_MAX;
    uint32_t turn = UINT32_MAX, left = 0;
    if (finder->olds.count == 0)
        return 0;
    for (uint32_t at = finder->start[key], allocation; key_next(finder, key, &at, &allocation);) {
        uint32_t own = finder_turn(finder, allocation);
        if (own == UINT32_MAX || own <= kept->first_turn || own > kept->last_turn ||
            !finder_keeps(finder, allocation))
            continue;
        if (own != turn || size != finder->allocations->size[allocation]) {
            turn = own;
            size = finder->allocations->size[allocation];
            left = olds_let_go(finder, &finder->verdicts->turns.turn[own], size);
        }
        bytes += left > 0 ? size : 0;
        left -= left > 0;
    }
    return bytes;
}

/* Bytes of the key alive before a moment. */
static uint64_t alive_before(const struct finder *finder, uint32_t key, uint32_t moment) {
    const struct allocations *allocations = finder->allocations;
    uint64_t bytes = 0;
    for (uint32_t at = finder->start[key], allocation; key_next(finder, key, &at, &allocation);)
        if (allocations->birth[allocation] < moment && allocations->request[allocation] >= moment)
            bytes += allocations->size[allocation];
    return bytes;
}

/* A leak is larger after every turn. A queue, such as that of a loader that works ahead, frees as much as it takes,
 * so it is as large after the last turn as after the first; a full queue begins with memory from before the
 * recording. */
static bool key_rises(const struct finder *finder, uint32_t key, const struct kept *kept) {
    const struct turn *turn = finder->verdicts->turns.turn;
    uint64_t before = alive_before(finder, key, turn[kept->first_turn].end_moment),
             after = alive_before(finder, key, turn[kept->last_turn].end_moment),
             rise = after > before ? after - before : 0, olds = kept_for_olds(finder, key, kept);
    return rise > olds && rise - olds >= (kept->bytes - kept->first_bytes) / 2;
}

/* Does a key leak, by the rules in docs/report-reference.md? */
static bool key_leaks(const struct finder *finder, uint32_t key, struct kept *kept) {
    struct turn_walk walk = {.finder = finder, .key = key, .at = finder->start[key]};
    uint32_t n_made = 0, longest = 0;
    *kept = (struct kept){0};
    while (turn_walk_next(&walk)) {
        if (walk.n_kept == 0) {
            kept->freed_before |= kept->n_turns == 0;
            n_made += kept->n_turns > 0;
            continue;
        }
        if (kept->n_turns == 0) {
            kept->first_turn = walk.turn;
            kept->first_allocation = walk.last_kept;
            kept->first_bytes = walk.kept_bytes;
        } else if (walk.turn - kept->last_turn > longest)
            longest = walk.turn - kept->last_turn;
        kept->last_turn = walk.turn;
        kept->last_allocation = walk.last_kept;
        kept->bytes += walk.kept_bytes;
        kept->n_turns++;
        n_made++;
    }
    /* Of two, the first is freed after the last allocation and the second is not: held over, not leaked. */
    const uint32_t *let_go = finder->allocations->request;
    if (kept->n_turns == 2 && let_go[kept->first_allocation] < let_go[kept->last_allocation])
        return false;
    if (kept->n_turns < 2 || kept->freed_before || (uint64_t)kept->n_turns * 10 < (uint64_t)n_made * 8)
        return false;
    uint64_t span = kept->last_turn - kept->first_turn, n = kept->n_turns - 1;
    if (longest * n > 3 * span + n)
        return false;
    const struct turns *turns = &finder->verdicts->turns;
    uint64_t begin = turns->turn[0].begin_moment, end = turns->turn[turns->count - 1].end_moment;
    return (uint64_t)finder->allocations->birth[kept->last_allocation] * 2 >= begin + end &&
           key_rises(finder, key, kept);
}

/* Did CUDA graphs capture it? They keep it, each in a pool of its own, until they are destroyed. */
static bool is_captured(const struct finder *finder, uint32_t key) {
    const uint16_t *pool = finder->allocations->pool;
    uint16_t first = pool[finder->order[finder->start[key]]],
             last = pool[finder->order[finder->start[key + 1] - 1]];
    return first != last && first > POOL_DEFAULT && last > POOL_DEFAULT;
}

/* If turns come from repetition, only the forward side shows turns. */
static bool key_may_leak(const struct finder *finder, uint32_t key) {
    uint32_t from = finder->start[key];
    if (from == finder->start[key + 1] || is_captured(finder, key))
        return false;
    return finder->verdicts->turns.source != TURNS_REPETITION ||
           side_of_letter(finder->verdicts->runs.letter[finder->order[from]]) == SIDE_FORWARD;
}

/* The moment when the last turn's forward begins: older memory that is alive at the end has outlived its use. */
static uint32_t last_forward(const struct finder *finder) {
    const struct turn *last = &finder->verdicts->turns.turn[finder->verdicts->turns.count - 1];
    uint32_t forward = finder_forward(finder, last);
    return forward < last->end ? finder->allocations->birth[finder->allocations->preexisting + forward]
                               : last->begin_moment;
}

/* Bytes that a key keeps too seldom for a leak: made after the first turn, which makes much permanent memory, and
 * before the last forward, which always has something alive. */
static uint64_t kept_seldom(const struct finder *finder, uint32_t key, const struct kept *kept,
                            uint32_t before) {
    uint64_t bytes = 0;
    if (kept->n_turns == 0 || kept->freed_before || (kept->n_turns > 1 && !key_rises(finder, key, kept)))
        return 0;
    for (uint32_t at = finder->start[key], allocation; key_next(finder, key, &at, &allocation);) {
        uint32_t turn = finder_turn(finder, allocation);
        uint8_t category = finder->verdicts->category[allocation];
        bool lasts = category == CATEGORY_PARAMETER || category == CATEGORY_OPTIMIZER_STATE ||
                     category == CATEGORY_GRADIENT || category == CATEGORY_WORKSPACE ||
                     category == CATEGORY_INPUT;
        if (turn != UINT32_MAX && turn >= 1 && finder->allocations->birth[allocation] < before && !lasts &&
            finder_keeps(finder, allocation))
            bytes += finder->allocations->size[allocation];
    }
    return bytes;
}

/* As key_leaks. If one line calls the code and frees what it makes, and another line keeps it, as a loop that collects the
 * results of evaluation does, one stack of the key may leak alone: that of the last allocation kept. */
static bool key_or_stack_leaks(struct finder *finder, uint32_t key, struct kept *kept) {
    if (key_leaks(finder, key, kept))
        return true;
    if (kept->n_turns == 0 || !kept->freed_before)
        return false;
    finder->leaking_stack[key] = finder->allocations->stack[kept->last_allocation];
    return key_leaks(finder, key, kept);
}

/* Leaking keys, by site. NULL: no memory. */
static struct sort_row *leaks_by_site(struct finder *finder, uint32_t *count) {
    struct kept kept;
    uint32_t capacity = 0, before = last_forward(finder);
    struct sort_row *rows = NULL;
    *count = 0;
    for (uint32_t key = 0; key < finder->n_keys; key++) {
        if (!key_may_leak(finder, key))
            continue;
        if (!key_or_stack_leaks(finder, key, &kept)) {
            finder->kept_seldom += kept_seldom(finder, key, &kept, before);
            continue;
        }
        if (!ARENA_GROW(finder->arena, rows, capacity, (uint64_t)*count + 1)) {
            finder->failed = true;
            return NULL;
        }
        rows[(*count)++] = (struct sort_row){finder_site(finder, kept.last_allocation), key};
    }
    struct sort_row *spare = arena_column(finder->arena, *count, sizeof *spare);
    finder->failed |= spare == NULL;
    if (spare != NULL && *count > 0)
        sort_rows(rows, spare, *count);
    ARENA_DROP(finder->arena, spare);
    return rows;
}

/* When a program that does not keep an allocation would free it: at the end of its turn. If turns end with the
 * optimizer or with backward, allocations after that belong to the next turn, but count for the one before unless
 * they are a batch. */
static uint32_t end_of_use(const struct finder *finder, uint32_t allocation) {
    const struct turns *turns = &finder->verdicts->turns;
    const struct turn *turn = &turns->turn[finder_turn(finder, allocation)];
    bool ends_early = turns->source != TURNS_PROFILER_STEP && turns->source != TURNS_REPETITION;
    if (!ends_early || finder->verdicts->runs.letter[allocation] != PHASE_HOST ||
        finder->verdicts->category[allocation] == CATEGORY_INPUT)
        return turn->end_moment;
    uint32_t recorded = allocation - finder->allocations->preexisting;
    if (recorded - turn->first > BEGIN_MOST)
        return turn->end_moment;
    for (uint32_t k = turn->first; k < recorded; k++)
        if (finder->verdicts->runs.letter[finder->allocations->preexisting + k] != PHASE_HOST)
            return turn->end_moment;
    return finder->allocations->birth[allocation] + 1;
}

/* Frees every kept allocation of some keys when its use ends. */
static void kept_remove(struct finder *finder, const struct sort_row *rows, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t at = finder->start[rows[i].value], allocation;
             key_next(finder, rows[i].value, &at, &allocation);)
            if (finder_turn(finder, allocation) < turns_judged(finder) && finder_keeps(finder, allocation))
                finder_remove(finder, allocation, end_of_use(finder, allocation),
                              finder->allocations->death[allocation]);
}

static void kept_measure(struct finder *finder, const struct sort_row *rows, uint32_t count,
                         struct finding *finding) {
    const struct allocations *allocations = finder->allocations;
    uint64_t largest = 0;
    uint32_t first = UINT32_MAX, last = 0, turns = 2; /* fewer are not a leak */
    struct kept kept;
    for (uint32_t i = 0; i < count; i++) {
        key_leaks(finder, rows[i].value, &kept);
        first = kept.first_turn < first ? kept.first_turn : first;
        last = kept.last_turn > last ? kept.last_turn : last;
        turns = kept.n_turns > turns ? kept.n_turns : turns;
        if (kept.bytes >= largest) {
            largest = kept.bytes;
            finding->stack = allocations->stack[kept.last_allocation];
        }
        for (uint32_t at = finder->start[rows[i].value], allocation;
             key_next(finder, rows[i].value, &at, &allocation);) {
            if (finder_turn(finder, allocation) >= turns_judged(finder) || !finder_keeps(finder, allocation))
                continue;
            finding->figure[0] += allocations->size[allocation];
            if (finder->verdicts->category[allocation] == CATEGORY_INPUT)
                finding->figure[3] += allocations->size[allocation];
            finding->figure[1] += allocation_stands_for(allocations, allocation);
            finder_count(finder, finding, allocation);
        }
    }
    finding->per_n = turns;
    finding->per_bytes = finding->figure[0] / turns;
    finding->from_moment = finder->verdicts->turns.turn[first].begin_moment;
    finding->to_moment = finder->verdicts->turns.turn[last].end_moment - 1;
}

/* A leak that is small after ten turns can end a run of two thousand. */
static enum finding_severity severity_of_leak(const struct finding *finding, uint64_t peak) {
    uint64_t kept = finding->figure[0];
    /* a loader that works ahead holds two batches */
    if (finding->per_n <= 2)
        return is_percent(kept - finding->figure[3], peak, 5) ? SEVERITY_MEDIUM : SEVERITY_LOW;
    if (is_percent(kept, peak, 5) || is_percent(finding->per_bytes, peak, 1))
        return SEVERITY_HIGH;
    return is_percent(kept, peak, 1) || finding->per_bytes >= peak / 10000 ? SEVERITY_MEDIUM : SEVERITY_LOW;
}

static struct finding leak_of(struct finder *finder, const struct sort_row *rows, uint32_t count) {
    struct finding finding = {.kind = FINDING_LEAK,
                              .unit = (uint8_t)finder_unit(finder),
                              .site = (uint32_t)rows[0].key,
                              .n_sites = 1,
                              .at_moment = finder->timeline->peak_moment,
                              .figure = {[2] = turns_judged(finder)}};
    kept_measure(finder, rows, count, &finding);
    finding.confidence = (uint8_t)confidence_of_turns(finding.per_n);
    finding.severity = (uint8_t)severity_of_leak(&finding, finder->timeline->peak_bytes);
    return finding;
}

/* Do the keys keep more than half of all the bytes made? */
static bool keeps_everything(const struct finder *finder, const struct sort_row *rows, uint32_t count) {
    uint64_t all = 0, kept = 0;
    if (finder->verdicts->turns.source != TURNS_REPETITION || count < GRAPH_KEYS)
        return false;
    for (uint32_t i = finder->allocations->preexisting; i < finder->allocations->count; i++)
        all += finder->allocations->size[i];
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t at = finder->start[rows[i].value], allocation;
             key_next(finder, rows[i].value, &at, &allocation);)
            kept += finder_keeps(finder, allocation) ? finder->allocations->size[allocation] : 0;
    return kept > all / 2;
}

/* Memory that a leak keeps is no activation, though a forward made it and it outlives the forward. */
static void kept_rename(struct finder *finder, const struct sort_row *rows, uint32_t count) {
    const struct verdicts *verdicts = finder->verdicts;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t at = finder->start[rows[i].value], allocation;
             key_next(finder, rows[i].value, &at, &allocation);) {
            if (!finder_keeps(finder, allocation) || verdicts->category[allocation] != CATEGORY_ACTIVATION)
                continue;
            verdicts->category[allocation] = CATEGORY_OTHER;
            if (verdicts->reason != NULL)
                verdicts->reason[allocation] = REASON_KEPT;
        }
}

/* Chooses the largest sites, for which savings are computed. */
static void leaks_of_sites(struct finder *finder, const struct sort_row *rows, uint32_t count) {
    struct sort_row group[FINDINGS_OF_KIND], spare[FINDINGS_OF_KIND];
    struct finding found[FINDINGS_OF_KIND];
    uint32_t first[FINDINGS_OF_KIND], length[FINDINGS_OF_KIND], n = 0;
    for (uint32_t from = 0, to; from < count; from = to) {
        for (to = from; to < count && rows[to].key == rows[from].key; to++)
            finder->blamed[rows[to].key] = 1;
        struct finding own = leak_of(finder, rows + from, to - from);
        uint32_t at = n;
        if (n == FINDINGS_OF_KIND) {
            at = 0;
            for (uint32_t i = 1; i < n; i++)
                at = found[i].figure[0] < found[at].figure[0] ? i : at;
            if (found[at].figure[0] >= own.figure[0])
                continue;
        } else
            n++;
        found[at] = own;
        first[at] = from;
        length[at] = to - from;
    }
    SORT_BY(group, spare, n, i, ~found[i].figure[0]);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t own = group[i].value;
        if (i < SAVINGS_OF_KIND) {
            kept_remove(finder, rows + first[own], length[own]);
            finder_saves(finder, &found[own]);
        }
        finder_add(finder, &found[own]);
    }
    kept_rename(finder, rows, count);
}

/* Reports leaks; `rows`: leaking keys, by site. */
static void leaks_report(struct finder *finder, const struct sort_row *rows, uint32_t count) {
    if (!keeps_everything(finder, rows, count)) {
        leaks_of_sites(finder, rows, count);
        return;
    }
    struct finding whole = leak_of(finder, rows, count);
    whole.variant = LEAK_OF_GRAPH;
    whole.severity = SEVERITY_INFO;
    finder_add(finder, &whole);
    for (uint32_t i = 0; i < count; i++)
        finder->blamed[rows[i].key] = 1;
}

void finding_leak_find(struct finder *finder) {
    finder_leak_of_host(finder);
    if (finder->verdicts->judged.growth != GROWTH_JUDGED || turns_judged(finder) < 2)
        return;
    uint32_t count = 0;
    olds_find(finder);
    finder->leaking_stack = arena_zeros(finder->arena, finder->n_keys, sizeof *finder->leaking_stack);
    finder->failed |= finder->leaking_stack == NULL;
    struct sort_row *rows = finder->failed ? NULL : leaks_by_site(finder, &count);
    if (rows != NULL && !finder->failed)
        leaks_report(finder, rows, count);
    ARENA_DROP(finder->arena, rows, finder->leaking_stack, finder->olds.row);
}

void finding_leak_title(struct telling *telling) {
    const struct finding *finding = telling->finding;
    if (finding->variant == LEAK_OF_HOST)
        tell_leak_of_host(telling);
    else if (finding->variant == LEAK_OF_GRAPH)
        TELL(telling, "Everything that these %Us make is kept, %b in each", finding->per_bytes);
    else if (finding->per_n == finding->figure[2])
        TELL(telling, "%S keeps %b more each %U", finding->per_bytes);
    else
        TELL(telling, "%S keeps %b more in each of %n %U%s", finding->per_bytes, finding->per_n);
}

void finding_leak_detail(struct telling *telling) {
    const struct finding *finding = telling->finding;
    if (finding->variant == LEAK_OF_HOST) {
        tell_leak_of_host_more(telling);
        return;
    }
    TELL(telling, "%n allocation%s %(of|with) %b, made in %n of %n %U%s", finding->figure[1],
         finding->figure[0], finding->per_n, finding->figure[2]);
    tell(telling, finding->figure[1] == 1 ? ", is alive at the end, " : ", are alive at the end, ");
    if (finding->bytes != 0)
        TELL(telling, "%b at the peak.", finding->bytes);
    else
        tell(telling, "none of it at the peak.");
    if (finding->variant == LEAK_OF_GRAPH) {
        tell(telling, " One graph over several layers or turns looks the same before its backward. If these "
                      "turns are layers, this is not a leak.");
        return;
    }
    tell_saving(telling, "Without it:");
    if (finding->per_n == 2)
        tell(telling, " Two are the least that can show it: a third would rule out a double buffer.");
    else if (finding->per_n == 3)
        tell(telling, " A queue that is not full yet would look the same: a longer recording would tell.");
}
