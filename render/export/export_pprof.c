/*
 * pprof's profile.proto (github.com/google/pprof), packed by gzip. The fields that are written:
 *
 *     Profile   1 sample_type  2 sample  4 location  5 function  6 string_table  14 default_sample_type
 *     ValueType 1 type  2 unit
 *     Sample    1 location_id (innermost first)  2 value  3 label
 *     Label     1 key  2 str  3 num
 *     Location  1 id  4 line          Line  1 function_id  2 line
 *     Function  1 id  2 name  3 system_name  4 filename
 *
 * Samples come first and strings last, so that a recording's frames are written as they are met.
 */
#include "render/export/export_parts.h"
#include "render/export/protobuf.h"

#include <string.h>
#include <zlib.h>

enum { PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLE, PROFILE_LOCATION = 4, PROFILE_FUNCTION, PROFILE_STRING };
enum { PROFILE_DEFAULT_SAMPLE_TYPE = 14 };

/* The string table begins with strings of ours and the categories; file and function of each frame follow as it is
 * met. */
static const char *const words[] = {"",       "inuse_space",  "bytes",         "inuse_objects",
                                    "count",  "alloc_space",  "alloc_objects", "category",
                                    "device", EXPORT_OF_FREE, EXPORT_NO_STACK, EXPORT_MORE_FRAMES};
enum {
    WORD_INUSE_SPACE = 1,
    WORD_BYTES,
    WORD_INUSE_OBJECTS,
    WORD_COUNT,
    WORD_ALLOC_SPACE,
    WORD_ALLOC_OBJECTS,
    WORD_CATEGORY,
    WORD_DEVICE,
    WORD_OF_FREE,
    WORD_NO_STACK,
    WORD_MORE,
    WORDS,
    FIRST_FRAME_STRING = WORDS + CATEGORY_COUNT
};

/* Locations 1 to 3 have the last three words as names; the frames' locations follow. */
enum { LOCATION_OF_FREE = 1, LOCATION_NO_STACK, LOCATION_MORE, LOCATIONS_MADE = 3 };

struct pprof {
    struct buffer out; /* the message: deflated into the file as it comes */
    struct buffer part, inner;
    struct export_work *work;
    struct export_met met; /* a frame's number there is its location less LOCATIONS_MADE */
    z_stream zip;
};

static bool zip_take(void *context, const void *bytes, size_t nbytes) {
    struct pprof *to = context;
    uint8_t room[16384];
    to->zip.next_in = (Bytef *)(uintptr_t)bytes;
    to->zip.avail_in = (uInt)nbytes; /* blocks of a buffer are small, and texts below 4 GiB */
    do {
        to->zip.next_out = room;
        to->zip.avail_out = sizeof room;
        deflate(&to->zip, nbytes == 0 ? Z_FINISH : Z_NO_FLUSH);
        buffer_add(to->work->out, room, sizeof room - to->zip.avail_out);
    } while (to->zip.avail_out == 0);
    return !to->work->out->failed;
}

static bool location_add(struct pprof *to, uint32_t frame) {
    uint32_t number = export_met_number(&to->met, frame, to->work);
    protobuf_u64(&to->part, 1, LOCATIONS_MADE + number);
    return number != 0;
}

static void label_add(struct pprof *to, uint32_t key, uint32_t field, uint64_t value) {
    protobuf_u64(&to->inner, 1, key);
    protobuf_u64(&to->inner, field, value);
    protobuf_part(&to->part, 3, &to->inner);
}

static bool sample_add(struct pprof *to, const struct export_device *device, const struct export_sum *sum,
                       const struct export_frames *frames) {
    const uint64_t values[] = {sum->live_bytes, sum->live_count, sum->allocated_bytes, sum->allocated_count};
    bool done = true;
    for (uint32_t i = frames->count; i-- > 0 && done;)
        done = location_add(to, frames->frame[i]);
    if (frames->cut)
        protobuf_u64(&to->part, 1, LOCATION_MORE);
    if (sum->of_free || frames->count == 0)
        protobuf_u64(&to->part, 1, sum->of_free ? LOCATION_OF_FREE : LOCATION_NO_STACK);
    for (uint32_t i = 0; i < 4; i++)
        protobuf_u64(&to->part, 2, values[i]);
    label_add(to, WORD_CATEGORY, 2, (uint64_t)WORDS + sum->category);
    label_add(to, WORD_DEVICE, 3, (uint64_t)(int64_t)device->device->ordinal);
    protobuf_part(&to->out, PROFILE_SAMPLE, &to->part);
    return done;
}

static bool pprof_write(void *context, struct export_device *device) {
    struct pprof *to = context;
    struct export_sums sums;
    struct export_frames frames = {0};
    if (!export_sums_find(&sums, device))
        return false;
    for (uint32_t i = 0; i < sums.count; i++)
        if (!export_frames_find(&frames, device->trace, sums.sum[i].stack, device->arena) ||
            !sample_add(to, device, &sums.sum[i], &frames))
            return false;
    return true;
}

static void type_add(struct pprof *to, uint32_t type, uint32_t unit) {
    protobuf_u64(&to->part, 1, type);
    protobuf_u64(&to->part, 2, unit);
    protobuf_part(&to->out, PROFILE_SAMPLE_TYPE, &to->part);
}

static void place_add(struct pprof *to, uint32_t id, uint64_t name, uint64_t file, uint32_t line) {
    protobuf_u64(&to->inner, 1, id);
    protobuf_u64(&to->inner, 2, line);
    protobuf_u64(&to->part, 1, id);
    protobuf_part(&to->part, 4, &to->inner);
    protobuf_part(&to->out, PROFILE_LOCATION, &to->part);
    protobuf_u64(&to->part, 1, id);
    protobuf_u64(&to->part, 2, name);
    protobuf_u64(&to->part, 3, name);
    protobuf_u64(&to->part, 4, file);
    protobuf_part(&to->out, PROFILE_FUNCTION, &to->part);
}

static void text_add(struct pprof *to, struct text text) {
    export_text_add(&to->part, text, 0, 0);
    protobuf_part(&to->out, PROFILE_STRING, &to->part);
}

static void word_add(struct pprof *to, const char *word) {
    protobuf_bytes(&to->out, PROFILE_STRING, word, strlen(word));
}

static void tables_add(struct pprof *to) {
    for (uint32_t i = 1; i <= LOCATIONS_MADE; i++)
        place_add(to, i, WORD_OF_FREE + i - 1, 0, 0);
    for (uint32_t i = 0; i < to->met.count; i++) {
        uint64_t name = FIRST_FRAME_STRING + 2 * (uint64_t)i;
        place_add(to, LOCATIONS_MADE + i + 1, name, name + 1,
                  export_place_of(to->work->trace, to->met.frame[i]).line);
    }
    for (uint32_t i = 0; i < WORDS; i++)
        word_add(to, words[i]);
    for (uint32_t i = 0; i < CATEGORY_COUNT; i++)
        word_add(to, category_label[i].name);
    for (uint32_t i = 0; i < to->met.count; i++) {
        struct place place = export_place_of(to->work->trace, to->met.frame[i]);
        text_add(to, place.name);
        text_add(to, place.file);
    }
}

static bool profile_add(struct pprof *to) {
    type_add(to, WORD_INUSE_SPACE, WORD_BYTES);
    type_add(to, WORD_INUSE_OBJECTS, WORD_COUNT);
    type_add(to, WORD_ALLOC_SPACE, WORD_BYTES);
    type_add(to, WORD_ALLOC_OBJECTS, WORD_COUNT);
    protobuf_u64(&to->out, PROFILE_DEFAULT_SAMPLE_TYPE,
                 to->work->options->allocated ? WORD_ALLOC_SPACE : WORD_INUSE_SPACE);
    if (!export_each_device(to->work, pprof_write, to))
        return false;
    tables_add(to);
    return buffer_flush(&to->out) && zip_take(to, NULL, 0);
}

bool export_pprof(struct export_work *work) {
    struct arena_host host = arena_share(work->scratch);
    struct pprof to = {.work = work, .part = {.host = host}, .inner = {.host = host}};
    to.out = (struct buffer){.host = host, .sink = {zip_take, &to}};
    if (!export_met_init(&to.met, work) ||
        deflateInit2(&to.zip, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return false;
    bool done = profile_add(&to);
    deflateEnd(&to.zip);
    buffer_release(&to.out);
    buffer_release(&to.part);
    buffer_release(&to.inner);
    return done;
}
