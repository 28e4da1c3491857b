#include "layout/scene.h"

#include "trace/bytes.h"

enum {
    BEND_MIN_PX = 6,  /* a moment narrower than this has no room for a bend */
    BEND_MAX_PX = 24, /* wider bends would look like slow frees */
    Q16 = 65536
};

static const uint32_t NO_LIFE = UINT32_MAX;

void scene_init(struct scene *scene, const struct timeline *timeline, struct arena_host host) {
    *scene = (struct scene){.timeline = timeline};
    arena_init(&scene->arena, host, SIZE_MAX);
}

void scene_release(struct scene *scene) {
    arena_release(&scene->arena);
    *scene = (struct scene){0};
}

/* ---- the axis ---- */

/* Where a moment begins; one past the last moment is where the last one ends. */
static int64_t moment_q16(const struct timeline *timeline, enum axis axis, uint32_t moment) {
    if (axis == AXIS_EVENTS || timeline->start_us == NULL)
        return ((int64_t)moment - 1) * Q16;
    return (moment < timeline->n_moments ? timeline->start_us[moment] : timeline->end_us) * Q16;
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

uint64_t timeline_headroom_in(const struct timeline *timeline, uint32_t first, uint32_t end,
                              uint64_t capacity_bytes) {
    bool whole = first == 0 && end == timeline->n_moments;
    uint64_t highest = whole ? timeline->peak_bytes : timeline->live[timeline_peak_in(timeline, first, end)];
    uint64_t reserved = whole ? timeline->reserved_peak : reserved_peak_in(timeline, first, end);
    if (reserved > highest)
        highest = reserved;
    if (highest > UINT64_MAX / 2)
        return UINT64_MAX;
    uint64_t top = highest < 16 ? 16 : highest + highest / 24;
    if (capacity_bytes > top - top / 32 && capacity_bytes / 3 <= top)
        return capacity_bytes < UINT64_MAX / 2 ? capacity_bytes + capacity_bytes / 32 : UINT64_MAX;
    return top;
}

uint64_t timeline_headroom(const struct timeline *timeline) {
    return timeline_headroom_in(timeline, 0, timeline->n_moments, 0);
}

/* Left edge of a column. Quotient and remainder apart: the product of both would not fit 64 bits. */
static int64_t column_q16(const struct view *view, uint32_t column) {
    int64_t range = view->to_q16 - view->from_q16, width = view->width;
    return view->from_q16 + range / width * column + range % width * column / width;
}

/* First moment that begins at or after a position, n_moments if none does; not before `least`. */
static uint32_t moment_from(const struct timeline *timeline, enum axis axis, int64_t position,
                            uint32_t least) {
    if (axis == AXIS_EVENTS || timeline->start_us == NULL) {
        int64_t moment = (position + Q16 - 1 >= 0 ? (position + Q16 - 1) / Q16 : -1) + 1;
        return moment < 0 ? 0 : moment > timeline->n_moments ? timeline->n_moments : (uint32_t)moment;
    }
    uint32_t low = least, high = timeline->n_moments;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (timeline->start_us[middle] * Q16 < position)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int32_t view_x_q8(const struct view *view, const struct timeline *timeline, uint32_t moment) {
    const int32_t limit = 1 << 30;
    int64_t range = view->to_q16 - view->from_q16;
    int64_t position = moment_q16(timeline, view->axis, moment) - view->from_q16;
    if (position < -range)
        return -limit;
    if (position / 2 > range)
        return limit;
    unsigned shift = 0;
    while (range >> shift >= INT64_C(1) << 38)
        shift++;
    return (int32_t)((position >> shift) * (int64_t)(view->width * 256) / (range >> shift));
}

/* How much is left, in a column, of what has just died at the column's moment: falls smoothly from 256 to 0.
 */
static uint16_t bend_remains(const struct scene *scene, uint32_t column) {
    uint32_t moment = scene->moment[column];
    int32_t from = view_x_q8(&scene->view, scene->timeline, moment);
    int32_t to = view_x_q8(&scene->view, scene->timeline, moment + 1);
    int32_t centre = (int32_t)(column * 256 + 128);
    int64_t wide = (int64_t)to - from; /* both may be at the limits of view_x_q8 */
    if (moment == 0 || wide < BEND_MIN_PX * 256)
        return 0;
    int32_t length = wide / 2 < BEND_MAX_PX * 256 ? (int32_t)(wide / 2) : BEND_MAX_PX * 256;
    if (centre < from || centre - from >= length)
        return 0;
    int32_t t = (int32_t)((int64_t)(centre - from) * 256 / length);
    return (uint16_t)(256 - t * t * (768 - 2 * t) / Q16); /* 3t^2 - 2t^3 */
}

void view_moments(const struct view *view, const struct timeline *timeline, uint32_t *moment) {
    uint32_t from = moment_from(timeline, view->axis, view->from_q16, 0);
    for (uint32_t column = 0; column < view->width; column++) {
        uint32_t to = moment_from(timeline, view->axis, column_q16(view, column + 1), from);
        moment[column] = from < to ? timeline_peak_in(timeline, from, to) : from == 0 ? 0 : from - 1;
        from = to;
    }
}

static void columns_build(struct scene *scene) {
    view_moments(&scene->view, scene->timeline, scene->moment);
    for (uint32_t column = 0; column < scene->view.width; column++)
        scene->remains[column] = bend_remains(scene, column);
}

/* ---- visible lives ---- */

/* First column from `from` on that shows a moment at or after `moment`. Gallops: it is mostly near. */
static uint32_t column_of(const struct scene *scene, uint32_t from, uint32_t moment) {
    uint32_t low = from, high = scene->view.width;
    for (uint32_t step = 1; low + step < high; step *= 2) {
        if (scene->moment[low + step] >= moment) {
            high = low + step;
            break;
        }
        low += step;
    }
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (scene->moment[middle] < moment)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* A life that was born in time for column `start`; false if it is gone there already. */
static bool band_of(const struct scene *scene, uint32_t life, uint32_t start, struct band *band) {
    const struct lives *lives = &scene->timeline->device->lives;
    uint32_t death = lives->death[life], end = column_of(scene, start, death), tail = end;
    while (tail < scene->view.width && scene->moment[tail] == death && scene->remains[tail] != 0)
        tail++;
    if (start == tail)
        return false;
    uint32_t request = lives->request[life], pending = end;
    if (request < death)
        pending = column_of(scene, start, request);
    *band = (struct band){.life = life,
                          .start = (uint16_t)start,
                          .pending = (uint16_t)(pending < end ? pending : end),
                          .end = (uint16_t)end,
                          .tail = (uint16_t)tail};
    return true;
}

static bool band_add(struct scene *scene, struct band **found, uint32_t *n_found, uint32_t *capacity,
                     const struct band *band) {
    if (*n_found == *capacity &&
        !arena_grow(&scene->arena, (void **)found, capacity, (uint64_t)*n_found + 1, sizeof **found))
        return false;
    (*found)[(*n_found)++] = *band;
    scene->bitmap[band->life / 64] |= UINT64_C(1) << band->life % 64;
    return true;
}

/* First position at or after `at` in a bucket whose life was born at or after `birth`. */
static uint32_t bucket_seek(const struct timeline *timeline, uint32_t at, uint32_t end, uint32_t birth) {
    const uint32_t *births = timeline->device->lives.birth;
    uint32_t high = end;
    for (uint32_t step = 1; at + step < high; step *= 2) {
        if (births[timeline->by_lifetime[at + step]] >= birth) {
            high = at + step;
            break;
        }
        at += step;
    }
    while (at < high) {
        uint32_t middle = at + (high - at) / 2;
        if (births[timeline->by_lifetime[middle]] < birth)
            at = middle + 1;
        else
            high = middle;
    }
    return at;
}

static bool life_is_kept(const struct scene *scene, uint32_t life) {
    return scene->keep == NULL || (scene->keep[life / 64] >> life % 64 & 1) != 0;
}

/* In bucket k only births in the last 2^(k+1) - 1 moments can be alive (or have just died) at a moment. */
static bool bucket_collect(struct scene *scene, unsigned bucket, struct band **found, uint32_t *n_found,
                           uint32_t *capacity) {
    const struct timeline *timeline = scene->timeline;
    const uint32_t *births = timeline->device->lives.birth;
    uint32_t at = timeline->bucket_start[bucket], end = timeline->bucket_start[bucket + 1];
    uint64_t reach = (UINT64_C(2) << bucket) - 1;
    for (uint32_t column = 0; column < scene->view.width && at < end; column++) {
        uint32_t moment = scene->moment[column];
        if (column != 0 && moment == scene->moment[column - 1])
            continue;
        if (moment > reach && births[timeline->by_lifetime[at]] < moment - reach)
            at = bucket_seek(timeline, at, end, (uint32_t)(moment - reach));
        for (; at < end && births[timeline->by_lifetime[at]] <= moment; at++) {
            struct band band;
            scene->rows_visited++;
            if (life_is_kept(scene, timeline->by_lifetime[at]) &&
                band_of(scene, timeline->by_lifetime[at], column, &band) &&
                !band_add(scene, found, n_found, capacity, &band))
                return false;
        }
    }
    return true;
}

/* Puts the bands that were found into stack order: a band's place is the number of visible lives below it. */
static bool bands_order(struct scene *scene, const struct band *found, uint32_t n_found, uint32_t n_words) {
    uint32_t *below = NULL, capacity = 0, count = 0;
    if (!arena_grow(&scene->arena, (void **)&below, &capacity, n_words, sizeof *below) ||
        !arena_grow(&scene->arena, (void **)&scene->bands, &scene->bands_capacity, (uint64_t)n_found + 1,
                    sizeof *scene->bands)) {
        arena_drop(&scene->arena, (void **)&below);
        return false;
    }
    for (uint32_t word = 0; word < n_words; word++) {
        below[word] = count;
        count += (uint32_t)__builtin_popcountll(scene->bitmap[word]);
    }
    for (uint32_t i = 0; i < n_found; i++) {
        uint32_t word = found[i].life / 64;
        uint64_t before = scene->bitmap[word] & ((UINT64_C(1) << found[i].life % 64) - 1);
        scene->bands[below[word] + (uint32_t)__builtin_popcountll(before)] = found[i];
    }
    scene->n_bands = n_found;
    arena_drop(&scene->arena, (void **)&below);
    return true;
}

static bool bands_build(struct scene *scene) {
    uint32_t n_words = scene->timeline->device->lives.count / 64 + 1;
    if (!arena_grow(&scene->arena, (void **)&scene->bitmap, &scene->bitmap_capacity, n_words,
                    sizeof *scene->bitmap))
        return false;
    bytes_zero(scene->bitmap, (size_t)n_words * sizeof *scene->bitmap);
    struct band *found = NULL;
    uint32_t n_found = 0, capacity = 0;
    bool done = true;
    for (unsigned bucket = 0; done && bucket < LIFETIME_BUCKETS; bucket++)
        done = bucket_collect(scene, bucket, &found, &n_found, &capacity);
    done = done && bands_order(scene, found, n_found, n_words);
    arena_drop(&scene->arena, (void **)&found);
    return done;
}

bool scene_build(struct scene *scene, const struct view *view) {
    scene->n_bands = 0;
    scene->rows_visited = 0;
    scene->view = *view;
    if (!arena_grow(&scene->arena, (void **)&scene->moment, &scene->moment_capacity, view->width,
                    sizeof *scene->moment) ||
        !arena_grow(&scene->arena, (void **)&scene->remains, &scene->remains_capacity, view->width,
                    sizeof *scene->remains)) {
        scene->view.width = 0;
        return false;
    }
    columns_build(scene);
    return bands_build(scene);
}

/* ---- heights ---- */

/* The range is brought to 24 bits, a hundredth of 1/256 px, so that products fit 64 bits for any size a file
 * names. */
struct y_scale y_scale_of(const struct view *view) {
    struct y_scale scale = {.bottom = view->bottom_bytes,
                            .range = view->top_bytes - view->bottom_bytes,
                            .limit_q8 = view->height * 256};
    while (scale.range >> scale.shift >= 1u << 24)
        scale.shift++;
    uint64_t units = scale.range >> scale.shift;
    /* Few units (a range of some bytes) still fill the height: the factor has 32 binary places. */
    scale.factor = ((uint64_t)scale.limit_q8 << 32) / (units == 0 ? 1 : units);
    return scale;
}

uint64_t scene_band_bytes(const struct scene *scene, const struct band *band, uint32_t column) {
    uint64_t size = scene->timeline->device->lives.size[band->life];
    if (column < band->end)
        return size;
    uint32_t remains = scene->remains[column];
    return (size >> 8) * remains + ((size & 255) * remains >> 8);
}

const struct band *scene_band(const struct scene *scene, uint32_t life) {
    uint32_t low = 0, high = scene->n_bands;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (scene->bands[middle].life < life)
            low = middle + 1;
        else
            high = middle;
    }
    return low < scene->n_bands && scene->bands[low].life == life ? &scene->bands[low] : NULL;
}

/* Changes at columns first, then their running sum; what shrinks away is added column by column. */
void scene_below(const struct scene *scene, const struct band *band, uint64_t *below) {
    uint32_t from = band->start, count = (uint32_t)band->tail - band->start;
    bytes_zero(below, count * sizeof *below);
    for (const struct band *other = scene->bands; other != band; other++) {
        uint64_t size = scene->timeline->device->lives.size[other->life];
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
    const uint64_t *sizes = scene->timeline->device->lives.size;
    struct y_scale scale = y_scale_of(&scene->view);
    uint32_t target = (scene->view.height - 1 - y) * 256 + 128;
    uint64_t below = 0, drawn = 0; /* bytes below; `drawn` counts what shrinks away as well */
    *pick = (struct pick){.moment = scene->moment[x], .life = NO_LIFE};
    for (uint32_t i = 0; i < scene->n_bands; i++) {
        const struct band *band = &scene->bands[i];
        if (x < band->start || x >= band->tail)
            continue;
        uint64_t size = sizes[band->life];
        drawn += scene_band_bytes(scene, band, x);
        if (target < y_scale_q8(&scale, drawn)) {
            pick->life = band->life;
            pick->offset = below;
            return true;
        }
        if (x < band->end)
            below += size;
    }
    return true;
}
