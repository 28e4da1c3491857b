/* A picture in few colours: each colour is the mean of its pixels, and no pixel is far off. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dice.h"
#include "render/png/colors.h"

#include <stdlib.h>
#include <string.h>

enum { N_PIXELS = 100000 };

struct picture {
    uint8_t rgba[N_PIXELS * 4], index[N_PIXELS];
    struct colors colors;
};

static int picture_setup(void **state) {
    *state = calloc(1, sizeof(struct picture));
    return *state ? 0 : -1;
}

static int picture_teardown(void **state) {
    free(*state);
    return 0;
}

static unsigned channel(uint32_t color, unsigned k) {
    return color >> (16 - 8 * k) & 255;
}

/* Squared distance of a pixel from the colour that replaces it. */
static double pixel_error(const struct picture *picture, size_t pixel) {
    double error = 0;
    for (unsigned k = 0; k < 3; k++) {
        const double off =
            (double)picture->rgba[4 * pixel + k] - channel(picture->colors.color[picture->index[pixel]], k);
        error += off * off;
    }
    return error;
}

static double picture_error(const struct picture *picture, size_t n_pixels) {
    double error = 0;
    for (size_t i = 0; i < n_pixels; i++)
        error += pixel_error(picture, i);
    return error / (double)n_pixels;
}

static void means_check(const struct picture *picture, size_t n_pixels) {
    uint64_t sum[COLORS_MAX][3] = {{0}}, count[COLORS_MAX] = {0};
    for (size_t i = 0; i < n_pixels; i++) {
        assert_true(picture->index[i] < picture->colors.count);
        count[picture->index[i]]++;
        for (unsigned k = 0; k < 3; k++)
            sum[picture->index[i]][k] += picture->rgba[4 * i + k];
    }
    for (uint32_t i = 0; i < picture->colors.count; i++)
        for (unsigned k = 0; k < 3; k++) {
            assert_true(count[i] != 0);
            assert_int_equal(channel(picture->colors.color[i], k), (sum[i][k] + count[i] / 2) / count[i]);
        }
}

static void few_colors_stay_as_they_are(void **state) {
    struct picture *picture = *state;
    static const uint8_t some[5][4] = {
        {0, 0, 0, 255}, {255, 255, 255, 0}, {255, 0, 7, 255}, {31, 35, 40, 255}, {208, 141, 124, 255}};
    for (size_t i = 0; i < N_PIXELS; i++)
        memcpy(picture->rgba + 4 * i, some[i * i % 7 % 5], 4);
    assert_true(colors_reduce(&picture->colors, picture->rgba, N_PIXELS, picture->index));
    means_check(picture, N_PIXELS);
    assert_true(picture_error(picture, N_PIXELS) <= 0);
}

static void one_pixel_and_none(void **state) {
    struct picture *picture = *state;
    memcpy(picture->rgba, "\x12\x34\x56", 3);
    assert_true(colors_reduce(&picture->colors, picture->rgba, 1, picture->index));
    assert_int_equal(picture->colors.count, 1);
    assert_int_equal(picture->colors.color[0], 0x123456);
    assert_int_equal(picture->index[0], 0);
    assert_true(colors_reduce(&picture->colors, picture->rgba, 0, picture->index));
    assert_int_equal(picture->colors.count, 0);
}

/* Noise fills the colour space: 256 boxes of 32 x 32 x 64 have a mean squared error of (32 * 32 + 32 * 32 + 64 * 64) /
 * 12 = 512. */
static void noise_gets_the_nearest(void **state) {
    struct picture *picture = *state;
    struct dice dice = {1};
    for (size_t i = 0; i < sizeof picture->rgba; i++)
        picture->rgba[i] = (uint8_t)dice_roll(&dice);
    assert_true(colors_reduce(&picture->colors, picture->rgba, N_PIXELS, picture->index));
    assert_int_equal(picture->colors.count, COLORS_MAX);
    means_check(picture, N_PIXELS);
    assert_true(picture_error(picture, N_PIXELS) < 520);
}

/* Mixed colours are near a grey. A colour of a thousandth of the pixels must neither change them nor be lost. */
static void rare_colors_are_kept_apart(void **state) {
    struct picture *picture = *state;
    struct dice dice = {2};
    for (size_t i = 0; i < sizeof picture->rgba; i++)
        picture->rgba[i] = (uint8_t)(112 + dice_below(&dice, 32));
    for (size_t i = 0; i < N_PIXELS; i += 1000)
        memcpy(picture->rgba + 4 * i, "\xff\x20\x20", 3);
    assert_true(colors_reduce(&picture->colors, picture->rgba, N_PIXELS, picture->index));
    means_check(picture, N_PIXELS);
    assert_true(picture_error(picture, N_PIXELS) < 20);
    for (size_t i = 0; i < N_PIXELS; i += 1000)
        assert_true(pixel_error(picture, i) <= 0);
}

static void the_same_input_gives_the_same_colors(void **state) {
    struct picture *picture = *state;
    struct dice dice = {3};
    for (size_t i = 0; i < sizeof picture->rgba; i++)
        picture->rgba[i] = (uint8_t)(dice_below(&dice, 1 << 16) * dice_below(&dice, 1 << 16) >> 8);
    struct picture *again = malloc(sizeof *again);
    assert_non_null(again);
    memcpy(again, picture, sizeof *again);
    assert_true(colors_reduce(&picture->colors, picture->rgba, N_PIXELS, picture->index));
    assert_true(colors_reduce(&again->colors, again->rgba, N_PIXELS, again->index));
    assert_memory_equal(again, picture, sizeof *again);
    free(again);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, picture_setup, picture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(few_colors_stay_as_they_are),
        TEST(one_pixel_and_none),
        TEST(noise_gets_the_nearest),
        TEST(rare_colors_are_kept_apart),
        TEST(the_same_input_gives_the_same_colors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
