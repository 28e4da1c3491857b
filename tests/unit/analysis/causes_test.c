/* Why two recordings differ: comparisons made site by site, each with one change. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/compare/causes.h"
#include "analysis/loop/category.h"
#include "base/numbers.h"
#include "memory_host.h"

enum { SITES = 6 };
static const struct cause_steps ten_steps = {10, 10};

struct made {
    struct arena arena;
    struct compare_site site[SITES];
    struct comparison comparison;
    struct causes causes;
};

/* A site that makes one allocation of 1 MiB in each of ten steps and has one of them at the moment. */
static struct site_profile usual(uint32_t frame) {
    return (struct site_profile){.site = frame,
                                 .bytes = MIB,
                                 .count = 1,
                                 .largest = MIB,
                                 .made = 10,
                                 .made_bytes = 10 * MIB,
                                 .in_steps = 10,
                                 .least_bytes = MIB,
                                 .most_bytes = MIB,
                                 .lifetime_bits = 10 * 1024,
                                 .parts = 1u << SIDE_FORWARD | 1u << SIDE_BACKWARD};
}

static const struct site_profile nothing = {.site = COMPARE_NONE};

static void made_open(struct made *made) {
    *made = (struct made){0};
    arena_init(&made->arena, plain_host, SIZE_MAX);
    for (uint32_t i = 0; i < SITES; i++)
        made->site[i] = (struct compare_site){usual(i), usual(i), SITE_SAME, CHANGE_SAME};
}

/* Changes a site's sizes; `halves` is the factor in units of 1/2. */
static void resize(struct site_profile *profile, uint64_t halves) {
    profile->bytes = profile->bytes * halves / 2;
    profile->largest = profile->largest * halves / 2;
    profile->made_bytes = profile->made_bytes * halves / 2;
    profile->least_bytes = profile->least_bytes * halves / 2;
    profile->most_bytes = profile->most_bytes * halves / 2;
}

static void made_find(struct made *made, struct cause_steps steps) {
    made->comparison = (struct comparison){.n_sites = SITES, .n_listed = SITES, .site = made->site};
    assert_true(causes_find(&made->causes, &made->comparison, steps, &made->arena));
}

/* The only cause; checks that there is no other, and releases the arena. */
static struct cause only_cause(struct made *made) {
    made_find(made, ten_steps);
    assert_int_equal(made->causes.count, 1);
    struct cause cause = made->causes.cause[0];
    arena_release(&made->arena);
    return cause;
}

static void test_no_difference_has_no_cause(void **state) {
    (void)state;
    struct made made;
    made_open(&made);
    made_find(&made, ten_steps);
    assert_int_equal(made.causes.count, 0);
    arena_release(&made.arena);
}

static void test_new_and_gone(void **state) {
    (void)state;
    struct made made;
    made_open(&made);
    made.site[2].a = nothing;
    struct cause cause = only_cause(&made);
    assert_int_equal(cause.kind, CAUSE_NEW);
    assert_int_equal(cause.bytes, MIB);
    made_open(&made);
    made.site[3].b = nothing;
    cause = only_cause(&made);
    assert_int_equal(cause.kind, CAUSE_GONE);
    assert_int_equal(cause.bytes, -(int64_t)MIB);
    assert_int_equal(cause.row, 3);
}

static void test_another_size(void **state) {
    (void)state;
    struct made made;
    made_open(&made);
    resize(&made.site[1].b, 3);
    struct cause cause = only_cause(&made);
    assert_int_equal(cause.kind, CAUSE_SIZE);
    assert_int_equal(cause.from, MIB);
    assert_int_equal(cause.to, MIB * 3 / 2);
    assert_false(cause.mean);
}

static void test_more_often(void **state) {
    (void)state;
    struct made made;
    made_open(&made);
    made.site[1].b.made = made.site[1].b.in_steps = 30;
    made.site[1].b.made_bytes = 30 * MIB;
    made.site[1].b.bytes = 3 * MIB;
    made.site[1].b.count = 3;
    struct cause cause = only_cause(&made);
    assert_int_equal(cause.kind, CAUSE_OFTEN);
    assert_true(cause.per_step);
    assert_int_equal(cause.from, 1);
    assert_int_equal(cause.to, 3);
}

/* A third more allocations a step do not make nine times as many stay alive: these live longer. */
static void test_more_often_explains_too_little(void **state) {
    (void)state;
    struct made made;
    made_open(&made);
    made.site[1].a.made = made.site[1].a.in_steps = 30;
    made.site[1].b.made = made.site[1].b.in_steps = 40;
    made.site[1].a.made_bytes = 30 * MIB;
    made.site[1].b.made_bytes = 40 * MIB;
    made.site[1].a.lifetime_bits = 30 * 1024;
    made.site[1].b.lifetime_bits = 40 * 1280;
    made.site[1].b.bytes = 9 * MIB;
    made.site[1].b.count = 9;
    assert_int_equal(only_cause(&made).kind, CAUSE_KEPT);
}

/* Over the run the sizes are the same, but one moment has larger ones than the other. */
static void test_other_sizes_at_the_moments(void **state) {
    (void)state;
    struct made made;
    made_open(&made);
    made.site[1].a.most_bytes = made.site[1].b.most_bytes = 4 * MIB;
    made.site[1].b.bytes = made.site[1].b.largest = 4 * MIB;
    struct cause cause = only_cause(&made);
    assert_int_equal(cause.kind, CAUSE_SIZE);
    assert_int_equal(cause.from, MIB);
    assert_int_equal(cause.to, 4 * MIB);
}

/* Twice as many steps make twice as many allocations, which is no cause. */
static void test_a_longer_run(void **state) {
    (void)state;
    struct made made;
    made_open(&made);
    made.site[1].b.made = 20;
    made.site[1].b.made_bytes = 20 * MIB;
    made.site[1].b.lifetime_bits = 20 * 1024;
    made.site[1].b.bytes = 2 * MIB;
    made.site[1].b.count = 2;
    made_find(&made, (struct cause_steps){10, 20});
    assert_int_equal(made.causes.count, 1);
    assert_int_equal(made.causes.cause[0].kind, CAUSE_MOMENT);
    arena_release(&made.arena);
}

static void test_kept_longer(void **state) {
    (void)state;
    struct made made;
    made_open(&made);
    made.site[4].b.bytes = 2 * MIB;
    made.site[4].b.count = 2;
    made.site[4].b.lifetime_bits += 10 * 256; /* twice as long */
    struct cause cause = only_cause(&made);
    assert_int_equal(cause.kind, CAUSE_KEPT);
}

static void test_older_than_the_recording(void **state) {
    (void)state;
    struct made made;
    made_open(&made);
    made.site[4].b.bytes = 3 * MIB;
    made.site[4].b.count = 3;
    made.site[4].b.older = made.site[4].b.at_end = 2;
    struct cause cause = only_cause(&made);
    assert_int_equal(cause.kind, CAUSE_OLDER);
    assert_int_equal(cause.from, 0);
    assert_int_equal(cause.to, 2);
}

/* Three sites that change by the same factor are one cause; two sites are two causes. */
static void test_one_factor_at_many_sites(void **state) {
    (void)state;
    for (uint32_t n = 2; n < 4; n++) {
        struct made made;
        made_open(&made);
        for (uint32_t i = 0; i < n; i++)
            resize(&made.site[i].b, 3);
        made_find(&made, ten_steps);
        assert_int_equal(made.causes.count, n == 2 ? 2 : 1);
        assert_int_equal(made.causes.cause[0].n_sites, n == 2 ? 1 : 3);
        assert_int_equal(made.causes.cause[0].bytes, n == 2 ? MIB / 2 : 3 * MIB / 2);
        arena_release(&made.arena);
    }
}

/* If all sizes are halved, weights included, the data type changed; without the weights, the batch did. */
static void test_a_data_type(void **state) {
    (void)state;
    for (uint32_t weights = 0; weights < 2; weights++) {
        struct made made;
        made_open(&made);
        made.site[0].a.categories = made.site[0].b.categories =
            weights ? 1u << CATEGORY_PARAMETER : 1u << CATEGORY_ACTIVATION;
        for (uint32_t i = 0; i < SITES; i++)
            resize(&made.site[i].b, 1);
        assert_int_equal(only_cause(&made).kind, weights ? CAUSE_DTYPE : CAUSE_SIZE);
    }
}

/* With twice the sequence length, tensors that depend on its square have four times the size, and are explained by
 * it. */
static void test_consequences(void **state) {
    (void)state;
    struct made made;
    made_open(&made);
    for (uint32_t i = 0; i < 3; i++)
        resize(&made.site[i].b, 4);
    resize(&made.site[3].b, 8);
    made_find(&made, ten_steps);
    assert_int_equal(made.causes.count, 2);
    assert_false(made.causes.cause[0].follows);
    assert_true(made.causes.cause[1].follows);
    assert_int_equal(made.causes.cause[1].row, 3);
    arena_release(&made.arena);
}

/* Only B runs a backward: all of its allocations are one cause. */
static void test_a_phase_of_one_side(void **state) {
    (void)state;
    struct made made;
    made_open(&made);
    for (uint32_t i = 0; i < SITES; i++) {
        made.site[i].a.parts = made.site[i].b.parts = 1u << SIDE_FORWARD;
        if (i < 2) {
            made.site[i].a = nothing;
            made.site[i].b.parts = 1u << SIDE_BACKWARD;
        }
    }
    struct cause cause = only_cause(&made);
    assert_int_equal(cause.kind, CAUSE_PHASE);
    assert_int_equal(cause.phase, SIDE_BACKWARD);
    assert_int_equal(cause.n_sites, 2);
    assert_int_equal(cause.bytes, 2 * MIB);
    assert_int_equal(cause.from, 0);
}

/* A site that moved to another line without a difference in bytes is listed last. */
static void test_a_moved_site(void **state) {
    (void)state;
    struct made made;
    made_open(&made);
    made.site[0].match = SITE_MOVED;
    resize(&made.site[5].b, 3);
    made_find(&made, ten_steps);
    assert_int_equal(made.causes.count, 2);
    assert_int_equal(made.causes.cause[1].kind, CAUSE_MOVED);
    assert_int_equal(made.causes.cause[1].bytes, 0);
    arena_release(&made.arena);
}

static void test_highest_moments_of_phases(void **state) {
    (void)state;
    struct span a[] = {{.kind = SPAN_FORWARD, .peak_bytes = 5, .peak_moment = 10},
                       {.kind = SPAN_BACKWARD, .peak_bytes = 9, .peak_moment = 20},
                       {.kind = SPAN_FORWARD, .peak_bytes = 7, .peak_moment = 30},
                       {.kind = SPAN_FORWARD, .peak_bytes = 7, .peak_moment = 40}};
    struct span b[] = {{.kind = SPAN_FORWARD, .peak_bytes = 0, .peak_moment = 3}};
    struct phase_peak peaks[PHASE_PEAKS];
    phase_peaks_find(peaks, &(struct spans){4, 0, a}, &(struct spans){1, 0, b});
    assert_true(peaks[0].known);
    assert_int_equal(peaks[0].a_bytes, 7);
    assert_int_equal(peaks[0].a_moment, 30); /* the first of the highest moments */
    assert_int_equal(peaks[0].b_moment, 3);
    assert_false(peaks[1].known);
    assert_false(peaks[2].known);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_difference_has_no_cause),
        cmocka_unit_test(test_new_and_gone),
        cmocka_unit_test(test_another_size),
        cmocka_unit_test(test_more_often),
        cmocka_unit_test(test_more_often_explains_too_little),
        cmocka_unit_test(test_other_sizes_at_the_moments),
        cmocka_unit_test(test_a_longer_run),
        cmocka_unit_test(test_kept_longer),
        cmocka_unit_test(test_older_than_the_recording),
        cmocka_unit_test(test_one_factor_at_many_sites),
        cmocka_unit_test(test_a_data_type),
        cmocka_unit_test(test_consequences),
        cmocka_unit_test(test_a_phase_of_one_side),
        cmocka_unit_test(test_a_moved_site),
        cmocka_unit_test(test_highest_moments_of_phases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
