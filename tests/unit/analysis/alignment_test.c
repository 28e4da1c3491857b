/* Aligns programs that differ in their number of layers, and extrapolates sizes; formulas give the expected sums. */
#define RECORDING_ALLOCATIONS 256
#define RECORDING_EVENTS      512
#include "recording.h"

#include "analysis/model/alignment.h"
#include "analysis/model/extrapolate_layers.h"
#include "base/numbers.h"

struct run {
    struct recording *recording;
    struct program program;
};

/* Embedding, `layers` forwards (each keeps one activation of `size` and drops a workspace), as many backwards. */
static struct run run_of(uint32_t layers, uint64_t size) {
    struct run run = {.recording = recording_open()};
    struct recording *recording = run.recording;
    uint32_t embed = recording_site(recording, "/u/model.py", "embed", 1);
    uint32_t forward = recording_site(recording, "/u/model.py", "layer", 2);
    uint32_t work = recording_site(recording, "/u/model.py", "attend", 3);
    uint32_t backward = recording_site(recording, "/u/model.py", "grad", 4);
    uint32_t end = 1 + 3 * layers + 2 * layers + 2, event = 1;
    recording_allocation(recording, event++, end, 1000, embed);
    for (uint32_t i = 0; i < layers; i++, event += 3) {
        recording_allocation(recording, event, 1 + 3 * layers + 2 * (layers - i), size, forward);
        recording_allocation(recording, event + 1, event + 2, 3 * size, work);
    }
    for (uint32_t i = 0; i < layers; i++, event += 2)
        recording_allocation(recording, event, end, size / 2, backward);
    recording_settle(recording, end + 1);
    assert_true(program_init(&run.program, &recording->trace, &recording->device, &recording->arena));
    return run;
}

static void test_layers_are_found(void **state) {
    (void)state;
    struct run small = run_of(2, 100), large = run_of(4, 100);
    struct alignment alignment;
    bool found;
    assert_true(alignment_init(&alignment, &small.program, &large.program, &small.recording->arena));
    assert_int_equal(alignment.small.count, small.program.n_ops);
    assert_true(alignment_find(&alignment, 2, &found, &small.recording->arena));
    assert_true(found && !alignment.endless);
    uint32_t inserted = 0;
    for (uint32_t i = 0; i < alignment.n_insertions; i++) {
        assert_int_equal(alignment.insertion[i].length, alignment.insertion[i].period * 2);
        inserted += alignment.insertion[i].length;
    }
    assert_int_equal(inserted, alignment.large.count - alignment.small.count);
    recording_close(large.recording);
    recording_close(small.recording);
}

/* No insertions turn a different program into this one. */
static void test_other_programs_do_not_align(void **state) {
    (void)state;
    struct run small = run_of(2, 100), large = run_of(4, 104);
    struct alignment alignment;
    bool found;
    large.recording->size[3] = 777;
    assert_true(alignment_init(&alignment, &small.program, &large.program, &small.recording->arena));
    assert_true(alignment_find(&alignment, 2, &found, &small.recording->arena));
    assert_false(found);
    recording_close(large.recording);
    recording_close(small.recording);
}

/* The peak of a program. */
static uint64_t peak_of(const struct program *program) {
    uint64_t used = 0, peak = 0;
    for (uint32_t i = 0; i < program->n_ops; i++) {
        uint64_t size = program->device->allocations.size[program_index(program->op[i])];
        used += program_kind(program->op[i]) == PROGRAM_ALLOCATE ? size : 0;
        used -= program_kind(program->op[i]) == PROGRAM_FREE ? size : 0;
        peak = used > peak ? used : peak;
    }
    return peak;
}

/* The program extrapolated to a number of layers equals the one that has them. */
static void test_layers_that_were_not_recorded(void **state) {
    (void)state;
    struct run small = run_of(2, 100), large = run_of(4, 100);
    for (uint32_t layers = 3; layers < 20; layers += 4) {
        struct extrapolation extrapolation;
        struct run real = run_of(layers, 100);
        assert_true(extrapolate(&extrapolation, &small.program, 2, &large.program, 4, layers,
                                &small.recording->arena));
        assert_null(extrapolation.refused);
        assert_true(extrapolation.layers.found);
        assert_int_equal(extrapolation.program.n_allocations, real.program.n_allocations);
        assert_int_equal(peak_of(&extrapolation.program), peak_of(&real.program));
        recording_close(real.recording);
    }
    recording_close(large.recording);
    recording_close(small.recording);
}

/* Sizes that grow with the batch, with its square, and not at all. */
static void test_sizes_that_were_not_recorded(void **state) {
    (void)state;
    struct run a = run_of(2, 100), b = run_of(2, 200);
    struct extrapolation extrapolation;
    b.recording->size[2] = 4 * a.recording->size[2];
    assert_true(extrapolate(&extrapolation, &a.program, 8, &b.program, 16, 24, &a.recording->arena));
    assert_null(extrapolation.refused);
    assert_int_equal(extrapolation.n_constant, 1);
    assert_int_equal(extrapolation.n_quadratic, 1);
    assert_int_equal(extrapolation.n_linear, 5 - 1 - 1 + 2);
    assert_int_equal(extrapolation.device.allocations.size[0], 1000);
    assert_int_equal(extrapolation.device.allocations.size[1], 300);
    assert_int_equal(extrapolation.device.allocations.size[2], 9 * 300);
    recording_close(b.recording);
    recording_close(a.recording);
}

static void test_other_requests_are_refused(void **state) {
    (void)state;
    struct run a = run_of(2, 100), b = run_of(2, 200);
    struct extrapolation extrapolation;
    b.recording->stack[1] = b.recording->stack[0];
    assert_true(extrapolate(&extrapolation, &a.program, 8, &b.program, 16, 24, &a.recording->arena));
    assert_non_null(extrapolation.refused);
    recording_close(b.recording);
    recording_close(a.recording);
}

static void test_lines_through_two_points(void **state) {
    (void)state;
    assert_int_equal(extrapolate_linear(100, 200, 8, 16, 24), 300);
    assert_int_equal(extrapolate_linear(100, 200, 8, 16, 8), 100);
    assert_int_equal(extrapolate_linear(100, 200, 8, 16, 4), 50);
    assert_int_equal(extrapolate_linear(100, 200, 8, 16, 0), 0);
    assert_int_equal(extrapolate_linear(200, 100, 8, 16, 20), 50);
    assert_int_equal(extrapolate_linear(200, 100, 8, 16, 100), 0); /* never below zero */
    assert_int_equal(extrapolate_linear(200, 100, 8, 16, 4), 250);
    assert_int_equal(extrapolate_linear(1, UINT64_MAX, 1, 2, UINT64_MAX), UINT64_C(1) << 60);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layers_are_found),
        cmocka_unit_test(test_other_programs_do_not_align),
        cmocka_unit_test(test_layers_that_were_not_recorded),
        cmocka_unit_test(test_sizes_that_were_not_recorded),
        cmocka_unit_test(test_other_requests_are_refused),
        cmocka_unit_test(test_lines_through_two_points),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
