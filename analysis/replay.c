#include "analysis/replay.h"

#include "base/bytes.h"
#include "base/sort.h"

#define MIB (UINT64_C(1) << 20)

const char *replay_grade_text(enum replay_grade grade) {
    static const char *const texts[] = {
        [REPLAY_EXACT] = "exact", [REPLAY_NEAR] = "near", [REPLAY_REFUSED] = "refused"};
    return texts[grade];
}

/* ---- settings ---- */

static bool has_expandable(const struct device_trace *device) {
    for (uint32_t i = 0; i < device->n_segments; i++)
        if (device->segments[i].flags & SEGMENT_EXPANDABLE)
            return true;
    for (uint32_t i = 0; i < device->n_segment_events; i++)
        if (device->segment_events[i].change >= SEGMENT_MAP)
            return true;
    return false;
}

/* Older versions make plain segments for private pools even where the others are expandable. */
static bool private_are_expandable(const struct device_trace *device) {
    bool plain = false;
    for (uint32_t i = 0; i < device->n_segments; i++) {
        if (device->segments[i].pool <= 1)
            continue;
        if (device->segments[i].flags & SEGMENT_EXPANDABLE)
            return true;
        plain = true;
    }
    return !plain;
}

/* Blocks without an unsplit rest show how requests are rounded. */
static bool blocks_fit(const struct device_trace *device, const struct allocator_settings *settings,
                       bool *any) {
    *any = false;
    for (uint32_t s = 0; s < device->n_segments; s++) {
        const struct segment *segment = &device->segments[s];
        if (!(segment->flags & (SEGMENT_SMALL | SEGMENT_EXPANDABLE)))
            continue;
        for (uint32_t b = 0; b < segment->block_count; b++) {
            const struct block *block = &device->blocks[segment->first_block + b];
            if (block->state == BLOCK_INACTIVE || block->requested_size == 0)
                continue;
            *any = true;
            if (block->size != allocator_round(settings, block->requested_size))
                return false;
        }
    }
    return true;
}

static bool text_has(const struct trace *trace, uint32_t string, const char *part, uint32_t length) {
    uint32_t nbytes;
    const uint8_t *bytes = trace_string(trace, string, &nbytes);
    for (uint32_t at = 0; at + length <= nbytes; at++) {
        uint32_t same = 0;
        while (same < length && bytes[at + same] == (uint8_t)part[same])
            same++;
        if (same == length)
            return true;
    }
    return false;
}

static bool is_ascend(const struct trace *trace, const struct device_trace *device,
                      struct allocator_settings settings) {
    bool any;
    if (blocks_fit(device, &settings, &any) && any)
        return false;
    settings.aligned = true;
    if (blocks_fit(device, &settings, &any) && any)
        return true;
    for (uint32_t i = 1; !any && i < trace->frames.count; i++)
        if (text_has(trace, trace->frames.frame[i].file, "torch_npu", 9))
            return true;
    return false;
}

/* A request of 1 to 10 MiB that got a plain segment shows large_segment_size_mb, which no version writes down. */
static void large_segments_infer(struct allocator_settings *settings, const struct device_trace *device) {
    const struct lives *lives = &device->lives;
    uint32_t life = lives->preexisting;
    for (uint32_t i = 0; i < device->n_segment_events; i++) {
        const struct segment_event *event = &device->segment_events[i];
        while (life < lives->count && lives->birth[life] <= event->event)
            life++;
        if (event->change != SEGMENT_ALLOC || life == lives->count || lives->birth[life] != event->event + 2)
            continue;
        uint64_t rounded = allocator_round(settings, lives->size[life]);
        if (rounded <= MIB || rounded >= 10 * MIB)
            continue;
        if (event->size >= 20 * MIB && event->size % MIB == 0 && event->size <= 4096 * MIB)
            settings->large_segment_bytes = event->size;
        return;
    }
}

struct allocator_settings replay_settings(const struct trace *trace, const struct device_trace *device,
                                          bool *known) {
    struct allocator_settings settings;
    *known = allocator_settings_read(&settings, trace);
    if (!*known)
        settings.expandable = has_expandable(device);
    settings.expandable_private = !settings.expandable || private_are_expandable(device);
    settings.aligned = is_ascend(trace, device, settings);
    if (settings.large_segment_bytes == 20 * MIB)
        large_segments_infer(&settings, device);
    return settings;
}

/* ---- the state before the first event ---- */

struct replayer {
    struct replay *replay;
    const struct trace *trace;
    const struct device_trace *device;
    const struct program *program;
    struct arena *arena;
    struct arena *holes; /* of the curve of the largest hole; NULL: not asked for */
    struct allocator allocator;
    struct segments segments;
    uint32_t *block_of; /* per life; 0: none */
    uint32_t *extra;
    uint32_t pending, n_pending; /* segment events that the next allocation explains */
    uint32_t used;               /* of those: placed by the model */
    bool retried;            /* the next allocation had found no block before memory was given back for it */
    uint64_t reserved_bytes; /* as recorded */
    uint64_t invented;       /* addresses for what was not recorded */
    uint64_t most_steps;
    const char *trouble; /* the replay cannot go on */
};

/* The next of the pending segment events that fits gives the address. */
static uint64_t recorded_place(void *context, uint64_t nbytes, bool reservation) {
    struct replayer *replayer = context;
    if (replayer->used < replayer->n_pending) {
        const struct segment_event *event =
            &replayer->device->segment_events[replayer->pending + replayer->used];
        bool fits = reservation ? event->change == SEGMENT_MAP
                                : event->change == SEGMENT_ALLOC && event->size == nbytes;
        replayer->used += fits && !reservation;
        if (fits)
            return event->address;
    }
    replayer->invented += (nbytes / MIB + 2) * 2 * MIB;
    return replayer->invented;
}

/* Ends of blocks whose rest is not known yet: a later allocation within 1 MiB behind shows where the rest ends. */
struct rest {
    uint32_t block; /* of the state that is held */
    uint64_t size;
};

static uint32_t rest_seek(const struct sort_row *rows, uint32_t count, uint64_t address) {
    uint32_t low = 0, high = count; /* the last end that is not above */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (rows[middle].key <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low == 0 ? UINT32_MAX : low - 1;
}

/* A free block is always handed out from its beginning. */
static bool rests_find(const struct replayer *replayer, struct held *held) {
    const struct lives *lives = &replayer->device->lives;
    struct sort_row *rows = NULL;
    uint32_t capacity = 0, count = 0;
    if (!ARENA_GROW(replayer->arena, rows, capacity, (uint64_t)held->n_blocks + 1))
        return false;
    for (uint32_t i = 0; i < held->n_blocks; i++)
        if (held->block[i].guessed)
            rows[count++] = (struct sort_row){held->block[i].address + held->block[i].size, i};
    for (uint32_t life = lives->preexisting; count != 0 && life < lives->count; life++) {
        uint32_t at = rest_seek(rows, count, lives->address[life]);
        if (at == UINT32_MAX || lives->address[life] - rows[at].key > MIB)
            continue;
        struct held_block *block = &held->block[rows[at].value], *gap = block + 1;
        if (!block->guessed || lives->birth[life] >= lives->death[block->life] ||
            lives->address[life] >= gap->address + gap->size)
            continue;
        uint64_t more = lives->address[life] - gap->address;
        block->size += more;
        gap->address += more;
        gap->size -= more;
        block->guessed = false;
    }
    for (uint32_t i = 0; i < held->n_blocks; i++)
        if (held->block[i].guessed && lives->death[held->block[i].life] > replayer->replay->guessed_until)
            replayer->replay->guessed_until = lives->death[held->block[i].life];
    ARENA_DROP(replayer->arena, rows);
    return true;
}

static bool held_put(struct replayer *replayer, const struct held *held, const struct held_segment *segment) {
    static const uint8_t uses[] = {[BLOCK_INACTIVE] = ALLOCATOR_FREE,
                                   [BLOCK_ALLOCATED] = ALLOCATOR_USED,
                                   [BLOCK_PENDING_FREE] = ALLOCATOR_WAITING};
    for (uint32_t i = 0; i < segment->n_blocks; i++) {
        const struct held_block *block = &held->block[segment->first_block + i];
        enum allocator_use use =
            (enum allocator_use)uses[block->life == LIFE_NONE ? BLOCK_INACTIVE : block->state];
        uint32_t index = allocator_block_add(&replayer->allocator, block->size, use, true);
        if (index == 0)
            return false;
        if (block->life == LIFE_NONE)
            continue;
        replayer->block_of[block->life] = index;
        replayer->allocator.block[index].owner = block->life;
    }
    return true;
}

static bool same_reservation(const struct held_segment *a, const struct held_segment *b) {
    static const uint64_t APART = UINT64_C(1) << 41; /* further than any device has memory */
    bool pools = a->pool == b->pool || a->pool == POOL_UNKNOWN || b->pool == POOL_UNKNOWN;
    return (a->flags & b->flags & SEGMENT_EXPANDABLE) && a->flags == b->flags && a->stream == b->stream &&
           pools && b->address - a->address < APART;
}

/* The lowest address that is ever mapped of the same reservation: what lies below the first page may be unmapped yet. */
static uint64_t reservation_base(struct replayer *replayer, const struct held_segment *segment) {
    uint64_t base = segment->address;
    if (replayer->allocator.steps > replayer->most_steps)
        return base;
    replayer->allocator.steps += replayer->segments.count;
    for (uint32_t i = 0; i < replayer->segments.count; i++) {
        const struct segment_piece *piece = &replayer->segments.piece[i];
        struct held_segment lower = {
            .address = piece->address, .stream = piece->stream, .pool = piece->pool, .flags = piece->flags};
        if (piece->address < base && !piece->unsure && same_reservation(&lower, segment))
            base = piece->address;
    }
    return base;
}

/* Reservations of one list, in the order of their addresses, are one: nothing tells them apart but a gap that is large.
 * Other segments may lie between. */
static bool reservation_put(struct replayer *replayer, const struct held *held, uint32_t first, bool *put) {
    const struct held_segment *segment = &held->segment[first];
    uint64_t end = reservation_base(replayer, segment);
    if (!allocator_segment(&replayer->allocator, end, segment->pool, segment->stream,
                           (segment->flags & SEGMENT_SMALL) != 0, true))
        return false;
    for (uint32_t i = first; i < held->n_segments; i++) {
        const struct held_segment *next = &held->segment[i];
        replayer->allocator.steps++;
        if (put[i] || !same_reservation(segment, next))
            continue;
        if (next->address > end &&
            allocator_block_add(&replayer->allocator, next->address - end, ALLOCATOR_FREE, false) == 0)
            return false;
        if (!held_put(replayer, held, next))
            return false;
        end = next->address + next->size;
        put[i] = true;
        if (replayer->allocator.steps > replayer->most_steps)
            break;
    }
    return allocator_block_add(&replayer->allocator, UINT64_C(1) << 42, ALLOCATOR_FREE, false) != 0;
}

static bool segment_put(struct replayer *replayer, const struct held *held, uint32_t index, bool *put) {
    const struct held_segment *segment = &held->segment[index];
    if (put[index])
        return true;
    if (segment->flags & SEGMENT_EXPANDABLE)
        return reservation_put(replayer, held, index, put);
    return allocator_segment(&replayer->allocator, segment->address, segment->pool, segment->stream,
                             (segment->flags & SEGMENT_SMALL) != 0, false) &&
           held_put(replayer, held, segment);
}

static bool start_put(struct replayer *replayer, const struct held *held) {
    bool *put = arena_alloc(replayer->arena, held->n_segments + (size_t)1);
    for (uint32_t i = 0; put != NULL && i < held->n_segments; i++)
        if (!segment_put(replayer, held, i, put))
            return false;
    return put != NULL;
}

/* What the settings tell of blocks that are older than the recording. */
static struct block_sizes start_sizes(struct replayer *replayer) {
    const struct allocator_settings *settings = &replayer->replay->settings;
    const struct lives *lives = &replayer->device->lives;
    for (uint32_t i = 0; i < lives->preexisting; i++)
        replayer->extra[i] =
            (uint32_t)(allocator_round(settings, lives->size[i]) - segments_round(lives->size[i]));
    bool splits_all = settings->max_split_bytes == ALLOCATOR_UNLIMITED || settings->expandable;
    return (struct block_sizes){.least = replayer->extra,
                                .whole_from_bytes = splits_all ? 0 : settings->max_split_bytes};
}

static bool start_build(struct replayer *replayer) {
    const struct lives *lives = &replayer->device->lives;
    struct held held;
    uint32_t *older = NULL, capacity = 0;
    if (!ARENA_GROW(replayer->arena, older, capacity, (uint64_t)lives->preexisting + 1))
        return false;
    for (uint32_t i = 0; i < lives->preexisting; i++)
        older[i] = i;
    bool done = segments_init(&replayer->segments, replayer->device, replayer->arena) &&
                segments_at(&held, &replayer->segments, 0, older, lives->preexisting, start_sizes(replayer),
                            replayer->arena);
    ARENA_DROP(replayer->arena, older);
    if (!done)
        return false;
    if (held.n_outside != 0)
        replayer->trouble = "allocations older than the recording lie outside of its segments";
    if (!rests_find(replayer, &held) || !start_put(replayer, &held))
        return false;
    replayer->reserved_bytes = replayer->allocator.reserved_bytes;
    return true;
}

/* ---- step by step ---- */

static void reserved_compare(struct replayer *replayer) {
    uint64_t model = replayer->allocator.reserved_bytes, recorded = replayer->reserved_bytes;
    uint64_t error = model > recorded ? model - recorded : recorded - model;
    if (error > replayer->replay->reserved_max_error_bytes)
        replayer->replay->reserved_max_error_bytes = error;
}

static bool call_is(const struct allocator_call *call, const struct segment_event *event) {
    return call->change == event->change && call->address == event->address && call->size == event->size;
}

/* What the model asked of the driver against what was recorded; how many are the same, from the first on. */
static uint32_t calls_compare(const struct replayer *replayer) {
    const struct allocator *allocator = &replayer->allocator;
    uint32_t same = 0;
    while (same < allocator->n_calls && same < replayer->n_pending &&
           call_is(&allocator->call[same], &replayer->device->segment_events[replayer->pending + same]))
        same++;
    return same;
}

static void pending_clear(struct replayer *replayer) {
    replayer->n_pending = replayer->used = 0;
    replayer->allocator.n_calls = 0;
}

static uint32_t life_extra(const struct replayer *replayer, uint32_t life, uint32_t block) {
    uint64_t extra =
        replayer->allocator.block[block].size - segments_round(replayer->device->lives.size[life]);
    return extra < UINT32_MAX ? (uint32_t)extra : UINT32_MAX;
}

static void allocate(struct replayer *replayer, uint32_t life) {
    const struct lives *lives = &replayer->device->lives;
    struct replay *replay = replayer->replay;
    /* What a retry completes is not searched again, and was recorded before this allocation. */
    replayer->allocator.no_search = replayer->retried && replayer->n_pending != 0;
    uint32_t block =
        allocator_allocate(&replayer->allocator, lives->size[life], lives->pool[life], lives->stream[life]);
    replayer->retried = replayer->allocator.no_search = false;
    if (block == 0)
        return;
    uint32_t same = calls_compare(replayer);
    bool exact = same == replayer->n_pending && same == replayer->allocator.n_calls;
    replay->driver_events_exact += same;
    replay->allocations_exact += exact && replayer->allocator.block[block].address == lives->address[life];
    replayer->block_of[life] = block;
    replayer->extra[life] = life_extra(replayer, life, block);
    pending_clear(replayer);
    reserved_compare(replayer);
}

static void life_free(struct replayer *replayer, uint32_t life, bool completed) {
    const struct lives *lives = &replayer->device->lives;
    uint32_t block = replayer->block_of[life];
    if (block == 0)
        return; /* its allocation found no place */
    if (!completed) {
        allocator_wait(&replayer->allocator, block);
        replayer->allocator.block[block].owner = life;
        return;
    }
    replayer->block_of[life] = 0;
    if (lives->request[life] < lives->death[life] && !allocator_waits(&replayer->allocator, block, life))
        return; /* a release has completed it, and it may serve another already */
    allocator_free(&replayer->allocator, block);
}

/* A request that fails may map pages before it does: the model tries it with what the driver had. */
static void failing_attempt(struct replayer *replayer, uint64_t nbytes, uint16_t pool, uint16_t stream) {
    struct allocator *allocator = &replayer->allocator;
    if (replayer->n_pending == 0)
        return;
    allocator->budget_bytes = replayer->reserved_bytes;
    allocator->no_retry = true;
    (void)allocator_allocate(allocator, nbytes, pool, stream);
    allocator->budget_bytes = ALLOCATOR_UNLIMITED;
    allocator->no_retry = false;
    allocator->n_ooms = 0;
    replayer->replay->driver_events_exact += calls_compare(replayer);
    pending_clear(replayer);
}

static void next_request_fails(struct replayer *replayer, uint32_t op) {
    const struct program *program = replayer->program;
    const struct lives *lives = &replayer->device->lives;
    for (uint32_t end = op + 4096; replayer->n_pending != 0 && op < program->n_ops && op < end; op++) {
        uint32_t index = program_index(program->op[op]);
        if (program_kind(program->op[op]) == PROGRAM_ALLOCATE)
            failing_attempt(replayer, lives->size[index], lives->pool[index], lives->stream[index]);
        else if (program_kind(program->op[op]) == PROGRAM_OOM)
            failing_attempt(replayer, replayer->device->ooms[index].size, POOL_UNKNOWN,
                            replayer->device->segment_events[replayer->pending].stream);
    }
    pending_clear(replayer);
}

/* ---- releases ---- */

static bool call_before(const struct allocator_call *a, const struct allocator_call *b) {
    return a->address < b->address;
}

static void calls_sift(struct allocator_call *calls, uint32_t root, uint32_t count) {
    for (uint32_t child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count && call_before(&calls[child], &calls[child + 1]))
            child++;
        if (!call_before(&calls[root], &calls[child]))
            return;
        struct allocator_call swap = calls[root];
        calls[root] = calls[child];
        calls[child] = swap;
    }
}

static void calls_sort(struct allocator_call *calls, uint32_t count) {
    for (uint32_t i = count / 2; i-- > 0;)
        calls_sift(calls, i, count);
    for (uint32_t end = count; end > 1; end--) {
        struct allocator_call swap = calls[0];
        calls[0] = calls[end - 1];
        calls[end - 1] = swap;
        calls_sift(calls, 0, end - 1);
    }
}

static bool calls_find(const struct allocator_call *calls, uint32_t count,
                       const struct segment_event *event) {
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (calls[middle].address < event->address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && call_is(&calls[low], event);
}

/* Private pools, and rules that give back in part: what was recorded is given back, as far as it is free. */
static bool gives_parts(const struct replayer *replayer) {
    const struct allocator_settings *settings = &replayer->replay->settings;
    return settings->max_split_bytes != ALLOCATOR_UNLIMITED || settings->collect_ppm != 0 ||
           settings->fraction_ppm != 0 || replayer->device->n_pools > 2;
}

static void group_give_back(struct replayer *replayer, const struct release_group *group) {
    for (uint32_t i = group->first; i < group->first + group->count; i++) {
        const struct segment_event *event = &replayer->device->segment_events[i];
        replayer->replay->releases_exact +=
            allocator_give_back(&replayer->allocator, event->address, event->size);
    }
}

/* Under default settings all that can be given back is. */
static void group_empty(struct replayer *replayer, const struct release_group *group) {
    struct allocator *allocator = &replayer->allocator;
    allocator->n_calls = 0;
    allocator_empty_cache(allocator);
    calls_sort(allocator->call, allocator->n_calls);
    for (uint32_t i = group->first; i < group->first + group->count; i++)
        replayer->replay->releases_exact +=
            calls_find(allocator->call, allocator->n_calls, &replayer->device->segment_events[i]);
    if (allocator->n_calls != group->count) /* more than was recorded shows in the curve */
        reserved_compare(replayer);
}

static void group_release(struct replayer *replayer, const struct release_group *group, uint32_t op) {
    if (replayer->n_pending != 0)
        next_request_fails(replayer, op);
    for (uint32_t i = group->first; i < group->first + group->count; i++)
        replayer->reserved_bytes -= replayer->device->segment_events[i].size;
    replayer->replay->releases += group->count;
    replayer->retried = group->cause != RELEASE_EXPLICIT && group->taken_bytes != 0;
    if (gives_parts(replayer))
        group_give_back(replayer, group);
    else
        group_empty(replayer, group);
    replayer->allocator.n_calls = 0;
    reserved_compare(replayer);
}

/* What comes from the driver waits for the allocation that explains it. */
static void segment_taken(struct replayer *replayer, uint32_t index) {
    replayer->pending = replayer->n_pending == 0 ? index : replayer->pending;
    replayer->n_pending = index + 1 - replayer->pending;
    replayer->reserved_bytes += replayer->device->segment_events[index].size;
    replayer->replay->driver_events++;
}

static bool is_release(const struct segment_event *event) {
    return event->change == SEGMENT_FREE || event->change == SEGMENT_UNMAP;
}

/* What came from the driver is a hole until the request that it is for takes its part; the model takes both at once. */
static uint64_t pending_hole(const struct replayer *replayer) {
    return replayer->n_pending == 0
               ? 0
               : replayer->device->segment_events[replayer->pending + replayer->n_pending - 1].size;
}

static void hole_note(struct replayer *replayer, uint32_t moment) {
    struct replay *replay = replayer->replay;
    uint64_t largest = allocator_largest_hole(&replayer->allocator), pending = pending_hole(replayer);
    struct replay_hole now = {moment, largest > pending ? largest : pending};
    struct replay_hole *last = replay->n_holes == 0 ? NULL : &replay->hole[replay->n_holes - 1];
    if (moment == UINT32_MAX || replayer->allocator.n_lists > REPLAY_LISTS ||
        (last != NULL && last->bytes == now.bytes))
        return;
    if (last != NULL && last->moment == moment)
        *last = now;
    else if (ARENA_GROW(replayer->holes, replay->hole, replay->hole_capacity, (uint64_t)replay->n_holes + 1))
        replay->hole[replay->n_holes++] = now;
}

static void steps_run(struct replayer *replayer) {
    const struct program *program = replayer->program;
    uint32_t group = 0;
    if (replayer->holes != NULL)
        hole_note(replayer, 0);
    for (uint32_t i = 0; i < program->n_ops && !replayer->allocator.no_memory; i++) {
        uint32_t index = program_index(program->op[i]);
        switch (program_kind(program->op[i])) {
        case PROGRAM_ALLOCATE: allocate(replayer, index); break;
        case PROGRAM_FREE: life_free(replayer, index, true); break;
        case PROGRAM_WAIT: life_free(replayer, index, false); break;
        case PROGRAM_OOM: next_request_fails(replayer, i); break;
        case PROGRAM_SEGMENT:
            if (!is_release(&replayer->device->segment_events[index]))
                segment_taken(replayer, index);
            else if (group < program->releases.count && program->releases.group[group].first == index)
                group_release(replayer, &program->releases.group[group++], i);
        }
        if (replayer->holes != NULL)
            hole_note(replayer, program_moment(program, program->op[i]));
        if (replayer->allocator.steps > replayer->most_steps) {
            replayer->trouble = "the search for memory takes too long in this recording";
            return;
        }
    }
}

/* ---- the end, and the verdict ---- */

static bool model_blocks(const struct allocator *allocator, struct sort_row **rows, uint32_t *count,
                         struct arena *arena) {
    uint32_t capacity = 0;
    *rows = NULL;
    *count = 0;
    if (!ARENA_GROW(arena, *rows, capacity, (uint64_t)allocator->n_blocks * 2))
        return false;
    for (uint32_t i = 1; i < allocator->n_blocks; i++)
        if (allocator->block[i].mapped)
            (*rows)[(*count)++] = (struct sort_row){allocator->block[i].address, i};
    sort_rows(*rows, *rows + *count, *count);
    return true;
}

static bool block_agrees(const struct allocator *allocator, const struct sort_row *rows, uint32_t count,
                         const struct block *block) {
    static const uint8_t uses[] = {[BLOCK_INACTIVE] = ALLOCATOR_FREE,
                                   [BLOCK_ALLOCATED] = ALLOCATOR_USED,
                                   [BLOCK_PENDING_FREE] = ALLOCATOR_WAITING};
    uint32_t at = rest_seek(rows, count, block->address);
    if (at == UINT32_MAX || rows[at].key != block->address)
        return false;
    const struct allocator_block *model = &allocator->block[rows[at].value];
    return model->size == block->size && model->use == uses[block->state];
}

static bool end_compare(struct replayer *replayer) {
    const struct device_trace *device = replayer->device;
    struct sort_row *rows;
    uint32_t count;
    if (!model_blocks(&replayer->allocator, &rows, &count, replayer->arena))
        return false;
    replayer->replay->blocks = device->n_blocks;
    for (uint32_t i = 0; i < device->n_blocks; i++)
        replayer->replay->blocks_exact += block_agrees(&replayer->allocator, rows, count, &device->blocks[i]);
    ARENA_DROP(replayer->arena, rows);
    return true;
}

static bool both_kinds_were_made(const struct device_trace *device) {
    bool plain = false, expandable = false;
    for (uint32_t i = 0; i < device->n_segment_events; i++) {
        plain |= device->segment_events[i].change == SEGMENT_ALLOC;
        expandable |= device->segment_events[i].change == SEGMENT_MAP;
    }
    return plain && expandable;
}

static uint32_t lives_outside(const struct replayer *replayer) {
    uint32_t count = 0;
    const struct lives *lives = &replayer->device->lives;
    const struct segments *segments = &replayer->segments;
    uint32_t checked = lives->count - lives->preexisting < 1000 ? lives->count - lives->preexisting : 1000;
    for (uint32_t i = 0; i < checked; i++) {
        uint32_t life = lives->preexisting + i, at = 0;
        while (at < segments->count &&
               (lives->address[life] < segments->piece[at].address ||
                lives->address[life] - segments->piece[at].address >= segments->piece[at].size))
            at++;
        count += at == segments->count;
    }
    return count;
}

static const char *reason_of(const struct replayer *replayer) {
    if (replayer->trouble != NULL)
        return replayer->trouble;
    if (replayer->segments.count < 100000 && lives_outside(replayer) != 0)
        return "allocations lie at addresses outside of the recording's segments";
    if (both_kinds_were_made(replayer->device))
        return "plain and expandable segments were both made: the settings changed in the recording";
    return "the allocator's rules or settings in this recording differ from those that are modelled";
}

static void grade(struct replayer *replayer) {
    struct replay *replay = replayer->replay;
    uint64_t wanted = replay->allocations + replay->driver_events + replay->releases;
    uint64_t got = replay->allocations_exact + replay->driver_events_exact + replay->releases_exact;
    uint64_t peak = replayer->allocator.peak_reserved_bytes;
    if (replayer->trouble == NULL && got == wanted && replay->reserved_max_error_bytes == 0) {
        replay->grade = REPLAY_EXACT;
        return;
    }
    bool near = replayer->trouble == NULL && got >= wanted - wanted / 100 &&
                replay->reserved_max_error_bytes <= peak / 200;
    replay->grade = near ? REPLAY_NEAR : REPLAY_REFUSED;
    replay->reason = reason_of(replayer);
}

/* ---- recordings that cannot be replayed ---- */

/* NULL: it can be. */
static const char *refusal(const struct trace *trace, const struct device_trace *device) {
    const char *reason = segments_refusal(trace, device);
    if (reason == NULL && device->lives.count == device->lives.preexisting)
        return "no allocation was recorded, so there is nothing to replay";
    return reason;
}

static bool columns_init(struct replayer *replayer) {
    uint32_t count = replayer->device->lives.count, capacity = 0;
    if (!ARENA_GROW(replayer->arena, replayer->block_of, capacity, (uint64_t)count + 1))
        return false;
    capacity = 0;
    if (!ARENA_GROW(replayer->arena, replayer->extra, capacity, (uint64_t)count + 1))
        return false;
    bytes_zero(replayer->block_of, count * sizeof *replayer->block_of);
    bytes_zero(replayer->extra, count * sizeof *replayer->extra);
    return true;
}

static bool replayer_init(struct replayer *replayer) {
    struct allocator_settings settings = replayer->replay->settings;
    struct allocator_driver driver = {recorded_place, replayer};
    const struct device_trace *device = replayer->device;
    settings.collect_ppm = settings.fraction_ppm = 0; /* what was released is recorded */
    replayer->invented = UINT64_C(1) << 60;
    replayer->most_steps = ((uint64_t)device->lives.count + device->n_segment_events) * 256 + 10000000;
    return columns_init(replayer) &&
           allocator_init(&replayer->allocator, &settings, driver, replayer->arena) && start_build(replayer);
}

static void extra_of_the_start(struct replayer *replayer) {
    for (uint32_t i = 0; i < replayer->device->lives.preexisting; i++)
        if (replayer->block_of[i] != 0)
            replayer->extra[i] = life_extra(replayer, i, replayer->block_of[i]);
}

static bool run(struct replayer *replayer) {
    if (!replayer_init(replayer))
        return false;
    extra_of_the_start(replayer);
    if (replayer->trouble == NULL)
        steps_run(replayer);
    if (replayer->allocator.no_memory || !end_compare(replayer))
        return false;
    grade(replayer);
    return true;
}

static bool replay_with(struct replay *replay, const struct trace *trace, const struct device_trace *device,
                        const struct program *program, struct arena *arena, bool holes) {
    struct arena scratch;
    struct program own;
    struct replayer replayer = {
        .replay = replay, .trace = trace, .device = device, .arena = &scratch, .holes = holes ? arena : NULL};
    *replay = (struct replay){.grade = REPLAY_REFUSED, .reason = refusal(trace, device)};
    replay->settings = replay_settings(trace, device, &replay->settings_known);
    replay->allocations = device->lives.count - device->lives.preexisting;
    if (replay->reason != NULL)
        return true;
    arena_init(&scratch, arena_share(arena), SIZE_MAX);
    replayer.program = program != NULL ? program : &own;
    bool done = (program != NULL || program_init(&own, trace, device, &scratch)) && run(&replayer);
    if (done && replay->grade == REPLAY_EXACT) {
        uint32_t capacity = 0;
        done = ARENA_GROW(arena, replay->extra, capacity, (uint64_t)device->lives.count + 1);
        if (done)
            bytes_copy(replay->extra, replayer.extra, device->lives.count * sizeof *replay->extra);
    }
    if (replay->grade != REPLAY_EXACT)
        replay->n_holes = 0;
    arena_release(&scratch);
    return done;
}

bool replay_run(struct replay *replay, const struct trace *trace, const struct device_trace *device,
                const struct program *program, struct arena *arena) {
    return replay_with(replay, trace, device, program, arena, false);
}

bool replay_run_holes(struct replay *replay, const struct trace *trace, const struct device_trace *device,
                      struct arena *arena) {
    return replay_with(replay, trace, device, NULL, arena, true);
}
