/* Who holds the memory: extents, groups and the tree of callers and callees, compared with sums made by hand. */
#include "recording.h"

#include "analysis/compare/compare.h"
#include "layout/site.h"
#include "layout/tree.h"

#include <stdio.h>
#include <string.h>

/* A tree that is compared with nothing. */
static bool tree_make(struct tree *tree, const struct timeline *timeline, const uint32_t *allocations,
                      uint32_t n_allocations, enum tree_direction direction, struct arena *arena) {
    return tree_against(tree, timeline, allocations, n_allocations, NULL, 0,
                        (struct tree_way){direction, 0, 0}, arena);
}

#define TORCH "/usr/lib/python3/site-packages/torch/"

static struct timeline *program(struct recording *recording) {
    uint32_t main_ = recording_stack(recording, 0, "/home/u/train.py", "main");
    uint32_t call = recording_stack(recording, main_, TORCH "nn/modules/module.py", "_call_impl");
    uint32_t block = recording_stack(recording, call, "/home/u/block.py", "forward");
    uint32_t attention = recording_stack(recording, block, "/home/u/attention.py", "forward");
    uint32_t inner = recording_stack(recording, attention, TORCH "functional.py", "softmax");
    uint32_t alone = recording_stack(recording, 0, "", "torch::autograd::Engine::thread_main");
    recording_allocation(recording, 0, STAYS, 100, 0);
    recording_allocation(recording, 1, STAYS, 10, main_);
    recording_allocation(recording, 2, 6, 20, block);
    recording_allocation(recording, 3, 7, 40, attention);
    recording_allocation(recording, 4, STAYS, 80, inner);
    recording_allocation(recording, 5, STAYS, 160, alone);
    return recording_settle(recording, 8);
}

static uint64_t sum_of(const struct timeline *timeline, struct extent extent, struct arena *arena) {
    uint32_t *allocations, n;
    uint64_t bytes = 0;
    assert_true(extent_allocations(timeline, extent, NULL, arena, &allocations, &n));
    for (uint32_t i = 0; i < n; i++)
        bytes += timeline->device->allocations.size[allocations[i]];
    return bytes;
}

static void test_extents(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    struct timeline *timeline = program(recording);
    const struct {
        struct extent extent;
        uint64_t bytes;
    } cases[] = {
        {{EXTENT_AT, 0, 0}, 100},       {{EXTENT_AT, 5, 0}, 410},      {{EXTENT_AT, 999, 0}, 350},
        {{EXTENT_PEAK, 0, 9}, 410},     {{EXTENT_PEAK, 6, 9}, 390},    {{EXTENT_ALLOCATED, 0, 9}, 310},
        {{EXTENT_ALLOCATED, 2, 4}, 60}, {{EXTENT_FREED, 0, 9}, 60},    {{EXTENT_FREED, 7, 8}, 40},
        {{EXTENT_KEPT, 2, 7}, 280},     {{EXTENT_THROUGH, 3, 5}, 130}, {{EXTENT_THROUGH, 0, 9}, 100},
        {{EXTENT_LASTING, 2, 7}, 240},  {{EXTENT_ALLOCATED, 7, 3}, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(sum_of(timeline, cases[i].extent, &recording->arena), cases[i].bytes);
    recording_close(recording);
}

/* The node at the path "a/b/c" of functions from the root; NULL: there is none. */
static const struct tree_node *node_at(const struct tree *tree, const struct trace *trace, const char *path) {
    const struct tree_node *node = &tree->node[0];
    while (*path != '\0') {
        size_t length = strcspn(path, "/");
        const struct tree_node *found = NULL;
        for (uint32_t i = 0; i < node->n_children; i++) {
            char text[200];
            site_text(trace, tree->node[node->first_child + i].frame, text, sizeof text);
            if (strncmp(text, path, length) == 0)
                found = &tree->node[node->first_child + i];
        }
        if (found == NULL)
            return NULL;
        node = found;
        path += length + (path[length] == '/');
    }
    return node;
}

static void node_check(const struct tree *tree, const struct trace *trace, const char *path, uint64_t bytes,
                       uint64_t self_bytes) {
    const struct tree_node *node = node_at(tree, trace, path);
    assert_non_null(node);
    assert_int_equal(node->bytes, bytes);
    assert_int_equal(node->self_bytes, self_bytes);
}

static void tree_check(const struct tree *tree) {
    for (uint32_t i = 0; i < tree->n_nodes; i++) {
        const struct tree_node *node = &tree->node[i];
        uint64_t bytes = node->self_bytes, count = node->self_count;
        for (uint32_t k = 0; k < node->n_children; k++) {
            const struct tree_node *child = &tree->node[node->first_child + k];
            assert_int_equal(child->parent, i);
            assert_true(k == 0 || child[-1].bytes >= child->bytes);
            bytes += child->bytes;
            count += child->count;
        }
        assert_int_equal(bytes, node->bytes);
        assert_int_equal(count, node->count);
    }
}

static void test_callees_and_callers(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    struct timeline *timeline = program(recording);
    const struct trace *trace = timeline->trace;
    uint32_t *allocations, n;
    struct tree tree;
    assert_true(extent_allocations(timeline, (struct extent){EXTENT_AT, 5, 0}, NULL, &recording->arena,
                                   &allocations, &n));
    assert_true(tree_make(&tree, timeline, allocations, n, TREE_CALLEES, &recording->arena));
    tree_check(&tree);
    node_check(&tree, trace, "", 410, 0);
    node_check(&tree, trace, "train.py", 150, 10);
    node_check(&tree, trace, "train.py/block.py", 140, 20);
    node_check(&tree, trace, "train.py/block.py/attention.py", 120, 120); /* softmax is folded */
    node_check(&tree, trace, "torch::autograd", 160, 160);
    node_check(&tree, trace, "(no stack", 100, 100);
    assert_true(tree_make(&tree, timeline, allocations, n, TREE_CALLERS, &recording->arena));
    tree_check(&tree);
    node_check(&tree, trace, "attention.py", 120, 0);
    node_check(&tree, trace, "attention.py/block.py/train.py", 120, 120);
    node_check(&tree, trace, "block.py/train.py", 20, 20);
    node_check(&tree, trace, "train.py", 10, 10);
    node_check(&tree, trace, "torch::autograd", 160, 160);
    assert_true(tree_make(&tree, timeline, allocations, 0, TREE_CALLERS, &recording->arena));
    assert_int_equal(tree.n_nodes, 1);
    recording_close(recording);
}

/* Functions that only the earlier moment has get a node too. */
static void test_against(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    struct timeline *timeline = program(recording);
    uint32_t *allocations, n, *before, n_before;
    struct tree tree;
    const struct extent now = {EXTENT_AT, 7, 0}, then = {EXTENT_AT, 5, 0};
    assert_true(extent_allocations(timeline, now, NULL, &recording->arena, &allocations, &n));
    assert_true(extent_allocations(timeline, then, NULL, &recording->arena, &before, &n_before));
    assert_true(tree_against(&tree, timeline, allocations, n, before, n_before,
                             (struct tree_way){TREE_CALLEES, 0, 0}, &recording->arena));
    tree_check(&tree);
    assert_int_equal(tree.node[0].bytes, 350);
    assert_int_equal(tree.node[0].before_bytes, 410);
    const struct tree_node *block = node_at(&tree, timeline->trace, "train.py/block.py");
    assert_non_null(block);
    assert_int_equal(block->bytes, 80);
    assert_int_equal(block->before_bytes, 140);
    recording_close(recording);
}

/* The frame of a path, to begin a tree with. */
static uint32_t frame_at(const struct timeline *timeline, const uint32_t *allocations, uint32_t n,
                         const char *path, struct arena *arena) {
    struct tree tree;
    assert_true(tree_make(&tree, timeline, allocations, n, TREE_CALLEES, arena));
    const struct tree_node *node = node_at(&tree, timeline->trace, path);
    assert_non_null(node);
    return node->frame;
}

static void test_through(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    struct timeline *timeline = program(recording);
    const struct trace *trace = timeline->trace;
    uint32_t *allocations, n;
    struct tree tree;
    struct arena *arena = &recording->arena;
    assert_true(
        extent_allocations(timeline, (struct extent){EXTENT_AT, 5, 0}, NULL, arena, &allocations, &n));
    uint32_t block = frame_at(timeline, allocations, n, "train.py/block.py", arena);
    assert_true(tree_against(&tree, timeline, allocations, n, NULL, 0,
                             (struct tree_way){TREE_CALLEES, block, 0}, arena));
    tree_check(&tree);
    node_check(&tree, trace, "", 140, 0);
    node_check(&tree, trace, "block.py", 140, 20);
    node_check(&tree, trace, "block.py/attention.py", 120, 120);
    assert_true(tree_against(&tree, timeline, allocations, n, NULL, 0,
                             (struct tree_way){TREE_CALLERS, block, 0}, arena));
    tree_check(&tree);
    node_check(&tree, trace, "block.py/train.py", 140, 140);
    uint32_t stranger = frame_at(timeline, allocations, n, "torch::autograd", arena);
    for (int way = TREE_CALLEES; way <= TREE_CALLERS; way++) {
        assert_true(tree_against(&tree, timeline, allocations, n, NULL, 0,
                                 (struct tree_way){(enum tree_direction)way, stranger, 0}, arena));
        node_check(&tree, trace, "", 160, 0);
        node_check(&tree, trace, "torch::autograd", 160, 160);
    }
    recording_close(recording);
}

/* The tree has as many levels as requested; a recursive function is one level, however deep. */
static void test_levels(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    uint32_t outer = recording_stack(recording, 0, "/u/a.py", "outer"), again = outer;
    for (int i = 0; i < 20; i++) {
        again = recording_stack(recording, again, "/u/b.py", "again");
        recording->trace.frames.frame[recording->trace.stacks.frame[again]].line = 1;
    }
    recording_allocation(recording, 0, STAYS, 7, recording_stack(recording, again, "/u/c.py", "leaf"));
    struct timeline *timeline = recording_settle(recording, 2);
    const uint32_t allocation = 0;
    struct tree tree;
    for (uint32_t levels = 0; levels <= 4; levels++) {
        assert_true(tree_against(&tree, timeline, &allocation, 1, NULL, 0,
                                 (struct tree_way){TREE_CALLERS, 0, levels}, &recording->arena));
        tree_check(&tree);
        assert_int_equal(tree.n_nodes, 1 + (levels == 1 ? 1 : levels == 2 ? 2 : 22));
        assert_false(tree.cut);
    }
    recording_close(recording);
}

/* Stacks that differ at their innermost frame share no nodes: their common frames are made again for each. */
static void test_cut(void **state) {
    (void)state;
    enum { STACKS = 300, DEEP = 600 };
    struct recording *recording = recording_open();
    uint32_t outer = 0, allocations[STACKS];
    char name[20];
    for (int i = 0; i < DEEP; i++) {
        snprintf(name, sizeof name, "deep%d", i);
        outer = recording_stack(recording, outer, "/u/a.py", name);
    }
    for (uint32_t i = 0; i < STACKS; i++) {
        snprintf(name, sizeof name, "leaf%u", i);
        recording_allocation(recording, i, STAYS, 1 + i, recording_stack(recording, outer, "/u/b.py", name));
        allocations[i] = i;
    }
    struct timeline *timeline = recording_settle(recording, STACKS + 1);
    struct tree tree;
    assert_true(tree_make(&tree, timeline, allocations, STACKS, TREE_CALLERS, &recording->arena));
    tree_check(&tree);
    assert_true(tree.cut);
    assert_in_range(tree.n_nodes, 16 * STACKS, TREE_NODES_LEAST + TREE_NODES_PER_STACK * STACKS);
    assert_int_equal(tree.node[0].bytes, STACKS * (STACKS + 1) / 2);
    assert_int_equal(tree.node[0].n_children, STACKS);
    assert_true(tree_make(&tree, timeline, allocations, STACKS, TREE_CALLEES, &recording->arena));
    tree_check(&tree);
    assert_false(tree.cut);
    assert_int_equal(tree.n_nodes, 1 + DEEP + STACKS);
    recording_close(recording);
}

/* Call sites by file, function and line: two lines of one function share it, two functions their file. */
static void test_places(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    uint32_t first = recording_site(recording, "/a/block.py", "forward", 10);
    uint32_t second = recording_site(recording, "/b/block.py", "forward", 20);
    uint32_t other = recording_site(recording, "/b/block.py", "norm", 30);
    recording_allocation(recording, 1, STAYS, 1, first);
    recording_allocation(recording, 2, STAYS, 2, second);
    recording_allocation(recording, 3, STAYS, 4, other);
    struct timeline *timeline = recording_settle(recording, 6);
    uint32_t *allocations, n;
    struct tree tree;
    assert_true(extent_allocations(timeline, (struct extent){EXTENT_AT, 5, 0}, NULL, &recording->arena,
                                   &allocations, &n));
    assert_true(tree_make(&tree, timeline, allocations, n, TREE_PLACES, &recording->arena));
    tree_check(&tree);
    assert_int_equal(tree.n_nodes, 1 + 1 + 2 + 3);
    assert_int_equal(tree.node[1].bytes, 7); /* the file, whatever its folder */
    assert_int_equal(tree.node[2].bytes, 4); /* norm, then forward with its two lines */
    assert_int_equal(tree.node[3].bytes, 3);
    assert_int_equal(tree.node[3].n_children, 2);
    recording_close(recording);
}

static void test_groups(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    struct timeline *timeline = program(recording);
    uint32_t *allocations, n, n_groups;
    struct group *groups;
    char name[200];
    assert_true(extent_allocations(timeline, (struct extent){EXTENT_AT, 5, 0}, NULL, &recording->arena,
                                   &allocations, &n));
    assert_true(compare_groups(timeline, allocations, n, COMPARE_BY_FILE, NULL, &recording->arena, &groups,
                               &n_groups));
    assert_int_equal(n_groups, 5);
    assert_int_equal(groups[0].bytes, 160);
    compare_name(timeline, COMPARE_BY_FILE, groups[1].key, NULL, name, sizeof name);
    assert_string_equal(name, "attention.py");
    assert_int_equal(groups[1].bytes, 120);
    assert_int_equal(groups[1].count, 2);
    assert_true(compare_groups(timeline, allocations, n, COMPARE_BY_STREAM, NULL, &recording->arena, &groups,
                               &n_groups));
    assert_int_equal(n_groups, 1);
    assert_int_equal(groups[0].bytes, 410);
    recording_close(recording);
}

/* The same device against itself at another moment: every row is one site, and they sum up. */
static void test_sites_of_two_moments(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    struct timeline *timeline = program(recording);
    struct compare_side a = {.timeline = timeline, .moment = 2}, b = {.timeline = timeline, .moment = 5};
    struct comparison comparison;
    int64_t delta = 0;
    assert_true(compare_sites(&comparison, &a, &b, &recording->arena));
    assert_int_equal(comparison.a_bytes, 130);
    assert_int_equal(comparison.b_bytes, 410);
    for (uint32_t i = 0; i < comparison.n_sites; i++) {
        assert_int_equal(comparison.site[i].match, SITE_SAME);
        delta += compare_delta(comparison.site[i].a.bytes, comparison.site[i].b.bytes);
    }
    assert_int_equal(delta, 280);
    assert_int_equal(comparison.site[0].change, CHANGE_NEW);
    recording_close(recording);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_extents),
        cmocka_unit_test(test_callees_and_callers),
        cmocka_unit_test(test_against),
        cmocka_unit_test(test_through),
        cmocka_unit_test(test_levels),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_sites_of_two_moments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
