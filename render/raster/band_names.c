#include "render/raster/band_names.h"

#include "base/bytes.h"
#include "layout/filter.h"
#include "render/raster/mix.h"

/* Neighbours in the stack that look like one band. */
struct run {
    uint32_t first, end; /* bands [first, end) of the scene */
    uint32_t limit;      /* end of the neighbours that may be taken together */
    uint32_t allocation; /* the first allocation of the run */
    uint32_t site;
    uint32_t from, to; /* columns in which a part of it lies */
    uint64_t bytes;    /* the most bytes of all its bands at once */
    uint64_t foreign;  /* bytes of bands in between that are too thin to be seen */
};

struct finder {
    struct band_names *names;
    const struct scene *scene;
    const struct raster_style *style;
    struct y_scale scale;
    uint32_t rows, columns;
    uint64_t pixel_bytes;
    uint64_t *below;      /* [width + 1] changes from column to column of what lies below the run */
    uint64_t *own;        /* [width + 1] the same changes of the run itself */
    uint32_t *low, *high; /* [width] edges of the run */
    uint32_t *scratch;    /* [2 * width] of label_room_find */
};

/* Contrast to white is 1.05 / (light + 0.05), to black (light + 0.05) / 0.05: they are equal at sqrt(1.05 * 0.05) -
 * 0.05. */
uint32_t band_ink(uint32_t color) {
    return color_light(color) > 11739 ? 0x000000 : 0xFFFFFF;
}

/* Computes the edges of the run in its columns, as the raster draws them. */
static void run_edges(struct finder *finder, const struct run *run) {
    uint64_t below = 0, own = 0;
    bytes_zero(finder->own + run->from, (run->to - run->from + 1) * sizeof *finder->own);
    for (uint32_t i = run->first; i < run->end; i++)
        scene_changes_add(finder->scene, &finder->scene->bands[i], finder->own);
    for (uint32_t column = 0; column < run->from; column++)
        below += finder->below[column];
    for (uint32_t column = run->from; column < run->to; column++) {
        below += finder->below[column];
        own += finder->own[column];
        finder->low[column] = y_scale_q8(&finder->scale, below);
        finder->high[column] = y_scale_q8(&finder->scale, below + own);
    }
}

/* Finds the widest room, or a higher one that is at least half as wide: a name reads better in the middle of a band
 * than at its edge. */
static bool run_room(const struct finder *finder, const struct run *run, struct label_room *room) {
    struct label_room higher;
    uint32_t rows = finder->rows, least = finder->columns;
    *room = (struct label_room){0};
    while (label_room_find(finder->low + run->from, finder->high + run->from, run->to - run->from, rows,
                           finder->scratch, &higher) &&
           higher.to - higher.from >= least) {
        if (room->to == 0 && (higher.to - higher.from) / 2 > least)
            least = (higher.to - higher.from) / 2;
        *room = higher;
        rows = higher.top - higher.bottom + 1;
    }
    return room->to != 0;
}

static bool run_name(struct finder *finder, const struct run *run) {
    struct band_names *names = finder->names;
    struct label_room room;
    run_edges(finder, run);
    if (!run_room(finder, run, &room))
        return true;
    if (!ARENA_GROW(&names->arena, names->name, names->capacity, (uint64_t)names->count + 1))
        return false;
    room.from += run->from;
    room.to += run->from;
    uint32_t color = raster_allocation_color(finder->scene->timeline, finder->style, run->allocation);
    names->name[names->count++] = (struct band_name){run->site, color, band_ink(color), room};
    return true;
}

static bool run_end(struct finder *finder, const struct run *run) {
    bool wide = run->first < run->end && run->to - run->from >= finder->columns;
    bool high = run->bytes / finder->rows >= finder->pixel_bytes;
    if (run->site != 0 && wide && high && !run_name(finder, run))
        return false;
    for (uint32_t i = run->first; i < run->end; i++)
        scene_changes_add(finder->scene, &finder->scene->bands[i], finder->below);
    return true;
}

static void run_begin(const struct finder *finder, struct run *run, uint32_t index) {
    const struct band *band = &finder->scene->bands[index];
    const struct timeline *timeline = finder->scene->timeline;
    const struct scene_group *group = finder->scene->group, *last = group + finder->scene->n_groups;
    while (group < last && index >= group->end)
        group++;
    bool is_rest = group < last && group->is_rest; /* its call sites share one colour, so no name fits */
    *run = (struct run){
        .first = index,
        .end = index,
        .limit = group == last            ? finder->scene->n_bands
                 : index < group->lit_end ? group->lit_end
                                          : group->end,
        .allocation = band->allocation,
        .site = is_rest ? 0 : timeline->site[timeline->device->allocations.stack[band->allocation]],
        .from = band->start,
        .to = band->start};
}

/* Do two allocations have one name and one colour? */
static bool look_alike(const struct finder *finder, uint32_t a, uint32_t b) {
    const struct timeline *timeline = finder->scene->timeline;
    const struct allocations *allocations = &timeline->device->allocations;
    const struct raster_style *style = finder->style;
    return timeline->site[allocations->stack[a]] == timeline->site[allocations->stack[b]] &&
           (allocations->birth[a] == 0) == (allocations->birth[b] == 0) &&
           filter_keeps(style->lit, a) == filter_keeps(style->lit, b) &&
           raster_key(timeline, style, a) == raster_key(timeline, style, b);
}

/* Does the band look like a part of the run? Bands too thin to be seen may hide in it, up to a pixel or a sixteenth in
 * all. */
static bool run_takes(const struct finder *finder, struct run *run, const struct band *band) {
    uint64_t size = finder->scene->timeline->device->allocations.size[band->allocation];
    if (look_alike(finder, run->allocation, band->allocation))
        return true;
    uint64_t part = run->bytes / 16, whole = run->bytes < finder->pixel_bytes ? 0 : finder->pixel_bytes;
    uint64_t most = part > whole ? part : whole;
    if (size >= finder->pixel_bytes || run->foreign > most || size > most - run->foreign)
        return false;
    run->foreign += size;
    return true;
}

static void run_add(const struct finder *finder, struct run *run, const struct band *band) {
    uint64_t size = finder->scene->timeline->device->allocations.size[band->allocation];
    run->end++;
    run->to = band->tail > run->to ? band->tail : run->to;
    run->bytes = run->bytes > UINT64_MAX - size ? UINT64_MAX : run->bytes + size;
}

static bool runs_find(struct finder *finder) {
    const struct scene *scene = finder->scene;
    struct run run = {0};
    for (uint32_t i = 0; i < scene->n_bands; i++) {
        if (run.first == run.end || i == run.limit || !run_takes(finder, &run, &scene->bands[i])) {
            if (!run_end(finder, &run))
                return false;
            run_begin(finder, &run, i);
        }
        run_add(finder, &run, &scene->bands[i]);
    }
    return run_end(finder, &run);
}

void band_names_init(struct band_names *names, struct arena_host host) {
    *names = (struct band_names){0};
    arena_init(&names->arena, host, SIZE_MAX);
}

void band_names_release(struct band_names *names) {
    arena_release(&names->arena);
    *names = (struct band_names){0};
}

bool band_names_find(struct band_names *names, const struct scene *scene, const struct raster_style *style,
                     uint32_t rows, uint32_t columns) {
    const uint64_t width = scene->view.width;
    names->count = 0;
    if (width == 0 || rows > scene->view.height || columns > width)
        return true;
    if (!ARENA_GROW(&names->arena, names->scratch, names->scratch_capacity, 4 * (width + 1)))
        return false;
    uint64_t *below = names->scratch, *own = below + width + 1;
    uint32_t *low = (uint32_t *)(void *)(own + width + 1);
    struct finder finder = {.names = names,
                            .scene = scene,
                            .style = style,
                            .scale = y_scale_of(&scene->view),
                            .rows = rows,
                            .columns = columns,
                            .pixel_bytes =
                                (scene->view.top_bytes - scene->view.bottom_bytes) / scene->view.height,
                            .below = below,
                            .own = own,
                            .low = low,
                            .high = low + width,
                            .scratch = low + 2 * width};
    bytes_zero(below, (size_t)(width + 1) * sizeof *below);
    if (runs_find(&finder))
        return true;
    names->count = 0;
    return false;
}
