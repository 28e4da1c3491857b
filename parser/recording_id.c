#include "parser/recording_id.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Increased when other things become part of the id, so that ids of two versions are never equal by mistake. */
enum { ID_FORMAT = 1 };

enum { PENDING_WORDS = 1024 };

struct identifying {
    const struct trace *trace;
    struct fingerprint *fingerprint;
    uint64_t *string, *frame, *stack; /* hashes of the contents */
    uint32_t n_pending;
    uint8_t pending[PENDING_WORDS * 8]; /* words not yet added to the fingerprint */
};

static void pending_add(struct identifying *id) {
    fingerprint_add(id->fingerprint, id->pending, (size_t)id->n_pending * 8);
    id->n_pending = 0;
}

static void word_store(uint8_t *to, uint64_t word) {
    for (unsigned i = 0; i < 8; i++)
        to[i] = (uint8_t)(word >> 8 * i);
}

/* Makes room for `count` words, which the caller stores; words by the million are not added one by one. */
static uint8_t *words_add(struct identifying *id, uint32_t count) {
    if (PENDING_WORDS - id->n_pending < count)
        pending_add(id);
    uint8_t *to = id->pending + (size_t)id->n_pending * 8;
    id->n_pending += count;
    return to;
}

static void add(struct identifying *id, uint64_t word) {
    word_store(words_add(id, 1), word);
}

static uint64_t hash_of_pair(uint64_t a, uint64_t b, uint64_t seed) {
    uint8_t bytes[16];
    word_store(bytes, a);
    word_store(bytes + 8, b);
    return XXH3_64bits_withSeed(bytes, sizeof bytes, seed);
}

static void strings_hash(struct identifying *id) {
    for (uint32_t i = 0; i < id->trace->strings.count; i++) {
        struct text bytes = trace_text(id->trace, i);
        id->string[i] = XXH3_64bits(bytes.at, bytes.nbytes);
    }
}

static void stacks_hash(struct identifying *id) {
    const struct trace *trace = id->trace;
    id->frame[0] = id->stack[0] = 0;
    for (uint32_t i = 1; i < trace->frames.count; i++) {
        const struct frame *frame = &trace->frames.frame[i];
        id->frame[i] = hash_of_pair(id->string[frame->file], id->string[frame->name], frame->line);
    }
    for (uint32_t i = 1; i < trace->stacks.count; i++) {
        id->stack[i] =
            hash_of_pair(id->stack[stack_parent(&trace->stacks, i)], id->frame[trace->stacks.frame[i]], 0);
    }
}

static bool hashes_make(struct identifying *id, struct arena *arena) {
    const struct trace *trace = id->trace;
    id->string = arena_column(arena, trace->strings.count, sizeof *id->string);
    id->frame = arena_column(arena, trace->frames.count, sizeof *id->frame);
    id->stack = arena_column(arena, trace->stacks.count, sizeof *id->stack);
    if (id->string == NULL || id->frame == NULL || id->stack == NULL)
        return false;
    strings_hash(id);
    stacks_hash(id);
    return true;
}

static void allocations_add(struct identifying *id, const struct device_trace *device) {
    const struct allocations *allocations = &device->allocations;
    add(id, allocations->count);
    for (uint32_t i = 0; i < allocations->count; i++) {
        uint8_t *to = words_add(id, 6);
        word_store(to, (uint64_t)allocations->birth[i] << 32 | allocations->death[i]);
        word_store(to + 8, (uint64_t)allocations->request[i] << 32 | allocation_stands_for(allocations, i));
        word_store(to + 16, allocations->size[i]);
        word_store(to + 24, allocations->address[i]);
        word_store(to + 32, device->streams[allocations->stream[i]]);
        word_store(to + 40, id->stack[allocations->stack[i]]);
    }
}

static void times_add(struct identifying *id, const struct device_trace *device) {
    add(id, device->time_us != NULL);
    if (device->time_us == NULL)
        return;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ /* stored in the same form as words */
    pending_add(id);
    fingerprint_add(id->fingerprint, device->time_us, (size_t)device->n_events * 8);
#else
    for (uint32_t i = 0, count; i < device->n_events; i += count) {
        count = device->n_events - i < PENDING_WORDS ? device->n_events - i : PENDING_WORDS;
        uint8_t *to = words_add(id, count);
        for (uint32_t j = 0; j < count; j++)
            word_store(to + (size_t)j * 8, (uint64_t)device->time_us[i + j]);
    }
#endif
}

static void events_add(struct identifying *id, const struct device_trace *device) {
    add(id, device->n_segment_events);
    for (uint32_t i = 0; i < device->n_segment_events; i++) {
        const struct segment_event *event = &device->segment_events[i];
        add(id, (uint64_t)event->change << 32 | event->event);
        add(id, event->address);
        add(id, event->size);
        add(id, id->stack[event->stack]);
    }
    add(id, device->n_ooms);
    for (uint32_t i = 0; i < device->n_ooms; i++) {
        const struct oom_event *oom = &device->ooms[i];
        add(id, oom->event);
        add(id, oom->size);
        add(id, oom->device_free);
        add(id, id->stack[oom->stack]);
    }
    times_add(id, device);
}

static void segments_add(struct identifying *id, const struct device_trace *device) {
    add(id, device->n_segments);
    for (uint32_t i = 0; i < device->n_segments; i++) {
        const struct segment *segment = &device->segments[i];
        add(id, segment->address);
        add(id, segment->total_size);
        add(id, segment->block_count);
        add(id, device->streams[segment->stream]);
        add(id, device->pools[segment->pool].first);
        add(id, device->pools[segment->pool].second);
    }
    add(id, device->n_blocks);
    for (uint32_t i = 0; i < device->n_blocks; i++) {
        const struct block *block = &device->blocks[i];
        add(id, block->address);
        add(id, block->size);
        add(id, (uint64_t)block->state);
        add(id, id->stack[block->stack]);
    }
}

static void devices_add(struct identifying *id) {
    add(id, ID_FORMAT);
    add(id, id->trace->kind);
    for (uint32_t i = 0; i < id->trace->n_devices; i++) {
        const struct device_trace *device = &id->trace->devices[i];
        add(id, (uint64_t)(int64_t)device->ordinal);
        add(id, device->n_events);
        allocations_add(id, device);
        events_add(id, device);
        segments_add(id, device);
    }
    pending_add(id);
}

bool recording_id(struct trace *trace, char text[FINGERPRINT_CHARACTERS + 1]) {
    struct arena scratch;
    struct identifying id = {.trace = trace, .fingerprint = fingerprint_new()};
    arena_init(&scratch, arena_share(&trace->arena), SIZE_MAX);
    bool done = id.fingerprint != NULL && hashes_make(&id, &scratch);
    if (done) {
        devices_add(&id);
        fingerprint_text(id.fingerprint, text);
    }
    arena_release(&scratch);
    fingerprint_free(id.fingerprint);
    return done;
}
