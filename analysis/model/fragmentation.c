#include "analysis/model/fragmentation.h"

#include "analysis/model/pool_use.h"
#include "base/sort.h"

const char *const gap_cause_name[GAP_CAUSES] = {[GAP_ROUNDING] = "rounding",
                                                [GAP_UNSPLIT] = "unsplit_tails",
                                                [GAP_EMPTY_SEGMENTS] = "empty_segments",
                                                [GAP_FREE_BLOCKS] = "holes",
                                                [GAP_EXPANDABLE_TAIL] = "expandable_tails",
                                                [GAP_PRIVATE] = "private_pools",
                                                [GAP_CONTRADICTION] = "contradictions"};

static const uint32_t *extra_of(const struct replay *replay) {
    return replay != NULL && replay->grade == REPLAY_EXACT ? replay->extra : NULL;
}

bool fragmentation_state(struct held *held, const struct timeline *timeline, const struct segments *segments,
                         const struct replay *replay, uint32_t moment, struct arena *arena) {
    uint32_t n_alive, *alive = timeline_alive(timeline, moment, arena, &n_alive);
    if (alive == NULL)
        return false;
    bool done = segments_at(held, segments, moment, alive, n_alive,
                            (struct block_sizes){.extra = extra_of(replay)}, arena);
    ARENA_DROP(arena, alive);
    return done;
}

struct finding {
    struct fragmentation *found;
    const struct held *held;
    const struct device_trace *device;
    const struct allocator_settings *settings;
};

/* A file may claim more than 2^63 bytes; then its causes add up to the gap modulo 2^64. */
static void cause_add(struct fragmentation *found, enum gap_cause cause, uint64_t nbytes) {
    found->cause_bytes[cause] = (int64_t)((uint64_t)found->cause_bytes[cause] + nbytes);
}

/* A block in use: its request, the rounding, and the remainder that was not split off. */
static void block_count(struct finding *finding, const struct held_block *block) {
    struct fragmentation *found = finding->found;
    uint64_t requested = finding->device->allocations.size[block->allocation];
    uint64_t rounded = allocator_round(finding->settings, requested);
    uint64_t kept = rounded < block->size ? rounded : block->size;
    if (requested <= kept)
        cause_add(found, GAP_ROUNDING, kept - requested);
    else
        cause_add(found, GAP_CONTRADICTION, kept - requested); /* below zero */
    cause_add(found, GAP_UNSPLIT, block->size - kept);
    found->exact &= !block->guessed;
}

static enum gap_cause cause_of_free_block(const struct finding *finding, const struct held_segment *segment,
                                          uint32_t index) {
    if (pool_is_private(finding->device, segment->pool))
        return GAP_PRIVATE;
    if (segment->n_blocks == 1)
        return GAP_EMPTY_SEGMENTS;
    bool last = index + 1 == segment->n_blocks;
    return last && (segment->flags & SEGMENT_EXPANDABLE) ? GAP_EXPANDABLE_TAIL : GAP_FREE_BLOCKS;
}

static bool pins_less(const struct pinned_segment *a, const struct pinned_segment *b) {
    return a->free_bytes < b->free_bytes || (a->free_bytes == b->free_bytes && a->address > b->address);
}

/* Keeps the segments with the most free bytes, in that order. */
static void pinned_add(struct fragmentation *found, struct pinned_segment pinned) {
    uint32_t n_kept = found->n_pinned < PINNED_MAX ? found->n_pinned : PINNED_MAX;
    found->n_pinned++;
    found->pinned_free_bytes += pinned.free_bytes;
    INSERT(found->pinned, n_kept, PINNED_MAX, pinned, other, pins_less(other, &pinned));
}

static void segment_count(struct finding *finding, const struct held_segment *segment) {
    struct fragmentation *found = finding->found;
    struct pinned_segment pinned = {.address = segment->address,
                                    .size = segment->size,
                                    .stream = segment->stream,
                                    .pool = segment->pool,
                                    .flags = segment->flags};
    uint64_t largest = 0;
    for (uint32_t i = 0; i < segment->n_blocks; i++) {
        const struct held_block *block = &finding->held->block[segment->first_block + i];
        if (block->allocation == ALLOCATION_NONE) {
            cause_add(found, cause_of_free_block(finding, segment, i), block->size);
            pinned.free_bytes += block->size;
            if (block->size > found->largest_free_bytes)
                found->largest_free_bytes = block->size;
            continue;
        }
        block_count(finding, block);
        pinned.n_blocks++;
        if (block->size > largest) {
            largest = block->size;
            pinned.allocation = block->allocation;
        }
    }
    if (pinned.n_blocks != 0 && pinned.free_bytes > segment->size - segment->size / 4)
        pinned_add(found, pinned);
}

/* The rest: the difference between the reserved curve and the segments, and memory alive outside of all segments. */
static void rest_count(struct fragmentation *found) {
    uint64_t rest = (uint64_t)found->gap_bytes;
    for (unsigned i = 0; i < GAP_CAUSES; i++)
        rest -= (uint64_t)found->cause_bytes[i];
    cause_add(found, GAP_CONTRADICTION, rest);
}

void fragmentation_of(struct fragmentation *found, const struct timeline *timeline, const struct held *held,
                      const struct replay *replay, uint32_t moment) {
    struct allocator_settings settings;
    bool known;
    *found = (struct fragmentation){.moment = moment,
                                    .reserved_bytes = timeline_reserved_at(timeline, moment),
                                    .live_bytes = timeline->live[moment],
                                    .exact = extra_of(replay) == NULL || moment >= replay->guessed_until};
    found->gap_bytes = (int64_t)(found->reserved_bytes - found->live_bytes);
    settings = replay != NULL ? replay->settings : replay_settings(timeline->trace, timeline->device, &known);
    struct finding finding = {
        .found = found, .held = held, .device = timeline->device, .settings = &settings};
    for (uint32_t i = 0; i < held->n_segments; i++)
        segment_count(&finding, &held->segment[i]);
    found->n_segments = held->n_segments;
    rest_count(found);
}

bool fragmentation_find(struct fragmentation *found, const struct timeline *timeline,
                        const struct segments *segments, const struct replay *replay, uint32_t moment,
                        struct arena *arena) {
    struct held held;
    if (!fragmentation_state(&held, timeline, segments, replay, moment, arena))
        return false;
    fragmentation_of(found, timeline, &held, replay, moment);
    return true;
}
