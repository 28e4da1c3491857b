/* Grades the replay: compares its last state with the recorded one, and gives the reason for a lower grade. */
#include "analysis/model/replay_internal.h"

static bool model_blocks(const struct allocator *allocator, struct sort_row **rows, uint32_t *count,
                         struct arena *arena) {
    *rows = arena_column(arena, (uint64_t)allocator->n_blocks * 2, sizeof **rows);
    *count = 0;
    if (*rows == NULL)
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
    uint32_t at = sort_rows_seek(rows, count, block->address);
    if (at == UINT32_MAX || rows[at].key != block->address)
        return false;
    const struct allocator_block *model = &allocator->block[rows[at].value];
    return model->size == block->size && model->use == uses[block->state];
}

bool replayer_compare_end(struct replayer *replayer) {
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

static uint32_t allocations_outside(const struct replayer *replayer) {
    uint32_t count = 0;
    const struct allocations *allocations = &replayer->device->allocations;
    const struct segments *segments = &replayer->segments;
    uint32_t checked = allocations->count - allocations->preexisting < 1000
                           ? allocations->count - allocations->preexisting
                           : 1000;
    for (uint32_t i = 0; i < checked; i++) {
        uint32_t allocation = allocations->preexisting + i, at = 0;
        while (at < segments->count &&
               (allocations->address[allocation] < segments->piece[at].address ||
                allocations->address[allocation] - segments->piece[at].address >= segments->piece[at].size))
            at++;
        count += at == segments->count;
    }
    return count;
}

static const char *reason_of(const struct replayer *replayer) {
    if (replayer->trouble != NULL)
        return replayer->trouble;
    if (replayer->segments.count < 100000 && allocations_outside(replayer) != 0)
        return "allocations lie at addresses outside of the recording's segments";
    if (both_kinds_were_made(replayer->device))
        return "plain and expandable segments were both made: the settings changed in the recording";
    return "the allocator's rules or settings in this recording differ from those that are modelled";
}

void replayer_grade(struct replayer *replayer) {
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
