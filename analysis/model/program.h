/*
 * What a program requested from the allocator, in order: the recording without the allocator's own actions. A
 * replay and every what-if walk over the same list. Freestanding; read-only once made, so several threads may read
 * it.
 */
#pragma once

#include "analysis/model/releases.h"

enum program_kind {
    PROGRAM_ALLOCATE, /* of an allocation */
    PROGRAM_FREE,     /* the completion of a free */
    PROGRAM_WAIT,     /* a request to free that is completed later */
    PROGRAM_SEGMENT,  /* a segment event, by its index: not from the program, but in its order */
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
    /* For a changed program (changed_program in analysis/plan/edit.h); all NULL and 0 for a recorded one. */
    const uint64_t *size;    /* [allocations.count] in place of the recorded sizes */
    const uint32_t *copy_of; /* [n_copies] the allocation that each row from allocations.count on is like */
    uint32_t n_copies;
    const uint64_t *absent; /* bits of older allocations that are missing at the start */
};

/* The allocation that gives a row its pool and stream. */
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
