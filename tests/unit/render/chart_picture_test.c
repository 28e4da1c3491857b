/* The picture as a file: its plot equals the raster's to the pixel, its chunks have its texts, and it is the same each
 * time. */
#include "chart_made.h"

#include <png.h>

/* ---- picture ---- */

/* The value of a tEXt chunk, NULL: there is none. The length is in `nbytes`. */
static const char *text_find(const struct buffer *png, const char *key, size_t *nbytes) {
    for (size_t at = 8; at + 12 <= png->nbytes;) {
        const uint8_t *chunk = png->bytes + at;
        size_t length = (size_t)chunk[0] << 24 | (size_t)chunk[1] << 16 | (size_t)chunk[2] << 8 | chunk[3];
        if (memcmp(chunk + 4, "tEXt", 4) == 0 && length > strlen(key) &&
            memcmp(chunk + 8, key, strlen(key) + 1) == 0) {
            *nbytes = length - strlen(key) - 1;
            return (const char *)chunk + 8 + strlen(key) + 1;
        }
        at += 12 + length;
    }
    return NULL;
}

static uint8_t *png_decode(const struct buffer *png, png_image *image) {
    *image = (png_image){.version = PNG_IMAGE_VERSION};
    assert_true(png_image_begin_read_from_memory(image, png->bytes, png->nbytes));
    image->format = PNG_FORMAT_RGBA;
    uint8_t *pixels = malloc(PNG_IMAGE_SIZE(*image));
    assert_non_null(pixels);
    assert_true(png_image_finish_read(image, NULL, pixels, 0, NULL));
    return pixels;
}

static void raster_expect(const struct timeline *timeline, const struct view *view,
                          const struct chart_options *options, uint8_t *rgba) {
    struct scene scene;
    struct raster raster;
    struct raster_style style = {.dark = options->dark, .reserved = true, .scale = options->scale};
    scene_init(&scene, timeline, plain_host);
    raster_init(&raster, plain_host);
    assert_true(scene_build(&scene, view));
    if (scene_is_dense(&scene, SCENE_THIN_Q8 * options->scale))
        assert_true(scene_group_sites(&scene, style.lit));
    assert_true(raster_draw(&raster, &scene, &style, rgba));
    raster_release(&raster);
    scene_release(&scene);
}

static void plot_check(struct recording *recording, const struct chart_options *options) {
    struct buffer png = {0};
    size_t nbytes;
    png_image image;
    unsigned x, y, width, height;
    assert_int_equal(chart_png(&png, &recording->timeline, options, &recording->arena), CHART_OK);
    const char *plot = text_find(&png, "strata:plot", &nbytes);
    assert_non_null(plot);
    char text[64] = {0};
    assert_true(nbytes < sizeof text);
    memcpy(text, plot, nbytes);
    assert_int_equal(sscanf(text, "%u %u %u %u", &x, &y, &width, &height), 4);
    uint8_t *pixels = png_decode(&png, &image);
    assert_int_equal(image.width, options->width * options->scale);
    assert_int_equal(image.height, options->height * options->scale);
    struct view view = {.width = width,
                        .height = height,
                        .top_bytes =
                            timeline_headroom_in(&recording->timeline, 0, recording->timeline.n_moments, 0)};
    view_fit(&view, &recording->timeline);
    uint8_t *expected = malloc((size_t)width * height * 4);
    assert_non_null(expected);
    raster_expect(&recording->timeline, &view, options, expected);
    for (unsigned row = 0; row < height; row++)
        assert_memory_equal(pixels + ((size_t)(y + row) * image.width + x) * 4,
                            expected + (size_t)row * width * 4, (size_t)width * 4);
    free(expected);
    free(pixels);
    buffer_release(&png);
}

static void the_plot_is_exactly_the_rasters(void **state) {
    (void)state;
    struct recording *recording = recording_of_sites(true);
    for (uint32_t i = 0; i < 8; i++) {
        struct chart_options options = options_of(sizes[i][0], sizes[i][1], sizes[i][2]);
        options.dark = i % 2;
        options.no_names = true;
        plot_check(recording, &options);
    }
    recording_close(recording);
}

static void the_same_input_gives_the_same_bytes(void **state) {
    (void)state;
    struct recording *recording = recording_of_sites(true);
    struct chart_options options = options_of(800, 450, 1);
    struct buffer first = {0}, second = {0};
    size_t nbytes;
    assert_int_equal(chart_png(&first, &recording->timeline, &options, &recording->arena), CHART_OK);
    assert_int_equal(chart_png(&second, &recording->timeline, &options, &recording->arena), CHART_OK);
    assert_int_equal(first.nbytes, second.nbytes);
    assert_memory_equal(first.bytes, second.bytes, first.nbytes);
    const char *fingerprint = text_find(&first, "strata:fingerprint", &nbytes);
    assert_non_null(fingerprint);
    assert_int_equal(nbytes, 39);
    assert_memory_equal(fingerprint, options.fingerprint, 39);
    assert_non_null(text_find(&first, "strata:flags", &nbytes));
    assert_non_null(text_find(&first, "Software", &nbytes));
    buffer_release(&first);
    buffer_release(&second);
    recording_close(recording);
}

static bool all_keep(void *context, const void *bytes, size_t nbytes) {
    buffer_add(context, bytes, nbytes);
    return true;
}

static bool all_refuse(void *context, const void *bytes, size_t nbytes) {
    (void)bytes;
    *(size_t *)context += nbytes;
    return false;
}

/* A picture written to a sink needs only one block of memory. A sink that refuses is not reported as lack of memory. */
static void the_picture_is_streamed_to_a_sink(void **state) {
    (void)state;
    struct recording *recording = recording_of_sites(true);
    struct chart_options options = options_of(3840, 2160, 1);
    size_t n_refused = 0;
    struct buffer whole = {0}, taken = {0}, out = {.sink = {all_keep, &taken}},
                  refused = {.sink = {all_refuse, &n_refused}};
    assert_int_equal(chart_png(&whole, &recording->timeline, &options, &recording->arena), CHART_OK);
    assert_int_equal(chart_png(&out, &recording->timeline, &options, &recording->arena), CHART_OK);
    assert_true(buffer_flush(&out));
    assert_true(out.capacity <= BUFFER_BLOCK_NBYTES);
    assert_true(taken.nbytes > BUFFER_BLOCK_NBYTES);
    assert_int_equal(taken.nbytes, whole.nbytes);
    assert_memory_equal(taken.bytes, whole.bytes, whole.nbytes);
    assert_int_not_equal(chart_png(&refused, &recording->timeline, &options, &recording->arena), CHART_OK);
    assert_true(refused.refused && n_refused != 0);
    buffer_release(&whole);
    buffer_release(&taken);
    buffer_release(&out);
    buffer_release(&refused);
    recording_close(recording);
}

static void impossible_sizes_are_refused(void **state) {
    (void)state;
    struct recording *recording = recording_of_sites(true);
    static const uint32_t bad[][3] = {{319, 240, 1},  {320, 239, 1},  {7681, 900, 1}, {1600, 4321, 1},
                                      {1600, 900, 0}, {1600, 900, 5}, {7680, 4320, 4}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct chart_options options = options_of(bad[i][0], bad[i][1], bad[i][2]);
        struct buffer png = {0};
        assert_int_equal(chart_png(&png, &recording->timeline, &options, &recording->arena), CHART_SIZE);
        assert_int_equal(png.nbytes, 0);
        buffer_release(&png);
    }
    recording_close(recording);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_plot_is_exactly_the_rasters),
        cmocka_unit_test(the_same_input_gives_the_same_bytes),
        cmocka_unit_test(the_picture_is_streamed_to_a_sink),
        cmocka_unit_test(impossible_sizes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
