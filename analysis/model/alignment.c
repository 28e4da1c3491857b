#include "analysis/model/alignment.h"

#include "base/sort.h"
#include "layout/site.h"

/* ---- equality of requests ---- */

/* The finisher of MurmurHash3 spreads neighbouring numbers. */
static uint64_t mix(uint64_t hash, uint64_t number) {
    hash = (hash * 31) ^ number;
    hash = (hash ^ (hash >> 33)) * UINT64_C(0xff51afd7ed558ccd);
    hash = (hash ^ (hash >> 33)) * UINT64_C(0xc4ceb9fe1a85ec53);
    return hash ^ (hash >> 33);
}

static uint64_t *frames_hash(const struct trace *trace, struct arena *arena) {
    uint64_t *hash = arena_column(arena, trace->frames.count, sizeof *hash);
    for (uint32_t i = 0; hash != NULL && i < trace->frames.count; i++) {
        struct site_key key = site_key_of(trace, i);
        hash[i] = mix(mix(key.file, key.function), key.line);
    }
    return hash;
}

/* A hash of every stack, equal for equal stacks in any recording. */
static uint64_t *stacks_hash(const struct trace *trace, struct arena *arena) {
    uint64_t *frame = frames_hash(trace, arena), *hash = NULL;
    if (frame != NULL)
        hash = arena_column(arena, trace->stacks.count, sizeof *hash);
    for (uint32_t i = 0; hash != NULL && i < trace->stacks.count; i++)
        hash[i] = i == 0 ? 0 : mix(hash[stack_parent(&trace->stacks, i)], frame[trace->stacks.frame[i]]);
    ARENA_DROP(arena, frame);
    return hash;
}

/* The stack of an older allocation does not count: it is that of its free or of its block, or there is none. */
static struct request_class class_of_allocation(const struct device_trace *device, uint32_t allocation,
                                                const uint64_t *stack) {
    const struct allocations *allocations = &device->allocations;
    uint64_t from = allocation < allocations->preexisting ? 1 : stack[allocations->stack[allocation]];
    return (struct request_class){
        .place = mix(mix(from, allocations->pool[allocation]), allocations->stream[allocation]),
        .size = allocations->size[allocation]};
}

static uint64_t class_key(struct request_class class_) {
    return mix(class_.place, class_.size);
}

static bool rows_of(struct sort_row *rows, const struct program *program, uint32_t first,
                    struct arena *arena) {
    uint64_t *stack = stacks_hash(program->trace, arena);
    for (uint32_t i = 0; stack != NULL && i < program->device->allocations.count; i++)
        rows[first + i] =
            (struct sort_row){class_key(class_of_allocation(program->device, i, stack)), first + i};
    bool done = stack != NULL;
    ARENA_DROP(arena, stack);
    return done;
}

/* Numbers the keys from 1 on, in their order. */
static uint32_t classes_number(struct alignment *alignment, const struct sort_row *rows, uint32_t n_small,
                               uint32_t n_all) {
    uint32_t last = 0;
    for (uint32_t i = 0; i < n_all; i++) {
        uint32_t value = rows[i].value;
        last += i == 0 || rows[i].key != rows[i - 1].key;
        if (value < n_small)
            alignment->small.class_of[value] = last;
        else
            alignment->large.class_of[value - n_small] = last;
    }
    return last + 1;
}

static bool classes_fill(struct alignment *alignment, const struct requests *requests, struct arena *arena) {
    const struct device_trace *device = requests->program->device;
    uint64_t *stack = stacks_hash(requests->program->trace, arena);
    for (uint32_t i = 0; stack != NULL && i < device->allocations.count; i++)
        alignment->class_[requests->class_of[i]] = class_of_allocation(device, i, stack);
    bool done = stack != NULL;
    ARENA_DROP(arena, stack);
    return done;
}

static bool classes_find(struct alignment *alignment, struct arena *arena) {
    uint32_t n_small = alignment->small.program->device->allocations.count;
    uint32_t n_large = alignment->large.program->device->allocations.count, n_all = n_small + n_large;
    struct sort_row *rows = arena_column(arena, (uint64_t)n_all * 2, sizeof *rows);
    alignment->small.class_of = arena_column(arena, n_small, sizeof *alignment->small.class_of);
    alignment->large.class_of = arena_column(arena, n_large, sizeof *alignment->large.class_of);
    if (rows == NULL || alignment->small.class_of == NULL || alignment->large.class_of == NULL ||
        !rows_of(rows, alignment->small.program, 0, arena) ||
        !rows_of(rows, alignment->large.program, n_small, arena))
        return false;
    sort_rows(rows, rows + n_all, n_all);
    alignment->n_classes = classes_number(alignment, rows, n_small, n_all);
    ARENA_DROP(arena, rows);
    alignment->class_ = arena_column(arena, alignment->n_classes, sizeof *alignment->class_);
    if (alignment->class_ == NULL)
        return false;
    alignment->class_[0] = (struct request_class){0};
    return classes_fill(alignment, &alignment->small, arena) &&
           classes_fill(alignment, &alignment->large, arena);
}

/* ---- the requests in order ---- */

static uint32_t token_of(enum program_kind kind, uint32_t class_) {
    return (uint32_t)kind | class_ << PROGRAM_KIND_BITS;
}

/* Did the program request it? Of segment events, that is only the first in a group that empty_cache caused. */
static bool is_request(const struct program *program, uint32_t op, uint32_t *group) {
    const struct releases *releases = &program->releases;
    if (program_kind(op) != PROGRAM_SEGMENT)
        return true;
    if (*group == releases->count || releases->group[*group].first != program_index(op))
        return false;
    return releases->group[(*group)++].cause == RELEASE_EXPLICIT;
}

static bool requests_list(struct requests *requests, struct arena *arena) {
    const struct program *program = requests->program;
    uint32_t group = 0;
    if (!ARENA_COLUMNS(arena, program->n_ops, requests->op, requests->token))
        return false;
    for (uint32_t i = 0; i < program->n_ops; i++) {
        uint32_t op = program->op[i];
        if (!is_request(program, op, &group))
            continue;
        bool none = program_kind(op) == PROGRAM_SEGMENT || program_kind(op) == PROGRAM_OOM;
        requests->op[requests->count] = op;
        requests->token[requests->count++] =
            token_of(program_kind(op), none ? 0 : requests->class_of[program_index(op)]);
    }
    return true;
}

bool alignment_init(struct alignment *alignment, const struct program *small, const struct program *large,
                    struct arena *arena) {
    *alignment = (struct alignment){.small = {.program = small}, .large = {.program = large}};
    if ((uint64_t)small->device->allocations.count + large->device->allocations.count > UINT32_MAX >>
        PROGRAM_KIND_BITS)
        return false;
    alignment->most_steps = ((uint64_t)small->n_ops + large->n_ops) * 256 + 10000000;
    return classes_find(alignment, arena) && requests_list(&alignment->small, arena) &&
           requests_list(&alignment->large, arena);
}

/* ---- comparing two sequences ---- */

static bool are_equal(const struct alignment *alignment, uint32_t small, uint32_t large) {
    uint32_t twin = alignment->class_[program_index(small)].twin;
    return small == large ||
           (twin != 0 && program_kind(small) == program_kind(large) && program_index(large) == twin);
}

/* The number of equal requests from there on. */
static uint32_t run_length(struct alignment *alignment, uint32_t small, uint32_t large) {
    const struct requests *a = &alignment->small, *b = &alignment->large;
    uint32_t length = 0;
    while (small + length < a->count && large + length < b->count &&
           are_equal(alignment, a->token[small + length], b->token[large + length]))
        length++;
    alignment->steps += length + 1;
    return length;
}

/* Do the larger program's requests [at, at + length) repeat those one period before? */
static bool repeats_from(struct alignment *alignment, uint32_t at, uint32_t length, uint32_t period) {
    const uint32_t *token = alignment->large.token;
    uint32_t i = 0;
    if (at < period)
        return false;
    while (i < length && token[at + i] == token[at + i - period])
        i++;
    alignment->steps += i + 1;
    return i == length;
}

static bool is_repeated(struct alignment *alignment, uint32_t at, uint32_t period) {
    uint32_t repeats = alignment->repeats;
    return repeats == 1 ? repeats_from(alignment, at, period, period)
                        : repeats_from(alignment, at + period, (repeats - 1) * period, period);
}

/* A place in both programs from which on requests differ. */
struct parting {
    uint32_t small, large;
    uint32_t period, run; /* of the best insertion so far, and the number of equal requests after it */
    bool found;
};

static void insertion_try(struct alignment *alignment, struct parting *parting, uint32_t period) {
    uint32_t behind = parting->large + period * alignment->repeats;
    bool ends = parting->small == alignment->small.count;
    if (ends ? behind != alignment->large.count
             : behind >= alignment->large.count ||
                   !are_equal(alignment, alignment->small.token[parting->small],
                              alignment->large.token[behind]))
        return;
    uint32_t run = run_length(alignment, parting->small, behind);
    if ((parting->found && run <= parting->run) || !is_repeated(alignment, parting->large, period))
        return;
    parting->found = true;
    parting->period = period;
    parting->run = run;
}

/* Does the same place request another size there, one that grows with the number of layers? */
static bool grows_there(const struct alignment *alignment, const struct parting *parting) {
    if (parting->small == alignment->small.count || parting->large == alignment->large.count)
        return false;
    uint32_t a = alignment->small.token[parting->small], b = alignment->large.token[parting->large];
    const struct request_class *x = &alignment->class_[program_index(a)];
    return program_kind(a) == PROGRAM_ALLOCATE && program_kind(b) == PROGRAM_ALLOCATE && x->twin == 0 &&
           x->place == alignment->class_[program_index(b)].place;
}

/* Chooses the insertion with the longest run of equal requests after it, the shortest of such; or a growing size,
 * if the run after that is longer. False: neither. */
static bool parting_bridge(struct alignment *alignment, struct parting *parting) {
    uint32_t longest = (alignment->large.count - parting->large) / alignment->repeats;
    for (uint32_t period = 1; period <= longest && alignment->steps < alignment->most_steps; period++)
        insertion_try(alignment, parting, period);
    if (!grows_there(alignment, parting))
        return parting->found;
    uint32_t *twin = &alignment->class_[program_index(alignment->small.token[parting->small])].twin;
    *twin = program_index(alignment->large.token[parting->large]);
    uint32_t run = run_length(alignment, parting->small, parting->large);
    if (parting->found && run <= parting->run)
        *twin = 0;
    else
        parting->period = 0;
    return true;
}

static bool insertion_add(struct alignment *alignment, const struct parting *parting, struct arena *arena) {
    if (parting->period == 0)
        return true;
    if (!ARENA_GROW(arena, alignment->insertion, alignment->insertion_capacity,
                    (uint64_t)alignment->n_insertions + 1))
        return false;
    alignment->insertion[alignment->n_insertions++] =
        (struct insertion){parting->large, parting->period * alignment->repeats, parting->period};
    return true;
}

/* ---- can all insertions be layers? ---- */

/* Steps repeat the same insertions, so few are distinct. */
enum { MOST_UNLIKE = 64 };

static bool tokens_are_equal(struct alignment *alignment, uint32_t at, uint32_t other, uint32_t length) {
    const uint32_t *token = alignment->large.token;
    uint32_t i = 0;
    while (i < length && token[at + i] == token[other + i])
        i++;
    alignment->steps += i + 1;
    return i == length;
}

static uint32_t unlike_list(struct alignment *alignment, struct insertion *unlike) {
    uint32_t count = 0;
    for (uint32_t nth = 0; nth < alignment->n_insertions && count < MOST_UNLIKE; nth++) {
        struct insertion one = alignment->insertion[nth];
        uint32_t i = 0;
        while (i < count && (unlike[i].period != one.period ||
                             !tokens_are_equal(alignment, unlike[i].at, one.at, one.length)))
            i++;
        if (i == count)
            unlike[count++] = one;
    }
    return count;
}

/* Does one repeat of `outer` contain several of `inner`, one after the other? */
static bool holds_loop(struct alignment *alignment, struct insertion outer, struct insertion inner) {
    if (inner.length == inner.period) { /* a single repeat: together with the one before it there are two */
        inner.at -= inner.period;
        inner.length += inner.period;
    }
    uint32_t end = outer.at + outer.period;
    for (uint32_t at = outer.at; at + inner.length <= end && alignment->steps < alignment->most_steps; at++)
        if (tokens_are_equal(alignment, at, inner.at, inner.length))
            return true;
    return false;
}

/* A loop that contains all the layers is a step or a part of one, not a layer. */
static bool loops_are_nested(struct alignment *alignment) {
    struct insertion unlike[MOST_UNLIKE];
    uint32_t count = unlike_list(alignment, unlike);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < count; k++)
            if (i != k && holds_loop(alignment, unlike[i], unlike[k]))
                return true;
    return false;
}

bool alignment_find(struct alignment *alignment, uint32_t repeats, bool *found, struct arena *arena) {
    struct parting parting = {0};
    alignment->repeats = repeats;
    alignment->n_insertions = 0;
    for (uint32_t i = 0; i < alignment->n_classes; i++)
        alignment->class_[i].twin = 0;
    for (;;) {
        uint32_t run = run_length(alignment, parting.small, parting.large);
        parting = (struct parting){.small = parting.small + run, .large = parting.large + run};
        *found = parting.small == alignment->small.count && parting.large == alignment->large.count;
        if (*found || !parting_bridge(alignment, &parting))
            break;
        alignment->endless = alignment->steps >= alignment->most_steps;
        if (alignment->endless)
            break;
        if (!insertion_add(alignment, &parting, arena))
            return false;
        parting.large += parting.period * repeats;
    }
    *found = *found && !loops_are_nested(alignment);
    alignment->endless = alignment->endless || alignment->steps >= alignment->most_steps;
    *found = *found && !alignment->endless;
    return true;
}
