/*
 * Lets every allocation fail in turn: each part must answer "no memory", free all that it took, and work once there is
 * memory again. The recordings are samples and small ones made here.
 */
#include "layout/groups.h"
#include "layout/scene.h"
#include "parser/read.h"
#include "render/page/html.h"
#include "render/png/chart.h"
#include "render/raster/raster.h"
#include "trace/payload.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#include "failing_host.h"

/* ---- recordings ---- */

struct bytes {
    uint8_t *at;
    size_t nbytes;
};

/* Reads a sample of the repository. */
static struct bytes sample(const char *name) {
    char path[4096];
    struct bytes bytes = {NULL, 0};
    (void)snprintf(path, sizeof path, "%s/%s", STRATA_SAMPLES, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        fail_msg("cannot open %s", path);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    bytes.nbytes = (size_t)ftell(file);
    rewind(file);
    bytes.at = malloc(bytes.nbytes);
    assert_non_null(bytes.at);
    assert_int_equal(fread(bytes.at, 1, bytes.nbytes, file), bytes.nbytes);
    (void)fclose(file);
    return bytes;
}

/* One device, one allocation that is freed and one that stays, as protocol 0 writes them. */
static const char text_pickle[] =
    "(dp0\nS'segments'\np1\n(lp2\nsS'device_traces'\np3\n(lp4\n(lp5\n"
    "(dS'action'\nS'alloc'\nsS'addr'\nI4096\nsS'size'\nI512\nsS'stream'\nI0\nsS'frames'\n(l(dS'name'"
    "\nVforward\nsS'filename'\n"
    "Vmodel.py\nsS'line'\nI7\nsasa"
    "(dS'action'\nS'free_completed'\nsS'addr'\nI4096\nsS'size'\nI512\nsS'stream'\nI0\nsa"
    "(dS'action'\nS'alloc'\nsS'addr'\nI8192\nsS'size'\nI100\nsS'stream'\nI5\nsS'time_us'\nL17L\nsa"
    "as.";

/* The same in protocol 2, with a block that no event explains. */
static const char binary_pickle[] = "\x80\x02}q\x00(U\x08segments]q\x01}q\x02(U\x06"
                                    "deviceK\x00U\x07"
                                    "addressM\x00\x10U\x0atotal_sizeM\x00\x20"
                                    "U\x0e"
                                    "allocated_sizeM\x00\x02U\x0b"
                                    "active_sizeM\x00\x02U\x06streamK\x00U\x0csegment_typeU\x05smallU\x06"
                                    "blocks]"
                                    "}(U\x04sizeM\x00\x02U\x05stateU\x10"
                                    "active_allocatedU\x06"
                                    "frames]uauaU\x0d"
                                    "device_traces](](}(U\x06"
                                    "actionU\x05"
                                    "alloc"
                                    "U\x04"
                                    "addrM\x00\x20U\x04sizeM\x00\x01U\x06streamK\x00ueeu.";

static struct bytes literal(const char *text, size_t nbytes) {
    struct bytes bytes = {malloc(nbytes), nbytes};
    assert_non_null(bytes.at);
    memcpy(bytes.at, text, nbytes);
    return bytes;
}

static struct bytes gzipped(struct bytes plain) {
    z_stream stream = {0};
    assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    struct bytes packed = {NULL, deflateBound(&stream, plain.nbytes)};
    packed.at = malloc(packed.nbytes);
    assert_non_null(packed.at);
    stream.next_in = plain.at;
    stream.avail_in = (uInt)plain.nbytes;
    stream.next_out = packed.at;
    stream.avail_out = (uInt)packed.nbytes;
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    packed.nbytes = stream.total_out;
    assert_int_equal(deflateEnd(&stream), Z_OK);
    free(plain.at);
    return packed;
}

/* ---- reading ---- */

struct position {
    const struct bytes *bytes;
    size_t at;
};

static int64_t memory_read(void *context, void *to, size_t nbytes) {
    struct position *position = context;
    size_t left = position->bytes->nbytes - position->at, n = left < nbytes ? left : nbytes;
    if (n != 0)
        memcpy(to, position->bytes->at + position->at, n);
    position->at += n;
    return (int64_t)n;
}

/* Reads into a trace that the caller releases. */
static enum outcome read_trace(struct trace *trace, struct arena_host host, const struct bytes *bytes) {
    struct position position = {bytes, 0};
    const struct read_source source = {.read = memory_read, .context = &position, .size_hint = bytes->nbytes};
    const struct read_progress progress = {NULL, NULL};
    struct read_error error;
    if (!trace_init(trace, host, SIZE_MAX))
        return NO_MEMORY;
    if (trace_read(trace, &source, &progress, &error))
        return trace->n_devices != 0 && trace->devices[0].allocations.count != 0 ? DONE : WRONG;
    return error.code == READ_NO_MEMORY && error.message[0] != '\0' ? NO_MEMORY : WRONG;
}

static enum outcome read_task(struct arena_host host, const void *input) {
    struct trace trace;
    enum outcome outcome = read_trace(&trace, host, input);
    trace_release(&trace);
    return outcome;
}

static void fail_reading(struct bytes bytes, long least) {
    assert_true(fail_each(read_task, &bytes) >= least);
    free(bytes.at);
}

static void test_reading_small_pickles(void **state) {
    (void)state;
    fail_reading(literal(text_pickle, sizeof text_pickle - 1), 20);
    fail_reading(literal(binary_pickle, sizeof binary_pickle - 1), 20);
}

static void test_reading_samples(void **state) {
    static const char *const names[] = {"one_event.pickle", "hostile_names.pickle", "two_devices.pickle",
                                        "private_pools.pickle", "user_metadata_annotate.pickle"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        fail_reading(sample(names[i]), 50);
}

static void test_reading_gzip(void **state) {
    (void)state;
    fail_reading(gzipped(literal(text_pickle, sizeof text_pickle - 1)), 20);
    fail_reading(gzipped(sample("oom.pickle")), 50);
}

/* cJSON's trees fail too, because their memory comes from the same host. */
static void test_reading_json_snapshots(void **state) {
    (void)state;
    static const char snapshot[] =
        "{\"segments\":[{\"device\":0,\"address\":4096,\"total_size\":8192,\"allocated_size\":512,"
        "\"active_size\":512,\"stream\":0,\"segment_type\":\"small\",\"blocks\":[{\"address\":4096,"
        "\"size\":512,\"requested_size\":500,\"state\":\"active_allocated\",\"frames\":[]}]}],"
        "\"device_traces\":[[{\"action\":\"alloc\",\"addr\":5120,\"size\":512,\"stream\":0,\"time_us\":7,"
        "\"frames\":[{\"filename\":\"model.py\",\"line\":7,\"name\":\"forward\"}]},"
        "{\"action\":\"free_completed\",\"addr\":5120,\"size\":512,\"stream\":0,\"time_us\":NaN},"
        "{\"action\":\"oom\",\"size\":9,\"device_free\":8,\"stream\":0}, what]],"
        "\"allocator_settings\":{\"expandable_segments\":true,\"x\":[1,2.5]}}";
    static const char root_list[] =
        "[{\"device\":1,\"address\":64,\"total_size\":512,\"blocks\":[{\"size\":512,\"state\":\"active_"
        "allocated\","
        "\"history\":[{\"real_size\":100,\"frames\":[{\"filename\":\"a\",\"line\":1,\"name\":\"b\"}]}]}]}]";
    fail_reading(literal(snapshot, sizeof snapshot - 1), 30);
    fail_reading(literal(root_list, sizeof root_list - 1), 25);
}

static void test_reading_profiler_traces(void **state) {
    (void)state;
    static const char trace[] =
        "{\"schemaVersion\":1,\"deviceProperties\":[{\"id\":0,\"name\":\"G\",\"totalGlobalMem\":8589934592}],"
        "\"distributedInfo\":{\"rank\":3},\"baseTimeNanoseconds\":1700000000000000000,\"traceEvents\":["
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::empty\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":9,"
        "\"args\":{\"Call stack\":\"lib.py(3): inner;train.py(9): outer\"}},"
        "{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"train.py(12): "
        "step\",\"pid\":1,\"tid\":1,\"ts\":0.5,"
        "\"dur\":20,\"args\":{}},"
        "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"step\",\"pid\":1,\"tid\":1,\"ts\":0.1,\"dur\":"
        "30},"
        "{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":1,\"ts\":2,\"args\":{\"Total Reserved\":4096,"
        "\"Total Allocated\":1024,\"Bytes\":512,\"Addr\":140000,\"Device Id\":0,\"Device Type\":1}},"
        "{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":1,\"ts\":4,\"args\":{\"Total Reserved\":4096,"
        "\"Total Allocated\":300,\"Bytes\":-512,\"Addr\":140000,\"Device Id\":0,\"Device Type\":1}},"
        "{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":2,\"ts\":3,\"args\":{\"Total Reserved\":0,"
        "\"Total Allocated\":64,\"Bytes\":64,\"Addr\":7,\"Device Id\":-1,\"Device Type\":0}},"
        "{\"ph\":\"i\",\"name\":\"[OutOfMemory]\",\"pid\":1,\"tid\":1,\"ts\":5,\"args\":{\"Total "
        "Reserved\":4096,"
        "\"Total Allocated\":300,\"Bytes\":9999,\"Device Id\":0,\"Device Type\":1}}]}";
    static const char without_addresses[] =
        "[{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":1,\"ts\":2,"
        "\"args\":{\"Bytes\":512,\"Device Id\":0,\"Device Type\":1}},"
        "{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":1,\"ts\":3,"
        "\"args\":{\"Bytes\":-600,\"Device Id\":0,\"Device Type\":1}}]";
    fail_reading(literal(trace, sizeof trace - 1), 30);
    fail_reading(literal(without_addresses, sizeof without_addresses - 1), 20);
}

static void test_reading_memory_timelines(void **state) {
    (void)state;
    static const char raw[] = "[[-1,0,4096,0],[1000,1,512,3],[2000,1,100,7],[2000,1,-100,7],[2000,2,-100,3],"
                              "[2000,2,100,1],[3000,3,-4000,0]]";
    static const char coalesced[] = "[[1,1,2,3],[[0,4096,0,0,0,0,0,0,0],[0,4096,0,0,512,0,0,0,0],"
                                    "[0,4096,100,0,412,0,0,0,0],[0,4000,0,0,0,0,0,0,-5]]]";
    fail_reading(literal(raw, sizeof raw - 1), 20);
    fail_reading(literal(coalesced, sizeof coalesced - 1), 20);
}

static void add_number(struct bytes *to, uint64_t value, unsigned nbytes) {
    for (unsigned i = 0; i < nbytes; i++)
        to->at[to->nbytes++] = (uint8_t)(value >> 8 * i);
}

/* A zip with one deflated member, as torch.save might write it. */
static struct bytes zipped(struct bytes plain) {
    static const char name[] = "archive/data.pkl";
    struct bytes gzip = gzipped(literal((char *)plain.at, plain.nbytes));
    const size_t n_packed = gzip.nbytes - 18; /* header and trailer of gzip */
    struct bytes zip = {malloc(gzip.nbytes + 100), 0};
    assert_non_null(zip.at);
    add_number(&zip, 0x04034b50, 4);
    add_number(&zip, 20, 2);
    add_number(&zip, 0, 2);
    add_number(&zip, 8, 2);
    add_number(&zip, 0, 4);
    add_number(&zip, crc32(0, plain.at, (unsigned)plain.nbytes), 4);
    add_number(&zip, n_packed, 4);
    add_number(&zip, plain.nbytes, 4);
    add_number(&zip, sizeof name - 1, 2);
    add_number(&zip, 0, 2);
    memcpy(zip.at + zip.nbytes, name, sizeof name - 1);
    memcpy(zip.at + zip.nbytes + sizeof name - 1, gzip.at + 10, n_packed);
    zip.nbytes += sizeof name - 1 + n_packed;
    free(gzip.at);
    free(plain.at);
    return zip;
}

static void test_reading_zips(void **state) {
    (void)state;
    fail_reading(zipped(literal(text_pickle, sizeof text_pickle - 1)), 20);
    fail_reading(gzipped(zipped(sample("two_devices.pickle"))), 50);
}

/* A page of _memory_viz.py. */
static struct bytes viz_page(struct bytes plain) {
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    static const char begin[] = "<!DOCTYPE html>\n<script>const local_files = [{\"base64\": \"",
                      end[] = "\"}]";
    struct bytes page = {malloc(plain.nbytes * 2 + 100), sizeof begin - 1};
    assert_non_null(page.at);
    memcpy(page.at, begin, page.nbytes);
    for (size_t i = 0; i < plain.nbytes; i += 3) {
        uint32_t bits = 0;
        for (size_t k = i; k < i + 3; k++)
            bits = bits << 8 | (k < plain.nbytes ? plain.at[k] : 0); /* bytes after STOP are ignored */
        for (int shift = 18; shift >= 0; shift -= 6)
            page.at[page.nbytes++] = (uint8_t)alphabet[bits >> shift & 63];
    }
    memcpy(page.at + page.nbytes, end, sizeof end - 1);
    page.nbytes += sizeof end - 1;
    free(plain.at);
    return page;
}

static void test_reading_memory_viz_pages(void **state) {
    (void)state;
    fail_reading(viz_page(literal(text_pickle, sizeof text_pickle - 1)), 20);
}

/* ---- outputs of a trace ---- */

static struct failing plenty = {.fail_at = -1};

static void sample_trace(struct trace *trace, const char *name) {
    struct bytes bytes = sample(name);
    assert_int_equal(read_trace(trace, host_of(&plenty), &bytes), DONE);
    free(bytes.at);
}

static void test_reading_our_own_pages(void **state) {
    (void)state;
    static const char *const names[] = {"one_event.pickle", "user_metadata_annotate.pickle"};
    const struct html_options options = {.file = "f", .fingerprint = "", .theme = "auto", .threads = 1};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct trace trace;
        struct buffer page = {0};
        sample_trace(&trace, names[i]);
        assert_int_equal(html_render(&page, &trace, arena_share(&trace.arena), &options, NULL), HTML_DONE);
        trace_release(&trace);
        fail_reading(literal((char *)page.bytes, page.nbytes), 30);
        buffer_release(&page);
    }
    assert_int_equal(plenty.nbytes, 0);
}

/* Raises the memory limit of a page or a picture until it suffices. Every limit is kept, and all memory is freed. */
static void limit_check(struct arena *memory, int (*render)(struct buffer *out, void *input), void *input,
                        int no_memory, size_t step) {
    const size_t before = memory->used_nbytes;
    unsigned n_refused = 0;
    for (int result = no_memory; result != 0; n_refused += result != 0) {
        struct buffer out = {.host = arena_share(memory)};
        memory->limit_nbytes = memory->used_nbytes + n_refused * step;
        memory->peak_nbytes = 0;
        memory->limit_hit = false;
        result = render(&out, input);
        assert_true(memory->peak_nbytes <= memory->limit_nbytes);
        assert_true(result == 0 || (result == no_memory && memory->limit_hit));
        buffer_release(&out);
        assert_int_equal(memory->used_nbytes, before); /* and nothing was added to the recording */
    }
    assert_true(n_refused > 5);
}

struct page_job {
    struct trace trace;
    uint64_t max_nbytes;
};

static int page_render(struct buffer *out, void *input) {
    struct page_job *job = input;
    const struct html_options options = {
        .file = "f", .fingerprint = "", .theme = "auto", .threads = 2, .max_nbytes = job->max_nbytes};
    return (int)html_render(out, &job->trace, arena_share(&job->trace.arena), &options, NULL);
}

static void page_check(uint64_t max_nbytes) {
    struct page_job job = {.max_nbytes = max_nbytes};
    sample_trace(&job.trace, "train.pickle");
    limit_check(&job.trace.arena, page_render, &job, HTML_NO_MEMORY, 16384);
    trace_release(&job.trace);
    assert_int_equal(plenty.nbytes, 0);
}

static void test_pages_within_a_limit(void **state) {
    (void)state;
    page_check(0);
}

static void test_smaller_pages_within_a_limit(void **state) {
    (void)state;
    struct page_job job = {0};
    struct buffer page = {0};
    sample_trace(&job.trace, "train.pickle");
    assert_int_equal(page_render(&page, &job), HTML_DONE);
    const uint64_t nbytes = page.nbytes;
    buffer_release(&page);
    trace_release(&job.trace);
    page_check(nbytes - 2000);
}

static const struct filter_query own_filter = {
    .filter = {.n_words = 1, .word = {{.kind = FILTER_OWN, .low = 1}}}, .text = "own:yes"};

static int picture_draw(struct buffer *out, void *input) {
    struct timeline *timeline = input;
    const struct chart_options options = {.file = "f",
                                          .fingerprint = "",
                                          .flags = "",
                                          .width = 400,
                                          .height = 300,
                                          .scale = 1,
                                          .color_by = COLOR_BY_CATEGORY,
                                          .filter = &own_filter,
                                          .legend_moment = UINT32_MAX};
    struct arena *memory = out->host.context;
    return (int)chart_png(out, timeline, &options, memory);
}

static void test_pictures_within_a_limit(void **state) {
    (void)state;
    struct trace trace;
    struct timeline timeline;
    struct arena arena;
    sample_trace(&trace, "train.pickle");
    arena_init(&arena, host_of(&plenty), SIZE_MAX);
    assert_true(timeline_init(&timeline, &trace, 0, &arena));
    limit_check(&arena, picture_draw, &timeline, CHART_NO_MEMORY, 4096);
    arena_release(&arena);
    trace_release(&trace);
    assert_int_equal(plenty.nbytes, 0);
}

static enum outcome timeline_task(struct arena_host host, const void *input) {
    struct timeline timeline;
    struct arena arena;
    arena_init(&arena, host, SIZE_MAX);
    bool done = timeline_init(&timeline, input, 0, &arena);
    arena_release(&arena);
    return done ? DONE : NO_MEMORY;
}

static const struct raster_style style = {.color_by = COLOR_BY_SITE, .reserved = true};

enum { WIDTH = 200, HEIGHT = 100 };

static struct view view_of(const struct timeline *timeline, enum axis axis) {
    struct view view = {.axis = axis,
                        .width = WIDTH,
                        .height = HEIGHT,
                        .top_bytes = timeline_headroom_in(timeline, 0, timeline->n_moments, 0)};
    view_fit(&view, timeline);
    return view;
}

/* Two windows, one after the other, and pictures of both. A scene that failed shows nothing and can be used for the
 * next.
 */
static enum outcome picture_task(struct arena_host host, const void *input) {
    static uint8_t rgba[WIDTH * HEIGHT * 4];
    const struct timeline *timeline = input;
    struct view view = view_of(timeline, AXIS_EVENTS);
    struct scene scene;
    struct raster raster;
    bool done = true;
    scene_init(&scene, timeline, host);
    raster_init(&raster, host);
    for (int i = 0; i < 2; i++) {
        bool built = scene_build(&scene, &view);
        if (!built)
            assert_int_equal(scene.n_bands, 0);
        done = built && raster_draw(&raster, &scene, &style, rgba) && done;
        view.to_q16 -= (view.to_q16 - view.from_q16) / 2;
    }
    raster_release(&raster);
    scene_release(&scene);
    return done ? DONE : NO_MEMORY;
}

static enum outcome groups_task(struct arena_host host, const void *input) {
    const struct timeline *timeline = input;
    struct group *groups;
    uint32_t n_groups;
    struct arena arena;
    arena_init(&arena, host, SIZE_MAX);
    bool done = groups_at(timeline, timeline->peak_moment, GROUP_BY_SITE, &arena, &groups, &n_groups) &&
                groups_at(timeline, timeline->peak_moment, GROUP_BY_STACK, &arena, &groups, &n_groups);
    arena_release(&arena);
    return done ? DONE : NO_MEMORY;
}

static void test_layout_and_raster(void **state) {
    static const char *const names[] = {"train.pickle", "streams.pickle", "expandable.pickle",
                                        "one_event.pickle"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct trace trace;
        struct timeline timeline;
        struct arena arena;
        sample_trace(&trace, names[i]);
        arena_init(&arena, host_of(&plenty), SIZE_MAX);
        assert_true(timeline_init(&timeline, &trace, 0, &arena));
        assert_true(fail_each(timeline_task, &trace) >= 5);
        assert_true(fail_each(picture_task, &timeline) >= 5);
        assert_true(fail_each(groups_task, &timeline) >= 1);
        arena_release(&arena);
        trace_release(&trace);
    }
    assert_int_equal(plenty.nbytes, 0);
}

/* ---- the payload ---- */

static enum outcome outcome_of(enum payload_error error) {
    return error == PAYLOAD_OK ? DONE : error == PAYLOAD_NO_MEMORY ? NO_MEMORY : WRONG;
}

static enum outcome pack_task(struct arena_host host, const void *input) {
    struct payload payload;
    struct arena arena;
    arena_init(&arena, host, SIZE_MAX);
    enum payload_error error = payload_pack(&payload, input, &arena);
    arena_release(&arena);
    return outcome_of(error);
}

static void pieces_inflate(const struct payload *payload) {
    for (uint32_t i = 0; i < payload->n_pieces; i++) {
        const struct payload_piece *piece = &payload->pieces[i];
        uLongf nbytes = piece->raw_nbytes;
        assert_int_equal(uncompress(piece->target, &nbytes, piece->packed, piece->packed_nbytes), Z_OK);
    }
}

static enum outcome unpack_task(struct arena_host host, const void *input) {
    const struct bytes *bytes = input;
    struct payload payload;
    struct trace trace;
    struct arena arena;
    arena_init(&arena, host, SIZE_MAX);
    enum payload_error error = trace_init(&trace, host, SIZE_MAX) ? PAYLOAD_OK : PAYLOAD_NO_MEMORY;
    if (error == PAYLOAD_OK)
        error = payload_open(&payload, bytes->at, bytes->nbytes, &arena);
    if (error == PAYLOAD_OK) {
        pieces_inflate(&payload);
        error = payload_unpack(&payload, &trace);
    }
    arena_release(&arena);
    trace_release(&trace);
    return outcome_of(error);
}

static struct bytes packed(const struct trace *trace) {
    struct payload payload;
    struct arena arena;
    arena_init(&arena, host_of(&plenty), SIZE_MAX);
    assert_int_equal(payload_pack(&payload, trace, &arena), PAYLOAD_OK);
    for (uint32_t i = 0; i < payload.n_pieces; i++) {
        struct payload_piece *piece = &payload.pieces[i];
        uLongf nbytes = compressBound(piece->raw_nbytes);
        uint8_t *to = arena_alloc(&arena, nbytes);
        assert_non_null(to);
        assert_int_equal(compress2(to, &nbytes, piece->raw, piece->raw_nbytes, 1), Z_OK);
        piece->packed = to;
        piece->packed_nbytes = (uint32_t)nbytes;
    }
    struct bytes bytes = {malloc((size_t)payload_nbytes(&payload)), (size_t)payload_nbytes(&payload)};
    assert_non_null(bytes.at);
    payload_assemble(&payload, bytes.at);
    arena_release(&arena);
    return bytes;
}

static void test_payload(void **state) {
    static const char *const names[] = {"two_devices.pickle", "oom.pickle", "one_event.pickle"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct trace trace;
        sample_trace(&trace, names[i]);
        assert_true(fail_each(pack_task, &trace) >= 5);
        struct bytes bytes = packed(&trace);
        assert_true(fail_each(unpack_task, &bytes) >= 30);
        free(bytes.at);
        trace_release(&trace);
    }
    assert_int_equal(plenty.nbytes, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reading_small_pickles),
        cmocka_unit_test(test_reading_samples),
        cmocka_unit_test(test_reading_gzip),
        cmocka_unit_test(test_reading_json_snapshots),
        cmocka_unit_test(test_reading_profiler_traces),
        cmocka_unit_test(test_reading_memory_timelines),
        cmocka_unit_test(test_reading_zips),
        cmocka_unit_test(test_reading_memory_viz_pages),
        cmocka_unit_test(test_reading_our_own_pages),
        cmocka_unit_test(test_pages_within_a_limit),
        cmocka_unit_test(test_smaller_pages_within_a_limit),
        cmocka_unit_test(test_pictures_within_a_limit),
        cmocka_unit_test(test_layout_and_raster),
        cmocka_unit_test(test_payload),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
