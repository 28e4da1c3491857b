/* What rises from step to step: sums at the ends of ten events each, and the verdict on them. */
#include "recording.h"

#include "analysis/loop/growth.h"

enum { TURN = 10, STEPS_MOST = 12 };

/* Steps of ten events, named by annotations. */
static struct growth growth_of(struct recording *recording, uint32_t n_steps) {
    struct growth growth;
    for (uint32_t i = 0; i < n_steps; i++) {
        recording_annotation(recording, i * TURN, "ProfilerStep#0", ANNOTATION_START);
        if (i + 1 == n_steps)
            recording_annotation(recording, n_steps * TURN, "ProfilerStep#0", ANNOTATION_END);
    }
    recording_settle(recording, n_steps * TURN + 5);
    assert_true(growth_find(&growth, &recording->timeline, &recording->arena));
    assert_int_equal(growth.steps.count, n_steps);
    return growth;
}

/* In the middle of a step: a moment. */
static uint32_t in_step(uint32_t step) {
    return step * TURN + 5;
}

/* One allocation per step, freed when the next comes, of these sizes: as torch.cat does it. */
static struct growth growth_of_replaced(struct recording *recording, const uint64_t *sizes,
                                        uint32_t n_steps) {
    uint32_t stack = recording_stack(recording, 0, "/home/u/buffer.py", "extend");
    for (uint32_t i = 0; i < n_steps; i++)
        if (sizes[i] != 0)
            recording_allocation(recording, in_step(i), i + 1 == n_steps ? STAYS : in_step(i + 1) + 1,
                                 sizes[i], stack);
    return growth_of(recording, n_steps);
}

static void assert_replaced(const uint64_t *sizes, uint32_t n_steps, uint64_t risen, uint32_t first_step) {
    struct recording *recording = recording_open();
    struct growth growth = growth_of_replaced(recording, sizes, n_steps);
    assert_true(growth.judged);
    assert_int_equal(growth.n_rising, risen != 0);
    if (risen != 0) {
        assert_int_equal(growth.sites[0].kind, GROWTH_RISES);
        assert_true(growth.sites[0].replaced);
        assert_int_equal(growth.sites[0].risen_bytes, risen);
        assert_int_equal(growth.sites[0].first_step, first_step);
        assert_int_equal(growth.sites[0].slope_bytes, risen / growth.sites[0].n_steps);
        assert_int_equal(growth.sites[0].count, 1);
    }
    recording_close(recording);
}

static void test_what_is_replaced_by_more(void **state) {
    (void)state;
    assert_replaced((const uint64_t[]){100, 200, 300, 400}, 4, 300, 1); /* three rises, alike */
    assert_replaced((const uint64_t[]){100, 150, 250, 300}, 4, 200, 1); /* the largest is twice the least */
    assert_replaced((const uint64_t[]){0, 0, 100, 200, 300, 400}, 6, 300, 3);     /* it begins later */
    assert_replaced((const uint64_t[]){100, 100, 100, 200, 300, 400}, 6, 300, 3); /* it stood still before */
    assert_replaced((const uint64_t[]){10, 20, 400, 410, 900, 901}, 6, 891, 1);   /* five rises, uneven */
}

static void test_what_is_replaced_and_does_not_rise(void **state) {
    (void)state;
    assert_replaced((const uint64_t[]){100, 110, 300, 310}, 4, 0, 0);           /* three rises by chance */
    assert_replaced((const uint64_t[]){100, 110, 300, 310, 900}, 5, 0, 0);      /* four */
    assert_replaced((const uint64_t[]){100, 200, 300, 400, 400}, 5, 0, 0);      /* it has stopped */
    assert_replaced((const uint64_t[]){500, 100, 200, 300, 400, 501}, 6, 0, 0); /* it has fallen before */
    assert_replaced((const uint64_t[]){100, 0, 200, 300, 400, 500}, 6, 0,
                    0); /* it was not there for a step */
    assert_replaced((const uint64_t[]){100, 100, 100, 100}, 4, 0, 0);
}

/* Leaks 64 in each step from the second on. */
static void leak_add(struct recording *recording, uint32_t from, uint32_t to, uint32_t stack) {
    for (uint32_t i = from; i < to; i++)
        recording_allocation(recording, in_step(i), STAYS, 64, stack);
}

static void test_what_stays(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    leak_add(recording, 1, 7, recording_stack(recording, 0, "/home/u/metrics.py", "remember"));
    struct growth growth = growth_of(recording, 7);
    const struct growth_site *site = &growth.sites[0];
    assert_int_equal(growth.n_rising, 1);
    assert_false(site->replaced);
    assert_int_equal(site->first_step, 1);
    assert_int_equal(site->n_steps, 5); /* the last step's is not seen to stay */
    assert_int_equal(site->risen_bytes, 5 * 64);
    assert_int_equal(site->slope_bytes, 64);
    assert_int_equal(site->count, 5);
    assert_int_equal(growth.step[6].carried_bytes, 6 * 64);
    assert_int_equal(growth.step[6].peak_bytes, 6 * 64);
    assert_int_equal(growth.carried_in, 0);
    recording_close(recording);
}

static void test_what_has_risen_and_stopped(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    leak_add(recording, 0, 4, recording_stack(recording, 0, "/home/u/cache.py", "fill"));
    struct growth growth = growth_of(recording, 9);
    assert_int_equal(growth.n_rising, 0);
    assert_int_equal(growth.n_sites, 1);
    assert_int_equal(growth.sites[0].kind, GROWTH_ROSE);
    assert_int_equal(growth.sites[0].risen_bytes, 4 * 64);
    recording_close(recording);
}

/* Weights from before the loop, state of the first step, and batches that every step replaces. */
static void test_what_a_healthy_run_keeps(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    uint32_t weight = recording_stack(recording, 0, "/home/u/model.py", "build"),
             batch = recording_stack(recording, 0, "/home/u/data.py", "next"),
             adam = recording_stack(recording, recording_stack(recording, 0, "/home/u/train.py", "step"),
                                    "/usr/lib/python3/site-packages/torch/optim/adamw.py", "_init_group");
    recording_allocation(recording, 0, STAYS, 4096, weight);
    for (uint32_t i = 0; i < 8; i++) {
        recording_allocation(recording, i * TURN + 2, (i + 1) * TURN + 3, 512, batch);
        if (i == 0)
            recording_allocation(recording, in_step(i), STAYS, 8192, adam);
    }
    struct growth growth = growth_of(recording, 8);
    assert_true(growth.judged);
    assert_int_equal(growth.n_rising, 0);
    assert_int_equal(growth.n_sites, 1);
    assert_int_equal(growth.sites[0].kind, GROWTH_KEPT);
    assert_int_equal(growth.sites[0].risen_bytes, 8192);
    assert_true(growth.sites[0].optimizer);
    assert_int_equal(growth.carried_in, 4096);
    assert_true(growth.step[0].warm_up);
    assert_false(growth.step[1].warm_up);
    recording_close(recording);
}

/* The largest first, and what rises before what only did. */
static void test_the_order_of_sites(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    uint32_t small = recording_stack(recording, 0, "/home/u/a.py", "a"),
             large = recording_stack(recording, 0, "/home/u/b.py", "b"),
             stopped = recording_stack(recording, 0, "/home/u/c.py", "c");
    for (uint32_t i = 0; i < 8; i++) {
        recording_allocation(recording, in_step(i), STAYS, 10, small);
        recording_allocation(recording, in_step(i), STAYS, 30, large);
        if (i < 4)
            recording_allocation(recording, in_step(i), STAYS, 1000, stopped);
    }
    struct growth growth = growth_of(recording, 8);
    assert_int_equal(growth.n_rising, 2);
    assert_int_equal(growth.n_sites, 3);
    assert_int_equal(growth.sites[0].stack, large);
    assert_int_equal(growth.sites[1].stack, small);
    assert_int_equal(growth.sites[2].stack, stopped);
    recording_close(recording);
}

static void test_too_few_steps(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    leak_add(recording, 0, 3, recording_stack(recording, 0, "/home/u/metrics.py", "remember"));
    assert_false(growth_of(recording, 3).judged);
    recording_close(recording);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_replaced_by_more),
        cmocka_unit_test(test_what_is_replaced_and_does_not_rise),
        cmocka_unit_test(test_what_stays),
        cmocka_unit_test(test_what_has_risen_and_stopped),
        cmocka_unit_test(test_what_a_healthy_run_keeps),
        cmocka_unit_test(test_the_order_of_sites),
        cmocka_unit_test(test_too_few_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
