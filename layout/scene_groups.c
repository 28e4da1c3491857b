/* Lays bands that are too thin to be told apart together by call site. */
#include "layout/scene.h"

#include "base/bytes.h"
#include "base/numbers.h"
#include "base/sort.h"
#include "layout/filter.h"

/* Columns in which bands are measured before the view gets other edges. */
enum { FIT_COLUMNS = 16 };

/* A call site's bands, with those older than the recording apart. */
struct site_sum {
    uint64_t area, life; /* on screen, in units of the scale times columns; life: moments of all its lives */
    uint32_t count;
    uint32_t group;
};

/* A band's height in units of the scale, of which a picture has so few that sums of areas fit 64 bits. */
static uint64_t band_units(const struct scene *scene, const struct y_scale *scale, const struct band *band) {
    uint64_t units = scene->timeline->device->allocations.size[band->allocation] >> scale->shift;
    return units < scale->units ? units : scale->units;
}

/* The number of units that is high enough. */
static uint64_t least_units(const struct y_scale *scale, uint32_t least_q8) {
    uint64_t widened = (((uint64_t)least_q8 << 32) + scale->factor - 1) / scale->factor;
    return ((widened - 1) >> scale->widen) + 1;
}

bool scene_is_dense(const struct scene *scene, uint32_t least_q8) {
    struct y_scale scale = y_scale_of(&scene->view);
    uint64_t least = least_units(&scale, least_q8);
    uint64_t all = 0, thin = 0;
    for (uint32_t i = 0; i < scene->n_bands; i++) {
        const struct band *band = &scene->bands[i];
        uint64_t units = band_units(scene, &scale, band);
        uint64_t area = units * (uint32_t)(band->end - band->start);
        all += area;
        thin += units < least ? area : 0;
    }
    return thin > all - thin;
}

/* Do bands lower than `least` units hold most of what is drawn between the edges in some columns? */
static bool columns_are_dense(const struct scene *scene, uint64_t least, const struct y_scale *scale) {
    const uint64_t *size = scene->timeline->device->allocations.size;
    uint64_t all = 0, thin = 0;
    for (uint32_t i = 0; i < FIT_COLUMNS; i++) {
        uint32_t column = (2 * i + 1) * scene->view.width / (2 * FIT_COLUMNS);
        uint64_t below = 0; /* no file has bytes whose sum would not fit */
        for (uint32_t at = 0; at < scene->n_bands && scene->bands[at].start <= column; at++) {
            const struct band *band = &scene->bands[at];
            if (column >= band->end)
                continue;
            uint64_t from = below > scale->bottom ? below : scale->bottom;
            below = sum_at_most(below, size[band->allocation]);
            uint64_t seen = below > from ? (below - from) >> scale->shift : 0;
            all += seen;
            thin += band_units(scene, scale, band) < least ? seen : 0;
        }
    }
    return thin > all - thin;
}

/* Chooses edges from a little below the least total of the columns to a little above their highest, in sixteenths
 * of the peak, so that a window that moves mostly keeps its scale. The distance is at least a quarter of the peak,
 * so that something of the permanent part is seen. */
static void heights_around(const struct scene *scene, uint64_t *bottom, uint64_t *top) {
    const uint64_t *live = scene->timeline->live;
    uint64_t least = UINT64_MAX, most = 0, step = scene->timeline->peak_bytes / 16 + 1;
    for (uint32_t column = 0; column < scene->view.width; column++) {
        uint64_t bytes = live[scene->moment[column]];
        least = bytes < least ? bytes : least;
        most = bytes > most ? bytes : most;
    }
    *top = (sum_at_most(most, most / 24) / step + 1) * step;
    *bottom = least / step * step;
    if (*top - *bottom < 4 * step)
        *bottom = *top < 4 * step ? 0 : *top - 4 * step;
}

bool scene_fit_heights(struct scene *scene, uint32_t least_q8) {
    const struct timeline *timeline = scene->timeline;
    struct view view = scene->view;
    uint32_t first = scene->moment[0], last = scene->moment[view.width - 1];
    /* A request that failed is shown whole; the last column's moment, its highest, may be before it. */
    uint32_t end = view_moment_from(&view, timeline, view.width);
    if (scene->keep != NULL || (uint64_t)(last - first) * 4 > timeline->n_moments ||
        timeline->peak_bytes > UINT64_MAX / 4 || timeline_oom_in(timeline, first, end) != NULL)
        return false;
    heights_around(scene, &view.bottom_bytes, &view.top_bytes);
    struct y_scale scale = y_scale_of(&view);
    if (columns_are_dense(scene, least_units(&scale, least_q8), &scale))
        return false;
    scene->view = view;
    return true;
}

static uint32_t key_of(const struct scene *scene, const struct band *band) {
    const struct allocations *allocations = &scene->timeline->device->allocations;
    uint32_t site = scene->timeline->site[allocations->stack[band->allocation]];
    return 2 * site + (band->allocation >= allocations->preexisting);
}

static void sums_fill(struct scene *scene) {
    const struct allocations *allocations = &scene->timeline->device->allocations;
    struct y_scale scale = y_scale_of(&scene->view);
    bytes_zero(scene->sums, 2 * (size_t)scene->timeline->trace->frames.count * sizeof *scene->sums);
    for (uint32_t i = 0; i < scene->n_bands; i++) {
        const struct band *band = &scene->bands[i];
        scene->keys[i] = key_of(scene, band);
        struct site_sum *sum = &scene->sums[scene->keys[i]];
        sum->area += band_units(scene, &scale, band) * (uint32_t)(band->end - band->start);
        sum->life += allocations->death[band->allocation] - allocations->birth[band->allocation];
        sum->count++;
    }
}

/* Finds the call sites with the most bytes on screen, falling. */
static uint32_t best_find(const struct scene *scene, uint32_t *best, uint32_t most) {
    const struct site_sum *sum = scene->sums;
    uint32_t n = 0;
    for (uint32_t key = 0; key < 2 * scene->timeline->trace->frames.count; key++) {
        if (sum[key].count != 0 && (n < most || sum[key].area > sum[best[n - 1]].area))
            INSERT(best, n, most, key, other, sum[key].area > sum[*other].area);
    }
    return n;
}

/* Does one call site lie below another? Older ones are ordered by bytes, as in the stack. */
static bool lies_below(const struct site_sum *sum, uint32_t a, uint32_t b) {
    if (a % 2 != b % 2)
        return a % 2 == 0;
    return a % 2 == 0 ? sum[a].area > sum[b].area : sum[a].life / sum[a].count > sum[b].life / sum[b].count;
}

static void best_order(const struct site_sum *sum, uint32_t *best, uint32_t n) {
    for (uint32_t i = 0; i < n;) {
        uint32_t key = best[i];
        INSERT(best, i, n, key, other, lies_below(sum, key, *other));
    }
}

/* Makes the groups: older call sites, the older rest, the other call sites, and their rest. A rest may be empty. */
static void groups_make(struct scene *scene, const uint32_t *best, uint32_t n) {
    uint32_t older = 0, n_keys = 2 * scene->timeline->trace->frames.count;
    while (older < n && best[older] % 2 == 0)
        older++;
    scene->n_groups = n + 2;
    for (uint32_t key = 0; key < n_keys; key++)
        scene->sums[key].group = key % 2 == 0 ? older : n + 1;
    scene->group[older] = (struct scene_group){.is_rest = true, .is_older = true};
    scene->group[n + 1] = (struct scene_group){.is_rest = true};
    for (uint32_t i = 0; i < n; i++) {
        scene->sums[best[i]].group = i + (i >= older);
        scene->group[i + (i >= older)] = (struct scene_group){.site = best[i] / 2, .is_older = i < older};
    }
}

/* The part that the nth band goes to: each group has two, highlighted and not. */
static uint32_t part_of(const struct scene *scene, uint32_t nth, const uint64_t *lit) {
    return 2 * scene->sums[scene->keys[nth]].group + !filter_keeps(lit, scene->bands[nth].allocation);
}

static void bands_exchange(struct scene *scene) {
    struct band *bands = scene->bands;
    uint32_t capacity = scene->bands_capacity;
    scene->bands = scene->spare;
    scene->bands_capacity = scene->spare_capacity;
    scene->spare = bands;
    scene->spare_capacity = capacity;
}

void scene_ungroup(struct scene *scene) {
    if (scene->n_groups > 0)
        bands_exchange(scene);
    scene->n_groups = 0;
}

static void bands_move(struct scene *scene, const uint64_t *lit) {
    uint32_t at = 0, next[2 * SCENE_GROUPS] = {0};
    for (uint32_t key = 0; lit == NULL && key < 2 * scene->timeline->trace->frames.count; key++)
        next[2 * scene->sums[key].group] += scene->sums[key].count;
    for (uint32_t i = 0; lit != NULL && i < scene->n_bands; i++)
        next[part_of(scene, i, lit)]++;
    for (uint32_t i = 0; i < 2 * scene->n_groups; i++) {
        uint32_t count = next[i];
        next[i] = at;
        at += count;
        *(i % 2 == 0 ? &scene->group[i / 2].lit_end : &scene->group[i / 2].end) = at;
    }
    for (uint32_t i = 0; i < scene->n_bands; i++)
        scene->spare[next[part_of(scene, i, lit)]++] = scene->bands[i];
    bands_exchange(scene);
}

bool scene_group_sites(struct scene *scene, const uint64_t *lit) {
    uint32_t best[SCENE_GROUPS - 2];
    if (!ARENA_GROW(&scene->arena, scene->spare, scene->spare_capacity, scene->n_bands) ||
        !ARENA_GROW(&scene->arena, scene->keys, scene->keys_capacity, scene->n_bands) ||
        !ARENA_GROW(&scene->arena, scene->sums, scene->sums_capacity,
                    2 * (uint64_t)scene->timeline->trace->frames.count))
        return false;
    sums_fill(scene);
    uint32_t n = best_find(scene, best, SCENE_GROUPS - 2);
    best_order(scene->sums, best, n);
    groups_make(scene, best, n);
    bands_move(scene, lit);
    return true;
}
