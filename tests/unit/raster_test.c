/* Scenes and pictures of random recordings, compared with what the definitions say, life by life and column by column:
 * no index, no sums, no vectors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "layout/scene.h"
#include "memory_host.h"
#include "render/raster.h"

#include <stdlib.h>
#include <string.h>

/* ---- recordings ---- */

enum { LIVES_MAX = 6000, EVENTS_MAX = 9000, SITES = 12 };

struct recording {
    struct trace trace;
    struct device_trace device;
    struct arena arena;
    struct timeline timeline;
    struct scene scene;
    struct raster raster;
    uint32_t birth[LIVES_MAX], death[LIVES_MAX], request[LIVES_MAX], stack[LIVES_MAX], context[LIVES_MAX];
    uint64_t size[LIVES_MAX], address[LIVES_MAX], streams[1];
    uint16_t stream[LIVES_MAX], pool[LIVES_MAX];
    uint8_t flags[LIVES_MAX];
    int64_t time_us[EVENTS_MAX];
    struct pool_id pools[2];
    struct frame frames[SITES + 1];
    struct stack stacks[SITES + 1];
    struct context contexts[1];
};

static uint32_t seed;

static uint32_t random_below(uint32_t most) {
    seed = seed * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)seed * most >> 32);
}

/* Call site i is the one frame of stack i. */
static struct recording *recording_new(uint32_t n_lives, uint32_t n_events) {
    struct recording *recording = calloc(1, sizeof *recording);
    assert_non_null(recording);
    assert_true(trace_init(&recording->trace, plain_host, SIZE_MAX));
    struct trace *trace = &recording->trace;
    uint32_t file = trace_string_add(trace, "train.py", 8);
    for (uint32_t i = 1; i <= SITES; i++) {
        recording->frames[i] = (struct frame){.file = file, .name = file, .line = i};
        recording->stacks[i] = (struct stack){.frame = i};
    }
    trace->devices = &recording->device;
    trace->n_devices = 1;
    trace->frames = (struct frame_table){SITES + 1, SITES + 1, recording->frames};
    trace->stacks = (struct stack_table){SITES + 1, SITES + 1, recording->stacks};
    trace->contexts = (struct context_table){1, 1, recording->contexts};
    recording->device = (struct device_trace){.n_events = n_events,
                                              .pools = recording->pools,
                                              .n_pools = 2,
                                              .streams = recording->streams,
                                              .n_streams = 1,
                                              .lives = {.count = n_lives,
                                                        .birth = recording->birth,
                                                        .death = recording->death,
                                                        .request = recording->request,
                                                        .size = recording->size,
                                                        .address = recording->address,
                                                        .stack = recording->stack,
                                                        .context = recording->context,
                                                        .stream = recording->stream,
                                                        .pool = recording->pool,
                                                        .flags = recording->flags}};
    return recording;
}

static void recording_start(struct recording *recording) {
    arena_init(&recording->arena, plain_host, SIZE_MAX);
    assert_true(timeline_init(&recording->timeline, &recording->trace, 0, &recording->arena));
    scene_init(&recording->scene, &recording->timeline, plain_host);
    raster_init(&recording->raster, plain_host);
}

static void recording_free(struct recording *recording) {
    raster_release(&recording->raster);
    scene_release(&recording->scene);
    arena_release(&recording->arena);
    /* Its tables are the recording's own. */
    recording->trace.devices = NULL;
    recording->trace.frames = (struct frame_table){0};
    recording->trace.stacks = (struct stack_table){0};
    recording->trace.contexts = (struct context_table){0};
    trace_release(&recording->trace);
    free(recording);
}

/* Short lives mostly, some long, some that wait for a stream; times that stand still and jump. */
static struct recording *recording_random(uint32_t n_lives, uint32_t n_events, uint32_t most_bytes) {
    struct recording *recording = recording_new(n_lives, n_events);
    for (uint32_t i = 0; i < n_lives; i++) {
        uint32_t birth = i < n_lives / 20 ? 0 : (uint32_t)((uint64_t)i * n_events / n_lives);
        uint32_t longest = random_below(4) == 0 ? n_events : 1 + random_below(60);
        uint32_t death = birth + 1 + random_below(longest);
        death = death > n_events + 1 ? n_events + 1 : death;
        recording->birth[i] = birth;
        recording->death[i] = death;
        recording->request[i] = random_below(6) == 0 ? birth + random_below(death - birth + 1) : death;
        recording->size[i] = 1 + random_below(most_bytes);
        recording->stack[i] = random_below(SITES + 1);
    }
    recording->device.lives.preexisting = n_lives / 20;
    for (uint32_t i = 1; i < n_events; i++)
        recording->time_us[i] =
            recording->time_us[i - 1] + (random_below(3) == 0 ? random_below(50) * random_below(50) : 0);
    recording->device.time_us = recording->time_us;
    recording_start(recording);
    return recording;
}

static struct view view_random(const struct timeline *timeline) {
    static const uint32_t widths[] = {1, 2, 3, 4, 5, 63, 64, 65, 200, 641};
    struct view view = {.axis = random_below(2) == 0 ? AXIS_EVENTS : AXIS_TIME,
                        .width = widths[random_below(sizeof widths / sizeof *widths)],
                        .height = 1 + random_below(300)};
    view_fit(&view, timeline);
    int64_t span = view.to_q16 - view.from_q16, part = span >> random_below(14);
    view.from_q16 += (int64_t)((double)(span - part) * random_below(1000) / 1000);
    view.to_q16 = view.from_q16 + (part < 2 ? 2 : part);
    view.top_bytes = timeline_headroom(timeline);
    if (random_below(3) == 0) {
        view.bottom_bytes = view.top_bytes / 1000 * random_below(900);
        view.top_bytes = view.bottom_bytes + 1 + random_below((uint32_t)(view.top_bytes / 8));
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

/* What scene.h says of a band; false: the life is not visible. */
static bool band_expected(const struct scene *scene, uint32_t life, struct band *band) {
    const struct lives *lives = &scene->timeline->device->lives;
    uint32_t start = column_of(scene, 0, lives->birth[life]),
             end = column_of(scene, start, lives->death[life]);
    uint32_t tail = end, pending = end;
    while (tail < scene->view.width && scene->moment[tail] == lives->death[life] && scene->remains[tail] != 0)
        tail++;
    if (lives->request[life] < lives->death[life])
        pending = column_of(scene, start, lives->request[life]);
    *band = (struct band){.life = life,
                          .start = (uint16_t)start,
                          .pending = (uint16_t)(pending < end ? pending : end),
                          .end = (uint16_t)end,
                          .tail = (uint16_t)tail};
    return start < tail;
}

static void scene_check(const struct scene *scene) {
    uint32_t n_lives = scene->timeline->device->lives.count, found = 0;
    for (uint32_t life = 0; life < n_lives; life++) {
        struct band band;
        if ((scene->keep != NULL && (scene->keep[life / 64] >> life % 64 & 1) == 0) ||
            !band_expected(scene, life, &band))
            continue;
        assert_true(found < scene->n_bands);
        assert_memory_equal(&scene->bands[found], &band, sizeof band);
        assert_true(found == 0 || band.start >= scene->bands[found - 1].start);
        found++;
    }
    assert_int_equal(found, scene->n_bands);
}

static void test_bands_are_what_they_are_said_to_be(void **state) {
    (void)state;
    for (uint32_t round = 0; round < 60; round++) {
        seed = round;
        struct recording *recording =
            recording_random(100 + random_below(900), 50 + random_below(1500), 5000);
        uint64_t keep[LIVES_MAX / 64 + 1];
        for (uint32_t i = 0; i <= LIVES_MAX / 64; i++)
            keep[i] = (uint64_t)random_below(UINT32_MAX) << 32 | random_below(UINT32_MAX);
        for (uint32_t i = 0; i < 12; i++) {
            struct view view = view_random(&recording->timeline);
            recording->scene.keep = i % 3 == 0 ? keep : NULL;
            assert_true(scene_build(&recording->scene, &view));
            scene_check(&recording->scene);
        }
        recording_free(recording);
    }
}

/* What scene.h says of a point: the lowest band that reaches above the pixel's centre. */
static uint32_t life_expected(const struct scene *scene, uint32_t x, uint32_t y) {
    struct y_scale scale = y_scale_of(&scene->view);
    uint64_t total = 0;
    for (uint32_t i = 0; i < scene->n_bands; i++) {
        const struct band *band = &scene->bands[i];
        if (x < band->start || x >= band->tail)
            continue;
        total += scene_band_bytes(scene, band, x);
        if (y_scale_q8(&scale, total) > (scene->view.height - 1 - y) * 256 + 128)
            return band->life;
    }
    return UINT32_MAX;
}

static void test_picks_are_what_lies_there(void **state) {
    (void)state;
    for (uint32_t round = 0; round < 30; round++) {
        seed = 2000 + round;
        struct recording *recording =
            recording_random(100 + random_below(900), 50 + random_below(1500), 50000);
        struct view view = view_random(&recording->timeline);
        assert_true(scene_build(&recording->scene, &view));
        for (uint32_t i = 0; i < 300; i++) {
            struct pick pick;
            uint32_t x = random_below(view.width), y = random_below(view.height);
            assert_true(scene_pick(&recording->scene, x, y, &pick));
            assert_int_equal(pick.life, life_expected(&recording->scene, x, y));
            assert_int_equal(pick.moment, recording->scene.moment[x]);
        }
        recording_free(recording);
    }
}

/* Work, not time: what a window looks at is what is born in it, and a few times what lives at its left edge. */
static void test_a_narrow_window_visits_little(void **state) {
    (void)state;
    seed = 1;
    struct recording *recording = recording_random(LIVES_MAX, EVENTS_MAX, 5000);
    const struct timeline *timeline = &recording->timeline;
    struct view view = {.width = 400, .height = 300, .top_bytes = timeline_headroom(timeline)};
    for (uint32_t events = EVENTS_MAX; events >= 4; events /= 2) {
        for (uint32_t at = 0; at + events <= EVENTS_MAX; at += events) {
            view.from_q16 = (int64_t)at * 65536;
            view.to_q16 = (int64_t)(at + events) * 65536;
            assert_true(scene_build(&recording->scene, &view));
            uint32_t alive = timeline_alive_at(timeline, recording->scene.moment[0], NULL, 0), born = 0;
            for (uint32_t i = 0; i < LIVES_MAX; i++)
                born +=
                    recording->birth[i] > recording->scene.moment[0] && recording->birth[i] <= at + events;
            assert_in_range(recording->scene.rows_visited, 0, born + 3 * (uint64_t)alive + 64);
        }
    }
    recording_free(recording);
}

/* ---- pictures ---- */

static uint8_t *picture_of(struct recording *recording, const struct view *view) {
    size_t nbytes = (size_t)view->width * view->height * 4;
    uint8_t *rgba = malloc(nbytes + 64);
    assert_non_null(rgba);
    memset(rgba, 0xAB, nbytes + 64);
    const struct raster_style style = {.reserved = false};
    assert_true(scene_build(&recording->scene, view));
    assert_true(raster_draw(&recording->raster, &recording->scene, &style, rgba));
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

static uint32_t color_of(const struct recording *recording, uint32_t life) {
    uint32_t rgb =
        raster_site_color(&recording->trace, recording->timeline.site[recording->stack[life]], false);
    rgb = life % 2 != 0 ? mixed(rgb, 0xFFFFFF, 26) : rgb;
    return recording->birth[life] == 0 ? mixed(rgb, 0xFFFFFF, 76) : rgb;
}

/* Widens the channels' limits by a colour. */
static void limits_add(uint32_t limits[3][2], uint32_t rgb) {
    for (unsigned i = 0; i < 3; i++) {
        uint32_t value = rgb >> (16 - 8 * i) & 255;
        limits[i][0] = value < limits[i][0] ? value : limits[i][0];
        limits[i][1] = value > limits[i][1] ? value : limits[i][1];
    }
}

/* Every pixel below the top of the stack has a colour between those of what lies around it; above is the ground. */
static void column_check(const struct recording *recording, const struct view *view, const uint8_t *rgba,
                         uint32_t column) {
    const struct scene *scene = &recording->scene;
    struct y_scale scale = y_scale_of(view);
    uint64_t total = 0, pixel_bytes = (view->top_bytes - view->bottom_bytes) / view->height;
    uint32_t band = 0, count = 0;
    static uint32_t lives[LIVES_MAX];
    static uint64_t tops[LIVES_MAX];
    for (; band < scene->n_bands; band++) {
        const struct band *at = &scene->bands[band];
        if (column < at->start || column >= at->tail)
            continue;
        total += scene_band_bytes(scene, at, column);
        lives[count] = at->life;
        tops[count++] = total;
    }
    uint32_t top_row = y_scale_q8(&scale, total) >> 8, first = 0;
    for (uint32_t row = 0; row < view->height; row++) {
        uint32_t rgb = pixel_of(rgba, view, column, row);
        if (row > top_row)
            continue;
        /* A sum takes in its neighbours up to a pixel below and above, and one that is drawn alone its own. */
        uint64_t low = view->bottom_bytes + (uint64_t)row * pixel_bytes, high = low + 4 * pixel_bytes + 4;
        low = low < 3 * pixel_bytes + 3 ? 0 : low - 3 * pixel_bytes - 3;
        high += (uint64_t)row + 1; /* pixel_bytes is rounded down */
        while (first < count && tops[first] < low)
            first++;
        uint32_t limits[3][2] = {{255, 0}, {255, 0}, {255, 0}};
        if (row == top_row)
            limits_add(limits, 0xFFFFFF);
        for (uint32_t i = first; i < count && (i == 0 || tops[i - 1] <= high); i++) {
            limits_add(limits, color_of(recording, lives[i]));
            limits_add(limits, mixed(color_of(recording, lives[i]), 0xFFFFFF, 120)); /* hatch and edge */
            limits_add(limits, mixed(color_of(recording, lives[i]), 0x1F2328, 120)); /* dots */
        }
        for (unsigned i = 0; i < 3; i++)
            assert_in_range((rgb >> (16 - 8 * i) & 255) + 2, limits[i][0], limits[i][1] + 4);
    }
}

static void test_colours_lie_between_their_neighbours(void **state) {
    (void)state;
    for (uint32_t round = 0; round < 40; round++) {
        seed = 1000 + round;
        struct recording *recording = recording_random(100 + random_below(900), 50 + random_below(1500),
                                                       round % 2 == 0 ? 5000 : 50000000);
        struct view view = view_random(&recording->timeline);
        uint8_t *rgba = picture_of(recording, &view);
        for (uint32_t column = 0; column < view.width; column++)
            column_check(recording, &view, rgba, column);
        free(rgba);
        recording_free(recording);
    }
}

/* Three thin allocations in a sum, of which one makes room for another of the same size: weights and bytes stay, and only
 * the colour changes. What lies above, of another call site, begins in that column. */
static struct recording *recording_of_exchange(uint32_t before, uint32_t after) {
    enum { LIVES = 6, EVENTS = 40, EXCHANGE = 20 };
    static const uint32_t births[LIVES] = {0, 0, 0, EXCHANGE, EXCHANGE, EXCHANGE};
    static const uint64_t sizes[LIVES] = {100, 100, 100, 100, 350, 350};
    const uint32_t stacks[LIVES] = {SITES, before, SITES, after, SITES, SITES};
    struct recording *recording = recording_new(LIVES, EVENTS);
    for (uint32_t i = 0; i < LIVES; i++) {
        recording->birth[i] = births[i];
        recording->death[i] = recording->request[i] = i == 1 ? EXCHANGE : EVENTS + 1;
        recording->size[i] = sizes[i];
        recording->stack[i] = stacks[i];
    }
    recording->device.lives.preexisting = 3;
    recording_start(recording);
    return recording;
}

static void test_a_change_of_nothing_but_colour_stays_where_it_is(void **state) {
    (void)state;
    for (uint32_t pair = 0; pair < SITES * SITES; pair++) {
        struct recording *recording = recording_of_exchange(1 + pair / SITES, 1 + pair % SITES);
        struct view view = {.width = 41, .height = 4, .top_bytes = 4 * 360};
        view_fit(&view, &recording->timeline);
        uint8_t *rgba = picture_of(recording, &view);
        uint32_t limits[3][2] = {{255, 0}, {255, 0}, {255, 0}};
        limits_add(limits, color_of(recording, 4));
        limits_add(limits, color_of(recording, 5));
        for (uint32_t column = 20; column < view.width; column++)
            for (unsigned i = 0; i < 3; i++)
                assert_in_range((pixel_of(rgba, &view, column, 1) >> (16 - 8 * i) & 255) + 2, limits[i][0],
                                limits[i][1] + 4);
        free(rgba);
        recording_free(recording);
    }
}

/* What is drawn does not depend on what was drawn before. */
static void test_a_scene_and_a_raster_can_be_used_again(void **state) {
    (void)state;
    seed = 7;
    struct recording *recording = recording_random(1000, 1500, 50000);
    struct view first = view_random(&recording->timeline);
    uint8_t *before = picture_of(recording, &first);
    for (uint32_t i = 0; i < 20; i++) {
        struct view other = view_random(&recording->timeline);
        free(picture_of(recording, &other));
    }
    uint8_t *after = picture_of(recording, &first);
    assert_memory_equal(before, after, (size_t)first.width * first.height * 4);
    free(before);
    free(after);
    recording_free(recording);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bands_are_what_they_are_said_to_be),
        cmocka_unit_test(test_picks_are_what_lies_there),
        cmocka_unit_test(test_a_narrow_window_visits_little),
        cmocka_unit_test(test_colours_lie_between_their_neighbours),
        cmocka_unit_test(test_a_change_of_nothing_but_colour_stays_where_it_is),
        cmocka_unit_test(test_a_scene_and_a_raster_can_be_used_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
