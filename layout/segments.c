#include "layout/segments.h"

#include "base/assert.h"
#include "base/numbers.h"
#include "base/ordered.h"
#include "base/search.h"
#include "base/sort.h"

/* ---- recordings without addresses or segments ---- */

static bool has_addresses(const struct allocations *allocations) {
    for (uint32_t i = 0; i < allocations->count; i++)
        if (allocations->address[i] != 0)
            return true;
    return false;
}

const char *segments_refusal(const struct trace *trace, const struct device_trace *device) {
    if (trace_has_dumps(trace))
        return "a series of dumps has the segments of its last dump only";
    if (!trace_has_allocations(trace))
        return "a log holds levels, not allocations";
    if (!trace_has_segments(trace))
        return "a profiler's recording has neither segments nor addresses";
    if (device->allocations.merged != NULL)
        return "the allocations of this page were merged to keep it small, and their addresses are gone";
    if (device->n_segments == 0 && device->n_segment_events == 0)
        return "the recording holds no segments";
    if (device->allocations.count != 0 && !has_addresses(&device->allocations))
        return "the recording holds no addresses";
    return NULL;
}

/* ---- pieces: from the end back to the beginning ---- */

struct walk {
    struct segments *segments;
    const struct device_trace *device;
    struct arena *arena;
    struct ordered_store store;
    struct ordered there;     /* by address: index of each piece present */
    struct ordered runs;      /* ranges covered by the pieces present: from and, second, to */
    uint32_t next_allocation; /* allocations born later have been looked at */
    bool
        allocations_tell; /* pools and size classes follow from the allocations, since events do not name them */
    uint32_t n_untold;    /* pieces present whose pool or size class is still unknown */
};

static bool piece_is_untold(const struct segment_piece *piece) {
    return piece->pool == POOL_UNKNOWN || piece->unsure;
}

/* The piece at an address or, if none is there, the next one after it. UINT32_MAX: none. */
static uint32_t piece_from(const struct walk *walk, uint64_t address) {
    if (walk->segments->piece == NULL)
        return UINT32_MAX;
    struct ordered_place place = ordered_seek(&walk->there, &walk->store, address, 0), before;
    const struct ordered_key *key = ordered_at(&walk->there, &walk->store, place);
    if (key != NULL && key->first == address)
        return key->value;
    before = ordered_before(&walk->there, &walk->store, place);
    const struct ordered_key *lower = ordered_at(&walk->there, &walk->store, before);
    if (lower != NULL && lower->first < address) {
        const struct segment_piece *piece = &walk->segments->piece[lower->value];
        if (address < sum_at_most(piece->address, piece->size))
            return lower->value;
    }
    return key != NULL ? key->value : UINT32_MAX;
}

static bool piece_open(struct walk *walk, struct segment_piece piece) {
    struct segments *segments = walk->segments;
    if (piece.size == 0)
        return true;
    if (!ARENA_GROW(walk->arena, segments->piece, segments->capacity, (uint64_t)segments->count + 1) ||
        !ordered_add(&walk->there, &walk->store, piece.address, 0, segments->count))
        return false;
    walk->n_untold += piece_is_untold(&piece);
    segments->piece[segments->count++] = piece;
    return true;
}

/* Removes the lowest run that overlaps or touches a range; false: there is none. */
static bool run_take(struct walk *walk, uint64_t from, uint64_t end, struct ordered_key *run) {
    struct ordered_place above = ordered_seek(&walk->runs, &walk->store, from, UINT64_MAX);
    struct ordered_place place = ordered_before(&walk->runs, &walk->store, above);
    const struct ordered_key *key = ordered_at(&walk->runs, &walk->store, place);
    if (key == NULL || key->second < from) {
        place = above;
        key = ordered_at(&walk->runs, &walk->store, place);
    }
    if (key == NULL || key->first > end)
        return false;
    *run = *key;
    ordered_remove_at(&walk->runs, &walk->store, place);
    return true;
}

static bool run_add(struct walk *walk, uint64_t from, uint64_t end) {
    return from >= end || ordered_add(&walk->runs, &walk->store, from, end, 0);
}

static bool gap_open(struct walk *walk, struct segment_piece piece, uint64_t from, uint64_t end) {
    walk->segments->contradicted_bytes -= end - from;
    piece.address = from;
    piece.size = end - from;
    return piece_open(walk, piece);
}

/* Adds the parts of a range that are not there yet: where events disagree, the later one is believed. Existing runs
 * are skipped and merged into one, so ranges that overlap again and again cost no more than others. */
static bool range_open(struct walk *walk, struct segment_piece piece) {
    uint64_t at = piece.address, from = at, end = sum_at_most(at, piece.size), top = end;
    struct ordered_key run;
    walk->segments->contradicted_bytes += end - at;
    while (at < end && run_take(walk, at, end, &run)) {
        if (run.first > at && !gap_open(walk, piece, at, run.first))
            return false;
        from = run.first < from ? run.first : from;
        at = run.second;
        top = at > top ? at : top;
    }
    return (at >= end || gap_open(walk, piece, at, end)) && run_add(walk, from, top);
}

/* Removes a range from the runs. */
static bool range_uncover(struct walk *walk, uint64_t from, uint64_t end) {
    uint64_t low = from, high = end;
    struct ordered_key run;
    while (from < end && run_take(walk, from, end, &run)) {
        low = run.first < low ? run.first : low;
        high = run.second > high ? run.second : high;
    }
    return run_add(walk, low, from) && run_add(walk, end, high);
}

/* Cuts a piece at an address; its upper part becomes a piece of its own. */
static bool piece_cut(struct walk *walk, uint32_t index, uint64_t address) {
    struct segment_piece upper = walk->segments->piece[index];
    upper.size -= address - upper.address;
    walk->segments->piece[index].size -= upper.size;
    upper.address = address;
    return piece_open(walk, upper);
}

/* The range was not there before the event, so its open parts begin here. */
static bool range_begin(struct walk *walk, const struct segment_event *event) {
    uint64_t at = event->address, end = sum_at_most(event->address, event->size), begun = 0;
    while (at < end) {
        uint32_t index = piece_from(walk, at);
        if (index == UINT32_MAX || walk->segments->piece[index].address >= end)
            break;
        struct segment_piece *piece = &walk->segments->piece[index];
        if (piece->address < at) {
            if (!piece_cut(walk, index, at))
                return false;
            continue;
        }
        if (sum_at_most(piece->address, piece->size) > end && !piece_cut(walk, index, end))
            return false;
        piece = &walk->segments->piece[index];
        piece->birth = event->event + 1;
        piece->stack = event->stack;
        begun += piece->size;
        walk->n_untold -= piece_is_untold(piece);
        at = sum_at_most(piece->address, piece->size);
        (void)ordered_remove(&walk->there, &walk->store, piece->address, 0);
    }
    walk->segments->contradicted_bytes += event->size - begun;
    return range_uncover(walk, event->address, end);
}

/* Adjacent pages of one stream belong to the same reservation, so a piece takes over what is known of its
 * neighbours. */
static void piece_inherit(const struct walk *walk, struct segment_piece *piece) {
    uint64_t sides[] = {piece->address - 1, sum_at_most(piece->address, piece->size)};
    for (unsigned i = 0; i < 2 && piece->unsure; i++) {
        uint32_t index = piece_from(walk, sides[i]);
        const struct segment_piece *other = index == UINT32_MAX ? NULL : &walk->segments->piece[index];
        if (other == NULL || other->address > sides[i] || !(other->flags & SEGMENT_EXPANDABLE) ||
            other->stream != piece->stream || other->unsure)
            continue;
        piece->flags = other->flags;
        piece->pool = other->pool;
        piece->unsure = false;
    }
}

static bool range_given_back(struct walk *walk, const struct segment_event *event) {
    struct segment_piece piece = {.address = event->address,
                                  .size = event->size,
                                  .death = event->event + 1,
                                  .stream = event->stream,
                                  .pool = POOL_UNKNOWN};
    if (event->change == SEGMENT_FREE)
        piece.flags = event->size == 2 * MIB ? SEGMENT_SMALL : 0;
    else {
        piece.flags = SEGMENT_EXPANDABLE;
        piece.unsure = true;
        piece_inherit(walk, &piece);
    }
    return range_open(walk, piece);
}

/* Adds a range that the final segments should have but the file lacks: it stayed to the end. */
static bool range_stays(struct walk *walk, const struct segment_event *event) {
    struct segment_piece piece = {.address = event->address,
                                  .size = event->size,
                                  .death = walk->device->n_events + 1,
                                  .stream = event->stream,
                                  .flags = event->change == SEGMENT_MAP ? SEGMENT_EXPANDABLE
                                           : event->size == 2 * MIB     ? SEGMENT_SMALL
                                                                        : 0,
                                  .unsure = event->change == SEGMENT_MAP};
    uint64_t contradicted = walk->segments->contradicted_bytes;
    bool done = range_open(walk, piece);
    walk->segments->contradicted_bytes = contradicted; /* this range was given back later: no contradiction */
    return done;
}

/* An allocation in a piece tells the piece's pool and size class. */
static void allocation_tells(struct walk *walk, uint32_t allocation) {
    const struct allocations *allocations = &walk->device->allocations;
    uint32_t index = piece_from(walk, allocations->address[allocation]);
    if (index == UINT32_MAX || walk->segments->piece[index].address > allocations->address[allocation])
        return;
    struct segment_piece *piece = &walk->segments->piece[index];
    walk->n_untold -= piece_is_untold(piece);
    if (piece->pool == POOL_UNKNOWN)
        piece->pool = allocations->pool[allocation];
    if (piece->unsure) {
        piece->unsure = false;
        piece->flags |= allocations->size[allocation] <= MIB ? SEGMENT_SMALL : 0;
    }
    walk->n_untold += piece_is_untold(piece);
}

/* Asks the allocations born at or after a moment, the latest first. Mostly a few of them settle all pieces
 * present. */
static void allocations_tell(struct walk *walk, uint32_t moment) {
    const struct allocations *allocations = &walk->device->allocations;
    if (!walk->allocations_tell)
        return;
    while (walk->n_untold != 0 && walk->next_allocation > 0 &&
           allocations->birth[walk->next_allocation - 1] >= moment)
        allocation_tells(walk, --walk->next_allocation);
    if (walk->n_untold == 0) /* skips the others */
        walk->next_allocation = SEARCH(0, walk->next_allocation, i, allocations->birth[i] < moment);
}

static bool event_undo(struct walk *walk, const struct segment_event *event) {
    allocations_tell(walk, event->event + 1);
    if (event->change == SEGMENT_FREE || event->change == SEGMENT_UNMAP)
        return range_given_back(walk, event);
    return (walk->device->n_segments != 0 || range_stays(walk, event)) && range_begin(walk, event);
}

static bool final_open(struct walk *walk) {
    const struct device_trace *device = walk->device;
    for (uint32_t i = 0; i < device->n_segments; i++) {
        const struct segment *segment = &device->segments[i];
        if (!range_open(walk, (struct segment_piece){.address = segment->address,
                                                     .size = segment->total_size,
                                                     .death = device->n_events + 1,
                                                     .stack = segment->stack,
                                                     .stream = segment->stream,
                                                     .pool = segment->pool,
                                                     .flags = segment->flags}))
            return false;
    }
    return true;
}

static bool allocations_are_needed(const struct device_trace *device) {
    bool unmaps = false;
    for (uint32_t i = 0; i < device->n_segment_events; i++)
        unmaps |= device->segment_events[i].change == SEGMENT_UNMAP ||
                  (device->segment_events[i].change == SEGMENT_MAP && device->n_segments == 0);
    return unmaps || (device->n_pools > 2 && device->n_segment_events != 0);
}

bool segments_init(struct segments *segments, const struct device_trace *device, struct arena *arena) {
    *segments = (struct segments){.device = device};
    struct walk walk = {.segments = segments,
                        .device = device,
                        .arena = arena,
                        .store = {.arena = arena},
                        .next_allocation = device->allocations.count,
                        .allocations_tell = allocations_are_needed(device)};
    bool done = final_open(&walk);
    for (uint32_t i = device->n_segment_events; done && i-- > 0;)
        done = event_undo(&walk, &device->segment_events[i]);
    if (done)
        allocations_tell(&walk, 0);
    ordered_release(&walk.there, &walk.store);
    ordered_release(&walk.runs, &walk.store);
    ARENA_DROP(arena, walk.store.leaf);
    return done;
}

/* ---- at a moment ---- */

bool segment_pieces_join(const struct segment_piece *low, const struct segment_piece *high) {
    bool same_class = low->flags == high->flags || low->unsure || high->unsure;
    bool same_pool = low->pool == high->pool || low->pool == POOL_UNKNOWN || high->pool == POOL_UNKNOWN;
    return (low->flags & high->flags & SEGMENT_EXPANDABLE) && same_class && same_pool &&
           low->stream == high->stream && low->address + low->size == high->address;
}

/* Joins pieces, in order of address, into segments. */
static void segments_join(struct held *held, const struct segments *segments, const struct sort_row *rows,
                          uint32_t count) {
    struct segment_piece joined = {0}; /* the last segment as a piece */
    for (uint32_t i = 0; i < count; i++) {
        struct segment_piece piece = segments->piece[rows[i].value];
        bool joins = i != 0 && segment_pieces_join(&joined, &piece);
        if (joins) {
            piece.address = joined.address;
            piece.size += joined.size;
            piece.stack = joined.stack;
            piece.birth = joined.birth;
            piece.flags = joined.unsure && !piece.unsure ? piece.flags : joined.flags;
            piece.pool = joined.pool == POOL_UNKNOWN ? piece.pool : joined.pool;
            piece.unsure &= joined.unsure;
        }
        joined = piece;
        held->n_segments += !joins;
        held->segment[held->n_segments - 1] = (struct held_segment){.address = piece.address,
                                                                    .size = piece.size,
                                                                    .stack = piece.stack,
                                                                    .birth = piece.birth,
                                                                    .stream = piece.stream,
                                                                    .pool = piece.pool,
                                                                    .flags = piece.flags};
    }
}

/* Room to sort `count` rows in. NULL: no memory. */
static struct sort_row *rows_take(struct arena *arena, uint64_t count) {
    return arena_column(arena, count * 2, sizeof(struct sort_row));
}

static bool held_segments(struct held *held, const struct segments *segments, uint32_t moment,
                          struct arena *arena) {
    uint32_t count = 0;
    struct sort_row *rows = rows_take(arena, segments->count);
    if (rows == NULL)
        return false;
    for (uint32_t i = 0; i < segments->count; i++)
        if (segments->piece[i].birth <= moment && moment < segments->piece[i].death)
            rows[count++] = (struct sort_row){segments->piece[i].address, i};
    sort_rows(rows, rows + count, count);
    held->segment = arena_alloc(arena, (count + (size_t)1) * sizeof *held->segment);
    if (held->segment != NULL)
        segments_join(held, segments, rows, count);
    ARENA_DROP(arena, rows);
    return held->segment != NULL;
}

/* Sizes of the final blocks by address, for allocations still alive at the end. */
struct final_blocks {
    const struct device_trace *device;
    struct sort_row *rows;
};

static bool final_blocks_init(struct final_blocks *final, const struct device_trace *device,
                              struct arena *arena) {
    *final = (struct final_blocks){device, rows_take(arena, device->n_blocks)};
    if (final->rows == NULL)
        return false;
    SORT_BY(final->rows, final->rows + device->n_blocks, device->n_blocks, i, device->blocks[i].address);
    return true;
}

/* 0: there is no block in use at this address. */
static uint64_t final_size(const struct final_blocks *final, uint64_t address) {
    if (final->rows == NULL)
        return 0;
    uint32_t low = SEARCH(0, final->device->n_blocks, i, final->rows[i].key < address);
    if (low == final->device->n_blocks || final->rows[low].key != address)
        return 0;
    const struct block *block = &final->device->blocks[final->rows[low].value];
    return block->state == BLOCK_INACTIVE ? 0 : block->size;
}

struct laying {
    struct held *held;
    const struct segments *segments;
    struct final_blocks final;
    struct block_sizes sizes;
    uint32_t moment;
};

static void block_put(struct held *held, struct held_block block) {
    held->block[held->n_blocks++] = block;
}

/* A gap too small for a free block of its class belongs to the block before it. */
static uint64_t gap_of_block(const struct laying *laying, const struct held_segment *segment, uint64_t size,
                             uint64_t gap) {
    bool unsplit = !(segment->flags & (SEGMENT_EXPANDABLE | SEGMENT_SMALL));
    bool whole = laying->sizes.whole_from_bytes != 0 && size >= laying->sizes.whole_from_bytes;
    return unsplit && (gap <= MIB || whole) ? gap : 0;
}

/* The block of an allocation; whatever follows in the segment begins at `limit`. */
static struct held_block block_of(const struct laying *laying, const struct held_segment *segment,
                                  uint32_t allocation, uint64_t limit) {
    const struct allocations *allocations = &laying->segments->device->allocations;
    uint64_t address = allocations->address[allocation], room = limit - address,
             size = segments_round(allocations->size[allocation]);
    size += laying->sizes.extra == NULL && laying->sizes.least != NULL ? laying->sizes.least[allocation] : 0;
    struct held_block block = {.address = address, .allocation = allocation};
    block.state = allocations->request[allocation] <= laying->moment ? BLOCK_PENDING_FREE : BLOCK_ALLOCATED;
    bool stays = allocations->death[allocation] > laying->segments->device->n_events;
    uint64_t known = laying->sizes.extra != NULL ? size + laying->sizes.extra[allocation]
                     : stays                     ? final_size(&laying->final, address)
                                                 : 0;
    if (known == 0) {
        known = size;
        known += size < room ? gap_of_block(laying, segment, size, room - size) : 0;
        block.guessed = known < room && !(segment->flags & (SEGMENT_EXPANDABLE | SEGMENT_SMALL));
    }
    block.size = known < room ? known : room;
    return block;
}

static void gap_put(struct held *held, uint64_t from, uint64_t to) {
    if (from < to)
        block_put(held,
                  (struct held_block){.address = from, .size = to - from, .allocation = ALLOCATION_NONE});
}

/* Places allocations `rows[from ...]` in a segment; returns the first one beyond it. */
static uint32_t segment_lay(const struct laying *laying, struct held_segment *segment,
                            const struct sort_row *rows, uint32_t at, uint32_t count) {
    uint64_t end = segment->address + segment->size, reached = segment->address;
    segment->first_block = laying->held->n_blocks;
    for (; at < count && rows[at].key < end; at++) {
        if (rows[at].key < reached) { /* a contradictory file: two allocations at one place */
            laying->held->n_outside++;
            laying->held->outside_bytes += laying->segments->device->allocations.size[rows[at].value];
            continue;
        }
        uint64_t limit = at + 1 < count && rows[at + 1].key < end ? rows[at + 1].key : end;
        if (limit == rows[at].key)
            limit = end; /* both begin at one place: the second is left out */
        gap_put(laying->held, reached, rows[at].key);
        struct held_block block = block_of(laying, segment, rows[at].value, limit);
        block_put(laying->held, block);
        reached = block.address + block.size;
    }
    gap_put(laying->held, reached, end);
    segment->n_blocks = laying->held->n_blocks - segment->first_block;
    return at;
}

static void allocations_lay(const struct laying *laying, const struct sort_row *rows, uint32_t count) {
    const struct allocations *allocations = &laying->segments->device->allocations;
    struct held *held = laying->held;
    uint32_t at = 0;
    for (uint32_t i = 0; i <= held->n_segments; i++) {
        uint64_t from = i < held->n_segments ? held->segment[i].address : UINT64_MAX;
        for (; at < count && rows[at].key < from; at++) {
            held->n_outside++;
            held->outside_bytes += allocations->size[rows[at].value];
        }
        if (i < held->n_segments)
            at = segment_lay(laying, &held->segment[i], rows, at, count);
    }
}

bool segments_at(struct held *held, const struct segments *segments, uint32_t moment, const uint32_t *alive,
                 uint32_t n_alive, struct block_sizes sizes, struct arena *arena) {
    assert(moment <= segments->device->n_events && n_alive <= segments->device->allocations.count);
    *held = (struct held){0};
    struct laying laying = {.held = held,
                            .segments = segments,
                            .final = {.device = segments->device},
                            .sizes = sizes,
                            .moment = moment};
    struct sort_row *rows = rows_take(arena, n_alive);
    if (rows == NULL || !held_segments(held, segments, moment, arena) ||
        (sizes.extra == NULL && !final_blocks_init(&laying.final, segments->device, arena)))
        return false;
    held->block = arena_alloc(arena, ((size_t)n_alive * 2 + held->n_segments + 1) *
                                         sizeof *held->block); /* more blocks for the gaps */
    if (held->block == NULL)
        return false;
    for (uint32_t i = 0; i < n_alive; i++)
        rows[i] = (struct sort_row){segments->device->allocations.address[alive[i]], alive[i]};
    sort_rows(rows, rows + n_alive, n_alive);
    allocations_lay(&laying, rows, n_alive);
    ARENA_DROP(arena, rows, laying.final.rows);
    return true;
}
