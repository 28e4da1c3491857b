/*
 * Graphs: memory that a forward keeps for a backward.
 *
 *     one that trains        |---a---|                a backward frees what it has used, piece by piece
 *                               |--b--|
 *     unused                 |---c----------------|   everything goes at once, when the result goes, and outside of
 *                               |---d-------------|   every backward; or it stays while the same code trains again
 *     kept past its backward |---e----[backward]------|   as above, but a backward ran over it and freed nothing
 *
 * unused_graph: a validation inside of a training, a teacher beside a student, a step whose exception is kept.
 * held_over with held.graph: retain_graph, or a state that is carried on with its graph; a leak, where those of all
 * turns stay. What runs under no_grad leaves nothing that could be freed so; what it keeps on purpose (a cache,
 * collected results) are a few lines of each layer.
 */
#include "analysis/findings/finder.h"

#include "analysis/loop/frame_bits.h"
#include "analysis/loop/passes.h"
#include "base/bits.h"
#include "base/search.h"
#include "base/sort.h"

enum {
    GRAPH_LEAST = 8, /* a result and its loss are three at most; a graph has more than this */
    /* Percent of what a forward makes or, where a backward shows what such code keeps, of that. Graphs of the real PyTorch
     * keep 46 and more (a UNet; a GPT 85, an MLP 90); a cache of keys and values 14, collected results 1. */
    GRAPH_PERCENT = 40,
    IN_USE = 8,      /* without a graph, the last so many allocations of a pass are in use */
    IN_USE_LEAST = 2 /* at the least */
};

enum fate { FATE_PASSING, FATE_USED, FATE_AT_ONCE, FATE_STAYS };

struct graphs {
    struct passes passes;
    uint32_t *freed;   /* [n + 1] forward allocations that are freed before each recorded allocation */
    uint64_t *outside; /* bitmap of these places: no forward goes on there */
    uint32_t *n_used;  /* [runs] allocations that a backward frees piece by piece */
    uint32_t *next;    /* [passes] recorded allocation with which the next pass of the same code begins */
    uint64_t *noted;   /* bitmap of slots of stacks: the next two have them */
    uint64_t *saved;   /* bitmap of hashes of code inside of forwards: a backward freed what it made */
    uint64_t *trained; /* bitmap of frames on the way to such code */
    uint64_t *
        grown; /* bitmap of recorded allocations: the next pass makes a larger one there, as caches of keys do */
    uint32_t n, saved_mask, last_backward, last_gap, n_proofs, last_unit, last_never;
    uint32_t n_never; /* turns of which something stays until the loop ends */
    uint32_t n_told;  /* allocations in the finding */
    bool stays;       /* what stays to the end counts: no backward was recorded, nor did memory run out */
};

static uint32_t slot_of(const struct finder *finder, uint32_t recorded) {
    return id_slot(&finder->verdicts->runs.slots,
                   finder->allocations->stack[finder->allocations->preexisting + recorded]);
}

static bool is_candidate(const struct finder *finder, uint32_t recorded) {
    uint32_t own = finder->allocations->preexisting + recorded;
    uint32_t bits = finder->verdicts->runs.stack_bits[finder->allocations->stack[own]];
    uint8_t category = finder->verdicts->category[own];
    return finder->verdicts->runs.letter[own] == PHASE_FORWARD &&
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
static uint32_t gap_of(const struct finder *finder, uint32_t recorded) {
    const struct device_trace *device = finder->timeline->device;
    uint32_t let_go = finder->allocations->request[finder->allocations->preexisting + recorded];
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

/* Did the code of the nth pass run once more, with a backward after it? */
static bool is_again(const struct graphs *graphs, uint32_t nth) {
    return graphs->next[nth] < graphs->last_backward;
}

/* The frames outside of a stack's outermost forward, from the line that calls it on. 0: there is no forward. */
static uint32_t outside_of(const struct finder *finder, uint32_t stack) {
    const struct stack_table *stacks = &finder->timeline->trace->stacks;
    uint32_t outermost = 0;
    for (uint32_t at = stack; at != 0; at = stack_parent(stacks, at))
        if (finder->verdicts->runs.frame_bits[stacks->frame[at]] & BIT_FORWARD)
            outermost = at;
    return outermost == 0 ? 0 : stack_parent(stacks, outermost);
}

/* Notes what a backward frees: such code keeps memory for a backward, and is trained from there. */
static void used_note(const struct finder *finder, struct graphs *graphs, uint32_t recorded) {
    const struct stack_table *stacks = &finder->timeline->trace->stacks;
    uint32_t slot = slot_of(finder, recorded);
    if (bits_has(graphs->noted, slot))
        return;
    bits_add(graphs->noted, slot);
    bits_add(graphs->saved, graphs->passes.inner[slot] & graphs->saved_mask);
    uint32_t stack = finder->allocations->stack[finder->allocations->preexisting + recorded];
    for (uint32_t at = outside_of(finder, stack); at != 0; at = stack_parent(stacks, at))
        bits_add(graphs->trained, stacks->frame[at]);
}

/* Counts what is freed in each gap, marks the gaps in which no forward goes on, and notes what backwards free. */
static void gaps_fill(const struct finder *finder, struct graphs *graphs) {
    const struct phase_runs *runs = &finder->verdicts->runs;
    const uint8_t *letter = runs->letter + finder->allocations->preexisting;
    for (uint32_t k = 0; k < graphs->n; k++) {
        uint32_t gap = is_candidate(finder, k) ? gap_of(finder, k) : UINT32_MAX;
        if (gap != UINT32_MAX)
            graphs->freed[gap]++;
        if (letter[k] != PHASE_FORWARD)
            bits_add(graphs->outside, k);
    }
    for (uint32_t i = 0; i < graphs->passes.count; i++)
        bits_add(graphs->outside, graphs->passes.pass[i].first);
    bits_add(graphs->outside, graphs->n);
    for (uint32_t k = 0, at = 0; k < graphs->n; k++) {
        uint32_t gap = is_candidate(finder, k) ? gap_of(finder, k) : 0;
        if (fate_of(finder, graphs, gap) != FATE_USED)
            continue;
        if (gap - 1 < runs->run[at].first || gap - 1 > runs->run[at].last) /* mostly that of the one before */
            at = phase_runs_at(runs, gap - 1);
        graphs->n_used[at]++;
        used_note(finder, graphs, k);
    }
    for (uint32_t i = 0; i < runs->count; i++)
        graphs->last_backward =
            runs->run[i].side == SIDE_BACKWARD ? runs->run[i].first : graphs->last_backward;
}

/* Finds the next pass of the same code for each. */
static void next_fill(struct finder *finder, struct graphs *graphs) {
    const struct pass *pass = graphs->passes.pass;
    uint32_t n = graphs->passes.count;
    struct sort_row *rows, *spare;
    finder->failed |= !ARENA_COLUMNS(finder->arena, n, rows, spare);
    if (finder->failed)
        return;
    SORT_BY(rows, spare, n, i, pass[i].root);
    for (uint32_t i = 0; i < n; i++)
        graphs->next[rows[i].value] =
            i + 1 < n && rows[i].key == rows[i + 1].key ? pass[rows[i + 1].value].first : UINT32_MAX;
    ARENA_DROP(finder->arena, spare, rows);
}

/* Allocations [from, to) in which nothing is freed by a backward. */
struct stretch {
    uint32_t from, to;        /* recorded; from: the first that counts */
    uint32_t n, n_made;       /* that count; all that forwards make in between */
    uint32_t n_kept, n_saved; /* the same, of code that is known to keep memory for a backward */
    uint32_t n_stays;         /* that stay: most, or they are results of graphs that went */
};

static bool is_graph(const struct stretch *stretch) {
    if (stretch->n <= GRAPH_LEAST)
        return false;
    return stretch->n_saved > 0 ? is_percent(stretch->n_kept, stretch->n_saved, GRAPH_PERCENT)
                                : is_percent(stretch->n, stretch->n_made, GRAPH_PERCENT);
}

/* The backward that follows frees nothing of it piece by piece: it was told to retain its graph. */
static bool is_retained(const struct finder *finder, const struct graphs *graphs,
                        const struct stretch *stretch) {
    const struct phase_runs *runs = &finder->verdicts->runs;
    uint32_t backward = runs->run[phase_runs_at(runs, stretch->to - 1)].next_backward;
    return backward != UINT32_MAX && graphs->n_used[backward] <= 1;
}

static bool is_member(const struct finder *finder, const struct graphs *graphs, uint32_t nth,
                      uint32_t recorded, uint32_t *gap) {
    *gap = gap_of(finder, recorded);
    enum fate fate = is_candidate(finder, recorded) ? fate_of(finder, graphs, *gap) : FATE_PASSING;
    return fate == FATE_AT_ONCE || (fate == FATE_STAYS && (graphs->stays || is_again(graphs, nth)));
}

/* The line that calls the outermost forward of a stack; if a training calls that too, the next one outwards that it does
 * not have. */
static uint32_t caller_of(const struct finder *finder, const struct graphs *graphs, uint32_t stack,
                          bool retained) {
    const struct timeline *timeline = finder->timeline;
    const struct stack_table *stacks = &timeline->trace->stacks;
    uint32_t begin = outside_of(finder, stack), caller = timeline->site[begin];
    for (uint32_t at = begin; at != 0 && !retained; at = stack_parent(stacks, at))
        if (timeline->site[at] == stacks->frame[at] && !bits_has(graphs->trained, stacks->frame[at]))
            return timeline->site[at];
    return caller != 0 ? caller : timeline->site[stack];
}

/* The member that is the pass's result, which stays without a graph too: the last that is worth mentioning. UINT32_MAX: the
 * result goes apart from the graph, and is no member. */
static uint32_t result_of(const struct finder *finder, const struct graphs *graphs, uint32_t nth) {
    const struct pass *pass = &graphs->passes.pass[nth];
    const struct allocations *own = finder->allocations;
    uint32_t first = own->preexisting, result = UINT32_MAX, apart = UINT32_MAX, gap, most = 0, votes = 0;
    uint64_t bytes = 0;
    for (uint32_t k = pass->first; k <= pass->last; k++) {
        if (!is_member(finder, graphs, nth, k, &gap))
            continue;
        bytes += own->size[first + k];
        most = votes == 0 ? gap : most; /* the gap in which most of the graph is freed, by majority vote */
        votes += gap == most ? 1 : UINT32_MAX;
    }
    for (uint32_t k = pass->first; k <= pass->last; k++) {
        if (own->size[first + k] < bytes / 100)
            continue;
        if (is_member(finder, graphs, nth, k, &gap) && gap == most)
            result = k;
        else if (own->request[first + k] > own->birth[first + pass->last])
            apart = k;
    }
    return apart == UINT32_MAX ? result : UINT32_MAX;
}

/* Finds what is larger in the next pass that makes it: that pass needs the smaller one. */
static void grown_fill(struct finder *finder, struct graphs *graphs) {
    const uint64_t *size = finder->allocations->size + finder->allocations->preexisting;
    uint64_t *now, *next; /* of each slot: the largest of this pass, and of the one after it */
    finder->failed |= !ARENA_ZEROS(finder->arena, finder->verdicts->runs.slots.count, now, next);
    for (uint32_t nth = finder->failed ? 0 : graphs->passes.count; nth-- > 0;) {
        const struct pass *pass = &graphs->passes.pass[nth];
        for (uint32_t k = pass->first; k <= pass->last; k++) {
            uint32_t slot = slot_of(finder, k);
            now[slot] = size[k] > now[slot] ? size[k] : now[slot];
        }
        for (uint32_t k = pass->first; k <= pass->last; k++)
            if (now[slot_of(finder, k)] < next[slot_of(finder, k)])
                bits_add(graphs->grown, k);
        for (uint32_t k = pass->first; k <= pass->last; k++) {
            uint32_t slot = slot_of(finder, k);
            next[slot] = now[slot] != 0 ? now[slot] : next[slot];
            now[slot] = 0;
        }
    }
    ARENA_DROP(finder->arena, next, now);
}

/* When a member would be gone without a graph: when `in_use` more have been made, or the pass is over; a result, when the
 * next one of its code is there. */
static uint32_t end_of_use(const struct finder *finder, const struct passes *passes, uint32_t nth,
                           uint32_t recorded, bool result, uint32_t in_use) {
    const struct pass *pass = &passes->pass[nth];
    const uint32_t *birth = finder->allocations->birth + finder->allocations->preexisting;
    for (uint32_t i = nth + 1; result && i < passes->count; i++)
        if (passes->pass[i].root == pass->root)
            return birth[passes->pass[i].last];
    for (uint32_t n = 0; !result && recorded < pass->last && n < in_use;)
        n += finder->verdicts->runs.letter[finder->allocations->preexisting + ++recorded] == PHASE_FORWARD;
    return result ? UINT32_MAX : birth[recorded];
}

/* The end of the backward that follows. */
static uint32_t end_of_backward(const struct finder *finder, uint32_t recorded) {
    const struct phase_runs *runs = &finder->verdicts->runs;
    uint32_t backward = runs->run[phase_runs_at(runs, recorded)].next_backward;
    return backward == UINT32_MAX
               ? UINT32_MAX
               : finder->allocations->birth[runs->first_allocation + runs->run[backward].last];
}

/* Takes one allocation of a graph out of the curve, and names it. */
static void member_tell(struct finder *finder, struct graphs *graphs, uint32_t recorded, uint32_t end_of_use,
                        struct finding *finding) {
    const struct allocations *allocations = finder->allocations;
    uint32_t own = allocations->preexisting + recorded;
    finding->to_moment = allocations->birth[own];
    finder_count(finder, finding, own);
    finder_remove(finder, own, end_of_use, allocations->death[own]);
    finding->per_bytes += allocations->size[own];
    graphs->n_told++;
    bits_add(finder->lives.told, own);
    finder->verdicts->category[own] = CATEGORY_ACTIVATION;
    if (finder->verdicts->reason != NULL)
        finder->verdicts->reason[own] = REASON_NONE;
}

/* What the program makes around the pass, a loss or its own operators, and what goes with the graph: its inputs. They have
 * the same cause. */
static void host_tell(struct finder *finder, struct graphs *graphs, uint32_t nth, bool retained,
                      struct finding *finding) {
    const struct phase_runs *runs = &finder->verdicts->runs;
    const struct pass *pass = &graphs->passes.pass[nth];
    uint32_t end = nth + 1 < graphs->passes.count ? pass[1].begin : graphs->n,
             first = finder->allocations->preexisting;
    for (uint32_t k = pass->begin; k < end; k++) {
        uint8_t category = finder->verdicts->category[first + k];
        if (runs->letter[first + k] != PHASE_HOST || category == CATEGORY_PARAMETER)
            continue;
        enum fate fate = fate_of(finder, graphs, gap_of(finder, k));
        if (fate != FATE_AT_ONCE && (fate != FATE_STAYS || !is_again(graphs, nth)))
            continue;
        if (retained && k > pass->first && category != CATEGORY_INPUT)
            member_tell(finder, graphs, k, end_of_backward(finder, k), finding);
        bits_add(finder->lives.told, first + k);
    }
}

/* Counts the turns, or passes outside of turns, that have a graph, and those of which something stays until the loop ends;
 * asked for members, which come turn by turn. */
static void turn_note(struct finder *finder, struct graphs *graphs, uint32_t nth, uint32_t recorded,
                      struct finding *finding) {
    uint32_t own = finder->allocations->preexisting + recorded, turn = lives_turn(&finder->lives, own);
    bool has_turn = turn < finder->lives.n_turns;
    uint32_t unit = has_turn ? turn : finder->lives.n_turns + nth;
    if (finding->per_n == 0 || unit != graphs->last_unit)
        finding->per_n++;
    graphs->last_unit = unit;
    if (!has_turn || (graphs->n_never > 0 && unit == graphs->last_never) ||
        lives_freed(&finder->lives, own, turn) != LIVES_NEVER)
        return;
    graphs->n_never++;
    graphs->last_never = unit;
}

/* `retained`: by a backward that frees nothing of it. */
static void pass_tell(struct finder *finder, struct graphs *graphs, uint32_t nth,
                      const struct stretch *stretch, bool retained, struct finding *finding) {
    const struct allocations *allocations = finder->allocations;
    const struct pass *pass = &graphs->passes.pass[nth];
    uint32_t from = pass->first > stretch->from ? pass->first : stretch->from, gap;
    uint32_t to = pass->last < stretch->to ? pass->last + 1 : stretch->to,
             result = retained ? UINT32_MAX : result_of(finder, graphs, nth);
    for (uint32_t k = from; k < to; k++) {
        if (!is_member(finder, graphs, nth, k, &gap) ||
            (gap == UINT32_MAX && stretch->n_stays * 2 < stretch->n))
            continue;
        if (finding->stack == 0) {
            finding->stack = allocations->stack[allocations->preexisting + k];
            finding->site = caller_of(finder, graphs, finding->stack, retained);
            finding->from_moment = allocations->birth[allocations->preexisting + k];
        }
        turn_note(finder, graphs, nth, k, finding);
        if (gap != graphs->last_gap) {
            graphs->n_proofs += gap != UINT32_MAX || is_again(graphs, nth);
            graphs->last_gap = gap;
        }
        uint32_t n_cuts = finder->n_cuts;
        member_tell(finder, graphs, k,
                    retained ? end_of_backward(finder, k)
                             : end_of_use(finder, &graphs->passes, nth, k, k == result, IN_USE),
                    finding);
        if (retained || n_cuts == finder->n_cuts)
            continue;
        struct finding_cut *cut = &finder->cut[n_cuts];
        cut->soonest = end_of_use(finder, &graphs->passes, nth, k, k == result, IN_USE_LEAST);
        if (bits_has(graphs->grown, k))
            cut->latest = end_of_use(finder, &graphs->passes, nth, k, true, 0);
    }
    host_tell(finder, graphs, nth, retained, finding);
}

/* What both kinds of findings say of turns. */
static void turns_tell(const struct finder *finder, const struct graphs *graphs, struct finding *finding) {
    finding->unit = (uint8_t)finder_unit(finder);
    finding->per_bytes /= finding->per_n;
    finding->grows = graphs->n_never >= 2;
}

/* Tells a stretch if it is a graph, and begins the next one. */
static void stretch_end(struct finder *finder, struct graphs *graphs, struct stretch *stretch, bool retained,
                        struct finding *finding) {
    const struct pass *pass = graphs->passes.pass;
    uint32_t n = graphs->passes.count, nth = SEARCH(0, n, i, pass[i].last < stretch->from);
    if (is_graph(stretch) && is_retained(finder, graphs, stretch) == retained)
        for (; nth < n && pass[nth].first < stretch->to; nth++) {
            pass_tell(finder, graphs, nth, stretch, retained, finding);
        }
    *stretch = (struct stretch){0};
}

static void graphs_find(struct finder *finder, struct graphs *graphs, bool retained,
                        struct finding *finding) {
    const uint8_t *letter = finder->verdicts->runs.letter + finder->allocations->preexisting;
    struct stretch stretch = {0};
    for (uint32_t k = 0, nth = 0, gap; k < graphs->n; k++) {
        if (letter[k] != PHASE_FORWARD)
            continue;
        while (graphs->passes.pass[nth].last < k)
            nth++;
        bool member = is_member(finder, graphs, nth, k, &gap);
        if (member) {
            stretch.from = stretch.n++ == 0 ? k : stretch.from;
            stretch.to = k + 1;
            stretch.n_stays += gap == UINT32_MAX;
        }
        bool saved = bits_has(graphs->saved, graphs->passes.inner[slot_of(finder, k)] & graphs->saved_mask);
        stretch.n_made += stretch.n > 0;
        stretch.n_saved += stretch.n > 0 && saved;
        stretch.n_kept += member && saved;
        if (is_candidate(finder, k) && fate_of(finder, graphs, gap) == FATE_USED)
            stretch_end(finder, graphs, &stretch, retained, finding);
    }
    stretch_end(finder, graphs, &stretch, retained, finding);
}

static void unused_find(struct finder *finder, struct graphs *graphs) {
    struct finding finding = {.kind = FINDING_UNUSED_GRAPH, .at_moment = finder->timeline->peak_moment};
    bool stays = graphs->stays;
    graphs->stays = false;
    graphs_find(finder, graphs, false, &finding);
    graphs->stays = stays && finding.stack == 0; /* only where nothing shows that graphs are freed unused */
    if (graphs->stays)
        graphs_find(finder, graphs, false, &finding);
    if (finding.stack == 0)
        return;
    finder_saves(finder, &finding);
    if (graphs->n_proofs == 0) /* a backward may follow after the end */
        return;
    turns_tell(finder, graphs, &finding);
    finding.confidence = graphs->n_proofs >= 2 ? CONFIDENCE_CERTAIN : CONFIDENCE_LIKELY;
    finding.severity = (uint8_t)severity_of_saving(finding.saves, finder->timeline->peak_bytes);
    finder_add(finder, &finding);
}

static void retained_find(struct finder *finder, struct graphs *graphs) {
    struct finding finding = {
        .kind = FINDING_HELD_OVER, .at_moment = finder->timeline->peak_moment, .held.graph = true};
    graphs->n_proofs = graphs->n_never = graphs->n_told = 0;
    graphs_find(finder, graphs, true, &finding);
    if (finding.stack == 0)
        return;
    uint64_t bytes = finding.per_bytes;
    finder_saves(finder, &finding);
    turns_tell(finder, graphs, &finding);
    if (finding.grows) {
        finding.kind = FINDING_LEAK;
        finding.variant = LEAK_OF_GRAPHS;
        finding.leak = (struct finding_leak){bytes, graphs->n_told, finder->lives.n_turns, 0};
    } else
        finding.held.n_pairs = finding.per_n;
    finding.n_sites = 1;
    finding.confidence = (uint8_t)confidence_of_turns(finding.per_n + 1);
    finding.severity = (uint8_t)severity_of_saving(finding.saves, finder->timeline->peak_bytes);
    finder_add(finder, &finding);
}

static bool graphs_init(struct graphs *graphs, struct finder *finder) {
    const struct phase_runs *runs = &finder->verdicts->runs;
    struct arena *arena = finder->arena;
    uint32_t n = runs->n_allocations, n_bits = 1024;
    while (n_bits < runs->slots.count * 64) /* so that few share a bit */
        n_bits *= 2;
    *graphs =
        (struct graphs){.n = n,
                        .saved_mask = n_bits - 1,
                        .stays = !phase_runs_has(runs, SIDE_BACKWARD) &&
                                 !phase_runs_has(runs, SIDE_OPTIMIZER) && !any_oom(finder->timeline->trace),
                        .outside = arena_bits(arena, n + 1),
                        .noted = arena_bits(arena, runs->slots.count),
                        .saved = arena_bits(arena, n_bits),
                        .grown = arena_bits(arena, n),
                        .trained = arena_bits(arena, finder->timeline->trace->frames.count)};
    return graphs->outside != NULL && graphs->noted != NULL && graphs->saved != NULL &&
           graphs->grown != NULL && graphs->trained != NULL &&
           ARENA_ZEROS(arena, (uint64_t)n + 1, graphs->freed) &&
           ARENA_ZEROS(arena, runs->count, graphs->n_used) &&
           passes_find(&graphs->passes, runs, finder->timeline, arena) &&
           ARENA_COLUMNS(arena, graphs->passes.count, graphs->next);
}

static void unused_graph_find(struct finder *finder) {
    struct graphs graphs;
    if (finder->verdicts->runs.stacks == STACKS_NONE || finder->verdicts->runs.n_allocations == 0)
        return;
    finder->failed |= !graphs_init(&graphs, finder);
    if (finder->failed)
        return;
    next_fill(finder, &graphs);
    if (!finder->failed) {
        gaps_fill(finder, &graphs);
        if (finder->verdicts->with_cuts)
            grown_fill(finder, &graphs);
        unused_find(finder, &graphs);
    }
    if (!finder->failed)
        retained_find(finder, &graphs);
    ARENA_DROP(finder->arena, graphs.next);
    passes_drop(&graphs.passes, finder->arena);
    ARENA_DROP(finder->arena, graphs.n_used, graphs.freed, graphs.grown, graphs.trained, graphs.saved,
               graphs.noted, graphs.outside);
}

static void unused_graph_title(struct telling *telling) {
    TELL(telling,
         "%S: %b at the peak are a graph that no backward used; without it the peak would be about %b",
         telling->finding->bytes, telling_peak_left(telling));
}

static void unused_graph_detail(struct telling *telling) {
    TELL(
        telling,
        "%n allocation%s of the forward %(is|are) still there after the layers that made them; all are freed "
        "at once, with the result, and no backward used them.",
        telling->finding->count);
}

const struct kind kind_unused_graph = {
    KIND(unused_graph), "Unused graph", .flags = KIND_OF_SET,
    .change = "run what is not trained under torch.no_grad()",
    .advice = {"Run it under torch.inference_mode() (or torch.no_grad()) if nothing is trained with it.",
               "with torch.no_grad():  # around %S", 0}};
