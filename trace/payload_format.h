/* The layout of a payload, as docs/payload.md specifies it; only the reader and the writer of payloads include
 * this. Freestanding. */
#pragma once

#include "base/bytes.h"
#include "trace/payload.h"

/*
 * Everything is a table of columns, and every column is stored as planes: first the lowest byte of all values, then
 * the second, and so on. So deflate sees bytes of one kind in a row, high bytes that are zero cost next to nothing,
 * and a reader needs no branch per value. The choice of numbers makes a payload small (differences, distances,
 * places in a dictionary); docs/payload.md gives the reasons.
 */

enum {
    HEADER_NBYTES = 16,
    SECTION_ENTRY_NBYTES = 16,
    PIECE_ENTRY_NBYTES = 8,
    COLUMN_HEAD_NBYTES = 2,
    MAX_COLUMNS = 12,
    ADDRESS_UNIT = 512, /* the allocator rounds sizes up to a multiple of it */
};

extern const uint8_t payload_magic[8];

/* Part of the format: numbers may be added but never changed. */
enum section_type {
    SECTION_FILE = 1,
    SECTION_STRING_LENGTHS = 2,
    SECTION_STRING_BYTES = 3,
    SECTION_FX = 4,
    SECTION_FRAMES = 5,
    SECTION_STACKS = 6,
    SECTION_CONTEXTS = 7,
    SECTION_ANNOTATIONS = 8,
    SECTION_DIAGNOSTICS = 9,
    SECTION_DEVICES = 10,
    SECTION_FRAME_OWNERS = 11,
    SECTION_DIAGNOSTIC_NUMBERS = 12,
    SECTION_FILE_LAST = SECTION_DIAGNOSTIC_NUMBERS,
    /* One of each per device: */
    SECTION_STREAMS = 32,
    SECTION_POOLS = 33,
    SECTION_ALLOCATION_STACKS = 34,
    SECTION_ALLOCATION_SIZES = 35,
    SECTION_ALLOCATIONS = 36,
    SECTION_ADDRESSES = 37,
    SECTION_TIMES = 38,
    SECTION_SEGMENT_EVENTS = 39,
    SECTION_OOMS = 40,
    SECTION_SNAPSHOTS = 41,
    SECTION_SEGMENTS = 42,
    SECTION_BLOCKS = 43,
    SECTION_MERGED = 44,
    SECTION_NOTES = 45,
    SECTION_OOM_PLACES = 46,
    SECTION_END
};

enum { SECTION_OPTIONAL = 1 };

struct payload_section {
    uint16_t type;
    uint16_t flags;
    uint32_t device; /* 0: the file, else index of the device + 1 */
    uint32_t count;  /* rows */
    uint32_t first_piece, n_pieces;
    const uint8_t *raw; /* reader: the targets of all pieces, one after the other */
    uint64_t raw_nbytes;
};

/* Signed numbers as unsigned ones, small for small absolute values: 0, -1, 1, -2 ... become 0, 1, 2, 3 ...
 * Differences are taken modulo 2^64, so this never overflows. */
static inline uint64_t zigzag(uint64_t value) {
    return (value << 1) ^ (0 - (value >> 63));
}

static inline uint64_t unzigzag(uint64_t code) {
    return (code >> 1) ^ (0 - (code & 1));
}

/* The end of an allocation's memory, after the allocator's rounding. */
static inline uint64_t end_of_memory(uint64_t address, uint64_t size) {
    uint64_t rounded = (size + ADDRESS_UNIT - 1) & ~(uint64_t)(ADDRESS_UNIT - 1);
    return address + (rounded != 0 ? rounded : (uint64_t)ADDRESS_UNIT);
}

/* ---- tables ---- */

/* Values must be below their domain's limit. */
enum domain {
    OF_ANY,
    OF_SIGNED, /* of 32 bits */
    OF_STRINGS,
    OF_FRAMES,
    OF_FX,
    OF_STACKS,
    OF_CONTEXTS,
    OF_EVENTS,
    OF_STREAMS,
    OF_POOLS,
    OF_SEGMENT_CHANGES,
    OF_SEGMENT_FLAGS,
    OF_BLOCK_STATES,
    OF_STAGES,
    OF_KINDS,
    OF_NOTES,
    OF_OWNERS,
    N_DOMAINS
};

/* How a value becomes the number that is stored. */
enum coding {
    AS_IT_IS,
    AS_SIGNED, /* zigzag */
    AS_STEP,   /* zigzag of the difference from the row before */
    AS_RISE,   /* the difference from the row before, never negative */
    AS_NEXT,   /* zigzag of the difference from the end of the row before, whose length is in field `other` */
    AS_BELOW,  /* 0 for 0, otherwise 1 + zigzag of the difference from field `other` of the same row */
};

struct field {
    uint16_t offset;
    uint8_t nbytes;
    uint8_t coding; /* enum coding */
    uint8_t domain; /* enum domain */
    uint8_t other;  /* index of a field; for AS_BELOW and AS_NEXT it must be stored earlier */
};

struct table {
    uint16_t type; /* enum section_type */
    uint16_t row_nbytes;
    uint8_t first; /* 1: row 0 means "none" and is not stored */
    uint8_t n_fields;
    struct field field[MAX_COLUMNS];
};

/* Row for members of the trace that have no struct in trace.h. */
struct file_row {
    uint32_t settings, meta;
    uint32_t kind; /* enum trace_kind */
    int32_t rank;
};

struct device_row {
    uint32_t n_events, preexisting;
    int64_t first_us;
    uint64_t capacity_bytes;
    int32_t ordinal;
    uint32_t name;
};

extern const struct table payload_file_table, payload_fx_table, payload_frame_table,
    payload_frame_owner_table, payload_context_table, payload_annotation_table, payload_diagnostic_table,
    payload_diagnostic_number_table, payload_device_table, payload_stream_table, payload_pool_table,
    payload_allocation_stack_table, payload_allocation_size_table, payload_segment_event_table,
    payload_oom_table, payload_oom_place_table, payload_snapshot_table, payload_note_table,
    payload_segment_table, payload_block_table;

/* A table, and the offsets of the members of its owner (the trace or a device) that hold its rows. */
struct table_place {
    const struct table *table;
    uint16_t rows, count, capacity; /* capacity 0: the owner keeps none */
    uint8_t ids;                    /* enum domain of the rows' ids; OF_ANY: they have none */
};

/* In the order of their sections: frames precede the stacks, and contexts follow them; segment events follow the
 * allocations and times, and notes the merged rows. */
enum { PLACE_FX, PLACE_FRAMES, PLACE_CONTEXTS, PLACE_ANNOTATIONS, PLACE_DIAGNOSTICS, TRACE_PLACES };
enum { PLACE_STREAMS, PLACE_POOLS, PLACE_SEGMENT_EVENTS, PLACE_NOTES = 7, PLACE_OOM_PLACES, DEVICE_PLACES };
extern const struct table_place payload_trace_places[TRACE_PLACES];
extern const struct table_place payload_device_places[DEVICE_PLACES];

/* Sets the limits that do not depend on the trace, and the others to 0. `limit[N_DOMAINS]`. */
void payload_limits_init(uint64_t *limit);

enum {
    ALL_ALLOCATION_FLAGS =
        ALLOCATION_STACK_OF_FREE | ALLOCATION_FROM_BLOCK | ALLOCATION_REOPENED | ALLOCATION_UNMATCHED_END
};

/* Fields are native integers of 1, 2, 4 or 8 bytes; only OF_SIGNED fields are sign-extended. */
static inline uint64_t field_load(const struct field *field, const void *row) {
    const uint8_t *at = (const uint8_t *)row + field->offset;
    uint64_t value = 0;
    if (field->nbytes == 8) {
        bytes_copy(&value, at, 8);
    } else if (field->nbytes == 4) {
        uint32_t word;
        bytes_copy(&word, at, 4);
        value = field->domain == OF_SIGNED ? (uint64_t)(int64_t)(int32_t)word : word;
    } else if (field->nbytes == 2) {
        uint16_t word;
        bytes_copy(&word, at, 2);
        value = word;
    } else {
        value = *at;
    }
    return value;
}

static inline void field_store(const struct field *field, void *row, uint64_t value) {
    uint8_t *at = (uint8_t *)row + field->offset;
    if (field->nbytes == 8) {
        bytes_copy(at, &value, 8);
    } else if (field->nbytes == 4) {
        uint32_t word = (uint32_t)value;
        bytes_copy(at, &word, 4);
    } else if (field->nbytes == 2) {
        uint16_t word = (uint16_t)value;
        bytes_copy(at, &word, 2);
    } else {
        *at = (uint8_t)value;
    }
}

/* Does a decoded value fit its field and its domain? */
static inline bool field_accepts(const struct field *field, const uint64_t *limit, uint64_t value) {
    if (field->domain == OF_SIGNED)
        return (uint64_t)(int64_t)(int32_t)(uint32_t)value == value;
    if (field->domain != OF_ANY)
        return value < limit[field->domain];
    return field->nbytes == 8 || value >> (8 * field->nbytes) == 0;
}

/* Events are stored apart by class, because the times within a class look alike. */
enum event_class {
    EVENT_OTHER,      /* a request to free, a segment's event, anything else */
    EVENT_BIRTH,      /* an allocation begins */
    EVENT_COMPLETION, /* an allocation without a wait ends: nearly always 0 us after its request */
    N_EVENT_CLASSES
};

/* Sets `class[n_events]`, zeroed before, by allocations [from, to): first all completions, then the births, because
 * an event with both is a birth, and the allocation ended without an event of its own. O(to - from). */
void payload_classify_completions(const struct device_trace *device, uint8_t *class, uint32_t from,
                                  uint32_t to);
void payload_classify_births(const struct device_trace *device, uint8_t *class, uint32_t from, uint32_t to);
