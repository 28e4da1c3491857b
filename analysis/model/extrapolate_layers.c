#include "analysis/model/extrapolate_layers.h"

#include "analysis/model/alignment.h"
#include "base/bytes.h"

/*
 * In a program that was never run, a free names no allocation. It is identified by its order among the live ones of
 * its class: activations are freed newest first, gradients oldest first, and an operator's input as the second
 * newest. Which end counts shows where the two recordings, or two repeats, have different numbers of live
 * allocations.
 */

/* ---- live allocations by class and age ---- */

enum { NOBODY = UINT32_MAX };

struct queue {
    uint32_t oldest, newest, count;
};

struct queues {
    struct queue *of_class;
    uint32_t *older, *newer; /* by allocation, within its class */
    uint64_t steps, most_steps;
};

static bool queues_init(struct queues *queues, uint32_t n_classes, uint32_t n_allocations,
                        struct arena *arena) {
    *queues = (struct queues){.most_steps = (uint64_t)n_allocations * 256 + 10000000};
    if (!ARENA_COLUMNS(arena, n_classes, queues->of_class) ||
        !ARENA_COLUMNS(arena, n_allocations, queues->older, queues->newer))
        return false;
    for (uint32_t i = 0; i < n_classes; i++)
        queues->of_class[i] = (struct queue){NOBODY, NOBODY, 0};
    return true;
}

static void queue_push(struct queues *queues, uint32_t class_, uint32_t allocation) {
    struct queue *queue = &queues->of_class[class_];
    queues->older[allocation] = queue->newest;
    queues->newer[allocation] = NOBODY;
    *(queue->newest == NOBODY ? &queue->oldest : &queues->newer[queue->newest]) = allocation;
    queue->newest = allocation;
    queue->count++;
}

static void queue_remove(struct queues *queues, uint32_t class_, uint32_t allocation) {
    struct queue *queue = &queues->of_class[class_];
    uint32_t older = queues->older[allocation], newer = queues->newer[allocation];
    *(older == NOBODY ? &queue->oldest : &queues->newer[older]) = newer;
    *(newer == NOBODY ? &queue->newest : &queues->older[newer]) = older;
    queue->count--;
}

/* The number of newer and of older live allocations of the class. */
struct rank {
    uint32_t newer, older;
};

static struct rank queue_rank(struct queues *queues, uint32_t class_, uint32_t allocation) {
    struct queue *queue = &queues->of_class[class_];
    uint32_t back = queue->newest, front = queue->oldest, n = 0;
    while (back != allocation && front != allocation && n < queue->count) {
        back = queues->older[back];
        front = queues->newer[front];
        n++;
    }
    queues->steps += n + 1;
    return back == allocation ? (struct rank){n, queue->count - 1 - n}
                              : (struct rank){queue->count - 1 - n, n};
}

/* ---- which allocation of its class a free means ---- */

struct choice {
    uint32_t nth;
    bool newest; /* counted from the newest; otherwise from the oldest */
};

struct building {
    struct extrapolation *extrapolation;
    struct alignment alignment;
    uint64_t x[3];         /* numbers of layers: recorded, recorded, wanted */
    uint64_t copies;       /* copies of each insertion, at x[2] */
    struct rank *rank[2];  /* for the frees of either program, by request */
    struct choice *choice; /* for the frees of the larger program, by request */
    struct arena *arena;   /* arena of the result */
    struct arena *scratch;
    struct queues queues;   /* of the program being made */
    uint32_t n_allocations; /* made so far */
    uint32_t n_groups;
};

static bool is_free(uint32_t op) {
    return program_kind(op) == PROGRAM_FREE || program_kind(op) == PROGRAM_WAIT;
}

static bool is_older(const struct requests *requests, uint32_t allocation) {
    return allocation < requests->program->device->allocations.preexisting;
}

/* Only the size of older memory is known, so any one of them will do. */
static void rank_note(struct rank *rank, struct queues *queues, const struct requests *requests, uint32_t i) {
    uint32_t allocation = program_index(requests->op[i]), class_ = requests->class_of[allocation];
    rank[i] = is_older(requests, allocation) ? (struct rank){0, 0} : queue_rank(queues, class_, allocation);
    if (program_kind(requests->op[i]) == PROGRAM_FREE)
        queue_remove(queues, class_, allocation);
}

/* False: no memory. `*endless`: it took too long. */
static bool ranks_find(struct rank **rank, const struct requests *requests, uint32_t n_classes, bool *endless,
                       struct arena *arena) {
    struct queues queues;
    const struct allocations *allocations = &requests->program->device->allocations;
    *rank = arena_column(arena, requests->count, sizeof **rank);
    if (*rank == NULL || !queues_init(&queues, n_classes, allocations->count, arena))
        return false;
    for (uint32_t i = 0; i < allocations->preexisting; i++)
        queue_push(&queues, requests->class_of[i], i);
    for (uint32_t i = 0; i < requests->count && queues.steps < queues.most_steps; i++) {
        uint32_t allocation = program_index(requests->op[i]);
        if (program_kind(requests->op[i]) == PROGRAM_ALLOCATE)
            queue_push(&queues, requests->class_of[allocation], allocation);
        else if (is_free(requests->op[i]))
            rank_note(*rank, &queues, requests, i);
    }
    *endless |= queues.steps >= queues.most_steps;
    ARENA_DROP(arena, queues.of_class, queues.older, queues.newer);
    return true;
}

/* Finds the end from which both count the same. False: neither. If both ends fit, they are equally far apart for
 * any number of layers, as far as is known: then takes the choice that is `known` from the same request one repeat
 * before, or else the nearer end. */
static bool choice_make(struct choice *choice, struct rank one, struct rank other,
                        const struct choice *known) {
    bool newest = one.newer == other.newer, oldest = one.older == other.older;
    if (newest && oldest)
        newest = known != NULL ? known->newest : one.newer <= one.older;
    *choice = newest ? (struct choice){other.newer, true} : (struct choice){other.older, false};
    return newest || oldest;
}

static const struct choice *choice_before(const struct building *building, uint32_t at, uint32_t period) {
    const uint32_t *token = building->alignment.large.token;
    return at >= period && token[at] == token[at - period] ? &building->choice[at - period] : NULL;
}

/* Chooses for one request of an insertion, over its repeats; a single repeat is compared with what precedes it. */
static bool inserted_choose(struct building *building, const struct insertion *insertion, uint32_t offset) {
    const struct rank *rank = building->rank[1];
    uint32_t at = insertion->at + offset, period = insertion->period, other = at;
    bool fits = true;
    if (insertion->length == period)
        return choice_make(&building->choice[at], rank[at - period], rank[at],
                           choice_before(building, at, period));
    struct rank worst = rank[at];
    for (other += period; other < insertion->at + insertion->length; other += period) {
        worst.newer = rank[other].newer == rank[at].newer ? worst.newer : UINT32_MAX;
        worst.older = rank[other].older == rank[at].older ? worst.older : UINT32_MAX;
    }
    fits = choice_make(&building->choice[at], worst, rank[at], choice_before(building, at, period));
    return fits;
}

/* Callbacks of a walk over the requests: pairs of both programs, and requests that only the larger one has. False:
 * stop. */
struct request_walk {
    bool (*common)(struct building *building, uint32_t small, uint32_t large);
    bool (*inserted)(struct building *building, const struct insertion *insertion);
};

static bool requests_walk(struct building *building, const struct request_walk *walk) {
    const struct alignment *alignment = &building->alignment;
    uint32_t small = 0, large = 0;
    for (uint32_t nth = 0; nth <= alignment->n_insertions; nth++) {
        const struct insertion *insertion = &alignment->insertion[nth];
        uint32_t end = nth < alignment->n_insertions ? insertion->at : alignment->large.count;
        for (; large < end; small++, large++)
            if (!walk->common(building, small, large))
                return false;
        if (nth == alignment->n_insertions)
            break;
        if (!walk->inserted(building, insertion))
            return false;
        large += insertion->length;
    }
    return true;
}

static bool common_choose(struct building *building, uint32_t small, uint32_t large) {
    return !is_free(building->alignment.large.op[large]) ||
           choice_make(&building->choice[large], building->rank[0][small], building->rank[1][large], NULL);
}

static bool insertion_choose(struct building *building, const struct insertion *insertion) {
    for (uint32_t i = 0; i < insertion->period; i++)
        if (is_free(building->alignment.large.op[insertion->at + i]) &&
            !inserted_choose(building, insertion, i))
            return false;
    return true;
}

/* False: the allocation of some free cannot be identified. */
static bool choices_make(struct building *building) {
    return requests_walk(building, &(struct request_walk){common_choose, insertion_choose});
}

/* ---- the program at the wanted number ---- */

/* The number of a class's older allocations at the wanted number. UINT64_MAX: not a whole number. */
static uint64_t older_wanted(const struct building *building, uint64_t n_small, uint64_t n_large) {
    uint64_t wide = building->x[1] - building->x[0], ahead = building->x[2] - building->x[0];
    uint64_t change = n_large > n_small ? n_large - n_small : n_small - n_large;
    if (change * ahead % wide != 0)
        return UINT64_MAX;
    change = change * ahead / wide;
    if (n_large >= n_small)
        return n_small + change;
    return change <= n_small ? n_small - change : UINT64_MAX;
}

struct older {
    uint64_t small, large, wanted, passed; /* numbers in a class */
};

static bool older_count(struct building *building, struct older *older) {
    const struct alignment *alignment = &building->alignment;
    const struct requests *small = &alignment->small, *large = &alignment->large;
    bytes_zero(older, alignment->n_classes * sizeof *older);
    for (uint32_t i = 0; i < small->program->device->allocations.preexisting; i++)
        older[small->class_of[i]].small++;
    for (uint32_t i = 0; i < large->program->device->allocations.preexisting; i++)
        older[large->class_of[i]].large++;
    for (uint32_t i = 0; i < alignment->n_classes; i++) {
        older[i].wanted = older_wanted(building, older[i].small, older[i].large);
        if (older[i].wanted == UINT64_MAX || (older[i].large == 0 && older[i].wanted != 0))
            return false;
    }
    return true;
}

static uint64_t older_total(const struct building *building, const struct older *older) {
    uint64_t total = 0;
    for (uint32_t i = 0; i < building->alignment.n_classes; i++)
        total += older[i].wanted;
    return total;
}

/* Makes an allocation like one of the larger recording, from `moment` on. */
static uint32_t allocation_make(struct building *building, uint32_t like, uint32_t moment) {
    const struct allocations *from = &building->alignment.large.program->device->allocations;
    struct allocations *allocations = &building->extrapolation->device.allocations;
    uint32_t allocation = building->n_allocations++;
    allocations->birth[allocation] = moment;
    allocations->death[allocation] = allocations->request[allocation] =
        building->extrapolation->device.n_events + 1;
    allocations->size[allocation] = from->size[like];
    allocations->address[allocation] =
        allocation == 0 ? 0 : allocations->address[allocation - 1] + allocations->size[allocation - 1];
    allocations->stack[allocation] = from->stack[like];
    allocations->context[allocation] = from->context[like];
    allocations->stream[allocation] = from->stream[like];
    allocations->pool[allocation] = from->pool[like];
    allocations->flags[allocation] = 0;
    queue_push(&building->queues, building->alignment.large.class_of[like], allocation);
    return allocation;
}

/* Spreads the new ones among those of the larger recording, keeping their order. */
static void older_make(struct building *building, struct older *older) {
    const struct requests *large = &building->alignment.large;
    for (uint32_t i = 0; i < large->program->device->allocations.preexisting; i++) {
        struct older *class_ = &older[large->class_of[i]];
        uint64_t before = class_->passed * class_->wanted / class_->large;
        uint64_t behind = ++class_->passed * class_->wanted / class_->large;
        for (; before < behind; before++)
            (void)allocation_make(building, i, 0);
    }
}

static void op_put(struct building *building, enum program_kind kind, uint32_t index) {
    struct program *program = &building->extrapolation->program;
    program->op[program->n_ops++] = (uint32_t)kind | index << PROGRAM_KIND_BITS;
}

/* The allocation that a free means; NOBODY: the class has too few. */
static uint32_t chosen(struct building *building, uint32_t class_, struct choice choice) {
    const struct queue *queue = &building->queues.of_class[class_];
    uint32_t allocation = choice.newest ? queue->newest : queue->oldest;
    if (choice.nth >= queue->count)
        return NOBODY;
    for (uint32_t i = 0; i < choice.nth; i++)
        allocation = choice.newest ? building->queues.older[allocation] : building->queues.newer[allocation];
    building->queues.steps += choice.nth + 1;
    return allocation;
}

static bool free_make(struct building *building, uint32_t at, uint32_t moment) {
    const struct requests *large = &building->alignment.large;
    struct allocations *allocations = &building->extrapolation->device.allocations;
    uint32_t class_ = program_index(large->token[at]),
             allocation = chosen(building, class_, building->choice[at]);
    bool completed = program_kind(large->op[at]) == PROGRAM_FREE;
    if (allocation == NOBODY)
        return false;
    op_put(building, completed ? PROGRAM_FREE : PROGRAM_WAIT, allocation);
    if (completed) {
        queue_remove(&building->queues, class_, allocation);
        allocations->death[allocation] = moment;
    }
    if (!completed || allocations->request[allocation] > moment)
        allocations->request[allocation] = moment;
    return true;
}

static void empty_cache_make(struct building *building, uint32_t moment) {
    struct extrapolation *extrapolation = building->extrapolation;
    uint32_t nth = building->n_groups++;
    extrapolation->device.segment_events[nth] =
        (struct segment_event){.event = moment - 1, .change = SEGMENT_FREE};
    extrapolation->program.releases.group[nth] =
        (struct release_group){.first = nth, .event = moment - 1, .cause = RELEASE_EXPLICIT};
    op_put(building, PROGRAM_SEGMENT, nth);
}

/* Repeats a request of the larger recording. */
static bool request_make(struct building *building, uint32_t at) {
    uint32_t moment = building->extrapolation->program.n_ops + 1, op = building->alignment.large.op[at];
    switch (program_kind(op)) {
    case PROGRAM_ALLOCATE:
        op_put(building, PROGRAM_ALLOCATE, allocation_make(building, program_index(op), moment));
        return true;
    case PROGRAM_FREE:
    case PROGRAM_WAIT: return free_make(building, at, moment);
    case PROGRAM_SEGMENT: empty_cache_make(building, moment); return true;
    case PROGRAM_OOM: break;
    }
    return false;
}

/* Makes a request that both programs have; extrapolates a size that differs. */
static bool common_make(struct building *building, uint32_t small, uint32_t large) {
    const struct requests *a = &building->alignment.small, *b = &building->alignment.large;
    struct extrapolation *extrapolation = building->extrapolation;
    uint32_t allocation = building->n_allocations;
    if (!request_make(building, large))
        return false;
    if (program_kind(b->op[large]) != PROGRAM_ALLOCATE)
        return true;
    uint64_t s0 = a->program->device->allocations.size[program_index(a->op[small])];
    uint64_t s1 = b->program->device->allocations.size[program_index(b->op[large])];
    *(s0 == s1 ? &extrapolation->n_constant : &extrapolation->n_linear) += 1;
    extrapolation->device.allocations.size[allocation] =
        extrapolate_linear(s0, s1, building->x[0], building->x[1], building->x[2]);
    return true;
}

static bool is_endless(const struct building *building) {
    return building->queues.steps >= building->queues.most_steps;
}

static bool repeats_make(struct building *building, const struct insertion *insertion) {
    if (is_endless(building))
        return false;
    for (uint64_t copy = 0; copy < building->copies; copy++)
        for (uint32_t i = 0; i < insertion->period; i++)
            if (!request_make(building, insertion->at + i))
                return false;
    return true;
}

/* False: some free finds no allocation, or it takes too long. */
static bool requests_make(struct building *building) {
    return requests_walk(building, &(struct request_walk){common_make, repeats_make}) &&
           !is_endless(building);
}

/* ---- room for the result ---- */

/* A program of hundreds of layers has some millions of rows, but the user may ask for any number. */
enum { MOST_MADE = 100000000 };

struct extent_of_made {
    uint64_t n_ops, n_allocations, n_groups;
};

static void extent_add(struct extent_of_made *extent, uint32_t op, uint64_t times) {
    extent->n_ops += times;
    extent->n_allocations += program_kind(op) == PROGRAM_ALLOCATE ? times : 0;
    extent->n_groups += program_kind(op) == PROGRAM_SEGMENT ? times : 0;
}

/* Counts the rows, and adds up the insertions in `extrapolation->layers`. */
static struct extent_of_made extent_find(struct building *building) {
    const struct alignment *alignment = &building->alignment;
    struct layers *layers = &building->extrapolation->layers;
    struct extent_of_made extent = {0};
    for (uint32_t i = 0; i < alignment->small.count; i++)
        extent_add(&extent, alignment->small.op[i], 1);
    layers->n_places = alignment->n_insertions;
    for (uint32_t nth = 0; nth < alignment->n_insertions; nth++)
        for (uint32_t i = 0; i < alignment->insertion[nth].period; i++) {
            uint32_t op = alignment->large.op[alignment->insertion[nth].at + i];
            extent_add(&extent, op, building->copies);
            layers->n_allocations += program_kind(op) == PROGRAM_ALLOCATE;
        }
    return extent;
}

/* Makes a device without segments and blocks, since nothing was ever reserved for it. */
static void device_set(struct building *building, const struct extent_of_made *extent, uint32_t older) {
    const struct program *large = building->alignment.large.program;
    const struct device_trace *from = large->device;
    struct extrapolation *extrapolation = building->extrapolation;
    extrapolation->device = (struct device_trace){
        .ordinal = from->ordinal,
        .name = from->name,
        .capacity_bytes = from->capacity_bytes,
        .n_events = (uint32_t)extent->n_ops,
        .allocations = {.count = (uint32_t)extent->n_allocations + older, .preexisting = older},
        .n_streams = from->n_streams,
        .n_pools = from->n_pools,
        .streams = from->streams,
        .pools = from->pools,
    };
    extrapolation->program = (struct program){
        .trace = large->trace, .device = &extrapolation->device, .n_allocations = extent->n_allocations};
}

static bool room_make(struct building *building, const struct extent_of_made *extent) {
    struct extrapolation *extrapolation = building->extrapolation;
    struct arena *arena = building->arena;
    struct allocations *made = &extrapolation->device.allocations;
    struct releases *releases = &extrapolation->program.releases;
    releases->count = releases->n_of_cause[RELEASE_EXPLICIT] = (uint32_t)extent->n_groups;
    return ARENA_COLUMNS(arena, extent->n_ops, extrapolation->program.op) &&
           ARENA_COLUMNS(arena, extent->n_groups, extrapolation->device.segment_events, releases->group) &&
           allocations_alloc(made, made->count, arena) &&
           queues_init(&building->queues, building->alignment.n_classes, made->count, building->scratch);
}

/* False: no memory. Sets the reason if it is refused. */
static bool program_make(struct building *building) {
    struct extrapolation *extrapolation = building->extrapolation;
    struct older *older = arena_column(building->scratch, building->alignment.n_classes, sizeof *older);
    struct extent_of_made extent = extent_find(building);
    if (older == NULL)
        return false;
    if (!older_count(building, older)) {
        extrapolation->refused =
            "what is older than the recordings does not grow evenly from one to the other";
        return true;
    }
    uint64_t n_older = older_total(building, older);
    if (extent.n_ops > MOST_MADE || n_older > MOST_MADE) {
        extrapolation->refused = "that many layers make more requests than can be modelled";
        return true;
    }
    device_set(building, &extent, (uint32_t)n_older);
    if (!room_make(building, &extent))
        return false;
    older_make(building, older);
    if (!requests_make(building))
        extrapolation->refused = "it is unknown which allocations the layers in between would free";
    return true;
}

/* ---- the whole ---- */

/* Finds the smallest number of layers that repeats; `*found`: it exists, and divides the wanted number. */
static const char *repeats_find(struct building *building, bool *no_memory) {
    uint64_t wide = building->x[1] - building->x[0], ahead = building->x[2] - building->x[0];
    struct alignment *alignment = &building->alignment;
    uint32_t more = alignment->large.count - alignment->small.count;
    const char *reason = "the extra requests of the larger recording do not repeat those of the smaller one, "
                         "so the recordings do not differ by layers alone";
    for (uint64_t each = 1; each <= wide && !alignment->endless; each++) {
        bool found = false;
        if (wide % each != 0 || wide / each > more)
            continue;
        if (!alignment_find(alignment, (uint32_t)(wide / each), &found, building->scratch))
            *no_memory = true;
        if (*no_memory || (found && ahead % each == 0)) {
            building->extrapolation->layers = (struct layers){.found = true, .each = each};
            building->copies = ahead / each;
            return NULL;
        }
        if (found)
            reason = "different layers alternate, and the requested number ends between two of them";
    }
    if (building->x[0] == 1)
        reason = "the smaller recording has a single layer, which does not show what repeats; record two "
                 "layers or more";
    return alignment->endless ? "finding what repeats takes too long" : reason;
}

static const char *layers_refusal(const struct building *building) {
    enum { MOST_LAYERS = 100000 };
    const struct alignment *alignment = &building->alignment;
    if (building->x[2] < building->x[0])
        return "only more layers than in the smaller recording can be computed, not fewer";
    if (building->x[1] > MOST_LAYERS || building->x[2] > MOST_LAYERS)
        return "the recordings hold different numbers of allocations, so the sizes count layers, and these "
               "are too many layers (100,000 at most)";
    if (alignment->large.count <= alignment->small.count)
        return "the larger recording holds more allocations but fewer requests, so they are not of one "
               "program";
    return NULL;
}

static bool layers_build(struct building *building) {
    const struct alignment *alignment = &building->alignment;
    bool no_memory = false, endless = false;
    const char **refused = &building->extrapolation->refused;
    *refused = layers_refusal(building);
    if (*refused == NULL)
        *refused = repeats_find(building, &no_memory);
    if (no_memory)
        return false;
    if (*refused != NULL)
        return true;
    building->choice = arena_column(building->scratch, alignment->large.count, sizeof *building->choice);
    if (building->choice == NULL ||
        !ranks_find(&building->rank[0], &alignment->small, alignment->n_classes, &endless,
                    building->scratch) ||
        !ranks_find(&building->rank[1], &alignment->large, alignment->n_classes, &endless, building->scratch))
        return false;
    if (endless || !choices_make(building)) {
        *refused = "these recordings do not show which allocation a layer frees";
        return true;
    }
    return program_make(building);
}

bool extrapolate_layers(struct extrapolation *extrapolation, const struct program *a, uint64_t x0,
                        const struct program *b, uint64_t x1, uint64_t x, struct arena *arena) {
    struct arena scratch;
    struct building building = {
        .extrapolation = extrapolation, .x = {x0, x1, x}, .arena = arena, .scratch = &scratch};
    arena_init(&scratch, arena_share(arena), SIZE_MAX);
    bool done = alignment_init(&building.alignment, a, b, &scratch) && layers_build(&building);
    arena_release(&scratch);
    return done;
}
