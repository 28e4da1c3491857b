/* Shared by the files that pack a payload: new ids without gaps, and the section being packed. */
#pragma once

#include "trace/id_slots.h"
#include "trace/payload_format.h"

/* A plane, or the heads of a section's columns. */
struct chunk {
    const uint8_t *bytes;
    uint64_t nbytes;
};

struct packer {
    struct payload *payload;
    const struct trace *trace;
    enum payload_error error;
    /* Of strings, frames, fx, stacks and contexts: the ids in use. Rows that nothing refers to (a stack that only a
     * free had, say) are left out, and the slots are the new ids. */
    struct id_slots ids[N_DOMAINS];
    uint64_t limit[N_DOMAINS];

    uint64_t *value; /* scratch: the numbers of the column that is being made */
    uint32_t value_capacity;

    /* The section that is being made: */
    uint8_t heads[MAX_COLUMNS * COLUMN_HEAD_NBYTES];
    uint32_t n_columns;
    struct chunk chunks[1 + MAX_COLUMNS * 8]; /* [0]: heads */
    uint32_t n_chunks;
};

/* Keeps the first error only. */
void packer_fail(struct packer *packer, enum payload_error error);

/* A column of the payload's arena, not zeroed. NULL and an error: no memory. */
void *packer_alloc(struct packer *packer, uint64_t nbytes);

/* The new id of a row in use; the value itself in domains without ids. */
uint64_t packer_id(const struct packer *packer, enum domain domain, uint64_t id);

bool packer_values(struct packer *packer, uint64_t count);

void section_begin(struct packer *packer);

/* A column in the making: numbers come in runs, and a plane is added when the first number needs it. Starts as
 * {.count = ...}. */
struct column {
    uint8_t *plane[8]; /* [width], each [count] */
    uint32_t width, count, written;
    uint64_t all; /* the bits that are set in any number */
};

enum { COLUMN_RUN = 2048 }; /* numbers of a run: few enough to stay in the fastest cache */

/* Appends n numbers. No memory: an error of the packer. */
void column_write(struct packer *packer, struct column *column, const uint64_t *value, uint32_t n);

/* Adds a column as the next one of the section, when all of its numbers are written. It has at least `least_width`
 * planes. */
void section_add_column(struct packer *packer, struct column *column, uint32_t least_width);

/* The next column, without a scratch column for all of its numbers: `fill` sets the first n of packer->value to
 * rows [first, first + n). It is called for all rows in order. */
struct column_rows {
    void (*fill)(struct packer *packer, const void *context, uint32_t first, uint32_t n);
    const void *context;
    uint32_t count;
};
void section_add_rows(struct packer *packer, const struct column_rows *rows, uint32_t least_width);

void section_end(struct packer *packer, uint16_t type, uint16_t flags, uint32_t device, uint32_t count);

void table_pack(struct packer *packer, const struct table *table, uint32_t device, const void *rows,
                uint64_t count, const struct id_slots *used);

/* The sections of a device's allocations, `number` counted from 1. */
void allocations_pack(struct packer *packer, const struct device_trace *device, uint32_t number);

void addresses_pack(struct packer *packer, const struct allocations *allocations, uint32_t number);

void merged_pack(struct packer *packer, const struct allocations *allocations, uint32_t number);

/* Packs times as differences from the event before; the first is in the device's row. */
void times_pack(struct packer *packer, const struct device_trace *device, uint32_t number);
