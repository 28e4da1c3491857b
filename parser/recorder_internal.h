/* Shared by the files of the recorder: its allocations while they are made. */
#pragma once

#include "parser/recorder.h"

/* References in the open map: allocations older than the recording are told apart by the top bit. */
#define BEFORE (UINT32_C(1) << 31)

enum { NOT_FOUND = UINT32_MAX };

/* DO(name) for every column that a recorder fills: what is done to all of them keeps the type of each. */
#define ALLOCATIONS_EACH_COLUMN(DO) \
    DO(birth) DO(death) DO(request) DO(size) DO(address) DO(stack) DO(context) DO(stream) DO(pool) DO(flags)

struct allocation_row {
    uint32_t birth, death, request, stack, context;
    uint64_t size, address;
    uint16_t stream, pool;
    uint8_t flags;
};

enum { FOREVER = UINT32_MAX }; /* death and request until the end is known */

/* The slot of an address, or NOT_FOUND. */
uint32_t recorder_map_slot(const struct address_map *map, uint64_t address);

bool allocations_reserve(struct arena *arena, struct allocations_builder *builder, uint64_t count);

void allocations_drop(struct arena *arena, struct allocations_builder *builder);

bool allocations_add(struct arena *arena, struct allocations_builder *builder,
                     const struct allocation_row *row);

/* Of the builder that the reference tells. */
struct allocations *allocations_of(struct recorder *recorder, uint32_t reference);

struct arena *recorder_arena(struct recorder *recorder);

void recorder_map_remove(struct address_map *map, uint32_t hole);
