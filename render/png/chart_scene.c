/* Builds the bands of a plot, as a page that opens with this window has them, and draws them. */
#include "render/png/chart_layout.h"

#include <stdlib.h>

void chart_scene_init(struct scene *scene, const struct chart_input *input) {
    scene_init(scene, chart_shown(input), input->host);
    scene->keep = chart_keep(input);
}

/* Makes one area of each call site's bands if most bands are too thin to be told apart. False: no memory. */
static bool group_dense(struct scene *scene, const struct chart_input *input) {
    uint32_t thin = SCENE_THIN_Q8 * input->options->scale;
    if (input->options->color_by != COLOR_BY_SITE || !scene_is_dense(scene, thin))
        return true;
    return scene_fit_heights(scene, thin) ||
           scene_group_sites(scene, input->style != NULL ? input->style->lit : NULL);
}

bool chart_scene_build(struct scene *scene, const struct view *view, const struct chart_input *input) {
    return scene_build(scene, view) && group_dense(scene, input);
}

bool chart_scene_draw(struct canvas *canvas, int32_t x, int32_t y, const struct scene *scene,
                      const struct raster_style *style, struct arena_host host) {
    const struct view *view = &scene->view;
    struct raster raster;
    uint8_t *rgba = malloc((size_t)view->width * view->height * 4);
    raster_init(&raster, host);
    bool drawn = rgba != NULL && raster_draw(&raster, scene, style, rgba);
    if (drawn)
        canvas_blit(canvas, x, y, rgba, view->width, view->height);
    raster_release(&raster);
    free(rgba);
    return drawn;
}
