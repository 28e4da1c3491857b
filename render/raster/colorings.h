/*
 * Every colouring, in the order of its number: COLORING(NUMBER, its name in options and addresses, its title in the
 * page's menu, its words in the key of a picture (none for the default)). C and JavaScript read this list.
 * raster_colors.c decides which allocations share a colour.
 */
#pragma once

#define STRATA_COLORINGS(COLORING)                            \
    COLORING(SITE, "site", "call site", "")                   \
    COLORING(SIZE, "size", "size", "by size")                 \
    COLORING(AGE, "age", "age", "by lifetime")                \
    COLORING(STREAM, "stream", "stream", "by stream")         \
    COLORING(POOL, "pool", "pool", "by pool")                 \
    COLORING(CATEGORY, "category", "category", "by category") \
    COLORING(EACH, "each", "each allocation", "each allocation its own")
