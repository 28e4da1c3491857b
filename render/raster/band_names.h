/*
 * Which bands of a picture are wide and high enough to carry the name of their call site, and where. What PNG and page
 * write there is their own: each measures its own letters. Freestanding, integer arithmetic only.
 *
 * Neighbours in the stack that share call site and colour are one band here, as they look like one: the parameters of a
 * model have one name, not fifty. No room touches another one, since bands do not.
 */
#pragma once

#include "layout/label_room.h"
#include "layout/scene.h"
#include "render/raster/raster.h"

struct band_name {
    uint32_t site; /* frame id, never 0: what has no stack has no name */
    /* 0xRRGGBB of the band, or of the first of those that are one, for a plate behind the letters: lines
     * and patterns lie below it */
    uint32_t color;
    uint32_t ink; /* black or white, whichever contrasts more: at least 4.5:1 against `color` */
    struct label_room room;
};

struct band_names {
    struct band_name *name; /* in the order of the stack */
    uint32_t count;
    struct arena arena; /* of all arrays, kept from one search to the next */
    uint32_t capacity, scratch_capacity;
    uint64_t *scratch;
};

void band_names_init(struct band_names *names, struct arena_host host);
void band_names_release(struct band_names *names);

/* Names with room for `rows` x `columns` pixels (1 or more each) or more, of a scene that is built. False: no memory, and
 * there are none. O(bands + (bands of that size) * width). */
bool band_names_find(struct band_names *names, const struct scene *scene, const struct raster_style *style,
                     uint32_t rows, uint32_t columns);

/* Black or white, whichever has more contrast to the colour: at least 4.5:1 to any. */
uint32_t band_ink(uint32_t color);
