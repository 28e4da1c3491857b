/* What the files that read a payload share: columns, read value by value, and the first error. */
#ifndef STRATA_TRACE_PAYLOAD_READER_H
#define STRATA_TRACE_PAYLOAD_READER_H

#include "trace/payload_format.h"

/* Sections are sorted by device and type, which leaves no room for two of the same. */
static inline uint64_t section_order(const struct payload_section *section) {
    return (uint64_t)section->device << 16 | section->type;
}

enum { COLUMN_BLOCK = 256 };

/* One column, read value by value; planes are put together a block at a time. */
struct column {
    const uint8_t *planes;
    uint64_t count, at; /* values in all; values that have been put together */
    uint32_t width, shift;
    uint32_t next, have; /* in `block` */
    uint64_t block[COLUMN_BLOCK];
};

struct reader {
    const struct payload *payload;
    struct trace *trace;
    enum payload_error error;
    uint64_t limit[N_DOMAINS];
    struct column column[MAX_COLUMNS]; /* of the section that is being read */
};

/* Keeps the first error. */
void reader_fail(struct reader *reader, enum payload_error error);

/* The next block of values. */
void column_fill(struct column *column);

static inline uint64_t column_next(struct column *column) {
    if (column->next == column->have)
        column_fill(column);
    return column->block[column->next++];
}

const struct payload_section *section_find(const struct payload *payload, uint16_t type, uint32_t device);

bool section_open(struct reader *reader, const struct payload_section *section, uint32_t n,
                  const uint64_t *count);

void *column_alloc(struct reader *reader, uint64_t count, size_t item_nbytes);

uint32_t rows_read(struct reader *reader, const struct table *table, uint32_t device, void **rows);

/* The lives of a device, `number` counted from 1; the columns of addresses and merged rows are optional. */
void lives_read(struct reader *reader, struct device_trace *device, uint32_t number);

void addresses_read(struct reader *reader, struct lives *lives, uint32_t number);

void merged_read(struct reader *reader, struct lives *lives, uint32_t number);

#endif
