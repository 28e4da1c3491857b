/* Sets of allocations: groups, what a filter leaves, what a search marks, legends. */
#include "analysis/category.h"
#include "base/bytes.h"
#include "render/page/page_state.h"

/* ---- groups and search ---- */

static bool some_reserve(uint32_t count) {
    return ARENA_GROW(&page.arena, page.some, page.some_capacity, (uint64_t)count + 1);
}

static uint32_t some_group(uint32_t count, uint32_t by) {
    uint32_t kept = 0;
    arena_release(&page.grouping);
    page.n_groups = 0;
    for (uint32_t i = 0; i < count; i++)
        if (life_is_kept(page.some[i]))
            page.some[kept++] = page.some[i];
    if (!groups_of(timeline_now(), page.some, kept, by == 1 ? GROUP_BY_STACK : GROUP_BY_SITE, &page.grouping,
                   &page.groups, &page.n_groups))
        return 0;
    return page.n_groups;
}

EXPORT(page_groups) uint32_t page_groups(double event, uint32_t by) {
    uint32_t moment = moment_of(event), count = timeline_alive_at(timeline_now(), moment, NULL, 0);
    page.n_groups = 0;
    if (!some_reserve(count))
        return 0;
    timeline_alive_at(timeline_now(), moment, page.some, count);
    return some_group(count, by);
}

EXPORT(page_range_groups) uint32_t page_range_groups(double from, double to, uint32_t what, uint32_t by) {
    const struct lives *lives = lives_now();
    uint32_t first = moment_of(from), end = moment_end_of(to), count = 0;
    const uint32_t *at = what == 1 ? lives->death : lives->birth;
    page.n_groups = 0;
    if (!some_reserve(lives->count))
        return 0;
    /* Moment 0 is the state before the first event: nothing is born there. */
    for (uint32_t i = 0; i < lives->count; i++)
        if (at[i] >= first && at[i] < end && at[i] != 0)
            page.some[count++] = i;
    return some_group(count, by);
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

EXPORT(page_filter)
int32_t page_filter(double least_bytes, double most_bytes, double least_age, double most_age,
                    int32_t age_in_us, int32_t stream, int32_t pool, int32_t at_peak, int32_t at_end,
                    int32_t own) {
    const struct timeline *timeline = timeline_now();
    const struct lives *lives = lives_now();
    uint32_t n_words = lives->count / 64 + 1;
    page.filtered = false;
    page.scene.keep = NULL;
    if (!ARENA_GROW(&page.arena, page.keep, page.keep_capacity, n_words))
        return PAYLOAD_NO_MEMORY;
    bytes_zero(page.keep, (size_t)n_words * sizeof *page.keep);
    bool in_us = age_in_us != 0 && timeline->start_us != NULL;
    for (uint32_t i = 0; i < lives->count; i++) {
        double age = in_us ? life_us(timeline, i) : (double)(lives->death[i] - lives->birth[i]);
        if (number_within((double)lives->size[i], least_bytes, most_bytes) &&
            number_within(age, least_age, most_age) && (stream < 0 || lives->stream[i] == stream) &&
            (pool < 0 || lives->pool[i] == pool) &&
            (!at_peak ||
             (lives->birth[i] <= timeline->peak_moment && timeline->peak_moment < lives->death[i])) &&
            (!at_end || lives->death[i] >= timeline->n_moments) &&
            (own == 0 || timeline_frame_is_user(timeline, timeline->site[lives->stack[i]])))
            page.keep[i / 64] |= UINT64_C(1) << i % 64;
    }
    page.filtered = true;
    page.scene.keep = page.keep;
    return PAYLOAD_OK;
}

EXPORT(page_filter_off) void page_filter_off(void) {
    page.filtered = false;
    page.scene.keep = NULL;
}

EXPORT(page_kept) double page_kept(void) {
    uint32_t count = 0, n_lives = lives_now()->count;
    if (!page.filtered)
        return n_lives;
    for (uint32_t i = 0; i < n_lives; i++)
        count += life_is_kept(i);
    return count;
}

EXPORT(page_kept_peak_bytes) double page_kept_peak_bytes(void) {
    const struct lives *lives = lives_now();
    uint32_t peak = timeline_now()->peak_moment;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < lives->count; i++)
        if (lives->birth[i] <= peak && peak < lives->death[i] && life_is_kept(i))
            bytes += lives->size[i];
    return (double)bytes;
}

enum { KEPT_BLOCKS_MOST = 1 << 18 };

/* Blocks of moments bound the memory. A block's bound is what it begins with and all that is born in it: exact where it
 * is one moment. */
static double highest_kept(double *born, double *died, uint32_t n_blocks, unsigned shift) {
    const struct lives *lives = lives_now();
    double live = 0, highest = 0;
    for (uint32_t block = 0; block < n_blocks; block++)
        born[block] = died[block] = 0;
    for (uint32_t i = 0; i < lives->count; i++) {
        if (!life_is_kept(i))
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

EXPORT(page_kept_highest) double page_kept_highest(void) {
    uint32_t n_moments = timeline_now()->n_moments, capacity[2] = {0};
    double *born = NULL, *died = NULL, highest = (double)timeline_now()->live[timeline_now()->peak_moment];
    unsigned shift = 0;
    while (n_moments >> shift >= KEPT_BLOCKS_MOST)
        shift++;
    uint32_t n_blocks = (n_moments >> shift) + 1;
    if (ARENA_GROW(&page.arena, born, capacity[0], n_blocks) &&
        ARENA_GROW(&page.arena, died, capacity[1], n_blocks))
        highest = highest_kept(born, died, n_blocks, shift);
    ARENA_DROP(&page.arena, died);
    ARENA_DROP(&page.arena, born);
    return highest;
}

/* ---- legends ---- */

const uint8_t *categories_now(void) {
    const struct timeline *timeline = timeline_now();
    if (page.category_of == page.current + 1)
        return page.category;
    page.category_of = 0;
    if (!ARENA_GROW(&page.arena, page.category, page.category_capacity,
                    (uint64_t)timeline->device->lives.count + 1) ||
        !categories_find(timeline, page.category, &page.arena))
        return NULL;
    page.category_of = page.current + 1;
    return page.category;
}

EXPORT(page_key_color) uint32_t page_key_color(uint32_t by, uint32_t key, int32_t dark) {
    return by == COLOR_BY_SITE || by > COLOR_BY_CATEGORY
               ? 0
               : raster_key_color((enum color_by)by, key, dark != 0);
}

EXPORT(page_key_from) double page_key_from(uint32_t by, uint32_t key) {
    uint64_t from, to;
    raster_key_range((enum color_by)by, key, &from, &to);
    return (double)from;
}

EXPORT(page_category_name) uint32_t page_category_name(uint32_t category) {
    return category < CATEGORY_COUNT ? offset_of(category_name((enum category)category)) : 0;
}

EXPORT(page_pending_count) uint32_t page_pending_count(void) {
    const struct lives *lives = lives_now();
    uint32_t count = 0;
    for (uint32_t i = 0; i < lives->count; i++)
        count += lives->request[i] < lives->death[i];
    return count;
}

/* Bytes alive after an event with a key; what the filter hides is not counted. */
EXPORT(page_key_bytes) double page_key_bytes(uint32_t by, uint32_t key, double event) {
    const struct lives *lives = lives_now();
    struct raster_style style = {.color_by = (enum color_by)by};
    if (style.color_by == COLOR_BY_CATEGORY)
        style.category = categories_now();
    uint32_t moment = moment_of(event);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < lives->count && lives->birth[i] <= moment; i++)
        if (moment < lives->death[i] && life_is_kept(i) && raster_key(timeline_now(), &style, i) == key)
            bytes += lives->size[i];
    return (double)bytes;
}

EXPORT(page_life_category) uint32_t page_life_category(uint32_t life) {
    const uint8_t *category = categories_now();
    return category == NULL ? 0 : category[life];
}

/* ---- groups, by index ---- */

EXPORT(page_group_bytes) double page_group_bytes(uint32_t i) {
    return (double)page.groups[i].bytes;
}

EXPORT(page_group_count) uint32_t page_group_count(uint32_t i) {
    return page.groups[i].count;
}

EXPORT(page_group_site) uint32_t page_group_site(uint32_t i) {
    return page.groups[i].site;
}

EXPORT(page_group_stack) uint32_t page_group_stack(uint32_t i) {
    return page.groups[i].stack;
}

EXPORT(page_stack_count) uint32_t page_stack_count(void) {
    return page.trace.stacks.count;
}

EXPORT(page_frame_count) uint32_t page_frame_count(void) {
    return page.trace.frames.count;
}

EXPORT(page_string_count) uint32_t page_string_count(void) {
    return page.trace.strings.count;
}

EXPORT(page_mask) uint32_t page_mask(void) {
    return offset_of(page.mask);
}

EXPORT(page_context_count) uint32_t page_context_count(void) {
    return page.trace.contexts.count;
}

EXPORT(page_context_mask) uint32_t page_context_mask(void) {
    return offset_of(page.context_mask);
}

static bool life_matches(uint32_t life) {
    const struct lives *lives = lives_now();
    return (page.mask[lives->stack[life]] | page.context_mask[lives->context[life]]) != 0 &&
           life_is_kept(life);
}

EXPORT(page_next_match) double page_next_match(double life, int32_t step) {
    double count = lives_now()->count;
    for (double tried = 0, at = life; tried < count; tried++) {
        at += step;
        at = at < 0 ? count - 1 : at >= count ? 0 : at;
        if (life_matches((uint32_t)at))
            return at;
    }
    return -1;
}

EXPORT(page_mask_lives) double page_mask_lives(void) {
    const struct lives *lives = lives_now();
    uint32_t count = 0;
    for (uint32_t i = 0; i < lives->count; i++)
        count += life_matches(i);
    return count;
}

EXPORT(page_mask_peak_bytes) double page_mask_peak_bytes(void) {
    const struct lives *lives = lives_now();
    uint32_t peak = timeline_now()->peak_moment;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < lives->count; i++)
        if (lives->birth[i] <= peak && peak < lives->death[i] && life_matches(i))
            bytes += lives->size[i];
    return (double)bytes;
}

EXPORT(page_site_lives) double page_site_lives(uint32_t site) {
    const struct lives *lives = lives_now();
    const uint32_t *site_of = timeline_now()->site;
    uint32_t count = 0;
    for (uint32_t i = 0; i < lives->count; i++)
        count += site_of[lives->stack[i]] == site;
    return count;
}

EXPORT(page_site_bytes_at) double page_site_bytes_at(uint32_t site, double event) {
    const struct lives *lives = lives_now();
    const uint32_t *site_of = timeline_now()->site;
    uint32_t moment = moment_of(event);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < lives->count && lives->birth[i] <= moment; i++)
        if (moment < lives->death[i] && site_of[lives->stack[i]] == site)
            bytes += lives->size[i];
    return (double)bytes;
}
