/*
 * Held over: what one turn made is still alive while the next one of its call site is made, so that both exist at once:
 * an output, a loss with its graph, a logits buffer.
 *
 *     turn k      |---- result -----------|
 *     turn k + 1                 |---- result ------------|
 *                                ^ begins
 *
 * More than a result and its loss is a graph: backward, which would have freed it, was told to retain it, or a cycle of
 * Python objects keeps it until the collector runs. Where no backward follows, as where keys and values are kept for the
 * next token, what many lines hold is neither a result nor a graph, and nothing is said of it.
 */
#include "analysis/findings/finder.h"

#include "base/bits.h"
#include "base/sort.h"

/* A program that is right holds at most three in a turn: of 34 recordings of the real PyTorch, logits, what the loss
 * makes of them, and the loss. A graph has two for each layer. */
enum {
    GRAPH_LEAST = 8,
    BEFORE = 64 /* allocations of a layer before the one that it keeps */
};

/* Is the row freed while the site's next turn runs, or after it if that is the last one? The last row has no such turn. */
static bool row_is_held(const struct life *life, const struct life *next) {
    return life->n_kept > 0 && next->turn != UINT32_MAX && life->freed >= next->turn &&
           (next->next == UINT32_MAX || life->freed < next->next);
}

static bool may_be_held(const struct finder *finder, uint32_t site) {
    const struct lives *lives = &finder->lives;
    if (lives->start[site + 1] - lives->start[site] < 2)
        return false;
    uint32_t first = lives->order[lives->start[site]];
    uint8_t category = finder->verdicts->category[first];
    return finder_side(finder, first) == SIDE_FORWARD && category != CATEGORY_PARAMETER &&
           category != CATEGORY_INPUT && category != CATEGORY_WORKSPACE;
}

/* Held in half of its pairs of turns. The bytes of all, and rows; 0: no. */
static uint64_t site_holds(const struct finder *finder, uint32_t site, uint32_t *n_rows, uint32_t *n_held) {
    struct life life = {.to = finder->lives.start[site]}, next;
    uint64_t bytes = 0;
    uint32_t n_turns = 0;
    *n_rows = *n_held = 0;
    for (bool more = lives_next(&finder->lives, site, &life); more; life = next) {
        next = life;
        more = lives_next(&finder->lives, site, &next);
        n_turns++;
        if (!row_is_held(&life, &next))
            continue;
        ++*n_rows;
        *n_held += life.n_kept;
        bytes += life.kept_bytes;
    }
    return *n_rows > 0 && *n_rows * 2 >= n_turns - 1 ? bytes : 0;
}

/* The backward that follows an allocation in its turn. NULL: there is none. */
static const struct phase_run *backward_of(const struct finder *finder, uint32_t allocation,
                                           const struct turn *turn) {
    const struct phase_runs *runs = &finder->verdicts->runs;
    uint32_t backward = runs->run[phase_runs_at(runs, allocation - runs->first_allocation)].next_backward;
    return backward == UINT32_MAX || runs->run[backward].first >= turn->end ? NULL : &runs->run[backward];
}

/* Does a backward follow in any turn that makes something at one of the sites? */
static bool have_backward(const struct finder *finder, const struct sort_row *rows, uint32_t count) {
    const struct lives *lives = &finder->lives;
    for (uint32_t i = 0; i < count; i++) {
        struct life life = {.to = lives->start[rows[i].value]};
        while (lives_next(lives, rows[i].value, &life))
            if (life.n_kept > 0 &&
                backward_of(finder, lives->order[life.from], &lives->turns->turn[life.turn]) != NULL)
                return true;
    }
    return false;
}

/* When what is held would be gone: the result of a model with its turn; a graph with its backward; what layers keep when
 * backward comes to it. Backward goes from what was made last to what was made first, so it is done with an allocation
 * when the operator runs that frees what was made before that, which makes its own result first. */
static uint32_t end_of_use(const struct finder *finder, uint32_t allocation, const struct turn *turn,
                           bool graph, bool of_layers) {
    const struct allocations *allocations = finder->allocations;
    const struct phase_run *backward = graph || of_layers ? backward_of(finder, allocation, turn) : NULL;
    if (backward == NULL)
        return turn->end_moment;
    uint32_t first = allocations->preexisting + backward->first,
             last = allocations->preexisting + backward->last;
    uint32_t from = allocation > BEFORE + turn->first ? allocation - BEFORE : turn->first;
    for (uint32_t own = allocation; !graph && own-- > from;)
        if (finder->verdicts->runs.letter[own] == PHASE_FORWARD &&
            allocations->request[own] > allocations->birth[first] &&
            allocations->request[own] <= allocations->birth[last])
            return allocations->birth[allocations->preexisting - 1 +
                                      recorded_from(&finder->verdicts->runs, allocations->request[own])];
    return allocations->birth[last];
}

/* Counts what a site holds, and takes it out of the curve from the end of its use on. */
static void site_measure(struct finder *finder, uint32_t site, bool graph, struct finding *finding) {
    const struct lives *lives = &finder->lives;
    struct life life = {.to = lives->start[site]}, next;
    for (bool more = lives_next(lives, site, &life); more; life = next) {
        next = life;
        more = lives_next(lives, site, &next);
        const struct turn *turn = &lives->turns->turn[life.turn];
        /* what outlives the loop's last backward is held too, though no turn follows */
        bool held = row_is_held(&life, &next) || (!more && life.n_kept > (graph ? 0 : 1));
        for (uint32_t at = life.from; held && at < life.to; at++) {
            uint32_t allocation = lives->order[at];
            if (lives_freed(lives, allocation, life.turn) != life.freed || bits_has(lives->told, allocation))
                continue;
            finder_count(finder, finding, allocation);
            finder_remove(finder, allocation, end_of_use(finder, allocation, turn, graph, life.n_kept > 1),
                          finder->allocations->death[allocation]);
        }
    }
}

/* Adds memory from before the recording that the first turn frees, if it is about as large: the turn before's. */
static void older_add(struct finder *finder, struct finding *finding) {
    const struct allocations *allocations = finder->allocations;
    const struct turn *first = &finder->lives.turns->turn[0];
    uint64_t bytes = 0, per_turn = finding->per_bytes;
    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < allocations->preexisting; i++) {
            if (allocations->death[i] <= first->begin_moment || allocations->death[i] > first->end_moment ||
                allocations->death[i] >= finder->timeline->n_moments)
                continue;
            if (pass == 0) {
                bytes += allocations->size[i];
                continue;
            }
            finder_count(finder, finding, i);
            finder_remove(finder, i, first->begin_moment, allocations->death[i]);
        }
        if (bytes < per_turn / 2 || bytes > per_turn + per_turn / 10)
            return;
    }
    finding->held.older_bytes = bytes;
}

/* The row's key: bytes. */
static struct sort_row *held_sites(struct finder *finder, uint32_t *count, uint32_t *most, uint64_t *n_held) {
    struct sort_row *rows = arena_column(finder->arena, finder->lives.n_sites, sizeof *rows);
    *count = *most = 0;
    *n_held = 0;
    finder->failed |= rows == NULL;
    for (uint32_t site = 0; !finder->failed && site < finder->lives.n_sites; site++) {
        uint32_t n_rows = 0, n_own = 0;
        uint64_t bytes = may_be_held(finder, site) ? site_holds(finder, site, &n_rows, &n_own) : 0;
        if (bytes == 0)
            continue;
        rows[(*count)++] = (struct sort_row){bytes, site};
        *most = n_rows > *most ? n_rows : *most;
        *n_held += n_own;
    }
    return rows;
}

/* The call site that holds the most, and the number of call sites. */
static void sites_sum(struct finder *finder, const struct sort_row *rows, uint32_t count,
                      struct finding *finding) {
    const struct lives *lives = &finder->lives;
    struct sort_row *sites, *spare;
    uint64_t largest = 0;
    finder->failed |= !ARENA_COLUMNS(finder->arena, count, sites, spare);
    if (finder->failed)
        return;
    SORT_BY(sites, spare, count, i, finder_site(finder, lives->order[lives->start[rows[i].value]]));
    for (uint32_t from = 0, to; from < count; from = to) {
        uint64_t bytes = 0;
        to = sort_rows_end(sites, count, from);
        for (uint32_t i = from; i < to; i++)
            bytes += rows[sites[i].value].key;
        finding->n_sites++;
        if (bytes <= largest)
            continue;
        largest = bytes;
        finding->site = (uint32_t)sites[from].key;
        finding->stack =
            finder->allocations->stack[lives->order[lives->start[rows[sites[from].value].value]]];
    }
    ARENA_DROP(finder->arena, spare, sites);
}

static void held_over_find(struct finder *finder) {
    const struct turns *turns = finder->lives.turns;
    uint64_t peak = finder->timeline->peak_bytes, n_held;
    uint32_t count, most;
    if (finder->lives.n_turns < 2)
        return;
    finder->looked[FINDING_HELD_OVER] =
        finder->verdicts->runs.stacks == STACKS_NONE ? 0 : finder->lives.n_turns - 1;
    struct sort_row *rows = held_sites(finder, &count, &most, &n_held);
    bool graph = n_held > (uint64_t)GRAPH_LEAST * most;
    bool of_layers = n_held > 2 * (uint64_t)most * count; /* not a result and its loss */
    bool unclear = (graph || of_layers) && !have_backward(finder, rows, count);
    if (unclear)
        finder->looked[FINDING_HELD_OVER] = 0;
    if (most == 0 || unclear) {
        ARENA_DROP(finder->arena, rows);
        return;
    }
    struct finding finding = {.kind = FINDING_HELD_OVER,
                              .unit = (uint8_t)finder_unit(finder),
                              .per_n = most,
                              .at_moment = finder->timeline->peak_moment,
                              .from_moment = turns->turn[0].begin_moment,
                              .to_moment = turns->turn[turns->count - 1].end_moment - 1,
                              .held = {.n_pairs = finder->lives.n_turns - 1, .graph = graph}};
    for (uint32_t i = 0; i < count && !finder->failed; i++) {
        finding.per_bytes += rows[i].key;
        site_measure(finder, rows[i].value, graph, &finding);
    }
    finding.per_bytes /= most;
    older_add(finder, &finding);
    finder_saves(finder, &finding);
    sites_sum(finder, rows, count, &finding);
    finding.confidence = (uint8_t)confidence_of_turns(most + 1);
    finding.severity = graph || of_layers ? (uint8_t)severity_of_saving(finding.saves, peak) : SEVERITY_LOW;
    finder_add(finder, &finding);
    ARENA_DROP(finder->arena, rows);
}

static void held_over_title(struct telling *telling) {
    const struct finding *finding = telling->finding;
    tell(telling, "%S");
    if (finding->n_sites > 1)
        TELL(telling, " and %n other call site%s", finding->n_sites - 1);
    TELL(telling,
         finding->held.graph
             ? ": the graph of one %U (%b) is still held after its backward, while the next is made"
             : ": the %b of one %U are still held while the next is made",
         finding->per_bytes);
}

static void held_over_detail(struct telling *telling) {
    const struct finding *finding = telling->finding;
    TELL(telling, "In %n of %n pair%s of %Us the previous one's result is alive while the next is made; ",
         finding->per_n, finding->held.n_pairs);
    if (finding->bytes == 0)
        tell(telling, "none of it is in the peak");
    else
        TELL(telling, "%b of these results are in the peak", finding->bytes);
    if (finding->held.older_bytes != 0)
        TELL(telling, ", %b of what is held is older than the recording", finding->held.older_bytes);
    tell(telling, ".");
    tell_saving(telling, finding->held.graph ? "Freed by its backward:"
                                             : "Freed first, if the next one does not need it:");
}

static struct advice held_over_advise(const struct telling *telling) {
    return telling->finding->held.graph
               ? ADVICE_RETAINED
               : (struct advice){
                     .action = "Delete the old result (del) before the model is called again, or keep only "
                               "what you need of "
                               "it (.item(), .detach()).",
                     "del output  # before the next forward: what %S made"};
}

const struct kind kind_held_over = {KIND(held_over), "Kept too long", .flags = KIND_OF_SET,
                                    .change = "drop the last turn's result before the next is made",
                                    .advise = held_over_advise};
