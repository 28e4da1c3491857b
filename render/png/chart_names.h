/* Writes the names of call sites on bands. Private to render/png/. */
#pragma once

#include "layout/scene.h"
#include "render/png/chart_layout.h"

/* Writes the names on the bands of the plot that have room for them; the plot is drawn from `scene`. False: no
 * memory. */
bool chart_names_draw(struct canvas *canvas, struct font *font, const struct chart_layout *layout,
                      const struct chart_input *input, const struct scene *scene);
