/* Builds the bands of a plot, as a page that opens with this window has them, and draws them. */
#include "render/png/chart_layout.h"

#include <stdlib.h>

bool chart_has_areas(const struct chart_input *input) {
    const struct chart_address *address = input->options->address;
    return address != NULL && address->areas >= COLOR_BY_STREAM && address->areas <= COLOR_BY_CATEGORY;
}

void chart_scene_init(struct scene *scene, const struct chart_input *input) {
    scene_init(scene, input->bands != NULL ? input->bands : chart_shown(input), input->host);
    if (input->bands == NULL)
        scene->keep = chart_keep(input);
}

/* Makes one area of each call site's bands if most bands are too thin to be told apart. False: no memory. */
static bool group_dense(struct scene *scene, const struct chart_input *input) {
    const struct chart_address *address = input->options->address;
    uint32_t thin = SCENE_THIN_Q8 * input->options->scale;
    bool alone = address == NULL || !(address->each || address->recorded);
    if (!alone || input->bands != NULL || chart_has_areas(input) ||
        input->options->color_by != COLOR_BY_SITE || !scene_is_dense(scene, thin))
        return true;
    bool chosen = input->options->top_bytes == 0;
    return (chosen && scene_fit_heights(scene, thin)) ||
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
