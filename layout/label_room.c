#include "layout/label_room.h"

/* The columns of a stretch that have its highest lower edge (or lowest upper one), or may have it once the columns
 * before them have left the stretch. The first has it now, and each is less extreme than the one before. */
struct extremes {
    uint32_t *column;
    uint32_t first, end;
};

static void extremes_add(struct extremes *extremes, const uint32_t *edge, uint32_t column, bool highest) {
    while (extremes->end > extremes->first) {
        uint32_t last = edge[extremes->column[extremes->end - 1]];
        if (highest ? last > edge[column] : last < edge[column])
            break;
        extremes->end--;
    }
    extremes->column[extremes->end++] = column;
}

/* Drops columns before `from`, where the stretch now begins. */
static void extremes_leave(struct extremes *extremes, uint32_t from) {
    while (extremes->first < extremes->end && extremes->column[extremes->first] < from)
        extremes->first++;
}

bool label_room_find(const uint32_t *low, const uint32_t *high, uint32_t width, uint32_t rows,
                     uint32_t *scratch, struct label_room *room) {
    struct extremes lows = {.column = scratch}, highs = {.column = scratch + width};
    uint32_t longest = 0, from = 0;
    for (uint32_t column = 0; column < width; column++) {
        extremes_add(&lows, low, column, true);
        extremes_add(&highs, high, column, false);
        for (; from <= column; from++) {
            extremes_leave(&lows, from);
            extremes_leave(&highs, from);
            uint64_t bottom = ((uint64_t)low[lows.column[lows.first]] + 255) >> 8;
            uint32_t top = high[highs.column[highs.first]] >> 8;
            if (bottom + rows > top)
                continue;
            if (column + 1 - from > longest) {
                longest = column + 1 - from;
                *room = (struct label_room){from, column + 1, (uint32_t)bottom, top};
            }
            break;
        }
    }
    return longest != 0;
}
