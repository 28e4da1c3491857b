/*
 * A trace for Perfetto (protos/perfetto/trace of its sources). The fields that are written:
 *
 *     Trace             1 packet
 *     TracePacket       8 timestamp (ns)  10 trusted_packet_sequence_id  11 track_event  60 track_descriptor
 *     TrackDescriptor   1 uuid  2 name  5 parent_uuid  8 counter  3 process
 *     ProcessDescriptor 1 pid  6 process_name
 *     CounterDescriptor 3 unit (3: bytes)
 *     TrackEvent        9 type (1 begin, 2 end, 3 instant, 4 counter)  11 track_uuid  23 name  30 counter_value
 *
 * Counters are absolute bytes. Times are the recording's own; where it has none, an event is a microsecond.
 */
#include "analysis/model/fragmentation.h"
#include "layout/phases.h"
#include "render/export/export_parts.h"
#include "render/export/protobuf.h"
#include "render/words/device.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { EVENT_BEGIN = 1, EVENT_END, EVENT_INSTANT, EVENT_COUNTER };

/* Tracks of a device, in the order of their numbers. */
enum {
    TRACK_PROCESS,
    TRACK_LIVE,
    TRACK_RESERVED,
    TRACK_LARGEST,
    TRACK_STEPS,
    TRACK_PHASES,
    TRACK_ANNOTATIONS,
    TRACK_OOM,
    TRACK_CATEGORY,
    TRACKS = TRACK_CATEGORY + CATEGORY_COUNT
};

struct perfetto {
    struct export_work *work;
    struct buffer packet, event, part;
    const struct export_device *device;
    uint64_t first_uuid;
    bool annotated; /* the annotations of the whole recording have been written */
};

static uint64_t uuid_of(const struct perfetto *to, uint32_t track) {
    return to->first_uuid + track;
}

static void packet_end(struct perfetto *to) {
    protobuf_u64(&to->packet, 10, 1);
    protobuf_part(to->work->out, 1, &to->packet);
}

/* ---- times ---- */

static uint64_t ns_of_us(int64_t us) {
    return us < 0 ? 0 : (uint64_t)us * 1000;
}

/* When a moment begins; the state before the first event begins a microsecond earlier. */
static uint64_t moment_ns(const struct export_device *device, uint32_t moment) {
    const int64_t *time_us = device->device->time_us;
    if (time_us == NULL || device->device->n_events == 0)
        return (uint64_t)moment * 1000;
    return ns_of_us(moment == 0 ? time_us[0] - 1 : time_us[moment - 1]);
}

/* ---- packets ---- */

static void event_add(struct perfetto *to, uint64_t ns, uint32_t track, uint32_t type, const char *name,
                      size_t nbytes) {
    protobuf_u64(&to->event, 9, type);
    protobuf_u64(&to->event, 11, uuid_of(to, track));
    if (name != NULL) {
        export_text_add(&to->part, (struct text){(const uint8_t *)name, (uint32_t)nbytes}, 0, 0);
        protobuf_part(&to->event, 23, &to->part);
    }
    protobuf_u64(&to->packet, 8, ns);
    protobuf_part(&to->packet, 11, &to->event);
    packet_end(to);
}

static void counter_add(struct perfetto *to, uint64_t ns, uint32_t track, uint64_t bytes) {
    protobuf_u64(&to->event, 9, EVENT_COUNTER);
    protobuf_u64(&to->event, 11, uuid_of(to, track));
    protobuf_u64(&to->event, 30, bytes);
    protobuf_u64(&to->packet, 8, ns);
    protobuf_part(&to->packet, 11, &to->event);
    packet_end(to);
}

static void track_add(struct perfetto *to, uint32_t track, const char *name, bool counter) {
    protobuf_u64(&to->event, 1, uuid_of(to, track));
    protobuf_bytes(&to->event, 2, name, strlen(name));
    if (track != TRACK_PROCESS)
        protobuf_u64(&to->event, 5, uuid_of(to, TRACK_PROCESS));
    if (counter) {
        protobuf_u64(&to->part, 3, 3);
        protobuf_part(&to->event, 8, &to->part);
    }
    protobuf_part(&to->packet, 60, &to->event);
    packet_end(to);
}

static void process_add(struct perfetto *to) {
    char name[64];
    snprintf(name, sizeof name, "%s memory", device_named("GPU", to->device->device->ordinal).text);
    protobuf_u64(&to->part, 1, (uint64_t)((int64_t)to->device->device->ordinal + 1000000000));
    protobuf_bytes(&to->part, 6, name, strlen(name));
    protobuf_u64(&to->event, 1, uuid_of(to, TRACK_PROCESS));
    protobuf_part(&to->event, 3, &to->part);
    protobuf_part(&to->packet, 60, &to->event);
    packet_end(to);
}

/* ---- counters ---- */

static void live_add(struct perfetto *to) {
    const struct export_range *range = &to->device->range;
    const uint64_t *live = export_shown(to->device)->live;
    track_add(to, TRACK_LIVE, "live", true);
    for (uint32_t m = range->from; m < range->until && !to->work->out->failed; m++)
        if (m == range->from || live[m] != live[m - 1])
            counter_add(to, moment_ns(to->device, m), TRACK_LIVE, live[m]);
}

static void reserved_add(struct perfetto *to) {
    const struct timeline *timeline = &to->device->timeline;
    const struct export_range *range = &to->device->range;
    track_add(to, TRACK_RESERVED, "reserved", true);
    counter_add(to, moment_ns(to->device, range->from), TRACK_RESERVED,
                timeline_reserved_at(timeline, range->from));
    for (uint32_t i = 0; i < timeline->n_reserved && !to->work->out->failed; i++)
        if (timeline->reserved_moment[i] > range->from && timeline->reserved_moment[i] < range->until)
            counter_add(to, moment_ns(to->device, timeline->reserved_moment[i]), TRACK_RESERVED,
                        timeline->reserved_bytes[i]);
}

/* Deaths by moment: lists of allocations. */
struct deaths {
    uint32_t *first, *next; /* [moments], [allocations]: an allocation plus 1; 0: the list ends */
};

static bool deaths_find(struct deaths *deaths, const struct export_device *device) {
    const struct allocations *allocations = &device->device->allocations;
    uint64_t n_moments = (uint64_t)device->timeline.n_moments + 1;
    deaths->first = arena_zeros(device->arena, n_moments, sizeof *deaths->first);
    deaths->next = arena_column(device->arena, (uint64_t)allocations->count + 1, sizeof *deaths->next);
    if (deaths->first == NULL || deaths->next == NULL)
        return false;
    for (uint32_t i = 0; i < allocations->count; i++) {
        uint32_t death = allocations->death[i];
        deaths->next[i] = deaths->first[death];
        deaths->first[death] = i + 1;
    }
    return true;
}

struct categories {
    uint64_t bytes[CATEGORY_COUNT];
    uint32_t used, changed; /* bits of the categories that have a track; of those that must be written */
};

static void category_change(struct categories *categories, const struct export_device *device,
                            uint32_t allocation, bool comes) {
    uint32_t category = device->verdicts.category[allocation];
    uint64_t bytes = device->device->allocations.size[allocation];
    if (!filter_keeps(device->selection.keep, allocation))
        return;
    categories->bytes[category] += comes ? bytes : -bytes;
    categories->changed |= 1U << category;
}

static void categories_tell(struct perfetto *to, struct categories *categories, uint32_t moment) {
    for (uint32_t i = 0; i < CATEGORY_COUNT; i++)
        if ((categories->changed & categories->used) >> i & 1)
            counter_add(to, moment_ns(to->device, moment), TRACK_CATEGORY + i, categories->bytes[i]);
    categories->changed = 0;
}

/* Finds the categories that need a track because they occur in the range. Others may come and go before it. */
static uint32_t category_tracks(struct perfetto *to) {
    const struct allocations *allocations = &to->device->device->allocations;
    uint32_t used = 0;
    for (uint32_t i = 0; i < allocations->count; i++)
        if (export_keeps(to->device, i))
            used |= 1U << to->device->verdicts.category[i];
    for (uint32_t i = 0; i < CATEGORY_COUNT; i++)
        if (used >> i & 1)
            track_add(to, TRACK_CATEGORY + i, category_label[i].name, true);
    return used;
}

static bool categories_add(struct perfetto *to) {
    const struct export_device *device = to->device;
    const struct allocations *allocations = &device->device->allocations;
    struct deaths deaths;
    struct categories categories = {0};
    uint32_t born = 0;
    if (!deaths_find(&deaths, device))
        return false;
    categories.used = category_tracks(to);
    for (uint32_t m = 0; m < device->range.until && !to->work->out->failed; m++) {
        for (uint32_t i = deaths.first[m]; i != 0; i = deaths.next[i - 1])
            category_change(&categories, device, i - 1, false);
        for (; born < allocations->count && allocations->birth[born] <= m; born++)
            category_change(&categories, device, born, true);
        if (m >= device->range.from)
            categories_tell(to, &categories, m);
    }
    return true;
}

/* ---- the largest free block ---- */

/* Writes the largest free block at every change, as the replay follows it. */
static void largest_of_replay(struct perfetto *to, const struct replay *replay) {
    const struct export_device *device = to->device;
    for (uint32_t i = 0; i < replay->n_largest && !to->work->out->failed; i++) {
        uint32_t moment = replay->largest[i].moment;
        bool last_before = i + 1 == replay->n_largest || replay->largest[i + 1].moment > device->range.from;
        if (moment < device->range.until && last_before)
            counter_add(to, moment_ns(device, moment < device->range.from ? device->range.from : moment),
                        TRACK_LARGEST, replay->largest[i].bytes);
    }
}

static bool largest_at(struct perfetto *to, const struct segments *segments, uint32_t moment) {
    struct held held = {.n_blocks = 0};
    struct arena scratch;
    uint64_t largest = 0;
    arena_init(&scratch, arena_share(to->device->arena), SIZE_MAX);
    bool done = fragmentation_state(&held, &to->device->timeline, segments, NULL, moment, &scratch);
    for (uint32_t i = 0; i < held.n_blocks; i++)
        if (held.block[i].allocation == ALLOCATION_NONE && held.block[i].size > largest)
            largest = held.block[i].size;
    if (done)
        counter_add(to, moment_ns(to->device, moment), TRACK_LARGEST, largest);
    arena_release(&scratch);
    return done;
}

/* Writes the largest free block at some moments of the curve, from the gaps between known blocks. Each moment costs as
 * much as is alive then. */
static bool largest_of_segments(struct perfetto *to) {
    enum { WORK = 1 << 24, POINTS_LEAST = 16, POINTS_MOST = 512 };
    const struct export_device *device = to->device;
    uint32_t *moments, count, wanted = WORK / (device->timeline.live_at_peak + 1);
    struct segments segments;
    if (!segments_init(&segments, device->device, device->arena) ||
        !export_curve_find(device, &moments, &count))
        return false;
    wanted = wanted < POINTS_LEAST ? POINTS_LEAST : wanted > POINTS_MOST ? POINTS_MOST : wanted;
    uint32_t stride = count / wanted + 1;
    for (uint32_t i = 0; i < count && !to->work->out->failed; i += stride)
        if (!largest_at(to, &segments, moments[i]))
            return false;
    return true;
}

/* Does the device have blocks with addresses in segments? */
static bool largest_is_told(const struct export_device *device) {
    return segments_refusal(device->trace, device->device) == NULL &&
           device->device->allocations.count != 0 && device->timeline.reserved_peak != 0;
}

static bool largest_add(struct perfetto *to) {
    const struct export_device *device = to->device;
    struct replay replay;
    enum replay_progress progress = REPLAY_GOES_ON;
    if (!largest_is_told(device))
        return true;
    struct replay_work *work = replay_begin(&replay, device->trace, device->device, device->arena);
    if (work == NULL)
        return false;
    while (progress == REPLAY_GOES_ON)
        progress = replay_go_on(work, 1 << 20);
    if (progress == REPLAY_NO_MEMORY)
        return false;
    track_add(to, TRACK_LARGEST, "largest free block", true);
    if (replay.largest == NULL || replay.n_largest == 0)
        return largest_of_segments(to);
    largest_of_replay(to, &replay);
    return true;
}

/* ---- slices ---- */

static void span_add(struct perfetto *to, const struct span *span, uint32_t track, const char *name) {
    const struct export_range *range = &to->device->range;
    if (span->to_moment < range->from || span->from_moment >= range->until)
        return;
    event_add(to, moment_ns(to->device, span->from_moment), track, EVENT_BEGIN, name, strlen(name));
    event_add(to, moment_ns(to->device, span->to_moment), track, EVENT_END, NULL, 0);
}

static void steps_add(struct perfetto *to) {
    const struct verdicts *verdicts = &to->device->verdicts;
    if (verdicts->steps.count == 0)
        return;
    track_add(to, TRACK_STEPS, "steps", false);
    for (uint32_t i = 0; i < verdicts->steps.count; i++) {
        char name[40];
        snprintf(name, sizeof name, "step %" PRId64,
                 turns_number(&verdicts->turns, verdicts->steps.span[i].step));
        span_add(to, &verdicts->steps.span[i], TRACK_STEPS, name);
    }
}

static void phases_add(struct perfetto *to) {
    const struct spans *phases = &to->device->verdicts.phases;
    if (phases->count == 0)
        return;
    track_add(to, TRACK_PHASES, "phases", false);
    for (uint32_t i = 0; i < phases->count; i++)
        if (phases->span[i].kind != SPAN_ANNOTATION)
            span_add(to, &phases->span[i], TRACK_PHASES, span_kind_name[phases->span[i].kind]);
}

/* Ends the open annotations that end at or before `us`. */
static void annotations_close(struct perfetto *to, int64_t *open, uint32_t *n_open, int64_t us) {
    while (*n_open > 0 && open[*n_open - 1] <= us)
        event_add(to, ns_of_us(to->device->timeline.first_us + open[--*n_open]), TRACK_ANNOTATIONS, EVENT_END,
                  NULL, 0);
}

static bool annotations_add(struct perfetto *to) {
    struct timeline whole = to->device->timeline, *timeline = &whole;
    struct phases phases;
    /* annotations outside of the device's events are written once, not for each of a thousand devices */
    if (!to->annotated)
        whole.trace = to->device->trace;
    to->annotated = true;
    int64_t open[PHASE_OPEN_MAX];
    uint32_t n_open = 0;
    if (!phases_find(timeline, to->device->arena, &phases))
        return false;
    if (phases.count == 0)
        return true;
    track_add(to, TRACK_ANNOTATIONS, "annotations", false);
    for (uint32_t i = 0; i < phases.count; i++) {
        const struct phase *phase = &phases.phase[i];
        int64_t end = phase->end_us == INT64_MAX ? timeline->end_us : phase->end_us;
        annotations_close(to, open, &n_open, phase->start_us);
        if (n_open == PHASE_OPEN_MAX)
            continue;
        struct text name = trace_text(to->device->trace, phase->name);
        event_add(to, ns_of_us(timeline->first_us + phase->start_us), TRACK_ANNOTATIONS, EVENT_BEGIN,
                  (const char *)name.at, name.nbytes);
        open[n_open] = n_open > 0 && open[n_open - 1] < end ? open[n_open - 1] : end;
        n_open++;
    }
    annotations_close(to, open, &n_open, INT64_MAX);
    return true;
}

static void ooms_add(struct perfetto *to) {
    const struct device_trace *device = to->device->device;
    if (device->n_ooms == 0)
        return;
    track_add(to, TRACK_OOM, "out of memory", false);
    for (uint32_t i = 0; i < device->n_ooms; i++) {
        char name[64];
        snprintf(name, sizeof name, "out of memory: %" PRIu64 " bytes requested", device->ooms[i].size);
        event_add(to, moment_ns(to->device, device->ooms[i].event + 1), TRACK_OOM, EVENT_INSTANT, name,
                  strlen(name));
    }
}

static bool perfetto_write(void *context, struct export_device *device) {
    struct perfetto *to = context;
    to->device = device;
    process_add(to);
    live_add(to);
    reserved_add(to);
    bool done = categories_add(to) && largest_add(to) && annotations_add(to);
    steps_add(to);
    phases_add(to);
    ooms_add(to);
    to->first_uuid += TRACKS;
    return done;
}

bool export_perfetto(struct export_work *work) {
    struct arena_host host = arena_share(work->scratch);
    struct perfetto to = {.work = work,
                          .packet = {.host = host},
                          .event = {.host = host},
                          .part = {.host = host},
                          .first_uuid = 1000};
    bool done = export_each_device(work, perfetto_write, &to);
    buffer_release(&to.packet);
    buffer_release(&to.event);
    buffer_release(&to.part);
    return done;
}
