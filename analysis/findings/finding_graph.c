/*
 * Memory that a forward keeps for a backward that never comes: a graph, in recordings without backward and
 * optimizer; and the 16-bit copies of weights that autocast keeps until its region ends.
 *
 * unused_graph: variant: enum graph_end; saves: an estimate that frees each layer's activations when the same line
 * comes again; figure [0]: 1 if only the previous pass is known to have been freed. autocast_copies: variant 1: a
 * backward was recorded, and needs them.
 */
#include "analysis/findings/finder.h"

#include "analysis/loop/frame_bits.h"

enum graph_end { GRAPH_STAYS, GRAPH_IS_FREED };
enum { GRAPH_LEAST = 8, GRAPH_STACKS = 3, BEHIND = 4 };

/* ---- unused_graph ---- */

struct graph {
    uint32_t *n_own, *n_freed; /* [turns + 1] of the graph in each turn; the last is for runs without turns */
    uint32_t *gap,
        *lead; /* [turns + 1] the allocation before which most of a turn's graph is freed, by majority vote */
    uint64_t bytes, removed; /* bytes that count, over all turns; those with a computed saving */
    uint32_t n_turns;        /* turns that count */
};

static bool is_of_graph(const struct finder *finder, uint32_t allocation) {
    return finder->verdicts->category[allocation] == CATEGORY_ACTIVATION &&
           (finder->verdicts->runs.stack_bits[finder->allocations->stack[allocation]] & BIT_FORWARD) != 0;
}

/* Index of the allocation's turn; the last place if there are no turns. UINT32_MAX: outside of every turn. */
static uint32_t place_of(const struct finder *finder, uint32_t allocation) {
    return finder->verdicts->turns.count == 0 ? 0 : finder_turn(finder, allocation);
}

static bool counts(const struct graph *graph, uint32_t place) {
    return place != UINT32_MAX && graph->n_own[place] > GRAPH_LEAST;
}

static bool any_oom(const struct trace *trace) {
    for (uint32_t i = 0; i < trace->n_devices; i++)
        if (trace->devices[i].n_ooms != 0)
            return true;
    return false;
}

/* The recorded allocation before which one is freed; UINT32_MAX: never freed. */
static uint32_t gap_of(const struct finder *finder, uint32_t allocation) {
    uint32_t let_go = finder->allocations->request[allocation];
    return let_go < finder->timeline->n_moments
               ? recorded_from(&finder->verdicts->runs, finder->timeline, let_go)
               : UINT32_MAX;
}

static void gap_vote(struct graph *graph, uint32_t place, uint32_t gap) {
    if (graph->lead[place] == 0)
        graph->gap[place] = gap;
    graph->lead[place] += graph->gap[place] == gap ? 1 : UINT32_MAX; /* minus one */
}

/* Counts the turns that free most of their graph, and drops the others. A graph is freed at once, with its result.
 * Memory that is freed piece by piece, while the next turn makes the same, is a cache that each layer replaces. */
static uint32_t turns_freed(const struct finder *finder, struct graph *graph) {
    const struct allocations *allocations = finder->allocations;
    uint32_t n = 0, n_places = finder->verdicts->turns.count == 0 ? 1 : finder->verdicts->turns.count;
    for (uint32_t i = allocations->preexisting; i < allocations->count; i++) {
        uint32_t place = is_of_graph(finder, i) ? place_of(finder, i) : UINT32_MAX;
        if (place == UINT32_MAX)
            continue;
        graph->n_own[place]++;
        gap_vote(graph, place, gap_of(finder, i));
    }
    for (uint32_t i = allocations->preexisting; i < allocations->count; i++) {
        uint32_t place = is_of_graph(finder, i) ? place_of(finder, i) : UINT32_MAX;
        if (place != UINT32_MAX)
            graph->n_freed[place] += gap_of(finder, i) == graph->gap[place];
    }
    bool cache = false;
    for (uint32_t place = 0; place < n_places; place++)
        cache |= counts(graph, place) && graph->n_freed[place] * 2 <= graph->n_own[place];
    for (uint32_t place = 0; place < n_places; place++) {
        bool stays = graph->gap[place] == UINT32_MAX;
        if (graph->n_freed[place] * 2 <= graph->n_own[place] || (stays && cache))
            graph->n_own[place] = 0;
        graph->n_turns += counts(graph, place);
        n += counts(graph, place) && !stays;
    }
    return n;
}

/* The last forward allocation in the turn of a recorded allocation. */
static uint32_t last_forward(const struct finder *finder, uint32_t place) {
    const struct turns *turns = &finder->verdicts->turns;
    uint32_t first = turns->count == 0 ? 0 : turns->turn[place].first,
             end = turns->count == 0 ? finder->verdicts->runs.n_allocations : turns->turn[place].end;
    while (end > first + 1 &&
           finder->verdicts->runs.letter[finder->allocations->preexisting + end - 1] != PHASE_FORWARD)
        end--;
    return finder->allocations->preexisting + end - 1;
}

static uint32_t middle_of(struct sort_row *distance, struct sort_row *spare, uint32_t count) {
    sort_rows(distance, spare, count);
    return (uint32_t)distance[count / 2].key;
}

/* The births of one stack in one turn, rows [from, to): each of the graph would be freed when the next one comes. */
static void births_remove(struct finder *finder, struct graph *graph, const struct sort_row *rows,
                          uint32_t from, uint32_t to, uint32_t last, struct sort_row *distance,
                          struct sort_row *spare) {
    const struct allocations *allocations = finder->allocations;
    for (uint32_t i = from; i + 1 < to; i++)
        distance[i - from] = (struct sort_row){rows[i + 1].value - rows[i].value, i};
    uint32_t end = rows[to - 1].value + middle_of(distance, spare, to - 1 - from);
    end = end < last ? end : last;
    for (uint32_t i = from; i < to; i++) {
        uint32_t own = rows[i].value, next = i + 1 < to ? rows[i + 1].value : end;
        if (!is_of_graph(finder, own))
            continue;
        graph->removed += allocations->size[own];
        if (next > own)
            finder_remove(finder, own, allocations->birth[next], allocations->death[own]);
    }
}

/* Recorded allocations of the turns that count, by stack, then birth. NULL: no memory. */
static struct sort_row *births_sorted(struct finder *finder, const struct graph *graph, uint32_t *count) {
    const struct allocations *allocations = finder->allocations;
    uint32_t n = allocations->count - allocations->preexisting;
    struct sort_row *rows, *spare;
    *count = 0;
    if (!ARENA_COLUMNS(finder->arena, n, rows, spare))
        return NULL;
    for (uint32_t i = allocations->preexisting; i < allocations->count; i++)
        if (counts(graph, place_of(finder, i)))
            rows[(*count)++] = (struct sort_row){allocations->stack[i], i};
    sort_rows(rows, spare, *count);
    ARENA_DROP(finder->arena, spare);
    return rows;
}

static void graph_remove(struct finder *finder, struct graph *graph) {
    uint32_t count = 0, n = finder->allocations->count - finder->allocations->preexisting;
    struct sort_row *rows = births_sorted(finder, graph, &count), *distance, *spare;
    finder->failed |= !ARENA_COLUMNS(finder->arena, n, distance, spare) || rows == NULL;
    for (uint32_t from = 0, to; !finder->failed && from < count; from = to) {
        uint32_t place = place_of(finder, rows[from].value);
        for (to = from;
             to < count && rows[to].key == rows[from].key && place_of(finder, rows[to].value) == place; to++)
            continue;
        if (to - from >= 2)
            births_remove(finder, graph, rows, from, to, last_forward(finder, place), distance, spare);
    }
    ARENA_DROP(finder->arena, spare, distance, rows);
}

static void graph_weigh(struct finder *finder, struct graph *graph, struct finding *finding,
                        uint32_t n_freed) {
    uint64_t peak = finder->timeline->peak_bytes;
    finder_saves(finder, finding);
    finding->saves_known = graph->removed >= graph->bytes - graph->removed;
    finding->confidence = n_freed >= 2 ? CONFIDENCE_CERTAIN : CONFIDENCE_LIKELY;
    finding->severity = finding->saves_known ? (uint8_t)severity_of_saving(finding->saves, peak)
                        : is_percent(finding->bytes, peak, 10) ? SEVERITY_MEDIUM
                                                               : SEVERITY_LOW;
    if (finding->variant == GRAPH_IS_FREED)
        return;
    bool worth = finding->saves_known && is_percent(finding->saves, peak, 3) &&
                 finder->verdicts->older.copies < 3 && finder->timeline->device->n_ooms == 0;
    finding->confidence = CONFIDENCE_POSSIBLE;
    finding->severity = worth ? SEVERITY_LOW : SEVERITY_INFO;
}

/* Notes a stack; returns how many different ones were noted, three at most. */
static uint32_t stack_note(uint32_t stacks[GRAPH_STACKS], uint32_t n, uint32_t stack) {
    for (uint32_t i = 0; i < n; i++)
        if (stacks[i] == stack)
            return n;
    if (n < GRAPH_STACKS)
        stacks[n++] = stack;
    return n;
}

static void graph_report(struct finder *finder, struct graph *graph) {
    const struct allocations *allocations = finder->allocations;
    struct finding finding = {
        .kind = FINDING_UNUSED_GRAPH, .from_moment = UINT32_MAX, .at_moment = finder->timeline->peak_moment};
    uint32_t n_freed = turns_freed(finder, graph), stacks[GRAPH_STACKS], n_stacks = 0;
    if (n_freed == 0 && finder->graph_held) {
        n_freed = 1; /* the previous graph was freed without a backward */
        finding.figure[0] = 1;
    }
    if (any_oom(finder->timeline->trace))
        n_freed = 0; /* an exception frees everything */
    finding.variant = n_freed > 0 ? GRAPH_IS_FREED : GRAPH_STAYS;
    for (uint32_t i = allocations->preexisting; graph->n_turns > 0 && i < allocations->count; i++) {
        if (!is_of_graph(finder, i) || !counts(graph, place_of(finder, i)))
            continue;
        graph->bytes += allocations->size[i];
        n_stacks = stack_note(stacks, n_stacks, allocations->stack[i]);
        finder_count(finder, &finding, i);
        finding.from_moment = finding.from_moment == UINT32_MAX ? allocations->birth[i] : finding.from_moment;
        finding.to_moment = allocations->birth[i];
    }
    /* Fewer stacks may be a cache of keys and values, which each layer makes in one line or two. */
    if (!is_percent(finding.bytes, finder->timeline->peak_bytes, 5) ||
        (finding.variant == GRAPH_STAYS && n_stacks < GRAPH_STACKS))
        return;
    graph_remove(finder, graph);
    graph_weigh(finder, graph, &finding, n_freed);
    finder_add(finder, &finding);
}

void finding_unused_graph_find(struct finder *finder) {
    size_t n = (size_t)finder->verdicts->turns.count + 1;
    struct graph graph = {0};
    finder->failed |= !ARENA_ZEROS(finder->arena, n, graph.n_own, graph.n_freed, graph.gap, graph.lead);
    if (!finder->failed && finder->verdicts->runs.stacks != STACKS_NONE &&
        !phase_runs_has(&finder->verdicts->runs, SIDE_BACKWARD) &&
        !phase_runs_has(&finder->verdicts->runs, SIDE_OPTIMIZER))
        graph_report(finder, &graph);
    ARENA_DROP(finder->arena, graph.lead, graph.gap, graph.n_freed, graph.n_own);
}

void finding_unused_graph_title(struct telling *telling) {
    const struct finding *finding = telling->finding;
    if (finding->variant == GRAPH_STAYS) {
        TELL(telling, "%b at the peak are kept for a backward; none was recorded", finding->bytes);
        return;
    }
    TELL(telling, "%b at the peak are a graph that no backward used", finding->bytes);
    if (finding->saves_known)
        TELL(telling, "; without it the peak would be about %b", telling_peak_left(telling));
}

void finding_unused_graph_detail(struct telling *telling) {
    const struct finding *finding = telling->finding;
    TELL(telling, "%n allocation%s of the forward %(is|are) still there after the layers that made them",
         finding->count);
    tell(telling, finding->variant == GRAPH_STAYS ? ", as a backward would need them."
                  : finding->figure[0] != 0
                      ? ", and the previous pass's graph was freed although no backward ran in the recording."
                      : ", and most were freed although no backward ran in the recording.");
}

/* ---- autocast_copies ---- */

/* Without a backward each copy is needed until its operator is done. */
static void copies_remove(struct finder *finder) {
    const struct allocations *allocations = finder->allocations;
    uint32_t next = UINT32_MAX;
    for (uint32_t i = allocations->count; i-- > allocations->preexisting;) {
        if (finder->verdicts->category[i] != CATEGORY_WEIGHT_COPY)
            continue;
        uint32_t behind = i + BEHIND < allocations->count ? i + BEHIND : UINT32_MAX,
                 at = next < behind ? next : behind;
        if (at != UINT32_MAX)
            finder_remove(finder, i, allocations->birth[at], allocations->death[i]);
        next = i;
    }
}

void finding_autocast_copies_find(struct finder *finder) {
    const struct allocations *allocations = finder->allocations;
    uint64_t peak = finder->timeline->peak_bytes;
    struct finding finding = {.kind = FINDING_AUTOCAST_COPIES,
                              .confidence = CONFIDENCE_LIKELY,
                              .from_moment = UINT32_MAX,
                              .at_moment = finder->timeline->peak_moment,
                              .variant = phase_runs_has(&finder->verdicts->runs, SIDE_BACKWARD)};
    for (uint32_t i = allocations->preexisting; i < allocations->count; i++) {
        if (finder->verdicts->category[i] != CATEGORY_WEIGHT_COPY)
            continue;
        finder_count(finder, &finding, i);
        finding.from_moment = finding.from_moment == UINT32_MAX ? allocations->birth[i] : finding.from_moment;
        finding.to_moment = allocations->birth[i];
    }
    if (!is_percent(finding.bytes, peak, 1))
        return;
    if (finding.variant == 0) {
        copies_remove(finder);
        finder_saves(finder, &finding);
        finding.severity = is_percent(finding.saves, peak, 3) ? SEVERITY_MEDIUM : SEVERITY_LOW;
    }
    finder_add(finder, &finding);
}

void finding_autocast_copies_title(struct telling *telling) {
    const struct finding *finding = telling->finding;
    TELL(telling, "%b at the peak are 16-bit copies of the weights that autocast made", finding->bytes);
    if (finding->saves_known)
        TELL(telling, "; without them it would be %b", telling_peak_left(telling));
}

void finding_autocast_copies_detail(struct telling *telling) {
    const struct finding *finding = telling->finding;
    TELL(telling,
         "%n %(copy of a weight in 16 bits is|copies of weights in 16 bits are) alive at the peak: autocast "
         "keeps them until its region ends, unless cache_enabled=False.",
         finding->count);
    if (finding->variant == 1)
        tell(telling, " The backward pass needs them: they are the price of autocast over 32-bit weights.");
    tell_saving(telling, "Without them:");
}
