/* Steps, phases and every kind of finding, each present in one hand-made training loop and absent in another. */
#define RECORDING_EVENTS 2048
#include "recording.h"

#include "analysis/findings/verdicts.h"
#include "base/numbers.h"

#define TORCH "/usr/lib/python3/site-packages/torch/"

/* The fault that is planted into a loop. */
enum fault {
    HEALTHY,
    LEAK,
    QUEUE, /* keeps its last two and frees what is older: no leak */
    GRADIENTS_KEPT,
    GROWING_BUFFER,
    EVEN_BUFFER, /* replaced each time by one of the same size */
    HELD_OVER
};

enum { LAYERS = 4, TURN = 60 /* events */ };

struct loop {
    struct recording *recording;
    uint32_t forward[LAYERS], backward[LAYERS], optimizer, data, probe, buffer, layer;
};

static struct loop loop_open(void) {
    static const char *const names[LAYERS] = {"embed", "attend", "project", "head"};
    struct loop loop = {.recording = recording_open()};
    uint32_t main_ = recording_stack(loop.recording, 0, "/home/u/train.py", "main");
    uint32_t model = recording_stack(loop.recording, main_, "/home/u/model.py", "forward");
    uint32_t engine =
        recording_stack(loop.recording, main_, TORCH "autograd/graph.py", "_engine_run_backward");
    for (uint32_t i = 0; i < LAYERS; i++) {
        loop.forward[i] = recording_stack(loop.recording, model, "/home/u/layers.py", names[i]);
        loop.backward[i] =
            recording_stack(loop.recording, engine, "", "torch::autograd::AccumulateGrad::apply");
    }
    loop.optimizer = recording_stack(loop.recording, main_, TORCH "optim/adamw.py", "step");
    loop.data = recording_stack(loop.recording, main_, TORCH "utils/data/dataloader.py", "__next__");
    loop.probe = recording_stack(loop.recording, model, "/home/u/probe.py", "keep");
    loop.buffer = recording_stack(loop.recording, model, "/home/u/cache.py", "extend");
    loop.layer = recording_stack(loop.recording, model, "/home/u/hooks.py", "remember");
    return loop;
}

static uint32_t planted_death(enum fault fault, uint32_t turn, uint32_t turns, uint32_t begin) {
    bool last = turn + 1 == turns;
    switch (fault) {
    case LEAK: return STAYS;
    case QUEUE: return turn + 2 < turns ? begin + 2 * TURN + 40 : STAYS;
    case HELD_OVER: return last ? STAYS : begin + TURN + 25;
    default: return begin + 50;
    }
}

/* One step: a batch, forward over the layers, backward, optimizer, zero_grad. The same events for all faults. */
static void turn_add(struct loop *loop, enum fault fault, uint32_t turn, uint32_t turns) {
    struct recording *recording = loop->recording;
    uint32_t begin = 1 + turn * TURN;
    bool last = turn + 1 == turns;
    recording_allocation(recording, begin, begin + 50, MIB, loop->data);
    for (uint32_t i = 0; i < LAYERS; i++)
        recording_allocation(recording, begin + 2 + i, begin + 28 - i, 8 * MIB, loop->forward[i]);
    recording_allocation(recording, begin + 11, planted_death(fault, turn, turns, begin), 6 * MIB,
                         loop->probe);
    if (fault == GROWING_BUFFER || fault == EVEN_BUFFER)
        recording_allocation(recording, begin + 12, last ? STAYS : begin + TURN + 13,
                             (fault == EVEN_BUFFER ? 8 : 8 + 4 * turn) * MIB, loop->buffer);
    for (uint32_t i = 0; i < LAYERS; i++) {
        uint32_t kept =
            last ? STAYS : begin + TURN + 20 + i + 1; /* until the next backward has replaced it */
        recording_allocation(recording, begin + 20 + i, fault == GRADIENTS_KEPT ? kept : begin + 52, 4 * MIB,
                             loop->backward[i]);
    }
    recording_allocation(recording, begin + 40, turn == 0 ? STAYS : begin + 45, 2 * MIB, loop->optimizer);
}

static void loop_close(struct loop *loop) {
    recording_close(loop->recording);
}

static struct verdicts verdicts_of(struct recording *recording, uint32_t n_events) {
    static struct verdicts verdicts;
    struct timeline *timeline = recording_settle(recording, n_events);
    assert_true(verdicts_init(&verdicts, timeline, &recording->arena));
    return verdicts;
}

static const struct finding *finding_of(const struct verdicts *verdicts, enum finding_kind kind) {
    for (uint32_t i = 0; i < verdicts->findings.count; i++)
        if (verdicts->findings.finding[i].kind == kind)
            return &verdicts->findings.finding[i];
    return NULL;
}

/* Sentences are complete: they end, and nothing is cut off. */
static void words_check(const struct verdicts *verdicts) {
    char text[FINDING_TEXT_NBYTES];
    for (uint32_t i = 0; i < verdicts->findings.count; i++) {
        const struct finding *finding = &verdicts->findings.finding[i];
        uint32_t title = finding_title(verdicts, finding, text, sizeof text);
        assert_in_range(title, 10, 200);
        assert_true(text[title - 1] != '.' && text[title - 1] != ' ');
        uint32_t detail = finding_detail(verdicts, finding, text, sizeof text);
        assert_in_range(detail, 10, FINDING_TEXT_NBYTES - 1);
        assert_true(text[detail - 1] == '.' && strstr(text, "  ") == NULL);
        assert_true(finding_view(verdicts, finding, text, sizeof text) > 1 && text[0] == '#');
    }
}

/* A finding's set matches its figures: its allocations are live at its moment and have as many bytes. */
static void sets_check(const struct verdicts *verdicts) {
    const struct allocations *allocations = &verdicts->timeline->device->allocations;
    for (uint32_t f = 0; f < verdicts->findings.count; f++) {
        const struct finding *finding = &verdicts->findings.finding[f];
        uint64_t bitmap[RECORDING_ALLOCATIONS / 64 + 1] = {0}, bytes = 0;
        uint32_t count = 0;
        if (!finding_set(finding, bitmap)) {
            assert_int_equal(finding->n_ids, 0);
            continue;
        }
        for (uint32_t i = 0; i < allocations->count; i++) {
            if ((bitmap[i / 64] >> i % 64 & 1) == 0)
                continue;
            assert_true(allocations->birth[i] <= finding->at_moment &&
                        allocations->death[i] > finding->at_moment);
            assert_int_equal(finding->ids[count++], i);
            bytes += allocations->size[i];
        }
        assert_int_equal(count, finding->n_ids);
        assert_int_equal(count, finding->count);
        assert_int_equal(bytes, finding->bytes);
    }
}

/* A loop with a fault, and whether the kind of finding must be found. */
struct loop_case {
    enum fault fault;
    uint32_t turns;
    enum finding_kind kind;
    bool found;
};

static uint64_t peak_of(enum fault fault, uint32_t turns) {
    struct loop loop = loop_open();
    for (uint32_t turn = 0; turn < turns; turn++)
        turn_add(&loop, fault, turn, turns);
    uint64_t peak = recording_settle(loop.recording, turns * TURN + 1)->peak_bytes;
    loop_close(&loop);
    return peak;
}

static void test_faults_of_loops(void **state) {
    (void)state;
    static const struct loop_case cases[] = {
        {LEAK, 5, FINDING_LEAK, true},
        {LEAK, 1, FINDING_LEAK, false},
        {QUEUE, 6, FINDING_LEAK, false},
        {HEALTHY, 5, FINDING_LEAK, false},
        {GRADIENTS_KEPT, 5, FINDING_GRADIENTS_KEPT, true},
        {GRADIENTS_KEPT, 1, FINDING_GRADIENTS_KEPT, false},
        {HEALTHY, 5, FINDING_GRADIENTS_KEPT, false},
        {GROWING_BUFFER, 6, FINDING_GROWING_BUFFER, true},
        {GROWING_BUFFER, 2, FINDING_GROWING_BUFFER, false},
        {EVEN_BUFFER, 6, FINDING_GROWING_BUFFER, false},
        {HELD_OVER, 5, FINDING_HELD_OVER, true},
        {HELD_OVER, 1, FINDING_HELD_OVER, false},
        {HEALTHY, 5, FINDING_HELD_OVER, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct loop_case *wanted = &cases[i];
        struct loop loop = loop_open();
        for (uint32_t turn = 0; turn < wanted->turns; turn++)
            turn_add(&loop, wanted->fault, turn, wanted->turns);
        struct verdicts verdicts = verdicts_of(loop.recording, wanted->turns * TURN + 1);
        const struct finding *finding = finding_of(&verdicts, wanted->kind);
        if (wanted->found != (finding != NULL))
            fail_msg("case %d: %s is %sfound", (int)i, finding_kind_name(wanted->kind),
                     finding != NULL ? "" : "not ");
        /* The same loop without the fault gives the truth, if it makes the same allocations. */
        if (wanted->found && wanted->fault != GROWING_BUFFER)
            assert_int_equal(finding->saves,
                             peak_of(wanted->fault, wanted->turns) - peak_of(HEALTHY, wanted->turns));
        assert_int_equal(verdicts.turns.count, wanted->turns);
        words_check(&verdicts);
        sets_check(&verdicts);
        loop_close(&loop);
    }
}

/* ---- the allocator ---- */

static void segment_event(struct recording *recording, uint32_t event, enum segment_change change,
                          uint64_t size, uint32_t stack) {
    recording->segment_events[recording->device.n_segment_events++] =
        (struct segment_event){.event = event, .change = (uint8_t)change, .size = size, .stack = stack};
}

static void allocator_check(struct recording *recording, enum finding_kind kind, bool found,
                            enum finding_severity severity) {
    struct verdicts verdicts = verdicts_of(recording, 100);
    const struct finding *finding = finding_of(&verdicts, kind);
    assert_true(found == (finding != NULL));
    if (found)
        assert_int_equal(finding->severity, severity);
    words_check(&verdicts);
    recording_close(recording);
}

static void test_out_of_memory(void **state) {
    (void)state;
    for (uint32_t n = 0; n < 3; n++) {
        struct recording *recording = recording_open();
        uint32_t step = recording_site(recording, "/home/u/train.py", "step", 7);
        recording_allocation(recording, 1, STAYS, GIB, step);
        for (uint32_t i = 0; i < n; i++)
            recording->ooms[i] = (struct oom_event){.event = 50 + i, .stack = step, .size = 2 * GIB};
        recording->device.n_ooms = n;
        allocator_check(recording, FINDING_OUT_OF_MEMORY, n != 0, SEVERITY_HIGH);
    }
}

static void test_flushes(void **state) {
    (void)state;
    for (uint32_t asked = 0; asked < 2;
         asked++) { /* released for a request that failed at first, or by the program */
        struct recording *recording = recording_open();
        uint32_t step = recording_stack(recording, 0, "/home/u/train.py", "step");
        uint32_t empty = recording_stack(recording, step, TORCH "cuda/memory.py", "empty_cache");
        recording_allocation(recording, 1, STAYS, MIB, step);
        segment_event(recording, 10, SEGMENT_FREE, 20 * MIB, asked ? empty : step);
        segment_event(recording, 11, SEGMENT_ALLOC, 30 * MIB, step);
        allocator_check(recording, FINDING_RETRY_FLUSH, !asked, SEVERITY_MEDIUM);
    }
}

static void test_churn(void **state) {
    (void)state;
    for (uint32_t n = 2; n < 6; n++) {
        struct recording *recording = recording_open();
        uint32_t step = recording_stack(recording, 0, "/home/u/train.py", "step");
        uint32_t empty = recording_stack(recording, step, TORCH "cuda/memory.py", "empty_cache");
        recording_allocation(recording, 1, STAYS, MIB, step);
        for (uint32_t i = 0; i < n; i++) {
            segment_event(recording, 10 + 4 * i, SEGMENT_FREE, 20 * MIB, empty);
            segment_event(recording, 12 + 4 * i, SEGMENT_ALLOC, 20 * MIB, step);
        }
        allocator_check(recording, FINDING_CACHE_CHURN, n >= 3, n >= 5 ? SEVERITY_MEDIUM : SEVERITY_LOW);
    }
}

static void test_fragmentation(void **state) {
    (void)state;
    static const int64_t loose[] = {(int64_t)MIB, -4 * (int64_t)GIB, 0},
                         tight[] = {4 * (int64_t)GIB, -(int64_t)GIB, 0};
    enum { LOOSE, LOOSE_LATER, TIGHT }; /* reserved before the first event, and while recording */
    for (uint32_t of = LOOSE; of <= TIGHT; of++) {
        struct recording *recording = recording_open();
        uint32_t step = recording_stack(recording, 0, "/home/u/train.py", "step");
        recording_allocation(recording, 11, STAYS, of == TIGHT ? 4 * GIB : MIB, step);
        recording_segment(recording, 1 << 20, 0, 1, of == TIGHT ? tight : loose);
        if (of == LOOSE_LATER)
            segment_event(recording, 9, SEGMENT_ALLOC, 4 * GIB + MIB, step);
        allocator_check(recording, FINDING_FRAGMENTATION, of != TIGHT,
                        of == LOOSE_LATER ? SEVERITY_HIGH : SEVERITY_LOW);
    }
}

/* ---- the recording itself ---- */

static void test_where_the_recording_stops(void **state) {
    (void)state;
    for (uint32_t falls = 0; falls < 2; falls++) {
        struct recording *recording = recording_open();
        uint32_t step = recording_stack(recording, 0, "/home/u/train.py", "step");
        for (uint32_t i = 0; i < 10; i++)
            recording_allocation(recording, 1 + 8 * i, falls ? 95 : STAYS, MIB, step);
        allocator_check(recording, FINDING_STOPS_AT_PEAK, !falls, SEVERITY_INFO);
    }
}

static void test_where_the_recording_starts(void **state) {
    (void)state;
    for (uint32_t older = 2; older < 5; older++) {
        struct recording *recording = recording_open();
        uint32_t step = recording_stack(recording, 0, "/home/u/train.py", "step");
        recording_allocation(recording, 0, STAYS, older * MIB, step);
        recording_allocation(recording, 9, 20, 9 * MIB, step);
        allocator_check(recording, FINDING_STARTS_LATE, older >= 3, SEVERITY_INFO);
    }
}

/* ---- steps and phases ---- */

static void turns_check(struct loop *loop, uint32_t n_events, enum turns_source source, uint32_t count) {
    struct verdicts verdicts = verdicts_of(loop->recording, n_events);
    assert_int_equal(verdicts.turns.source, source);
    assert_int_equal(verdicts.turns.count, count);
    loop_close(loop);
}

static void test_where_steps_come_from(void **state) {
    (void)state;
    struct loop loop = loop_open();
    for (uint32_t turn = 0; turn < 3; turn++) {
        turn_add(&loop, HEALTHY, turn, 3);
        recording_annotation(loop.recording, turn * TURN,
                             turn == 0   ? "ProfilerStep#7"
                             : turn == 1 ? "ProfilerStep#8"
                                         : "ProfilerStep#9",
                             ANNOTATION_START);
    }
    struct verdicts verdicts = verdicts_of(loop.recording, 3 * TURN + 1);
    assert_int_equal(verdicts.turns.source, TURNS_PROFILER_STEP);
    assert_int_equal(turns_number(&verdicts.turns, 2), 9);
    loop_close(&loop);

    loop = loop_open();
    for (uint32_t turn = 0; turn < 3; turn++) {
        turn_add(&loop, HEALTHY, turn, 3);
        recording_annotation(loop.recording, turn * TURN + 39, "Optimizer.step#AdamW.step", ANNOTATION_START);
        recording_annotation(loop.recording, turn * TURN + 46, "Optimizer.step#AdamW.step", ANNOTATION_END);
    }
    turns_check(&loop, 3 * TURN + 1, TURNS_OPTIMIZER_MARKS, 3);

    loop = loop_open();
    for (uint32_t turn = 0; turn < 4; turn++)
        turn_add(&loop, HEALTHY, turn, 4);
    turns_check(&loop, 4 * TURN + 1, TURNS_OPTIMIZER, 4);
}

/* Forward only: `turns` times a batch and the layers. Without `whole`, one forward repeats the layers between an
 * embedding and a head. */
static struct loop forwards(uint32_t turns, bool whole) {
    struct loop loop = loop_open();
    uint32_t model = stack_parent(&loop.recording->trace.stacks, loop.forward[0]), event = 1;
    uint32_t caller = stack_parent(&loop.recording->trace.stacks, model);
    uint32_t other = recording_stack(loop.recording, caller, "/home/u/model.py", "forward");
    loop.recording->trace.frames.frame[loop.recording->trace.stacks.frame[model]].line = 10;
    loop.recording->trace.frames.frame[loop.recording->trace.stacks.frame[other]].line = 11;
    uint32_t head = recording_stack(loop.recording, other, "/home/u/layers.py", "head");
    for (uint32_t turn = 0; turn < turns; turn++) {
        if (whole || turn == 0)
            recording_allocation(loop.recording, event, event + 1, MIB, head);
        for (uint32_t i = 0; i < LAYERS; i++)
            recording_allocation(loop.recording, event + 2 + 3 * i, event + 4 + 3 * i, 8 * MIB,
                                 loop.forward[i]);
        event += 16;
    }
    return loop;
}

static void test_forwards_and_layers(void **state) {
    (void)state;
    struct loop loop = forwards(10, true);
    turns_check(&loop, 170, TURNS_REPETITION, 10);
    loop = forwards(10, false);
    turns_check(&loop, 170, TURNS_NONE, 0);
    loop = forwards(1, true);
    turns_check(&loop, 20, TURNS_NONE, 0);
}

static void test_phases(void **state) {
    (void)state;
    struct loop loop = loop_open();
    turn_add(&loop, HEALTHY, 0, 2);
    turn_add(&loop, HEALTHY, 1, 2);
    struct verdicts verdicts = verdicts_of(loop.recording, 2 * TURN + 1);
    const struct allocations *allocations = &loop.recording->device.allocations;
    for (uint32_t i = 0; i < allocations->count; i++) {
        uint32_t stack = allocations->stack[i];
        uint8_t wanted = stack == loop.optimizer ? PHASE_OPTIMIZER
                         : stack == loop.data    ? PHASE_HOST
                         : stack >= loop.backward[0] && (stack - loop.backward[0]) % 2 == 0 &&
                                 stack <= loop.backward[LAYERS - 1]
                             ? PHASE_BACKWARD
                             : PHASE_FORWARD;
        assert_int_equal(verdicts.runs.letter[i], wanted);
    }
    uint32_t seen[SPAN_ANNOTATION + 1] = {0};
    for (uint32_t i = 0; i < verdicts.phases.count; i++) {
        const struct span *span = &verdicts.phases.span[i];
        assert_true(span->from_moment <= span->to_moment && span->peak_bytes >= span->end_bytes);
        seen[span->kind]++;
    }
    assert_int_equal(seen[SPAN_FORWARD], 2);
    assert_int_equal(seen[SPAN_BACKWARD], 2);
    assert_int_equal(seen[SPAN_OPTIMIZER], 2);
    loop_close(&loop);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_faults_of_loops),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_flushes),
        cmocka_unit_test(test_churn),
        cmocka_unit_test(test_fragmentation),
        cmocka_unit_test(test_where_the_recording_stops),
        cmocka_unit_test(test_where_the_recording_starts),
        cmocka_unit_test(test_where_steps_come_from),
        cmocka_unit_test(test_forwards_and_layers),
        cmocka_unit_test(test_phases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
