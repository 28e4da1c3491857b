/*
 * Memory that a forward keeps for a backward that never comes, and the 16-bit copies of weights that autocast keeps
 * until its region ends.
 *
 *     a training forward     |---a---|                a backward frees what it has used, piece by piece
 *                               |--b--|
 *     one that nothing uses  |---c----------------|   everything goes at once, when the result goes, and outside of
 *                               |---d-------------|   every backward
 *
 * unused_graph: a stretch of forwards of which backward frees nothing: a validation inside of a training, a teacher beside
 * a student, or a recording without backward. What runs under no_grad leaves nothing that could be freed so; what it
 * keeps on purpose (a cache, collected results) are a few lines of each layer. autocast_copies.variant 1: a backward was
 * recorded, and needs them.
 */
#include "analysis/findings/finder.h"

#include "analysis/loop/frame_bits.h"
#include "analysis/loop/passes.h"
#include "base/bits.h"
#include "base/search.h"

enum {
    GRAPH_LEAST = 8, /* a result and its loss are three at most; a graph has more than this */
    /* Percent of what a forward makes. Graphs of the real PyTorch keep 56 and more (a GPT; a UNet 90, an MLP 100); a cache
     * of keys and values 10 to 33, collected results less than 10. */
    GRAPH_PERCENT = 40,
    IN_USE = 8, /* without a graph, the last so many allocations of a pass are in use */
    BEHIND = 4
};

/* ---- unused_graph ---- */

enum fate { FATE_PASSING, FATE_USED, FATE_AT_ONCE, FATE_STAYS };

struct graphs {
    struct passes passes;
    uint32_t *freed;   /* [n + 1] forward allocations that are freed before each recorded allocation */
    uint64_t *outside; /* bitmap of these places: no forward goes on there */
    uint32_t *n_used;  /* [runs] allocations that a backward frees piece by piece */
    uint32_t n, n_gaps, last_gap;
    bool stays; /* what stays to the end counts: no backward was recorded, nor did memory run out */
};

static bool is_candidate(const struct finder *finder, uint32_t allocation) {
    uint32_t bits = finder->verdicts->runs.stack_bits[finder->allocations->stack[allocation]];
    uint8_t category = finder->verdicts->category[allocation];
    return finder->verdicts->runs.letter[allocation] == PHASE_FORWARD &&
           !(bits & (BIT_NO_GRAD | BIT_CHECKPOINT | BIT_WORK)) && category != CATEGORY_PARAMETER &&
           category != CATEGORY_WEIGHT_COPY;
}

static bool any_oom(const struct trace *trace) {
    for (uint32_t i = 0; i < trace->n_devices; i++)
        if (trace->devices[i].n_ooms != 0)
            return true;
    return false;
}

/* The recorded allocation before which one is freed; n: after the last; UINT32_MAX: never. An exception for lack of memory
 * frees everything. */
static uint32_t gap_of(const struct finder *finder, uint32_t allocation) {
    const struct device_trace *device = finder->timeline->device;
    uint32_t let_go = finder->allocations->request[allocation];
    bool failed = device->n_ooms != 0 ? let_go > device->ooms[0].event
                                      : let_go > finder->made && any_oom(finder->timeline->trace);
    return let_go < finder->timeline->n_moments && !failed ? recorded_from(&finder->verdicts->runs, let_go)
                                                           : UINT32_MAX;
}

static enum fate fate_of(const struct finder *finder, const struct graphs *graphs, uint32_t gap) {
    const struct phase_runs *runs = &finder->verdicts->runs;
    if (gap == UINT32_MAX)
        return FATE_STAYS;
    if (gap == 0)
        return FATE_PASSING;
    bool backward = phase_runs_side(runs, gap - 1) == SIDE_BACKWARD;
    if (backward && gap < graphs->n && phase_runs_side(runs, gap) == SIDE_BACKWARD)
        return FATE_USED;
    if (graphs->freed[gap] > GRAPH_LEAST && bits_has(graphs->outside, gap))
        return FATE_AT_ONCE;
    return backward ? FATE_USED : FATE_PASSING;
}

/* Counts what is freed in each gap, and marks the gaps in which no forward goes on. */
static void gaps_fill(const struct finder *finder, struct graphs *graphs) {
    const uint8_t *letter = finder->verdicts->runs.letter + finder->allocations->preexisting;
    for (uint32_t k = 0; k < graphs->n; k++) {
        uint32_t gap = is_candidate(finder, finder->allocations->preexisting + k)
                           ? gap_of(finder, finder->allocations->preexisting + k)
                           : UINT32_MAX;
        if (gap != UINT32_MAX)
            graphs->freed[gap]++;
        if (letter[k] != PHASE_FORWARD)
            bits_add(graphs->outside, k);
    }
    for (uint32_t i = 0; i < graphs->passes.count; i++)
        bits_add(graphs->outside, graphs->passes.pass[i].first);
    bits_add(graphs->outside, graphs->n);
    const struct phase_runs *runs = &finder->verdicts->runs;
    for (uint32_t k = 0, at = 0; k < graphs->n; k++) {
        uint32_t own = finder->allocations->preexisting + k,
                 gap = is_candidate(finder, own) ? gap_of(finder, own) : 0;
        if (gap == 0 || fate_of(finder, graphs, gap) != FATE_USED)
            continue;
        if (gap - 1 < runs->run[at].first || gap - 1 > runs->run[at].last) /* mostly that of the one before */
            at = phase_runs_at(runs, gap - 1);
        graphs->n_used[at]++;
    }
}

/* Allocations [from, to) in which nothing is freed by a backward. */
struct stretch {
    uint32_t from, to;  /* recorded; from: the first that counts */
    uint32_t n, n_made; /* that count; all that forwards make in between */
};

/* Is it a graph? Where the backward that follows frees nothing piece by piece, it was told to retain its graph. */
static bool is_graph(const struct finder *finder, const struct graphs *graphs,
                     const struct stretch *stretch) {
    const struct phase_runs *runs = &finder->verdicts->runs;
    if (stretch->n <= GRAPH_LEAST || !is_percent(stretch->n, stretch->n_made, GRAPH_PERCENT))
        return false;
    uint32_t backward = runs->run[phase_runs_at(runs, stretch->to - 1)].next_backward;
    return backward == UINT32_MAX || graphs->n_used[backward] > 1;
}

static bool is_member(const struct finder *finder, const struct graphs *graphs, uint32_t allocation,
                      uint32_t *gap) {
    if (!is_candidate(finder, allocation))
        return false;
    *gap = gap_of(finder, allocation);
    enum fate fate = fate_of(finder, graphs, *gap);
    return fate == FATE_AT_ONCE || (fate == FATE_STAYS && graphs->stays);
}

/* The line that calls the outermost forward of a stack. */
static uint32_t caller_of(const struct finder *finder, uint32_t stack) {
    const struct trace *trace = finder->timeline->trace;
    uint32_t outermost = 0, site = finder->timeline->site[stack];
    for (uint32_t at = stack; at != 0; at = stack_parent(&trace->stacks, at))
        if (finder->verdicts->runs.frame_bits[trace->stacks.frame[at]] & BIT_FORWARD)
            outermost = at;
    uint32_t caller = outermost == 0 ? 0 : finder->timeline->site[stack_parent(&trace->stacks, outermost)];
    return caller != 0 ? caller : site;
}

/* The member that is the pass's result, which stays without a graph too: the last that is worth mentioning. UINT32_MAX: the
 * result goes apart from the graph, and is no member. */
static uint32_t result_of(const struct finder *finder, const struct graphs *graphs, const struct pass *pass) {
    const struct allocations *own = finder->allocations;
    uint32_t first = own->preexisting, result = UINT32_MAX, apart = UINT32_MAX, gap, most = 0, votes = 0;
    uint64_t bytes = 0;
    for (uint32_t k = pass->first; k <= pass->last; k++) {
        if (!is_member(finder, graphs, first + k, &gap))
            continue;
        bytes += own->size[first + k];
        most = votes == 0 ? gap : most; /* the gap in which most of the graph is freed, by majority vote */
        votes += gap == most ? 1 : UINT32_MAX;
    }
    for (uint32_t k = pass->first; k <= pass->last; k++) {
        if (own->size[first + k] < bytes / 100)
            continue;
        if (is_member(finder, graphs, first + k, &gap) && gap == most)
            result = k;
        else if (own->request[first + k] > own->birth[first + pass->last])
            apart = k;
    }
    return apart == UINT32_MAX ? result : UINT32_MAX;
}

/* When a member would be gone without a graph: when IN_USE more have been made, or the pass is over; a result, when the
 * next one of its code is there. */
static uint32_t end_of_use(const struct finder *finder, const struct passes *passes, uint32_t nth,
                           uint32_t recorded, bool result) {
    const struct pass *pass = &passes->pass[nth];
    const uint32_t *birth = finder->allocations->birth + finder->allocations->preexisting;
    for (uint32_t i = nth + 1; result && i < passes->count; i++)
        if (passes->pass[i].root == pass->root)
            return birth[passes->pass[i].last];
    for (uint32_t n = 0; !result && recorded < pass->last && n < IN_USE;)
        n += finder->verdicts->runs.letter[finder->allocations->preexisting + ++recorded] == PHASE_FORWARD;
    return result ? UINT32_MAX : birth[recorded];
}

/* Counts members of a pass, takes them out of the curve, and names them. */
static void pass_tell(struct finder *finder, struct graphs *graphs, uint32_t nth,
                      const struct stretch *stretch, struct finding *finding) {
    const struct allocations *allocations = finder->allocations;
    const struct pass *pass = &graphs->passes.pass[nth];
    uint32_t from = pass->first > stretch->from ? pass->first : stretch->from, gap;
    uint32_t to = pass->last < stretch->to ? pass->last + 1 : stretch->to,
             result = result_of(finder, graphs, pass);
    for (uint32_t k = from; k < to; k++) {
        uint32_t own = allocations->preexisting + k;
        if (!is_member(finder, graphs, own, &gap))
            continue;
        if (finding->stack == 0) {
            finding->stack = allocations->stack[own];
            finding->site = caller_of(finder, finding->stack);
            finding->from_moment = allocations->birth[own];
        }
        finding->to_moment = allocations->birth[own];
        if (gap != UINT32_MAX && gap != graphs->last_gap) {
            graphs->n_gaps++;
            graphs->last_gap = gap;
        }
        finder_count(finder, finding, own);
        finder_remove(finder, own, end_of_use(finder, &graphs->passes, nth, k, k == result),
                      allocations->death[own]);
        bits_add(finder->lives.told, own);
        finder->verdicts->category[own] = CATEGORY_ACTIVATION;
        if (finder->verdicts->reason != NULL)
            finder->verdicts->reason[own] = REASON_NONE;
    }
}

static void stretch_tell(struct finder *finder, struct graphs *graphs, const struct stretch *stretch,
                         struct finding *finding) {
    const struct pass *pass = graphs->passes.pass;
    uint32_t n = graphs->passes.count, nth = SEARCH(0, n, i, pass[i].last < stretch->from);
    for (; nth < n && pass[nth].first < stretch->to; nth++)
        pass_tell(finder, graphs, nth, stretch, finding);
}

static void graphs_find(struct finder *finder, struct graphs *graphs, struct finding *finding) {
    const struct allocations *allocations = finder->allocations;
    struct stretch stretch = {0};
    for (uint32_t k = 0; k < graphs->n; k++) {
        uint32_t own = allocations->preexisting + k, gap = 0;
        if (finder->verdicts->runs.letter[own] != PHASE_FORWARD)
            continue;
        if (is_member(finder, graphs, own, &gap)) {
            stretch.from = stretch.n++ == 0 ? k : stretch.from;
            stretch.to = k + 1;
        }
        stretch.n_made += stretch.n > 0;
        if (!is_candidate(finder, own) || fate_of(finder, graphs, gap_of(finder, own)) != FATE_USED)
            continue;
        if (is_graph(finder, graphs, &stretch))
            stretch_tell(finder, graphs, &stretch, finding);
        stretch = (struct stretch){0};
    }
    if (is_graph(finder, graphs, &stretch))
        stretch_tell(finder, graphs, &stretch, finding);
}

void finding_unused_graph_find(struct finder *finder) {
    const struct phase_runs *runs = &finder->verdicts->runs;
    uint64_t peak = finder->timeline->peak_bytes;
    struct graphs graphs = {.n = runs->n_allocations,
                            .stays = !phase_runs_has(runs, SIDE_BACKWARD) &&
                                     !phase_runs_has(runs, SIDE_OPTIMIZER) &&
                                     !any_oom(finder->timeline->trace),
                            .outside = arena_bits(finder->arena, runs->n_allocations + 1)};
    struct finding finding = {.kind = FINDING_UNUSED_GRAPH, .at_moment = finder->timeline->peak_moment};
    finder->failed |= graphs.outside == NULL ||
                      !ARENA_ZEROS(finder->arena, (uint64_t)graphs.n + 1, graphs.freed) ||
                      !ARENA_ZEROS(finder->arena, runs->count, graphs.n_used) ||
                      !passes_find(&graphs.passes, runs, finder->timeline, finder->arena);
    if (!finder->failed && runs->stacks != STACKS_NONE && graphs.n > 0) {
        gaps_fill(finder, &graphs);
        bool stays = graphs.stays;
        graphs.stays = false;
        graphs_find(finder, &graphs, &finding);
        graphs.stays =
            stays && finding.stack == 0; /* only where nothing shows that graphs are freed unused */
        if (graphs.stays)
            graphs_find(finder, &graphs, &finding);
        finder_saves(finder, &finding);
        finding.variant = graphs.n_gaps > 0;
        finding.confidence = graphs.n_gaps >= 2   ? CONFIDENCE_CERTAIN
                             : graphs.n_gaps == 1 ? CONFIDENCE_LIKELY
                                                  : CONFIDENCE_POSSIBLE;
        finding.severity =
            graphs.n_gaps > 0 ? (uint8_t)severity_of_saving(finding.saves, peak) : SEVERITY_LOW;
        finder_add(finder, &finding);
    }
    passes_drop(&graphs.passes, finder->arena);
    ARENA_DROP(finder->arena, graphs.n_used, graphs.freed, graphs.outside);
}

void finding_unused_graph_title(struct telling *telling) {
    const struct finding *finding = telling->finding;
    TELL(telling,
         finding->variant == 0
             ? "%S: %b at the peak are kept for a backward; none was recorded"
             : "%S: %b at the peak are a graph that no backward used; without it the peak would be "
               "about %b",
         finding->bytes, telling_peak_left(telling));
}

void finding_unused_graph_detail(struct telling *telling) {
    const struct finding *finding = telling->finding;
    TELL(telling, "%n allocation%s of the forward %(is|are) still there after the layers that made them",
         finding->count);
    tell(telling, finding->variant == 0
                      ? ", as a backward would need them."
                      : "; all are freed at once, with the result, and no backward used them.");
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
        if (finder->verdicts->category[i] != CATEGORY_WEIGHT_COPY ||
            (finder->verdicts->runs.stack_bits[allocations->stack[i]] & BIT_GATHER))
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
