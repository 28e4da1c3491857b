#include "render/raster/areas.h"

#include "base/bytes.h"

/* Categories from the bottom up: what stays lies below what comes and goes. */
static const uint8_t category_order[] = {
    CATEGORY_PARAMETER,  CATEGORY_OPTIMIZER_STATE, CATEGORY_GRADIENT, CATEGORY_WEIGHT_COPY,
    CATEGORY_ACTIVATION, CATEGORY_TEMPORARY,       CATEGORY_INPUT,    CATEGORY_WORKSPACE,
    CATEGORY_RESULT,     CATEGORY_AUTOGRAD_DETAIL, CATEGORY_OTHER,    CATEGORY_UNKNOWN,
};
_Static_assert(sizeof category_order == CATEGORY_COUNT, "every category has a place");

void areas_init(struct areas *areas, struct arena_host host) {
    *areas = (struct areas){0};
    arena_init(&areas->arena, host, SIZE_MAX);
}

void areas_release(struct areas *areas) {
    arena_release(&areas->arena);
    *areas = (struct areas){0};
}

uint32_t areas_category(uint32_t nth) {
    return category_order[nth];
}

uint32_t areas_key(const struct areas *areas, uint32_t nth) {
    return areas->by == COLOR_BY_CATEGORY ? areas_category(nth) : nth;
}

static uint32_t keys_count(const struct device_trace *device, enum color_by by) {
    uint32_t n = by == COLOR_BY_STREAM     ? device->n_streams
                 : by == COLOR_BY_POOL     ? device->n_pools
                 : by == COLOR_BY_CATEGORY ? CATEGORY_COUNT
                                           : 0;
    return n > AREAS_KEYS_MAX ? AREAS_KEYS_MAX : n;
}

/* Sums the changes at each column. A change that no column shows is left out, because the bands are all that is
 * read. */
static void changes_sum(struct areas *areas, const struct scene *scene, const struct raster_style *style) {
    const uint64_t *size = scene->timeline->device->allocations.size;
    uint32_t width = areas->width;
    for (uint32_t i = 0; i < scene->n_bands; i++) {
        const struct band *band = &scene->bands[i];
        uint32_t key = raster_key(scene->timeline, style, band->allocation);
        uint64_t *area = areas->bytes + (size_t)(key < areas->n_keys ? key : areas->n_keys - 1) * width;
        area[band->start] += size[band->allocation];
        if (band->end < width)
            area[band->end] -= size[band->allocation];
    }
}

bool areas_sum(struct areas *areas, const struct scene *scene, const struct raster_style *style,
               enum color_by by) {
    struct raster_style keyed = {.color_by = by, .category = style->category};
    uint32_t width = scene->view.width;
    areas->by = by;
    areas->width = width;
    areas->n_keys = keys_count(scene->timeline->device, by);
    if (areas->n_keys == 0 || width == 0 ||
        !ARENA_GROW(&areas->arena, areas->bytes, areas->bytes_capacity, (uint64_t)areas->n_keys * width))
        return false;
    bytes_zero(areas->bytes, (size_t)areas->n_keys * width * sizeof *areas->bytes);
    changes_sum(areas, scene, &keyed);
    for (uint32_t key = 0; key < areas->n_keys; key++)
        for (uint32_t column = 1; column < width; column++)
            areas->bytes[(size_t)key * width + column] += areas->bytes[(size_t)key * width + column - 1];
    return true;
}
