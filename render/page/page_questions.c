/* Answers questions about the allocations alive at a moment or in a range: sums by group, a tree of callers, the
 * difference between two sets; and the state when memory ran out. */
#include "analysis/findings/oom.h"
#include "render/page/page_state.h"

struct extent view_extent(const struct page_view *view, uint32_t what, double from, double to) {
    struct extent extent = {.what = what <= EXTENT_LASTING ? (enum extent_what)what : EXTENT_AT};
    extent.first = moment_of(view, from);
    extent.end = extent.what == EXTENT_AT ? extent.first + 1 : moment_end_of(view, to);
    return extent;
}

/* Finds the extent's allocations that the filter leaves, in `arena`, which is emptied first. False: no memory. */
static bool allocations_of(const struct page_view *view, struct extent extent, struct arena *arena,
                           uint32_t **allocations, uint32_t *n_allocations) {
    arena_release(arena);
    return extent_allocations(view_timeline(view), extent, view_counted(view), arena, allocations,
                              n_allocations);
}

static struct page_sums *sums_at(struct page_view *view, uint32_t slot) {
    return slot < PAGE_SLOTS ? &view->sums[slot] : NULL;
}

static void sums_total(struct page_sums *sums) {
    sums->bytes = sums->count = 0;
    for (uint32_t i = 0; i < sums->n_groups; i++) {
        sums->bytes += sums->groups[i].bytes;
        sums->count += sums->groups[i].count;
    }
}

void view_sums_within(struct page_view *view, u32 by, u32 key) {
    view->is_within = by < COMPARE_KINDS;
    view->within_by = view->is_within ? (enum compare_by)by : COMPARE_BY_SITE;
    view->within_key = key;
}

/* Removes allocations outside the requested group. False: no memory. */
static bool allocations_within(const struct page_view *view, struct arena *arena, uint32_t *allocations,
                               uint32_t *n_allocations) {
    const uint8_t *column;
    return !view->is_within || (session_column(view->session, view_now(view), view->within_by, &column) &&
                                compare_within(view_timeline(view), allocations, n_allocations,
                                               view->within_by, view->within_key, column, arena));
}

place view_sums(struct page_view *view, u32 slot, u32 what, f64 from, f64 to, u32 by) {
    struct page_sums *sums = sums_at(view, slot);
    struct extent extent = view_extent(view, what, from, to);
    uint32_t *allocations = NULL, n_allocations = 0;
    const uint8_t *column;
    if (sums == NULL || by >= COMPARE_KINDS)
        return 0;
    sums->n_groups = 0;
    sums->by = (enum compare_by)by;
    if (!session_column(view->session, view_now(view), by, &column) ||
        !allocations_of(view, extent, &sums->arena, &allocations, &n_allocations) ||
        !allocations_within(view, &sums->arena, allocations, &n_allocations) ||
        !compare_groups(view_timeline(view), allocations, n_allocations, sums->by, column, &sums->arena,
                        &sums->groups, &sums->n_groups))
        return 0;
    ARENA_DROP(&sums->arena, allocations);
    sums_total(sums);
    return FILL(view, sums, sums->n_groups, (double)sums->bytes, (double)sums->count,
                (double)extent_moment(view_timeline(view), extent) - 1);
}

place view_sums_row(struct page_view *view, u32 slot, u32 index) {
    const struct page_sums *sums = sums_at(view, slot);
    if (sums == NULL || index >= sums->n_groups)
        return 0;
    const struct group *group = &sums->groups[index];
    return FILL(view, sums_row, (double)group->bytes, (double)group->count, group->key, group->stack);
}

/* The number of keys that have names. */
static uint32_t keys_count(const struct page_view *view, enum compare_by by) {
    const struct trace *trace = &view->session->trace;
    const struct device_trace *device = view_timeline(view)->device;
    switch (by) {
    case COMPARE_BY_STACK: return trace->stacks.count;
    case COMPARE_BY_CATEGORY: return CATEGORY_COUNT;
    case COMPARE_BY_STREAM: return device->n_streams;
    case COMPARE_BY_POOL: return device->n_pools;
    case COMPARE_BY_METADATA: return trace->strings.count;
    case COMPARE_BY_MODULE: return view_now(view)->modules == NULL ? 0 : MODULES;
    default: return trace->frames.count;
    }
}

place view_group_name(struct page_view *view, u32 by, u32 key) {
    if (by >= COMPARE_KINDS || key >= keys_count(view, (enum compare_by)by))
        return 0;
    uint32_t nbytes = compare_name(view_timeline(view), (enum compare_by)by, key, view_now(view)->modules,
                                   view->name, sizeof view->name);
    return FILL(view, text, (double)(place)view->name, nbytes);
}

u32 view_pairs(struct page_view *view, u32 a, u32 b) {
    const struct page_sums *of_a = sums_at(view, a), *of_b = sums_at(view, b);
    arena_release(&view->pairing);
    view->n_pairs = 0;
    if (of_a == NULL || of_b == NULL || of_a->by != of_b->by ||
        !compare_pairs(of_a->groups, of_a->n_groups, of_b->groups, of_b->n_groups, &view->pairing,
                       &view->pairs, &view->n_pairs))
        view->n_pairs = 0;
    return view->n_pairs;
}

place view_pair(struct page_view *view, u32 index) {
    if (index >= view->n_pairs)
        return 0;
    const struct compare_pair *pair = &view->pairs[index];
    return FILL(view, pair, pair->a == COMPARE_NONE ? -1.0 : (double)pair->a,
                pair->b == COMPARE_NONE ? -1.0 : (double)pair->b);
}

u32 view_tree(struct page_view *view, u32 what, f64 from, f64 to, u32 direction, f64 before) {
    const struct timeline *timeline = view_timeline(view);
    const struct extent then = {.what = EXTENT_AT, .first = moment_of(view, before)};
    uint32_t *allocations = NULL, n_allocations = 0, *earlier = NULL, n_earlier = 0;
    view->tree = (struct tree){0};
    if (!allocations_of(view, view_extent(view, what, from, to), &view->planting, &allocations,
                        &n_allocations) ||
        !allocations_within(view, &view->planting, allocations, &n_allocations) ||
        (before >= -1 && !extent_allocations(timeline, then, view->filtered ? view->keep : NULL,
                                             &view->planting, &earlier, &n_earlier)) ||
        !tree_against(
            &view->tree, timeline, allocations, n_allocations, earlier, n_earlier,
            (struct tree_way){direction <= TREE_PLACES ? (enum tree_direction)direction : TREE_CALLEES,
                              view->through, 0},
            &view->planting))
        view->tree.n_nodes = 0;
    return view->tree.n_nodes;
}

void view_tree_through(struct page_view *view, u32 frame) {
    view->through = frame < view->session->trace.frames.count ? frame : 0;
}

u32 view_tree_cut(struct page_view *view) {
    return view->tree.cut;
}

place view_node(struct page_view *view, u32 index) {
    if (index >= view->tree.n_nodes)
        return 0;
    const struct tree_node *node = &view->tree.node[index];
    return FILL(view, node, node->frame, node->parent, node->first_child, node->n_children,
                (double)node->bytes, (double)node->self_bytes, (double)node->count, (double)node->self_count,
                (double)node->before_bytes);
}

bool device_segments(struct page_session *session, struct page_device *device) {
    if (device->segments.device == NULL &&
        !segments_init(&device->segments, device->timeline.device, &session->arena))
        device->segments.device = NULL;
    return device->segments.device != NULL;
}

place view_oom_state(struct page_view *view, u32 index) {
    const struct timeline *timeline = view_timeline(view);
    struct oom_state oom;
    if (index >= timeline->device->n_ooms)
        return 0;
    arena_release(&view->holding);
    oom_state_of(&oom, timeline, &timeline->device->ooms[index]);
    if (!oom_free_blocks_of(&oom, timeline->device, &view->holding))
        return 0;
    return FILL(view, oom_state, (double)oom.live_bytes, (double)oom.reserved_bytes, (double)oom.unused_bytes,
                (double)oom.lacking_bytes, oom.reserved_known, oom.free_blocks_known, oom.at_end,
                (double)oom.free_blocks.all.largest_bytes, oom.free_blocks.all.n_free_blocks);
}
