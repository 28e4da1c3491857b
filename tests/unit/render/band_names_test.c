/* Names on bands: each lies inside a band of its call site, as scene_pick finds pixel by pixel, and has enough contrast. */
#include "contrast.h"
#include "dice.h"
#include "recording.h"

#include "render/raster/band_names.h"

static struct dice dice;

/* ---- room between two edges, by trying all places ---- */

enum { WIDTH = 40 };

/* How many columns from `from` on share `rows` rows. */
static uint32_t stretch_from(const uint32_t *low, const uint32_t *high, uint32_t from, uint32_t rows) {
    uint32_t bottom = 0, top = UINT32_MAX, column = from;
    for (; column < WIDTH; column++) {
        uint32_t lower = (low[column] + 255) / 256, upper = high[column] / 256;
        bottom = lower > bottom ? lower : bottom;
        top = upper < top ? upper : top;
        if (bottom + rows > top)
            break;
    }
    return column - from;
}

static void room_check(const uint32_t *low, const uint32_t *high, uint32_t rows) {
    uint32_t longest = 0, at = 0, scratch[2 * WIDTH];
    for (uint32_t from = 0; from < WIDTH; from++) {
        uint32_t length = stretch_from(low, high, from, rows);
        at = length > longest ? from : at;
        longest = length > longest ? length : longest;
    }
    struct label_room room = {7, 7, 7, 7};
    assert_int_equal(label_room_find(low, high, WIDTH, rows, scratch, &room), longest != 0);
    if (longest == 0) {
        assert_int_equal(room.to, 7);
        return;
    }
    assert_int_equal(room.from, at);
    assert_int_equal(room.to, at + longest);
    assert_true(room.top - room.bottom >= rows);
    for (uint32_t column = room.from; column < room.to; column++)
        assert_true(room.bottom * 256 >= low[column] && room.top * 256 <= high[column]);
}

static void test_the_longest_room_is_found(void **state) {
    (void)state;
    for (uint32_t round = 0; round < 2000; round++) {
        uint32_t low[WIDTH], high[WIDTH], change = 1 + dice_below(&dice, 12);
        for (uint32_t i = 0; i < WIDTH; i++) {
            bool same = i != 0 && dice_below(&dice, change) != 0;
            low[i] = same ? low[i - 1] : dice_below(&dice, 2000);
            high[i] = same ? high[i - 1] : low[i] + dice_below(&dice, 4000);
        }
        room_check(low, high, 1 + dice_below(&dice, 12));
    }
}

/* ---- names ---- */

enum { SITES = 5, EVENTS = 300 };

struct drawn {
    struct recording *recording;
    struct scene scene;
    struct band_names names;
};

static void drawn_build(struct drawn *drawn, struct recording *recording, uint32_t n_events, uint32_t width,
                        uint32_t height) {
    drawn->recording = recording;
    scene_init(&drawn->scene, recording_settle(recording, n_events), plain_host);
    band_names_init(&drawn->names, plain_host);
    struct view view = {.width = width, .height = height};
    view_fit(&view, &recording->timeline);
    view.top_bytes = timeline_headroom_in(&recording->timeline, 0, recording->timeline.n_moments, 0);
    assert_true(scene_build(&drawn->scene, &view));
}

static void drawn_open(struct drawn *drawn, uint32_t n_allocations) {
    struct recording *recording = recording_open();
    for (uint32_t i = 1; i <= SITES; i++)
        assert_int_equal(recording_site(recording, "train.py", "step", i), i);
    for (uint32_t i = 0; i < n_allocations; i++) {
        uint32_t birth = i < n_allocations / 10 ? 0 : i * EVENTS / n_allocations;
        uint32_t death = birth + 1 + dice_below(&dice, dice_below(&dice, 3) == 0 ? EVENTS - birth + 1 : 80);
        recording_allocation(recording, birth, death > EVENTS ? STAYS : death,
                             1 + dice_below(&dice, 50) * dice_below(&dice, 50),
                             dice_below(&dice, 4) == 0 ? 0 : 1 + dice_below(&dice, SITES));
    }
    drawn_build(drawn, recording, EVENTS, 300 + dice_below(&dice, 700), 200 + dice_below(&dice, 400));
}

static void drawn_close(struct drawn *drawn) {
    band_names_release(&drawn->names);
    scene_release(&drawn->scene);
    recording_close(drawn->recording);
}

/* The call site under a pixel, or that of the nearest band at least a pixel high. */
static void pixel_check(const struct scene *scene, const struct band_name *name, uint32_t x, uint32_t row) {
    const struct timeline *timeline = scene->timeline;
    struct pick pick;
    assert_true(scene_pick(scene, x, scene->view.height - 1 - row, &pick));
    assert_int_not_equal(pick.allocation, UINT32_MAX);
    uint64_t pixel = (scene->view.top_bytes - scene->view.bottom_bytes) / scene->view.height;
    if (timeline->device->allocations.size[pick.allocation] >= pixel)
        assert_int_equal(timeline->site[timeline->device->allocations.stack[pick.allocation]], name->site);
}

static void room_lies_in_band(const struct scene *scene, const struct band_name *name,
                              const struct label_room *room, uint32_t rows, uint32_t columns) {
    assert_true(room->to - room->from >= columns && room->top - room->bottom >= rows);
    assert_true(room->to <= scene->view.width && room->top <= scene->view.height);
    for (uint32_t x = room->from; x < room->to;
         x += x + 1 == room->to ? 1 : dice_below(&dice, room->to - x) / 2 + 1)
        for (uint32_t row = room->bottom; row < room->top; row++)
            pixel_check(scene, name, x, row);
}

static void rooms_check(const struct drawn *drawn, uint32_t rows, uint32_t columns) {
    for (uint32_t i = 0; i < drawn->names.count; i++) {
        const struct band_name *name = &drawn->names.name[i];
        const struct label_room *room = &name->room[ROOM_MIDDLE];
        for (uint32_t which = 0; which < ROOM_COUNT; which++)
            if (which != ROOM_PAIR || name->room[which].to != 0)
                room_lies_in_band(&drawn->scene, name, &name->room[which],
                                  which == ROOM_PAIR ? 2 * rows : rows, columns);
        for (uint32_t k = 0; k < i; k++) {
            const struct label_room *other = &drawn->names.name[k].room[ROOM_MIDDLE];
            assert_true(room->from >= other->to || other->from >= room->to || room->bottom >= other->top ||
                        other->bottom >= room->top);
        }
    }
}

static void test_names_lie_in_their_bands(void **state) {
    (void)state;
    uint32_t found = 0;
    for (uint32_t round = 0; round < 60; round++) {
        dice = (struct dice){round};
        struct drawn drawn;
        drawn_open(&drawn, 10 + dice_below(&dice, 300));
        struct raster_style style = {.color_by = round % 3 == 1 ? COLOR_BY_SIZE : COLOR_BY_SITE};
        uint32_t rows = 4 + dice_below(&dice, 12), columns = 10 + dice_below(&dice, 60);
        assert_true(band_names_find(&drawn.names, &drawn.scene, &style, rows, columns));
        rooms_check(&drawn, rows, columns);
        found += drawn.names.count;
        drawn_close(&drawn);
    }
    assert_true(found > 200);
}

/* A picture of one allocation has its name, though all others are too thin. */
static void test_neighbours_that_look_alike_have_one_name(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    assert_int_equal(recording_site(recording, "model.py", "build", 9), 1);
    assert_int_equal(recording_site(recording, "model.py", "bias", 10), 2);
    for (uint32_t i = 0; i < 400; i++)
        recording_allocation(recording, 1, STAYS, i == 7 ? 2 : 1000, i == 7 ? 2 : 1);
    struct drawn drawn;
    drawn_build(&drawn, recording, 10, 400, 200);
    struct raster_style style = {.color_by = COLOR_BY_SITE};
    assert_true(band_names_find(&drawn.names, &drawn.scene, &style, 14, 48));
    assert_int_equal(drawn.names.count, 1);
    assert_int_equal(recording->trace.frames.frame[drawn.names.name[0].site].line, 9);
    assert_true(drawn.names.name[0].room[ROOM_MIDDLE].top - drawn.names.name[0].room[ROOM_MIDDLE].bottom >
                150);
    drawn_close(&drawn);
}

/* A search in small steps finds what one at once finds, also if one that was left lies before it. */
static void test_steps_find_the_same(void **state) {
    (void)state;
    uint32_t found = 0;
    for (uint32_t round = 0; round < 60; round++) {
        dice = (struct dice){round};
        struct drawn drawn;
        struct band_names stepped;
        drawn_open(&drawn, 10 + dice_below(&dice, 300));
        band_names_init(&stepped, plain_host);
        struct raster_style style = {.color_by = round % 3 == 1 ? COLOR_BY_SIZE : COLOR_BY_SITE};
        uint32_t rows = 4 + dice_below(&dice, 12), columns = 10 + dice_below(&dice, 60);
        uint32_t most = 1 + dice_below(&dice, 8), left = dice_below(&dice, 6), steps = 0;
        assert_true(band_names_find(&drawn.names, &drawn.scene, &style, rows, columns));
        for (uint32_t i = 0; i < left; i++)
            band_names_step(&stepped, &drawn.scene, &style, rows, columns, most);
        band_names_forget(&stepped);
        assert_int_equal(stepped.count, 0);
        while (band_names_step(&stepped, &drawn.scene, &style, rows, columns, most) == NAMES_GO_ON)
            steps++;
        assert_true(steps >= drawn.scene.n_bands / most);
        assert_int_equal(stepped.count, drawn.names.count);
        for (uint32_t i = 0; i < stepped.count; i++)
            assert_memory_equal(&stepped.name[i], &drawn.names.name[i], sizeof stepped.name[i]);
        found += stepped.count;
        band_names_release(&stepped);
        drawn_close(&drawn);
    }
    assert_true(found > 200);
}

/* What has no stack is named by what it is and by its age. */
static void test_what_has_no_stack_has_a_name(void **state) {
    (void)state;
    static const struct {
        uint16_t category;
        bool is_older, is_rest;
        const char *text;
    } cases[] = {{CATEGORY_PARAMETER, true, false, "parameters, older than the recording"},
                 {CATEGORY_COUNT, true, false, "older than the recording"},
                 {CATEGORY_GRADIENT, false, false, "gradients, no stack recorded"},
                 {CATEGORY_COUNT, false, false, "no stack recorded"},
                 {CATEGORY_COUNT, false, true, "smaller call sites"},
                 {CATEGORY_COUNT, true, true, "smaller call sites, older than the recording"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct band_name name = {
            .category = cases[i].category, .is_older = cases[i].is_older, .is_rest = cases[i].is_rest};
        char text[64];
        assert_int_equal(band_name_text(NULL, &name, text, sizeof text), strlen(cases[i].text));
        assert_string_equal(text, cases[i].text);
    }
}

/* Where a tenth or more of a band is something else, its category is not said. */
static void test_a_category_is_that_of_nearly_all(void **state) {
    (void)state;
    for (uint32_t others = 0; others < 2; others++) {
        struct recording *recording = recording_open();
        uint8_t category[100];
        for (uint32_t i = 0; i < 100; i++) {
            recording_allocation(recording, 1, STAYS, 1000, 0);
            category[i] = i < 5 + 6 * others ? CATEGORY_INPUT : CATEGORY_PARAMETER;
        }
        struct drawn drawn;
        drawn_build(&drawn, recording, 10, 400, 200);
        struct raster_style style = {.color_by = COLOR_BY_SITE, .category = category};
        assert_true(band_names_find(&drawn.names, &drawn.scene, &style, 14, 48));
        assert_int_equal(drawn.names.count, 1);
        assert_int_equal(drawn.names.name[0].category, others != 0 ? CATEGORY_COUNT : CATEGORY_PARAMETER);
        drawn_close(&drawn);
    }
}

/* ---- ink ---- */

static void test_letters_stand_out(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 200000; i++) {
        uint32_t color = i < 256 ? i * 0x010101 : dice_below(&dice, 1 << 24);
        assert_true(contrast_of(color, band_ink(color)) >= 4.5);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_longest_room_is_found),
        cmocka_unit_test(test_names_lie_in_their_bands),
        cmocka_unit_test(test_neighbours_that_look_alike_have_one_name),
        cmocka_unit_test(test_steps_find_the_same),
        cmocka_unit_test(test_what_has_no_stack_has_a_name),
        cmocka_unit_test(test_a_category_is_that_of_nearly_all),
        cmocka_unit_test(test_letters_stand_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
