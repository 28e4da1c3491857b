/* --view: reads an address of the page, "#device=0&window=200_500&search=conv", as far as a picture can show it. */
#pragma once

#include "render/png/chart.h"

enum { VIEW_VALUE_CAPACITY = 4096, VIEW_NOTE_CAPACITY = 244 };

/* A mark of an address: an event and what people call it. */
struct view_mark {
    bool given;
    int64_t event;
    char note[VIEW_NOTE_CAPACITY];
};

/* The parts of --view that are not options of their own. */
struct picture_view {
    bool given, has_window, has_bytes, has_at, has_range, has_selected, has_finding;
    /* the address names a moment, so a file with an out-of-memory event does not open there */
    bool names_moment;
    /* the address names all its marks; an older one has only the moments that it compares */
    bool names_marks;
    bool each; /* bands of one call site are never merged to one area */
    bool only; /* sums count only what the search finds */
    bool all;  /* all devices are shown on one axis */
    bool map;  /* the map is open, in this order */
    enum map_order map_order;
    bool compares; /* the comparison is open, of: */
    struct chart_end end[2];
    bool segments;               /* as in struct chart_address */
    enum color_by areas;         /* the same */
    double from, to;             /* along the axis, in events or microseconds */
    double range_from, range_to; /* the selected range, the same */
    uint64_t bottom_bytes, top_bytes;
    int64_t at;        /* index of an event */
    uint32_t selected; /* index of an allocation */
    uint32_t finding;  /* index of the finding whose set is highlighted */
    struct view_mark mark[RASTER_MARKS];
    char focus[VIEW_VALUE_CAPACITY];  /* "site_12", "line_train.py:41 forward"; "": nothing is highlighted */
    char search[VIEW_VALUE_CAPACITY]; /* words; "": none */
};

/* Takes "name=value" from the front of `*text`, decoded as browsers write addresses, and moves `*text` on. False:
 * nothing is left, or a part is longer than the room for it. */
bool view_next(const char **text, char name[32], char value[VIEW_VALUE_CAPACITY]);

/* Notes a value of the address under `name`. Names and values that no picture has are left out, as the page does. */
void view_note(struct picture_view *view, const char *name, const char *value);

/* Computes the window that the page would show: clipped to the `whole` that can be seen, and never too narrow. Sets
 * from_q16 and to_q16. */
void view_window(const struct picture_view *view, const struct view *whole, int64_t *from_q16,
                 int64_t *to_q16);

/* Converts a point of the axis to the layout's unit, 1/65536. */
int64_t view_q16(double position);

/* Finds the highlight in this recording. False: there is none, or the recording does not have it. */
struct highlight;
bool view_highlight(const struct picture_view *view, const struct timeline *timeline,
                    struct highlight *highlight);
