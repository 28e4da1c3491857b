/*
 * Prints what the libraries answer about a file, for tests that compare it with an independent reader:
 *
 *     state_dump FILE DEVICE EVENT...
 *         for each event (-1: before the first) a line "event E N" and N lines "address size offset", bottom first
 *     state_dump --pick FILE DEVICE WIDTH HEIGHT FROM TO X,Y...
 *         the window [FROM, TO) in events (fractions allowed) on a grid of pixels: a line "top BYTES", then for each
 *         point "event address size offset", or "event -" where nothing lies
 *     state_dump --categories FILE DEVICE
 *         for each allocation a line "birth death bytes category": the index of the event that began it (-1: older than the
 *         recording) and of the one that ended it (the number of events: none did), and what Strata takes it for
 *     state_dump --blocks FILE DEVICE EVENT...
 *         for each event a line "event E SEGMENTS BLOCKS", a line "segment address bytes small expandable" each, and a line
 *         "block address bytes state requested" each, with sizes from the replay if it is exact
 *     state_dump --measure FILE DEVICE
 *         a line "replay state": milliseconds of processor time of a replay, and of the segments and blocks in the middle
 *     state_dump --memory FILE
 *         a line "events columns peak": how many there are, the bytes that the finished recording holds for them (all
 *         but strings, frames, stacks and contexts, which events share), and the most that reading took at one time
 *
 * DEVICE is the ordinal in the file.
 */
#include "analysis/findings/verdicts.h"
#include "analysis/model/fragmentation.h"
#include "layout/scene.h"
#include "layout/timeline.h"
#include "parser/read.h"
#include "unit/memory_host.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static _Noreturn void fail(const char *what, const char *detail) {
    (void)fprintf(stderr, "state_dump: %s: %s\n", what, detail);
    exit(1);
}

static int64_t file_read(void *context, void *to, size_t nbytes) {
    FILE *file = context;
    const size_t got = fread(to, 1, nbytes, file);
    return got == 0 && ferror(file) ? -1 : (int64_t)got;
}

static void read_file(struct trace *trace, const char *path) {
    if (!trace_init(trace, plain_host, SIZE_MAX))
        fail(path, "no memory");
    FILE *file = fopen(path, "rb");
    if (!file)
        fail(path, strerror(errno));
    const struct read_source source = {.read = file_read, .context = file};
    const struct read_progress progress = {NULL, NULL};
    struct read_error error;
    if (!trace_read(trace, &source, &progress, &error))
        fail(path, error.message);
    (void)fclose(file);
}

static uint32_t device_index(const struct trace *trace, const char *ordinal) {
    for (uint32_t i = 0; i < trace->n_devices; i++) {
        if (trace->devices[i].ordinal == strtol(ordinal, NULL, 10))
            return i;
    }
    fail("no such device", ordinal);
}

/* The live bytes below an allocation. */
static uint64_t offset_of(const struct timeline *timeline, uint32_t moment, uint32_t allocation) {
    const struct allocations *allocations = &timeline->device->allocations;
    uint64_t offset = 0;
    for (uint32_t i = 0; i < allocation; i++) {
        if (allocations->birth[i] <= moment && moment < allocations->death[i])
            offset += allocations->size[i];
    }
    return offset;
}

static void dump_moment(const struct timeline *timeline, const char *event) {
    const struct allocations *allocations = &timeline->device->allocations;
    const uint32_t moment = (uint32_t)(strtol(event, NULL, 10) + 1);
    if (moment >= timeline->n_moments)
        fail("no such event", event);
    struct arena arena;
    arena_init(&arena, plain_host, SIZE_MAX);
    uint32_t n_alive, *alive = timeline_alive(timeline, moment, &arena, &n_alive);
    if (!alive || timeline_alive_count(timeline, moment) != n_alive)
        fail("timeline_alive", event);
    printf("event %s %" PRIu32 "\n", event, n_alive);
    uint64_t offset = 0;
    for (uint32_t i = 0; i < n_alive; i++) {
        const uint32_t allocation = alive[i];
        const int pending = allocations->request[allocation] <= moment;
        printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %d\n", allocations->address[allocation],
               allocations->size[allocation], offset, pending);
        offset += allocations->size[allocation];
    }
    if (offset != timeline->live[moment])
        fail("the curve disagrees with the sum of what is alive", event);
    arena_release(&arena);
}

static void dump_pick(const struct timeline *timeline, const struct scene *scene, const char *point) {
    const struct allocations *allocations = &timeline->device->allocations;
    char *end = NULL;
    const uint32_t x = (uint32_t)strtoul(point, &end, 10);
    const uint32_t y = *end == ',' ? (uint32_t)strtoul(end + 1, NULL, 10) : UINT32_MAX;
    struct pick pick;
    if (!scene_pick(scene, x, y, &pick))
        fail("outside of the view", point);
    printf("%" PRId64, (int64_t)pick.moment - 1);
    if (pick.allocation == UINT32_MAX) {
        puts(" -");
        return;
    }
    if (pick.offset != offset_of(timeline, pick.moment, pick.allocation))
        fail("scene_pick's offset disagrees with the allocations below", point);
    printf(" %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", allocations->address[pick.allocation],
           allocations->size[pick.allocation], pick.offset);
}

/* `arguments`: WIDTH HEIGHT FROM TO X,Y... */
static void dump_picks(const struct timeline *timeline, char **arguments) {
    struct view view = {.axis = AXIS_EVENTS};
    view.width = (uint32_t)strtoul(arguments[0], NULL, 10);
    view.height = (uint32_t)strtoul(arguments[1], NULL, 10);
    view.from_q16 = llround(strtod(arguments[2], NULL) * 65536);
    view.to_q16 = llround(strtod(arguments[3], NULL) * 65536);
    view.top_bytes = timeline_headroom_in(timeline, 0, timeline->n_moments, 0);
    printf("top %" PRIu64 "\n", view.top_bytes);
    struct scene scene;
    scene_init(&scene, timeline, plain_host);
    if (!scene_build(&scene, &view))
        fail("scene_build", "no memory");
    for (char **point = arguments + 4; *point; point++)
        dump_pick(timeline, &scene, *point);
    scene_release(&scene);
}

static void dump_categories(const struct timeline *timeline, struct arena *arena) {
    const struct allocations *allocations = &timeline->device->allocations;
    struct verdicts verdicts;
    if (!verdicts_init(&verdicts, timeline, arena))
        fail("verdicts_init", "no memory");
    for (uint32_t i = 0; i < allocations->count; i++) {
        const uint32_t death =
            allocations->death[i] < timeline->n_moments ? allocations->death[i] : timeline->n_moments;
        printf("%" PRId64 " %" PRId64 " %" PRIu64 " %s\n", (int64_t)allocations->birth[i] - 1,
               (int64_t)death - 1, allocations->size[i], category_label[verdicts.category[i]].name);
    }
}

static void dump_held(const struct device_trace *device, const struct held *held, const char *event) {
    static const char *const states[] = {
        [BLOCK_INACTIVE] = "free", [BLOCK_ALLOCATED] = "allocated", [BLOCK_PENDING_FREE] = "waiting"};
    printf("event %s %" PRIu32 " %" PRIu32 "\n", event, held->n_segments, held->n_blocks);
    for (uint32_t i = 0; i < held->n_segments; i++)
        printf("segment %" PRIu64 " %" PRIu64 " %d %d\n", held->segment[i].address, held->segment[i].size,
               (held->segment[i].flags & SEGMENT_SMALL) != 0,
               (held->segment[i].flags & SEGMENT_EXPANDABLE) != 0);
    for (uint32_t i = 0; i < held->n_blocks; i++) {
        const struct held_block *block = &held->block[i];
        printf("block %" PRIu64 " %" PRIu64 " %s %" PRIu64 "\n", block->address, block->size,
               states[block->state],
               block->allocation == ALLOCATION_NONE ? 0 : device->allocations.size[block->allocation]);
    }
}

/* Replays in stretches, as the page does (with longer ones). The report replays everything at once. */
static void replay_in_stretches(struct replay *replay, const struct timeline *timeline, struct arena *arena) {
    enum { STRETCH = 7 };
    struct replay_work *work = replay_begin(replay, timeline->trace, timeline->device, arena);
    enum replay_progress progress = work != NULL ? REPLAY_GOES_ON : REPLAY_NO_MEMORY;
    while (progress == REPLAY_GOES_ON)
        progress = replay_go_on(work, STRETCH);
    if (progress == REPLAY_NO_MEMORY)
        fail("replay_go_on", "no memory");
}

static void dump_blocks(const struct timeline *timeline, char **events, struct arena *arena) {
    struct replay replay;
    struct segments segments;
    replay_in_stretches(&replay, timeline, arena);
    if (!segments_init(&segments, timeline->device, arena))
        fail("segments_init", "no memory");
    for (; *events; events++) {
        struct held held;
        const uint32_t moment = (uint32_t)(strtol(*events, NULL, 10) + 1);
        if (moment >= timeline->n_moments)
            fail("no such event", *events);
        if (!fragmentation_state(&held, timeline, &segments, &replay, moment, arena))
            fail("fragmentation_state", "no memory");
        dump_held(timeline->device, &held, *events);
    }
}

static double milliseconds(void) {
    return (double)clock() * 1000 / CLOCKS_PER_SEC;
}

static void measure(const struct timeline *timeline, struct arena *arena) {
    struct replay replay;
    struct segments segments;
    struct held held;
    const double begin = milliseconds();
    if (!replay_run(&replay, timeline->trace, timeline->device, NULL, arena))
        fail("replay_run", "no memory");
    const double replayed = milliseconds();
    if (!segments_init(&segments, timeline->device, arena))
        fail("segments_init", "no memory");
    const double found = milliseconds();
    if (!fragmentation_state(&held, timeline, &segments, &replay, timeline->n_moments / 2, arena))
        fail("fragmentation_state", "no memory");
    printf("%.1f %.1f\n", replayed - begin, milliseconds() - found);
}

static uint64_t shared_nbytes(const struct trace *trace) {
    return trace->strings.bytes_capacity +
           (uint64_t)trace->strings.start_capacity * sizeof *trace->strings.start +
           (uint64_t)trace->frames.capacity * sizeof *trace->frames.frame +
           (uint64_t)trace->stacks.capacity * sizeof *trace->stacks.frame +
           (uint64_t)trace->stacks.word_capacity * sizeof *trace->stacks.word +
           (uint64_t)trace->stacks.branched_capacity * sizeof *trace->stacks.parent +
           (uint64_t)trace->fx.capacity * sizeof *trace->fx.fx +
           (uint64_t)trace->contexts.capacity * sizeof *trace->contexts.context;
}

static int dump_memory(const char *path) {
    struct trace trace;
    uint64_t n_events = 0;
    read_file(&trace, path);
    for (uint32_t i = 0; i < trace.n_devices; i++)
        n_events += trace.devices[i].n_events;
    printf("%" PRIu64 " %" PRIu64 " %zu\n", n_events, trace.arena.used_nbytes - shared_nbytes(&trace),
           trace.arena.peak_nbytes);
    trace_release(&trace);
    return fflush(stdout) == 0 ? 0 : 1;
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "--memory") == 0)
        return dump_memory(argv[2]);
    const bool pick = argc > 1 && strcmp(argv[1], "--pick") == 0;
    const bool blocks = argc > 4 && strcmp(argv[1], "--blocks") == 0;
    const bool times = argc == 4 && strcmp(argv[1], "--measure") == 0;
    const bool categories = argc == 4 && strcmp(argv[1], "--categories") == 0;
    if (argc < (pick ? 8 : 3))
        fail("usage", "state_dump FILE DEVICE EVENT... | --pick FILE DEVICE WIDTH HEIGHT FROM TO X,Y... | "
                      "--categories FILE DEVICE | --blocks FILE DEVICE EVENT... | --memory FILE");
    char **arguments = argv + (pick || categories || blocks || times ? 2 : 1);
    struct trace trace;
    read_file(&trace, arguments[0]);
    struct arena arena;
    arena_init(&arena, plain_host, SIZE_MAX);
    struct timeline timeline;
    if (!timeline_init(&timeline, &trace, device_index(&trace, arguments[1]), &arena))
        fail(arguments[0], "no memory");
    if (categories)
        dump_categories(&timeline, &arena);
    if (pick)
        dump_picks(&timeline, arguments + 2);
    if (times)
        measure(&timeline, &arena);
    if (blocks)
        dump_blocks(&timeline, arguments + 2, &arena);
    for (char **event = arguments + 2; !pick && !blocks && *event; event++)
        dump_moment(&timeline, *event);
    arena_release(&arena);
    trace_release(&trace);
    return fflush(stdout) == 0 ? 0 : 1;
}
