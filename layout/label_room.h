/*
 * Finds room for a line of text between two edges that differ from column to column: in a band, or in an area of
 * sums. Freestanding, integer arithmetic only.
 *
 *     +-------------+
 *     |  ###########+------+        # the room: so many rows that lie between the edges in all of
 *     +--###########       |          its columns, and as many columns as can be
 *        ##################|
 *        +-----------------+
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct label_room {
    uint32_t from, to;    /* columns [from, to) */
    uint32_t bottom, top; /* whole rows [bottom, top), counted from the bottom of the picture */
};

/*
 * Finds the longest stretch of columns in which at least `rows` whole rows (1 or more) lie between the edges `low`
 * and `high` (each [width], in 1/256 px above the bottom of the picture); of several, the first. `scratch` has room
 * for 2 * width numbers. False: none, and `room` is unchanged. O(width).
 */
bool label_room_find(const uint32_t *low, const uint32_t *high, uint32_t width, uint32_t rows,
                     uint32_t *scratch, struct label_room *room);
