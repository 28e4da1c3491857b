/* Pipeline stages of ranks, by the signature of each rank's model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/compare/stages.h"
#include "memory_host.h"

#include <stdlib.h>
#include <string.h>

enum { RANKS_MOST = 16 };

/* One letter for each rank's model; `wanted`: one digit for its stage. */
static void check(const char *models, const char *wanted) {
    struct stage_row rows[RANKS_MOST];
    uint32_t stage[RANKS_MOST], n = (uint32_t)strlen(models);
    struct arena arena;
    arena_init(&arena, plain_host, SIZE_MAX);
    for (uint32_t i = 0; i < n; i++) /* backwards: the order of rows does not matter */
        rows[n - 1 - i] = (struct stage_row){.step = 3, .rank = i, .signature = (uint64_t)models[i]};
    assert_true(stages_find(rows, n, &arena, stage));
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(stage[n - 1 - i], wanted[i] - '0');
    arena_release(&arena);
}

static void test_stages(void **state) {
    (void)state;
    check("aaaa", "0000");
    check("aabbccdd", "00112233");
    check("aaaabb", "000011"); /* blocks of two divide both */
    check("aaab", "0000");     /* one odd rank */
    check("abbbbbbb", "00000000");
    check("aabbaabb", "00000000"); /* one model in two parts */
    check("abcd", "0000");
    check("aabbb", "00000");
}

static void test_unknown_ranks(void **state) {
    (void)state;
    struct stage_row rows[] = {{1, 0, 5}, {1, 1, 5}, {1, -1, 6}, {1, 3, 6},
                               {2, 0, 5}, {2, 1, 5}, {2, 2, 6},  {2, 3, 6}};
    static const uint32_t wanted[] = {0, 0, 0, 0, 0, 0, 1, 1};
    uint32_t stage[8];
    struct arena arena;
    arena_init(&arena, plain_host, SIZE_MAX);
    assert_true(stages_find(rows, 8, &arena, stage));
    assert_memory_equal(stage, wanted, sizeof wanted);
    arena_release(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_stages), cmocka_unit_test(test_unknown_ranks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
