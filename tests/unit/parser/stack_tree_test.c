/* Stacks while they are read, compared one by one with plain lists of frames. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dice.h"
#include "memory_host.h"
#include "parser/stack_tree.h"

#include <string.h>

enum { N_STACKS = 600, MOST_FRAMES = 12 };

struct list {
    uint32_t frame[MOST_FRAMES], count; /* innermost first */
    uint32_t id;
};

static struct list lists[N_STACKS];
static struct dice dice;

/* From few frames, so that many stacks begin alike, or from many, so that almost none do. */
static void lists_make(uint32_t n_frames) {
    for (uint32_t i = 0; i < N_STACKS; i++) {
        lists[i].count = dice_below(&dice, MOST_FRAMES + 1);
        for (uint32_t k = 0; k < lists[i].count; k++)
            lists[i].frame[k] = 1 + dice_below(&dice, n_frames);
    }
}

static bool lists_equal(const struct list *a, const struct list *b) {
    return a->count == b->count && memcmp(a->frame, b->frame, a->count * sizeof *a->frame) == 0;
}

static void tree_fill(struct stack_tree *tree, struct arena *arena) {
    for (uint32_t i = 0; i < N_STACKS; i++) {
        assert_true(stack_tree_add(tree, arena, lists[i].frame, lists[i].count, &lists[i].id));
        for (uint32_t k = 0; k < i; k++)
            assert_int_equal(lists[k].id == lists[i].id, lists_equal(&lists[k], &lists[i]));
    }
    for (uint32_t i = 0; i < N_STACKS; i++) {
        uint32_t at = lists[i].id;
        for (uint32_t k = 0; k < lists[i].count; k++, at = stack_parent(&tree->table, at))
            assert_int_equal(tree->table.frame[at], lists[i].frame[k]);
        assert_int_equal(at, 0);
    }
}

/* The number of distinct prefixes (outermost frames first) of the lists in `used`: as many nodes are needed. */
static uint32_t prefixes_count(const uint32_t *used, uint32_t n_used) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < n_used; i++) {
        const struct list *own = &lists[used[i]];
        uint32_t known = 0; /* length of the longest prefix shared with an earlier list */
        for (uint32_t k = 0; k < i; k++) {
            const struct list *other = &lists[used[k]];
            uint32_t same = 0;
            while (same < own->count && same < other->count &&
                   own->frame[own->count - 1 - same] == other->frame[other->count - 1 - same])
                same++;
            known = same > known ? same : known;
        }
        n += own->count - known;
    }
    return n;
}

static void stacks_check(const struct trace *trace, const uint32_t *used, const uint32_t *stack, uint32_t n) {
    const struct stack_table *stacks = &trace->stacks;
    assert_int_equal(stacks->count, 1 + prefixes_count(used, n));
    assert_int_equal(stack_parent(stacks, 0), 0);
    assert_int_equal(stacks->frame[0], 0);
    for (uint32_t i = 1; i < stacks->count; i++)
        assert_true(stack_parent(stacks, i) < i);
    for (uint32_t i = 0; i < n; i++) {
        const struct list *list = &lists[used[i]];
        uint32_t at = stack[i];
        for (uint32_t k = 0; k < list->count; k++, at = stack_parent(stacks, at))
            assert_int_equal(stacks->frame[at], list->frame[k]);
        assert_int_equal(at, 0);
        for (uint32_t k = 0; k < i; k++) /* the order stays */
            assert_int_equal(stack[k] < stack[i], lists[used[k]].id < list->id);
    }
}

/* A trace whose allocations use `n` of the stacks, and whose other rows use one each. */
static void finish_with(uint32_t n_frames, uint32_t n) {
    uint32_t used[N_STACKS + 4], stack[N_STACKS + 4];
    struct trace trace;
    struct stack_tree tree = {0};
    struct segment_event change = {0};
    struct oom_event oom = {0};
    struct segment segment = {0};
    struct block block = {0};
    uint32_t *const others[] = {&change.stack, &oom.stack, &segment.stack, &block.stack};
    struct device_trace device = {.allocations = {.count = n, .stack = stack},
                                  .n_segment_events = 1,
                                  .segment_events = &change,
                                  .n_ooms = 1,
                                  .ooms = &oom,
                                  .n_segments = 1,
                                  .segments = &segment,
                                  .n_blocks = 1,
                                  .blocks = &block};
    assert_true(trace_init(&trace, plain_host, SIZE_MAX));
    lists_make(n_frames);
    tree_fill(&tree, &trace.arena);
    for (uint32_t i = 0; i < n + 4; i++) {
        used[i] = dice_below(&dice, N_STACKS);
        *(i < n ? &stack[i] : others[i - n]) = lists[used[i]].id;
    }
    trace.devices = &device;
    trace.n_devices = 1;
    assert_true(stack_tree_finish(&tree, &trace));
    for (uint32_t i = 0; i < 4; i++)
        stack[n + i] = *others[i];
    stacks_check(&trace, used, stack, n + 4);
    assert_int_equal(tree.table.count, 0);
    trace_release(&trace);
}

static void test_stacks_that_begin_alike(void **state) {
    (void)state;
    for (uint32_t n = 0; n <= N_STACKS; n += 150)
        finish_with(3, n);
}

static void test_stacks_that_do_not(void **state) {
    (void)state;
    for (uint32_t n = 0; n <= N_STACKS; n += 150)
        finish_with(100000, n);
}

static void test_a_trace_without_stacks(void **state) {
    struct trace trace;
    struct stack_tree tree = {0};
    uint32_t id = 1;
    (void)state;
    assert_true(trace_init(&trace, plain_host, SIZE_MAX));
    assert_true(stack_tree_finish(&tree, &trace));
    assert_int_equal(trace.stacks.count, 1);
    assert_true(stack_tree_add(&tree, &trace.arena, NULL, 0, &id));
    assert_int_equal(id, 0);
    assert_true(stack_tree_finish(&tree, &trace));
    assert_int_equal(trace.stacks.count, 1);
    trace_release(&trace);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stacks_that_begin_alike),
        cmocka_unit_test(test_stacks_that_do_not),
        cmocka_unit_test(test_a_trace_without_stacks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
