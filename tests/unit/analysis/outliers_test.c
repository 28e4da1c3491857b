/* Hand-made profiles of ranks: which are compared, at which step, and which one differs from the others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/compare/outliers.h"
#include "base/numbers.h"
#include "memory_host.h"

enum { RANKS = 8, STEPS = 6, SITES = 3 };

/* Each rank runs STEPS equal steps; three call sites allocate in forward, backward and optimizer. */
struct ranks {
    struct arena arena;
    struct outlier_row row[RANKS];
    struct rank_profile profile[RANKS];
    struct rank_step step[RANKS][STEPS];
    struct rank_call call[RANKS][SITES];
    struct rank_table table[RANKS][STEPS];
    struct rank_entry entry[RANKS][STEPS][SITES];
};

static void rank_fill(struct ranks *ranks, uint32_t r) {
    struct rank_profile *profile = &ranks->profile[r];
    *profile = (struct rank_profile){.n_steps = STEPS,
                                     .n_calls = SITES,
                                     .n_tables = STEPS,
                                     .step = ranks->step[r],
                                     .call = ranks->call[r],
                                     .table = ranks->table[r],
                                     .oom_step = RANK_NO_STEP,
                                     .oom_phase = -1};
    for (uint32_t s = 0; s < SITES; s++)
        ranks->call[r][s] = (struct rank_call){.site = 100 + s};
    for (uint32_t i = 0; i < STEPS; i++) {
        ranks->step[r][i] = (struct rank_step){
            .number = i, .complete = true, .begin_bytes = GIB, .peak_bytes = 4 * GIB, .end_bytes = GIB};
        for (uint32_t s = 0; s < SITES; s++)
            ranks->entry[r][i][s] = (struct rank_entry){s, GIB / 4};
        ranks->table[r][i] = (struct rank_table){i, RANK_AT_END, GIB, SITES, ranks->entry[r][i]};
    }
    ranks->row[r] =
        (struct outlier_row){.profile = profile, .peak_bytes = 4 * GIB, .end_bytes = GIB, .n_events = 1000};
}

static void ranks_open(struct ranks *ranks) {
    *ranks = (struct ranks){0};
    arena_init(&ranks->arena, plain_host, SIZE_MAX);
    for (uint32_t r = 0; r < RANKS; r++)
        rank_fill(ranks, r);
}

static void ranks_judge(struct ranks *ranks, uint32_t n) {
    assert_true(outliers_find(ranks->row, n, &ranks->arena));
}

static void ranks_close(struct ranks *ranks) {
    arena_release(&ranks->arena);
}

static uint32_t count_odd(const struct ranks *ranks, uint32_t n) {
    uint32_t odd = 0;
    for (uint32_t r = 0; r < n; r++)
        for (uint32_t m = 0; m < OUTLIER_MEASURES; m++)
            odd += ranks->row[r].figure[m].odd || ranks->row[r].figure[m].higher;
    return odd;
}

static void test_equal_ranks_are_not_odd(void **state) {
    (void)state;
    struct ranks ranks;
    ranks_open(&ranks);
    ranks_judge(&ranks, RANKS);
    assert_int_equal(count_odd(&ranks, RANKS), 0);
    assert_int_equal(ranks.row[0].at_step, STEPS - 1);
    ranks_close(&ranks);
}

/* One rank holds more at the end of its steps, from one call site: that site is the difference, to the byte. */
static void test_one_holds_more(void **state) {
    (void)state;
    struct ranks ranks;
    ranks_open(&ranks);
    for (uint32_t i = 0; i < STEPS; i++) {
        ranks.step[5][i].end_bytes += GIB;
        ranks.table[5][i].total_bytes += GIB;
        ranks.entry[5][i][1].bytes += GIB;
    }
    ranks_judge(&ranks, RANKS);
    const struct outlier_row *row = &ranks.row[5];
    assert_int_equal(count_odd(&ranks, RANKS), 1);
    assert_true(row->figure[OUTLIER_END].odd);
    assert_int_equal(row->figure[OUTLIER_END].median, GIB);
    assert_int_equal(row->n_differences, 1);
    assert_int_equal(row->difference[0].site, 101);
    assert_int_equal(row->difference[0].bytes, GIB + GIB / 4);
    assert_int_equal(row->difference[0].median_bytes, GIB / 4);
    assert_int_equal(row->total_bytes - row->total_median_bytes, GIB);
    ranks_close(&ranks);
}

/* Differences of at most 1 MiB or at most 1 % are not reported. */
static void test_small_differences_are_not_reported(void **state) {
    (void)state;
    static const uint64_t more[] = {MIB, GIB / 100, GIB / 50};
    for (uint32_t k = 0; k < 3; k++) {
        struct ranks ranks;
        ranks_open(&ranks);
        for (uint32_t i = 0; i < STEPS; i++)
            ranks.step[2][i].end_bytes += more[k];
        ranks_judge(&ranks, RANKS);
        assert_int_equal(count_odd(&ranks, RANKS), k == 2);
        ranks_close(&ranks);
    }
}

/* The first step makes what stays, so growth is computed from the others: here +0 and +64 MiB, not +512 MiB too. */
static void test_growth_without_the_first_step(void **state) {
    (void)state;
    struct ranks ranks;
    ranks_open(&ranks);
    ranks.profile[1].n_steps = 4;
    ranks.step[1][0].end_bytes -= GIB / 2;
    ranks.step[1][3].end_bytes += 64 * MIB;
    ranks_judge(&ranks, RANKS);
    assert_int_equal(ranks.row[1].growth_bytes, 32 * MIB);
    ranks_close(&ranks);
}

/* Growth is the median of what steps leave, so a single step that allocates for good is no growth. */
static void test_growth(void **state) {
    (void)state;
    for (uint32_t grows = 0; grows < 2; grows++) {
        struct ranks ranks;
        ranks_open(&ranks);
        for (uint32_t i = 2; i < STEPS; i++) {
            uint64_t more = grows ? (i - 1) * (uint64_t)(64 * MIB) : 64 * MIB;
            ranks.step[1][i].end_bytes += more;
        }
        ranks_judge(&ranks, RANKS);
        assert_int_equal(ranks.row[1].growth_bytes, grows ? 64 * MIB : 0);
        ranks_close(&ranks);
    }
}

/* A rank that stopped early is compared with the others at the end of its own last step. */
static void test_a_rank_that_stopped_early(void **state) {
    (void)state;
    struct ranks ranks;
    ranks_open(&ranks);
    for (uint32_t r = 0; r < RANKS; r++)
        for (uint32_t i = 3; i < STEPS; i++)
            ranks.step[r][i].end_bytes = 3 * GIB;
    ranks.profile[4].n_steps = ranks.profile[4].n_tables = 3;
    ranks_judge(&ranks, RANKS);
    assert_int_equal(ranks.row[4].at_step, 2);
    assert_int_equal(ranks.row[4].median_steps, STEPS);
    assert_int_equal(ranks.row[4].figure[OUTLIER_END].median, GIB);
    assert_int_equal(ranks.row[0].figure[OUTLIER_END].median, 3 * GIB);
    assert_int_equal(count_odd(&ranks, RANKS), 0);
    ranks_close(&ranks);
}

/* Among two or three ranks the highest is only called higher than the second. */
static void test_few_ranks(void **state) {
    (void)state;
    for (uint32_t n = 1; n < 4; n++) {
        struct ranks ranks;
        ranks_open(&ranks);
        for (uint32_t i = 0; i < STEPS; i++)
            ranks.step[0][i].peak_bytes += n * GIB;
        ranks_judge(&ranks, n);
        const struct outlier_figure *peak = &ranks.row[0].figure[OUTLIER_PEAK];
        assert_true(peak->known && !peak->odd);
        assert_int_equal(peak->higher, n > 1);
        if (n > 1)
            assert_int_equal(peak->median, 4 * GIB);
        ranks_close(&ranks);
    }
}

/* A line that only one rank runs is the difference, and the median of the others is 0. */
static void test_a_line_of_one_rank(void **state) {
    (void)state;
    struct ranks ranks;
    struct rank_call calls[SITES + 1];
    struct rank_entry entries[SITES + 1];
    ranks_open(&ranks);
    for (uint32_t s = 0; s < SITES; s++) {
        calls[s] = ranks.call[3][s];
        entries[s] = ranks.entry[3][5][s];
    }
    calls[SITES] = (struct rank_call){.site = 999};
    entries[SITES] = (struct rank_entry){SITES, 80 * MIB};
    ranks.profile[3].call = calls;
    ranks.profile[3].n_calls = ranks.table[3][5].count = SITES + 1;
    ranks.table[3][5].entry = entries;
    ranks.step[3][5].end_bytes += 80 * MIB;
    ranks_judge(&ranks, RANKS);
    assert_true(ranks.row[3].figure[OUTLIER_END].odd);
    assert_int_equal(ranks.row[3].difference[0].site, 999);
    assert_int_equal(ranks.row[3].difference[0].bytes, 80 * MIB);
    assert_int_equal(ranks.row[3].difference[0].median_bytes, 0);
    ranks_close(&ranks);
}

/* ---- peers ---- */

static void peers_check(struct ranks *ranks, const uint32_t wanted[RANKS]) {
    ranks_judge(ranks, RANKS);
    for (uint32_t r = 0; r < RANKS; r++)
        assert_int_equal(ranks->row[r].peers, wanted[r]);
    ranks_close(ranks);
}

static void test_dumps_of_different_steps(void **state) {
    (void)state;
    struct ranks ranks;
    ranks_open(&ranks);
    for (uint32_t r = 0; r < RANKS; r++)
        ranks.row[r].of.key[PEER_DUMP] = r % 2 == 0 ? 500 : 1000;
    peers_check(&ranks, (const uint32_t[RANKS]){0, 1, 0, 1, 0, 1, 0, 1});
}

/* A dump and a role part ranks even from a single one; all other keys only where each value has two ranks. */
static void test_a_single_rank(void **state) {
    (void)state;
    for (enum peer_key key = PEER_DUMP; key < PEER_KEYS; key++) {
        struct ranks ranks;
        ranks_open(&ranks);
        for (uint32_t r = 0; r < RANKS; r++)
            ranks.row[r].of.key[key] = r == 7 ? 2 : 1;
        peers_check(&ranks, (const uint32_t[RANKS]){0, 0, 0, 0, 0, 0, 0, key <= PEER_GROUP});
    }
}

/* Places within stages; where a rank does not tell its place, places do not count. */
static void test_several_keys(void **state) {
    (void)state;
    static const uint32_t wanted[][RANKS] = {{0, 0, 1, 1, 2, 2, 3, 3}, {0, 0, 0, 0, 1, 1, 2, 2}};
    for (uint32_t unknown = 0; unknown < 2; unknown++) {
        struct ranks ranks;
        ranks_open(&ranks);
        for (uint32_t r = 0; r < RANKS; r++) {
            ranks.row[r].of.key[PEER_GROUP] = r < 4 ? 77 : 88;
            ranks.row[r].of.key[PEER_TP] = unknown && r == 2 ? 0 : 1 + r / 2;
        }
        peers_check(&ranks, wanted[unknown]);
    }
}

/* Four stages of two ranks, which differ by GiB. Only the rank that differs from its peer is odd. */
static void test_stages(void **state) {
    (void)state;
    struct ranks ranks;
    ranks_open(&ranks);
    for (uint32_t r = 0; r < RANKS; r++) {
        ranks.row[r].of.key[PEER_MODEL] = 1 + r / 2;
        for (uint32_t i = 0; i < STEPS; i++)
            ranks.step[r][i].peak_bytes = (4 + r / 2) * GIB + (r == 4 ? GIB / 2 : 0);
    }
    ranks_judge(&ranks, RANKS);
    assert_int_equal(count_odd(&ranks, RANKS), 1);
    assert_true(ranks.row[4].figure[OUTLIER_PEAK].odd);
    assert_int_equal(ranks.row[4].figure[OUTLIER_PEAK].median, 6 * GIB);
    ranks_close(&ranks);
}

/* ---- profiles ---- */

static void test_steps_of_a_profile(void **state) {
    (void)state;
    struct ranks ranks;
    ranks_open(&ranks);
    struct rank_profile *profile = &ranks.profile[0];
    for (uint32_t i = 0; i < STEPS; i++)
        ranks.step[0][i].number = 10 + 2 * i;
    ranks.step[0][STEPS - 1].complete = false;
    assert_int_equal(rank_last_step(profile), 10 + 2 * (STEPS - 2));
    assert_int_equal(rank_complete_steps(profile), STEPS - 1);
    assert_ptr_equal(rank_step_of(profile, 14), &ranks.step[0][2]);
    assert_null(rank_step_of(profile, 13));
    assert_null(rank_table_of(profile, 4, RANK_AT_PEAK));
    assert_ptr_equal(rank_table_of(profile, 4, RANK_AT_END), &ranks.table[0][4]);
    profile->n_steps = 0;
    assert_int_equal(rank_last_step(profile), RANK_NO_STEP);
    ranks_close(&ranks);
}

/* The first eight of n steps, then two for each doubling: about 2 log2(n). */
static void test_steps_that_keep_tables(void **state) {
    (void)state;
    uint32_t kept = 0, doubling = 0;
    for (uint32_t i = 0; i < 1024; i++) {
        if ((i & (i - 1)) == 0 && i > 8) {
            assert_int_equal(doubling, 2);
            doubling = 0;
        }
        kept += rank_step_is_kept(i);
        doubling += i >= 8 && rank_step_is_kept(i);
        assert_true(i >= 8 || rank_step_is_kept(i));
    }
    assert_int_equal(kept, 8 + 2 * 7);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_ranks_are_not_odd),
        cmocka_unit_test(test_one_holds_more),
        cmocka_unit_test(test_small_differences_are_not_reported),
        cmocka_unit_test(test_growth),
        cmocka_unit_test(test_growth_without_the_first_step),
        cmocka_unit_test(test_a_rank_that_stopped_early),
        cmocka_unit_test(test_few_ranks),
        cmocka_unit_test(test_a_line_of_one_rank),
        cmocka_unit_test(test_dumps_of_different_steps),
        cmocka_unit_test(test_a_single_rank),
        cmocka_unit_test(test_several_keys),
        cmocka_unit_test(test_stages),
        cmocka_unit_test(test_steps_of_a_profile),
        cmocka_unit_test(test_steps_that_keep_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
