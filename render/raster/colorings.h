/*
 * Every colouring, in the order of its number: its name in options and addresses, what the page's menu does, and what a
 * picture says of it (the default one needs no words). C and JavaScript read this list. raster.c decides what shares a
 * colour, and which.
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
