/*
 * Kept per layer: within one forward the same stack occurs n times, once per layer, and k of the n outlive the
 * backward that uses up the others. One turn is enough to see it, but a cache made on first use looks the same.
 *
 * variant: 1 if its stacks occur as often as most do: once per layer. figure: [0] kept bytes, [1] kept allocations,
 * [2] of how many, [3] forwards that show it, [4] forwards, [5] 1 if something was recorded after the backward.
 */
#include "analysis/findings/finder.h"

#include "base/sort.h"

enum { KEPT_LEAST = 3 };

/* One stack, in the current forward and over all. */
struct layer_stack {
    uint32_t run; /* the run that n and k belong to, + 1 */
    uint32_t n, k;
    uint32_t n_forwards, last_forward; /* forwards that keep it; the number of the last one */
};

/* A forward and the backward after it. */
struct passes {
    uint32_t forward, backward; /* runs */
    uint32_t begins, ends;      /* moments: the first allocation of backward, and of what follows it */
    bool followed;              /* something was recorded after the backward */
};

static bool passes_at(const struct finder *finder, uint32_t run, struct passes *passes) {
    const struct phase_runs *runs = &finder->verdicts->runs;
    if (runs->run[run].side != SIDE_FORWARD || !runs->run[run].has_forward || run + 1 >= runs->count ||
        runs->run[run + 1].side != SIDE_BACKWARD)
        return false;
    uint32_t behind = run + 2;
    while (behind < runs->count && runs->run[behind].side != SIDE_FORWARD)
        behind++;
    const uint32_t *birth = finder->allocations->birth + finder->allocations->preexisting;
    *passes = (struct passes){.forward = run,
                              .backward = run + 1,
                              .begins = birth[runs->run[run + 1].first],
                              .ends = behind < runs->count ? birth[runs->run[behind].first] : finder->made,
                              .followed = run + 2 < runs->count};
    return true;
}

/* Does the allocation seem to belong to the forward's graph: alive when backward begins, and no parameter? */
static bool is_of_graph(const struct finder *finder, uint32_t allocation, const struct passes *passes) {
    uint8_t category = finder->verdicts->category[allocation];
    return finder->allocations->request[allocation] > passes->begins && category != CATEGORY_PARAMETER &&
           category != CATEGORY_INPUT && category != CATEGORY_WORKSPACE && category != CATEGORY_WEIGHT_COPY &&
           finder->allocations->stack[allocation] != 0;
}

static bool is_kept(const struct finder *finder, uint32_t allocation, const struct passes *passes) {
    return finder->allocations->request[allocation] > passes->ends;
}

static bool stack_keeps(const struct layer_stack *stack) {
    return stack->k >= KEPT_LEAST && stack->k * 3 >= stack->n;
}

/* Counts a forward's stacks. */
static void forward_count(struct finder *finder, const struct passes *passes, struct layer_stack *stacks,
                          uint32_t number) {
    const struct phase_run *run = &finder->verdicts->runs.run[passes->forward];
    const struct allocations *allocations = finder->allocations;
    for (uint32_t k = run->first; k <= run->last; k++) {
        uint32_t allocation = allocations->preexisting + k;
        struct layer_stack *own = &stacks[id_slot(finder->slots, allocations->stack[allocation])];
        if (!is_of_graph(finder, allocation, passes))
            continue;
        if (own->run != number + 1)
            own->n = own->k = 0;
        own->run = number + 1;
        own->n++;
        own->k += is_kept(finder, allocation, passes);
    }
}

/* Counts the forward for stacks that keep some, if at least as many stacks were used up as were kept. Visits each
 * stack once. */
static void forward_settle(struct finder *finder, const struct passes *passes, struct layer_stack *stacks,
                           uint32_t number) {
    const struct phase_run *run = &finder->verdicts->runs.run[passes->forward];
    const uint32_t *stack = finder->allocations->stack + finder->allocations->preexisting;
    uint32_t n_kept = 0, n_used = 0;
    for (uint32_t pass = 0; pass < 2; pass++)
        for (uint32_t k = run->first; k <= run->last; k++) {
            struct layer_stack *own = &stacks[id_slot(finder->slots, stack[k])];
            if (own->run != number + 1 + pass)
                continue;
            own->run++; /* each stack once */
            if (pass == 0) {
                n_kept += stack_keeps(own);
                n_used += own->k == 0;
            } else if (stack_keeps(own) && n_used >= n_kept) {
                own->n_forwards++;
                own->last_forward = number;
            }
        }
}

struct layer_search {
    struct layer_stack *stacks;
    uint32_t n_forwards, last_number;
    uint32_t n_layers; /* how often most stacks occur in a forward; 0: none occurs twice */
    bool followed;
};

/* Finds how often most repeated stacks occur in their last forward. False: no memory. */
static bool layers_count(struct finder *finder, struct layer_search *search) {
    uint32_t n_slots = finder->slots->count, n = 0, most = 0;
    struct sort_row *rows = arena_column(finder->arena, (uint64_t)n_slots * 2, sizeof *rows);
    if (rows == NULL)
        return false;
    for (uint32_t slot = 0; slot < n_slots; slot++)
        if (search->stacks[slot].n > 1)
            rows[n++] = (struct sort_row){search->stacks[slot].n, slot};
    sort_rows(rows, rows + n_slots, n);
    for (uint32_t from = 0, to; from < n; from = to) {
        to = sort_rows_end(rows, n, from);
        if (to - from <= most)
            continue;
        most = to - from;
        search->n_layers = (uint32_t)rows[from].key;
    }
    ARENA_DROP(finder->arena, rows);
    return true;
}

/* Does the stack keep memory? Of two forwards the second must show it, of more at least half of them. */
static bool stack_is_found(const struct layer_search *search, const struct layer_stack *stack) {
    if (stack->n_forwards == 0)
        return false;
    if (search->n_forwards == 2)
        return stack->last_forward == search->last_number;
    return stack->n_forwards * 2 >= search->n_forwards;
}

static void allocations_add(struct finder *finder, const struct layer_search *search,
                            const struct passes *passes, struct finding *findings, const uint32_t *of_site,
                            bool remove) {
    const struct phase_run *run = &finder->verdicts->runs.run[passes->forward];
    const struct allocations *allocations = finder->allocations;
    uint32_t last =
        allocations->birth[allocations->preexisting + finder->verdicts->runs.run[passes->backward].last];
    for (uint32_t k = run->first; k <= run->last; k++) {
        uint32_t allocation = allocations->preexisting + k, nth = of_site[finder_site(finder, allocation)];
        if (nth == 0 ||
            !stack_is_found(search,
                            &search->stacks[id_slot(finder->slots, allocations->stack[allocation])]) ||
            !is_of_graph(finder, allocation, passes))
            continue;
        struct finding *own = &findings[nth - 1];
        bool kept = is_kept(finder, allocation, passes);
        if (remove && kept)
            finder_remove(finder, allocation, last, allocations->death[allocation]);
        if (remove)
            continue;
        own->figure[2]++;
        if (!kept)
            continue;
        own->figure[0] += allocations->size[allocation];
        own->figure[1]++;
        own->stack = allocations->stack[allocation];
        own->from_moment = allocations->birth[allocation] < own->from_moment ? allocations->birth[allocation]
                                                                             : own->from_moment;
        own->to_moment = passes->ends > own->to_moment ? passes->ends : own->to_moment;
        finder_count(finder, own, allocation);
    }
}

/* Numbers the sites of the stacks found, from 1. Returns how many. */
static uint32_t sites_number(struct finder *finder, const struct layer_search *search, uint32_t *of_site,
                             struct finding *findings) {
    uint32_t n = 0, slot = 0;
    for (uint32_t s = 1; s < finder->timeline->trace->stacks.count; s++) {
        if (!id_has_slot(finder->slots, s))
            continue;
        uint32_t site = finder->timeline->site[s];
        if (!stack_is_found(search, &search->stacks[++slot]) || finder->blamed[site] || n == FINDINGS_OF_KIND)
            continue;
        uint32_t n_forwards = search->stacks[slot].n_forwards;
        if (of_site[site] == 0) {
            findings[n] = (struct finding){
                .kind = FINDING_KEPT_PER_LAYER,
                .unit = UNIT_LAYER,
                .site = site,
                .n_sites = 1,
                .variant = 1,
                .from_moment = UINT32_MAX,
                .at_moment = finder->timeline->peak_moment,
                .figure = {[3] = n_forwards, [4] = search->n_forwards, [5] = search->followed}};
            of_site[site] = ++n;
        }
        struct finding *own = &findings[of_site[site] - 1];
        own->variant &= search->stacks[slot].n == search->n_layers;
        own->figure[3] = n_forwards > own->figure[3] ? n_forwards : own->figure[3];
    }
    return n;
}

/* Visits every forward; with `of_site` NULL it only counts. */
static void forwards_walk(struct finder *finder, struct layer_search *search, struct finding *findings,
                          const uint32_t *of_site, bool remove) {
    const struct phase_runs *runs = &finder->verdicts->runs;
    struct passes passes;
    for (uint32_t r = 0; r < runs->count; r++) {
        if (!passes_at(finder, r, &passes))
            continue;
        if (of_site != NULL) {
            allocations_add(finder, search, &passes, findings, of_site, remove);
            continue;
        }
        forward_count(finder, &passes, search->stacks, r * 4);
        forward_settle(finder, &passes, search->stacks, r * 4);
        search->n_forwards++;
        search->last_number = r * 4;
        search->followed = passes.followed;
    }
}

static void layers_report(struct finder *finder, struct layer_search *search, struct finding *findings,
                          uint32_t n, uint32_t *of_site) {
    uint64_t peak = finder->timeline->peak_bytes;
    forwards_walk(finder, search, findings, of_site, false);
    for (uint32_t i = 0; i < n; i++) {
        struct finding *own = &findings[i];
        uint64_t forwards = own->figure[3] > 0 ? own->figure[3] : 1;
        own->per_n = (uint32_t)(own->figure[1] / forwards);
        own->per_bytes = own->figure[1] > 0 ? own->figure[0] / own->figure[1] : 0;
        own->confidence = (uint8_t)confidence_of_turns((uint32_t)own->figure[3] + 1);
        if (own->figure[3] == 1)
            own->confidence = CONFIDENCE_POSSIBLE;
        own->severity =
            is_percent(own->figure[0], peak, 5) && own->figure[5] ? SEVERITY_MEDIUM : SEVERITY_LOW;
        if (i < SAVINGS_OF_KIND) {
            for (uint32_t s = 0; s < finder->timeline->trace->frames.count; s++)
                of_site[s] = 0;
            of_site[own->site] = i + 1;
            forwards_walk(finder, search, findings, of_site, true);
            finder_saves(finder, own);
        }
        finder_add(finder, own);
    }
}

void finding_kept_per_layer_find(struct finder *finder) {
    const struct phase_runs *runs = &finder->verdicts->runs;
    struct finding findings[FINDINGS_OF_KIND];
    size_t n_frames = finder->timeline->trace->frames.count;
    if (runs->stacks == STACKS_NATIVE || runs->stacks == STACKS_NONE || runs->count >= UINT32_MAX / 4)
        return;
    struct layer_search search = {
        .stacks = arena_zeros(finder->arena, finder->slots->count, sizeof *search.stacks)};
    uint32_t *of_site = arena_zeros(finder->arena, n_frames, sizeof *of_site);
    if (search.stacks == NULL || of_site == NULL) {
        finder->failed = true;
        return;
    }
    forwards_walk(finder, &search, NULL, NULL, false);
    finder->looked[FINDING_KEPT_PER_LAYER] = search.n_forwards;
    finder->failed |= !layers_count(finder, &search);
    uint32_t n = sites_number(finder, &search, of_site, findings);
    if (n > 0)
        layers_report(finder, &search, findings, n, of_site);
    ARENA_DROP(finder->arena, of_site, search.stacks);
}

void finding_kept_per_layer_title(struct telling *telling) {
    const struct finding *finding = telling->finding;
    TELL(telling, "%S: %n of %n", finding->figure[1], finding->figure[2]);
    if (finding->variant == 1)
        tell(telling, ", once per layer,");
    else if (finding->figure[3] == 1)
        tell(telling, " in one forward");
    else
        TELL(telling, " in %n forwards", finding->figure[3]);
    TELL(telling, " outlive backward (%b)", finding->figure[0]);
}

void finding_kept_per_layer_detail(struct telling *telling) {
    const struct finding *finding = telling->finding;
    tell(telling, "Backward frees what other lines of this forward made. These allocations stay");
    tell(telling, finding->figure[5] ? ", also when the next phase is over"
                                     : " until the recording's last allocation");
    TELL(telling, " (in %n of %n forward%s). %b of it is in the peak.", finding->figure[3],
         finding->figure[4], finding->bytes);
    tell_saving(telling, "Dropped after backward:");
}
