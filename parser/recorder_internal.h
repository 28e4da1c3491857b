/* Shared by the files of the recorder: its allocations in the making. */
#pragma once

#include "parser/recorder.h"

/* The top bit of references in the open map: the allocation is older than the recording. */
#define BEFORE (UINT32_C(1) << 31)

/* DO(name) for every column that a recorder fills, so that one line of code handles columns of all types. */
#define ALLOCATIONS_EACH_COLUMN(DO) \
    DO(birth) DO(death) DO(request) DO(size) DO(address) DO(stack) DO(context) DO(stream) DO(pool) DO(flags)

struct allocation_row {
    uint32_t birth, death, request, stack, context;
    uint64_t size, address;
    uint16_t stream, pool;
    uint8_t flags;
};

enum { FOREVER = UINT32_MAX }; /* death and request while the end is unknown */

bool allocations_reserve(struct arena *arena, struct allocations_builder *builder, uint64_t count);

void allocations_drop(struct arena *arena, struct allocations_builder *builder);

bool allocations_add(struct arena *arena, struct allocations_builder *builder,
                     const struct allocation_row *row);

/* The builder that a reference belongs to. */
struct allocations *allocations_of(struct recorder *recorder, uint32_t reference);

struct arena *recorder_arena(struct recorder *recorder);
