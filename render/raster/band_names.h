/*
 * Finds the bands of a picture that are wide and high enough to carry the name of their call site, and the place for
 * it. PNG and page write the names themselves, each measuring its own letters. Freestanding, integer arithmetic only.
 *
 * Neighbours in the stack with the same call site and colour count as one band, because they look like one: the
 * parameters of a model get one name, not fifty. Places do not touch, because bands do not.
 */
#pragma once

#include "layout/label_room.h"
#include "layout/scene.h"
#include "render/raster/raster.h"

struct band_name {
    uint32_t site; /* frame id, never 0: an allocation without a stack has no name */
    /* colour of the band (of several that count as one, the first), for a plate behind the letters that hides lines and
     * patterns */
    uint32_t color;
    uint32_t ink; /* black or white, whichever contrasts more: at least 4.5:1 against `color` */
    struct label_room room;
};

struct band_names {
    struct band_name *name; /* in the order of the stack */
    uint32_t count;
    struct arena arena; /* memory of all arrays, kept from one search to the next */
    uint32_t capacity, scratch_capacity;
    uint64_t *scratch;
};

void band_names_init(struct band_names *names, struct arena_host host);
void band_names_release(struct band_names *names);

/* Finds the names with room for at least `rows` x `columns` pixels (1 or more each), of a built scene. False: no
 * memory, and there are no names. O(bands + (bands of that size) * width). */
bool band_names_find(struct band_names *names, const struct scene *scene, const struct raster_style *style,
                     uint32_t rows, uint32_t columns);

/* Black or white, whichever contrasts more with the colour: at least 4.5:1 with any. */
uint32_t band_ink(uint32_t color);
