/* Writes the names of call sites on the bands that have room for them. */
#include "render/png/chart_maker.h"
#include "render/raster/band_names.h"

#include <string.h>

enum { LEAST_EMS = 4 }; /* narrower bands get no name */

static int32_t line_height(struct font_style style) {
    return (int32_t)(font_ascent(style) + font_descent(style));
}

/* Puts one or two lines, if they fit into the room, on a plate in the band's colour, so that neither dots nor edges are
 * behind the letters. False: nothing was put. */
static bool name_fits(struct chart_maker *maker, const struct band_name *name, const struct label_room *room,
                      const char *upper, const char *lower) {
    const struct font_style style = maker->names;
    const struct rect plot = maker->out->plot;
    int32_t a = chart_text_width(maker, style, upper), b = chart_text_width(maker, style, lower),
            width = a > b ? a : b, pad = (int32_t)style.px / 2;
    int32_t line = line_height(style), height = *lower != '\0' ? 2 * line : line;
    if (room->to < room->from || width > (int32_t)(room->to - room->from) - 2 * pad)
        return false;
    struct rect plate = {plot.x + (int32_t)room->from + pad / 2,
                         plot.y + plot.height - (int32_t)room->top +
                             ((int32_t)(room->top - room->bottom) - height) / 2,
                         width + pad, height};
    chart_put(maker, CHART_FILL, plate, name->color);
    plate = (struct rect){plate.x + pad / 2, plate.y, width, line};
    chart_put_fitted(maker, plate, style, name->ink, upper);
    plate.y += line;
    chart_put_fitted(maker, plate, style, name->ink, lower);
    return true;
}

static bool line_fits(struct chart_maker *maker, const struct band_name *name, const char *text) {
    return name_fits(maker, name, &name->room[ROOM_MIDDLE], text, "") ||
           name_fits(maker, name, &name->room[ROOM_WIDEST], text, "");
}

/* Puts a name whole, or without the function, or in two lines, or not at all. */
static void name_put(struct chart_maker *maker, const struct band_name *name) {
    char text[FONT_TEXT_NBYTES], *half;
    band_name_text(maker->in->timeline->trace, name, text, sizeof text);
    if (line_fits(maker, name, text))
        return;
    size_t place = chart_site_place_nbytes(text), middle = strlen(text) / 2;
    half = place != 0 ? text + place : NULL;
    for (size_t by = 0; half == NULL && by < middle; by++)
        half = text[middle + by] == ' '   ? text + middle + by
               : text[middle - by] == ' ' ? text + middle - by
                                          : NULL;
    if (half == NULL)
        return;
    *half = '\0';
    if (place == 0 || !line_fits(maker, name, text))
        name_fits(maker, name, &name->room[ROOM_PAIR], text, half + 1);
}

void chart_names_put(struct chart_maker *maker) {
    struct band_names names;
    if (maker->in->options->no_names)
        return;
    band_names_init(&names, maker->in->host);
    maker->failed |= !band_names_find(&names, maker->out->scene, maker->in->style,
                                      (uint32_t)line_height(maker->names) + 2, LEAST_EMS * maker->names.px);
    for (uint32_t i = 0; i < names.count; i++)
        name_put(maker, &names.name[i]);
    band_names_release(&names);
}
