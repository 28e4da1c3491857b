/* Sums of allocations: groups and legends. */
#include "render/page/page_state.h"

#include "analysis/compare/site_parts.h"
#include "base/search.h"

/* ---- groups ---- */

enum { GROUP_BY_PARTS = 2 };

static bool parts_of(struct page_view *view, const uint32_t *allocations, uint32_t n_allocations) {
    struct site_parts parts;
    const struct verdicts *verdicts = session_verdicts(view->session, view_now(view), DEVICE_CATEGORIZED);
    if (verdicts == NULL ||
        !site_parts_of(&parts, view_timeline(view), verdicts, allocations, n_allocations, &view->grouping))
        return false;
    view->groups = parts.groups;
    view->n_groups = parts.n_groups;
    return true;
}

/* Without memory there are none. */
place view_groups(struct page_view *view, f64 from, f64 to, u32 what, u32 by) {
    uint32_t *allocations = NULL, n_allocations = 0;
    uint64_t bytes = 0, count = 0;
    view->n_groups = 0;
    arena_release(&view->grouping);
    if (!extent_allocations(view_timeline(view), view_extent(view, what, from, to), view_counted(view),
                            &view->grouping, &allocations, &n_allocations) ||
        !(by == GROUP_BY_PARTS ? parts_of(view, allocations, n_allocations)
                               : groups_of(view_timeline(view), allocations, n_allocations, NULL,
                                           by == 1 ? GROUP_BY_STACK : GROUP_BY_SITE, &view->grouping,
                                           &view->groups, &view->n_groups)))
        view->n_groups = 0;
    for (uint32_t i = 0; i < view->n_groups; i++) {
        bytes += view->groups[i].bytes;
        count += view->groups[i].count;
    }
    return FILL(view, grouped, view->n_groups, (double)count, (double)bytes);
}

place view_group(struct page_view *view, u32 index) {
    if (index >= view->n_groups)
        return 0;
    const struct group *group = &view->groups[index];
    return FILL(view, group, (double)group->bytes, (u32)group->count, group->site, group->stack,
                group->of_free ? GROUP_OF_FREE : group->part);
}

place view_site_sum(struct page_view *view, u32 site, f64 event) {
    const struct allocations *allocations = view_allocations(view);
    const uint32_t *site_of = view_timeline(view)->site;
    uint32_t moment = moment_of(view, event), count = 0;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < allocations->count; i++) {
        if (site_of[allocations->stack[i]] != site)
            continue;
        count++;
        bytes += allocation_is_alive(allocations, i, moment) ? allocations->size[i] : 0;
    }
    return FILL(view, sum, count, (double)bytes);
}

/* ---- legends ---- */

u32 view_key_color(struct page_view *view, u32 by, u32 key, u32 dark) {
    (void)view;
    return by == COLOR_BY_SITE || by >= COLOR_COUNT ? 0 : raster_key_color((enum color_by)by, key, dark != 0);
}

f64 view_key_from(struct page_view *view, u32 by, u32 key) {
    uint64_t from, to;
    raster_key_range(view_timeline(view), (enum color_by)by, key, &from, &to);
    return (double)from;
}

u32 view_categories_made(struct page_view *view) {
    const struct allocations *allocations = view_allocations(view);
    const uint8_t *category = session_categories(view->session, view_now(view));
    const uint64_t *keep = view_counted(view);
    uint32_t made = 0;
    if (category == NULL)
        return 0;
    uint32_t first = SEARCH(0, allocations->count, i, allocations->birth[i] == 0);
    for (uint32_t i = first; i < allocations->count; i++)
        made |= filter_keeps(keep, i) ? 1u << category[i] : 0;
    return made;
}
