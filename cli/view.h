/* --view: an address of the page, "#device=0&window=200_500&search=conv", as far as a picture shows what it says. */
#ifndef STRATA_CLI_VIEW_H
#define STRATA_CLI_VIEW_H

#include "layout/filter.h"
#include "layout/scene.h"

enum { VIEW_VALUE_CAPACITY = 4096 };

/* What --view says beyond the options of their own. */
struct picture_view {
    bool given, has_window, has_bytes, has_at;
    double from, to; /* along the axis, in events or microseconds */
    uint64_t bottom_bytes, top_bytes;
    int64_t at;                       /* event */
    char search[VIEW_VALUE_CAPACITY]; /* words; "": none */
};

/* Takes "name=value" from the front of `*text` and moves it on, decoded as browsers write addresses. False: there is none
 * left, or one is longer than the room for it. */
bool view_next(const char **text, char name[32], char value[VIEW_VALUE_CAPACITY]);

/* Notes what the address says under `name`; what is no name of a picture, or no value, is left out, as the page does. */
void view_note(struct picture_view *view, const char *name, const char *value);

/* The window that the page would show: clipped to the whole run, and never too narrow. Sets from_q16 and to_q16. */
void view_window(const struct picture_view *view, const struct timeline *timeline, enum axis axis,
                 int64_t *from_q16, int64_t *to_q16);

#endif
