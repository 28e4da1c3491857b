/* What the files of the recorder share: its lives while they are made. */
#ifndef STRATA_PARSER_RECORDER_INTERNAL_H
#define STRATA_PARSER_RECORDER_INTERNAL_H

#include "parser/recorder.h"

#include <stddef.h>

/* References in the open map: lives older than the recording are told apart by the top bit. */
#define BEFORE (UINT32_C(1) << 31)

enum { NOT_FOUND = UINT32_MAX };

enum { LIVES_COLUMNS = 10 };

/* A column: where its pointer is in struct lives, and the size of an item. */
struct lives_column {
    size_t offset, item_nbytes;
};
extern const struct lives_column lives_columns[LIVES_COLUMNS];

struct life_row {
    uint32_t birth, death, request, stack, context;
    uint64_t size, address;
    uint16_t stream, pool;
    uint8_t flags;
};

enum { FOREVER = UINT32_MAX }; /* death and request until the end is known */

/* The slot of an address, or NOT_FOUND. */
uint32_t recorder_map_slot(const struct address_map *map, uint64_t address);

void **lives_column_of(struct lives *lives, unsigned i);

bool lives_reserve(struct arena *arena, struct lives_builder *builder, uint64_t count);

void lives_drop(struct arena *arena, struct lives_builder *builder);

bool lives_add(struct arena *arena, struct lives_builder *builder, const struct life_row *row);

/* Of the builder that the reference tells. */
struct lives *lives_of(struct recorder *recorder, uint32_t reference);

struct arena *recorder_arena(struct recorder *recorder);

void recorder_map_remove(struct address_map *map, uint32_t hole);

#endif
