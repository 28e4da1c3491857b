/* Shared by the files that read a payload: columns, read value by value, and the first error. */
#pragma once

#include "trace/payload_format.h"

/* Sections are sorted by device and type, which leaves no room for two of the same. */
static inline uint64_t section_order(const struct payload_section *section) {
    return (uint64_t)section->device << 16 | section->type;
}

enum { COLUMN_BLOCK = 256 };

/* One column, read value by value; its planes are joined a block at a time. */
struct column {
    const uint8_t *planes;
    uint64_t count, at; /* values in all; values joined so far */
    uint32_t width, shift;
    uint32_t next, have; /* in `block` */
    uint64_t block[COLUMN_BLOCK];
};

struct reader {
    const struct payload *payload;
    struct trace *trace;
    enum payload_error error;
    uint64_t limit[N_DOMAINS];
    struct column column[MAX_COLUMNS]; /* the columns of the section being read */

    /* Where payload_unpack_some goes on at its next call. */
    const struct step *step; /* the next step: the file's come first, then those of each device */
    struct {                 /* the rows of the step that this call reads */
        uint32_t from, to;
        uint64_t carried, n_fresh; /* passed from part to part; 0 for the first */
    } part;
    uint32_t device, n_devices;
    const struct device_row *rows;   /* [n_devices] */
    struct {                         /* values that a device's allocations refer to */
        void *stacks, *sizes, *last; /* u32, u64, and u32 for each stack */
        uint32_t n_stacks, n_sizes;
    } choice;
    uint8_t *class; /* [n_events] enum event_class, while times are read */
    uint64_t classes[N_EVENT_CLASSES];
};

/* Keeps the first error only. */
void reader_fail(struct reader *reader, enum payload_error error);

/* Fails for a bad value unless all was well. */
static inline void reader_check(struct reader *reader, bool ok) {
    if (!ok)
        reader_fail(reader, PAYLOAD_BAD_VALUE);
}

/* Joins the next block of values. */
void column_fill(struct column *column);

static inline uint64_t column_next(struct column *column) {
    if (column->next == column->have)
        column_fill(column);
    return column->block[column->next++];
}

/* The same, for a column with a value for every row, read from row 0 on. The compiler need not reload where it is. */
static inline uint64_t column_row(struct column *column, uint32_t row) {
    if (row % COLUMN_BLOCK == 0)
        column_fill(column);
    return column->block[row % COLUMN_BLOCK];
}

const struct payload_section *section_find(const struct payload *payload, uint16_t type, uint32_t device);

bool section_open(struct reader *reader, const struct payload_section *section, uint32_t n,
                  const uint64_t *count);

void *column_alloc(struct reader *reader, uint64_t count, size_t item_nbytes);

uint32_t rows_read(struct reader *reader, const struct table *table, uint32_t device, void **rows);

static inline struct device_trace *reader_device(const struct reader *reader) {
    return &reader->trace->devices[reader->device];
}

/* The allocations of the device being read, in this order: `_open` opens the columns, then each function reads its
 * rows of the part. The columns of addresses and merged rows are optional. */
void allocations_open(struct reader *reader);
void allocations_read_births(struct reader *reader);
void allocations_read_stack_places(struct reader *reader);
void allocations_read_deaths(struct reader *reader);
void allocations_read_waits(struct reader *reader);
void allocations_read_sizes(struct reader *reader);
void allocations_read_contexts(struct reader *reader);
void allocations_read_places(struct reader *reader);
void allocations_read_flags(struct reader *reader);
void addresses_open(struct reader *reader);
void addresses_read(struct reader *reader);
void merged_open(struct reader *reader);
void merged_read(struct reader *reader);
