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

/* Rooms of a name: the widest for one line; a higher one that is at least half as wide, because a name reads better in
 * the middle of a band than at its edge; the widest for two lines, which a slanting band has where it has none for one
 * long line (to 0: none). */
enum { ROOM_WIDEST, ROOM_MIDDLE, ROOM_PAIR, ROOM_COUNT };

struct band_name {
    uint32_t site;     /* frame id; 0: no stack */
    uint16_t category; /* of a band without a stack: what nearly all of it is; CATEGORY_COUNT: not known */
    bool is_older;     /* than the recording */
    bool is_rest;      /* the call sites without a group of their own */
    /* colour of the band (of several that count as one, the first), for a plate behind the letters that hides lines and
     * patterns */
    uint32_t color;
    uint32_t ink; /* black or white, whichever contrasts more: at least 4.5:1 against `color` */
    struct label_room room[ROOM_COUNT];
};

/* Neighbours in the stack that look like one band. */
struct band_run {
    uint32_t first, end; /* bands [first, end) of the scene */
    uint32_t limit;      /* end of the neighbours that may be taken together */
    uint32_t allocation; /* the first allocation of the run */
    uint32_t site;
    bool is_rest;
    uint32_t from, to;           /* columns in which a part of it lies */
    uint64_t bytes;              /* the most bytes of all its bands at once */
    uint64_t foreign;            /* bytes of bands in between that are too thin to be seen */
    uint64_t of[CATEGORY_COUNT]; /* of a run without a stack: bytes of each category, if the style has them */
};

struct band_names {
    struct band_name *name; /* in the order of the stack */
    uint32_t count;
    struct arena arena; /* memory of all arrays, kept from one search to the next */
    uint32_t capacity, scratch_capacity;
    uint64_t *scratch;

    /* the search between two steps; `begun`: there is one */
    bool begun;
    bool whole, roomy; /* the run has all its bands; it may have room for a name */
    struct band_run run;
    uint32_t summed; /* the run's bands [first, summed) are added to its sums, once it is whole */
};

void band_names_init(struct band_names *names, struct arena_host host);
void band_names_release(struct band_names *names);

/* Forgets the names and the search that has begun, so that the next step begins another one. */
void band_names_forget(struct band_names *names);

/*
 * Begins to find the names with room for at least `rows` x `columns` pixels (1 or more each), of a built scene, or
 * continues. The arguments of all steps of a search are the same. A step looks at `most` bands or adds them to sums;
 * all steps take O(bands + (bands of that size) * width).
 */
enum names_progress { NAMES_GO_ON, NAMES_FOUND, NAMES_NO_MEMORY /* there are no names */ };
enum names_progress band_names_step(struct band_names *names, const struct scene *scene,
                                    const struct raster_style *style, uint32_t rows, uint32_t columns,
                                    uint32_t most);

/* Does all steps of a new search. False: no memory. */
bool band_names_find(struct band_names *names, const struct scene *scene, const struct raster_style *style,
                     uint32_t rows, uint32_t columns);

/* Writes the name in words ("train.py:41 forward", "parameters, older than the recording") into `text`, cut at
 * capacity - 1 bytes, always terminated. Returns the bytes written. */
uint32_t band_name_text(const struct trace *trace, const struct band_name *name, char *text,
                        uint32_t capacity);

/* Black or white, whichever contrasts more with the colour: at least 4.5:1 with any. */
uint32_t band_ink(uint32_t color);
