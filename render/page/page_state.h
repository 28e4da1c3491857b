/*
 * The handles of the page's module: a session is a recording, a view one device of it with its window, filter and
 * picture. page_session.c reads recordings and answers for their texts, page_view.c for a device's figures, page_draw.c
 * draws and picks, page_sets.c answers for sets of allocations. Private to them; page_api.def is what JavaScript sees.
 */
#pragma once

#include "analysis/compare/compare.h"
#include "analysis/findings/selection.h"
#include "analysis/findings/verdicts.h"
#include "analysis/loop/modules.h"
#include "analysis/model/fragmentation.h"
#include "analysis/model/pool_use.h"
#include "base/sort.h"
#include "layout/extent.h"
#include "layout/groups.h"
#include "layout/memory_map.h"
#include "layout/phases.h"
#include "layout/scene.h"
#include "layout/segment_curve.h"
#include "layout/segments.h"
#include "layout/site.h"
#include "layout/ticks.h"
#include "layout/tree.h"
#include "render/page/page_api.h"
#include "render/raster/areas.h"
#include "render/raster/band_names.h"
#include "render/raster/map_raster.h"
#include "render/raster/raster.h"
#include "trace/payload.h"

/* The constants that JavaScript uses are equal to the program's enums. */
_Static_assert((int)PAGE_FRAME_NOISE == FRAME_NOISE && (int)PAGE_FRAME_NATIVE == FRAME_NATIVE &&
                   (int)PAGE_FRAME_LIBRARY == FRAME_LIBRARY && (int)PAGE_FRAME_USER == FRAME_USER,
               "enum frame_kind");
_Static_assert((int)PAGE_ALLOCATION_STACK_OF_FREE == ALLOCATION_STACK_OF_FREE &&
                   (int)PAGE_ALLOCATION_FROM_BLOCK == ALLOCATION_FROM_BLOCK &&
                   (int)PAGE_ALLOCATION_REOPENED == ALLOCATION_REOPENED &&
                   (int)PAGE_ALLOCATION_UNMATCHED_END == ALLOCATION_UNMATCHED_END,
               "enum allocation_flag");
_Static_assert((int)PAGE_WHOLE_FILE == ORDINAL_NONE, "an ordinal that no device has");

/* Everything computed from a device, shared by all its views. Each part is computed when a view first needs it. */
enum {
    DEVICE_BUILT = TIMELINE_STEPS + 1,           /* the stack can be drawn */
    DEVICE_SPANNED = DEVICE_BUILT + SPANS_STEPS, /* steps, and the parts of each, are known */
    DEVICE_CATEGORIZED = DEVICE_BUILT + CATEGORIES_STEPS,
    DEVICE_FOUND = DEVICE_BUILT + VERDICTS_STEPS
};
struct page_device {
    uint32_t step; /* steps done: the timeline's, then the phases, then the verdicts' */
    struct timeline timeline;
    struct phases phases;
    struct verdicts verdicts;
    struct segments segments; /* its `device` NULL: not requested yet */
    struct replay replay;     /* valid if `replayed` */
    bool replayed;
    struct replay_work *replaying; /* NULL: no replay is in progress */
    struct segment_counts counts;  /* valid if `laned` */
    uint64_t *unused; /* [n_moments / 64 + 1] the most unused of 64 moments each; valid if `laned` */
    struct releases releases;
    bool laned, blocked;
    struct trace shadow; /* the recording with one device, whose allocations are segments */
    struct device_trace as_allocations;
    struct timeline bands;
    uint32_t *piece;          /* [as_allocations] the piece that each is */
    uint32_t band_steps;      /* of device_bands_step that are done */
    struct modules *modules;  /* NULL: not requested yet */
    struct blocks blocks;     /* of layers; valid if `blocked` */
    struct layer_span *layer; /* [n_layers]; NULL: not requested yet */
    uint32_t n_layers;
};

/* Groups of some allocations, kept until the slot is used again. */
enum { PAGE_SLOTS = 7 };
struct page_sums {
    struct arena arena;
    enum compare_by by;
    struct group *groups;
    uint32_t n_groups;
    uint64_t bytes, count;
};

/* The allocator's state at a moment, and its picture. */
struct page_map {
    struct arena holding, laying; /* holding: memory of the state; laying: of the picture */
    const struct page_device *device;
    uint32_t moment;
    bool there, replayed; /* there: the state is known; replayed: with the sizes of a replay */
    struct held held;
    struct fragmentation gap;
    struct pool_uses pools;
    struct sort_row *hole; /* [n_holes] by falling size; key: ~size, value: block */
    uint64_t *hole_rest;   /* [n_holes + 1] bytes of the hole and all after it */
    uint32_t n_holes;
    struct memory_map laid; /* its `held` NULL: not laid out */
    uint8_t *rgba;          /* in the view's arena */
    uint32_t rgba_capacity;
};

void page_map_forget(struct page_map *map);

/* The record that a call filled last: as many numbers as the longest record has, which is `facts`. */
enum { RECORD_MOST = sizeof(struct record_facts) / sizeof(double) };

/* Records that a call returns: their number, then their fields. */
struct page_rows {
    double *number;
    uint32_t capacity;
};

/* Makes room for `count` records and writes their number; the first ones stay as they are. NULL: no memory. */
void *rows_make(struct page_rows *rows, struct arena *arena, uint32_t count, size_t record_nbytes);

/* A session's progress in loading a recording. */
enum session_stage {
    SESSION_NEW,
    SESSION_RESERVED,
    SESSION_OPEN,
    SESSION_UNPACKING,
    SESSION_READY,
    SESSION_FAILED
};

struct page_session {
    enum session_stage stage;
    struct arena loading; /* the payload while it is read */
    uint8_t *bytes;
    uint32_t nbytes;
    struct payload payload;
    struct reader *unpacking;
    struct trace trace; /* readable when the session is ready */
    struct arena arena; /* memory for what is computed from the trace */
    struct page_device *devices;
    uint32_t frames_capacity, *frames; /* of the stack requested last */
    struct page_rows rows;
    char site_text[1024];
    double record[RECORD_MOST];
};

/* The words of a filter or a search, and the allocations that they select. The slot PAGE_FILTER hides all others, the
 * slot PAGE_SEARCH only marks its matches. */
enum { PAGE_FILTER, PAGE_SEARCH, PAGE_QUERIES };
struct page_query {
    struct arena arena;
    char *text;
    uint32_t nbytes;
    bool ready; /* the words were understood */
    struct filter_query parsed;
    struct filter_regex *regexes; /* [n_regexes], whose bits JavaScript sets */
    struct selecting selecting;   /* valid while a selection is being made */
    struct selection selection;   /* its `keep` NULL: not made */
};

/* The search's matches while they are sorted, step by step. */
struct matching {
    enum { MATCHES_READY, MATCHES_FOUND, MATCHES_KEYED, MATCHES_SORTED } doing;
    /* next: the allocation or match that is next to be looked at; count: matches so far */
    uint32_t by, next, count;
    uint32_t first, end; /* moments: what is alive in them is listed */
    bool falling;
    const uint32_t *rank; /* of call sites, where they order */
    struct sorting sorting;
};

struct page_view {
    struct page_session *session;
    uint32_t index; /* index of its device */
    struct arena arena, grouping;
    /* memory of the tree, the pairs, the state at an OOM, and the matches */
    struct arena planting, pairing, holding, listing;
    struct scene scene;
    struct scene banded; /* scene of segments; shown instead of `scene` if `by_segments` */
    struct raster raster;
    struct band_names names; /* of the last drawing */
    struct page_sums sums[PAGE_SLOTS];
    enum compare_by within_by; /* sums cover only the group `within_key` of this kind, if `is_within` */
    uint32_t within_key;
    struct compare_pair *pairs;
    uint32_t n_pairs;
    struct tree tree;
    uint32_t through; /* frame that trees begin with; 0: trees hold everything */
    struct page_map map;
    struct page_map beside;  /* holds only the state, of a moment that the map does not show */
    struct page_map *gap_of; /* the map whose gap was requested last; NULL: neither */
    char name[4096];         /* of a group, or a finding's text */
    struct record_request request;
    struct page_query queries[PAGE_QUERIES];
    struct group *groups;
    uint32_t n_groups;
    uint8_t *rgba;
    const uint64_t *keep; /* bitmap of the filtered allocations */
    uint64_t *lit;        /* bitmap of the highlighted allocations, if is_lit */
    uint64_t *only;       /* bitmap of the search's matches in `keep`, if is_narrow */
    bool filtered, is_lit, is_narrow, by_segments, is_within;
    bool parted; /* bands of the last drawing were high enough to be told apart */
    bool named;  /* `names` are complete */
    bool fitted; /* the window had a vertical scale of its own */
    bool dense;  /* its bands were too thin to be told apart */
    /* what is laid out of the request, anew after each change of what is shown */
    enum { LAID_NOTHING, LAID_BANDS, LAID_PARTED, LAID_ALL } laid;
    struct page_rows rows;
    struct phase_span *spans; /* of the phases of device `spans_of` / 2 - 1, along axis `spans_of` % 2 */
    struct areas areas;
    double *curve, *area_bytes, *lanes, *spark;
    /* the curve of a group, step by step; `change` NULL: not yet begun */
    struct sparking {
        uint32_t by, key, next; /* next: the allocation to look at next */
        uint64_t *bits, *change;
        struct arena arena;
    } sparking;
    uint64_t *below; /* of the outline, then `edges` in pairs */
    double *edges;
    uint32_t *matches, n_matches; /* ids, in the requested order */
    struct matching matching;
    uint64_t largest_match; /* bytes */
    uint32_t *bright;       /* ids of the allocations lit at the last request */
    uint32_t lit_capacity, only_capacity, area_bytes_capacity, lanes_capacity, spans_capacity, spans_of,
        rgba_capacity, curve_capacity, below_capacity, edges_capacity, spark_capacity, bright_capacity;
    double record[RECORD_MOST];
};

/* Runs a device's steps until this many are done. False: no memory. */
bool session_device_steps(struct page_session *session, struct page_device *device, uint32_t until);

/* The device with its timeline; NULL: no device with this index, or no memory. */
struct page_device *session_device_built(struct page_session *session, uint32_t index);

/* The verdicts of a device as they are after its steps before `until`, one of DEVICE_..., and the category of each of
 * its allocations. The first call does these steps. NULL: no memory. */
const struct verdicts *session_verdicts(struct page_session *session, struct page_device *device,
                                        uint32_t until);
const uint8_t *session_categories(struct page_session *session, struct page_device *device);

/* Finds the layers' spans, once, in device->layer; returns their number, 0 if there is no memory. */
uint32_t session_layers(struct page_session *session, struct page_device *device);

/* Forgets the curve that is being summed. */
void view_spark_forget(struct page_view *view);

/* The column that sums by an enum compare_by read. False: no memory. */
bool session_column(struct page_session *session, struct page_device *device, uint32_t by,
                    const uint8_t **column);

/* The device's recording replayed, which is done once. NULL: no memory. */
const struct replay *session_replay(struct page_session *session, struct page_device *device);

/* Makes the device's segments as bands, once, a step at a time. PAYLOAD_MORE: call it again; 0 or PAYLOAD_NO_MEMORY. */
i32 device_bands_step(struct page_session *session, struct page_device *device);

/* Makes the device's segments over time unless they are there. False: no memory. */
bool device_segments(struct page_session *session, struct page_device *device);

static inline struct page_device *view_now(const struct page_view *view) {
    return &view->session->devices[view->index];
}

static inline const struct timeline *view_timeline(const struct page_view *view) {
    return &view_now(view)->timeline;
}

/* The timeline as if only the filtered allocations had been recorded. */
static inline const struct timeline *view_shown(const struct page_view *view) {
    return view->filtered ? &view->queries[PAGE_FILTER].selection.timeline : view_timeline(view);
}

/* The scene that is drawn: allocations, or segments. */
static inline const struct scene *view_scene(const struct page_view *view) {
    return view->by_segments ? &view->banded : &view->scene;
}

static inline const struct allocations *view_allocations(const struct page_view *view) {
    return &view_timeline(view)->device->allocations;
}

/* The moment after an event. Events outside of the recording stand for its ends. */
static inline uint32_t moment_of(const struct page_view *view, double event) {
    if (!(event >= 0))
        return 0;
    uint32_t last = view_timeline(view)->n_moments - 1;
    return event >= last ? last : (uint32_t)event + 1;
}

/* The end, exclusive, of the moments of events before `event`. */
static inline uint32_t moment_end_of(const struct page_view *view, double event) {
    const struct timeline *timeline = view_timeline(view);
    return event >= timeline->device->n_events ? timeline->n_moments : moment_of(view, event);
}

static inline uint64_t bytes_of(double bytes) {
    return !(bytes > 0) ? 0 : bytes >= 18446744073709549568.0 ? UINT64_MAX : (uint64_t)bytes;
}

static inline int64_t integer_of(double value) {
    return value >= 9e18 ? INT64_MAX : value > -9e18 ? (int64_t)value : INT64_MIN;
}

/* Bitmap of the search's matches. NULL: there is no search. */
static inline const uint64_t *view_found(const struct page_view *view) {
    return view->queries[PAGE_SEARCH].selection.keep;
}

/* Does the filter leave this allocation? */
static inline bool allocation_is_kept(const struct page_view *view, uint32_t allocation) {
    return filter_keeps(view->filtered ? view->keep : NULL, allocation);
}

/* The matches that the list of the search shows, among the 64 allocations of a word of the bitmaps; a bit for each.
 * There must be a search. */
static inline uint64_t word_found(const struct page_view *view, uint32_t word) {
    return view_found(view)[word] & (view->filtered ? view->keep[word] : ~UINT64_C(0));
}

/* Is it one of the matches that the list of the search shows? */
static inline bool allocation_is_found(const struct page_view *view, uint32_t allocation) {
    return filter_keeps(view_found(view), allocation) && allocation_is_kept(view, allocation);
}

/* The allocations that a question is about; an unknown `what` means those alive after event `from`. */
struct extent view_extent(const struct page_view *view, uint32_t what, double from, double to);

/* The style of a drawing of the view. */
struct raster_style view_style(struct page_view *view, uint32_t flags, uint32_t color_by);

/* Converts a window of the page to the layout's numbers; `time`: along time, if the recording has times. False: it is
 * not a window. */
bool page_window_of(const struct page_view *view, struct view *window, bool time, double from, double to,
                    uint32_t width, uint32_t height);

/* Bitmap of the allocations that groups, sums and trees count: the filtered ones, or only the matches among them. NULL:
 * all. */
static inline const uint64_t *view_counted(const struct page_view *view) {
    return view->is_narrow ? view->only : view->filtered ? view->keep : NULL;
}

/* Fills the handle's record as one of this kind and returns its place. */
#define FILL(handle, kind, ...) \
    (*(struct record_##kind *)(handle)->record = (struct record_##kind){__VA_ARGS__}, (place)(handle)->record)

/* Fills the handle's rows with `count` records for i = 0 .. count - 1 and returns their place. */
#define FILL_ROWS(handle, kind, count, i, ...)                                                         \
    __extension__({                                                                                    \
        uint32_t n_rows = (count);                                                                     \
        struct record_##kind *row = rows_make(&(handle)->rows, &(handle)->arena, n_rows, sizeof *row); \
        for (uint32_t i = 0; row != NULL && (i) < n_rows; (i)++)                                       \
            row[i] = (struct record_##kind){__VA_ARGS__};                                              \
        row != NULL ? (place)(handle)->rows.number : 0;                                                \
    })

/* The same for a terminated text, which must outlive the record. NULL: 0. */
static inline place view_text(struct page_view *view, const char *text) {
    return text == NULL ? 0 : FILL(view, text, (double)(place)text, word_length(text));
}
