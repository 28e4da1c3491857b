#include "tests/fuzz/examine.h"

#include "layout/groups.h"
#include "layout/scene.h"
#include "parser/recording_id.h"
#include "render/raster/raster.h"
#include "render/report/report.h"
#include "render/words/diagnostics.h"
#include "tests/fuzz/recipe.h"
#include "tests/unit/memory_host.h"
#include "trace/payload.h"
#include "trace/trace_check.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define ZLIB_CONST /* makes zlib's next_in a pointer to const */
#include <zlib.h>

#if defined(__SANITIZE_ADDRESS__)
#define HAVE_ASAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAVE_ASAN
#endif
#endif
#ifdef HAVE_ASAN
#include <sanitizer/asan_interface.h>
#endif

#define CHECK EXAMINE_CHECK

void examine_check(bool holds, const char *condition, const char *file, int line) {
    if (holds)
        return;
    (void)fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
    abort();
}

const struct arena_host fuzz_host = {plain_resize, NULL};

/* ---- the promises of trace/trace.h ---- */

static void check_trace(const struct trace *trace) {
    const char *broken = trace_check(trace);
    examine_check(broken == NULL, broken, __FILE__, __LINE__);
}

/* ---- windows, pixels and points ---- */

enum { WIDTH = 53, HEIGHT = 29 };

static void check_picks(const struct scene *scene) {
    const struct timeline *timeline = scene->timeline;
    const struct allocations *allocations = &timeline->device->allocations;
    struct pick pick;
    CHECK(!scene_pick(scene, scene->view.width, 0, &pick));
    for (uint32_t i = 0; i < 16; i++) {
        if (!scene_pick(scene, i * 37 % scene->view.width, i * 11 % scene->view.height, &pick))
            continue;
        CHECK(pick.moment < timeline->n_moments);
        if (pick.allocation != UINT32_MAX)
            CHECK(pick.allocation < allocations->count && scene_band(scene, pick.allocation) != NULL);
    }
}

static void check_bands(const struct scene *scene) {
    uint64_t below[WIDTH];
    for (uint32_t x = 1; x < scene->view.width; x++)
        CHECK(scene->moment[x - 1] <= scene->moment[x]);
    for (uint32_t i = 0; i < scene->n_bands; i++) {
        const struct band *band = &scene->bands[i];
        CHECK(i == 0 || timeline_place_of(scene->timeline, band->allocation) >
                            timeline_place_of(scene->timeline, band[-1].allocation));
        CHECK(band->start <= band->pending && band->pending <= band->end && band->end <= band->tail);
        CHECK(band->tail <= scene->view.width);
    }
    if (scene->n_bands != 0)
        scene_below(scene, &scene->bands[scene->n_bands - 1], below);
}

static void examine_window(struct scene *scene, struct raster *raster, const struct view *view) {
    static uint8_t rgba[WIDTH * HEIGHT * 4];
    if (!scene_build(scene, view)) {
        CHECK(scene->arena.limit_hit);
        return;
    }
    check_bands(scene);
    check_picks(scene);
    const struct raster_style style = {
        .color_by = (enum color_by)(view->bottom_bytes % (COLOR_BY_CATEGORY + 1)),
        .dark = view->from_q16 & 1,
        .capacity_bytes = view->top_bytes / 2,
        .reserved = true,
    };
    if (view->from_q16 % 3 == 0 && scene_group_sites(scene, NULL))
        check_picks(scene);
    if (raster_draw(raster, scene, &style, rgba))
        CHECK(raster->drawn <= scene->n_bands && raster->merged <= scene->n_bands);
}

/* Windows: the whole run, a part of it, one event, and unlikely ones. */
static void examine_axis(struct scene *scene, struct raster *raster, enum axis axis) {
    struct view view = {.axis = axis, .width = WIDTH, .height = HEIGHT};
    view.top_bytes = timeline_headroom_in(scene->timeline, 0, scene->timeline->n_moments, 0);
    view_fit(&view, scene->timeline);
    CHECK(view.from_q16 < view.to_q16);
    CHECK(view.bottom_bytes < view.top_bytes);
    examine_window(scene, raster, &view);
    const int64_t from = view.from_q16, span = view.to_q16 - from, middle = from + span / 2;
    const int64_t far = INT64_C(1) << 61;
    const int64_t windows[][2] = {{middle, middle + span / 3 + 1},
                                  {middle, middle + 65536},
                                  {middle, middle + 1},
                                  {-far, far},
                                  {far, far + 1},
                                  {-far, 1 - far}};
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
        view.from_q16 = windows[i][0];
        view.to_q16 = windows[i][1];
        view.bottom_bytes = i % 2 == 0 ? 0 : view.top_bytes / 3;
        examine_window(scene, raster, &view);
    }
    view.bottom_bytes = UINT64_MAX - 1;
    view.top_bytes = UINT64_MAX;
    view.width = view.height = 1;
    examine_window(scene, raster, &view);
}

/* ---- figures ---- */

static void check_groups(const struct timeline *timeline, uint32_t moment, enum group_by by,
                         struct arena *arena) {
    struct group *groups;
    uint32_t n_groups;
    uint64_t bytes = 0, count = 0;
    if (!groups_at(timeline, moment, by, arena, &groups, &n_groups)) {
        CHECK(arena->limit_hit);
        return;
    }
    for (uint32_t i = 0; i < n_groups; i++) {
        CHECK(i == 0 || groups[i].bytes <= groups[i - 1].bytes);
        CHECK(groups[i].site < timeline->trace->frames.count &&
              groups[i].stack < timeline->trace->stacks.count);
        bytes += groups[i].bytes;
        count += groups[i].count;
    }
    CHECK(bytes == timeline->live[moment]);
    CHECK(count == timeline_alive_count(timeline, moment));
}

static void check_curves(const struct timeline *timeline, struct arena *arena) {
    const uint32_t last = timeline->n_moments - 1, peak = timeline->peak_moment;
    CHECK(timeline->n_moments == timeline->device->n_events + 1);
    CHECK(timeline->live[peak] == timeline->peak_bytes && timeline->live[last] == timeline->end_bytes);
    CHECK(peak == 0 || timeline->live[peak - 1] < timeline->peak_bytes);
    CHECK(timeline_alive_count(timeline, peak) == timeline->live_at_peak);
    CHECK(timeline_peak_in(timeline, 0, timeline->n_moments) == peak);
    CHECK(timeline_reserved_at(timeline, timeline->reserved_peak_moment) == timeline->reserved_peak);
    CHECK(timeline_reserved_at(timeline, 0) == timeline->reserved_start);
    if (timeline_timed(timeline))
        CHECK(timeline_moment_at(timeline, timeline->end_us) == last);
    check_groups(timeline, peak, GROUP_BY_SITE, arena);
    check_groups(timeline, last, GROUP_BY_STACK, arena);
}

static void examine_device(const struct trace *trace, uint32_t index) {
    struct timeline timeline;
    struct arena arena;
    arena_init(&arena, fuzz_host, FUZZ_LAYOUT_NBYTES);
    if (timeline_init(&timeline, trace, index, &arena)) {
        struct scene scene;
        struct raster raster;
        check_curves(&timeline, &arena);
        scene_init(&scene, &timeline, fuzz_host);
        scene.arena.limit_nbytes = FUZZ_LAYOUT_NBYTES;
        raster_init(&raster, fuzz_host);
        raster.arena.limit_nbytes = FUZZ_LAYOUT_NBYTES;
        examine_axis(&scene, &raster, AXIS_EVENTS);
        if (timeline_timed(&timeline))
            examine_axis(&scene, &raster, AXIS_TIME);
        raster_release(&raster);
        scene_release(&scene);
    } else {
        CHECK(arena.limit_hit);
    }
    arena_release(&arena);
}

/* The report is JSON, whatever the strings hold. */
static void examine_report(const struct trace *trace) {
    const struct report_options options = {.format = REPORT_JSON,
                                           .file = "input",
                                           .fingerprint = "",
                                           .recording_id = "",
                                           .kind = "snapshot",
                                           .group = COMPARE_BY_SITE,
                                           .top = 3,
                                           .device = REPORT_ALL_DEVICES};
    struct arena scratch;
    arena_init(&scratch, fuzz_host, FUZZ_LAYOUT_NBYTES);
    struct buffer out = {.host = arena_share(&scratch)};
    if (report_render(&out, trace, &options, &scratch)) {
        cJSON *report = cJSON_ParseWithLength((const char *)out.bytes, out.nbytes);
        CHECK(report != NULL);
        CHECK(cJSON_GetArraySize(cJSON_GetObjectItem(report, "devices")) == (int)trace->n_devices);
        cJSON_Delete(report);
    } else {
        CHECK(scratch.limit_hit);
    }
    buffer_release(&out);
    arena_release(&scratch);
}

/* ---- the payload there and back ---- */

static bool pieces_deflate(struct payload *payload, struct arena *arena) {
    for (uint32_t i = 0; i < payload->n_pieces; i++) {
        struct payload_piece *piece = &payload->pieces[i];
        uLongf nbytes = compressBound(piece->raw_nbytes);
        uint8_t *packed = arena_alloc(arena, nbytes);
        if (packed == NULL)
            return false;
        CHECK(compress2(packed, &nbytes, piece->raw, piece->raw_nbytes, 1) == Z_OK);
        piece->packed = packed;
        piece->packed_nbytes = (uint32_t)nbytes;
    }
    return true;
}

bool examine_inflate(const uint8_t *packed, size_t packed_nbytes, uint8_t *target, size_t raw_nbytes) {
    z_stream stream = {0};
    if (packed_nbytes < 2 || inflateInit2(&stream, -MAX_WBITS) != Z_OK)
        return false;
    stream.next_in = packed + 2;
    stream.avail_in = (uInt)packed_nbytes - 2;
    stream.next_out = target;
    stream.avail_out = (uInt)raw_nbytes;
    const int status = inflate(&stream, Z_FINISH);
    (void)inflateEnd(&stream);
    return status == Z_STREAM_END && stream.avail_out == 0;
}

static bool pieces_inflate(const struct payload *payload) {
    for (uint32_t i = 0; i < payload->n_pieces; i++) {
        const struct payload_piece *piece = &payload->pieces[i];
        if (!examine_inflate(piece->packed, piece->packed_nbytes, piece->target, piece->raw_nbytes))
            return false;
    }
    return true;
}

/* A payload made from the trace that was read from payload `a` must equal `a`. */
static void check_same_pieces(const struct payload *a, const struct trace *trace) {
    struct payload b;
    struct arena arena;
    arena_init(&arena, fuzz_host, FUZZ_TRACE_NBYTES);
    if (payload_pack(&b, trace, &arena) == PAYLOAD_OK) {
        CHECK(a->n_sections == b.n_sections && a->n_pieces == b.n_pieces);
        for (uint32_t i = 0; i < a->n_pieces; i++)
            CHECK(a->pieces[i].raw_nbytes == b.pieces[i].raw_nbytes &&
                  memcmp(a->pieces[i].raw, b.pieces[i].raw, b.pieces[i].raw_nbytes) == 0);
    } else {
        CHECK(arena.limit_hit);
    }
    arena_release(&arena);
}

static void read_back(const struct payload *packed, struct arena *arena) {
    struct payload payload;
    struct trace trace;
    uint8_t *bytes = arena_alloc(arena, (size_t)payload_nbytes(packed));
    if (bytes == NULL)
        return;
    payload_assemble(packed, bytes);
    CHECK(trace_init(&trace, fuzz_host, FUZZ_TRACE_NBYTES));
    enum payload_error error = payload_open(&payload, bytes, payload_nbytes(packed), arena);
    if (error == PAYLOAD_OK) {
        CHECK(pieces_inflate(&payload));
        error = payload_unpack(&payload, &trace);
    }
    if (error == PAYLOAD_OK)
        check_same_pieces(packed, &trace);
    else
        CHECK(error == PAYLOAD_NO_MEMORY && (trace.arena.limit_hit || arena->limit_hit));
    trace_release(&trace);
}

static void examine_round_trip(const struct trace *trace) {
    struct payload payload;
    struct arena arena;
    arena_init(&arena, fuzz_host, FUZZ_TRACE_NBYTES);
    const enum payload_error error = payload_pack(&payload, trace, &arena);
    if (error == PAYLOAD_OK && pieces_deflate(&payload, &arena))
        read_back(&payload, &arena);
    else
        CHECK(arena.limit_hit);
    arena_release(&arena);
}

/* ---- entry points ---- */

void examine_trace(const struct trace *trace) {
    check_trace(trace);
    for (uint32_t i = 0; i < trace->n_devices; i++)
        examine_device(trace, i);
    examine_report(trace);
    examine_round_trip(trace);
}

struct memory_source {
    const uint8_t *bytes;
    size_t nbytes, at, block_nbytes;
};

/* The reader's buffer goes on after the bytes that were read, but reading those is a fault, so the address sanitizer
 * forbids it until the next block comes. */
static int64_t memory_read(void *context, void *to, size_t nbytes) {
    struct memory_source *source = context;
    size_t n = source->nbytes - source->at;
    if (n > source->block_nbytes)
        n = source->block_nbytes;
    if (n > nbytes)
        n = nbytes;
#ifdef HAVE_ASAN
    ASAN_UNPOISON_MEMORY_REGION(to, nbytes);
#endif
    if (n != 0)
        memcpy(to, source->bytes + source->at, n);
    source->at += n;
#ifdef HAVE_ASAN
    ASAN_POISON_MEMORY_REGION((uint8_t *)to + n, nbytes - n);
#endif
    return (int64_t)n;
}

static bool read_in_blocks(struct trace *trace, const uint8_t *bytes, size_t nbytes, size_t block_nbytes,
                           struct read_error *error) {
    struct memory_source memory = {bytes, nbytes, 0, block_nbytes};
    const struct read_source source = {
        .read = memory_read, .context = &memory, .size_hint = nbytes, .plainly = block_nbytes != SIZE_MAX};
    const struct read_progress progress = {NULL, NULL};
    CHECK(trace_init(trace, fuzz_host, FUZZ_TRACE_NBYTES));
    const bool done = trace_read(trace, &source, &progress, error);
    CHECK(done == (error->code == READ_OK));
    CHECK(memchr(error->message, '\0', sizeof error->message) != NULL);
    if (!done)
        CHECK(error->message[0] != '\0');
    return done && diagnostics_say(trace);
}

bool examine_read(struct trace *trace, const uint8_t *bytes, size_t nbytes, struct read_error *error) {
    return read_in_blocks(trace, bytes, nbytes, SIZE_MAX, error);
}

bool examine_read_recipe(struct trace *trace, const uint8_t *bytes, size_t nbytes) {
    size_t made_nbytes;
    struct read_error error;
    uint8_t *made = recipe_make(bytes, nbytes, &made_nbytes);
    bool done = examine_read(trace, made, made_nbytes, &error);
    free(made);
    return done;
}

/* Changes a byte of a piece: its number, its offset (two bytes) and the new value. */
static void piece_change(const struct payload *payload, struct arena *arena, const uint8_t change[4]) {
    if (payload->n_pieces == 0)
        return;
    struct payload_piece *piece = &payload->pieces[change[0] % payload->n_pieces];
    uint8_t *raw = arena_alloc(arena, piece->raw_nbytes);
    if (raw == NULL)
        return;
    memcpy(raw, piece->raw, piece->raw_nbytes);
    raw[((uint32_t)change[1] << 8 | change[2]) % piece->raw_nbytes] = change[3];
    piece->raw = raw;
}

uint8_t *examine_recipe_payload(const uint8_t *bytes, size_t nbytes, const uint8_t *changes, size_t n_changes,
                                size_t *made_nbytes) {
    struct trace trace;
    struct payload payload;
    struct arena arena;
    uint8_t *made = NULL;
    arena_init(&arena, fuzz_host, FUZZ_TRACE_NBYTES);
    bool done =
        examine_read_recipe(&trace, bytes, nbytes) && payload_pack(&payload, &trace, &arena) == PAYLOAD_OK;
    for (size_t i = 0; done && i < n_changes; i++)
        piece_change(&payload, &arena, changes + 4 * i);
    if (done && pieces_deflate(&payload, &arena)) {
        *made_nbytes = (size_t)payload_nbytes(&payload);
        made = malloc(*made_nbytes);
        CHECK(made != NULL);
        payload_assemble(&payload, made);
    }
    arena_release(&arena);
    trace_release(&trace);
    return made;
}

/* Reads again in blocks of a few bytes, with the general machine only, as the control of the fast paths
 * (parser/pickle/pickle_dict.c). */
static void examine_plainly(const uint8_t *bytes, size_t nbytes, const struct read_error *error,
                            const char *id) {
    enum { SMALL_BLOCK_NBYTES = 7 };
    struct trace trace;
    struct read_error again;
    char own[FINGERPRINT_CHARACTERS + 1];
    bool done = read_in_blocks(&trace, bytes, nbytes, SMALL_BLOCK_NBYTES, &again);
    CHECK(error->code == again.code && error->offset == again.offset);
    if (done && id[0] != '\0' && recording_id(&trace, own))
        CHECK(strcmp(id, own) == 0);
    trace_release(&trace);
}

void examine_recording(const uint8_t *bytes, size_t nbytes) {
    enum { SMALL_INPUT_NBYTES = 256 << 10 };
    struct trace trace;
    struct read_error error;
    char id[FINGERPRINT_CHARACTERS + 1] = "";
    if (read_in_blocks(&trace, bytes, nbytes, SIZE_MAX, &error)) {
        if (!recording_id(&trace, id))
            id[0] = '\0';
        examine_trace(&trace);
    }
    trace_release(&trace);
    if (nbytes <= SMALL_INPUT_NBYTES)
        examine_plainly(bytes, nbytes, &error, id);
}

void examine_payload(const uint8_t *bytes, size_t nbytes) {
    struct payload payload;
    struct trace trace;
    struct arena arena;
    arena_init(&arena, fuzz_host, FUZZ_TRACE_NBYTES);
    CHECK(trace_init(&trace, fuzz_host, FUZZ_TRACE_NBYTES));
    if (payload_open(&payload, bytes, nbytes, &arena) == PAYLOAD_OK && pieces_inflate(&payload) &&
        payload_unpack(&payload, &trace) == PAYLOAD_OK)
        examine_trace(&trace);
    trace_release(&trace);
    arena_release(&arena);
}
