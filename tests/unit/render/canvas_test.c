/* Canvas, font and PNG writer: pixels and text of known content. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/utf8.h"
#include "render/png/canvas.h"
#include "render/png/png_write.h"

#include <png.h>
#include <stdlib.h>
#include <string.h>

static const struct font_style regular = {FONT_REGULAR, 14};

static uint32_t pixel_at(const struct canvas *canvas, uint32_t x, uint32_t y) {
    const uint8_t *pixel = canvas->rgba + ((size_t)y * canvas->width + x) * 4;
    assert_int_equal(pixel[3], 255);
    return (uint32_t)pixel[0] << 16 | (uint32_t)pixel[1] << 8 | pixel[2];
}

/* Number of pixels inside of `rect` that are not `color`. */
static uint32_t pixels_other_than(const struct canvas *canvas, uint32_t color, struct rect rect) {
    uint32_t n = 0;
    for (int32_t y = rect.y; y < rect.y + rect.height; y++)
        for (int32_t x = rect.x; x < rect.x + rect.width; x++)
            n += pixel_at(canvas, (uint32_t)x, (uint32_t)y) != color;
    return n;
}

/* ---- canvas ---- */

static void canvas_refuses_invalid_sizes(void **state) {
    (void)state;
    struct canvas canvas;
    assert_false(canvas_init(&canvas, 0, 5, 0));
    assert_false(canvas_init(&canvas, 5, 0, 0));
    assert_false(canvas_init(&canvas, UINT32_MAX, UINT32_MAX, 0));
    canvas_release(&canvas);
}

static void fill_is_clipped_and_blended(void **state) {
    (void)state;
    struct canvas canvas;
    assert_true(canvas_init(&canvas, 10, 8, 0xffffff));
    canvas_fill(&canvas, (struct rect){-5, -5, 7, 7}, 0x102030, 255);
    canvas_fill(&canvas, (struct rect){8, 6, INT32_MAX, INT32_MAX}, 0x000000, 51);
    canvas_fill(&canvas, (struct rect){3, 3, -2, 4}, 0xff0000, 255);
    assert_int_equal(pixel_at(&canvas, 1, 1), 0x102030);
    assert_int_equal(pixel_at(&canvas, 2, 1), 0xffffff);
    assert_int_equal(pixel_at(&canvas, 9, 7), 0xcccccc);
    assert_int_equal(pixels_other_than(&canvas, 0xffffff, (struct rect){0, 0, 10, 8}), 4 + 4);
    canvas_release(&canvas);
}

static void dashes_are_drawn_and_left_out(void **state) {
    (void)state;
    struct canvas canvas;
    assert_true(canvas_init(&canvas, 12, 12, 0xffffff));
    canvas_dash(&canvas, (struct rect){0, 2, 12, 1}, 3, 2, 0, 255);
    canvas_dash(&canvas, (struct rect){7, 4, 1, 8}, 1, 1, 0, 255);
    static const char *const across = "xxx..xxx..xx";
    for (uint32_t x = 0; x < 12; x++)
        assert_int_equal(pixel_at(&canvas, x, 2), across[x] == 'x' ? 0 : 0xffffff);
    for (uint32_t y = 4; y < 12; y++)
        assert_int_equal(pixel_at(&canvas, 7, y), y % 2 == 0 ? 0 : 0xffffff);
    canvas_release(&canvas);
}

static void frame_leaves_the_inside_alone(void **state) {
    (void)state;
    struct canvas canvas;
    assert_true(canvas_init(&canvas, 10, 10, 0xffffff));
    canvas_frame(&canvas, (struct rect){1, 1, 8, 6}, 1, 0, 255);
    assert_int_equal(pixels_other_than(&canvas, 0xffffff, (struct rect){0, 0, 10, 10}), 8 * 6 - 6 * 4);
    assert_int_equal(pixels_other_than(&canvas, 0xffffff, (struct rect){2, 2, 6, 4}), 0);
    canvas_release(&canvas);
}

static void triangle_points_down_and_is_symmetric(void **state) {
    (void)state;
    struct canvas canvas;
    assert_true(canvas_init(&canvas, 11, 8, 0xffffff));
    canvas_triangle(&canvas, (struct rect){0, 0, 11, 8}, 0);
    for (uint32_t y = 0; y < 8; y++)
        for (uint32_t x = 0; x < 5; x++)
            assert_int_equal(pixel_at(&canvas, x, y), pixel_at(&canvas, 10 - x, y));
    assert_int_equal(pixel_at(&canvas, 5, 0), 0);
    assert_int_equal(pixel_at(&canvas, 0, 7), 0xffffff);
    assert_true(pixel_at(&canvas, 5, 7) < 0xffffff);
    assert_true(pixels_other_than(&canvas, 0xffffff, (struct rect){0, 0, 11, 1}) >
                pixels_other_than(&canvas, 0xffffff, (struct rect){0, 6, 11, 1}));
    canvas_release(&canvas);
}

static void swatch_has_round_corners(void **state) {
    (void)state;
    struct canvas canvas;
    assert_true(canvas_init(&canvas, 12, 12, 0xffffff));
    canvas_swatch(&canvas, (struct rect){0, 0, 12, 12}, 4, 0);
    assert_int_equal(pixel_at(&canvas, 0, 0), 0xffffff);
    assert_int_equal(pixel_at(&canvas, 11, 11), 0xffffff);
    assert_int_equal(pixel_at(&canvas, 6, 0), 0);
    assert_int_equal(pixel_at(&canvas, 6, 6), 0);
    canvas_release(&canvas);
}

static void blit_copies_what_lies_inside(void **state) {
    (void)state;
    struct canvas canvas;
    uint8_t source[3 * 2 * 4];
    for (size_t i = 0; i < sizeof source; i++)
        source[i] = (uint8_t)i;
    assert_true(canvas_init(&canvas, 4, 4, 0xffffff));
    canvas_blit(&canvas, -1, 3, source, 3, 2);
    assert_int_equal(pixel_at(&canvas, 0, 3), 0x040506);
    assert_int_equal(pixel_at(&canvas, 1, 3), 0x08090a);
    assert_int_equal(pixels_other_than(&canvas, 0xffffff, (struct rect){0, 0, 4, 4}), 2);
    canvas_release(&canvas);
}

/* ---- text ---- */

static int font_setup(void **state) {
    *state = font_open();
    return *state ? 0 : -1;
}

static int font_teardown(void **state) {
    font_close(*state);
    return 0;
}

static void text_stays_within_its_measure(void **state) {
    struct font *font = *state;
    static const char *const texts[] = {"attention.py:88 forward", "AVAVA To jgpq |\xc3\x84\xc3\x87", "WWWW",
                                        "1"};
    for (uint32_t px = 8; px <= 40; px += 8) {
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
            struct font_style style = {FONT_BOLD, px};
            struct canvas canvas;
            int32_t width = (int32_t)font_width(font, style, texts[i]);
            int32_t ascent = (int32_t)font_ascent(style), descent = (int32_t)font_descent(style);
            /* A glyph may extend a little beyond its advance on either side. */
            int32_t margin = 1 + (int32_t)px / 8;
            assert_true(
                canvas_init(&canvas, (uint32_t)(width + 80), (uint32_t)(ascent + descent + 80), 0xffffff));
            assert_true(canvas_text(&canvas, font, style, texts[i], 40, 40 + ascent, 0));
            struct rect all = {0, 0, (int32_t)canvas.width, (int32_t)canvas.height};
            struct rect box = {40 - margin, 40, width + 2 * margin, ascent + descent};
            assert_true(pixels_other_than(&canvas, 0xffffff, all) > px);
            assert_int_equal(pixels_other_than(&canvas, 0xffffff, all),
                             pixels_other_than(&canvas, 0xffffff, box));
            canvas_release(&canvas);
        }
    }
}

static void text_is_clipped_at_every_edge(void **state) {
    struct font *font = *state;
    struct canvas canvas;
    assert_true(canvas_init(&canvas, 9, 9, 0xffffff));
    for (int32_t x = -60; x < 20; x += 3)
        for (int32_t y = -20; y < 40; y += 3)
            assert_true(canvas_text(&canvas, font, regular, "Wide text", x, y, 0));
    canvas_release(&canvas);
}

static void width_is_proportional_to_size(void **state) {
    struct font *font = *state;
    const char *text = "A rather long line of text, AVATAR, 71.2 GiB";
    uint32_t small = font_width(font, regular, text);
    uint32_t large = font_width(font, (struct font_style){FONT_REGULAR, 4 * regular.px}, text);
    assert_true(large <= 4 * small && large + 4 > 4 * small);
}

static void pairs_are_kerned_and_digits_are_not(void **state) {
    struct font *font = *state;
    struct font_style style = {FONT_REGULAR, 200};
    assert_true(font_width(font, style, "AV") + 5 <
                font_width(font, style, "A") + font_width(font, style, "V"));
    assert_int_equal(font_width(font, style, "1111"), font_width(font, style, "4780"));
}

static void what_fits_is_not_cut(void **state) {
    struct font *font = *state;
    char out[FONT_TEXT_NBYTES];
    assert_true(
        font_elide(font, regular, "forward", font_width(font, regular, "forward"), FONT_CUT_MIDDLE, out));
    assert_string_equal(out, "forward");
    assert_true(font_elide(font, regular, "", 0, FONT_CUT_MIDDLE, out));
    assert_string_equal(out, "");
}

static void long_text_loses_its_middle_or_its_end(void **state) {
    struct font *font = *state;
    char out[FONT_TEXT_NBYTES];
    const char *text = "model.py:123 some_function_with_a_name";
    uint32_t room = font_width(font, regular, text) * 2 / 3;
    assert_false(font_elide(font, regular, text, room, FONT_CUT_MIDDLE, out));
    assert_memory_equal(out, "model.py", 8);
    assert_string_equal(out + strlen(out) - 6, "a_name");
    assert_non_null(strstr(out, "\xe2\x80\xa6"));
    assert_false(font_elide(font, regular, text, room, FONT_CUT_END, out));
    assert_memory_equal(out, "model.py:123 some", 17);
    assert_string_equal(out + strlen(out) - 3, "\xe2\x80\xa6");
}

static void elided_text_fits_every_width(void **state) {
    struct font *font = *state;
    char out[FONT_TEXT_NBYTES];
    const char *text = "AVAVAVAV.py:1 To.Yo.We <lambda> \xe4\xb8\xad\xe6\x96\x87";
    uint32_t whole = font_width(font, regular, text);
    for (uint32_t room = 0; room <= whole; room++)
        for (int cut = FONT_CUT_MIDDLE; cut <= FONT_CUT_END; cut++) {
            bool complete = font_elide(font, regular, text, room, (enum font_cut)cut, out);
            assert_int_equal(complete, room == whole);
            assert_true(font_width(font, regular, out) <= room);
        }
}

/* A line ends between words, but not between a figure and its unit. */
static void a_figure_keeps_its_unit(void **state) {
    struct font *font = *state;
    char line[100];
    const char *text = "a peak of 62 % activations";
    int32_t room = (int32_t)font_width(font, regular, "a peak of 62 ");
    assert_int_equal(font_break(font, regular, text, room, line, sizeof line), 9);
    assert_string_equal(line, "a peak of");
    room = (int32_t)font_width(font, regular, "a peak of 62 %");
    assert_int_equal(font_break(font, regular, text, room, line, sizeof line), 14);
    assert_int_equal(font_break(font, regular, "7.3 GiB here", 1, line, sizeof line), 7);
}

static void endless_text_is_bounded(void **state) {
    struct font *font = *state;
    char out[FONT_TEXT_NBYTES];
    size_t nbytes = 1 << 20;
    char *text = malloc(nbytes + 1);
    assert_non_null(text);
    memset(text, 'x', nbytes);
    text[0] = '<';
    text[nbytes - 1] = '>';
    text[nbytes] = '\0';
    assert_false(font_elide(font, regular, text, UINT32_MAX, FONT_CUT_MIDDLE, out));
    assert_int_equal(strlen(out), FONT_TEXT_CODES + 2); /* the ellipsis has three bytes */
    assert_int_equal(out[0], '<');
    assert_int_equal(out[strlen(out) - 1], '>');
    /* A text at the limit loses nothing, one with a character more does. */
    text[FONT_TEXT_CODES] = '\0';
    assert_true(font_elide(font, regular, text, UINT32_MAX, FONT_CUT_MIDDLE, out));
    assert_string_equal(out, text);
    text[FONT_TEXT_CODES] = 'y';
    text[FONT_TEXT_CODES + 1] = '\0';
    assert_false(font_elide(font, regular, text, UINT32_MAX, FONT_CUT_MIDDLE, out));
    assert_int_equal(out[strlen(out) - 1], 'y');
    free(text);
}

static void control_characters_are_shown(void **state) {
    struct font *font = *state;
    char out[FONT_TEXT_NBYTES];
    static const struct {
        const char *text, *shown;
    } cases[] = {
        {"a\nb\tc\x1b[31m", "a\xef\xbf\xbd"
                            "b\xef\xbf\xbd"
                            "c\xef\xbf\xbd[31m"},
        {"\xe2\x80\xae"
         "evil\xe2\x81\xa6",
         "\xef\xbf\xbd"
         "evil\xef\xbf\xbd"},
        {"\xff\xc3", "\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xc0\xaf\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xe4\xb8\xad", "\xe4\xb8\xad"},
        {"<script>", "<script>"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(font_elide(font, regular, cases[i].text, 10000, FONT_CUT_MIDDLE, out));
        assert_string_equal(out, cases[i].shown);
    }
}

/* A character that the face lacks becomes a box with ink and a width. */
static void missing_glyphs_have_ink(void **state) {
    struct font *font = *state;
    struct canvas canvas;
    assert_true(canvas_init(&canvas, 40, 30, 0xffffff));
    assert_true(canvas_text(&canvas, font, regular, "\xe4\xb8\xad", 5, 20, 0));
    assert_true(pixels_other_than(&canvas, 0xffffff, (struct rect){0, 0, 40, 30}) > 10);
    assert_true(font_width(font, regular, "\xe4\xb8\xad") > 4);
    canvas_release(&canvas);
}

static void utf8_survives_a_round_trip(void **state) {
    (void)state;
    for (uint32_t code = 0; code < 0x110000; code += code < 0x900 ? 1 : 97) {
        char bytes[4];
        size_t at = 0;
        if (code >= 0xd800 && code < 0xe000)
            continue;
        size_t nbytes = utf8_put(code, bytes);
        assert_int_equal(utf8_next(bytes, nbytes, &at), code);
        assert_int_equal(at, nbytes);
        for (size_t cut = 1; cut < nbytes; cut++) {
            at = 0;
            assert_int_equal(utf8_next(bytes, cut, &at), UTF8_REPLACEMENT);
            assert_int_equal(at, 1);
        }
    }
}

/* ---- PNG ---- */

static void png_expect(const struct png_picture *picture, const uint8_t *rgba) {
    uint8_t read[4096];
    struct buffer out = {0};
    assert_true(png_write(&out, picture, NULL, 0));
    png_image image = {.version = PNG_IMAGE_VERSION};
    assert_true(png_image_begin_read_from_memory(&image, out.bytes, out.nbytes));
    assert_int_equal(image.width, picture->width);
    assert_int_equal(image.height, picture->height);
    assert_false(image.format & PNG_FORMAT_FLAG_ALPHA);
    assert_int_equal((image.format & PNG_FORMAT_FLAG_COLORMAP) != 0, picture->colors != NULL);
    image.format = PNG_FORMAT_RGBA;
    assert_true(PNG_IMAGE_SIZE(image) <= sizeof read);
    assert_true(png_image_finish_read(&image, NULL, read, 0, NULL));
    assert_memory_equal(read, rgba, PNG_IMAGE_SIZE(image));
    buffer_release(&out);
}

static void png_holds_the_same_pixels(void **state) {
    (void)state;
    enum { WIDTH = 37, HEIGHT = 23 };
    uint8_t pixels[WIDTH * HEIGHT * 4];
    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = i % 4 == 3 ? 255 : (uint8_t)(i * i >> 3);
    png_expect(&(struct png_picture){pixels, NULL, WIDTH, HEIGHT}, pixels);
}

static void png_holds_the_same_colors(void **state) {
    (void)state;
    static const struct colors colors = {{0x010203, 0xfffefd, 0x80ff00}, 3};
    static const uint8_t index[4] = {2, 0, 1, 2},
                         pixels[16] = {128, 255, 0, 255, 1, 2, 3, 255, 255, 254, 253, 255, 128, 255, 0, 255};
    png_expect(&(struct png_picture){index, &colors, 2, 2}, pixels);
}

/* The first byte of a chunk's data, NULL: there is none of that type. */
static const uint8_t *chunk_find(const struct buffer *png, const char *type, size_t *nbytes) {
    for (size_t at = 8; at + 12 <= png->nbytes;) {
        const uint8_t *chunk = png->bytes + at;
        *nbytes = (size_t)chunk[0] << 24 | (size_t)chunk[1] << 16 | (size_t)chunk[2] << 8 | chunk[3];
        if (memcmp(chunk + 4, type, 4) == 0)
            return chunk + 8;
        at += 12 + *nbytes;
    }
    return NULL;
}

static void png_has_text_chunks_and_no_time(void **state) {
    (void)state;
    static const uint8_t pixel[4] = {1, 2, 3, 255};
    static const struct png_text texts[] = {{"Software", "Strata 1"}, {"flags", "--title \xc3\xa9\x07\xff"}};
    const struct png_picture picture = {pixel, NULL, 1, 1};
    struct buffer out = {0}, again = {0};
    size_t nbytes;
    assert_true(png_write(&out, &picture, texts, 2));
    const uint8_t *text = chunk_find(&out, "tEXt", &nbytes);
    assert_non_null(text);
    assert_int_equal(nbytes, 17);
    assert_memory_equal(text, "Software\0Strata 1", 17);
    text = chunk_find(&out, "iTXt", &nbytes);
    assert_non_null(text);
    assert_int_equal(nbytes, 5 + 5 + 8 + 2 + 3 + 3);
    assert_memory_equal(text, "flags\0\0\0\0\0--title \xc3\xa9\xef\xbf\xbd\xef\xbf\xbd", nbytes);
    assert_null(chunk_find(&out, "tIME", &nbytes));
    assert_true(png_write(&again, &picture, texts, 2));
    assert_int_equal(again.nbytes, out.nbytes);
    assert_memory_equal(again.bytes, out.bytes, out.nbytes);
    buffer_release(&out);
    buffer_release(&again);
}

static void png_refuses_and_takes_back(void **state) {
    (void)state;
    static const uint8_t pixel[4] = {0};
    static const struct png_text bad[] = {{"", "empty key"}, {" key", "blank"}, {"k\xc3\xa9", "not ASCII"}};
    struct buffer out = {0};
    buffer_add_text(&out, "before");
    assert_false(png_write(&out, &(struct png_picture){pixel, NULL, 0, 1}, NULL, 0));
    assert_false(png_write(&out, &(struct png_picture){pixel, NULL, 1, 0}, NULL, 0));
    /* libpng's own limit of a million pixels a side: its error must become a false. */
    assert_false(png_write(&out, &(struct png_picture){pixel, NULL, 1000001, 1}, NULL, 0));
    for (size_t i = 0; i < 3; i++)
        assert_false(png_write(&out, &(struct png_picture){pixel, NULL, 1, 1}, &bad[i], 1));
    assert_int_equal(out.nbytes, 6);
    assert_memory_equal(out.bytes, "before", 6);
    buffer_release(&out);
}

/* A word longer than the buffer is broken between two characters. */
static void nothing_is_cut_inside_of_a_character(void **state) {
    char text[301], line[256];
    struct font *font = font_open();
    const struct font_style style = {.weight = FONT_REGULAR, .px = 12};
    (void)state;
    assert_non_null(font);
    for (size_t i = 0; i < 300; i += 2)
        memcpy(text + i, "\xc3\xa4", 3);
    for (size_t capacity = 200; capacity <= sizeof line; capacity++) {
        size_t used = font_break(font, style, text, 100, line, capacity);
        assert_int_equal(used % 2, 0);
        assert_int_equal(strlen(line), used);
    }
    font_close(font);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(canvas_refuses_invalid_sizes),
        cmocka_unit_test(fill_is_clipped_and_blended),
        cmocka_unit_test(dashes_are_drawn_and_left_out),
        cmocka_unit_test(frame_leaves_the_inside_alone),
        cmocka_unit_test(triangle_points_down_and_is_symmetric),
        cmocka_unit_test(swatch_has_round_corners),
        cmocka_unit_test(blit_copies_what_lies_inside),
        cmocka_unit_test_setup_teardown(text_stays_within_its_measure, font_setup, font_teardown),
        cmocka_unit_test_setup_teardown(text_is_clipped_at_every_edge, font_setup, font_teardown),
        cmocka_unit_test_setup_teardown(width_is_proportional_to_size, font_setup, font_teardown),
        cmocka_unit_test_setup_teardown(pairs_are_kerned_and_digits_are_not, font_setup, font_teardown),
        cmocka_unit_test_setup_teardown(what_fits_is_not_cut, font_setup, font_teardown),
        cmocka_unit_test_setup_teardown(long_text_loses_its_middle_or_its_end, font_setup, font_teardown),
        cmocka_unit_test_setup_teardown(elided_text_fits_every_width, font_setup, font_teardown),
        cmocka_unit_test_setup_teardown(a_figure_keeps_its_unit, font_setup, font_teardown),
        cmocka_unit_test_setup_teardown(endless_text_is_bounded, font_setup, font_teardown),
        cmocka_unit_test_setup_teardown(control_characters_are_shown, font_setup, font_teardown),
        cmocka_unit_test_setup_teardown(missing_glyphs_have_ink, font_setup, font_teardown),
        cmocka_unit_test(utf8_survives_a_round_trip),
        cmocka_unit_test(nothing_is_cut_inside_of_a_character),
        cmocka_unit_test(png_holds_the_same_pixels),
        cmocka_unit_test(png_holds_the_same_colors),
        cmocka_unit_test(png_has_text_chunks_and_no_time),
        cmocka_unit_test(png_refuses_and_takes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
