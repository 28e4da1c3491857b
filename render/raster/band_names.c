#include "render/raster/band_names.h"

#include "base/bytes.h"
#include "base/words.h"
#include "layout/filter.h"
#include "layout/site.h"
#include "render/raster/mix.h"

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
static void run_edges(struct finder *finder, const struct band_run *run) {
    uint64_t below = 0, own = 0;
    for (uint32_t column = 0; column < run->from; column++)
        below += finder->below[column];
    for (uint32_t column = run->from; column < run->to; column++) {
        below += finder->below[column];
        own += finder->own[column];
        finder->low[column] = y_scale_q8(&finder->scale, below);
        finder->high[column] = y_scale_q8(&finder->scale, below + own);
    }
}

/* Finds the widest room of so many rows in the run's columns. False: none, and the room ends at 0. */
static bool run_room(const struct finder *finder, const struct band_run *run, uint32_t rows,
                     struct label_room *room) {
    *room = (struct label_room){0};
    if (!label_room_find(finder->low + run->from, finder->high + run->from, run->to - run->from, rows,
                         finder->scratch, room))
        return false;
    room->from += run->from;
    room->to += run->from;
    return room->to - room->from >= finder->columns;
}

static bool run_rooms(const struct finder *finder, const struct band_run *run,
                      struct label_room room[ROOM_COUNT]) {
    if (!run_room(finder, run, finder->rows, &room[ROOM_WIDEST]))
        return false;
    struct label_room higher = room[ROOM_MIDDLE] = room[ROOM_WIDEST];
    uint32_t half = (higher.to - higher.from) / 2;
    while (run_room(finder, run, higher.top - higher.bottom + 1, &higher) && higher.to - higher.from >= half)
        room[ROOM_MIDDLE] = higher;
    if (!run_room(finder, run, 2 * finder->rows, &room[ROOM_PAIR]))
        room[ROOM_PAIR].to = 0;
    return true;
}

/* What nine tenths of the run or more are. */
static uint16_t run_category(const struct band_run *run) {
    for (uint32_t i = 0; i < CATEGORY_COUNT; i++)
        if (run->of[i] / 9 >= run->bytes / 10 && run->of[i] != 0)
            return (uint16_t)i;
    return CATEGORY_COUNT;
}

static bool run_name(struct finder *finder, const struct band_run *run) {
    struct band_names *names = finder->names;
    const struct timeline *timeline = finder->scene->timeline;
    struct band_name name = {.site = run->site, .category = run_category(run), .is_rest = run->is_rest};
    run_edges(finder, run);
    if (!run_rooms(finder, run, name.room))
        return true;
    if (!ARENA_GROW(&names->arena, names->name, names->capacity, (uint64_t)names->count + 1))
        return false;
    name.is_older = run->allocation < timeline->device->allocations.preexisting;
    name.color = raster_allocation_color(timeline, finder->style, run->allocation, run->is_rest);
    name.ink = band_ink(name.color);
    names->name[names->count++] = name;
    return true;
}

/* The run has all its bands: may there be room for a name? */
static void run_is_whole(const struct finder *finder) {
    struct band_names *names = finder->names;
    const struct band_run *run = &names->run;
    names->whole = true;
    names->roomy = run->to - run->from >= finder->columns && run->bytes / finder->rows >= finder->pixel_bytes;
    if (names->roomy)
        bytes_zero(finder->own + run->from, (run->to - run->from + 1) * sizeof *finder->own);
}

/* Names the run, whose bands are added to its sums, where it has room; the next one lies above it. */
static bool run_end(struct finder *finder) {
    const struct band_run *run = &finder->names->run;
    if (!finder->names->roomy)
        return true;
    if (!run_name(finder, run))
        return false;
    for (uint32_t column = run->from; column <= run->to; column++)
        finder->below[column] += finder->own[column];
    return true;
}

static void run_begin(const struct finder *finder, uint32_t index) {
    const struct band *band = &finder->scene->bands[index];
    const struct timeline *timeline = finder->scene->timeline;
    const struct scene_group *group = finder->scene->group, *last = group + finder->scene->n_groups;
    while (group < last && index >= group->end)
        group++;
    bool is_rest = group < last && group->is_rest; /* its call sites share one colour */
    finder->names->whole = false;
    finder->names->summed = index;
    finder->names->run = (struct band_run){
        .first = index,
        .end = index,
        .limit = group == last            ? finder->scene->n_bands
                 : index < group->lit_end ? group->lit_end
                                          : group->end,
        .allocation = band->allocation,
        .site = is_rest ? 0 : timeline->site[timeline->device->allocations.stack[band->allocation]],
        .is_rest = is_rest,
        .from = band->start,
        .to = band->start};
}

/* Has an allocation the run's name and colour? */
static bool looks_alike(const struct finder *finder, const struct band_run *run, uint32_t b) {
    uint32_t a = run->allocation;
    const struct timeline *timeline = finder->scene->timeline;
    const struct allocations *allocations = &timeline->device->allocations;
    const struct raster_style *style = finder->style;
    return (run->is_rest || timeline->site[allocations->stack[b]] == run->site) &&
           (allocations->birth[a] == 0) == (allocations->birth[b] == 0) &&
           filter_keeps(style->lit, a) == filter_keeps(style->lit, b) &&
           raster_key(timeline, style, a) == raster_key(timeline, style, b);
}

/* Does the band look like a part of the run? Bands too thin to be seen may hide in it, up to a pixel or a sixteenth in
 * all. */
static bool run_takes(const struct finder *finder, struct band_run *run) {
    if (run->end == run->limit)
        return false;
    const struct band *band = &finder->scene->bands[run->end];
    uint64_t size = finder->scene->timeline->device->allocations.size[band->allocation];
    if (looks_alike(finder, run, band->allocation))
        return true;
    uint64_t part = run->bytes / 16, whole = run->bytes < finder->pixel_bytes ? 0 : finder->pixel_bytes;
    uint64_t most = part > whole ? part : whole;
    if (size >= finder->pixel_bytes || run->foreign > most || size > most - run->foreign)
        return false;
    run->foreign += size;
    return true;
}

static void run_add(const struct finder *finder, struct band_run *run) {
    const struct band *band = &finder->scene->bands[run->end];
    uint64_t size = finder->scene->timeline->device->allocations.size[band->allocation];
    run->end++;
    if (run->site == 0 && finder->style->category != NULL)
        run->of[finder->style->category[band->allocation]] += size;
    run->to = band->tail > run->to ? band->tail : run->to;
    run->bytes = run->bytes > UINT64_MAX - size ? UINT64_MAX : run->bytes + size;
}

/* Looks at the next band, which belongs to the run or ends it, or adds a band of a whole run to the sums. */
static enum names_progress band_step(struct finder *finder) {
    struct band_names *names = finder->names;
    struct band_run *run = &names->run;
    if (!names->whole) {
        if (run_takes(finder, run))
            run_add(finder, run);
        else
            run_is_whole(finder);
        return NAMES_GO_ON;
    }
    if (names->summed < run->end) {
        scene_changes_add(finder->scene, &finder->scene->bands[names->summed++],
                          names->roomy ? finder->own : finder->below);
        return NAMES_GO_ON;
    }
    if (!run_end(finder))
        return NAMES_NO_MEMORY;
    if (run->end == finder->scene->n_bands)
        return NAMES_FOUND;
    run_begin(finder, run->end);
    return NAMES_GO_ON;
}

void band_names_init(struct band_names *names, struct arena_host host) {
    *names = (struct band_names){0};
    arena_init(&names->arena, host, SIZE_MAX);
}

void band_names_release(struct band_names *names) {
    arena_release(&names->arena);
    *names = (struct band_names){0};
}

void band_names_forget(struct band_names *names) {
    names->count = 0;
    names->begun = false;
}

static enum names_progress names_end(struct band_names *names, enum names_progress progress) {
    if (progress == NAMES_NO_MEMORY)
        names->count = 0;
    names->begun = false;
    return progress;
}

enum names_progress band_names_step(struct band_names *names, const struct scene *scene,
                                    const struct raster_style *style, uint32_t rows, uint32_t columns,
                                    uint32_t most) {
    const uint64_t width = scene->view.width;
    if (!names->begun)
        names->count = 0;
    if (scene->n_bands == 0 || width == 0 || rows > scene->view.height || columns > width)
        return names_end(names, NAMES_FOUND);
    if (!ARENA_GROW(&names->arena, names->scratch, names->scratch_capacity, 4 * (width + 1)))
        return names_end(names, NAMES_NO_MEMORY);
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
    if (!names->begun) {
        names->begun = true;
        bytes_zero(below, (size_t)(width + 1) * sizeof *below);
        run_begin(&finder, 0);
    }
    enum names_progress progress = NAMES_GO_ON;
    for (uint32_t i = 0; i < most && progress == NAMES_GO_ON; i++)
        progress = band_step(&finder);
    return progress == NAMES_GO_ON ? progress : names_end(names, progress);
}

uint32_t band_name_text(const struct trace *trace, const struct band_name *name, char *text,
                        uint32_t capacity) {
    struct words words = {text, capacity, 0};
    bool known = name->category < CATEGORY_COUNT;
    if (name->site != 0)
        return site_text(trace, name->site, text, capacity);
    if (name->is_rest)
        words_say(&words, "smaller call sites");
    else if (known)
        words_say(&words, category_label[name->category].title);
    if (name->is_older)
        words_say(&words, name->is_rest || known ? ", older than the recording" : "older than the recording");
    else if (!name->is_rest)
        words_say(&words, known ? ", no stack recorded" : "no stack recorded");
    return words_end(&words);
}

bool band_names_find(struct band_names *names, const struct scene *scene, const struct raster_style *style,
                     uint32_t rows, uint32_t columns) {
    enum names_progress progress;
    band_names_forget(names);
    while ((progress = band_names_step(names, scene, style, rows, columns, UINT32_MAX)) == NAMES_GO_ON) {
    }
    return progress == NAMES_FOUND;
}
