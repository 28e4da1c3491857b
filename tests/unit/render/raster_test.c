/* Scenes and pictures of random recordings, compared with a literal implementation of the definitions, allocation by
 * allocation and column by column: without an index, sums or vectors. */
#define RECORDING_ALLOCATIONS 6000
#define RECORDING_EVENTS      9000
#include "contrast.h"
#include "dice.h"
#include "recording.h"

#include "layout/scene.h"
#include "render/raster/areas.h"

/* ---- recordings ---- */

enum { ALLOCATIONS_MAX = RECORDING_ALLOCATIONS, EVENTS_MAX = RECORDING_EVENTS, SITES = 12 };

/* A recording, with the scene and the raster that draw it. */
struct drawing {
    struct recording *recording;
    struct scene scene;
    struct raster raster;
};

static struct dice dice;

/* Call site i is the one frame of stack i. */
static struct recording *recording_of_sites(void) {
    struct recording *recording = recording_open();
    for (uint32_t i = 1; i <= SITES; i++)
        assert_int_equal(recording_site(recording, "train.py", "train.py", i), i);
    return recording;
}

static void drawing_init(struct drawing *drawing, struct recording *recording, uint32_t n_events) {
    drawing->recording = recording;
    scene_init(&drawing->scene, recording_settle(recording, n_events), plain_host);
    raster_init(&drawing->raster, plain_host);
}

static void drawing_release(struct drawing *drawing) {
    raster_release(&drawing->raster);
    scene_release(&drawing->scene);
    recording_close(drawing->recording);
}

/* Adds mostly short allocations, some long ones, and some that wait for a stream. */
static void recording_add_allocations(struct recording *recording, uint32_t n_allocations, uint32_t n_events,
                                      uint32_t most_bytes) {
    for (uint32_t i = 0; i < n_allocations; i++) {
        uint32_t birth = i < n_allocations / 20 ? 0 : (uint32_t)((uint64_t)i * n_events / n_allocations);
        uint32_t longest = dice_below(&dice, 4) == 0 ? n_events : 1 + dice_below(&dice, 60);
        uint32_t death = birth + 1 + dice_below(&dice, longest);
        death = death > n_events + 1 ? n_events + 1 : death;
        uint32_t request = dice_below(&dice, 6) == 0 ? birth + dice_below(&dice, death - birth + 1) : death;
        uint64_t size = 1 + dice_below(&dice, most_bytes);
        recording_allocation(recording, birth, death, size, dice_below(&dice, SITES + 1));
        recording->request[i] = request;
    }
}

/* A drawing of such allocations, whose times stand still and jump. */
static void drawing_init_random(struct drawing *drawing, uint32_t n_allocations, uint32_t n_events,
                                uint32_t most_bytes) {
    struct recording *recording = recording_of_sites();
    recording_add_allocations(recording, n_allocations, n_events, most_bytes);
    for (uint32_t i = 1; i < n_events; i++)
        recording->time_us[i] =
            recording->time_us[i - 1] +
            (dice_below(&dice, 3) == 0 ? dice_below(&dice, 50) * dice_below(&dice, 50) : 0);
    recording->device.time_us = recording->time_us;
    drawing_init(drawing, recording, n_events);
}

static struct view view_random(const struct timeline *timeline) {
    static const uint32_t widths[] = {1, 2, 3, 4, 5, 63, 64, 65, 200, 641};
    struct view view = {.axis = dice_below(&dice, 2) == 0 ? AXIS_EVENTS : AXIS_TIME,
                        .width = widths[dice_below(&dice, sizeof widths / sizeof *widths)],
                        .height = 1 + dice_below(&dice, 300)};
    view_fit(&view, timeline);
    int64_t span = view.to_q16 - view.from_q16, part = span >> dice_below(&dice, 14);
    view.from_q16 += (int64_t)((double)(span - part) * dice_below(&dice, 1000) / 1000);
    view.to_q16 = view.from_q16 + (part < 2 ? 2 : part);
    view.top_bytes = timeline_headroom_in(timeline, 0, timeline->n_moments, 0);
    if (dice_below(&dice, 3) == 0) {
        view.bottom_bytes = view.top_bytes / 1000 * dice_below(&dice, 900);
        view.top_bytes = view.bottom_bytes + 1 + dice_below(&dice, (uint32_t)(view.top_bytes / 8));
    }
    return view;
}

/* ---- scenes ---- */

/* First column from `from` on that shows `moment` or a later one. */
static uint32_t column_of(const struct scene *scene, uint32_t from, uint32_t moment) {
    while (from < scene->view.width && scene->moment[from] < moment)
        from++;
    return from;
}

/* The band of an allocation by the definition in scene.h; false: it is not visible. */
static bool band_expected(const struct scene *scene, uint32_t allocation, struct band *band) {
    const struct allocations *allocations = &scene->timeline->device->allocations;
    uint32_t start = column_of(scene, 0, allocations->birth[allocation]),
             end = column_of(scene, start, allocations->death[allocation]);
    uint32_t tail = end, pending = end;
    while (tail < scene->view.width && scene->moment[tail] == allocations->death[allocation] &&
           scene->remains[tail] != 0)
        tail++;
    if (allocations->request[allocation] < allocations->death[allocation])
        pending = column_of(scene, start, allocations->request[allocation]);
    *band = (struct band){.allocation = allocation,
                          .start = (uint16_t)start,
                          .pending = (uint16_t)(pending < end ? pending : end),
                          .end = (uint16_t)end,
                          .tail = (uint16_t)tail};
    return start < tail;
}

/* Bytes of the older allocations that share an allocation's call site, or the first of them. */
static uint64_t old_site_sum(const struct timeline *timeline, uint32_t allocation, bool first) {
    const struct allocations *allocations = &timeline->device->allocations;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < allocations->preexisting; i++) {
        bool same = timeline->site[allocations->stack[i]] == timeline->site[allocations->stack[allocation]];
        if (same && first)
            return i;
        bytes += same ? allocations->size[i] : 0;
    }
    return bytes;
}

/* Sorts by call site, the one with the most bytes first. */
static bool old_goes_before(const struct timeline *timeline, uint32_t a, uint32_t b) {
    uint64_t bytes_a = old_site_sum(timeline, a, false), bytes_b = old_site_sum(timeline, b, false);
    uint64_t first_a = old_site_sum(timeline, a, true), first_b = old_site_sum(timeline, b, true);
    return bytes_a != bytes_b ? bytes_a > bytes_b : first_a != first_b ? first_a < first_b : a < b;
}

/* All allocations in the order in which they are stacked: an insertion sort of the older ones. */
static void stack_order(const struct timeline *timeline, uint32_t *order) {
    for (uint32_t i = 0; i < timeline->device->allocations.count; i++) {
        uint32_t at = i;
        for (; at > 0 && i < timeline->device->allocations.preexisting &&
               old_goes_before(timeline, i, order[at - 1]);
             at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
}

static void scene_check(const struct scene *scene) {
    uint32_t n_allocations = scene->timeline->device->allocations.count, found = 0;
    static uint32_t order[ALLOCATIONS_MAX];
    stack_order(scene->timeline, order);
    for (uint32_t place = 0; place < n_allocations; place++) {
        struct band band;
        uint32_t allocation = order[place];
        if ((scene->keep != NULL && (scene->keep[allocation / 64] >> allocation % 64 & 1) == 0) ||
            !band_expected(scene, allocation, &band))
            continue;
        assert_true(found < scene->n_bands);
        assert_memory_equal(&scene->bands[found], &band, sizeof band);
        assert_true(found == 0 || band.start >= scene->bands[found - 1].start);
        found++;
    }
    assert_int_equal(found, scene->n_bands);
}

static void test_bands_match_their_definition(void **state) {
    (void)state;
    for (uint32_t round = 0; round < 60; round++) {
        dice = (struct dice){round};
        struct drawing drawing;
        drawing_init_random(&drawing, 100 + dice_below(&dice, 900), 50 + dice_below(&dice, 1500), 5000);
        uint64_t keep[ALLOCATIONS_MAX / 64 + 1];
        for (uint32_t i = 0; i <= ALLOCATIONS_MAX / 64; i++)
            keep[i] = (uint64_t)dice_below(&dice, UINT32_MAX) << 32 | dice_below(&dice, UINT32_MAX);
        for (uint32_t i = 0; i < 12; i++) {
            struct view view = view_random(drawing.scene.timeline);
            drawing.scene.keep = i % 3 == 0 ? keep : NULL;
            assert_true(scene_build(&drawing.scene, &view));
            scene_check(&drawing.scene);
        }
        drawing_release(&drawing);
    }
}

/* The allocation under a point by the definition in scene.h: the lowest band that reaches above the pixel's centre. */
static uint32_t allocation_expected(const struct scene *scene, uint32_t x, uint32_t y) {
    struct y_scale scale = y_scale_of(&scene->view);
    uint64_t total = 0;
    for (uint32_t i = 0; i < scene->n_bands; i++) {
        const struct band *band = &scene->bands[i];
        if (x < band->start || x >= band->tail)
            continue;
        total += scene_band_bytes(scene, band, x);
        if (y_scale_q8(&scale, total) > (scene->view.height - 1 - y) * 256 + 128)
            return band->allocation;
    }
    return UINT32_MAX;
}

static void test_picks_match_the_picture(void **state) {
    (void)state;
    for (uint32_t round = 0; round < 30; round++) {
        dice = (struct dice){2000 + round};
        struct drawing drawing;
        drawing_init_random(&drawing, 100 + dice_below(&dice, 900), 50 + dice_below(&dice, 1500), 50000);
        struct view view = view_random(drawing.scene.timeline);
        assert_true(scene_build(&drawing.scene, &view));
        for (uint32_t i = 0; i < 300; i++) {
            struct pick pick;
            uint32_t x = dice_below(&dice, view.width), y = dice_below(&dice, view.height);
            assert_true(scene_pick(&drawing.scene, x, y, &pick));
            assert_int_equal(pick.allocation, allocation_expected(&drawing.scene, x, y));
            assert_int_equal(pick.moment, drawing.scene.moment[x]);
        }
        drawing_release(&drawing);
    }
}

/* ---- groups ---- */

static bool is_old(const struct scene *scene, const struct band *band) {
    return band->allocation < scene->timeline->device->allocations.preexisting;
}

static uint32_t site_of(const struct scene *scene, const struct band *band) {
    return scene->timeline->site[scene->timeline->device->allocations.stack[band->allocation]];
}

/* Bytes times visible columns of a band's call site (older allocations apart), and the mean of its lives. */
static uint64_t area_expected(const struct scene *scene, const struct band *band, uint64_t *life) {
    const struct allocations *allocations = &scene->timeline->device->allocations;
    uint64_t area = 0, lives = 0, count = 0;
    for (const struct band *at = scene->bands; at < scene->bands + scene->n_bands; at++) {
        if (site_of(scene, at) != site_of(scene, band) || is_old(scene, at) != is_old(scene, band))
            continue;
        area += allocations->size[at->allocation] * (uint64_t)(at->end - at->start);
        lives += allocations->death[at->allocation] - allocations->birth[at->allocation];
        count++;
    }
    *life = lives / count;
    return area;
}

/* Checks the band at `index` against the definition in scene.h; in its group, the band below ends at `from`. */
static void grouped_check(const struct scene *scene, const struct scene_group *group, uint32_t from,
                          uint32_t index, const uint64_t *lit) {
    const struct band *band = &scene->bands[index];
    uint64_t life, life_below, area = area_expected(scene, band, &life);
    assert_true(group->is_rest || group->site == site_of(scene, band));
    assert_int_equal(group->is_older, is_old(scene, band));
    assert_int_equal(index < group->lit_end, (lit[band->allocation / 64] >> band->allocation % 64 & 1) != 0);
    if (index != from && index != group->lit_end)
        assert_true(timeline_place_of(scene->timeline, band->allocation) >
                    timeline_place_of(scene->timeline, band[-1].allocation));
    else if (index == from && index > 0 && !group->is_rest && !group[-1].is_rest) {
        uint64_t below = area_expected(scene, band - 1, &life_below);
        assert_true(is_old(scene, band) ? below >= area : life_below >= life);
    }
}

static void groups_check(const struct scene *scene, const struct band *before, const uint64_t *lit) {
    uint64_t least = UINT64_MAX, most = 0, life;
    uint32_t i = 0, from = 0, found;
    for (const struct scene_group *group = scene->group; group < scene->group + scene->n_groups;
         from = group++->end)
        for (; i < group->end; i++) {
            grouped_check(scene, group, from, i, lit);
            uint64_t area = area_expected(scene, &scene->bands[i], &life);
            if (group->is_rest && area > most)
                most = area;
            if (!group->is_rest && area < least)
                least = area;
            for (found = 0; before[found].allocation != scene->bands[i].allocation; found++)
                assert_true(found + 1 < scene->n_bands);
            assert_memory_equal(&before[found], &scene->bands[i], sizeof *before);
            assert_ptr_equal(scene_band(scene, before[found].allocation), &scene->bands[i]);
        }
    assert_int_equal(i, scene->n_bands);
    assert_true(most <= least);
}

static void test_groups_match_their_definition(void **state) {
    (void)state;
    static struct band before[ALLOCATIONS_MAX];
    for (uint32_t round = 0; round < 30; round++) {
        dice = (struct dice){3000 + round};
        struct drawing drawing;
        drawing_init_random(&drawing, 50 + dice_below(&dice, 200), 50 + dice_below(&dice, 500), 5000);
        struct scene *scene = &drawing.scene;
        struct view view = view_random(scene->timeline);
        view.bottom_bytes = 0;
        view.top_bytes = timeline_headroom_in(scene->timeline, 0, scene->timeline->n_moments, 0);
        assert_true(scene_build(scene, &view));
        memcpy(before, scene->bands, scene->n_bands * sizeof *before);
        uint32_t n_before = scene->n_bands, between = scene_between(scene);
        uint64_t lit[ALLOCATIONS_MAX / 64 + 1];
        for (uint32_t i = 0; i <= ALLOCATIONS_MAX / 64; i++)
            lit[i] = (uint64_t)dice_below(&dice, UINT32_MAX) << 32 | dice_below(&dice, UINT32_MAX);
        assert_true(scene_group_sites(scene, lit));
        assert_int_equal(scene->n_bands, n_before);
        groups_check(scene, before, lit);
        assert_int_equal(scene_between(scene), between);
        for (uint32_t i = 0; i < 50; i++) {
            struct pick pick;
            uint32_t x = dice_below(&dice, view.width), y = dice_below(&dice, view.height);
            assert_true(scene_pick(scene, x, y, &pick));
            assert_int_equal(pick.allocation, allocation_expected(scene, x, y));
        }
        assert_true(scene_build(scene, &view)); /* and back */
        assert_memory_equal(scene->bands, before, n_before * sizeof *before);
        drawing_release(&drawing);
    }
}

/* Counts work, not time: a window visits the allocations born in it, and a few times those alive at its left edge. */
static void test_a_narrow_window_visits_little(void **state) {
    (void)state;
    dice = (struct dice){1};
    struct drawing drawing;
    drawing_init_random(&drawing, ALLOCATIONS_MAX, EVENTS_MAX, 5000);
    const struct timeline *timeline = drawing.scene.timeline;
    struct view view = {
        .width = 400, .height = 300, .top_bytes = timeline_headroom_in(timeline, 0, timeline->n_moments, 0)};
    for (uint32_t events = EVENTS_MAX; events >= 4; events /= 2) {
        for (uint32_t at = 0; at + events <= EVENTS_MAX; at += events) {
            view.from_q16 = (int64_t)at * 65536;
            view.to_q16 = (int64_t)(at + events) * 65536;
            assert_true(scene_build(&drawing.scene, &view));
            uint32_t alive = timeline_alive_count(timeline, drawing.scene.moment[0]), born = 0;
            for (uint32_t i = 0; i < ALLOCATIONS_MAX; i++)
                born += drawing.recording->birth[i] > drawing.scene.moment[0] &&
                        drawing.recording->birth[i] <= at + events;
            assert_in_range(drawing.scene.rows_visited, 0, born + 3 * (uint64_t)alive + 64);
        }
    }
    drawing_release(&drawing);
}

/* ---- areas ---- */

/* Live bytes of a category at a moment, among the allocations that `keep` leaves. */
static uint64_t category_bytes(const struct scene *scene, const uint8_t *category, uint32_t key,
                               uint32_t moment) {
    const struct allocations *allocations = &scene->timeline->device->allocations;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < allocations->count; i++)
        if (category[i] == key && allocations->birth[i] <= moment && moment < allocations->death[i] &&
            (scene->keep == NULL || (scene->keep[i / 64] >> i % 64 & 1) != 0))
            bytes += allocations->size[i];
    return bytes;
}

static void areas_check(const struct areas *areas, const struct scene *scene, const uint8_t *category) {
    assert_int_equal(areas->n_keys, CATEGORY_COUNT);
    assert_int_equal(areas->width, scene->view.width);
    for (uint32_t key = 0; key < CATEGORY_COUNT; key++)
        for (uint32_t column = 0; column < areas->width; column++)
            assert_int_equal(areas->bytes[(size_t)key * areas->width + column],
                             category_bytes(scene, category, key, scene->moment[column]));
}

static void test_areas_have_the_live_bytes_of_each_category(void **state) {
    (void)state;
    static uint8_t category[ALLOCATIONS_MAX];
    static uint64_t keep[ALLOCATIONS_MAX / 64 + 1];
    for (uint32_t round = 0; round < 20; round++) {
        dice = (struct dice){3000 + round};
        struct drawing drawing;
        struct areas areas;
        drawing_init_random(&drawing, 100 + dice_below(&dice, 400), 50 + dice_below(&dice, 1500), 5000);
        areas_init(&areas, plain_host);
        for (uint32_t i = 0; i < ALLOCATIONS_MAX; i++)
            category[i] = (uint8_t)dice_below(&dice, CATEGORY_COUNT);
        for (uint32_t i = 0; i <= ALLOCATIONS_MAX / 64; i++)
            keep[i] = (uint64_t)dice_below(&dice, UINT32_MAX) << 32 | dice_below(&dice, UINT32_MAX);
        for (uint32_t i = 0; i < 4; i++) {
            struct view view = view_random(drawing.scene.timeline);
            const struct raster_style style = {.category = category};
            drawing.scene.keep = i % 2 == 0 ? keep : NULL;
            assert_true(scene_build(&drawing.scene, &view));
            assert_true(areas_sum(&areas, &drawing.scene, &style, COLOR_BY_CATEGORY));
            areas_check(&areas, &drawing.scene, category);
        }
        areas_release(&areas);
        drawing_release(&drawing);
    }
}

/* ---- pictures ---- */

static uint8_t *picture_of(struct drawing *drawing, const struct view *view) {
    size_t nbytes = (size_t)view->width * view->height * 4;
    uint8_t *rgba = malloc(nbytes + 64);
    assert_non_null(rgba);
    memset(rgba, 0xAB, nbytes + 64);
    const struct raster_style style = {.reserved = false};
    assert_true(scene_build(&drawing->scene, view));
    assert_true(raster_draw(&drawing->raster, &drawing->scene, &style, rgba));
    for (uint32_t i = 0; i < 64; i++)
        assert_int_equal(rgba[nbytes + i], 0xAB);
    return rgba;
}

static uint32_t pixel_of(const uint8_t *rgba, const struct view *view, uint32_t column, uint32_t row) {
    const uint8_t *pixel = rgba + ((size_t)(view->height - 1 - row) * view->width + column) * 4;
    assert_int_equal(pixel[3], 255);
    return (uint32_t)pixel[0] << 16 | (uint32_t)pixel[1] << 8 | pixel[2];
}

static uint32_t mixed(uint32_t a, uint32_t b, uint32_t share) {
    uint32_t result = 0;
    for (unsigned shift = 0; shift < 24; shift += 8)
        result |= (((a >> shift & 255) * (256 - share) + (b >> shift & 255) * share) >> 8) << shift;
    return result;
}

static uint32_t color_of(const struct recording *recording, uint32_t allocation) {
    const struct timeline *timeline = &recording->timeline;
    return raster_site_color(timeline, timeline->site[recording->stack[allocation]], false);
}

/* Widens the channels' limits by a colour. */
static void limits_add(uint32_t limits[3][2], uint32_t rgb) {
    for (unsigned i = 0; i < 3; i++) {
        uint32_t value = rgb >> (16 - 8 * i) & 255;
        limits[i][0] = value < limits[i][0] ? value : limits[i][0];
        limits[i][1] = value > limits[i][1] ? value : limits[i][1];
    }
}

/* Every pixel below the top of the stack has a colour between those of the bands around it; above is the ground. */
static void column_check(const struct drawing *drawing, const struct view *view, const uint8_t *rgba,
                         uint32_t column) {
    const struct scene *scene = &drawing->scene;
    struct y_scale scale = y_scale_of(view);
    uint64_t total = 0, pixel_bytes = (view->top_bytes - view->bottom_bytes) / view->height;
    uint32_t band = 0, count = 0;
    static uint32_t allocations[ALLOCATIONS_MAX];
    static uint64_t tops[ALLOCATIONS_MAX];
    for (; band < scene->n_bands; band++) {
        const struct band *at = &scene->bands[band];
        if (column < at->start || column >= at->tail)
            continue;
        total += scene_band_bytes(scene, at, column);
        allocations[count] = at->allocation;
        tops[count++] = total;
    }
    uint32_t top_row = y_scale_q8(&scale, total) >> 8, first = 0;
    for (uint32_t row = 0; row < view->height; row++) {
        uint32_t rgb = pixel_of(rgba, view, column, row);
        if (row > top_row)
            continue;
        /* A sum includes neighbours up to a pixel below and above it; a band that is drawn alone has its own colour. */
        uint64_t low = view->bottom_bytes + (uint64_t)row * pixel_bytes, high = low + 4 * pixel_bytes + 4;
        low = low < 3 * pixel_bytes + 3 ? 0 : low - 3 * pixel_bytes - 3;
        high += (uint64_t)row + 1; /* pixel_bytes is rounded down */
        while (first < count && tops[first] < low)
            first++;
        uint32_t limits[3][2] = {{255, 0}, {255, 0}, {255, 0}};
        if (row == top_row)
            limits_add(limits, 0xFFFFFF);
        for (uint32_t i = first; i < count && (i == 0 || tops[i - 1] <= high); i++) {
            limits_add(limits, color_of(drawing->recording, allocations[i]));
            limits_add(limits, mixed(color_of(drawing->recording, allocations[i]), 0xFFFFFF,
                                     120)); /* hatch and edge */
            limits_add(limits, mixed(color_of(drawing->recording, allocations[i]), 0x1C2128, 120)); /* dots */
            if (scene->timeline->twin[scene->timeline->site[drawing->recording->stack[allocations[i]]]] == 0)
                continue;
            limits_add(limits, mixed(color_of(drawing->recording, allocations[i]), 0x000000,
                                     200)); /* stripes, with these */
            limits_add(limits, mixed(color_of(drawing->recording, allocations[i]), 0xFFFFFF, 200));
        }
        for (unsigned i = 0; i < 3; i++)
            assert_in_range((rgb >> (16 - 8 * i) & 255) + 2, limits[i][0], limits[i][1] + 4);
    }
}

static void test_colours_lie_between_their_neighbours(void **state) {
    (void)state;
    for (uint32_t round = 0; round < 40; round++) {
        dice = (struct dice){1000 + round};
        struct drawing drawing;
        drawing_init_random(&drawing, 100 + dice_below(&dice, 900), 50 + dice_below(&dice, 1500),
                            round % 2 == 0 ? 5000 : 50000000);
        struct view view = view_random(drawing.scene.timeline);
        uint8_t *rgba = picture_of(&drawing, &view);
        for (uint32_t column = 0; column < view.width; column++)
            column_check(&drawing, &view, rgba, column);
        free(rgba);
        drawing_release(&drawing);
    }
}

/* Three thin allocations in a sum, one of which is replaced by another of the same size: weights and bytes stay, only
 * the colour changes. The allocation above, of another call site, begins in that column. */
static void drawing_init_exchange(struct drawing *drawing, uint32_t before, uint32_t after) {
    enum { ALLOCATIONS = 6, EVENTS = 40, EXCHANGE = 20 };
    static const uint32_t births[ALLOCATIONS] = {0, 0, 0, EXCHANGE, EXCHANGE, EXCHANGE};
    static const uint64_t sizes[ALLOCATIONS] = {100, 100, 100, 100, 350, 350};
    const uint32_t stacks[ALLOCATIONS] = {SITES, before, SITES, after, SITES, SITES};
    struct recording *recording = recording_of_sites();
    for (uint32_t i = 0; i < ALLOCATIONS; i++)
        recording_allocation(recording, births[i], i == 1 ? EXCHANGE : STAYS, sizes[i], stacks[i]);
    drawing_init(drawing, recording, EVENTS);
}

static void test_a_change_of_colour_only(void **state) {
    (void)state;
    for (uint32_t pair = 0; pair < SITES * SITES; pair++) {
        struct drawing drawing;
        drawing_init_exchange(&drawing, 1 + pair / SITES, 1 + pair % SITES);
        struct view view = {.width = 41, .height = 4, .top_bytes = 4 * 360};
        view_fit(&view, drawing.scene.timeline);
        uint8_t *rgba = picture_of(&drawing, &view);
        uint32_t limits[3][2] = {{255, 0}, {255, 0}, {255, 0}};
        limits_add(limits, color_of(drawing.recording, 4));
        limits_add(limits, color_of(drawing.recording, 5));
        for (uint32_t column = 20; column < view.width; column++)
            for (unsigned i = 0; i < 3; i++)
                assert_in_range((pixel_of(rgba, &view, column, 1) >> (16 - 8 * i) & 255) + 2, limits[i][0],
                                limits[i][1] + 4);
        free(rgba);
        drawing_release(&drawing);
    }
}

/* A picture does not depend on earlier ones. */
static void test_a_scene_and_a_raster_can_be_used_again(void **state) {
    (void)state;
    dice = (struct dice){7};
    struct drawing drawing;
    drawing_init_random(&drawing, 1000, 1500, 50000);
    struct view first = view_random(drawing.scene.timeline);
    uint8_t *before = picture_of(&drawing, &first);
    for (uint32_t i = 0; i < 20; i++) {
        struct view other = view_random(drawing.scene.timeline);
        free(picture_of(&drawing, &other));
    }
    uint8_t *after = picture_of(&drawing, &first);
    assert_memory_equal(before, after, (size_t)first.width * first.height * 4);
    free(before);
    free(after);
    drawing_release(&drawing);
}

/* Readers refuse such sizes (TRACE_BYTES_MAX), but the painter does not rely on that. Four allocations of 2^62 bytes
 * once made it write outside of the picture. */
static void test_sums_that_pass_64_bits_stay_inside(void **state) {
    (void)state;
    dice = (struct dice){11};
    for (uint32_t round = 0; round < 200; round++) {
        struct drawing drawing;
        struct recording *recording = recording_of_sites();
        for (uint32_t i = 0; i < 12; i++) {
            uint64_t size = (UINT64_C(1) << (59 + dice_below(&dice, 5))) - dice_below(&dice, 3);
            recording_allocation(recording, i, i + 1 + dice_below(&dice, 12), size,
                                 dice_below(&dice, SITES + 1));
        }
        drawing_init(&drawing, recording, 24);
        for (uint32_t i = 0; i < 4; i++) {
            struct view view = view_random(drawing.scene.timeline);
            view.top_bytes = dice_below(&dice, 2) == 0 ? view.top_bytes : UINT64_MAX;
            free(picture_of(&drawing, &view));
        }
        drawing_release(&drawing);
    }
}

/* Allocations with successive numbers, which are neighbours in the picture, nearly always have different colours. */
static void each_allocation_has_its_own_colour(void **state) {
    (void)state;
    enum { KEYS = 1000 };
    for (int dark = 0; dark < 2; dark++) {
        uint32_t alike = 0;
        for (uint32_t key = 0; key < KEYS; key++)
            alike += raster_key_color(COLOR_BY_EACH, key, dark != 0) ==
                     raster_key_color(COLOR_BY_EACH, key + 1, dark != 0);
        assert_int_equal(alike, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_allocation_has_its_own_colour),
        cmocka_unit_test(test_bands_match_their_definition),
        cmocka_unit_test(test_picks_match_the_picture),
        cmocka_unit_test(test_a_narrow_window_visits_little),
        cmocka_unit_test(test_groups_match_their_definition),
        cmocka_unit_test(test_areas_have_the_live_bytes_of_each_category),
        cmocka_unit_test(test_colours_lie_between_their_neighbours),
        cmocka_unit_test(test_a_change_of_colour_only),
        cmocka_unit_test(test_a_scene_and_a_raster_can_be_used_again),
        cmocka_unit_test(test_sums_that_pass_64_bits_stay_inside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
