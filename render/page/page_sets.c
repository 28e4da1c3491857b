/* Sets of allocations: groups, what a filter leaves, what a search marks, legends. */
#include "base/bytes.h"
#include "render/page/page_state.h"

/* ---- groups ---- */

static bool some_reserve(struct page_view *view, uint32_t count) {
    view->n_groups = 0;
    return ARENA_GROW(&view->arena, view->some, view->some_capacity, (uint64_t)count + 1);
}

static uint32_t some_group(struct page_view *view, uint32_t count, uint32_t by) {
    uint32_t kept = 0;
    arena_release(&view->grouping);
    for (uint32_t i = 0; i < count; i++)
        if (life_is_kept(view, view->some[i]))
            view->some[kept++] = view->some[i];
    if (!groups_of(view_timeline(view), view->some, kept, by == 1 ? GROUP_BY_STACK : GROUP_BY_SITE,
                   &view->grouping, &view->groups, &view->n_groups))
        view->n_groups = 0;
    return view->n_groups;
}

u32 view_groups(struct page_view *view, f64 event, u32 by) {
    uint32_t moment = moment_of(view, event), count = timeline_alive_at(view_timeline(view), moment, NULL, 0);
    if (!some_reserve(view, count))
        return 0;
    timeline_alive_at(view_timeline(view), moment, view->some, count);
    return some_group(view, count, by);
}

u32 view_range_groups(struct page_view *view, f64 from, f64 to, u32 what, u32 by) {
    const struct lives *lives = view_lives(view);
    uint32_t first = moment_of(view, from), end = moment_end_of(view, to), count = 0;
    const uint32_t *at = what == 1 ? lives->death : lives->birth;
    if (!some_reserve(view, lives->count))
        return 0;
    /* Moment 0 is the state before the first event: nothing is born there. */
    for (uint32_t i = 0; i < lives->count; i++)
        if (at[i] >= first && at[i] < end && at[i] != 0)
            view->some[count++] = i;
    return some_group(view, count, by);
}

place view_group(struct page_view *view, u32 index) {
    if (index >= view->n_groups)
        return 0;
    const struct group *group = &view->groups[index];
    return FILL(view, group, (double)group->bytes, group->count, group->site, group->stack);
}

/* ---- what is marked ---- */

place view_stack_mask(struct page_view *view) {
    return (place)view->stack_mask;
}

place view_context_mask(struct page_view *view) {
    return (place)view->context_mask;
}

static bool life_is_alive(const struct lives *lives, uint32_t life, uint32_t moment) {
    return lives->birth[life] <= moment && moment < lives->death[life];
}

static bool life_matches(const struct page_view *view, uint32_t life) {
    const struct lives *lives = view_lives(view);
    return (view->stack_mask[lives->stack[life]] | view->context_mask[lives->context[life]]) != 0 &&
           life_is_kept(view, life);
}

f64 view_next_match(struct page_view *view, f64 allocation, i32 step) {
    double count = view_lives(view)->count;
    for (double tried = 0, at = allocation; tried < count; tried++) {
        at += step;
        at = at < 0 ? count - 1 : at >= count ? 0 : at;
        if (life_matches(view, (uint32_t)at))
            return at;
    }
    return -1;
}

place view_matches(struct page_view *view) {
    const struct lives *lives = view_lives(view);
    uint32_t peak = view_timeline(view)->peak_moment, count = 0;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < lives->count; i++) {
        if (!life_matches(view, i))
            continue;
        count++;
        bytes += life_is_alive(lives, i, peak) ? lives->size[i] : 0;
    }
    return FILL(view, sum, count, (double)bytes);
}

place view_site_sum(struct page_view *view, u32 site, f64 event) {
    const struct lives *lives = view_lives(view);
    const uint32_t *site_of = view_timeline(view)->site;
    uint32_t moment = moment_of(view, event), count = 0;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < lives->count; i++) {
        if (site_of[lives->stack[i]] != site)
            continue;
        count++;
        bytes += life_is_alive(lives, i, moment) ? lives->size[i] : 0;
    }
    return FILL(view, sum, count, (double)bytes);
}

/* ---- the filter ---- */

static bool number_within(double number, double least, double most) {
    return number >= least && number <= most;
}

/* Microseconds of a life; what outlasts the recording ends with it. */
static double life_us(const struct timeline *timeline, uint32_t life) {
    const struct lives *lives = &timeline->device->lives;
    int64_t end =
        lives->death[life] < timeline->n_moments ? timeline->start_us[lives->death[life]] : timeline->end_us;
    return (double)(end - timeline->start_us[lives->birth[life]]);
}

static bool life_passes(const struct timeline *timeline, const struct record_bounds *bounds, uint32_t life) {
    const struct lives *lives = &timeline->device->lives;
    bool in_us = bounds->age_in_us > 0 && timeline->start_us != NULL;
    double age = in_us ? life_us(timeline, life) : (double)(lives->death[life] - lives->birth[life]);
    return number_within((double)lives->size[life], bounds->least_bytes, bounds->most_bytes) &&
           number_within(age, bounds->least_age, bounds->most_age) &&
           (bounds->stream < 0 || lives->stream[life] == bounds->stream) &&
           (bounds->pool < 0 || lives->pool[life] == bounds->pool) &&
           (!(bounds->at_peak > 0) || life_is_alive(lives, life, timeline->peak_moment)) &&
           (!(bounds->at_end > 0) || lives->death[life] >= timeline->n_moments) &&
           (!(bounds->own > 0) || timeline_frame_is_user(timeline, timeline->site[lives->stack[life]]));
}

place view_bounds(struct page_view *view) {
    return (place)&view->bounds;
}

i32 view_filter(struct page_view *view) {
    uint32_t n_lives = view_lives(view)->count, n_words = n_lives / 64 + 1;
    view_filter_off(view);
    if (!ARENA_GROW(&view->arena, view->keep, view->keep_capacity, n_words))
        return PAYLOAD_NO_MEMORY;
    bytes_zero(view->keep, (size_t)n_words * sizeof *view->keep);
    for (uint32_t i = 0; i < n_lives; i++)
        if (life_passes(view_timeline(view), &view->bounds, i))
            view->keep[i / 64] |= UINT64_C(1) << i % 64;
    view->filtered = true;
    view->scene.keep = view->keep;
    return PAYLOAD_OK;
}

void view_filter_off(struct page_view *view) {
    view->filtered = false;
    view->scene.keep = NULL;
}

enum { KEPT_BLOCKS_MOST = 1 << 18 };

/* Blocks of moments bound the memory. A block's bound is what it begins with and all that is born in it: exact where it
 * is one moment. */
static double highest_in_blocks(const struct page_view *view, double *born, double *died, uint32_t n_blocks,
                                unsigned shift) {
    const struct lives *lives = view_lives(view);
    double live = 0, highest = 0;
    for (uint32_t block = 0; block < n_blocks; block++)
        born[block] = died[block] = 0;
    for (uint32_t i = 0; i < lives->count; i++) {
        if (!life_is_kept(view, i))
            continue;
        born[lives->birth[i] >> shift] += (double)lives->size[i];
        if (lives->death[i] >> shift < n_blocks)
            died[lives->death[i] >> shift] += (double)lives->size[i];
    }
    for (uint32_t block = 0; block < n_blocks; block++) {
        if (live + born[block] > highest)
            highest = live + born[block];
        live += born[block] - died[block];
    }
    return highest;
}

/* The highest total of what the filter leaves, or a little more in long recordings. O(allocations). */
static double highest_kept(struct page_view *view) {
    uint32_t n_moments = view_timeline(view)->n_moments, capacity[2] = {0};
    double *born = NULL, *died = NULL, highest = (double)view_timeline(view)->peak_bytes;
    unsigned shift = 0;
    while (n_moments >> shift >= KEPT_BLOCKS_MOST)
        shift++;
    uint32_t n_blocks = (n_moments >> shift) + 1;
    if (ARENA_GROW(&view->arena, born, capacity[0], n_blocks) &&
        ARENA_GROW(&view->arena, died, capacity[1], n_blocks))
        highest = highest_in_blocks(view, born, died, n_blocks, shift);
    ARENA_DROP(&view->arena, died);
    ARENA_DROP(&view->arena, born);
    return highest;
}

place view_kept(struct page_view *view) {
    const struct lives *lives = view_lives(view);
    uint32_t peak = view_timeline(view)->peak_moment, count = 0;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < lives->count; i++) {
        if (!life_is_kept(view, i))
            continue;
        count++;
        bytes += life_is_alive(lives, i, peak) ? lives->size[i] : 0;
    }
    return FILL(view, kept, count, (double)bytes, highest_kept(view));
}

/* ---- legends ---- */

u32 view_key_color(struct page_view *view, u32 by, u32 key, u32 dark) {
    (void)view;
    return by == COLOR_BY_SITE || by > COLOR_BY_CATEGORY
               ? 0
               : raster_key_color((enum color_by)by, key, dark != 0);
}

f64 view_key_from(struct page_view *view, u32 by, u32 key) {
    uint64_t from, to;
    (void)view;
    raster_key_range((enum color_by)by, key, &from, &to);
    return (double)from;
}

/* What the filter hides is not counted. */
f64 view_key_bytes(struct page_view *view, u32 by, u32 key, f64 event) {
    const struct timeline *timeline = view_timeline(view);
    const struct lives *lives = view_lives(view);
    struct raster_style style = {.color_by = (enum color_by)by};
    if (style.color_by == COLOR_BY_CATEGORY)
        style.category = session_categories(view->session, view_now(view));
    uint32_t moment = moment_of(view, event);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < lives->count && lives->birth[i] <= moment; i++)
        if (moment < lives->death[i] && life_is_kept(view, i) && raster_key(timeline, &style, i) == key)
            bytes += lives->size[i];
    return (double)bytes;
}
