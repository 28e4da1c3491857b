/* Writing and reading payloads: round trips, traces that the packer refuses, and memory that runs out. */
#include "payload_made.h"

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

/* Rows that nothing refers to are left out; the others keep their order and content. */
static void test_unused_rows_are_left_out(void **state) {
    struct trace trace, again;
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
    assert_true(text_equals(trace_text(&again, 2), trace_text(&trace, 9)));
    trace_release(&trace);
    trace_release(&again);
    free(bytes.at);
}

/* More allocations than one step reads; a thousand are older than the recording, and some births are the ends of
 * others. */
static void fill_many_allocations(struct trace *trace, struct device_trace *device, uint32_t count) {
    enum { OLDER = 1000 };
    struct allocations *allocations = &device->allocations;
    alloc_allocations(trace, allocations, count);
    allocations->preexisting = OLDER;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t birth = i < OLDER ? 0 : (i - OLDER) * 2 + 1, end = device->n_events + 1;
        allocations->birth[i] = birth;
        allocations->death[i] = i < OLDER ? end - i * 7 : i % 9 == 0 ? end : birth + below(end - birth + 1);
        allocations->request[i] = allocations->death[i] - (i % 5 == 0 && allocations->death[i] > birth);
        allocations->size[i] = 512 * (uint64_t)(1 + below(60));
        allocations->address[i] = i < 300000 ? wide() : allocations->address[i - 1 - below(9)];
        allocations->stack[i] = below(N_STACKS);
        allocations->context[i] = below(N_CONTEXTS);
        allocations->stream[i] = (uint16_t)below(N_STREAMS);
        allocations->pool[i] = (uint16_t)below(N_POOLS);
        allocations->flags[i] = (uint8_t)below(4);
    }
    device->n_streams = N_STREAMS;
    device->streams = trace->devices[0].streams;
    device->n_pools = N_POOLS;
    device->pools = trace->devices[0].pools;
}

/* Columns of more than one piece. Times fall often, never, or once, where the reader begins another part. */
static void large_columns_round_trip(uint32_t jitter, uint32_t falls_at) {
    enum { MANY = 3 * PAYLOAD_PIECE_NBYTES / 2 };
    struct trace trace, again;
    fill(&trace, 11);
    struct device_trace *device = &trace.devices[1];
    device->n_events = MANY;
    device->time_us = rows_of(&trace, MANY, sizeof *device->time_us);
    for (uint32_t i = 0; i < MANY; i++)
        device->time_us[i] = (int64_t)i * 500 - (int64_t)below(jitter) - (i == falls_at ? 501 : 0);
    fill_many_allocations(&trace, device, 600000);
    struct bytes bytes = pack(&trace);
    assert_int_equal(read_bytes(&again, bytes.at, bytes.nbytes), PAYLOAD_OK);
    assert_same(&trace, &again);
    assert_int_equal(again.devices[1].times_rise, jitter == 1 && falls_at == 0);
    trace_release(&trace);
    trace_release(&again);
    free(bytes.at);
}

static void test_round_trip_of_large_columns(void **state) {
    (void)state;
    large_columns_round_trip(1000, 0);
    large_columns_round_trip(1, 0);
    large_columns_round_trip(1, 1 << 18);
}

/* ---- the packer refuses what the reader would refuse ---- */

typedef void breaker(struct trace *trace);

static void break_stack(struct trace *trace) {
    trace->devices[0].allocations.stack[5] = N_STACKS;
}
static void break_context(struct trace *trace) {
    trace->devices[0].allocations.context[5] = N_CONTEXTS;
}
static void break_stream(struct trace *trace) {
    trace->devices[0].allocations.stream[5] = N_STREAMS;
}
static void break_pool(struct trace *trace) {
    trace->devices[0].allocations.pool[5] = N_POOLS;
}
static void break_flags(struct trace *trace) {
    trace->devices[0].allocations.flags[5] = 16;
}
static void break_birth_order(struct trace *trace) {
    trace->devices[0].allocations.birth[N_ALLOCATIONS - 1] = 1;
}
static void break_birth_of_preexisting(struct trace *trace) {
    trace->devices[0].allocations.birth[3] = 1;
}
static void break_birth_zero(struct trace *trace) {
    trace->devices[0].allocations.birth[N_PREEXISTING] = 0;
}
static void break_death(struct trace *trace) {
    trace->devices[0].allocations.death[N_ALLOCATIONS - 1] = N_EVENTS + 2;
}
static void break_death_before_birth(struct trace *trace) {
    trace->devices[0].allocations.death[N_ALLOCATIONS - 1] = 0;
}
static void break_life(struct trace *trace) {
    struct allocations *allocations = &trace->devices[0].allocations;
    allocations->death[N_ALLOCATIONS - 1] = allocations->request[N_ALLOCATIONS - 1] =
        allocations->birth[N_ALLOCATIONS - 1];
}
static void break_default_stream(struct trace *trace) {
    trace->devices[0].streams[0] = 7;
}
static void break_default_pool(struct trace *trace) {
    trace->devices[0].pools[POOL_DEFAULT].first = 1;
}
static void break_blocks(struct trace *trace) {
    trace->devices[0].segments[0].block_count = UINT32_MAX;
}
static void break_sum(struct trace *trace) {
    trace->devices[0].allocations.size[0] = TRACE_BYTES_MAX;
    trace->devices[0].allocations.size[1] = 1;
}
static void break_times(struct trace *trace) {
    trace->devices[0].times_rise = true;
    trace->devices[0].time_us[0] = INT64_MAX;
}
static void break_order_of_preexisting(struct trace *trace) {
    trace->devices[0].allocations.death[N_PREEXISTING - 1] = N_EVENTS + 1;
}
static void break_request(struct trace *trace) {
    trace->devices[0].allocations.request[0] = N_EVENTS + 2;
}
static void break_preexisting(struct trace *trace) {
    trace->devices[0].allocations.preexisting = N_ALLOCATIONS + 1;
}
static void break_parent(struct trace *trace) {
    trace->stacks.parent[trace->stacks.n_branched - 1] = N_STACKS - 1;
}
static void break_frame(struct trace *trace) {
    trace->stacks.frame[9] = N_FRAMES;
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
        break_life,
        break_default_stream,
        break_default_pool,
        break_blocks,
        break_sum,
        break_times,
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

/* A page can act between two steps, so no step may do all the work; the steps together read the same. */
static void test_unpacking_in_steps(void **state) {
    struct trace trace, again;
    struct arena arena;
    struct payload payload;
    uint32_t n_steps = 0, n_with_allocations = 0;
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
        n_with_allocations += again.n_devices == 1 && again.devices[0].allocations.count != 0;
    }
    assert_int_equal(code, PAYLOAD_OK);
    assert_int_equal(payload_unpack_some(reader), PAYLOAD_OK);
    assert_true(n_steps >= 10 * trace.n_devices);
    assert_true(n_with_allocations >= 10); /* steps of the first device alone */
    struct bytes packed = pack(&again);
    assert_int_equal(packed.nbytes, bytes.nbytes);
    assert_memory_equal(packed.at, bytes.at, bytes.nbytes);
    free(packed.at);
    trace_release(&again);
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
        cmocka_unit_test(test_each_allocation_fails_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
