/* The payload both ways: round trips, and what happens to payloads that somebody broke. */
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

static void *host_resize(void *context, void *ptr, size_t old_nbytes, size_t new_nbytes) {
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

static struct arena_host host_of(struct host *host) {
    return (struct arena_host){host_resize, host};
}

/* ---- numbers ---- */

static uint64_t seed;

static uint64_t number(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed * 0x2545f4914f6cdd1dU;
}

static uint32_t below(uint32_t limit) {
    return (uint32_t)((number() >> 32) % limit);
}

/* Numbers of all magnitudes. */
static uint64_t wide(void) {
    return number() >> below(64);
}

/* Sizes of all magnitudes that add up to less than TRACE_BYTES_MAX. */
static uint64_t wide_size(void) {
    return wide() >> 14;
}

/* ---- a trace in which every row of every table is referred to by something ---- */

enum {
    N_STRINGS = 40,
    N_FX = 5,
    N_FRAMES = 30,
    N_STACKS = 60,
    N_CONTEXTS = 7,
    N_LIVES = 300,
    N_PREEXISTING = 20,
    N_EVENTS = 700,
    N_STREAMS = 5,
    N_POOLS = 4,
    N_ROWS = 33
};

static uint32_t in_turn(uint32_t *counter, uint32_t count) {
    *counter = *counter % (count - 1) + 1;
    return *counter;
}

static void fill_strings(struct trace *trace) {
    for (uint32_t i = 1; i < N_STRINGS; i++) {
        uint8_t bytes[20];
        uint32_t nbytes = 1 + below(sizeof bytes);
        for (uint32_t k = 0; k < nbytes; k++)
            bytes[k] = (uint8_t)number(); /* NUL and bytes that are no UTF-8 included */
        assert_int_equal(trace_string_add(trace, bytes, nbytes), i);
    }
}

static void *room(struct trace *trace, void *column, uint32_t *capacity, uint32_t count, size_t nbytes) {
    void *grown = column;
    assert_true(arena_grow(&trace->arena, &grown, capacity, count, nbytes));
    return grown;
}

static void fill_interned(struct trace *trace) {
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
    trace->stacks.stack =
        room(trace, trace->stacks.stack, &trace->stacks.capacity, N_STACKS, sizeof(struct stack));
    for (uint32_t i = 1; i < N_STACKS; i++)
        trace->stacks.stack[i] = (struct stack){below(i), in_turn(&frame, N_FRAMES)};
    trace->stacks.count = N_STACKS;
    trace->contexts.context =
        room(trace, trace->contexts.context, &trace->contexts.capacity, N_CONTEXTS, sizeof(struct context));
    for (uint32_t i = 1; i < N_CONTEXTS; i++)
        trace->contexts.context[i] =
            (struct context){below(N_STRINGS), below(N_STRINGS), below(N_STRINGS), below(N_STRINGS)};
    trace->contexts.count = N_CONTEXTS;
}

static void *rows_of(struct trace *trace, uint32_t count, size_t nbytes) {
    void *rows = arena_alloc(&trace->arena, count * nbytes);
    assert_non_null(rows);
    return rows;
}

static void alloc_lives(struct trace *trace, struct lives *lives) {
    lives->count = N_LIVES;
    lives->preexisting = N_PREEXISTING;
    lives->birth = rows_of(trace, N_LIVES, sizeof *lives->birth);
    lives->death = rows_of(trace, N_LIVES, sizeof *lives->death);
    lives->request = rows_of(trace, N_LIVES, sizeof *lives->request);
    lives->size = rows_of(trace, N_LIVES, sizeof *lives->size);
    lives->address = rows_of(trace, N_LIVES, sizeof *lives->address);
    lives->stack = rows_of(trace, N_LIVES, sizeof *lives->stack);
    lives->context = rows_of(trace, N_LIVES, sizeof *lives->context);
    lives->stream = rows_of(trace, N_LIVES, sizeof *lives->stream);
    lives->pool = rows_of(trace, N_LIVES, sizeof *lives->pool);
    lives->flags = rows_of(trace, N_LIVES, sizeof *lives->flags);
}

/* Moments of one life; the first lives are older than the recording and sorted by falling death. */
static void fill_moments(struct lives *lives, uint32_t i) {
    if (i < N_PREEXISTING) {
        uint32_t most = i > 0 ? lives->death[i - 1] : N_EVENTS + 1;
        lives->birth[i] = 0;
        lives->death[i] = most - below(30);
    } else {
        uint32_t least = i > N_PREEXISTING ? lives->birth[i - 1] + 1 : 1;
        lives->birth[i] = least + below(2);
        lives->death[i] = lives->birth[i] + below(N_EVENTS + 2 - lives->birth[i]);
    }
    lives->request[i] = lives->death[i];
    if (below(4) == 0)
        lives->request[i] -= below(lives->death[i] - lives->birth[i] + 1);
}

static void fill_lives(struct trace *trace, struct lives *lives) {
    uint32_t stack = 0, context = 0;
    alloc_lives(trace, lives);
    for (uint32_t i = 0; i < N_LIVES; i++) {
        fill_moments(lives, i);
        lives->size[i] = i > 10 && below(2) ? lives->size[i - 7] : wide_size();
        lives->address[i] = i > 10 && below(2) ? lives->address[i - 1 - below(10)] : wide() << 9;
        lives->stack[i] = in_turn(&stack, N_STACKS);
        lives->context[i] = in_turn(&context, N_CONTEXTS);
        lives->stream[i] = (uint16_t)below(N_STREAMS);
        lives->pool[i] = (uint16_t)below(N_POOLS);
        lives->flags[i] = (uint8_t)below(16);
    }
}

static void fill_events(struct trace *trace, struct device_trace *device) {
    uint32_t event[3] = {0, 0, 0};
    device->segment_events = rows_of(trace, N_ROWS, sizeof *device->segment_events);
    device->ooms = rows_of(trace, N_ROWS, sizeof *device->ooms);
    device->snapshots = rows_of(trace, N_ROWS, sizeof *device->snapshots);
    device->notes = rows_of(trace, N_ROWS, sizeof *device->notes);
    device->n_segment_events = device->n_ooms = device->n_snapshots = device->n_notes = N_ROWS;
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
        device->snapshots[i] = (struct snapshot_event){event[2], wide()};
        device->notes[i] = (struct note){event[1], below(N_STRINGS), wide(), (uint8_t)below(NOTE_KINDS)};
    }
}

static void fill_segments(struct trace *trace, struct device_trace *device) {
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

static void fill_device(struct trace *trace, struct device_trace *device) {
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
    fill_lives(trace, &device->lives);
    fill_events(trace, device);
    fill_segments(trace, device);
}

static void fill_file(struct trace *trace) {
    trace->annotations = rows_of(trace, N_ROWS, sizeof *trace->annotations);
    trace->diagnostics = rows_of(trace, N_ROWS, sizeof *trace->diagnostics);
    trace->n_annotations = trace->n_diagnostics = N_ROWS;
    for (uint32_t i = 0; i < N_ROWS; i++) {
        struct annotation *annotation = &trace->annotations[i];
        annotation->time_us = (int64_t)wide();
        annotation->name = below(N_STRINGS);
        annotation->device = (int32_t)below(9) - 1;
        annotation->stage = (uint8_t)below(2);
        trace->diagnostics[i] = (struct diagnostic){
            .code = below(N_STRINGS), .message = below(N_STRINGS), .device = (int32_t)(uint32_t)number()};
    }
    trace->settings = 3;
    trace->meta = 4;
    trace->kind = TRACE_KINETO;
    trace->rank = 6;
}

/* Three devices: a full one, one with events but nothing else, a full one. */
static void fill(struct trace *trace, uint64_t with_seed) {
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

static void pieces_deflate(struct payload *payload, struct arena *arena) {
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

static struct bytes pack(const struct trace *trace) {
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

static bool pieces_inflate(struct payload *payload) {
    for (uint32_t i = 0; i < payload->n_pieces; i++) {
        struct payload_piece *piece = &payload->pieces[i];
        uLongf nbytes = piece->raw_nbytes;
        if (uncompress(piece->target, &nbytes, piece->packed, piece->packed_nbytes) != Z_OK ||
            nbytes != piece->raw_nbytes)
            return false;
    }
    return true;
}

/* All steps of reading. A piece that does not inflate counts as truncated. The trace must be released in any
 * case. */
static enum payload_error read_bytes(struct trace *trace, const uint8_t *bytes, size_t nbytes) {
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

/* Reads and forgets. */
static enum payload_error error_of(const uint8_t *bytes, size_t nbytes) {
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

static void assert_same_tables(const struct trace *a, const struct trace *b) {
    assert_int_equal(a->strings.count, b->strings.count);
    SAME_ROWS(a->strings.start, b->strings.start, a->strings.count + 1);
    SAME_ROWS(a->strings.bytes, b->strings.bytes, a->strings.start[a->strings.count]);
    assert_int_equal(a->fx.count, b->fx.count);
    SAME_ROWS(a->fx.fx, b->fx.fx, a->fx.count);
    assert_int_equal(a->frames.count, b->frames.count);
    SAME_ROWS(a->frames.frame, b->frames.frame, a->frames.count);
    assert_int_equal(a->stacks.count, b->stacks.count);
    SAME_ROWS(a->stacks.stack, b->stacks.stack, a->stacks.count);
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

static void assert_same_lives(const struct lives *a, const struct lives *b) {
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

static void assert_same_device(const struct device_trace *a, const struct device_trace *b) {
    assert_int_equal(a->ordinal, b->ordinal);
    assert_int_equal(a->name, b->name);
    assert_int_equal(a->capacity_bytes, b->capacity_bytes);
    assert_int_equal(a->n_events, b->n_events);
    assert_same_lives(&a->lives, &b->lives);
    assert_int_equal(a->time_us == NULL, b->time_us == NULL);
    if (a->time_us != NULL)
        SAME_ROWS(a->time_us, b->time_us, a->n_events);
    assert_int_equal(a->n_segment_events, b->n_segment_events);
    SAME_ROWS(a->segment_events, b->segment_events, a->n_segment_events);
    assert_int_equal(a->n_ooms, b->n_ooms);
    SAME_ROWS(a->ooms, b->ooms, a->n_ooms);
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

static void assert_same(const struct trace *a, const struct trace *b) {
    assert_same_tables(a, b);
    assert_int_equal(a->n_devices, b->n_devices);
    for (uint32_t i = 0; i < a->n_devices; i++)
        assert_same_device(&a->devices[i], &b->devices[i]);
}

/* ---- round trips ---- */

static void test_round_trip(void **state) {
    (void)state;
    for (uint64_t i = 0; i < 50; i++) {
        struct trace trace, again;
        fill(&trace, i);
        struct bytes bytes = pack(&trace);
        assert_int_equal(read_bytes(&again, bytes.at, bytes.nbytes), PAYLOAD_OK);
        assert_same(&trace, &again);
        trace_release(&trace);
        trace_release(&again);
        free(bytes.at);
    }
}

static void test_round_trip_of_an_empty_trace(void **state) {
    struct trace trace, again;
    (void)state;
    assert_true(trace_init(&trace, host_of(&plenty), SIZE_MAX));
    struct bytes bytes = pack(&trace);
    assert_int_equal(read_bytes(&again, bytes.at, bytes.nbytes), PAYLOAD_OK);
    assert_same(&trace, &again);
    trace_release(&trace);
    trace_release(&again);
    free(bytes.at);
}

/* What nothing refers to is left out, and what is left keeps its order and content. */
static void test_unused_rows_are_left_out(void **state) {
    struct trace trace, again;
    uint32_t nbytes;
    (void)state;
    fill(&trace, 7);
    trace.n_devices = 0;
    trace.n_annotations = trace.n_diagnostics = 0;
    trace.settings = 9;
    trace.meta = 5;
    struct bytes bytes = pack(&trace);
    assert_int_equal(read_bytes(&again, bytes.at, bytes.nbytes), PAYLOAD_OK);
    assert_int_equal(again.strings.count, 3);
    assert_int_equal(again.frames.count, 1);
    assert_int_equal(again.stacks.count, 1);
    assert_int_equal(again.meta, 1);
    assert_int_equal(again.settings, 2);
    const uint8_t *text = trace_string(&again, 2, &nbytes);
    assert_int_equal(nbytes, trace.strings.start[10] - trace.strings.start[9]);
    assert_memory_equal(text, trace.strings.bytes + trace.strings.start[9], nbytes);
    trace_release(&trace);
    trace_release(&again);
    free(bytes.at);
}

/* Columns of more than one piece. */
static void test_round_trip_of_large_columns(void **state) {
    enum { MANY = 3 * PAYLOAD_PIECE_NBYTES / 2 };
    struct trace trace, again;
    (void)state;
    fill(&trace, 11);
    struct device_trace *device = &trace.devices[1];
    device->n_events = MANY;
    device->time_us = rows_of(&trace, MANY, sizeof *device->time_us);
    for (uint32_t i = 0; i < MANY; i++)
        device->time_us[i] = (int64_t)i * 500 - (int64_t)below(1000);
    struct bytes bytes = pack(&trace);
    assert_int_equal(read_bytes(&again, bytes.at, bytes.nbytes), PAYLOAD_OK);
    assert_same(&trace, &again);
    trace_release(&trace);
    trace_release(&again);
    free(bytes.at);
}

/* ---- the packer refuses what the reader would refuse ---- */

typedef void breaker(struct trace *trace);

static void break_stack(struct trace *trace) {
    trace->devices[0].lives.stack[5] = N_STACKS;
}
static void break_context(struct trace *trace) {
    trace->devices[0].lives.context[5] = N_CONTEXTS;
}
static void break_stream(struct trace *trace) {
    trace->devices[0].lives.stream[5] = N_STREAMS;
}
static void break_pool(struct trace *trace) {
    trace->devices[0].lives.pool[5] = N_POOLS;
}
static void break_flags(struct trace *trace) {
    trace->devices[0].lives.flags[5] = 16;
}
static void break_birth_order(struct trace *trace) {
    trace->devices[0].lives.birth[N_LIVES - 1] = 1;
}
static void break_birth_of_preexisting(struct trace *trace) {
    trace->devices[0].lives.birth[3] = 1;
}
static void break_birth_zero(struct trace *trace) {
    trace->devices[0].lives.birth[N_PREEXISTING] = 0;
}
static void break_death(struct trace *trace) {
    trace->devices[0].lives.death[N_LIVES - 1] = N_EVENTS + 2;
}
static void break_death_before_birth(struct trace *trace) {
    trace->devices[0].lives.death[N_LIVES - 1] = 0;
}
static void break_order_of_preexisting(struct trace *trace) {
    trace->devices[0].lives.death[N_PREEXISTING - 1] = N_EVENTS + 1;
}
static void break_request(struct trace *trace) {
    trace->devices[0].lives.request[0] = N_EVENTS + 2;
}
static void break_preexisting(struct trace *trace) {
    trace->devices[0].lives.preexisting = N_LIVES + 1;
}
static void break_parent(struct trace *trace) {
    trace->stacks.stack[9].parent = 9;
}
static void break_frame(struct trace *trace) {
    trace->stacks.stack[9].frame = N_FRAMES;
}
static void break_string(struct trace *trace) {
    trace->frames.frame[9].name = N_STRINGS;
}
static void break_settings(struct trace *trace) {
    trace->settings = N_STRINGS;
}
static void break_kind(struct trace *trace) {
    trace->kind = TRACE_KINDS;
}
static void break_rank(struct trace *trace) {
    trace->rank = RANK_UNKNOWN - 1;
}
static void break_device_name(struct trace *trace) {
    trace->devices[1].name = N_STRINGS;
}
static void break_event(struct trace *trace) {
    trace->devices[2].segment_events[N_ROWS - 1].event = N_EVENTS;
}
static void break_event_order(struct trace *trace) {
    trace->devices[2].ooms[N_ROWS - 1].event = 0;
}
static void break_change(struct trace *trace) {
    trace->devices[2].segment_events[0].change = 4;
}
static void break_state(struct trace *trace) {
    trace->devices[2].blocks[0].state = 3;
}
static void break_stage(struct trace *trace) {
    trace->annotations[0].stage = 2;
}

static void test_pack_refuses_what_is_out_of_range(void **state) {
    static breaker *const breakers[] = {
        break_stack,
        break_context,
        break_stream,
        break_pool,
        break_flags,
        break_birth_order,
        break_birth_of_preexisting,
        break_birth_zero,
        break_death,
        break_death_before_birth,
        break_order_of_preexisting,
        break_request,
        break_preexisting,
        break_parent,
        break_frame,
        break_string,
        break_settings,
        break_kind,
        break_rank,
        break_device_name,
        break_event,
        break_event_order,
        break_change,
        break_state,
        break_stage,
    };
    (void)state;
    for (size_t i = 0; i < sizeof breakers / sizeof *breakers; i++) {
        struct trace trace;
        struct arena arena;
        struct payload payload;
        fill(&trace, 3);
        breakers[i](&trace);
        arena_init(&arena, host_of(&plenty), SIZE_MAX);
        assert_int_equal(payload_pack(&payload, &trace, &arena), PAYLOAD_BAD_VALUE);
        arena_release(&arena);
        trace_release(&trace);
    }
}

/* ---- broken payloads ---- */

static uint32_t get32(const uint8_t *at) {
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static void put32(uint8_t *at, uint32_t value) {
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static void test_every_truncation_is_an_error(void **state) {
    struct trace trace;
    (void)state;
    fill(&trace, 1);
    struct bytes bytes = pack(&trace);
    for (size_t nbytes = 0; nbytes < bytes.nbytes; nbytes++) {
        uint8_t *cut = malloc(nbytes + 1); /* its end is where a read beyond it is noticed */
        assert_non_null(cut);
        memcpy(cut + 1, bytes.at, nbytes);
        assert_int_equal(error_of(cut + 1, nbytes), PAYLOAD_TRUNCATED);
        free(cut);
    }
    trace_release(&trace);
    free(bytes.at);
}

static void test_broken_header(void **state) {
    struct trace trace;
    (void)state;
    fill(&trace, 1);
    struct bytes bytes = pack(&trace);
    for (size_t i = 0; i < 8; i++) {
        bytes.at[i] ^= 1;
        assert_int_equal(error_of(bytes.at, bytes.nbytes), PAYLOAD_BAD_MAGIC);
        bytes.at[i] ^= 1;
    }
    for (size_t field = 8; field < 16; field += 4) {
        uint32_t value = get32(bytes.at + field);
        const uint32_t others[] = {value + 1, value - 1, 0};
        for (size_t i = 0; i < 3; i++) {
            put32(bytes.at + field, others[i]);
            assert_int_not_equal(error_of(bytes.at, bytes.nbytes), PAYLOAD_OK);
        }
        put32(bytes.at + field, UINT32_MAX);
        assert_int_equal(error_of(bytes.at, bytes.nbytes), PAYLOAD_TRUNCATED);
        put32(bytes.at + field, value);
    }
    assert_int_equal(error_of(bytes.at, bytes.nbytes), PAYLOAD_OK);
    trace_release(&trace);
    free(bytes.at);
}

/* Puts `value` in a 32-bit field, reads, and puts the old value back. */
static enum payload_error error_with(struct bytes *bytes, size_t field, uint32_t value) {
    uint32_t old = get32(bytes->at + field);
    put32(bytes->at + field, value);
    enum payload_error error = error_of(bytes->at, bytes->nbytes);
    put32(bytes->at + field, old);
    return error;
}

static void test_broken_section_entries(void **state) {
    struct trace trace;
    (void)state;
    fill(&trace, 1);
    struct bytes bytes = pack(&trace);
    uint32_t n_sections = get32(bytes.at + 8);
    assert_in_range(n_sections, 20, 100);
    for (size_t i = 0; i < n_sections; i++) {
        size_t entry = 16 + i * 16;
        uint32_t kind = get32(bytes.at + entry), count = get32(bytes.at + entry + 8);
        uint32_t device = get32(bytes.at + entry + 4), n_pieces = get32(bytes.at + entry + 12);
        assert_int_equal(error_with(&bytes, entry, (kind & 0xffff0000) | 99), PAYLOAD_BAD_SECTION);
        assert_int_equal(error_with(&bytes, entry, (kind & 0xffff0000)), PAYLOAD_BAD_SECTION);
        assert_int_equal(error_with(&bytes, entry, kind | 2 << 16), PAYLOAD_BAD_SECTION);
        assert_int_equal(error_with(&bytes, entry + 4, device + 77), PAYLOAD_BAD_SECTION);
        assert_int_equal(error_with(&bytes, entry + 8, 0), PAYLOAD_BAD_SECTION);
        assert_int_not_equal(error_with(&bytes, entry + 8, count + 1), PAYLOAD_OK);
        assert_int_not_equal(error_with(&bytes, entry + 8, count - 1), PAYLOAD_OK);
        assert_int_not_equal(error_with(&bytes, entry + 8, UINT32_MAX), PAYLOAD_OK);
        assert_int_equal(error_with(&bytes, entry + 12, 0), PAYLOAD_BAD_SECTION);
        assert_int_equal(error_with(&bytes, entry + 12, n_pieces + 1), PAYLOAD_BAD_SECTION);
        assert_int_equal(error_with(&bytes, entry + 12, UINT32_MAX), PAYLOAD_BAD_SECTION);
        if (i > 0) { /* twice the same */
            uint8_t old[16];
            memcpy(old, bytes.at + entry, 16);
            memcpy(bytes.at + entry, bytes.at + entry - 16, 8);
            assert_int_equal(error_of(bytes.at, bytes.nbytes), PAYLOAD_BAD_SECTION);
            memcpy(bytes.at + entry, old, 16);
        }
    }
    assert_int_equal(error_of(bytes.at, bytes.nbytes), PAYLOAD_OK);
    trace_release(&trace);
    free(bytes.at);
}

static void test_broken_piece_entries(void **state) {
    struct trace trace;
    (void)state;
    fill(&trace, 1);
    struct bytes bytes = pack(&trace);
    uint32_t n_sections = get32(bytes.at + 8), n_pieces = get32(bytes.at + 12);
    for (size_t i = 0; i < n_pieces; i++) {
        size_t entry = 16 + n_sections * 16 + i * 8;
        uint32_t raw = get32(bytes.at + entry), packed = get32(bytes.at + entry + 4);
        assert_int_equal(error_with(&bytes, entry, 0), PAYLOAD_BAD_VALUE);
        assert_int_equal(error_with(&bytes, entry, PAYLOAD_PIECE_NBYTES + 1), PAYLOAD_BAD_VALUE);
        assert_int_equal(error_with(&bytes, entry, 1032 * (packed + 1)), PAYLOAD_BAD_VALUE);
        assert_int_not_equal(error_with(&bytes, entry, raw + 1), PAYLOAD_OK);
        assert_int_not_equal(error_with(&bytes, entry, raw - 1), PAYLOAD_OK);
        assert_int_not_equal(error_with(&bytes, entry + 4, 0), PAYLOAD_OK);
        assert_int_not_equal(error_with(&bytes, entry + 4, packed + 1), PAYLOAD_OK);
        assert_int_equal(error_with(&bytes, entry + 4, UINT32_MAX), PAYLOAD_TRUNCATED);
    }
    trace_release(&trace);
    free(bytes.at);
}

/* ---- sections that are more or fewer than ours ---- */

struct listing {
    struct {
        uint8_t entry[16];
        uint32_t n_pieces;
    } section[100];
    struct {
        uint32_t raw, packed;
        const uint8_t *at;
    } piece[2000];
    uint32_t n_sections, n_pieces;
};

static void listing_read(struct listing *listing, const struct bytes *bytes) {
    listing->n_sections = get32(bytes->at + 8);
    listing->n_pieces = get32(bytes->at + 12);
    assert_in_range(listing->n_sections, 1, 99);
    assert_in_range(listing->n_pieces, 1, 1999);
    const uint8_t *at = bytes->at + 16;
    for (uint32_t i = 0; i < listing->n_sections; i++, at += 16) {
        memcpy(listing->section[i].entry, at, 16);
        listing->section[i].n_pieces = get32(at + 12);
    }
    const uint8_t *packed = at + listing->n_pieces * 8;
    for (uint32_t i = 0; i < listing->n_pieces; i++, at += 8) {
        listing->piece[i].raw = get32(at);
        listing->piece[i].packed = get32(at + 4);
        listing->piece[i].at = packed;
        packed += listing->piece[i].packed;
    }
}

/* Writes a listing as a payload, without the sections of type `skip`. */
static struct bytes listing_write(const struct listing *listing, uint32_t skip) {
    struct bytes bytes = {malloc(1 << 20), 0};
    uint32_t n_sections = 0, n_pieces = 0;
    assert_non_null(bytes.at);
    memcpy(bytes.at, "STRATAP1", 8);
    uint8_t *at = bytes.at + 16;
    for (uint32_t i = 0; i < listing->n_sections; i++) {
        if (listing->section[i].entry[0] == skip)
            continue;
        memcpy(at, listing->section[i].entry, 16);
        at += 16;
        n_sections++;
    }
    for (int what = 0; what < 2; what++) {
        uint32_t piece = 0;
        for (uint32_t i = 0; i < listing->n_sections; i++)
            for (uint32_t k = 0; k < listing->section[i].n_pieces; k++, piece++) {
                if (listing->section[i].entry[0] == skip)
                    continue;
                if (what == 0) {
                    put32(at, listing->piece[piece].raw);
                    put32(at + 4, listing->piece[piece].packed);
                    at += 8;
                    n_pieces++;
                } else {
                    memcpy(at, listing->piece[piece].at, listing->piece[piece].packed);
                    at += listing->piece[piece].packed;
                }
            }
    }
    put32(bytes.at + 8, n_sections);
    put32(bytes.at + 12, n_pieces);
    bytes.nbytes = (size_t)(at - bytes.at);
    return bytes;
}

static void test_addresses_may_be_left_out(void **state) {
    static struct listing listing;
    struct trace trace, again;
    (void)state;
    fill(&trace, 2);
    struct bytes bytes = pack(&trace);
    listing_read(&listing, &bytes);
    struct bytes without = listing_write(&listing, 37);
    assert_true(without.nbytes < bytes.nbytes);
    assert_int_equal(read_bytes(&again, without.at, without.nbytes), PAYLOAD_OK);
    for (uint32_t i = 0; i < N_LIVES; i++) {
        assert_int_equal(again.devices[0].lives.address[i], 0);
        trace.devices[0].lives.address[i] = trace.devices[2].lives.address[i] = 0;
    }
    assert_same(&trace, &again);
    trace_release(&trace);
    trace_release(&again);
    free(bytes.at);
    free(without.at);
}

static void test_missing_sections(void **state) {
    static struct listing listing;
    struct trace trace;
    (void)state;
    fill(&trace, 2);
    struct bytes bytes = pack(&trace);
    listing_read(&listing, &bytes);
    /* Without any one of these, ids point nowhere. */
    const uint32_t needed[] = {1, 2, 3, 4, 5, 6, 7, 10, 32, 33, 34, 35, 36, 43};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        struct bytes without = listing_write(&listing, needed[i]);
        assert_true(without.nbytes < bytes.nbytes);
        assert_int_not_equal(error_of(without.at, without.nbytes), PAYLOAD_OK);
        free(without.at);
    }
    trace_release(&trace);
    free(bytes.at);
}

static void test_unknown_sections(void **state) {
    static struct listing listing;
    struct trace trace, again;
    uint8_t packed[64];
    uLongf nbytes = sizeof packed;
    (void)state;
    fill(&trace, 2);
    struct bytes bytes = pack(&trace);
    listing_read(&listing, &bytes);
    assert_int_equal(compress(packed, &nbytes, (const Bytef *)"later", 5), Z_OK);
    uint8_t *entry = listing.section[listing.n_sections].entry;
    put32(entry, 99 | 1 << 16); /* optional */
    put32(entry + 4, 3);
    put32(entry + 8, 1);
    put32(entry + 12, 1);
    listing.section[listing.n_sections++].n_pieces = 1;
    listing.piece[listing.n_pieces].raw = 5;
    listing.piece[listing.n_pieces].packed = (uint32_t)nbytes;
    listing.piece[listing.n_pieces++].at = packed;
    struct bytes more = listing_write(&listing, 0);
    assert_int_equal(read_bytes(&again, more.at, more.nbytes), PAYLOAD_OK);
    assert_same(&trace, &again);
    free(more.at);
    entry[2] = 0; /* required */
    more = listing_write(&listing, 0);
    assert_int_equal(error_of(more.at, more.nbytes), PAYLOAD_BAD_SECTION);
    free(more.at);
    trace_release(&trace);
    trace_release(&again);
    free(bytes.at);
}

/* ---- broken columns ---- */

/* What every reader of a trace relies on. */
static void assert_sound_lives(const struct trace *trace, const struct device_trace *device) {
    const struct lives *lives = &device->lives;
    for (uint32_t i = 0; i < lives->count; i++) {
        assert_true((i < lives->preexisting) == (lives->birth[i] == 0));
        assert_true(i == 0 || lives->birth[i] >= lives->birth[i - 1]);
        assert_true(lives->birth[i] <= device->n_events && lives->birth[i] <= lives->request[i]);
        assert_true(lives->request[i] <= lives->death[i] && lives->death[i] <= device->n_events + 1);
        assert_true(lives->stack[i] < trace->stacks.count && lives->context[i] < trace->contexts.count);
        assert_true(lives->stream[i] < device->n_streams && lives->pool[i] < device->n_pools);
        assert_true(lives->flags[i] < 16);
    }
}

static void assert_sound_device(const struct trace *trace, const struct device_trace *device) {
    assert_sound_lives(trace, device);
    for (uint32_t i = 0; i < device->n_segment_events; i++) {
        const struct segment_event *event = &device->segment_events[i];
        assert_true(event->event < device->n_events && event->stack < trace->stacks.count);
        assert_true(event->stream < device->n_streams && event->change <= SEGMENT_UNMAP);
        assert_true(i == 0 || event->event >= event[-1].event);
    }
    for (uint32_t i = 0; i < device->n_segments; i++) {
        const struct segment *segment = &device->segments[i];
        assert_true(segment->stack < trace->stacks.count && segment->pool < device->n_pools);
        assert_true((uint64_t)segment->first_block + segment->block_count <= device->n_blocks);
    }
    for (uint32_t i = 0; i < device->n_blocks; i++)
        assert_true(device->blocks[i].stack < trace->stacks.count && device->blocks[i].state <= 2);
}

static void assert_sound(const struct trace *trace) {
    const struct string_table *strings = &trace->strings;
    for (uint32_t i = 0; i < strings->count; i++)
        assert_true(strings->start[i] <= strings->start[i + 1]);
    for (uint32_t i = 0; i < trace->frames.count; i++) {
        const struct frame *frame = &trace->frames.frame[i];
        assert_true(frame->file < strings->count && frame->name < strings->count &&
                    frame->fx < trace->fx.count);
    }
    for (uint32_t i = 1; i < trace->stacks.count; i++) {
        assert_true(trace->stacks.stack[i].parent < i);
        assert_true(trace->stacks.stack[i].frame < trace->frames.count);
    }
    for (uint32_t i = 0; i < trace->n_annotations; i++)
        assert_true(trace->annotations[i].name < strings->count && trace->annotations[i].stage < 2);
    for (uint32_t i = 0; i < trace->n_devices; i++)
        assert_sound_device(trace, &trace->devices[i]);
}

/* The table of the file has one row: two bytes for each of the four columns, then a byte for each. */
static void test_broken_facts_of_the_file(void **state) {
    static const struct {
        uint32_t at;
        uint8_t value;
    } wrong[] = {
        {8, N_STRINGS},    /* settings */
        {9, N_STRINGS},    /* meta */
        {10, TRACE_KINDS}, /* kind */
        {11, 3},           /* rank -2 */
    };
    struct trace trace;
    struct arena arena;
    struct payload payload;
    (void)state;
    fill(&trace, 5);
    struct bytes bytes = pack(&trace);
    arena_init(&arena, host_of(&plenty), SIZE_MAX);
    assert_int_equal(payload_open(&payload, bytes.at, bytes.nbytes, &arena), PAYLOAD_OK);
    assert_true(pieces_inflate(&payload));
    assert_int_equal(payload.pieces[0].raw_nbytes, 12);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        uint8_t *at = payload.pieces[0].target + wrong[i].at, old = *at;
        struct trace again;
        *at = wrong[i].value;
        assert_true(trace_init(&again, host_of(&plenty), SIZE_MAX));
        assert_int_equal(payload_unpack(&payload, &again), PAYLOAD_BAD_VALUE);
        trace_release(&again);
        *at = old;
    }
    arena_release(&arena);
    trace_release(&trace);
    free(bytes.at);
}

/* A page has a turn of its own between two steps, so no step may do all the work; what they read is the same. */
static void test_unpacking_in_steps(void **state) {
    struct trace trace, again;
    struct arena arena;
    struct payload payload;
    uint32_t n_steps = 0, n_with_lives = 0;
    (void)state;
    fill(&trace, 5);
    struct bytes bytes = pack(&trace);
    arena_init(&arena, host_of(&plenty), SIZE_MAX);
    assert_int_equal(payload_open(&payload, bytes.at, bytes.nbytes, &arena), PAYLOAD_OK);
    assert_true(pieces_inflate(&payload));
    assert_true(trace_init(&again, host_of(&plenty), SIZE_MAX));
    struct reader *reader = payload_unpacking(&payload, &again);
    assert_non_null(reader);
    int32_t code = PAYLOAD_MORE;
    for (; code == PAYLOAD_MORE; n_steps++) {
        code = payload_unpack_some(reader);
        n_with_lives += again.n_devices == 1 && again.devices[0].lives.count != 0;
    }
    assert_int_equal(code, PAYLOAD_OK);
    assert_int_equal(payload_unpack_some(reader), PAYLOAD_OK);
    assert_true(n_steps >= 10 * trace.n_devices);
    assert_true(n_with_lives >= 10); /* of the first device alone */
    struct bytes packed = pack(&again);
    assert_int_equal(packed.nbytes, bytes.nbytes);
    assert_memory_equal(packed.at, bytes.at, bytes.nbytes);
    free(packed.at);
    trace_release(&again);
    arena_release(&arena);
    trace_release(&trace);
    free(bytes.at);
}

/* 10,000 times one wrong byte in an inflated section: an error or a sound trace, and (under AddressSanitizer)
 * no access beyond anything. */
static void test_one_wrong_byte(void **state) {
    struct trace trace;
    struct arena arena;
    struct payload payload;
    uint32_t refused = 0;
    (void)state;
    fill(&trace, 5);
    struct bytes bytes = pack(&trace);
    arena_init(&arena, host_of(&plenty), SIZE_MAX);
    assert_int_equal(payload_open(&payload, bytes.at, bytes.nbytes, &arena), PAYLOAD_OK);
    assert_true(pieces_inflate(&payload));
    for (uint32_t i = 0; i < 10000; i++) {
        struct payload_piece *piece = &payload.pieces[below(payload.n_pieces)];
        uint32_t at =
            below(2) ? below(piece->raw_nbytes) : below(piece->raw_nbytes < 24 ? piece->raw_nbytes : 24);
        uint8_t old = piece->target[at];
        struct trace again;
        piece->target[at] = (uint8_t)number();
        assert_true(trace_init(&again, host_of(&plenty), (size_t)64 << 20));
        if (payload_unpack(&payload, &again) == PAYLOAD_OK)
            assert_sound(&again);
        else
            refused++;
        trace_release(&again);
        piece->target[at] = old;
    }
    assert_in_range(refused, 1000, 9999);
    arena_release(&arena);
    trace_release(&trace);
    free(bytes.at);
}

/* ---- no memory ---- */

static enum payload_error pack_with(struct host *host, const struct trace *trace) {
    struct arena arena;
    struct payload payload;
    arena_init(&arena, host_of(host), SIZE_MAX);
    enum payload_error error = payload_pack(&payload, trace, &arena);
    arena_release(&arena);
    return error;
}

static enum payload_error read_with(struct host *host, const struct bytes *bytes) {
    struct arena arena;
    struct payload payload;
    struct trace trace;
    enum payload_error error = PAYLOAD_NO_MEMORY;
    arena_init(&arena, host_of(host), SIZE_MAX);
    if (trace_init(&trace, host_of(host), SIZE_MAX))
        error = payload_open(&payload, bytes->at, bytes->nbytes, &arena);
    if (error == PAYLOAD_OK) {
        assert_true(pieces_inflate(&payload));
        error = payload_unpack(&payload, &trace);
    }
    arena_release(&arena);
    trace_release(&trace);
    return error;
}

static void test_each_allocation_fails_once(void **state) {
    struct trace trace;
    struct host host;
    long n;
    enum payload_error error = PAYLOAD_NO_MEMORY;
    (void)state;
    fill(&trace, 4);
    for (n = 0; error != PAYLOAD_OK; n++) {
        host.left = n;
        error = pack_with(&host, &trace);
        assert_true(error == PAYLOAD_OK || error == PAYLOAD_NO_MEMORY);
    }
    assert_in_range(n, 5, 10000);
    struct bytes bytes = pack(&trace);
    error = PAYLOAD_NO_MEMORY;
    for (n = 0; error != PAYLOAD_OK; n++) {
        host.left = n;
        error = read_with(&host, &bytes);
        assert_true(error == PAYLOAD_OK || error == PAYLOAD_NO_MEMORY);
    }
    assert_in_range(n, 50, 10000);
    trace_release(&trace);
    free(bytes.at);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_unpacking_in_steps),
        cmocka_unit_test(test_round_trip_of_an_empty_trace),
        cmocka_unit_test(test_unused_rows_are_left_out),
        cmocka_unit_test(test_round_trip_of_large_columns),
        cmocka_unit_test(test_pack_refuses_what_is_out_of_range),
        cmocka_unit_test(test_every_truncation_is_an_error),
        cmocka_unit_test(test_broken_header),
        cmocka_unit_test(test_broken_section_entries),
        cmocka_unit_test(test_broken_piece_entries),
        cmocka_unit_test(test_addresses_may_be_left_out),
        cmocka_unit_test(test_missing_sections),
        cmocka_unit_test(test_unknown_sections),
        cmocka_unit_test(test_broken_facts_of_the_file),
        cmocka_unit_test(test_one_wrong_byte),
        cmocka_unit_test(test_each_allocation_fails_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
