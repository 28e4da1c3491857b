/*
 * What a program asked of the allocator, in order, as far as it decides what happens: the recording without the
 * allocator's own doings. A replay and every what-if walk the same list. Freestanding; read-only once it is made, so
 * that several threads can.
 */
#pragma once

#include "analysis/model/releases.h"

enum program_kind {
    PROGRAM_ALLOCATE, /* of an allocation */
    PROGRAM_FREE,     /* its completion */
    PROGRAM_WAIT,     /* a request to free that is completed later */
    PROGRAM_SEGMENT,  /* a segment event, by its index: not the program's own, but in its order */
    PROGRAM_OOM,      /* an out-of-memory event, by its index */
};

enum { PROGRAM_KIND_BITS = 3 };

struct program {
    const struct trace *trace;
    const struct device_trace *device;
    uint32_t *op; /* kind | index << PROGRAM_KIND_BITS; in the arena */
    uint32_t n_ops;
    uint64_t n_allocations;
    struct releases releases;
    /* Of a program that was changed (analysis/plan/changed.h); all NULL and 0 of a recorded one. */
    const uint64_t *size;    /* [allocations.count] instead of the recorded sizes */
    const uint32_t *copy_of; /* [n_copies] allocations that rows from allocations.count on are like */
    uint32_t n_copies;
    const uint64_t *absent; /* bits of allocations older than the recording that are not there at its begin */
};

/* The allocation whose pool and stream a row has. */
static inline uint32_t program_source(const struct program *program, uint32_t row) {
    uint32_t count = program->device->allocations.count;
    return row < count ? row : program->copy_of[row - count];
}

static inline uint64_t program_size(const struct program *program, uint32_t row) {
    uint32_t source = program_source(program, row);
    return program->size != NULL ? program->size[source] : program->device->allocations.size[source];
}

static inline enum program_kind program_kind(uint32_t op) {
    return (enum program_kind)(op & ((1u << PROGRAM_KIND_BITS) - 1));
}

static inline uint32_t program_index(uint32_t op) {
    return op >> PROGRAM_KIND_BITS;
}

/* The moment after an operation; UINT32_MAX: it changes neither blocks nor segments by itself. */
static inline uint32_t program_moment(const struct program *program, uint32_t op) {
    uint32_t index = program_index(op);
    switch (program_kind(op)) {
    case PROGRAM_ALLOCATE: return program->device->allocations.birth[index];
    case PROGRAM_FREE: return program->device->allocations.death[index];
    case PROGRAM_SEGMENT: return program->device->segment_events[index].event + 1;
    case PROGRAM_OOM: return program->device->ooms[index].event + 1;
    case PROGRAM_WAIT: break;
    }
    return UINT32_MAX;
}

/* O(events + allocations). False: no memory, or more than 2^29 allocations. */
bool program_init(struct program *program, const struct trace *trace, const struct device_trace *device,
                  struct arena *arena);
