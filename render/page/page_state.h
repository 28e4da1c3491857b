/*
 * What the files of the page's module share: page_host.c loads and draws, page_facts.c answers for single figures,
 * page_groups.c for sets of allocations. Private to them; render/page/page_host.h is what JavaScript sees.
 */
#ifndef STRATA_RENDER_PAGE_PAGE_STATE_H
#define STRATA_RENDER_PAGE_PAGE_STATE_H

#include "layout/groups.h"
#include "layout/phases.h"
#include "layout/scene.h"
#include "layout/ticks.h"
#include "render/page/page_host.h"
#include "render/raster/raster.h"
#include "trace/payload.h"

struct page {
    struct arena loading; /* the payload while it is read */
    uint8_t *bytes;
    uint32_t nbytes;
    struct payload payload;
    struct trace trace;
    struct arena arena; /* timelines */
    struct timeline *timelines;
    uint8_t *built; /* [n_devices] */
    uint32_t current;
    bool scene_ready;
    struct scene scene;
    struct raster raster;
    struct pick picked;
    struct arena grouping;
    struct group *groups;
    uint32_t n_groups;
    uint8_t *rgba, *mask, *context_mask; /* the masks: what matches a search, or is highlighted */
    uint64_t *keep;                      /* bitmap of the lives that the filter leaves */
    uint32_t keep_capacity, some_capacity;
    bool filtered;
    uint32_t *some;        /* ids of lives, while they are being grouped */
    struct phases *phases; /* [n_devices], valid where built */
    struct phase_mark *marks;
    struct phase_span *spans; /* of the phases of device `spans_of` / 2 - 1, along axis `spans_of` % 2 */
    uint32_t marks_capacity, spans_capacity, spans_of;
    uint8_t *category; /* of the lives of device `category_of` - 1 */
    uint32_t category_of, category_capacity;
    uint32_t rgba_capacity, frames_capacity, curve_capacity;
    uint32_t *frames;
    double *curve;
    double ticks[TICKS_MAX];
    char site_text[1024];
    uint32_t site_text_nbytes;
    uint64_t *below; /* of the outline, then `edges` in pairs */
    double *edges;
    uint32_t below_capacity, edges_capacity, outline_first;
};

extern struct page page;

#define EXPORT(name) __attribute__((export_name(#name)))

static inline struct timeline *timeline_now(void) {
    return &page.timelines[page.current];
}

static inline const struct lives *lives_now(void) {
    return &timeline_now()->device->lives;
}

static inline uint32_t offset_of(const void *ptr) {
    return (uint32_t)(uintptr_t)ptr;
}

/* The moment after an event; events outside of the recording mean its ends. */
static inline uint32_t moment_of(double event) {
    if (!(event >= 0))
        return 0;
    uint32_t last = timeline_now()->n_moments - 1;
    return event >= last ? last : (uint32_t)event + 1;
}

/* One past the moments of the events before `event`. */
static inline uint32_t moment_end_of(double event) {
    return event >= timeline_now()->device->n_events ? timeline_now()->n_moments : moment_of(event);
}

static inline uint64_t bytes_of(double bytes) {
    return !(bytes > 0) ? 0 : bytes >= 18446744073709549568.0 ? UINT64_MAX : (uint64_t)bytes;
}

/* Does the filter leave it? */
static inline bool life_is_kept(uint32_t life) {
    return !page.filtered || (page.keep[life / 64] >> life % 64 & 1) != 0;
}

/* Category of each life of the current device, inferred when they are first asked for. NULL: no memory, and only what
 * events say is known. */
const uint8_t *categories_now(void);

#endif
