/*
 * Small recordings, made allocation by allocation, for tests of computations on them.
 *
 *     struct recording *recording = recording_open();
 *     uint32_t stack = recording_stack(recording, 0, "/home/u/train.py", "step");
 *     recording_allocation(recording, 1, STAYS, 512, stack);        in order of birth
 *     struct timeline *timeline = recording_settle(recording, 100);
 *     ...
 *     recording_close(recording);
 *
 * A test that needs more rows defines RECORDING_ALLOCATIONS and its like before it includes this. Events are ten microseconds
 * apart, unless the test fills `time_us` and lets `device.time_us` point to it before recording_settle.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "layout/timeline.h"
#include "memory_host.h"

#include <stdlib.h>
#include <string.h>

#ifndef RECORDING_ALLOCATIONS
#define RECORDING_ALLOCATIONS 512
#endif
#ifndef RECORDING_EVENTS
#define RECORDING_EVENTS 1024
#endif
#ifndef RECORDING_ANNOTATIONS
#define RECORDING_ANNOTATIONS 64
#endif
enum { RECORDING_SEGMENTS = 16, RECORDING_BLOCKS = 64 };
#define STAYS UINT32_MAX /* a death: still live at the end */

struct recording {
    struct trace trace;
    struct device_trace device;
    struct arena arena; /* of the timeline, and for the test's own use */
    struct timeline timeline;
    uint32_t birth[RECORDING_ALLOCATIONS], death[RECORDING_ALLOCATIONS], request[RECORDING_ALLOCATIONS],
        stack[RECORDING_ALLOCATIONS], context[RECORDING_ALLOCATIONS];
    uint64_t size[RECORDING_ALLOCATIONS], address[RECORDING_ALLOCATIONS], streams[4];
    uint16_t stream[RECORDING_ALLOCATIONS], pool[RECORDING_ALLOCATIONS];
    uint8_t flags[RECORDING_ALLOCATIONS];
    int64_t time_us[RECORDING_EVENTS];
    struct pool_id pools[4];
    struct annotation annotations[RECORDING_ANNOTATIONS];
    struct segment segments[RECORDING_SEGMENTS];
    struct block blocks[RECORDING_BLOCKS];
    struct segment_event segment_events[RECORDING_SEGMENTS];
    struct oom_event ooms[4];
};

static inline struct recording *recording_open(void) {
    struct recording *recording = calloc(1, sizeof *recording);
    assert_non_null(recording);
    assert_true(trace_init(&recording->trace, plain_host, SIZE_MAX));
    arena_init(&recording->arena, plain_host, SIZE_MAX);
    struct device_trace *device = &recording->device;
    recording->trace.devices = device;
    recording->trace.n_devices = 1;
    recording->trace.annotations = recording->annotations;
    *device = (struct device_trace){.pools = recording->pools,
                                    .n_pools = 2,
                                    .streams = recording->streams,
                                    .n_streams = 1,
                                    .segments = recording->segments,
                                    .blocks = recording->blocks,
                                    .segment_events = recording->segment_events,
                                    .ooms = recording->ooms};
    device->allocations = (struct allocations){.birth = recording->birth,
                                               .death = recording->death,
                                               .request = recording->request,
                                               .size = recording->size,
                                               .address = recording->address,
                                               .stack = recording->stack,
                                               .context = recording->context,
                                               .stream = recording->stream,
                                               .pool = recording->pool,
                                               .flags = recording->flags};
    return recording;
}

static inline void recording_close(struct recording *recording) {
    arena_release(&recording->arena);
    trace_release(&recording->trace);
    free(recording);
}

static inline uint32_t recording_text(struct recording *recording, const char *text) {
    return trace_string_add(&recording->trace, text, strlen(text));
}

/* A stack: `caller` (0: none) with one more frame inside of it. */
static inline uint32_t recording_stack(struct recording *recording, uint32_t caller, const char *file,
                                       const char *name) {
    struct trace *trace = &recording->trace;
    struct frame frame = {recording_text(recording, file), recording_text(recording, name),
                          trace->frames.count, 0};
    assert_true(ARENA_GROW(&trace->arena, trace->frames.frame, trace->frames.capacity,
                           (uint64_t)trace->frames.count + 1));
    trace->frames.frame[trace->frames.count] = frame;
    assert_true(stack_table_add(&trace->stacks, &trace->arena, caller, trace->frames.count++));
    return trace->stacks.count - 1;
}

/* A stack of one frame, at a line of a file. */
static inline uint32_t recording_site(struct recording *recording, const char *file, const char *name,
                                      uint32_t line) {
    uint32_t stack = recording_stack(recording, 0, file, name);
    recording->trace.frames.frame[recording->trace.stacks.frame[stack]].line = line;
    return stack;
}

/* A context that names a category, as a profiler does. */
static inline uint32_t recording_context(struct recording *recording, const char *category) {
    struct trace *trace = &recording->trace;
    assert_true(ARENA_GROW(&trace->arena, trace->contexts.context, trace->contexts.capacity,
                           (uint64_t)trace->contexts.count + 1));
    trace->contexts.context[trace->contexts.count] =
        (struct context){.category = recording_text(recording, category)};
    return trace->contexts.count++;
}

/* An allocation, in order of birth. Returns its id. */
static inline uint32_t recording_allocation(struct recording *recording, uint32_t birth, uint32_t death,
                                            uint64_t size, uint32_t stack) {
    struct allocations *allocations = &recording->device.allocations;
    uint32_t id = allocations->count++;
    assert_true(id < RECORDING_ALLOCATIONS && (id == 0 || birth >= recording->birth[id - 1]));
    recording->birth[id] = birth;
    recording->death[id] = recording->request[id] = death;
    recording->size[id] = size;
    recording->stack[id] = stack;
    recording->pool[id] = 1;
    allocations->preexisting += birth == 0;
    return id;
}

/* An allocation with an address and without a stack. */
static inline uint32_t recording_allocation_at(struct recording *recording, uint32_t birth, uint32_t death,
                                               uint64_t size, uint64_t address) {
    uint32_t id = recording_allocation(recording, birth, death, size, 0);
    recording->address[id] = address;
    return id;
}

/* Adds an annotation at a time that the test chooses. */
static inline void recording_annotation_at(struct recording *recording, int64_t time_us, const char *name,
                                           enum annotation_stage stage) {
    struct trace *trace = &recording->trace;
    assert_true(trace->n_annotations < RECORDING_ANNOTATIONS);
    recording->annotations[trace->n_annotations++] =
        (struct annotation){time_us, recording_text(recording, name), 0, (uint8_t)stage};
}

/* The time of an event if the test sets no times. */
static inline int64_t recording_time_us(uint32_t event) {
    return 1000000 + (int64_t)event * 10;
}

/* Adds an annotation at the time that recording_settle gives to an event. */
static inline void recording_annotation(struct recording *recording, uint32_t event, const char *name,
                                        enum annotation_stage stage) {
    recording_annotation_at(recording, recording_time_us(event), name, stage);
}

/* A segment with blocks of the given sizes: positive ones are in use, negative ones free. 0 ends the list. */
static inline void recording_segment(struct recording *recording, uint64_t address, uint8_t flags,
                                     uint16_t pool, const int64_t *blocks) {
    struct device_trace *device = &recording->device;
    struct segment segment = {
        .address = address, .pool = pool, .flags = flags, .first_block = device->n_blocks};
    for (; *blocks != 0; blocks++) {
        uint64_t size = (uint64_t)(*blocks < 0 ? -*blocks : *blocks);
        assert_true(device->n_blocks < RECORDING_BLOCKS);
        recording->blocks[device->n_blocks++] =
            (struct block){.address = address + segment.total_size,
                           .size = size,
                           .requested_size = *blocks < 0 ? 0 : size,
                           .state = *blocks < 0 ? BLOCK_INACTIVE : BLOCK_ALLOCATED};
        segment.total_size += size;
        segment.block_count++;
    }
    assert_true(device->n_segments < RECORDING_SEGMENTS);
    recording->segments[device->n_segments++] = segment;
}

/* Sets the times of events if the test does not. */
static inline void recording_time_events(struct recording *recording, uint32_t n_events) {
    for (uint32_t i = 0; i < n_events; i++)
        recording->time_us[i] = recording_time_us(i);
    recording->device.time_us = recording->time_us;
}

/* Ends a recording of n_events and builds its timeline. */
static inline struct timeline *recording_settle(struct recording *recording, uint32_t n_events) {
    struct device_trace *device = &recording->device;
    assert_true(n_events <= RECORDING_EVENTS);
    device->n_events = n_events;
    if (device->time_us == NULL)
        recording_time_events(recording, n_events);
    for (uint32_t i = 0; i < device->allocations.count; i++) {
        bool requested = recording->request[i] != recording->death[i];
        recording->death[i] = recording->death[i] == STAYS ? n_events + 1 : recording->death[i];
        recording->request[i] = requested ? recording->request[i] : recording->death[i];
    }
    assert_true(timeline_init(&recording->timeline, &recording->trace, 0, &recording->arena));
    return &recording->timeline;
}
