/*
 * Finds call sites that fill a good part of a picture but are missing from the list of what is alive at one moment,
 * because they hold almost nothing then. Example: gradients, if the peak lies in the forward pass. Freestanding.
 */
#pragma once

#include "base/sort.h"
#include "layout/timeline.h"

/* So many allocations in one step take some milliseconds. */
enum { ALSO_SHOWN_MAX = 5, ALSO_AT_ONCE = 1 << 19 };

struct also_shown {
    uint32_t site;  /* frame id; 0: no stack was recorded */
    bool of_free;   /* the line is where it was freed */
    uint64_t bytes; /* the most at once in the window */
};

/* A site's figures in the window. */
struct shown_site {
    uint64_t area, alive; /* alive: at the moment of the list */
    uint32_t count;       /* allocations */
    uint32_t place;       /* 1: in also[0], and so on; 0: not listed */
};

/* The state between two steps. The caller reads `also` and `count` after the last one. */
struct also_finding {
    const struct timeline *timeline;
    const struct allocations *allocations;
    const uint64_t *keep;
    struct arena *arena;
    uint32_t first, end;     /* moments */
    uint32_t moment;         /* of the list */
    uint32_t at_once;        /* allocations of one step */
    uint32_t step, next;     /* next: the allocation to look at next */
    uint64_t whole, alive;   /* the area of all sites, and their bytes at the moment of the list */
    struct shown_site *site; /* [frames] */
    /* deaths of the listed allocations, site by site; spare: for the site with the most of them */
    struct sort_row *row, *spare;
    uint32_t next_row[ALSO_SHOWN_MAX]; /* of each listed site */
    uint32_t *born;                    /* allocations of the site that is measured */
    struct sorting sorting;            /* of its rows; `rows` NULL: not yet begun */
    uint32_t measured, row_at;         /* sites that are measured, and the first row behind theirs */
    struct also_shown also[ALSO_SHOWN_MAX];
    uint32_t count;
};

/*
 * Finds the largest such sites of the moments [first, end) among the allocations of the bitmap `keep` (NULL: all),
 * largest first: those that take at least a hundredth of the picture's area, and less than a thousandth of what is
 * alive at `moment`. The caller has filled `timeline`, `keep`, `arena` (which it releases), the moments and
 * `at_once`; the rest is 0. Each step looks at `at_once` allocations, so that a page answers between two; all of
 * them take O(allocations).
 */
enum also_progress { ALSO_GOES_ON, ALSO_FOUND, ALSO_NO_MEMORY };
enum also_progress also_shown_step(struct also_finding *finding);

/* Does all steps. False: no memory. */
bool also_shown_find(struct also_finding *finding);
