/*
 * Held over: memory of one turn is still alive when the next turn begins and makes the same again, so that both
 * exist at once: an output, a loss with its graph, a logits buffer.
 *
 *     turn k      |---- result -----------|
 *     turn k + 1                 |---- result ------------|
 *                                ^ begins
 *
 * figure: [0] pairs of turns that show it, [1] pairs, [2] bytes of it that are older than the recording.
 */
#include "analysis/findings/finder.h"

#include "base/search.h"
#include "base/sort.h"

struct held {
    uint64_t bytes;    /* in all pairs */
    uint32_t n_pairs;  /* pairs that show it */
    uint32_t n_turns;  /* turns that make it */
    uint32_t n_beyond; /* allocations that outlive the next turn too */
    uint32_t n_allocations;
    uint32_t last_allocation;
};

/* The moment before which a turn has made nothing; UINT32_MAX: there is no such turn. */
static uint32_t begin_of(const struct finder *finder, uint32_t turn) {
    const struct turns *turns = &finder->verdicts->turns;
    if (turn >= turns->count || turns->turn[turn].first >= turns->turn[turn].end)
        return UINT32_MAX;
    return finder->allocations->birth[finder->allocations->preexisting + turns->turn[turn].first];
}

static bool is_candidate(const struct finder *finder, uint32_t allocation) {
    uint8_t category = finder->verdicts->category[allocation];
    return side_of_letter(finder->verdicts->runs.letter[allocation]) == SIDE_FORWARD &&
           category != CATEGORY_PARAMETER && category != CATEGORY_INPUT && category != CATEGORY_WORKSPACE &&
           !finder->blamed[finder_site(finder, allocation)];
}

/* Is the allocation alive when the next turn begins? `*beyond`: and when the turn after that begins? */
static bool is_held(const struct finder *finder, uint32_t allocation, uint32_t turn, bool *beyond) {
    const struct turns *turns = &finder->verdicts->turns;
    uint32_t begin = begin_of(finder, turn + 1), let_go = finder->allocations->request[allocation];
    if (begin == UINT32_MAX || let_go <= begin)
        return false;
    *beyond = let_go > turns->turn[turn + 1].end_moment ||
              (let_go == turns->turn[turn + 1].end_moment && let_go == finder->timeline->n_moments);
    return true;
}

/* Sums up all held allocations of a key and, with `remove`, takes them out of the curve. */
static struct held key_walk(struct finder *finder, uint32_t key, bool with_beyond, bool remove,
                            struct finding *finding) {
    const struct allocations *allocations = finder->allocations;
    struct held held = {0};
    uint32_t last_turn = UINT32_MAX, last_pair = UINT32_MAX;
    for (uint32_t at = finder->start[key]; at < finder->start[key + 1]; at++) {
        uint32_t allocation = finder->order[at], turn = finder_turn(finder, allocation);
        bool beyond = false;
        if (turn == UINT32_MAX || !is_candidate(finder, allocation))
            continue;
        held.n_turns += turn != last_turn;
        last_turn = turn;
        if (!is_held(finder, allocation, turn, &beyond))
            continue;
        held.n_allocations++;
        held.n_beyond += beyond;
        if (beyond && !with_beyond)
            continue;
        held.n_pairs += turn != last_pair;
        last_pair = turn;
        held.bytes += allocations->size[allocation];
        held.last_allocation = allocation;
        if (finding != NULL)
            finder_count(finder, finding, allocation);
        if (remove)
            finder_remove(finder, allocation, begin_of(finder, turn + 1), allocations->death[allocation]);
    }
    return held;
}

/* Is a key held over: in half of the pairs of turns, and made in half of the turns? What outlives the next turn too
 * only counts if most does not, or if there are only two turns. */
static bool key_is_held(struct finder *finder, uint32_t key, struct held *held, bool *with_beyond) {
    uint32_t n_turns = finder->verdicts->turns.count;
    *held = key_walk(finder, key, true, false, NULL);
    *with_beyond = n_turns == 2 || held->n_beyond * 2 < held->n_allocations;
    if (held->n_allocations == 0)
        return false;
    if (!*with_beyond)
        *held = key_walk(finder, key, false, false, NULL);
    return held->n_pairs > 0 && held->n_pairs * 2 >= n_turns - 1 && held->n_turns >= 2 &&
           held->n_turns * 2 >= n_turns;
}

/* Adds memory from before the recording that the first turn frees, if it is about as large: the previous turn's
 * result. */
static void older_add(struct finder *finder, struct finding *finding, uint64_t per_turn) {
    const struct allocations *allocations = finder->allocations;
    const struct turn *first = &finder->verdicts->turns.turn[0];
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < allocations->preexisting; i++)
        if (allocations->death[i] > first->begin_moment && allocations->death[i] <= first->end_moment &&
            allocations->death[i] < finder->timeline->n_moments)
            bytes += allocations->size[i];
    if (bytes < per_turn / 2 || bytes > per_turn + per_turn / 10)
        return;
    finding->figure[2] = bytes;
    for (uint32_t i = 0; i < allocations->preexisting; i++)
        if (allocations->death[i] > first->begin_moment && allocations->death[i] <= first->end_moment &&
            allocations->death[i] < finder->timeline->n_moments) {
            finder_count(finder, finding, i);
            finder_remove(finder, i, first->begin_moment, allocations->death[i]);
        }
}

/* Adds the held keys of half of the allocations, each with its bytes as the row's key. */
static void held_keys(struct finder *finder) {
    uint32_t recorded = finder->allocations->count - finder->allocations->preexisting;
    uint32_t half = SEARCH(0, finder->n_keys, k, finder->start[k] < recorded / 2);
    uint32_t end = finder->part == 0 ? half : finder->n_keys;
    for (uint32_t key = finder->part == 0 ? 0 : half; key < end && !finder->failed; key++) {
        struct held held;
        bool with_beyond;
        if (finder->start[key + 1] - finder->start[key] < 2 || !key_is_held(finder, key, &held, &with_beyond))
            continue;
        if (!ARENA_GROW(finder->arena, finder->held.row, finder->held.capacity,
                        (uint64_t)finder->held.count + 1))
            finder->failed = true;
        else
            finder->held.row[finder->held.count++] =
                (struct sort_row){(uint64_t)held.bytes << 1 | with_beyond, key};
    }
}

/* Finds the largest site, and counts sites. */
static void sites_sum(struct finder *finder, const struct sort_row *rows, uint32_t count,
                      struct finding *finding) {
    struct sort_row *sites = arena_column(finder->arena, (uint64_t)count * 2, sizeof *sites);
    uint64_t largest = 0;
    if (sites == NULL) {
        finder->failed = true;
        return;
    }
    SORT_BY(sites, sites + count, count, i, finder_site(finder, finder->order[finder->start[rows[i].value]]));
    for (uint32_t from = 0, to; from < count; from = to) {
        uint64_t bytes = 0;
        for (to = from; to < count && sites[to].key == sites[from].key; to++)
            bytes += rows[sites[to].value].key >> 1;
        finding->n_sites++;
        if (bytes <= largest)
            continue;
        largest = bytes;
        finding->site = (uint32_t)sites[from].key;
        finding->stack =
            finder->allocations->stack[finder->order[finder->start[rows[sites[from].value].value]]];
    }
    ARENA_DROP(finder->arena, sites);
}

void finding_held_over_find(struct finder *finder) {
    const struct turns *turns = &finder->verdicts->turns;
    uint64_t bytes = 0, peak = finder->timeline->peak_bytes;
    uint32_t most = 0;
    if (turns->count < 2) {
        if (finder->part == 0)
            finder_held_once(finder);
        return;
    }
    if (finder->part + 1 < HELD_PARTS) {
        held_keys(finder);
        return;
    }
    finder->looked[FINDING_HELD_OVER] = finder->verdicts->runs.stacks == STACKS_NONE ? 0 : turns->count - 1;
    const struct sort_row *rows = finder->held.row;
    uint32_t count = finder->held.count;
    struct finding finding = {.kind = FINDING_HELD_OVER,
                              .unit = (uint8_t)finder_unit(finder),
                              .at_moment = finder->timeline->peak_moment,
                              .from_moment = turns->turn[0].begin_moment,
                              .to_moment = turns->turn[turns->count - 1].end_moment - 1};
    for (uint32_t i = 0; i < count && !finder->failed; i++) {
        struct held held = key_walk(finder, rows[i].value, rows[i].key & 1, true, &finding);
        bytes += held.bytes;
        most = held.n_pairs > most ? held.n_pairs : most;
    }
    if (finder->failed || most == 0)
        return;
    finding.per_n = most;
    finding.per_bytes = bytes / most;
    older_add(finder, &finding, finding.per_bytes);
    finding.figure[0] = most;
    finding.figure[1] = turns->count - 1;
    finder_saves(finder, &finding);
    sites_sum(finder, rows, count, &finding);
    finding.confidence = (uint8_t)confidence_of_turns(most + 1);
    finding.severity = is_percent(finding.saves, peak, 10) ? SEVERITY_MEDIUM : SEVERITY_LOW;
    if (finding.per_bytes >= peak / 1000 && finding.per_bytes >= 1024)
        finder_add(finder, &finding);
    ARENA_DROP(finder->arena, finder->held.row);
}

void finding_held_over_title(struct telling *telling) {
    const struct finding *finding = telling->finding;
    if (finding->variant == HELD_ONCE) {
        tell_held_once(telling);
        return;
    }
    if (finding->n_sites > 1)
        TELL(telling, "%S and %n other call site%s: ", finding->n_sites - 1);
    else
        tell(telling, "%S: the ");
    TELL(telling, "%b of one %U are still held while the next is made", finding->per_bytes);
}

void finding_held_over_detail(struct telling *telling) {
    const struct finding *finding = telling->finding;
    if (finding->variant == HELD_ONCE) {
        tell_held_once_more(telling);
        return;
    }
    TELL(telling, "In %n of %n pair%s of %Us the previous one's result is alive while the next is made; ",
         finding->figure[0], finding->figure[1]);
    if (finding->bytes == 0)
        tell(telling, "none of it is in the peak");
    else
        TELL(telling, "%b of these results are in the peak", finding->bytes);
    if (finding->figure[2] != 0)
        TELL(telling, ", %b of what is held is older than the recording", finding->figure[2]);
    tell(telling, ".");
    tell_saving(telling, "Freed first, if the next one does not need it:");
}
