/* The page of strata whatif: the words of render/report/report_whatif.h and a picture of each device, without a script. */
#pragma once

#include "render/report/report_whatif.h"

/* Of one device, as PNG of the same size; without bytes: none. */
struct whatif_picture {
    struct buffer light, dark;
    uint32_t width, height;
};

struct whatif_page {
    const struct whatif_report *report; /* NULL: it is about `extrapolation` */
    const struct extrapolation_report *extrapolation;
    const struct whatif_picture *picture; /* [n_devices of either] */
    const char *theme;                    /* "light", "dark" or "auto" */
    const char *version;                  /* of Strata */
    struct arena *scratch;
};

/* Appends the page to `out`. The same input gives the same bytes. False: no memory. */
bool whatif_page_render(struct buffer *out, const struct whatif_page *page);
