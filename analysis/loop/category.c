#include "analysis/loop/category.h"

#include "analysis/loop/frame_bits.h"
#include "base/bits.h"
#include "base/bytes.h"
#include "base/search.h"
#include "base/sort.h"

/* ---- names ---- */

const struct wording category_label[CATEGORY_COUNT] = {
    [CATEGORY_OTHER] = {"other", "other"},
    [CATEGORY_PARAMETER] = {"parameter", "parameters"},
    [CATEGORY_GRADIENT] = {"gradient", "gradients"},
    [CATEGORY_OPTIMIZER_STATE] = {"optimizer_state", "optimizer state"},
    [CATEGORY_ACTIVATION] = {"activation", "activations"},
    [CATEGORY_TEMPORARY] = {"temporary", "temporaries"},
    [CATEGORY_INPUT] = {"input", "input"},
    [CATEGORY_AUTOGRAD_DETAIL] = {"autograd_detail", "autograd detail"},
    [CATEGORY_UNKNOWN] = {"unknown", "unknown"},
    [CATEGORY_WORKSPACE] = {"workspace", "workspaces"},
    [CATEGORY_RESULT] = {"result", "results"},
    [CATEGORY_WEIGHT_COPY] = {"weight_copy", "copies of weights"},
};

const struct wording category_reason_label[REASON_COUNT] = {
    [REASON_NONE] = {"none", "nothing is lacking"},
    [REASON_OLDER] = {"older", "older: no size of a parameter"},
    [REASON_NO_STACK] = {"no_stack", "no stack was recorded"},
    [REASON_NATIVE] = {"native_stacks", "only C++ frames were recorded"},
    [REASON_NO_PHASES] = {"no_phases", "no forward or backward pass was recorded"},
    [REASON_CUT_OFF] = {"cut_off", "the recording ends before it could tell"},
    [REASON_OF_FILE] = {"of_file", "the file has its own word for it"},
    [REASON_KEPT] = {"kept", "kept after its turn"},
    [REASON_COPY] = {"copy", "a further copy of the parameters"},
    [REASON_POOL] = {"private_pool", "older: in a private pool, as a CUDA graph has"},
    [REASON_CACHE] = {"kv_cache", "room for keys and values"},
    [REASON_BY_SIZE] = {"by_size", "older than the recording; by their sizes"},
};

enum category category_by_name(struct text name) {
    for (uint32_t i = 0; i < CATEGORY_COUNT; i++)
        if (text_is(name, category_label[i].name))
            return (enum category)i;
    return CATEGORY_COUNT;
}

/* ---- judging ---- */

enum {
    /* allocations at the end of a backward, where memory that is freed next need not be a gradient */
    LAST_OF_RUN = 8,
    KEPT_LAST = 32,
    GRAPH_LEAST = 8 /* a last operator holds two or three of its inputs, a graph hundreds */
};

/* Not judged yet: it will get the category of most allocations with its stack. */
#define CATEGORY_OPEN CATEGORY_COUNT

/* Forward allocations that a turn's graph may hold, in runs without backward. */
struct held {
    uint32_t behind_turn, behind_forward; /* forward allocations freed after the turn; after its forward */
    uint32_t last_forward;                /* moment of the last allocation of forward */
};

struct judge {
    const struct timeline *timeline;
    const struct allocations *allocations;
    const struct phase_runs *runs;
    const struct turns *turns;
    uint8_t *category, *reason; /* reason may be NULL */
    struct held *held;          /* [turns.count + 1]; the last is for the whole recording */
    struct sort_row *weight;    /* sizes of possible parameters, rising */
    uint32_t n_weights;
    struct majority *majority; /* [runs.slots.count] */
    uint32_t kept
        /* the newest gradients from the ends of earlier backwards, one for each stack and size */
        [KEPT_LAST];
    uint32_t n_kept;
    bool has_backward, reduces; /* reduces: only this rank's share of the summed gradient is kept */
    bool ends_with_state; /* the optimizer's step that the recording ends in makes state where it inits it */
    bool has_modules;     /* parameters are known by the code that makes modules */
    uint32_t first_forward; /* allocation; UINT32_MAX: none */
    uint32_t never;         /* `let_go` of allocations that are never freed */
    uint64_t *makers;       /* bits of the stacks that make what a forward takes */
};

static uint32_t birth_of(const struct judge *judge, uint32_t recorded) {
    return recorded < judge->runs->n_allocations
               ? judge->allocations->birth[judge->runs->first_allocation + recorded]
               : judge->never;
}

static enum category open_as(struct judge *judge, uint32_t allocation, enum category_reason reason) {
    if (judge->reason != NULL)
        judge->reason[allocation] = (uint8_t)reason;
    return CATEGORY_OTHER;
}

/* The category that the allocation's context names; CATEGORY_COUNT: it names none. */
static enum category category_of_context(struct judge *judge, uint32_t allocation) {
    const struct trace *trace = judge->timeline->trace;
    struct text text =
        trace_text(trace, trace->contexts.context[judge->allocations->context[allocation]].category);
    if (text.nbytes == 0)
        return CATEGORY_COUNT;
    enum category category = category_by_name(text);
    if (category == CATEGORY_COUNT || category == CATEGORY_OTHER)
        return open_as(judge, allocation, REASON_OF_FILE);
    return category;
}

/* Room for keys and values, made outside of every forward, as in _allocate_kv_cache. */
static bool is_cache(uint32_t bits) {
    return (bits & (BIT_CACHE | BIT_FORWARD)) == BIT_CACHE;
}

/* ---- older than the recording ---- */

static enum category category_of_older(struct judge *judge, uint32_t allocation) {
    uint32_t bits = judge->runs->stack_bits[judge->allocations->stack[allocation]];
    if (judge->allocations->flags[allocation] & ALLOCATION_STACK_OF_FREE)
        return open_as(judge, allocation, REASON_OLDER);
    if (bits & BIT_WORK)
        return CATEGORY_WORKSPACE;
    if (is_cache(bits))
        return open_as(judge, allocation, REASON_CACHE);
    if (judge->runs->letter[allocation] == PHASE_OPTIMIZER)
        return CATEGORY_OPTIMIZER_STATE;
    if (judge->runs->letter[allocation] == PHASE_BACKWARD)
        return CATEGORY_GRADIENT;
    if ((bits & BIT_PARAMETER) || ((bits & BIT_INIT) && !(bits & BIT_FORWARD)))
        return CATEGORY_PARAMETER;
    return open_as(judge, allocation, REASON_OLDER);
}

/* ---- born in the optimizer, born in backward ---- */

static enum category category_of_optimizer(struct judge *judge, uint32_t allocation, uint32_t run) {
    bool last = run + 1 == judge->runs->count;
    uint32_t let_go = judge->allocations->request[allocation];
    uint32_t bits = judge->runs->stack_bits[judge->allocations->stack[allocation]];
    if (let_go == judge->never) {
        judge->ends_with_state |= last && (bits & BIT_STATE);
        return last && !(bits & BIT_STATE) ? CATEGORY_OPEN : CATEGORY_OPTIMIZER_STATE;
    }
    bool outlives = !last && let_go > birth_of(judge, judge->runs->run[run + 1].first);
    return outlives ? CATEGORY_OPTIMIZER_STATE : CATEGORY_TEMPORARY;
}

/* zero_grad frees after the last allocation of backward and before the next one of forward, so nothing tells
 * gradients that die there from what the last operators needed. */
static enum category category_of_backward(struct judge *judge, uint32_t allocation, uint32_t run) {
    const struct phase_run *own = &judge->runs->run[run];
    uint32_t let_go = judge->allocations->request[allocation],
             recorded = allocation - judge->runs->first_allocation;
    uint32_t bits = judge->runs->stack_bits[judge->allocations->stack[allocation]];
    bool last = run + 1 == judge->runs->count, stored = (bits & BIT_ACCUMULATE) != 0;
    if (!last && let_go > birth_of(judge, own[1].first))
        return CATEGORY_GRADIENT;
    if (let_go < birth_of(judge, own->last) ||
        (judge->reduces && !(bits & BIT_REDUCE) && let_go != judge->never))
        return CATEGORY_TEMPORARY;
    return stored || own->last - recorded >= LAST_OF_RUN ? CATEGORY_GRADIENT : CATEGORY_OPEN;
}

/* ---- born on the forward side ---- */

/* Did an out-of-memory error free it? The first error after its birth frees what would have lived longer. */
static bool freed_by_failure(const struct judge *judge, uint32_t allocation) {
    const struct device_trace *device = judge->timeline->device;
    uint32_t birth = judge->allocations->birth[allocation];
    uint32_t low = SEARCH(0, device->n_ooms, i, device->ooms[i].event + 1 < birth);
    return low < device->n_ooms && judge->allocations->request[allocation] > device->ooms[low].event + 1;
}

/* For a run that never goes backward. */
static enum category category_without_backward(struct judge *judge, uint32_t allocation, bool forward) {
    uint32_t recorded = allocation - judge->runs->first_allocation, turn = turns_at(judge->turns, recorded);
    bool in_turn = turn != UINT32_MAX;
    uint32_t end = in_turn ? judge->turns->turn[turn].end_moment : judge->never,
             let_go = judge->allocations->request[allocation];
    const struct held *held = &judge->held[in_turn ? turn : judge->turns->count];
    if (let_go >= end)
        return forward && held->behind_turn > GRAPH_LEAST ? CATEGORY_ACTIVATION : CATEGORY_RESULT;
    return forward && let_go > held->last_forward && held->behind_forward > GRAPH_LEAST ? CATEGORY_ACTIVATION
                                                                                        : CATEGORY_TEMPORARY;
}

/* How long an allocation outside of every forward lives at least. */
enum lifetime {
    LIVES_AT_ALL,
    LIVES_TO_FORWARD, /* until the first one */
    LIVES_TO_LOOP,
    LIVES_ON, /* over the first turns */
    LIVES_TO_END
};

/* What the frames of an allocation outside of every forward and its lifetime tell of it. The first row that fits
 * decides. */
static const struct evidence {
    uint32_t bits; /* one of them */
    uint8_t lifetime, category, reason;
} evidence[] = {
    {BIT_STATE, LIVES_TO_LOOP, CATEGORY_OPTIMIZER_STATE, REASON_NONE},
    {BIT_CACHE, LIVES_TO_END, CATEGORY_OTHER, REASON_CACHE},
    {BIT_PARAMETER, LIVES_TO_FORWARD, CATEGORY_PARAMETER, REASON_NONE},
    {BIT_DATA, LIVES_AT_ALL, CATEGORY_INPUT, REASON_NONE},
    {BIT_INIT, LIVES_ON, CATEGORY_PARAMETER, REASON_NONE},
};

/* The moment until which an allocation lives at least. */
static uint32_t moment_of(const struct judge *judge, enum lifetime lifetime) {
    const struct turns *turns = judge->turns;
    switch (lifetime) {
    case LIVES_AT_ALL: break;
    case LIVES_TO_FORWARD:
        return judge->first_forward == UINT32_MAX ? judge->never - 1 : birth_of(judge, judge->first_forward);
    case LIVES_ON:
        if (turns->count > 2)
            return turns->turn[1].end_moment;
        /* fallthrough */
    case LIVES_TO_LOOP: return birth_of(judge, turns->loop_first);
    /* What is freed after the last allocation was freed by the program's end. */
    case LIVES_TO_END: return birth_of(judge, judge->runs->n_allocations - 1);
    }
    return 0;
}

static bool lives(const struct judge *judge, uint32_t allocation, enum lifetime lifetime) {
    return judge->allocations->request[allocation] > moment_of(judge, lifetime);
}

/* Do the C++ frames show that it is neither copied from the host nor random? */
static bool is_of_device(uint32_t bits) {
    return (bits & (BIT_NATIVE | BIT_HOST)) == BIT_NATIVE;
}

/* The category of memory made outside of every forward; CATEGORY_COUNT: nothing tells. */
static enum category category_of_host(struct judge *judge, uint32_t allocation, uint32_t bits) {
    uint32_t recorded = allocation - judge->runs->first_allocation,
             stack = judge->allocations->stack[allocation];
    bool loop = judge->turns->loop_first < judge->runs->n_allocations,
         before = loop && recorded < judge->turns->loop_first;
    for (size_t i = 0; i < sizeof evidence / sizeof *evidence; i++)
        if ((bits & evidence[i].bits) && lives(judge, allocation, (enum lifetime)evidence[i].lifetime))
            return evidence[i].category == CATEGORY_OTHER
                       ? open_as(judge, allocation, (enum category_reason)evidence[i].reason)
                       : (enum category)evidence[i].category;
    if (before && !judge->has_modules && lives(judge, allocation, LIVES_TO_END))
        return CATEGORY_PARAMETER;
    bool to_forward = before && lives(judge, allocation, LIVES_TO_FORWARD);
    if (bits_has(judge->makers, stack) || (to_forward && !is_of_device(bits)) ||
        (!before && (bits & BIT_HOST)))
        return CATEGORY_INPUT;
    /* Made once, and not from data: a buffer that the loop fills. */
    return to_forward ? open_as(judge, allocation, REASON_KEPT) : CATEGORY_COUNT;
}

/* A forward takes what the code before it made: finds the stacks of that code. Those after it make losses and
 * measures, even where they do before the next forward. What outlives the next two forwards was kept, and is no batch.
 * Where a forward is the last one, nothing shows how long that lives. False: no memory. */
static bool makers_find(struct judge *judge, struct arena *arena) {
    const struct phase_runs *runs = judge->runs;
    const uint8_t *letter = runs->letter + runs->first_allocation;
    uint32_t n_stacks = judge->timeline->trace->stacks.count;
    uint64_t *keepers = arena_bits(arena, n_stacks);
    if (keepers == NULL)
        return false;
    for (uint32_t r = runs->count, next = judge->never, behind = judge->never; r-- > 0;) {
        uint32_t first = runs->run[r].first;
        if (!runs->run[r].has_forward)
            continue;
        while (letter[first] != PHASE_FORWARD)
            first++;
        uint32_t begin = birth_of(judge, first), until = behind != judge->never ? behind : next;
        for (uint32_t k = runs->run[r].first; k < first && until != judge->never; k++) {
            uint32_t i = runs->first_allocation + k, let_go = judge->allocations->request[i];
            if (k < judge->turns->loop_first || judge->allocations->stack[i] == 0 || let_go <= begin)
                continue;
            if (let_go <= until)
                bits_add(judge->makers, judge->allocations->stack[i]);
            else if (let_go > behind)
                bits_add(keepers, judge->allocations->stack[i]);
        }
        behind = next;
        next = begin;
    }
    for (uint32_t word = 0; word <= n_stacks / 64; word++)
        judge->makers[word] &= ~keepers[word];
    ARENA_DROP(arena, keepers);
    return true;
}

static enum category category_of_forward(struct judge *judge, uint32_t allocation, uint32_t run) {
    const struct phase_runs *runs = judge->runs;
    uint32_t bits = runs->stack_bits[judge->allocations->stack[allocation]];
    uint32_t let_go = judge->allocations->request[allocation], next = runs->run[run].next_backward;
    bool forward = runs->letter[allocation] == PHASE_FORWARD;
    enum category made = bits & BIT_FORWARD ? CATEGORY_COUNT : category_of_host(judge, allocation, bits);
    if (made != CATEGORY_COUNT)
        return made;
    if (runs->stacks == STACKS_NATIVE && let_go == judge->never)
        return open_as(judge, allocation, REASON_NATIVE);
    if (next != UINT32_MAX)
        return let_go <= birth_of(judge, runs->run[next].first) ? CATEGORY_TEMPORARY : CATEGORY_ACTIVATION;
    if (judge->has_backward) { /* but not again before the recording ends */
        (void)open_as(judge, allocation, REASON_CUT_OFF);
        return CATEGORY_OPEN;
    }
    if (judge->first_forward == UINT32_MAX && judge->turns->count == 0)
        return open_as(judge, allocation, runs->stacks == STACKS_NATIVE ? REASON_NATIVE : REASON_NO_PHASES);
    return category_without_backward(judge, allocation, forward);
}

/* ---- all allocations ---- */

static enum category category_of(struct judge *judge, uint32_t allocation, uint32_t run) {
    enum category own = category_of_context(judge, allocation);
    if (own != CATEGORY_COUNT)
        return own;
    if (allocation < judge->runs->first_allocation)
        return category_of_older(judge, allocation);
    if (judge->allocations->stack[allocation] == 0 && judge->runs->stacks != STACKS_PYTHON)
        return open_as(judge, allocation, REASON_NO_STACK);
    uint32_t bits = judge->runs->stack_bits[judge->allocations->stack[allocation]];
    if (bits & (BIT_WORK | BIT_GATHER))
        return bits & BIT_GATHER ? CATEGORY_WEIGHT_COPY : CATEGORY_WORKSPACE;
    if (judge->runs->run[run].side == SIDE_OPTIMIZER)
        return category_of_optimizer(judge, allocation, run);
    return judge->runs->run[run].side == SIDE_BACKWARD ? category_of_backward(judge, allocation, run)
                                                       : category_of_forward(judge, allocation, run);
}

/* The slot of an allocation's stack. */
static uint32_t slot_of(const struct judge *judge, uint32_t allocation) {
    return id_slot(&judge->runs->slots, judge->allocations->stack[allocation]);
}

/* Majority vote for a stack's category: `votes` is votes for `category` less votes against it. */
struct majority {
    uint32_t votes, run; /* run: the run that is counted, + 1; 0: all of them */
    uint8_t category;
};

static void majority_vote(struct majority *majority, enum category category, uint32_t run) {
    if (majority->run != run)
        *majority = (struct majority){.run = run};
    if (majority->votes == 0)
        majority->category = (uint8_t)category;
    if (majority->category == category)
        majority->votes++;
    else
        majority->votes--;
}

/* Collects the sizes that a parameter may have: those of parameters, and of older memory. False: no memory. */
static bool weights_find(struct judge *judge, struct arena *arena) {
    uint32_t count = 0, first = judge->runs->first_allocation;
    for (uint32_t i = 0; i < judge->allocations->count; i++)
        count += i < first || judge->category[i] == CATEGORY_PARAMETER;
    struct sort_row *spare;
    if (!ARENA_COLUMNS(arena, count, judge->weight, spare))
        return false;
    for (uint32_t i = 0; i < judge->allocations->count; i++)
        if (i < first || judge->category[i] == CATEGORY_PARAMETER)
            judge->weight[judge->n_weights++] = (struct sort_row){judge->allocations->size[i], i};
    sort_rows(judge->weight, spare, count);
    ARENA_DROP(arena, spare);
    return true;
}

static bool is_weight_size(const struct judge *judge, uint64_t nbytes) {
    uint32_t low = SEARCH(0, judge->n_weights, i, judge->weight[i].key < nbytes);
    return low < judge->n_weights && judge->weight[low].key == nbytes;
}

/* An operator makes the gradients of its input and of its parameters with one stack; sizes tell them apart.
 * CATEGORY_OPEN: no other allocation of the run has this stack and size. */
static enum category category_of_equals(const struct judge *judge, const struct phase_run *run,
                                        uint32_t allocation) {
    const struct allocations *allocations = judge->allocations;
    uint32_t gradients = 0, temporaries = 0;
    for (uint32_t k = run->first; k <= run->last; k++) {
        uint32_t other = judge->runs->first_allocation + k;
        if (allocations->stack[other] != allocations->stack[allocation] ||
            allocations->size[other] != allocations->size[allocation])
            continue;
        gradients += judge->category[other] == CATEGORY_GRADIENT;
        temporaries += judge->category[other] == CATEGORY_TEMPORARY;
    }
    return gradients == temporaries  ? CATEGORY_OPEN
           : gradients > temporaries ? CATEGORY_GRADIENT
                                     : CATEGORY_TEMPORARY;
}

/* The first allocation of a run's last part. */
static uint32_t last_of_run(const struct phase_run *run) {
    return run->last - run->first < LAST_OF_RUN ? run->first : run->last - LAST_OF_RUN + 1;
}

static bool is_equal(const struct allocations *allocations, uint32_t a, uint32_t b) {
    return allocations->stack[a] == allocations->stack[b] && allocations->size[a] == allocations->size[b];
}

/* The embedding's gradient is the last one that backward makes, the only one of its stack, and as large as a
 * parameter; nothing else of that size is near but gradients. If one exists already, this one is added to it and
 * freed. */
static bool is_last_gradient(const struct judge *judge, const struct phase_run *run, uint32_t allocation) {
    const struct allocations *allocations = judge->allocations;
    for (uint32_t i = 0; i < judge->n_kept && i < KEPT_LAST; i++)
        if (is_equal(allocations, judge->kept[i], allocation) &&
            allocations->request[judge->kept[i]] > allocations->birth[allocation])
            return false;
    for (uint32_t k = last_of_run(run); k <= run->last; k++) {
        uint32_t other = judge->runs->first_allocation + k;
        if (other != allocation && allocations->size[other] == allocations->size[allocation] &&
            judge->category[other] != CATEGORY_GRADIENT)
            return false;
    }
    return is_weight_size(judge, allocations->size[allocation]);
}

static void keep_gradient(struct judge *judge, uint32_t allocation) {
    uint32_t at = 0;
    while (at < judge->n_kept && at < KEPT_LAST && !is_equal(judge->allocations, judge->kept[at], allocation))
        at++;
    if (at == judge->n_kept || at == KEPT_LAST)
        at = judge->n_kept++ % KEPT_LAST;
    judge->kept[at] = allocation;
}

static enum category category_of_last(const struct judge *judge, const struct phase_run *run,
                                      uint32_t allocation, const struct majority *majority) {
    const struct majority *own = &majority[slot_of(judge, allocation)];
    enum category equals = category_of_equals(judge, run, allocation);
    if (equals != CATEGORY_OPEN)
        return equals;
    if (judge->allocations->request[allocation] == judge->never)
        return CATEGORY_GRADIENT;
    if (judge->allocations->stack[allocation] == 0 || own->run == 0) /* without a stack, or alone with it */
        return is_last_gradient(judge, run, allocation) ? CATEGORY_GRADIENT : CATEGORY_TEMPORARY;
    return own->votes > 0 ? (enum category)own->category : CATEGORY_TEMPORARY;
}

/* Gives the open allocations at the end of a backward the category of most with their stack in the same run. The others
 * of the run are judged already. */
static void backward_settle(struct judge *judge, const struct phase_run *run, uint32_t nth,
                            struct majority *majority) {
    uint32_t first_allocation = judge->runs->first_allocation;
    for (uint32_t k = run->first; k <= run->last; k++) {
        uint32_t allocation = first_allocation + k;
        struct majority *own = &majority[slot_of(judge, allocation)];
        if (judge->category[allocation] != CATEGORY_OPEN)
            majority_vote(own, judge->category[allocation], nth + 1);
        else if (own->run != nth + 1)
            *own = (struct majority){0};
    }
    for (uint32_t k = last_of_run(run); k <= run->last; k++)
        if (judge->category[first_allocation + k] == CATEGORY_OPEN)
            judge->category[first_allocation + k] =
                (uint8_t)category_of_last(judge, run, first_allocation + k, majority);
    for (uint32_t k = last_of_run(run); k <= run->last; k++)
        if (judge->category[first_allocation + k] == CATEGORY_GRADIENT)
            keep_gradient(judge, first_allocation + k);
}

static enum category category_of_open(struct judge *judge, uint32_t allocation,
                                      const struct majority *majority) {
    bool forward = judge->runs->letter[allocation] == PHASE_FORWARD;
    if (side_of_letter(judge->runs->letter[allocation]) == SIDE_OPTIMIZER) {
        /* Memory may run out before the step's temporaries are freed. (SGD makes its state where others make those.) */
        uint32_t bits = judge->runs->stack_bits[judge->allocations->stack[allocation]];
        bool temporary = majority->votes > 0 ? majority->category == CATEGORY_TEMPORARY
                                             : judge->ends_with_state && (bits & (BIT_FOREACH | BIT_SINGLE));
        return temporary ? CATEGORY_TEMPORARY : CATEGORY_OPTIMIZER_STATE;
    }
    if (majority->votes > 0)
        return (enum category)majority->category;
    bool freed =
        judge->allocations->request[allocation] != judge->never && !freed_by_failure(judge, allocation);
    return freed ? CATEGORY_TEMPORARY : forward ? CATEGORY_ACTIVATION : CATEGORY_OTHER;
}

/* Bits of the stacks of open allocations. NULL: no memory. */
static uint64_t *open_stacks(const struct judge *judge, struct arena *arena) {
    uint64_t *bits = arena_bits(arena, judge->timeline->trace->stacks.count);
    for (uint32_t i = judge->runs->first_allocation; bits != NULL && i < judge->allocations->count; i++)
        if (judge->category[i] == CATEGORY_OPEN)
            bits_add(bits, judge->allocations->stack[i]);
    return bits;
}

/* Gives allocations still open at the end of the recording the category of most others of their stack. False: no
 * memory. */
static bool open_settle(struct judge *judge, struct majority *majority, struct arena *arena) {
    const struct allocations *allocations = judge->allocations;
    uint64_t *is_open = open_stacks(judge, arena);
    if (is_open == NULL)
        return false;
    for (uint32_t i = judge->runs->first_allocation; i < allocations->count; i++)
        if (bits_has(is_open, allocations->stack[i]) && judge->category[i] != CATEGORY_OPEN &&
            judge->category[i] != CATEGORY_OTHER)
            majority_vote(&majority[slot_of(judge, i)], judge->category[i], 0);
    ARENA_DROP(arena, is_open);
    for (uint32_t i = judge->runs->first_allocation; i < allocations->count; i++)
        if (judge->category[i] == CATEGORY_OPEN)
            judge->category[i] = (uint8_t)category_of_open(judge, i, &majority[slot_of(judge, i)]);
    for (uint32_t i = 0; judge->reason != NULL && i < allocations->count; i++)
        if (judge->category[i] != CATEGORY_OTHER)
            judge->reason[i] = REASON_NONE;
    return true;
}

/* Counts the forward allocations that outlive their turn, and those that outlive all of its forward. */
static void held_measure(struct judge *judge) {
    const struct phase_runs *runs = judge->runs;
    struct held *whole = &judge->held[judge->turns->count];
    for (uint32_t pass = 0; pass < 2; pass++)
        for (uint32_t i = runs->first_allocation; i < judge->allocations->count; i++) {
            if (runs->letter[i] != PHASE_FORWARD)
                continue;
            uint32_t turn = turns_at(judge->turns, i - runs->first_allocation),
                     let_go = judge->allocations->request[i];
            bool in_turn = turn != UINT32_MAX;
            struct held *own = in_turn ? &judge->held[turn] : whole;
            uint32_t end = in_turn ? judge->turns->turn[turn].end_moment : judge->never;
            if (pass == 0)
                own->last_forward = judge->allocations->birth[i];
            else if (let_go >= end)
                own->behind_turn++;
            else
                own->behind_forward += let_go > own->last_forward;
        }
}

/* Is most of what is made before the loop, and stays, made where modules are? Then what is not is no parameter. */
static bool modules_are_made(const struct judge *judge) {
    uint32_t n_modules = 0, n = 0, first = judge->runs->first_allocation;
    for (uint32_t i = first; i < judge->allocations->count && i - first < judge->turns->loop_first; i++) {
        uint32_t bits = judge->runs->stack_bits[judge->allocations->stack[i]];
        bool stays = lives(judge, i, LIVES_TO_END) && !(bits & (BIT_WORK | BIT_STATE));
        n += stays;
        n_modules += stays && (bits & BIT_PARAMETER);
    }
    return n_modules > n / 2;
}

/* If all parameters were recorded, what a backward makes in another size than theirs is no gradient of a parameter: it is
 * the graph of a gradient that is differentiated in turn. Ranks that share parameters make gradients in parts. */
static void strangers_rename(struct judge *judge) {
    for (uint32_t i = 0; !judge->reduces && judge->runs->first_allocation == 0 && judge->n_weights > 0 &&
                         i < judge->allocations->count;
         i++)
        if (judge->category[i] == CATEGORY_GRADIENT &&
            !(judge->runs->stack_bits[judge->allocations->stack[i]] & BIT_ACCUMULATE) &&
            !is_weight_size(judge, judge->allocations->size[i]))
            judge->category[i] = CATEGORY_ACTIVATION;
}

/* What one stack makes outside of forwards. */
struct made {
    uint64_t nbytes;      /* of the last */
    uint32_t n_more;      /* those after the first */
    bool varies, strange; /* of two sizes; of one that no parameter has */
    bool shrinks;         /* one was not larger than the one before */
};

/* So many that grow in turn are no chance of lengths. */
enum { GROWN_LEAST = 3 };

/* A line that makes nothing but tensors of the parameters' sizes copies the parameters, as moving averages do; it is no
 * maker of inputs. Nor is one that always makes a larger tensor, and not from the host: it appends to results.
 * False: no memory. */
static bool makers_rename(struct judge *judge, struct arena *arena) {
    uint32_t first = judge->runs->first_allocation;
    struct made *made = arena_zeros(arena, judge->runs->slots.count, sizeof *made);
    if (made == NULL)
        return false;
    for (uint32_t i = first; i < judge->allocations->count; i++) {
        if (judge->category[i] != CATEGORY_INPUT)
            continue;
        struct made *own = &made[slot_of(judge, i)];
        uint64_t nbytes = judge->allocations->size[i];
        own->varies |= own->nbytes != 0 && own->nbytes != nbytes;
        own->strange |= !is_weight_size(judge, nbytes);
        own->shrinks |= nbytes <= own->nbytes;
        own->n_more += own->nbytes != 0;
        own->nbytes = nbytes;
    }
    for (uint32_t i = first; i < judge->allocations->count; i++) {
        if (judge->category[i] != CATEGORY_INPUT)
            continue;
        const struct made *own = &made[slot_of(judge, i)];
        if (own->varies && !own->strange)
            judge->category[i] = (uint8_t)open_as(judge, i, REASON_COPY);
        else if (!own->shrinks && own->n_more >= GROWN_LEAST &&
                 is_of_device(judge->runs->stack_bits[judge->allocations->stack[i]]))
            judge->category[i] = CATEGORY_RESULT;
    }
    ARENA_DROP(arena, made);
    return true;
}

static bool judge_init(struct judge *judge, struct arena *arena) {
    const struct phase_runs *runs = judge->runs;
    uint32_t n_stacks = judge->timeline->trace->stacks.count;
    judge->makers = arena_bits(arena, n_stacks);
    if (judge->makers == NULL || !ARENA_ZEROS(arena, (uint64_t)judge->turns->count + 1, judge->held) ||
        !ARENA_ZEROS(arena, runs->slots.count, judge->majority))
        return false;
    if (judge->reason != NULL)
        bytes_zero(judge->reason, judge->allocations->count);
    judge->has_backward = phase_runs_has(runs, SIDE_BACKWARD);
    for (uint32_t i = 0; judge->has_backward && i < n_stacks; i++)
        judge->reduces |= (runs->stack_bits[i] & BIT_REDUCE) != 0;
    if ((runs->stacks == STACKS_PYTHON || runs->stacks == STACKS_MIXED) && !makers_find(judge, arena))
        return false;
    for (uint32_t k = runs->n_allocations; k-- > 0;)
        if (runs->letter[runs->first_allocation + k] == PHASE_FORWARD)
            judge->first_forward = k;
    judge->has_modules = modules_are_made(judge);
    if (!judge->has_backward)
        held_measure(judge);
    return true;
}

bool categories_find(const struct timeline *timeline, const struct phase_runs *runs,
                     const struct turns *turns, uint8_t *category, uint8_t *reason, struct arena *arena) {
    uint32_t first = runs->first_allocation;
    struct judge judge = {.timeline = timeline,
                          .allocations = &timeline->device->allocations,
                          .runs = runs,
                          .turns = turns,
                          .category = category,
                          .reason = reason,
                          .first_forward = UINT32_MAX,
                          .never = timeline->n_moments};
    if (!judge_init(&judge, arena))
        return false;
    for (uint32_t i = 0; i < first; i++)
        category[i] = (uint8_t)category_of(&judge, i, 0);
    for (uint32_t r = 0; r < runs->count; r++)
        for (uint32_t k = runs->run[r].first; k <= runs->run[r].last; k++)
            category[first + k] = (uint8_t)category_of(&judge, first + k, r);
    bool done = weights_find(&judge, arena);
    for (uint32_t r = 0; done && r < runs->count; r++)
        if (runs->run[r].side == SIDE_BACKWARD)
            backward_settle(&judge, &runs->run[r], r, judge.majority);
    if (done)
        strangers_rename(&judge);
    done = done && makers_rename(&judge, arena);
    bytes_zero(judge.majority, (size_t)runs->slots.count * sizeof *judge.majority);
    done = done && open_settle(&judge, judge.majority, arena);
    ARENA_DROP(arena, judge.weight, judge.majority, judge.held, judge.makers);
    return done;
}
