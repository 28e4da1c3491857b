/* The turns of a loop from each of their sources, and their consequences: spans, marks, bits of frames, keys. */
#include "recording.h"

#include "analysis/loop/frame_bits.h"
#include "analysis/loop/inner_keys.h"
#include "analysis/loop/marks.h"
#include "analysis/loop/size_set.h"
#include "analysis/loop/spans.h"
#include <stdio.h>

#define TORCH "/usr/lib/python3/site-packages/torch/"

enum { TURN = 20 };

struct loop {
    struct recording *recording;
    uint32_t data, forward, backward, optimizer;
    struct phase_runs runs;
    struct turns turns;
};

static struct loop loop_open(void) {
    struct loop loop = {.recording = recording_open()};
    uint32_t main_ = recording_stack(loop.recording, 0, "/u/train.py", "main");
    loop.data = recording_stack(loop.recording, main_, TORCH "utils/data/dataloader.py", "__next__");
    loop.forward = recording_stack(loop.recording, main_, "/u/model.py", "forward");
    uint32_t engine =
        recording_stack(loop.recording, main_, TORCH "autograd/graph.py", "_engine_run_backward");
    loop.backward = recording_stack(loop.recording, engine, "/u/op.py", "backward");
    loop.optimizer = recording_stack(loop.recording, main_, TORCH "optim/adamw.py", "step");
    return loop;
}

/* A batch, two forwards, and (as requested) a backward and an optimizer, from event 1 + turn * TURN on. */
static void turn_add(struct loop *loop, uint32_t turn, bool backward, bool optimizer) {
    uint32_t at = 1 + turn * TURN;
    recording_allocation(loop->recording, at, at + 15, 10, loop->data);
    recording_allocation(loop->recording, at + 1, at + 8, 100, loop->forward);
    recording_allocation(loop->recording, at + 2, at + 7, 200, loop->forward);
    if (backward)
        recording_allocation(loop->recording, at + 5, at + 14, 50, loop->backward);
    if (optimizer)
        recording_allocation(loop->recording, at + 10, at + 12, 30, loop->optimizer);
}

static void loop_find(struct loop *loop, uint32_t n_events) {
    struct recording *recording = loop->recording;
    recording_settle(recording, n_events);
    assert_true(phase_runs_find(&loop->runs, &recording->timeline, &recording->arena));
    assert_true(turns_find(&loop->turns, &loop->runs, &recording->timeline, &recording->arena));
}

/* Turns lie side by side, and every allocation between them is in the one that turns_at says. */
static void turns_check(const struct loop *loop) {
    const struct turns *turns = &loop->turns;
    for (uint32_t i = 0; i < turns->count; i++) {
        assert_true(turns->turn[i].first <= turns->turn[i].end);
        assert_true(i == 0 || (turns->turn[i].first == turns->turn[i - 1].end &&
                               turns->turn[i].begin_moment == turns->turn[i - 1].end_moment));
    }
    for (uint32_t k = 0; k < loop->runs.n_allocations; k++) {
        uint32_t wanted = UINT32_MAX;
        for (uint32_t i = 0; i < turns->count; i++)
            wanted = k >= turns->turn[i].first && k < turns->turn[i].end ? i : wanted;
        assert_int_equal(turns_at(turns, k), wanted);
    }
}

static void test_turns_by_optimizer(void **state) {
    (void)state;
    struct loop loop = loop_open();
    for (uint32_t turn = 0; turn < 4; turn++)
        turn_add(&loop, turn, true, true);
    loop_find(&loop, 4 * TURN);
    assert_int_equal(loop.turns.source, TURNS_OPTIMIZER);
    assert_int_equal(loop.turns.count, 4);
    assert_int_equal(loop.turns.turn[1].first, 5); /* with its batch */
    assert_string_equal(turns_unit(&loop.turns), "step");
    turns_check(&loop);
    recording_close(loop.recording);
}

/* Several backwards in each step: if no optimizer allocates, each is a turn. */
static void test_turns_by_backward(void **state) {
    (void)state;
    struct loop loop = loop_open();
    for (uint32_t turn = 0; turn < 4; turn++)
        turn_add(&loop, turn, true, false);
    loop_find(&loop, 4 * TURN);
    assert_int_equal(loop.turns.source, TURNS_BACKWARD);
    assert_int_equal(loop.turns.count, 4);
    assert_string_equal(turns_unit(&loop.turns), "turn");
    turns_check(&loop);
    recording_close(loop.recording);
}

/* An optimizer that allocates in only one of many steps (to make its state) does not mark steps. */
static void test_an_optimizer_that_makes_its_state_once(void **state) {
    (void)state;
    struct loop loop = loop_open();
    for (uint32_t turn = 0; turn < 5; turn++)
        turn_add(&loop, turn, true, turn == 0);
    loop_find(&loop, 5 * TURN);
    assert_int_equal(loop.turns.source, TURNS_BACKWARD);
    assert_int_equal(loop.turns.count, 5);
    turns_check(&loop);
    recording_close(loop.recording);
}

/* Annotations name steps, whatever the stacks say, and number them. */
static void test_turns_by_annotations(void **state) {
    (void)state;
    struct loop loop = loop_open();
    for (uint32_t turn = 0; turn < 3; turn++) {
        char name[32];
        snprintf(name, sizeof name, "ProfilerStep#%u", (unsigned)(41 + turn));
        turn_add(&loop, turn, true, true);
        recording_annotation(loop.recording, turn * TURN, name, ANNOTATION_START);
        recording_annotation(loop.recording, turn * TURN + 18, name, ANNOTATION_END);
    }
    loop_find(&loop, 3 * TURN + 10);
    assert_int_equal(loop.turns.source, TURNS_PROFILER_STEP);
    assert_int_equal(loop.turns.count, 3);
    assert_int_equal(turns_number(&loop.turns, 2), 43);
    assert_true(loop.turns.closed);
    turns_check(&loop);
    recording_close(loop.recording);
}

/* Eight times the same four call sites. */
static struct loop loop_serving(void) {
    struct loop loop = loop_open();
    uint32_t names[4];
    for (uint32_t i = 0; i < 4; i++)
        names[i] = recording_site(loop.recording, "/u/serve.py", "forward", 1 + i);
    for (uint32_t turn = 0; turn < 8; turn++)
        for (uint32_t i = 0; i < 4; i++)
            recording_allocation(loop.recording, 1 + turn * TURN + i, 1 + turn * TURN + 10, 100 + i,
                                 names[i]);
    return loop;
}

/* Inference: a sequence that comes three times is a turn. */
static void test_turns_by_repetition(void **state) {
    (void)state;
    struct loop loop = loop_serving();
    loop_find(&loop, 8 * TURN);
    assert_int_equal(loop.turns.source, TURNS_REPETITION);
    assert_true(loop.turns.count >= 7);
    assert_int_equal(loop.turns.turn[1].end - loop.turns.turn[1].first, 4);
    turns_check(&loop);
    recording_close(loop.recording);
}

/* A memory timeline has categories in place of call sites; their repetition makes no turn. */
static void test_categories_that_repeat(void **state) {
    (void)state;
    struct loop loop = loop_serving();
    loop.recording->trace.kind = TRACE_MEMORY_TIMELINE;
    loop_find(&loop, 8 * TURN);
    assert_int_equal(loop.turns.source, TURNS_NONE);
    recording_close(loop.recording);
}

static void test_no_turns(void **state) {
    (void)state;
    struct loop loop = loop_open();
    recording_allocation(loop.recording, 1, STAYS, 100, loop.data);
    loop_find(&loop, 5);
    assert_int_equal(loop.turns.source, TURNS_NONE);
    assert_int_equal(loop.turns.count, 0);
    assert_int_equal(turns_at(&loop.turns, 0), UINT32_MAX);
    recording_close(loop.recording);
}

/* ---- spans ---- */

static void test_spans(void **state) {
    (void)state;
    struct spans steps, phases;
    struct loop loop = loop_open();
    for (uint32_t turn = 0; turn < 3; turn++)
        turn_add(&loop, turn, true, true);
    loop_find(&loop, 3 * TURN);
    struct recording *recording = loop.recording;
    assert_true(spans_of_turns(&steps, &loop.turns, &recording->timeline, &recording->arena));
    assert_true(spans_of_phases(&phases, &loop.runs, &loop.turns, &recording->timeline, &recording->arena));
    assert_int_equal(steps.count, 3);
    for (uint32_t i = 0; i < steps.count; i++) {
        assert_int_equal(steps.span[i].kind, SPAN_STEP);
        assert_int_equal(steps.span[i].step, i);
        assert_int_equal(steps.span[i].peak_bytes, 360); /* batch, forwards and the gradient */
    }
    uint32_t n_of[SPAN_KINDS] = {0};
    for (uint32_t i = 0; i < phases.count; i++) {
        const struct span *span = &phases.span[i];
        const uint64_t *live = recording->timeline.live;
        uint64_t peak = 0;
        n_of[span->kind]++;
        for (uint32_t moment = span->from_moment; moment <= span->to_moment; moment++)
            peak = live[moment] > peak ? live[moment] : peak;
        assert_int_equal(span->peak_bytes, peak);
        assert_int_equal(live[span->peak_moment], peak);
        assert_int_equal(span->end_bytes, live[span->to_moment]);
        assert_true(span->from_moment == 0 || span->begin_bytes == live[span->from_moment - 1]);
    }
    assert_int_equal(n_of[SPAN_FORWARD], 3);
    assert_int_equal(n_of[SPAN_BACKWARD], 3);
    assert_int_equal(n_of[SPAN_OPTIMIZER], 3);
    recording_close(recording);
}

/* ---- marks ---- */

static void test_marks(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    recording_annotation(recording, 3, "ProfilerStep#12", ANNOTATION_START);
    recording_annotation(recording, 5, "ProfilerSteps", ANNOTATION_START);
    recording_annotation(recording, 7, "Optimizer.step#Adam.step", ANNOTATION_END);
    recording_annotation(recording, 400, "ProfilerStep#", ANNOTATION_START);
    recording_settle(recording, 20);
    struct mark_walk walk = {.word = "ProfilerStep#"};
    assert_true(marks_next(&walk, &recording->timeline));
    assert_int_equal(walk.moment, 4);
    assert_int_equal(mark_number(&walk, &recording->trace), 12);
    assert_true(marks_next(&walk, &recording->timeline));
    assert_int_equal(walk.moment, recording->timeline.n_moments);
    assert_int_equal(mark_number(&walk, &recording->trace), 0);
    assert_false(marks_next(&walk, &recording->timeline));
    assert_int_equal(mark_digits((const uint8_t *)"9999999999999999", 16), 999999999999999);
    recording_close(recording);
}

/* Two devices, each driven by a thread of its own that notes its steps. Steps that only one device notes are steps of
 * the other too. */
static void test_marks_of_another_device(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    for (uint32_t i = 0; i < 6; i++) {
        recording_annotation(recording, 3 + i, "ProfilerStep#1", ANNOTATION_START);
        recording->annotations[i].device =
            i % 2 == 0 ? recording->device.ordinal : recording->device.ordinal + 1;
    }
    recording_settle(recording, 20);
    struct mark_walk walk = {.word = "ProfilerStep#"};
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(marks_next(&walk, &recording->timeline));
        assert_int_equal(walk.moment, 4 + 2 * i);
    }
    assert_false(marks_next(&walk, &recording->timeline));
    recording->device.ordinal += 2;
    walk = (struct mark_walk){.word = "ProfilerStep#"};
    for (uint32_t i = 0; i < 6; i++)
        assert_true(marks_next(&walk, &recording->timeline));
    assert_false(marks_next(&walk, &recording->timeline));
    recording_close(recording);
}

/* ---- bits of frames, keys of stacks ---- */

static void test_bits_of_frames(void **state) {
    (void)state;
    static const struct {
        const char *file, *name;
        uint32_t bits, not_bits;
    } cases[] = {
        {"/u/model.py", "forward", BIT_PYTHON | BIT_FORWARD, BIT_BACKWARD | BIT_NATIVE},
        {"C:\\u\\model.py", "forward", BIT_PYTHON | BIT_FORWARD, 0},
        {"", "/u/model.py(12): forward", BIT_PYTHON | BIT_FORWARD, 0},
        {TORCH "optim/adamw.py", "step", BIT_OPTIMIZER, BIT_FORWARD},
        {TORCH "optim/lr_scheduler.py", "step", BIT_PYTHON, BIT_OPTIMIZER},
        {TORCH "optim/adamw.py", "_init_group", BIT_OPTIMIZER | BIT_STATE, 0},
        {TORCH "optim/optimizer.py", "zero_grad", BIT_ZERO_GRAD, BIT_OPTIMIZER},
        {TORCH "nn/modules/module.py", "_apply", BIT_PARAMETER, BIT_OPTIMIZER},
        {"/u/shapes.py", "_apply", BIT_PYTHON, BIT_PARAMETER},
        {TORCH "_tensor.py", "backward", BIT_BACKWARD, 0},
        {"", "torch::autograd::AccumulateGrad::apply", BIT_NATIVE | BIT_ACCUMULATE, BIT_PYTHON},
        {"/u/data.py", "get_batch", BIT_DATA, BIT_FORWARD},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct recording *recording = recording_open();
        uint32_t stack = recording_stack(recording, 0, cases[i].file, cases[i].name), bits[8] = {0};
        recording->trace.frames.frame[recording->trace.stacks.frame[stack]].line = 0;
        assert_true(frames_bits(&recording->trace, bits, &recording->arena));
        uint32_t own = bits[recording->trace.stacks.frame[stack]];
        if ((own & cases[i].bits) != cases[i].bits || (own & cases[i].not_bits) != 0)
            fail_msg("case %d: bits %x", (int)i, (unsigned)own);
        recording_close(recording);
    }
}

/* One model called from two lines has the same keys inside of forward; a stack without forward has a key of its own. */
static void test_inner_keys(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    uint32_t frame_bits[32], key[32], forward[2], layer[2];
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t main_ = recording_site(recording, "/u/train.py", "main", 10 + i);
        forward[i] = main_;
    }
    /* Both stacks get the same frame ids, as the interner gives them. */
    uint32_t model = recording_stack(recording, forward[0], "/u/model.py", "forward");
    uint32_t inner = recording_stack(recording, model, "/u/layer.py", "gelu");
    const uint32_t *frame = recording->trace.stacks.frame;
    uint32_t frames[] = {frame[model], frame[inner]};
    layer[0] = inner;
    layer[1] = forward[1];
    for (uint32_t i = 0; i < 2; i++) {
        assert_true(stack_table_add(&recording->trace.stacks, &recording->trace.arena, layer[1], frames[i]));
        layer[1] = recording->trace.stacks.count - 1;
    }
    assert_true(frames_bits(&recording->trace, frame_bits, &recording->arena));
    assert_true(inner_keys_find(&recording->trace, frame_bits, key, &recording->arena));
    assert_int_equal(key[layer[0]], key[layer[1]]);
    assert_int_not_equal(key[forward[0]], key[forward[1]]);
    assert_int_not_equal(key[layer[0]], key[model]);
    recording_close(recording);
}

/* ---- sizes ---- */

static void test_sets_of_sizes(void **state) {
    (void)state;
    static const struct sort_row rows[] = {{5, 0}, {5, 1}, {90, 2}, {1000, 3}};
    struct size_set set;
    struct arena arena;
    arena_init(&arena, plain_host, SIZE_MAX);
    assert_true(size_set_init(&set, rows, 4, &arena));
    assert_int_equal(set.count, 3);
    for (uint32_t again = 0; again < 2; again++) { /* first computed, then remembered */
        assert_int_equal(size_set_at(&set, 5), 0);
        assert_int_equal(size_set_at(&set, 1000), 2);
        assert_int_equal(size_set_at(&set, 91), SIZE_NONE);
        assert_int_equal(size_set_at(&set, 0), SIZE_NONE);
    }
    const uint32_t part[] = {10, 0, 1}, all[] = {0, 7, 1}, less[] = {9, 7, 0};
    assert_int_equal(size_set_bytes(&set, part), 1050);
    assert_true(size_set_covers(&set, all, part)); /* 1000 of 1050 */
    assert_false(size_set_covers(&set, less, part));
    arena_release(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_turns_by_optimizer),
        cmocka_unit_test(test_turns_by_backward),
        cmocka_unit_test(test_an_optimizer_that_makes_its_state_once),
        cmocka_unit_test(test_turns_by_annotations),
        cmocka_unit_test(test_turns_by_repetition),
        cmocka_unit_test(test_categories_that_repeat),
        cmocka_unit_test(test_no_turns),
        cmocka_unit_test(test_spans),
        cmocka_unit_test(test_marks),
        cmocka_unit_test(test_marks_of_another_device),
        cmocka_unit_test(test_bits_of_frames),
        cmocka_unit_test(test_inner_keys),
        cmocka_unit_test(test_sets_of_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
