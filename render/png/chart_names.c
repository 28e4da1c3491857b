/* Writes the names of call sites on the bands that have room for them. */
#include "layout/site.h"
#include "render/png/chart_maker.h"
#include "render/raster/band_names.h"

enum { LEAST_EMS = 4 }; /* narrower bands get no name */

struct names_pen {
    struct canvas *canvas;
    struct font *font;
    struct font_style style;
    const struct trace *trace;
    struct rect plot;
    int32_t pad;
};

static int32_t line_height(struct font_style style) {
    return (int32_t)(font_ascent(style) + font_descent(style));
}

/* Writes a name on a plate in the band's colour, so that neither dots nor edges are behind the letters. */
static bool name_write(const struct names_pen *pen, const struct band_name *name, const char *text,
                       int32_t width) {
    int32_t height = line_height(pen->style), room = (int32_t)(name->room.top - name->room.bottom);
    struct rect plate = {pen->plot.x + (int32_t)name->room.from + pen->pad / 2,
                         pen->plot.y + pen->plot.height - (int32_t)name->room.top + (room - height) / 2,
                         width + pen->pad, height};
    canvas_fill(pen->canvas, plate, name->color, 255);
    return canvas_text(pen->canvas, pen->font, pen->style, text, plate.x + pen->pad / 2,
                       plate.y + (int32_t)font_ascent(pen->style), name->ink);
}

/* Writes a name whole, or without the function, or not at all. */
static bool name_put(const struct names_pen *pen, const struct band_name *name) {
    char text[FONT_TEXT_NBYTES];
    site_text(pen->trace, name->site, text, sizeof text);
    int32_t room = (int32_t)(name->room.to - name->room.from) - 2 * pen->pad;
    for (size_t place = chart_site_place_nbytes(text);; place = 0) {
        int32_t width = (int32_t)font_width(pen->font, pen->style, text);
        if (width <= room)
            return name_write(pen, name, text, width);
        if (place == 0)
            return true;
        text[place] = '\0';
    }
}

bool chart_names_draw(struct canvas *canvas, struct font *font, const struct chart_layout *layout,
                      const struct chart_input *input, const struct scene *scene) {
    struct band_names names;
    struct names_pen pen = {.canvas = canvas,
                            .font = font,
                            .style = layout->names,
                            .trace = input->timeline->trace,
                            .plot = layout->plot,
                            .pad = (int32_t)layout->names.px / 2};
    band_names_init(&names, input->host);
    bool done = band_names_find(&names, scene, input->style, (uint32_t)line_height(pen.style) + 2,
                                LEAST_EMS * pen.style.px);
    for (uint32_t i = 0; i < names.count && done; i++)
        done = name_put(&pen, &names.name[i]);
    band_names_release(&names);
    return done;
}
