/*
 * Builds the state before the first event for the model: segments and blocks, from the segment events backwards; the
 * extent of reservations, which only the lowest address ever mapped shows; and the rests of blocks, which only later
 * allocations show.
 */
#include "analysis/model/replay_internal.h"
#include "base/numbers.h"

/* Settles the sizes of blocks whose rest is not known yet. A free block is handed out from its beginning, so a later
 * allocation within the 1 MiB after a block shows where that block's rest ends. */
static bool rests_find(const struct replayer *replayer, struct held *held) {
    const struct allocations *allocations = &replayer->device->allocations;
    struct sort_row *rows = arena_column(replayer->arena, held->n_blocks, sizeof *rows);
    uint32_t count = 0;
    if (rows == NULL)
        return false;
    for (uint32_t i = 0; i < held->n_blocks; i++)
        if (held->block[i].guessed)
            rows[count++] = (struct sort_row){held->block[i].address + held->block[i].size, i};
    for (uint32_t allocation = allocations->preexisting; count != 0 && allocation < allocations->count;
         allocation++) {
        uint32_t at = sort_rows_seek(rows, count, allocations->address[allocation]);
        if (at == UINT32_MAX || allocations->address[allocation] - rows[at].key > MIB)
            continue;
        struct held_block *block = &held->block[rows[at].value], *gap = block + 1;
        if (!block->guessed || allocations->birth[allocation] >= allocations->death[block->allocation] ||
            allocations->address[allocation] >= gap->address + gap->size)
            continue;
        uint64_t more = allocations->address[allocation] - gap->address;
        block->size += more;
        gap->address += more;
        gap->size -= more;
        block->guessed = false;
    }
    for (uint32_t i = 0; i < held->n_blocks; i++)
        if (held->block[i].guessed &&
            allocations->death[held->block[i].allocation] > replayer->replay->guessed_until)
            replayer->replay->guessed_until = allocations->death[held->block[i].allocation];
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
            (enum allocator_use)uses[block->allocation == ALLOCATION_NONE ? BLOCK_INACTIVE : block->state];
        uint32_t index = allocator_block_add(&replayer->allocator, block->size, use, true);
        if (index == 0)
            return false;
        if (block->allocation == ALLOCATION_NONE)
            continue;
        replayer->block_of[block->allocation] = index;
        replayer->allocator.block[index].owner = block->allocation;
    }
    return true;
}

static bool same_reservation(const struct held_segment *a, const struct held_segment *b) {
    static const uint64_t APART = UINT64_C(1) << 41; /* further than any device has memory */
    bool pools = a->pool == b->pool || a->pool == POOL_UNKNOWN || b->pool == POOL_UNKNOWN;
    return (a->flags & b->flags & SEGMENT_EXPANDABLE) && a->flags == b->flags && a->stream == b->stream &&
           pools && b->address - a->address < APART;
}

/* The lowest address ever mapped in the same reservation: what lies below the first page may not be mapped yet. */
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

/* Adds reservations of one list, in order of address, as one: only a large gap tells them apart. Other segments may
 * lie between. */
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

/* Sizes of older blocks, as the settings give them. */
static struct block_sizes start_sizes(struct replayer *replayer) {
    const struct allocator_settings *settings = &replayer->replay->settings;
    const struct allocations *allocations = &replayer->device->allocations;
    for (uint32_t i = 0; i < allocations->preexisting; i++)
        replayer->extra[i] = (uint32_t)(allocator_round(settings, allocations->size[i]) -
                                        segments_round(allocations->size[i]));
    bool splits_all = settings->max_split_bytes == ALLOCATOR_UNLIMITED || settings->expandable;
    return (struct block_sizes){.least = replayer->extra,
                                .whole_from_bytes = splits_all ? 0 : settings->max_split_bytes};
}

bool replayer_start(struct replayer *replayer) {
    const struct allocations *allocations = &replayer->device->allocations;
    struct held held;
    uint32_t *older = arena_column(replayer->arena, allocations->preexisting, sizeof *older);
    if (older == NULL)
        return false;
    for (uint32_t i = 0; i < allocations->preexisting; i++)
        older[i] = i;
    bool done = segments_init(&replayer->segments, replayer->device, replayer->arena) &&
                segments_at(&held, &replayer->segments, 0, older, allocations->preexisting,
                            start_sizes(replayer), replayer->arena);
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
