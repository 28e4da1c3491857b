/*
 * The room for a line of text between two edges that differ from column to column: inside of a band, or of an area of
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
    uint32_t bottom, top; /* whole rows [bottom, top), counted from the lower edge of the picture */
};

/*
 * The longest stretch of columns in which at least `rows` whole rows (1 or more) lie between the edges `low` and `high`
 * (each [width], 1/256 px above the lower edge of the picture); of stretches that are equally long the first. `scratch`
 * is room for 2 * width numbers. False: there is none, and `room` is left alone. O(width).
 */
bool label_room_find(const uint32_t *low, const uint32_t *high, uint32_t width, uint32_t rows,
                     uint32_t *scratch, struct label_room *room);
