/* The PNG of a recipe, with options from the first bytes. libpng must be able to read it, and it must have the
 * requested size. */
#include "render/png/chart.h"
#include "tests/fuzz/examine.h"
#include "tests/fuzz/recipe.h"
#include "tests/fuzz/target.h"

#include <png.h>
#include <stdlib.h>

static void png_check(const struct buffer *png, uint32_t width, uint32_t height) {
    png_image image = {.version = PNG_IMAGE_VERSION};
    EXAMINE_CHECK(png_image_begin_read_from_memory(&image, png->bytes, png->nbytes) != 0);
    EXAMINE_CHECK(image.width == width && image.height == height);
    image.format = PNG_FORMAT_RGBA;
    void *pixels = malloc(PNG_IMAGE_SIZE(image));
    EXAMINE_CHECK(pixels != NULL && png_image_finish_read(&image, NULL, pixels, 0, NULL) != 0);
    free(pixels);
}

static void picture_draw(const struct timeline *timeline, const uint8_t *choice, struct arena *memory) {
    const uint32_t last = timeline->n_moments - 1;
    struct chart_options options = {
        .file = "input",
        .fingerprint = "xxh128:",
        .title = choice[0] & 1 ? "a title <\xe2\x80\xae\x7f" : NULL,
        .flags = "",
        .width = 320 + choice[1] * 2U,
        .height = 240 + choice[2] * 2U,
        .scale = choice[0] & 64 ? 2 : 1,
        .dark = (choice[0] & 2) != 0,
        .axis = choice[0] & 4 && timeline_timed(timeline) ? AXIS_TIME : AXIS_EVENTS,
        .color_by = choice[3] % (COLOR_BY_CATEGORY + 1),
        .capacity_bytes = choice[0] & 8 ? (uint64_t)choice[4] << (choice[5] & 63) : 0,
        .legend_moment = choice[0] & 32 ? choice[6] % (last + 1) : UINT32_MAX};
    if (choice[0] & 128 && options.axis == AXIS_EVENTS && last != 0) {
        options.from_q16 = (int64_t)(choice[6] % last) << 16;
        options.to_q16 = options.from_q16 + ((int64_t)(choice[7] + 1) << 14);
    }
    struct buffer out = {.host = arena_share(memory)};
    enum chart_error error = chart_png(&out, timeline, &options, memory);
    if (error == CHART_OK)
        png_check(&out, options.width * options.scale, options.height * options.scale);
    else
        EXAMINE_CHECK(error == CHART_NO_MEMORY && memory->limit_hit);
    buffer_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes) {
    uint8_t choice[8];
    struct trace trace;
    for (unsigned i = 0; i < sizeof choice; i++)
        choice[i] = recipe_u8(&bytes, &nbytes);
    if (examine_read_recipe(&trace, bytes, nbytes) && trace.n_devices != 0) {
        struct arena arena;
        struct timeline timeline;
        arena_init(&arena, fuzz_host, FUZZ_TRACE_NBYTES);
        if (timeline_init(&timeline, &trace, choice[7] % trace.n_devices, &arena))
            picture_draw(&timeline, choice, &arena);
        arena_release(&arena);
    }
    trace_release(&trace);
    return 0;
}
