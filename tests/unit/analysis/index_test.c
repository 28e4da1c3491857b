/* The findings of an index: rows that differ from the others, findings that reports share, copies, and their
 * order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/compare/index.h"
#include "base/numbers.h"
#include "memory_host.h"

#include <stdio.h>
#include <string.h>

enum { ROWS = 6 };

struct many {
    struct arena arena;
    struct index index;
    char names[ROWS][16];
};

/* Ranks with a peak of 10 GiB each, as from their sidecars. */
static void many_open(struct many *many) {
    *many = (struct many){0};
    arena_init(&many->arena, plain_host, SIZE_MAX);
    many->index.arena = &many->arena;
    for (uint32_t i = 0; i < ROWS; i++) {
        snprintf(many->names[i], sizeof many->names[i], "rank%u", (unsigned)i);
        const struct index_row row = {.is_snapshot = true,
                                      .has_allocations = true,
                                      .input = many->names[i],
                                      .name = many->names[i],
                                      .recording_id = many->names[i],
                                      .rank = i,
                                      .step = INDEX_UNKNOWN,
                                      .local_rank = INDEX_UNKNOWN,
                                      .place = {INDEX_UNKNOWN, INDEX_UNKNOWN, INDEX_UNKNOWN},
                                      .n_events = 1000,
                                      .peak_bytes = 10 * GIB,
                                      .end_bytes = 2 * GIB,
                                      .profile = {.oom_step = RANK_NO_STEP, .oom_phase = -1}};
        assert_true(index_add_row(&many->index, &row));
    }
}

static const struct index *analysed(struct many *many) {
    index_sort(&many->index);
    assert_true(index_mark_copies(&many->index) && index_analyse(&many->index) &&
                index_choose_medians(&many->index));
    return &many->index;
}

static void many_close(struct many *many) {
    arena_release(&many->arena);
}

static void test_nothing_differs(void **state) {
    (void)state;
    struct many many;
    many_open(&many);
    const struct index *index = analysed(&many);
    assert_int_equal(index->n_findings, 0);
    many_close(&many);
}

static void test_one_rank_is_odd(void **state) {
    (void)state;
    struct many many;
    many_open(&many);
    many.index.rows[3].peak_bytes = 14 * GIB;
    const struct index *index = analysed(&many);
    assert_int_equal(index->n_findings, 1);
    const struct index_finding *finding = &index->findings[0];
    assert_int_equal(finding->about, INDEX_OF_RANK);
    assert_string_equal(finding->kind, "rank_odd");
    assert_int_equal(finding->severity, SEVERITY_HIGH);
    assert_int_equal(finding->confidence, CONFIDENCE_CERTAIN);
    assert_int_equal(finding->bytes, 4 * GIB);
    assert_int_equal(finding->n_rows, 1);
    assert_int_equal(finding->rows[0], 3);
    assert_int_not_equal(finding->against, 3);
    assert_int_not_equal(finding->against, INDEX_NOBODY);
    assert_string_equal(finding->title, "rank 3 peaks 4.0 GiB above the median");
    many_close(&many);
}

/* Rows that ran out of memory come first, then severe findings. Notes on a recording are left out. */
static void test_order_and_uniting(void **state) {
    (void)state;
    struct many many;
    struct index_note notes[3] = {
        {"leak", "it leaks", "train.py:1 f", "#at=1", SEVERITY_MEDIUM, CONFIDENCE_LIKELY, false, MIB},
        {"out_of_memory", "1.0 GiB requested", "", "", SEVERITY_HIGH, CONFIDENCE_CERTAIN, true, GIB},
        {"history_full", "it is full", "", "", SEVERITY_INFO, CONFIDENCE_CERTAIN, false, 0}};
    struct index_note held = {"held_over", "kept", "train.py:2 g", "", SEVERITY_HIGH, CONFIDENCE_LIKELY,
                              false,       5};
    many_open(&many);
    for (uint32_t i = 1; i < 4; i++) {
        many.index.rows[i].notes = notes;
        many.index.rows[i].n_notes = 3;
    }
    many.index.rows[5].notes = &held;
    many.index.rows[5].n_notes = 1;
    many.index.rows[2].n_ooms = 1;
    many.index.rows[2].oom_requested_bytes = many.index.rows[2].oom_free_bytes = OOM_UNKNOWN;
    const struct index *index = analysed(&many);
    assert_int_equal(index->n_findings, 3);
    assert_int_equal(index->findings[0].about, INDEX_OF_OOM);
    assert_int_equal(index->findings[0].rows[0], 2);
    assert_string_equal(index->findings[1].kind, "held_over");
    assert_int_equal(index->findings[2].about, INDEX_OF_REPORTS);
    assert_int_equal(index->findings[2].severity, SEVERITY_MEDIUM);
    assert_int_equal(index->findings[2].n_rows, 3);
    assert_string_equal(index->findings[2].title, "ranks 1-3: it leaks");
    assert_string_equal(index->findings[2].detail, "it leaks");
    many_close(&many);
}

static void test_a_copy_counts_once(void **state) {
    (void)state;
    struct many many;
    struct index_note leak = {"leak",        "it leaks",        "a.py:1 f", "",
                              SEVERITY_HIGH, CONFIDENCE_LIKELY, false,      MIB};
    many_open(&many);
    many.index.rows[5].recording_id = "rank4";
    many.index.rows[5].rank = INDEX_UNKNOWN;
    for (uint32_t i = 4; i < 6; i++) {
        many.index.rows[i].notes = &leak;
        many.index.rows[i].n_notes = 1;
    }
    const struct index *index = analysed(&many);
    assert_int_equal(index->n_copies, 1);
    assert_string_equal(index->rows[5].copy_of, "rank4");
    assert_int_equal(index->n_findings, 1);
    assert_int_equal(index->findings[0].n_rows, 1);
    many_close(&many);
}

/* Settings that all replayed rows have (copies aside), each with the highest need of any row; served if all rows
 * are. */
static void test_one_setting_for_all(void **state) {
    (void)state;
    struct many many;
    struct plan_need first[] = {
        {"recorded", 9 * GIB, true}, {"default", 7 * GIB, true}, {"only here", GIB, true}};
    struct plan_need second[] = {{"default", 8 * GIB, true}, {"recorded", 6 * GIB, true}};
    struct plan_need copy[] = {{"recorded", 90 * GIB, false}, {"default", 90 * GIB, false}};
    many_open(&many);
    assert_true(index_unite_settings(&many.index));
    assert_int_equal(many.index.n_planned, 0);
    assert_null(plan_need_best(many.index.together, many.index.n_together));
    many.index.rows[0].settings = first;
    many.index.rows[0].n_settings = 3;
    many.index.rows[2].settings = second;
    many.index.rows[2].n_settings = 2;
    many.index.rows[3].settings = copy;
    many.index.rows[3].n_settings = 2;
    many.index.rows[3].copy_of = "rank2";
    assert_true(index_unite_settings(&many.index));
    assert_int_equal(many.index.n_planned, 2);
    assert_int_equal(many.index.n_together, 2);
    assert_string_equal(many.index.together[0].settings, "recorded");
    assert_int_equal(many.index.together[0].peak_bytes, 9 * GIB);
    assert_string_equal(plan_need_best(many.index.together, many.index.n_together)->settings, "default");
    assert_int_equal(plan_need_best(many.index.together, many.index.n_together)->peak_bytes, 8 * GIB);
    /* A setting that serves all rows goes before one that needs less. */
    second[0].served = false;
    many.index.n_planned = 0;
    assert_true(index_unite_settings(&many.index));
    assert_string_equal(plan_need_best(many.index.together, many.index.n_together)->settings, "recorded");
    many_close(&many);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_differs),     cmocka_unit_test(test_one_rank_is_odd),
        cmocka_unit_test(test_order_and_uniting),   cmocka_unit_test(test_a_copy_counts_once),
        cmocka_unit_test(test_one_setting_for_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
