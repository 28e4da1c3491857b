/*
 * Lets every allocation fail in turn, in all questions about a recording: filters, extents, groups, trees, comparisons
 * and causes. Each must answer "no memory", free all that it took, and give the right answer once there is memory
 * again.
 */
#include "recording.h"

#include "analysis/compare/causes.h"
#include "analysis/compare/compare.h"
#include "analysis/findings/selection.h"
#include "analysis/findings/verdicts.h"
#include "failing_host.h"
#include "layout/extent.h"
#include "layout/tree.h"

/* Two runs of one program: in the second a line has moved, a site is new, and one is kept longer. */
static struct timeline *program(struct recording *recording, bool second) {
    uint32_t main_ = recording_site(recording, "/home/u/train.py", "main", 10);
    uint32_t kept = recording_stack(recording, main_, "/home/u/block.py", "forward");
    uint32_t moved = recording_stack(recording, main_, "/home/u/attention.py", "forward");
    uint32_t fresh = second ? recording_stack(recording, main_, "/home/u/cache.py", "put") : 0;
    recording->trace.frames.frame[recording->trace.stacks.frame[moved]].line = second ? 21 : 20;
    recording_allocation(recording, 0, STAYS, 4096, 0);
    for (uint32_t i = 0; i < 40; i++) {
        recording_allocation(recording, 3 * i + 1, second ? 3 * i + 30 : 3 * i + 3, 1000 + i, kept);
        recording_allocation(recording, 3 * i + 2, 3 * i + 20, 500, moved);
        if (second)
            recording_allocation(recording, 3 * i + 3, STAYS, 64, fresh);
    }
    return recording_settle(recording, 160);
}

struct pair {
    struct timeline *a, *b;
    struct comparison wanted; /* made with enough memory */
};

static enum outcome done_or_not(bool done, bool right) {
    return !done ? NO_MEMORY : right ? DONE : WRONG;
}

/* ---- tasks ---- */

static enum outcome compare_task(struct arena_host host, const void *input) {
    const struct pair *pair = input;
    struct compare_side a = {.timeline = pair->a, .moment = pair->a->peak_moment},
                        b = {.timeline = pair->b, .moment = pair->b->peak_moment};
    struct comparison comparison;
    struct causes causes = {0};
    struct arena arena;
    arena_init(&arena, host, SIZE_MAX);
    bool done = compare_sites(&comparison, &a, &b, &arena) &&
                causes_find(&causes, &comparison, (struct cause_steps){0}, &arena);
    bool right =
        done && comparison.n_sites == pair->wanted.n_sites && causes.count != 0 &&
        memcmp(comparison.site, pair->wanted.site, comparison.n_sites * sizeof *comparison.site) == 0;
    arena_release(&arena);
    return done_or_not(done, right);
}

static enum outcome groups_task(struct arena_host host, const void *input) {
    const struct timeline *timeline = input;
    struct group *first, *second;
    struct compare_pair *pairs;
    uint32_t *allocations, n, n_first = 0, n_second, n_pairs = 0, n_within = 0;
    struct arena arena;
    arena_init(&arena, host, SIZE_MAX);
    bool done =
        extent_allocations(timeline, (struct extent){EXTENT_AT, 60, 0}, NULL, &arena, &allocations,
                           &n_within) &&
        compare_groups(timeline, allocations, n_within, COMPARE_BY_SITE, NULL, &arena, &first, &n_first) &&
        compare_within(timeline, allocations, &n_within, COMPARE_BY_SITE, first[0].key, NULL, &arena) &&
        extent_allocations(timeline, (struct extent){EXTENT_ALLOCATED, 10, 90}, NULL, &arena, &allocations,
                           &n) &&
        compare_groups(timeline, allocations, n, COMPARE_BY_SITE, NULL, &arena, &second, &n_second) &&
        compare_groups(timeline, allocations, n, COMPARE_BY_FILE, NULL, &arena, &second, &n_second) &&
        compare_pairs(first, n_first, first, n_first, &arena, &pairs, &n_pairs);
    bool right = done && n_pairs == n_first && n_within == first[0].count;
    arena_release(&arena);
    return done_or_not(done, right);
}

static enum outcome tree_task(struct arena_host host, const void *input) {
    const struct timeline *timeline = input;
    struct tree callees, callers;
    uint32_t *allocations, n;
    struct arena arena;
    arena_init(&arena, host, SIZE_MAX);
    bool done =
        extent_allocations(timeline, (struct extent){EXTENT_AT, 60, 0}, NULL, &arena, &allocations, &n) &&
        tree_against(&callees, timeline, allocations, n, NULL, 0, (struct tree_way){TREE_CALLEES, 0, 0},
                     &arena) &&
        tree_against(&callers, timeline, allocations, n, NULL, 0, (struct tree_way){TREE_CALLERS, 0, 0},
                     &arena);
    bool right =
        done && callees.node[0].bytes == timeline->live[60] && callers.node[0].bytes == timeline->live[60];
    arena_release(&arena);
    return done_or_not(done, right);
}

static enum outcome filter_task(struct arena_host host, const void *input) {
    static const char words[] =
        "file:attention size:>100 age:<1000 alive:peak own:yes category:other phase:x step:1";
    const struct timeline *timeline = input;
    struct filter_query query = {.text = words};
    struct filter_error error;
    struct selection selection;
    struct arena arena;
    if (!filter_parse(&query.filter, words, sizeof words - 1, &error))
        return WRONG;
    arena_init(&arena, host, SIZE_MAX);
    bool done = selection_make(&selection, timeline, &query, NULL, &arena);
    bool right = done && selection.timeline.peak_bytes <= timeline->peak_bytes;
    arena_release(&arena);
    return done_or_not(done, right);
}

static enum outcome verdicts_task(struct arena_host host, const void *input) {
    struct verdicts verdicts;
    struct arena arena;
    arena_init(&arena, host, SIZE_MAX);
    bool done = verdicts_init(&verdicts, input, &arena);
    arena_release(&arena);
    return done_or_not(done, true);
}

/* ---- tests ---- */

static void test_compare(void **state) {
    (void)state;
    struct recording *one = recording_open(), *two = recording_open();
    struct pair pair = {.a = program(one, false), .b = program(two, true)};
    struct compare_side a = {.timeline = pair.a, .moment = pair.a->peak_moment},
                        b = {.timeline = pair.b, .moment = pair.b->peak_moment};
    assert_true(compare_sites(&pair.wanted, &a, &b, &one->arena));
    assert_true(pair.wanted.n_sites >= 4);
    assert_true(fail_each(compare_task, &pair) >= 1);
    recording_close(one);
    recording_close(two);
}

static void test_questions(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    struct timeline *timeline = program(recording, true);
    assert_true(fail_each(groups_task, timeline) >= 1);
    assert_true(fail_each(tree_task, timeline) >= 1);
    assert_true(fail_each(filter_task, timeline) >= 1);
    assert_true(fail_each(verdicts_task, timeline) >= 1);
    recording_close(recording);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_compare), cmocka_unit_test(test_questions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
