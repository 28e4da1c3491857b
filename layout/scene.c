#include "layout/scene.h"

#include "base/assert.h"
#include "base/bits.h"
#include "base/bytes.h"
#include "base/numbers.h"
#include "base/search.h"
#include "layout/filter.h"

enum {
    BEND_MIN_PX = 6,  /* a moment narrower than this has no room for a bend */
    BEND_MAX_PX = 24, /* wider bends would look like slow frees */
    /* cells in the table that finds columns: enough for a search in a cell to end at once */
    CELLS_PER_COLUMN = 4,
    Q16 = 65536
};

static const uint32_t NO_ALLOCATION = UINT32_MAX;

void scene_init(struct scene *scene, const struct timeline *timeline, struct arena_host host) {
    *scene = (struct scene){.timeline = timeline};
    arena_init(&scene->arena, host, SIZE_MAX);
}

void scene_release(struct scene *scene) {
    arena_release(&scene->arena);
    *scene = (struct scene){0};
}

/* ---- the axis ---- */

/* The beginning of a moment; one past the last moment is the end of the last one. */
static int64_t moment_q16(const struct timeline *timeline, enum axis axis, uint32_t moment) {
    if (axis == AXIS_EVENTS || !timeline_timed(timeline))
        return ((int64_t)moment - 1) * Q16;
    return (moment < timeline->n_moments ? timeline_start_us(timeline, moment) : timeline->end_us) * Q16;
}

void view_fit(struct view *view, const struct timeline *timeline) {
    view->from_q16 = moment_q16(timeline, view->axis, 0);
    view->to_q16 = moment_q16(timeline, view->axis, timeline->n_moments);
}

static uint64_t reserved_peak_in(const struct timeline *timeline, uint32_t first, uint32_t end) {
    uint64_t most = timeline_reserved_at(timeline, first);
    for (uint32_t i = 0; i < timeline->n_reserved && timeline->reserved_moment[i] < end; i++)
        if (timeline->reserved_moment[i] >= first && timeline->reserved_bytes[i] > most)
            most = timeline->reserved_bytes[i];
    return most;
}

const struct oom_event *timeline_oom_in(const struct timeline *timeline, uint32_t first, uint32_t end) {
    const struct device_trace *device = timeline->device;
    /* the first whose moment is `end` or later */
    uint32_t low = SEARCH(0, device->n_ooms, i, device->ooms[i].event + 1 < end);
    return low > 0 && device->ooms[low - 1].event + 1 >= first ? &device->ooms[low - 1] : NULL;
}

/* What a failed request would have needed (what was alive, and the request) or what the process could have had
 * (what it had reserved, and the device's free memory), whichever is more. 0: no request failed, or its figures are
 * unknown. */
static uint64_t oom_top_in(const struct timeline *timeline, uint32_t first, uint32_t end) {
    const struct oom_event *oom = timeline_oom_in(timeline, first, end);
    if (oom == NULL || oom->size == OOM_UNKNOWN || oom->device_free == OOM_UNKNOWN)
        return 0;
    uint64_t asked = sum_at_most(timeline->live[oom->event + 1], oom->size);
    uint64_t most = sum_at_most(timeline_reserved_at(timeline, oom->event + 1), oom->device_free);
    return asked > most ? asked : most;
}

uint64_t timeline_headroom_in(const struct timeline *timeline, uint32_t first, uint32_t end,
                              uint64_t capacity_bytes) {
    bool whole = first == 0 && end == timeline->n_moments;
    uint64_t highest = whole ? timeline->peak_bytes : timeline->live[timeline_peak_in(timeline, first, end)];
    uint64_t reserved = whole ? timeline->reserved_peak : reserved_peak_in(timeline, first, end);
    if (reserved > highest && (reserved / 3 <= highest || highest == 0))
        highest = reserved;
    uint64_t oom_top = oom_top_in(timeline, first, end);
    if (oom_top > highest && oom_top / 3 * 2 <= highest)
        highest = oom_top;
    if (highest > UINT64_MAX / 2)
        return UINT64_MAX;
    uint64_t top = highest < 16 ? 16 : highest + highest / 24;
    if (capacity_bytes > top - top / 32 && capacity_bytes / 3 <= top)
        return capacity_bytes < UINT64_MAX / 2 ? capacity_bytes + capacity_bytes / 32 : UINT64_MAX;
    return top;
}

/* Left edge of a column. Quotient and remainder are scaled apart, because the product of both would not fit 64
 * bits. */
static int64_t column_q16(const struct view *view, uint32_t column) {
    int64_t range = view->to_q16 - view->from_q16, width = view->width;
    return view->from_q16 + range / width * column + range % width * column / width;
}

/* First moment that begins at or after a position, at least `least`; n_moments if none does. */
static uint32_t moment_from(const struct timeline *timeline, enum axis axis, int64_t position,
                            uint32_t least) {
    if (axis == AXIS_EVENTS || !timeline_timed(timeline)) {
        int64_t moment = (position + Q16 - 1 >= 0 ? (position + Q16 - 1) / Q16 : -1) + 1;
        return moment < 0 ? 0 : moment > timeline->n_moments ? timeline->n_moments : (uint32_t)moment;
    }
    return SEARCH(least, timeline->n_moments, i, timeline_start_us(timeline, i) * Q16 < position);
}

int32_t view_position_q8(const struct view *view, int64_t at_q16) {
    const int32_t limit = 1 << 30;
    int64_t range = view->to_q16 - view->from_q16;
    int64_t position = at_q16 - view->from_q16;
    if (position < -range)
        return -limit;
    if (position / 2 > range)
        return limit;
    unsigned shift = 0;
    while (range >> shift >= INT64_C(1) << 38)
        shift++;
    return (int32_t)((position >> shift) * (int64_t)(view->width * 256) / (range >> shift));
}

int32_t view_x_q8(const struct view *view, const struct timeline *timeline, uint32_t moment) {
    return view_position_q8(view, moment_q16(timeline, view->axis, moment));
}

/* The share of just freed bytes still drawn in a column: falls smoothly from 256 to 0. */
static uint16_t bend_remains(const struct scene *scene, uint32_t column) {
    uint32_t moment = scene->moment[column];
    int32_t from = view_x_q8(&scene->view, scene->timeline, moment);
    int32_t to = view_x_q8(&scene->view, scene->timeline, moment + 1);
    int32_t centre = (int32_t)(column * 256 + 128);
    int64_t wide = (int64_t)to - from; /* both may be at the limits of view_x_q8 */
    /* One level of a log replaces the other: nothing slides down. */
    if (moment == 0 || wide < BEND_MIN_PX * 256 || !trace_has_allocations(scene->timeline->trace))
        return 0;
    int32_t length = wide / 2 < BEND_MAX_PX * 256 ? (int32_t)(wide / 2) : BEND_MAX_PX * 256;
    if (centre < from || centre - from >= length)
        return 0;
    int32_t t = (int32_t)((int64_t)(centre - from) * 256 / length);
    return (uint16_t)(256 - t * t * (768 - 2 * t) / Q16); /* 3t^2 - 2t^3 */
}

uint32_t view_moment_from(const struct view *view, const struct timeline *timeline, uint32_t column) {
    return moment_from(timeline, view->axis, column_q16(view, column), 0);
}

void view_moments(const struct view *view, const struct timeline *timeline, uint32_t *moment) {
    uint32_t from = moment_from(timeline, view->axis, view->from_q16, 0);
    for (uint32_t column = 0; column < view->width; column++) {
        uint32_t to = moment_from(timeline, view->axis, column_q16(view, column + 1), from);
        moment[column] = from < to ? timeline_peak_in(timeline, from, to) : from == 0 ? 0 : from - 1;
        from = to;
    }
}

/* For column_of: stores the first column of each of equally wide ranges of moments. */
static void column_cells_build(struct scene *scene) {
    const uint32_t *moment = scene->moment;
    uint32_t width = scene->view.width, span = moment[width - 1] - moment[0], column = 0;
    scene->cell_shift = 0;
    while (span >> scene->cell_shift >= scene->cells_capacity - 1)
        scene->cell_shift++;
    uint32_t n_cells = (span >> scene->cell_shift) + 1;
    for (uint32_t cell = 0; cell < n_cells; cell++) {
        while (moment[column] - moment[0] < cell << scene->cell_shift)
            column++;
        scene->cells[cell] = (uint16_t)column;
    }
    scene->cells[n_cells] = (uint16_t)(width - 1);
}

static bool columns_build(struct scene *scene) {
    uint32_t width = scene->view.width;
    if (!ARENA_GROW(&scene->arena, scene->moment, scene->moment_capacity, width) ||
        !ARENA_GROW(&scene->arena, scene->remains, scene->remains_capacity, width) ||
        !ARENA_GROW(&scene->arena, scene->cells, scene->cells_capacity,
                    (uint64_t)width * CELLS_PER_COLUMN + 2))
        return false;
    view_moments(&scene->view, scene->timeline, scene->moment);
    for (uint32_t column = 0; column < width; column++)
        scene->remains[column] = bend_remains(scene, column);
    column_cells_build(scene);
    return true;
}

/* ---- visible allocations ---- */

/* First column that shows `moment` or a later one; the width if none does. */
static uint32_t column_of(const struct scene *scene, uint32_t moment) {
    uint32_t width = scene->view.width, first = scene->moment[0];
    if (moment <= first)
        return 0;
    if (moment > scene->moment[width - 1])
        return width;
    uint32_t cell = (moment - first) >> scene->cell_shift;
    return SEARCH(scene->cells[cell], scene->cells[cell + 1], i, scene->moment[i] < moment);
}

/* The least death of an allocation that is seen in a column: earlier ones are gone and have shrunk away. */
static uint32_t column_least_death(const struct scene *scene, uint32_t column) {
    return scene->moment[column] + (scene->remains[column] == 0);
}

/* Completes the band of an allocation whose first column is `start`. */
static void band_complete(const struct scene *scene, uint32_t start, struct band *band) {
    const struct allocations *allocations = &scene->timeline->device->allocations;
    uint32_t death = allocations->death[band->allocation], request = allocations->request[band->allocation],
             end = start + 1;
    if (end == scene->view.width || scene->moment[start] >= death || scene->moment[end] < death)
        end = column_of(scene, death);
    uint32_t tail = end, pending = end;
    while (tail < scene->view.width && scene->moment[tail] == death && scene->remains[tail] != 0)
        tail++;
    if (request < death) {
        pending = column_of(scene, request);
        pending = pending < start ? start : pending < end ? pending : end;
    }
    band->start = (uint16_t)start;
    band->pending = (uint16_t)pending;
    band->end = (uint16_t)end;
    band->tail = (uint16_t)tail;
}

/* Marks in the bitmap what is seen in the first column. */
static void first_column_mark(struct scene *scene) {
    struct alive_walk walk = {.moment = scene->moment[0], .least_death = column_least_death(scene, 0)};
    while (alive_walk_next(scene->timeline, &walk))
        if (filter_keeps(scene->keep, walk.allocation)) {
            bits_add(scene->bitmap, timeline_place_of(scene->timeline, walk.allocation));
            scene->n_bands++;
        }
    scene->rows_visited += walk.visited;
}

/* Turns the marks into bands in stack order, and clears them for the next build. */
static void first_column_bands(struct scene *scene) {
    uint32_t n = 0;
    for (uint32_t word = 0; n < scene->n_bands; word++) {
        for (uint64_t bits = scene->bitmap[word]; bits != 0; bits &= bits - 1) {
            struct band *band = &scene->bands[n++];
            band->allocation =
                timeline_allocation_at(scene->timeline, word * 64 + (uint32_t)__builtin_ctzll(bits));
            band_complete(scene, 0, band);
        }
        scene->bitmap[word] = 0;
    }
}

static bool bands_reserve(struct scene *scene, uint64_t more) {
    return scene->n_bands + more <= scene->bands_capacity ||
           ARENA_GROW(&scene->arena, scene->bands, scene->bands_capacity, scene->n_bands + more);
}

static bool first_column_build(struct scene *scene) {
    uint32_t n_words = scene->timeline->device->allocations.count / 64 + 1, had = scene->bitmap_capacity;
    if (!ARENA_GROW(&scene->arena, scene->bitmap, scene->bitmap_capacity, n_words))
        return false;
    bytes_zero(scene->bitmap + had, (size_t)(scene->bitmap_capacity - had) * sizeof *scene->bitmap);
    first_column_mark(scene);
    uint32_t n_bands = scene->n_bands;
    scene->n_bands = 0;
    if (!bands_reserve(scene, n_bands)) {
        bytes_zero(scene->bitmap, (size_t)n_words * sizeof *scene->bitmap);
        return false;
    }
    scene->n_bands = n_bands;
    first_column_bands(scene);
    return true;
}

/* First allocation at or after `at` that is born after `moment`. Gallops, because it is mostly near. */
static uint32_t birth_seek(const struct allocations *allocations, uint32_t at, uint32_t moment) {
    uint32_t high = allocations->count;
    for (uint32_t step = 1; step < high - at; step *= 2) {
        if (allocations->birth[at + step - 1] > moment) {
            high = at + step - 1;
            break;
        }
        at += step;
    }
    return SEARCH(at, high, i, allocations->birth[i] <= moment);
}

/* Adds the allocations [from, to), which are first seen in `column`, if at all. Most die before; the others are
 * found without a branch, which would be mispredicted every other time. */
static bool later_column_build(struct scene *scene, uint32_t column, uint32_t from, uint32_t to) {
    const uint32_t *death = scene->timeline->device->allocations.death;
    uint32_t least = column_least_death(scene, column), first = scene->n_bands, last = first;
    if (!bands_reserve(scene, to - from))
        return false;
    struct band *bands = scene->bands;
    for (uint32_t allocation = from; allocation < to; allocation++) {
        bands[last].allocation = allocation;
        last += death[allocation] >= least;
    }
    uint32_t kept = first;
    for (uint32_t i = first; i < last; i++) {
        if (!filter_keeps(scene->keep, bands[i].allocation))
            continue;
        bands[kept].allocation = bands[i].allocation;
        band_complete(scene, column, &bands[kept++]);
    }
    scene->n_bands = kept;
    scene->rows_visited += to - from;
    return true;
}

/* Allocations born inside the window are in stack order already. */
static bool later_columns_build(struct scene *scene) {
    const struct allocations *allocations = &scene->timeline->device->allocations;
    uint32_t at = birth_seek(allocations, 0, scene->moment[0]);
    for (uint32_t column = 1; column < scene->view.width && at < allocations->count; column++) {
        if (scene->moment[column] == scene->moment[column - 1])
            continue;
        uint32_t to = birth_seek(allocations, at, scene->moment[column]);
        if (!later_column_build(scene, column, at, to))
            return false;
        at = to;
    }
    return true;
}

bool scene_build(struct scene *scene, const struct view *view) {
    assert(view->width != 0 && view->from_q16 < view->to_q16 && view->bottom_bytes < view->top_bytes);
    scene->n_bands = scene->n_groups = 0;
    scene->rows_visited = 0;
    scene->view = scene->built = *view;
    if (columns_build(scene) && first_column_build(scene) && later_columns_build(scene))
        return true;
    scene->n_bands = 0;
    scene->view.width = scene->built.width = 0;
    return false;
}

bool scene_build_changed(struct scene *scene, const struct view *view) {
    const struct view *built = &scene->built;
    if (built->width != view->width || built->axis != view->axis || built->from_q16 != view->from_q16 ||
        built->to_q16 != view->to_q16)
        return scene_build(scene, view);
    scene_ungroup(scene);
    scene->view = *view;
    return true;
}

void scene_forget(struct scene *scene) {
    scene->built.width = 0;
}

/* The number of shown allocations in [from, to). */
static uint32_t allocations_kept(const struct scene *scene, uint32_t from, uint32_t to) {
    uint32_t count = 0;
    if (scene->keep == NULL)
        return to - from;
    for (uint32_t at = from; at < to;) {
        uint32_t n = 64 - at % 64 < to - at ? 64 - at % 64 : to - at;
        uint64_t bits = scene->keep[at / 64] >> at % 64;
        count += bits_count(n == 64 ? bits : bits & ((UINT64_C(1) << n) - 1));
        at += n;
    }
    return count;
}

uint32_t scene_between(const struct scene *scene) {
    const struct allocations *allocations = &scene->timeline->device->allocations;
    if (scene->view.width == 0)
        return 0;
    uint32_t from = birth_seek(allocations, 0, scene->moment[0]), drawn = 0;
    uint32_t to = birth_seek(allocations, from, scene->moment[scene->view.width - 1]);
    for (uint32_t i = 0; i < scene->n_bands; i++)
        drawn += scene->bands[i].allocation >= from;
    return allocations_kept(scene, from, to) - drawn;
}

/* ---- heights ---- */

/* 24 bits are a hundredth of 1/256 px in the highest picture. The quotient fits 32 bits, because heights end at
 * 2^22. */
struct y_scale y_scale_of(const struct view *view) {
    const uint64_t least = 1u << 23;
    uint64_t range = view->top_bytes - view->bottom_bytes;
    struct y_scale scale = {.bottom = view->bottom_bytes, .limit_q8 = view->height * 256};
    while (range >> scale.shift >= 2 * least)
        scale.shift++;
    scale.units = range == 0 ? 1 : (uint32_t)(range >> scale.shift);
    while ((uint64_t)scale.units << scale.widen < least)
        scale.widen++;
    scale.factor = (uint32_t)(((uint64_t)scale.limit_q8 << 32) / ((uint64_t)scale.units << scale.widen));
    return scale;
}

uint64_t scene_band_bytes(const struct scene *scene, const struct band *band, uint32_t column) {
    uint64_t size = scene->timeline->device->allocations.size[band->allocation];
    if (column < band->end)
        return size;
    uint32_t remains = scene->remains[column];
    return (size >> 8) * remains + ((size & 255) * remains >> 8);
}

const struct band *scene_band(const struct scene *scene, uint32_t allocation) {
    uint32_t low = 0, high = scene->n_bands;
    if (allocation >= scene->timeline->device->allocations.count)
        return NULL;
    uint32_t place = timeline_place_of(scene->timeline, allocation);
    if (scene->n_groups != 0)
        while (low < high && scene->bands[low].allocation != allocation)
            low++;
    else
        low = SEARCH(0, high, i, timeline_place_of(scene->timeline, scene->bands[i].allocation) < place);
    return low < scene->n_bands && scene->bands[low].allocation == allocation ? &scene->bands[low] : NULL;
}

void scene_changes_add(const struct scene *scene, const struct band *band, uint64_t *changes) {
    uint64_t size = scene->timeline->device->allocations.size[band->allocation];
    if (band->start < band->end) {
        changes[band->start] += size;
        changes[band->end] -= size;
    }
    for (uint32_t column = band->end; column < band->tail; column++) {
        uint64_t left = scene_band_bytes(scene, band, column);
        changes[column] += left;
        changes[column + 1] -= left;
    }
}

/* Changes at columns first, then their running sum; bands that shrink away are added column by column. */
void scene_below(const struct scene *scene, const struct band *band, uint64_t *below) {
    uint32_t from = band->start, count = (uint32_t)band->tail - band->start;
    bytes_zero(below, count * sizeof *below);
    for (const struct band *other = scene->bands; other != band; other++) {
        uint64_t size = scene->timeline->device->allocations.size[other->allocation];
        if (other->end > from && other->start < band->tail && other->start < other->end) {
            below[other->start > from ? other->start - from : 0] += size;
            if (other->end < band->tail)
                below[other->end - from] -= size;
        }
        for (uint32_t column = other->end > from ? other->end : from;
             column < other->tail && column < band->tail; column++) {
            uint64_t left = scene_band_bytes(scene, other, column);
            below[column - from] += left;
            if (column + 1 < band->tail)
                below[column + 1 - from] -= left;
        }
    }
    for (uint32_t i = 1; i < count; i++)
        below[i] += below[i - 1];
}

bool scene_pick(const struct scene *scene, uint32_t x, uint32_t y, struct pick *pick) {
    if (x >= scene->view.width || y >= scene->view.height)
        return false;
    const uint64_t *sizes = scene->timeline->device->allocations.size;
    struct y_scale scale = y_scale_of(&scene->view);
    uint32_t target = (scene->view.height - 1 - y) * 256 + 128;
    uint64_t below = 0, drawn = 0; /* bytes below; `drawn` also counts what shrinks away */
    *pick = (struct pick){.moment = scene->moment[x], .allocation = NO_ALLOCATION};
    for (uint32_t i = 0; i < scene->n_bands; i++) {
        const struct band *band = &scene->bands[i];
        if (band->start > x && scene->n_groups == 0)
            break;
        if (x < band->start || x >= band->tail)
            continue;
        uint64_t size = sizes[band->allocation];
        drawn += scene_band_bytes(scene, band, x);
        if (target < y_scale_q8(&scale, drawn)) {
            pick->allocation = band->allocation;
            pick->offset = below;
            return true;
        }
        if (x < band->end)
            below += size;
    }
    return true;
}
