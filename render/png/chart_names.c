/* Writes the names of call sites on the bands that have room for them. */
#include "render/png/chart_maker.h"
#include "render/raster/band_names.h"

#include <string.h>

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

static int32_t text_width(const struct names_pen *pen, const char *text) {
    return (int32_t)font_width(pen->font, pen->style, text);
}

/* Writes one or two lines, if they fit into the room, on a plate in the band's colour, so that neither dots nor edges
 * are behind the letters. False: nothing was written. */
static bool name_fits(const struct names_pen *pen, const struct band_name *name,
                      const struct label_room *room, const char *upper, const char *lower, bool *failed) {
    int32_t a = text_width(pen, upper), b = text_width(pen, lower), width = a > b ? a : b;
    int32_t line = line_height(pen->style), height = *lower != '\0' ? 2 * line : line;
    if (room->to < room->from || width > (int32_t)(room->to - room->from) - 2 * pen->pad)
        return false;
    struct rect plate = {pen->plot.x + (int32_t)room->from + pen->pad / 2,
                         pen->plot.y + pen->plot.height - (int32_t)room->top +
                             ((int32_t)(room->top - room->bottom) - height) / 2,
                         width + pen->pad, height};
    int32_t x = plate.x + pen->pad / 2, y = plate.y + (int32_t)font_ascent(pen->style);
    canvas_fill(pen->canvas, plate, name->color, 255);
    *failed = !canvas_text(pen->canvas, pen->font, pen->style, upper, x, y, name->ink) ||
              !canvas_text(pen->canvas, pen->font, pen->style, lower, x, y + line, name->ink);
    return true;
}

static bool line_fits(const struct names_pen *pen, const struct band_name *name, const char *text,
                      bool *failed) {
    return name_fits(pen, name, &name->room[ROOM_MIDDLE], text, "", failed) ||
           name_fits(pen, name, &name->room[ROOM_WIDEST], text, "", failed);
}

/* Writes a name whole, or without the function, or in two lines, or not at all. False: no memory. */
static bool name_put(const struct names_pen *pen, const struct band_name *name) {
    char text[FONT_TEXT_NBYTES], *half;
    bool failed = false;
    band_name_text(pen->trace, name, text, sizeof text);
    if (line_fits(pen, name, text, &failed))
        return !failed;
    size_t place = chart_site_place_nbytes(text), middle = strlen(text) / 2;
    half = place != 0 ? text + place : NULL;
    for (size_t by = 0; half == NULL && by < middle; by++)
        half = text[middle + by] == ' '   ? text + middle + by
               : text[middle - by] == ' ' ? text + middle - by
                                          : NULL;
    if (half == NULL)
        return true;
    *half = '\0';
    if (place == 0 || !line_fits(pen, name, text, &failed))
        name_fits(pen, name, &name->room[ROOM_PAIR], text, half + 1, &failed);
    return !failed;
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
