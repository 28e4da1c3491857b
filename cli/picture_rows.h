/* The devices that an address with "all=1" shows below the chosen one. */
#pragma once

#include "cli/recording.h"
#include "render/png/chart.h"

struct picture_rows {
    struct chart_part *part; /* [count] timelines; options are the caller's to fill */
    int64_t *shift_us;       /* [count] what to add to a time of the chosen device */
    uint32_t count;
    /* from the first device's begin to the last one's end, in times of the chosen device */
    struct view whole;
};

/* Finds the other devices whose events have times; there are none where the chosen device has no times. Memory comes
 * from `arena`. False: no memory. */
bool picture_rows_find(struct picture_rows *rows, const struct recording *recording,
                       const struct timeline *timeline, struct arena *arena);

/* Fills a row's options; `options` are those of the picture itself for an address. `address` and what it refers to must
 * live as long as the row. */
void picture_row_fill(struct picture_rows *rows, uint32_t nth, const struct chart_options *options,
                      const struct timeline *timeline, struct chart_address *address);
