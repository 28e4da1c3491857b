/*
 * For the tests of the payload: traces made from a seed, in which something refers to every row of every table; functions
 * that pack, read and compare them; and a host whose allocations fail on demand.
 */
#pragma once

#include "trace/payload.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

/* ---- memory, with failures on demand ---- */

struct host {
    long left; /* allocations that still succeed; -1: all */
};

static inline void *host_resize(void *context, void *ptr, size_t old_nbytes, size_t new_nbytes) {
    struct host *host = context;
    (void)old_nbytes;
    if (new_nbytes == 0) {
        free(ptr);
        return NULL;
    }
    if (host->left == 0)
        return NULL;
    if (host->left > 0)
        host->left--;
    return realloc(ptr, new_nbytes);
}

static struct host plenty = {-1};

static inline struct arena_host host_of(struct host *host) {
    return (struct arena_host){host_resize, host};
}

/* ---- numbers ---- */

static uint64_t seed;

static inline uint64_t number(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed * 0x2545f4914f6cdd1dU;
}

static inline uint32_t below(uint32_t limit) {
    return (uint32_t)((number() >> 32) % limit);
}

/* Numbers of all magnitudes. */
static inline uint64_t wide(void) {
    return number() >> below(64);
}

/* Sizes of all magnitudes that add up to less than TRACE_BYTES_MAX. */
static inline uint64_t wide_size(void) {
    return wide() >> 14;
}

/* ---- a trace in which every row of every table is used ---- */

enum {
    N_STRINGS = 40,
    N_FX = 5,
    N_FRAMES = 30,
    N_STACKS = 60,
    N_CONTEXTS = 7,
    N_ALLOCATIONS = 300,
    N_PREEXISTING = 20,
    N_EVENTS = 700,
    N_STREAMS = 5,
    N_POOLS = 4,
    N_ROWS = 33
};

static inline uint32_t in_turn(uint32_t *counter, uint32_t count) {
    *counter = *counter % (count - 1) + 1;
    return *counter;
}

static inline void fill_strings(struct trace *trace) {
    for (uint32_t i = 1; i < N_STRINGS; i++) {
        uint8_t bytes[20];
        uint32_t nbytes = 1 + below(sizeof bytes);
        for (uint32_t k = 0; k < nbytes; k++)
            bytes[k] = (uint8_t)number(); /* including NUL and invalid UTF-8 */
        assert_int_equal(trace_string_add(trace, bytes, nbytes), i);
    }
}

static inline void *room(struct trace *trace, void *column, uint32_t *capacity, uint32_t count,
                         size_t nbytes) {
    void *grown = column;
    assert_true(arena_grow(&trace->arena, &grown, capacity, count, nbytes));
    return grown;
}

static inline void fill_interned(struct trace *trace) {
    uint32_t string = 0, frame = 0, fx = 0;
    trace->fx.fx = room(trace, trace->fx.fx, &trace->fx.capacity, N_FX, sizeof(struct fx));
    for (uint32_t i = 1; i < N_FX; i++)
        trace->fx.fx[i] = (struct fx){below(N_STRINGS), below(N_STRINGS), below(N_STRINGS), below(N_STRINGS)};
    trace->fx.count = N_FX;
    trace->frames.frame =
        room(trace, trace->frames.frame, &trace->frames.capacity, N_FRAMES, sizeof(struct frame));
    for (uint32_t i = 1; i < N_FRAMES; i++)
        trace->frames.frame[i] = (struct frame){in_turn(&string, N_STRINGS), in_turn(&string, N_STRINGS),
                                                (uint32_t)wide(), in_turn(&fx, N_FX)};
    trace->frames.count = N_FRAMES;
    for (uint32_t i = 1; i < N_STACKS; i++)
        assert_true(stack_table_add(&trace->stacks, &trace->arena, below(i), in_turn(&frame, N_FRAMES)));
    trace->contexts.context =
        room(trace, trace->contexts.context, &trace->contexts.capacity, N_CONTEXTS, sizeof(struct context));
    for (uint32_t i = 1; i < N_CONTEXTS; i++)
        trace->contexts.context[i] =
            (struct context){below(N_STRINGS), below(N_STRINGS), below(N_STRINGS), below(N_STRINGS)};
    trace->contexts.count = N_CONTEXTS;
}

static inline void *rows_of(struct trace *trace, uint32_t count, size_t nbytes) {
    void *rows = arena_alloc(&trace->arena, count * nbytes);
    assert_non_null(rows);
    return rows;
}

static inline void alloc_allocations(struct trace *trace, struct allocations *allocations, uint32_t count) {
    allocations->count = count;
    allocations->birth = rows_of(trace, count, sizeof *allocations->birth);
    allocations->death = rows_of(trace, count, sizeof *allocations->death);
    allocations->request = rows_of(trace, count, sizeof *allocations->request);
    allocations->size = rows_of(trace, count, sizeof *allocations->size);
    allocations->address = rows_of(trace, count, sizeof *allocations->address);
    allocations->stack = rows_of(trace, count, sizeof *allocations->stack);
    allocations->context = rows_of(trace, count, sizeof *allocations->context);
    allocations->stream = rows_of(trace, count, sizeof *allocations->stream);
    allocations->pool = rows_of(trace, count, sizeof *allocations->pool);
    allocations->flags = rows_of(trace, count, sizeof *allocations->flags);
}

/* Moments of one allocation; the first allocations are older than the recording and sorted by falling death. */
static inline void fill_moments(struct allocations *allocations, uint32_t i) {
    if (i < N_PREEXISTING) {
        uint32_t most = i > 0 ? allocations->death[i - 1] : N_EVENTS + 1;
        allocations->birth[i] = 0;
        allocations->death[i] = most - below(30);
    } else {
        uint32_t least = i > N_PREEXISTING ? allocations->birth[i - 1] + 1 : 1;
        allocations->birth[i] = least + below(2);
        allocations->death[i] = allocations->birth[i] + 1 + below(N_EVENTS + 1 - allocations->birth[i]);
    }
    allocations->request[i] = allocations->death[i];
    if (below(4) == 0)
        allocations->request[i] -= below(allocations->death[i] - allocations->birth[i] + 1);
}

static inline void fill_allocations(struct trace *trace, struct allocations *allocations) {
    uint32_t stack = 0, context = 0;
    alloc_allocations(trace, allocations, N_ALLOCATIONS);
    allocations->preexisting = N_PREEXISTING;
    for (uint32_t i = 0; i < N_ALLOCATIONS; i++) {
        fill_moments(allocations, i);
        allocations->size[i] = i > 10 && below(2) ? allocations->size[i - 7] : wide_size();
        allocations->address[i] = i > 10 && below(2) ? allocations->address[i - 1 - below(10)] : wide() << 9;
        allocations->stack[i] = in_turn(&stack, N_STACKS);
        allocations->context[i] = in_turn(&context, N_CONTEXTS);
        allocations->stream[i] = (uint16_t)below(N_STREAMS);
        allocations->pool[i] = (uint16_t)below(N_POOLS);
        allocations->flags[i] = (uint8_t)below(16);
    }
}

static inline void fill_events(struct trace *trace, struct device_trace *device) {
    uint32_t event[3] = {0, 0, 0};
    device->segment_events = rows_of(trace, N_ROWS, sizeof *device->segment_events);
    device->ooms = rows_of(trace, N_ROWS, sizeof *device->ooms);
    device->oom_places = rows_of(trace, N_ROWS, sizeof *device->oom_places);
    device->snapshots = rows_of(trace, N_ROWS, sizeof *device->snapshots);
    device->notes = rows_of(trace, N_ROWS, sizeof *device->notes);
    device->n_segment_events = device->n_ooms = device->n_oom_places = N_ROWS;
    device->n_snapshots = device->n_notes = N_ROWS;
    for (uint32_t i = 0; i < N_ROWS; i++) {
        for (uint32_t k = 0; k < 3; k++)
            event[k] += 1 + below(N_EVENTS / N_ROWS - 1);
        struct segment_event *change = &device->segment_events[i];
        change->event = event[0];
        change->stack = below(N_STACKS);
        change->address = wide();
        change->size = wide_size();
        change->stream = (uint16_t)below(N_STREAMS);
        change->change = (uint8_t)below(4);
        device->ooms[i] = (struct oom_event){event[1], below(N_STACKS), wide(), wide()};
        device->oom_places[i] = (struct oom_place){(uint16_t)below(N_STREAMS), (uint16_t)below(N_POOLS)};
        device->snapshots[i] = (struct snapshot_event){event[2], wide()};
        device->notes[i] = (struct note){event[1], below(N_STRINGS), wide(), (uint8_t)below(NOTE_KINDS)};
    }
}

static inline void fill_segments(struct trace *trace, struct device_trace *device) {
    device->segments = rows_of(trace, N_ROWS, sizeof *device->segments);
    device->blocks = rows_of(trace, 3 * N_ROWS, sizeof *device->blocks);
    device->n_segments = N_ROWS;
    device->n_blocks = 3 * N_ROWS;
    for (uint32_t i = 0; i < N_ROWS; i++) {
        struct segment *segment = &device->segments[i];
        segment->address = wide();
        segment->total_size = wide_size();
        segment->allocated_size = wide_size();
        segment->active_size = wide_size();
        segment->requested_size = below(2) ? wide_size() : 0;
        segment->stack = below(N_STACKS);
        segment->first_block = below(3 * N_ROWS);
        segment->block_count = below(3 * N_ROWS - segment->first_block + 1);
        segment->stream = (uint16_t)below(N_STREAMS);
        segment->pool = (uint16_t)below(N_POOLS);
        segment->flags = (uint8_t)below(4);
    }
    for (uint32_t i = 0; i < 3 * N_ROWS; i++) {
        struct block *block = &device->blocks[i];
        block->address = wide();
        block->size = wide_size();
        block->requested_size = below(2) ? wide_size() : 0;
        block->stack = below(N_STACKS);
        block->state = (uint8_t)below(3);
    }
}

static inline void fill_device(struct trace *trace, struct device_trace *device) {
    device->n_events = N_EVENTS;
    device->time_us = rows_of(trace, N_EVENTS, sizeof *device->time_us);
    for (uint32_t i = 0; i < N_EVENTS; i++)
        device->time_us[i] =
            below(50) == 0 ? (int64_t)number() : 1700000000000000 + (int64_t)i * 40 + below(30);
    device->n_streams = N_STREAMS;
    device->streams = rows_of(trace, N_STREAMS, sizeof *device->streams);
    for (uint32_t i = 1; i < N_STREAMS; i++)
        device->streams[i] = wide();
    device->n_pools = N_POOLS;
    device->pools = rows_of(trace, N_POOLS, sizeof *device->pools);
    for (uint32_t i = 2; i < N_POOLS; i++)
        device->pools[i] = (struct pool_id){wide(), wide()};
    fill_allocations(trace, &device->allocations);
    fill_events(trace, device);
    fill_segments(trace, device);
}

static inline void fill_file(struct trace *trace) {
    trace->annotations = rows_of(trace, N_ROWS, sizeof *trace->annotations);
    trace->diagnostics = rows_of(trace, N_ROWS, sizeof *trace->diagnostics);
    trace->n_annotations = trace->n_diagnostics = N_ROWS;
    for (uint32_t i = 0; i < N_ROWS; i++) {
        struct annotation *annotation = &trace->annotations[i];
        annotation->time_us = (int64_t)wide();
        annotation->name = below(N_STRINGS);
        annotation->device = (int32_t)below(9) - 1;
        annotation->stage = (uint8_t)below(2);
        trace->diagnostics[i] = (struct diagnostic){.code = below(N_STRINGS),
                                                    .message = below(N_STRINGS),
                                                    .device = (int32_t)(uint32_t)number(),
                                                    .key = below(N_STRINGS),
                                                    .number = {wide(), wide(), wide()}};
    }
    trace->settings = 3;
    trace->meta = 4;
    trace->kind = TRACE_KINETO;
    trace->rank = 6;
}

/* Three devices: a full one, one with events but nothing else, a full one. */
static inline void fill(struct trace *trace, uint64_t with_seed) {
    seed = with_seed * 2 + 1;
    assert_true(trace_init(trace, host_of(&plenty), SIZE_MAX));
    fill_strings(trace);
    fill_interned(trace);
    fill_file(trace);
    trace->n_devices = 3;
    trace->devices = rows_of(trace, 3, sizeof *trace->devices);
    fill_device(trace, &trace->devices[0]);
    trace->devices[0].ordinal = -2;
    trace->devices[0].name = 7;
    trace->devices[0].capacity_bytes = UINT64_MAX;
    trace->devices[1].ordinal = 5;
    trace->devices[1].n_events = 3;
    fill_device(trace, &trace->devices[2]);
    trace->devices[2].ordinal = INT32_MAX;
}

/* ---- packed bytes ---- */

struct bytes {
    uint8_t *at;
    size_t nbytes;
};

static inline void pieces_deflate(struct payload *payload, struct arena *arena) {
    for (uint32_t i = 0; i < payload->n_pieces; i++) {
        struct payload_piece *piece = &payload->pieces[i];
        uLongf nbytes = compressBound(piece->raw_nbytes);
        uint8_t *packed = arena_alloc(arena, nbytes);
        assert_non_null(packed);
        assert_int_equal(compress2(packed, &nbytes, piece->raw, piece->raw_nbytes, 6), Z_OK);
        piece->packed = packed;
        piece->packed_nbytes = (uint32_t)nbytes;
    }
}

static inline struct bytes pack(const struct trace *trace) {
    struct arena arena;
    struct payload payload;
    struct bytes bytes;
    arena_init(&arena, host_of(&plenty), SIZE_MAX);
    assert_int_equal(payload_pack(&payload, trace, &arena), PAYLOAD_OK);
    pieces_deflate(&payload, &arena);
    bytes.nbytes = (size_t)payload_nbytes(&payload);
    bytes.at = malloc(bytes.nbytes);
    assert_non_null(bytes.at);
    payload_assemble(&payload, bytes.at);
    arena_release(&arena);
    return bytes;
}

static inline bool pieces_inflate(struct payload *payload) {
    for (uint32_t i = 0; i < payload->n_pieces; i++) {
        struct payload_piece *piece = &payload->pieces[i];
        uLongf nbytes = piece->raw_nbytes;
        if (uncompress(piece->target, &nbytes, piece->packed, piece->packed_nbytes) != Z_OK ||
            nbytes != piece->raw_nbytes)
            return false;
    }
    return true;
}

/* Runs all steps of reading. A piece that does not inflate counts as truncated. The trace must be released in any
 * case. */
static inline enum payload_error read_bytes(struct trace *trace, const uint8_t *bytes, size_t nbytes) {
    struct arena arena;
    struct payload payload;
    arena_init(&arena, host_of(&plenty), SIZE_MAX);
    assert_true(trace_init(trace, host_of(&plenty), SIZE_MAX));
    enum payload_error error = payload_open(&payload, bytes, nbytes, &arena);
    if (error == PAYLOAD_OK && !pieces_inflate(&payload))
        error = PAYLOAD_TRUNCATED;
    if (error == PAYLOAD_OK)
        error = payload_unpack(&payload, trace);
    arena_release(&arena);
    return error;
}

/* Reads a payload, releases the trace and returns the error. */
static inline enum payload_error error_of(const uint8_t *bytes, size_t nbytes) {
    struct trace trace;
    enum payload_error error = read_bytes(&trace, bytes, nbytes);
    trace_release(&trace);
    return error;
}

/* ---- equality ---- */

#define SAME_ROWS(a, b, count)                                            \
    do {                                                                  \
        if ((count) != 0)                                                 \
            assert_memory_equal((a), (b), (size_t)(count) * sizeof *(a)); \
    } while (0)

static inline void assert_same_tables(const struct trace *a, const struct trace *b) {
    assert_int_equal(a->strings.count, b->strings.count);
    SAME_ROWS(a->strings.start, b->strings.start, a->strings.count + 1);
    SAME_ROWS(a->strings.bytes, b->strings.bytes, a->strings.start[a->strings.count]);
    assert_int_equal(a->fx.count, b->fx.count);
    SAME_ROWS(a->fx.fx, b->fx.fx, a->fx.count);
    assert_int_equal(a->frames.count, b->frames.count);
    SAME_ROWS(a->frames.frame, b->frames.frame, a->frames.count);
    assert_int_equal(a->stacks.count, b->stacks.count);
    for (uint32_t i = 0; i < a->stacks.count; i++) {
        assert_int_equal(stack_parent(&a->stacks, i), stack_parent(&b->stacks, i));
        assert_int_equal(a->stacks.frame[i], b->stacks.frame[i]);
    }
    assert_int_equal(a->contexts.count, b->contexts.count);
    SAME_ROWS(a->contexts.context, b->contexts.context, a->contexts.count);
    assert_int_equal(a->n_annotations, b->n_annotations);
    SAME_ROWS(a->annotations, b->annotations, a->n_annotations);
    assert_int_equal(a->n_diagnostics, b->n_diagnostics);
    SAME_ROWS(a->diagnostics, b->diagnostics, a->n_diagnostics);
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->rank, b->rank);
    assert_int_equal(a->settings, b->settings);
    assert_int_equal(a->meta, b->meta);
}

static inline void assert_same_allocations(const struct allocations *a, const struct allocations *b) {
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->preexisting, b->preexisting);
    SAME_ROWS(a->birth, b->birth, a->count);
    SAME_ROWS(a->death, b->death, a->count);
    SAME_ROWS(a->request, b->request, a->count);
    SAME_ROWS(a->size, b->size, a->count);
    SAME_ROWS(a->address, b->address, a->count);
    SAME_ROWS(a->stack, b->stack, a->count);
    SAME_ROWS(a->context, b->context, a->count);
    SAME_ROWS(a->stream, b->stream, a->count);
    SAME_ROWS(a->pool, b->pool, a->count);
    SAME_ROWS(a->flags, b->flags, a->count);
}

static inline void assert_same_device(const struct device_trace *a, const struct device_trace *b) {
    assert_int_equal(a->ordinal, b->ordinal);
    assert_int_equal(a->name, b->name);
    assert_int_equal(a->capacity_bytes, b->capacity_bytes);
    assert_int_equal(a->n_events, b->n_events);
    assert_same_allocations(&a->allocations, &b->allocations);
    assert_int_equal(a->time_us == NULL, b->time_us == NULL);
    if (a->time_us != NULL)
        SAME_ROWS(a->time_us, b->time_us, a->n_events);
    assert_int_equal(a->n_segment_events, b->n_segment_events);
    SAME_ROWS(a->segment_events, b->segment_events, a->n_segment_events);
    assert_int_equal(a->n_ooms, b->n_ooms);
    SAME_ROWS(a->ooms, b->ooms, a->n_ooms);
    assert_int_equal(a->n_oom_places, b->n_oom_places);
    for (uint32_t i = 0; i < a->n_oom_places; i++) {
        assert_int_equal(a->oom_places[i].stream, b->oom_places[i].stream);
        assert_int_equal(a->oom_places[i].pool, b->oom_places[i].pool);
    }
    assert_int_equal(a->n_snapshots, b->n_snapshots);
    for (uint32_t i = 0; i < a->n_snapshots; i++) {
        assert_int_equal(a->snapshots[i].event, b->snapshots[i].event);
        assert_int_equal(a->snapshots[i].size, b->snapshots[i].size);
    }
    assert_int_equal(a->n_notes, b->n_notes);
    for (uint32_t i = 0; i < a->n_notes; i++) {
        assert_int_equal(a->notes[i].event, b->notes[i].event);
        assert_int_equal(a->notes[i].text, b->notes[i].text);
        assert_int_equal(a->notes[i].number, b->notes[i].number);
        assert_int_equal(a->notes[i].what, b->notes[i].what);
    }
    assert_int_equal(a->n_segments, b->n_segments);
    SAME_ROWS(a->segments, b->segments, a->n_segments);
    assert_int_equal(a->n_blocks, b->n_blocks);
    SAME_ROWS(a->blocks, b->blocks, a->n_blocks);
    assert_int_equal(a->n_streams, b->n_streams);
    SAME_ROWS(a->streams, b->streams, a->n_streams);
    assert_int_equal(a->n_pools, b->n_pools);
    SAME_ROWS(a->pools, b->pools, a->n_pools);
}

static inline void assert_same(const struct trace *a, const struct trace *b) {
    assert_same_tables(a, b);
    assert_int_equal(a->n_devices, b->n_devices);
    for (uint32_t i = 0; i < a->n_devices; i++)
        assert_same_device(&a->devices[i], &b->devices[i]);
}

static inline uint32_t get32(const uint8_t *at) {
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static inline void put32(uint8_t *at, uint32_t value) {
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}
