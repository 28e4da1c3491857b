#include "trace/payload.h"

#include "trace/bytes.h"

/*
 * Everything is a table of columns, and every column is stored in one way: as planes, first the lowest byte
 * of all values, then the second and so on. Deflate sees bytes of one kind after each other, high bytes that
 * are zero cost next to nothing, and a reader needs no branch per value. What makes a payload small is the
 * choice of the numbers that are put into the planes (differences, distances, places in a dictionary);
 * docs/payload.md gives the reasons.
 */

enum {
    HEADER_NBYTES = 16,
    SECTION_ENTRY_NBYTES = 16,
    PIECE_ENTRY_NBYTES = 8,
    COLUMN_HEAD_NBYTES = 2,
    MAX_COLUMNS = 12,
    /* A plane of at least so many bytes begins a piece of its own, because the statistics of its neighbours
     * would spoil the Huffman codes of both. Below, the cost of a stream (header, codes, checksum) is more.
     */
    PLANE_ALONE_NBYTES = 1024,
    /* No deflate stream inflates to more than 1032 times its size (258 bytes per two bits). */
    MOST_INFLATION = 1032,
    ADDRESS_UNIT = 512, /* the allocator rounds sizes up to it */
    FEWEST_SLOTS = 64,
};

static const uint8_t magic[8] = {'S', 'T', 'R', 'A', 'T', 'A', 'P', '1'};

/* Numbers of the format: never change, only add. */
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
    /* One of each per device: */
    SECTION_STREAMS = 32,
    SECTION_POOLS = 33,
    SECTION_LIFE_STACKS = 34,
    SECTION_LIFE_SIZES = 35,
    SECTION_LIVES = 36,
    SECTION_ADDRESSES = 37,
    SECTION_TIMES = 38,
    SECTION_SEGMENT_EVENTS = 39,
    SECTION_OOMS = 40,
    SECTION_SNAPSHOTS = 41,
    SECTION_SEGMENTS = 42,
    SECTION_BLOCKS = 43,
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

/* Where an allocation's memory ends, as the allocator rounds it. */
static inline uint64_t end_of_memory(uint64_t address, uint64_t size) {
    uint64_t rounded = (size + ADDRESS_UNIT - 1) & ~(uint64_t)(ADDRESS_UNIT - 1);
    return address + (rounded != 0 ? rounded : (uint64_t)ADDRESS_UNIT);
}

static uint64_t load_le(const uint8_t *from, uint32_t nbytes) {
    uint64_t value = 0;
    for (uint32_t i = 0; i < nbytes; i++)
        value |= (uint64_t)from[i] << (8 * i);
    return value;
}

static void store_le(uint8_t *to, uint64_t value, uint32_t nbytes) {
    for (uint32_t i = 0; i < nbytes; i++)
        to[i] = (uint8_t)(value >> (8 * i));
}

/* ---- what the tables look like ---- */

/* What a value counts in: it must be below the limit of its domain. */
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
    N_DOMAINS
};

/* How a value becomes the number that is stored. */
enum coding {
    AS_IT_IS,
    AS_SIGNED, /* zigzag */
    AS_STEP,   /* zigzag of the difference from the row before */
    AS_RISE,   /* the difference from the row before, which is never below 0 */
    AS_NEXT,  /* zigzag of the difference from where the row before ends, its length being in field `other` */
    AS_BELOW, /* 0 for 0, else 1 + zigzag of what it lacks to field `other` of the same row */
    AS_PARENT, /* how many rows lie between a stack and its parent */
};

struct field {
    uint16_t offset;
    uint8_t nbytes;
    uint8_t coding; /* enum coding */
    uint8_t domain; /* enum domain */
    uint8_t other;  /* index of a field; for AS_BELOW and AS_NEXT of one that is stored earlier */
};

struct table {
    uint16_t type; /* enum section_type */
    uint16_t row_nbytes;
    uint8_t first; /* 1: row 0 means "none" and is not stored */
    uint8_t n_fields;
    struct field field[MAX_COLUMNS];
};

/* What trace.h has no struct for. */
struct file_row {
    uint32_t settings, meta;
};

struct device_row {
    uint32_t n_events, preexisting;
    int64_t first_us;
    int32_t ordinal;
};

#define FIELD(row, member, coding, domain, other) \
    { offsetof(struct row, member), sizeof(((struct row *)0)->member), coding, domain, other }

static const struct table file_table = {
    SECTION_FILE,
    sizeof(struct file_row),
    0,
    2,
    {FIELD(file_row, settings, AS_IT_IS, OF_STRINGS, 0), FIELD(file_row, meta, AS_IT_IS, OF_STRINGS, 0)}};

static const struct table fx_table = {
    SECTION_FX,
    sizeof(struct fx),
    1,
    4,
    {FIELD(fx, op, AS_STEP, OF_STRINGS, 0), FIELD(fx, name, AS_STEP, OF_STRINGS, 0),
     FIELD(fx, target, AS_STEP, OF_STRINGS, 0), FIELD(fx, original_trace, AS_STEP, OF_STRINGS, 0)}};

static const struct table frame_table = {
    SECTION_FRAMES,
    sizeof(struct frame),
    1,
    4,
    {FIELD(frame, file, AS_STEP, OF_STRINGS, 0), FIELD(frame, name, AS_STEP, OF_STRINGS, 0),
     FIELD(frame, line, AS_IT_IS, OF_ANY, 0), FIELD(frame, fx, AS_STEP, OF_FX, 0)}};

static const struct table stack_table = {
    SECTION_STACKS,
    sizeof(struct stack),
    1,
    2,
    {FIELD(stack, parent, AS_PARENT, OF_STACKS, 0), FIELD(stack, frame, AS_IT_IS, OF_FRAMES, 0)}};

static const struct table context_table = {SECTION_CONTEXTS,
                                           sizeof(struct context),
                                           1,
                                           4,
                                           {FIELD(context, compile_context, AS_STEP, OF_STRINGS, 0),
                                            FIELD(context, user_metadata, AS_STEP, OF_STRINGS, 0),
                                            FIELD(context, category, AS_STEP, OF_STRINGS, 0),
                                            FIELD(context, forward_frames, AS_STEP, OF_STRINGS, 0)}};

static const struct table annotation_table = {
    SECTION_ANNOTATIONS,
    sizeof(struct annotation),
    0,
    4,
    {FIELD(annotation, time_us, AS_STEP, OF_ANY, 0), FIELD(annotation, name, AS_IT_IS, OF_STRINGS, 0),
     FIELD(annotation, device, AS_SIGNED, OF_SIGNED, 0), FIELD(annotation, stage, AS_IT_IS, OF_STAGES, 0)}};

static const struct table diagnostic_table = {SECTION_DIAGNOSTICS,
                                              sizeof(struct diagnostic),
                                              0,
                                              3,
                                              {FIELD(diagnostic, code, AS_IT_IS, OF_STRINGS, 0),
                                               FIELD(diagnostic, message, AS_IT_IS, OF_STRINGS, 0),
                                               FIELD(diagnostic, device, AS_SIGNED, OF_SIGNED, 0)}};

static const struct table device_table = {
    SECTION_DEVICES,
    sizeof(struct device_row),
    0,
    4,
    {FIELD(device_row, n_events, AS_IT_IS, OF_ANY, 0), FIELD(device_row, preexisting, AS_IT_IS, OF_ANY, 0),
     FIELD(device_row, first_us, AS_SIGNED, OF_ANY, 0), FIELD(device_row, ordinal, AS_SIGNED, OF_SIGNED, 0)}};

static const struct table stream_table = {
    SECTION_STREAMS, sizeof(uint64_t), 0, 1, {{0, sizeof(uint64_t), AS_STEP, OF_ANY, 0}}};

static const struct table pool_table = {
    SECTION_POOLS,
    sizeof(struct pool_id),
    0,
    2,
    {FIELD(pool_id, first, AS_IT_IS, OF_ANY, 0), FIELD(pool_id, second, AS_IT_IS, OF_ANY, 0)}};

static const struct table life_stack_table = {
    SECTION_LIFE_STACKS, sizeof(uint32_t), 0, 1, {{0, sizeof(uint32_t), AS_STEP, OF_STACKS, 0}}};

static const struct table life_size_table = {
    SECTION_LIFE_SIZES, sizeof(uint64_t), 0, 1, {{0, sizeof(uint64_t), AS_IT_IS, OF_ANY, 0}}};

static const struct table segment_event_table = {
    SECTION_SEGMENT_EVENTS,
    sizeof(struct segment_event),
    0,
    6,
    {FIELD(segment_event, event, AS_RISE, OF_EVENTS, 0), FIELD(segment_event, stack, AS_IT_IS, OF_STACKS, 0),
     FIELD(segment_event, size, AS_IT_IS, OF_ANY, 0), FIELD(segment_event, address, AS_NEXT, OF_ANY, 2),
     FIELD(segment_event, stream, AS_IT_IS, OF_STREAMS, 0),
     FIELD(segment_event, change, AS_IT_IS, OF_SEGMENT_CHANGES, 0)}};

static const struct table oom_table = {
    SECTION_OOMS,
    sizeof(struct oom_event),
    0,
    4,
    {FIELD(oom_event, event, AS_RISE, OF_EVENTS, 0), FIELD(oom_event, stack, AS_IT_IS, OF_STACKS, 0),
     FIELD(oom_event, size, AS_IT_IS, OF_ANY, 0), FIELD(oom_event, device_free, AS_IT_IS, OF_ANY, 0)}};

static const struct table snapshot_table = {
    SECTION_SNAPSHOTS,
    sizeof(struct snapshot_event),
    0,
    2,
    {FIELD(snapshot_event, event, AS_RISE, OF_EVENTS, 0), FIELD(snapshot_event, size, AS_IT_IS, OF_ANY, 0)}};

static const struct table segment_table = {
    SECTION_SEGMENTS,
    sizeof(struct segment),
    0,
    11,
    {FIELD(segment, block_count, AS_IT_IS, OF_ANY, 0), FIELD(segment, first_block, AS_NEXT, OF_ANY, 0),
     FIELD(segment, total_size, AS_IT_IS, OF_ANY, 0), FIELD(segment, address, AS_NEXT, OF_ANY, 2),
     FIELD(segment, active_size, AS_BELOW, OF_ANY, 2), FIELD(segment, allocated_size, AS_BELOW, OF_ANY, 4),
     FIELD(segment, requested_size, AS_BELOW, OF_ANY, 5), FIELD(segment, stack, AS_IT_IS, OF_STACKS, 0),
     FIELD(segment, stream, AS_IT_IS, OF_STREAMS, 0), FIELD(segment, pool, AS_IT_IS, OF_POOLS, 0),
     FIELD(segment, flags, AS_IT_IS, OF_SEGMENT_FLAGS, 0)}};

static const struct table block_table = {
    SECTION_BLOCKS,
    sizeof(struct block),
    0,
    5,
    {FIELD(block, size, AS_IT_IS, OF_ANY, 0), FIELD(block, address, AS_NEXT, OF_ANY, 0),
     FIELD(block, requested_size, AS_BELOW, OF_ANY, 0), FIELD(block, stack, AS_IT_IS, OF_STACKS, 0),
     FIELD(block, state, AS_IT_IS, OF_BLOCK_STATES, 0)}};

/* Limits that do not depend on the trace. */
static void limits_init(uint64_t *limit) {
    bytes_zero(limit, N_DOMAINS * sizeof *limit);
    limit[OF_ANY] = UINT64_MAX;
    limit[OF_SEGMENT_CHANGES] = SEGMENT_UNMAP + 1;
    limit[OF_SEGMENT_FLAGS] = (SEGMENT_EXPANDABLE | SEGMENT_SMALL) + 1;
    limit[OF_BLOCK_STATES] = BLOCK_PENDING_FREE + 1;
    limit[OF_STAGES] = ANNOTATION_END + 1;
}

enum { ALL_LIFE_FLAGS = LIFE_STACK_OF_FREE | LIFE_FROM_BLOCK | LIFE_REOPENED | LIFE_UNMATCHED_END };

/* Fields are native integers of 1, 2, 4 or 8 bytes; only OF_SIGNED ones are extended by their sign. */
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

/* When events are told apart by what is known of them, the columns of times become homogeneous. */
enum event_class {
    EVENT_OTHER,      /* a request to free, a segment's event, anything else */
    EVENT_BIRTH,      /* a life begins */
    EVENT_COMPLETION, /* a life ends, and did not wait for another stream: nearly always 0 us after its
                         request */
    N_EVENT_CLASSES
};

/* `class[n_events]`, zeroed. Births come last because where both are true, the life ended without an event of
 * its own. */
static void classify_events(const struct device_trace *device, uint8_t *class) {
    const struct lives *lives = &device->lives;
    for (uint32_t i = 0; i < lives->count; i++)
        if (lives->death[i] > 0 && lives->death[i] <= device->n_events &&
            lives->request[i] == lives->death[i])
            class[lives->death[i] - 1] = EVENT_COMPLETION;
    for (uint32_t i = lives->preexisting; i < lives->count; i++)
        class[lives->birth[i] - 1] = EVENT_BIRTH;
}

/* ---- packing ---- */

/* Rows of one kind that are referred to get new ids without gaps, in the old order. What nothing refers to (a
 * stack that only a free had, say) is left out. */
struct renumbering {
    uint32_t *to; /* first: 1 where used; later the new id */
    uint32_t old_count, count;
};

/* A plane, or the heads of a section's columns. */
struct chunk {
    const uint8_t *bytes;
    uint64_t nbytes;
};

struct packer {
    struct payload *payload;
    const struct trace *trace;
    enum payload_error error;
    struct renumbering ids[N_DOMAINS]; /* of strings, frames, fx, stacks and contexts */
    uint64_t limit[N_DOMAINS];

    uint64_t *value; /* scratch: the numbers of the column that is being made */
    uint32_t value_capacity;

    /* The section that is being made: */
    uint8_t heads[MAX_COLUMNS * COLUMN_HEAD_NBYTES];
    uint32_t n_columns;
    struct chunk chunks[1 + MAX_COLUMNS * 8]; /* [0]: heads */
    uint32_t n_chunks;
};

static void packer_fail(struct packer *packer, enum payload_error error) {
    if (packer->error == PAYLOAD_OK)
        packer->error = error;
}

static void *packer_alloc(struct packer *packer, uint64_t nbytes) {
    void *bytes = nbytes <= SIZE_MAX ? arena_alloc(packer->payload->arena, (size_t)nbytes) : NULL;
    if (bytes == NULL)
        packer_fail(packer, PAYLOAD_NO_MEMORY);
    return bytes;
}

/* Room for `count` numbers. */
static bool packer_values(struct packer *packer, uint64_t count) {
    void *column = packer->value;
    bool ok =
        arena_grow(packer->payload->arena, &column, &packer->value_capacity, count, sizeof *packer->value);
    packer->value = column;
    if (!ok)
        packer_fail(packer, PAYLOAD_NO_MEMORY);
    return ok && packer->error == PAYLOAD_OK;
}

static void section_begin(struct packer *packer) {
    packer->n_columns = 0;
    packer->n_chunks = 1;
}

static void section_add_chunk(struct packer *packer, const uint8_t *bytes, uint64_t nbytes) {
    packer->chunks[packer->n_chunks++] = (struct chunk){bytes, nbytes};
}

static void section_add_head(struct packer *packer, uint32_t width, uint32_t shift) {
    packer->heads[packer->n_columns * COLUMN_HEAD_NBYTES] = (uint8_t)width;
    packer->heads[packer->n_columns * COLUMN_HEAD_NBYTES + 1] = (uint8_t)shift;
    packer->n_columns++;
}

static uint32_t bytes_needed(uint64_t value) {
    uint32_t nbytes = 0;
    for (; value != 0; value >>= 8)
        nbytes++;
    return nbytes;
}

/* Adds the first `count` scratch numbers as the next column. At least `least_width` planes. */
static void section_add_column(struct packer *packer, uint64_t count, uint32_t least_width) {
    uint64_t all = 0;
    for (uint64_t i = 0; i < count; i++)
        all |= packer->value[i];
    uint32_t shift = all != 0 ? (uint32_t)__builtin_ctzll(all) : 0;
    uint32_t width = bytes_needed(all >> shift);
    /* Without gain no shift: bytes keep their alignment, which deflate finds more repetitions in. */
    if (width == bytes_needed(all))
        shift = 0;
    if (width * 8 + shift > 64) /* the planes of the highest bits would end above 64 */
        shift = 64 - width * 8;
    if (width < least_width)
        width = least_width;
    section_add_head(packer, width, shift);
    for (uint32_t k = 0; k < width && packer->error == PAYLOAD_OK && count > 0; k++) {
        uint8_t *plane = packer_alloc(packer, count);
        for (uint64_t i = 0; plane != NULL && i < count; i++)
            plane[i] = (uint8_t)(packer->value[i] >> (shift + 8 * k));
        section_add_chunk(packer, plane, count);
    }
}

/* One piece of at most PAYLOAD_PIECE_NBYTES after the other. */
static void section_add_pieces(struct packer *packer, const uint8_t *bytes, uint64_t nbytes) {
    struct payload *payload = packer->payload;
    while (nbytes > 0) {
        void *pieces = payload->pieces;
        if (!arena_grow(payload->arena, &pieces, &payload->pieces_capacity, (uint64_t)payload->n_pieces + 1,
                        sizeof *payload->pieces)) {
            packer_fail(packer, PAYLOAD_NO_MEMORY);
            return;
        }
        payload->pieces = pieces;
        uint32_t raw_nbytes = nbytes < PAYLOAD_PIECE_NBYTES ? (uint32_t)nbytes : PAYLOAD_PIECE_NBYTES;
        payload->pieces[payload->n_pieces++] = (struct payload_piece){.raw = bytes, .raw_nbytes = raw_nbytes};
        bytes += raw_nbytes;
        nbytes -= raw_nbytes;
    }
}

/* Chunks [first, end) as pieces; several are put together into one run of bytes. */
static void section_add_run(struct packer *packer, uint32_t first, uint32_t end, uint64_t nbytes) {
    if (nbytes == 0)
        return;
    const uint8_t *bytes = packer->chunks[first].bytes;
    if (end - first > 1) {
        uint8_t *joined = packer_alloc(packer, nbytes);
        uint64_t at = 0;
        for (uint32_t i = first; joined != NULL && i < end; i++) {
            bytes_copy(joined + at, packer->chunks[i].bytes, (size_t)packer->chunks[i].nbytes);
            at += packer->chunks[i].nbytes;
        }
        bytes = joined;
    }
    if (packer->error == PAYLOAD_OK)
        section_add_pieces(packer, bytes, nbytes);
}

/* Ends the section: heads and planes become pieces, and the section an entry of the directory. */
static void section_end(struct packer *packer, uint16_t type, uint16_t flags, uint32_t device,
                        uint32_t count) {
    struct payload *payload = packer->payload;
    void *sections = payload->sections;
    if (packer->error != PAYLOAD_OK)
        return;
    if (!arena_grow(payload->arena, &sections, &payload->sections_capacity, (uint64_t)payload->n_sections + 1,
                    sizeof *payload->sections)) {
        packer_fail(packer, PAYLOAD_NO_MEMORY);
        return;
    }
    payload->sections = sections;
    struct payload_section section = {
        .type = type, .flags = flags, .device = device, .count = count, .first_piece = payload->n_pieces};

    packer->chunks[0] = (struct chunk){packer->heads, (uint64_t)packer->n_columns * COLUMN_HEAD_NBYTES};
    uint8_t *heads = packer_alloc(packer, packer->chunks[0].nbytes);
    if (heads == NULL)
        return;
    bytes_copy(heads, packer->heads, (size_t)packer->chunks[0].nbytes);
    packer->chunks[0].bytes = heads;

    uint32_t first = 0;
    uint64_t run_nbytes = 0;
    for (uint32_t i = 0; i < packer->n_chunks; i++) {
        bool alone = packer->chunks[i].nbytes >= PLANE_ALONE_NBYTES;
        if (alone || run_nbytes >= PLANE_ALONE_NBYTES) {
            section_add_run(packer, first, i, run_nbytes);
            first = i;
            run_nbytes = 0;
        }
        run_nbytes += packer->chunks[i].nbytes;
    }
    section_add_run(packer, first, packer->n_chunks, run_nbytes);
    section.n_pieces = payload->n_pieces - section.first_piece;
    payload->sections[payload->n_sections++] = section;
}

/* ---- packing: which ids are used ---- */

static bool renumbering_init(struct packer *packer, enum domain domain, uint32_t old_count) {
    struct renumbering *ids = &packer->ids[domain];
    ids->old_count = old_count;
    ids->to = packer_alloc(packer, (uint64_t)old_count * sizeof *ids->to);
    if (ids->to != NULL && old_count > 0)
        ids->to[0] = 1; /* "none" is always there */
    return ids->to != NULL;
}

static void id_mark(struct packer *packer, enum domain domain, uint64_t id) {
    struct renumbering *ids = &packer->ids[domain];
    if (id < ids->old_count)
        ids->to[id] = 1;
    else
        packer_fail(packer, PAYLOAD_BAD_VALUE);
}

/* Marks what the rows of a table refer to; with `used`, only the rows that are marked there. */
static void table_mark(struct packer *packer, const struct table *table, const void *rows, uint64_t count,
                       const struct renumbering *used) {
    for (uint32_t f = 0; f < table->n_fields; f++) {
        const struct field *field = &table->field[f];
        if (packer->ids[field->domain].to == NULL)
            continue;
        for (uint64_t i = 0; i < count; i++)
            if (used == NULL || used->to[i] != 0)
                id_mark(packer, field->domain,
                        field_load(field, (const uint8_t *)rows + i * table->row_nbytes));
    }
}

static void device_mark(struct packer *packer, const struct device_trace *device) {
    for (uint32_t i = 0; i < device->lives.count; i++) {
        id_mark(packer, OF_STACKS, device->lives.stack[i]);
        id_mark(packer, OF_CONTEXTS, device->lives.context[i]);
    }
    table_mark(packer, &segment_event_table, device->segment_events, device->n_segment_events, NULL);
    table_mark(packer, &oom_table, device->ooms, device->n_ooms, NULL);
    table_mark(packer, &segment_table, device->segments, device->n_segments, NULL);
    table_mark(packer, &block_table, device->blocks, device->n_blocks, NULL);
}

/* A parent comes before its children, so one walk from the end marks all ancestors. */
static void stacks_mark_parents(struct packer *packer) {
    struct renumbering *ids = &packer->ids[OF_STACKS];
    for (uint32_t i = ids->old_count; i-- > 1;) {
        uint32_t parent = packer->trace->stacks.stack[i].parent;
        if (parent >= i)
            packer_fail(packer, PAYLOAD_BAD_VALUE);
        else if (ids->to[i] != 0)
            ids->to[parent] = 1;
    }
}

static void renumbering_finish(struct packer *packer, enum domain domain) {
    struct renumbering *ids = &packer->ids[domain];
    for (uint32_t i = 0; i < ids->old_count; i++)
        if (ids->to[i] != 0)
            ids->to[i] = ids->count++;
    packer->limit[domain] = ids->old_count;
}

/* From what is drawn down to the strings. */
static void packer_renumber(struct packer *packer) {
    const struct trace *trace = packer->trace;
    struct file_row file = {trace->settings, trace->meta};
    if (!renumbering_init(packer, OF_STRINGS, trace->strings.count) ||
        !renumbering_init(packer, OF_FRAMES, trace->frames.count) ||
        !renumbering_init(packer, OF_FX, trace->fx.count) ||
        !renumbering_init(packer, OF_STACKS, trace->stacks.count) ||
        !renumbering_init(packer, OF_CONTEXTS, trace->contexts.count))
        return;
    for (uint32_t i = 0; i < trace->n_devices; i++)
        device_mark(packer, &trace->devices[i]);
    stacks_mark_parents(packer);
    table_mark(packer, &stack_table, trace->stacks.stack, trace->stacks.count, &packer->ids[OF_STACKS]);
    table_mark(packer, &frame_table, trace->frames.frame, trace->frames.count, &packer->ids[OF_FRAMES]);
    table_mark(packer, &fx_table, trace->fx.fx, trace->fx.count, &packer->ids[OF_FX]);
    table_mark(packer, &context_table, trace->contexts.context, trace->contexts.count,
               &packer->ids[OF_CONTEXTS]);
    table_mark(packer, &annotation_table, trace->annotations, trace->n_annotations, NULL);
    table_mark(packer, &diagnostic_table, trace->diagnostics, trace->n_diagnostics, NULL);
    table_mark(packer, &file_table, &file, 1, NULL);
    for (enum domain domain = OF_STRINGS; domain <= OF_CONTEXTS; domain++)
        renumbering_finish(packer, domain);
}

/* ---- packing: tables of rows ---- */

/* A table while one of its columns is packed. */
struct packing {
    const struct table *table;
    const uint8_t *rows;
    uint64_t count;
    const struct renumbering *used; /* NULL: all rows */
};

/* A field's value as the reader will see it: with its new id. */
static uint64_t packed_value(struct packer *packer, const struct field *field, const uint8_t *row) {
    uint64_t value = field_load(field, row);
    if (!field_accepts(field, packer->limit, value)) {
        packer_fail(packer, PAYLOAD_BAD_VALUE);
        return 0;
    }
    return packer->ids[field->domain].to != NULL ? packer->ids[field->domain].to[value] : value;
}

static uint64_t value_encode(struct packer *packer, const struct table *table, const struct field *field,
                             const uint8_t *row, const uint8_t *before, uint64_t self) {
    const struct field *other = &table->field[field->other];
    uint64_t value = packed_value(packer, field, row);
    uint64_t last = before != NULL ? packed_value(packer, field, before) : 0;
    uint64_t code = value;
    switch ((enum coding)field->coding) {
    case AS_IT_IS: break;
    case AS_SIGNED: code = zigzag(value); break;
    case AS_STEP: code = zigzag(value - last); break;
    case AS_RISE:
        code = value - last;
        if (value < last)
            packer_fail(packer, PAYLOAD_BAD_VALUE);
        break;
    case AS_NEXT:
        code = zigzag(value - last - (before != NULL ? packed_value(packer, other, before) : 0));
        break;
    case AS_BELOW:
        code = value == 0 ? 0 : zigzag(packed_value(packer, other, row) - value) + 1;
        if (value != 0 && code == 0) /* the one difference in 2^64 that has no code */
            packer_fail(packer, PAYLOAD_BAD_VALUE);
        break;
    case AS_PARENT: code = self - 1 - value; break;
    }
    return code;
}

/* Fills the scratch numbers with one column; returns how many. */
static uint64_t field_encode(struct packer *packer, const struct packing *packing,
                             const struct field *field) {
    const struct table *table = packing->table;
    const uint8_t *before = NULL;
    uint64_t n = 0;
    for (uint64_t i = table->first; i < packing->count; i++) {
        if (packing->used != NULL && packing->used->to[i] == 0)
            continue;
        const uint8_t *row = packing->rows + i * table->row_nbytes;
        packer->value[n] = value_encode(packer, table, field, row, before, n + table->first);
        before = row;
        n++;
    }
    return n;
}

static void table_pack(struct packer *packer, const struct table *table, uint32_t device, const void *rows,
                       uint64_t count, const struct renumbering *used) {
    const struct packing packing = {table, rows, count, used};
    uint64_t n = 0;
    if (count <= table->first || !packer_values(packer, count))
        return;
    section_begin(packer);
    for (uint32_t f = 0; f < table->n_fields; f++) {
        n = field_encode(packer, &packing, &table->field[f]);
        section_add_column(packer, n, f == 0);
    }
    if (n > 0)
        section_end(packer, table->type, 0, device, (uint32_t)n);
}

static void strings_pack(struct packer *packer) {
    const struct string_table *strings = &packer->trace->strings;
    const struct renumbering *ids = &packer->ids[OF_STRINGS];
    uint64_t n = 0, nbytes = 0;
    if (ids->count <= 1 || !packer_values(packer, strings->count))
        return;
    for (uint32_t i = 1; i < strings->count; i++)
        if (ids->to[i] != 0)
            nbytes += packer->value[n++] = strings->start[i + 1] - strings->start[i];
    section_begin(packer);
    section_add_column(packer, n, 1);
    section_end(packer, SECTION_STRING_LENGTHS, 0, 0, (uint32_t)n);

    uint8_t *text = packer_alloc(packer, nbytes);
    uint64_t at = 0;
    for (uint32_t i = 1; text != NULL && i < strings->count; i++) {
        if (ids->to[i] == 0)
            continue;
        bytes_copy(text + at, strings->bytes + strings->start[i], strings->start[i + 1] - strings->start[i]);
        at += strings->start[i + 1] - strings->start[i];
    }
    if (packer->error != PAYLOAD_OK || nbytes == 0)
        return;
    section_begin(packer);
    section_add_head(packer, 1, 0);
    section_add_chunk(packer, text, nbytes);
    section_end(packer, SECTION_STRING_BYTES, 0, 0, (uint32_t)nbytes);
}

/* ---- packing: lives ---- */

/* Numbers by 64-bit keys, open addressing, at most half full. */
struct numbering {
    struct numbering_slot {
        uint64_t key;
        uint32_t number; /* 0: the slot is free */
    } * slot;
    uint32_t capacity; /* a power of two, or 0 */
    uint32_t count;
};

static struct numbering_slot *numbering_find(const struct numbering *numbering, uint64_t key) {
    uint64_t hash = (key ^ (key >> 32)) * 0x9e3779b97f4a7c15u;
    uint32_t mask = numbering->capacity - 1;
    uint32_t at = (uint32_t)(hash >> 32) & mask;
    while (numbering->slot[at].number != 0 && numbering->slot[at].key != key)
        at = (at + 1) & mask;
    return &numbering->slot[at];
}

static bool numbering_widen(struct packer *packer, struct numbering *numbering) {
    struct numbering wider = {NULL, 0, numbering->count};
    uint32_t slots = numbering->capacity != 0 ? numbering->capacity * 2 : FEWEST_SLOTS;
    void *column = NULL;
    if (slots == 0 ||
        !arena_grow(packer->payload->arena, &column, &wider.capacity, slots, sizeof *wider.slot)) {
        packer_fail(packer, PAYLOAD_NO_MEMORY);
        return false;
    }
    wider.slot = column;
    wider.capacity = slots;
    bytes_zero(wider.slot, (size_t)slots * sizeof *wider.slot);
    for (uint32_t i = 0; i < numbering->capacity; i++)
        if (numbering->slot[i].number != 0)
            *numbering_find(&wider, numbering->slot[i].key) = numbering->slot[i];
    column = numbering->slot;
    arena_drop(packer->payload->arena, &column);
    *numbering = wider;
    return true;
}

/* The slot of `key`; a new one has number 0 until the caller gives it one. NULL: no memory. */
static struct numbering_slot *numbering_slot(struct packer *packer, struct numbering *numbering,
                                             uint64_t key) {
    if (numbering->count >= numbering->capacity / 2 && !numbering_widen(packer, numbering))
        return NULL;
    struct numbering_slot *slot = numbering_find(numbering, key);
    if (slot->number == 0) {
        slot->key = key;
        numbering->count++;
    }
    return slot;
}

static void numbering_release(struct packer *packer, struct numbering *numbering) {
    void *column = numbering->slot;
    arena_drop(packer->payload->arena, &column);
}

/* Everything that the reader will insist on. */
static bool lives_valid(const struct device_trace *device) {
    const struct lives *lives = &device->lives;
    uint32_t birth = 0, end = device->n_events + 1;
    if (device->n_events > UINT32_MAX - 2 || lives->preexisting > lives->count)
        return false;
    for (uint32_t i = 0; i < lives->count; i++) {
        bool first = i < lives->preexisting;
        if (lives->birth[i] < birth || lives->birth[i] > device->n_events || first != (lives->birth[i] == 0))
            return false;
        if (lives->death[i] < lives->birth[i] || lives->death[i] > device->n_events + 1)
            return false;
        if (lives->request[i] < lives->birth[i] || lives->request[i] > lives->death[i])
            return false;
        if (first && lives->death[i] > end)
            return false;
        birth = lives->birth[i];
        end = lives->death[i];
    }
    return true;
}

/* Dictionaries of a device's stacks and sizes, in the order in which the lives bring them up. */
struct life_dictionaries {
    uint32_t *stack_place; /* [old stack id] place in `stacks` + 1; 0: not there */
    uint32_t *stacks;
    uint64_t *sizes;
    uint32_t *size_place; /* [life] */
    uint32_t n_stacks, n_sizes;
};

static bool dictionaries_alloc(struct packer *packer, struct life_dictionaries *dictionaries, uint64_t n) {
    uint64_t n_stacks = packer->trace->stacks.count;
    dictionaries->stack_place = packer_alloc(packer, n_stacks * sizeof(uint32_t));
    dictionaries->stacks = packer_alloc(packer, (n < n_stacks ? n : n_stacks) * sizeof(uint32_t));
    dictionaries->sizes = packer_alloc(packer, n * sizeof(uint64_t));
    dictionaries->size_place = packer_alloc(packer, n * sizeof(uint32_t));
    return packer->error == PAYLOAD_OK;
}

static void dictionaries_fill(struct packer *packer, struct life_dictionaries *dictionaries,
                              const struct lives *lives) {
    struct numbering sizes = {NULL, 0, 0};
    if (!dictionaries_alloc(packer, dictionaries, lives->count))
        return;
    for (uint32_t i = 0; i < lives->count; i++) {
        uint32_t *place = &dictionaries->stack_place[lives->stack[i]];
        if (*place == 0) {
            dictionaries->stacks[dictionaries->n_stacks++] = lives->stack[i];
            *place = dictionaries->n_stacks;
        }
        struct numbering_slot *slot = numbering_slot(packer, &sizes, lives->size[i]);
        if (slot == NULL)
            break;
        if (slot->number == 0) {
            dictionaries->sizes[dictionaries->n_sizes++] = lives->size[i];
            slot->number = dictionaries->n_sizes;
        }
        dictionaries->size_place[i] = slot->number - 1;
    }
    numbering_release(packer, &sizes);
}

static void column_births(struct packer *packer, const struct lives *lives) {
    for (uint32_t i = 0; i < lives->count; i++)
        packer->value[i] = lives->birth[i] - (i > 0 ? lives->birth[i - 1] : 0);
    section_add_column(packer, lives->count, 1);
}

static void column_stacks(struct packer *packer, const struct lives *lives,
                          const struct life_dictionaries *dictionaries) {
    for (uint32_t i = 0; i < lives->count; i++)
        packer->value[i] = dictionaries->stack_place[lives->stack[i]] - 1;
    section_add_column(packer, lives->count, 0);
}

/* Lifetimes, against the last lifetime of the same stack: loops repeat themselves. Those older than the
 * recording are sorted by their death, so the difference from the row before is small. */
static void column_deaths(struct packer *packer, const struct device_trace *device,
                          const struct life_dictionaries *dictionaries) {
    const struct lives *lives = &device->lives;
    uint32_t *last = packer_alloc(packer, (uint64_t)dictionaries->n_stacks * sizeof *last);
    uint32_t end = device->n_events + 1;
    for (uint32_t i = 0; last != NULL && i < lives->count; i++) {
        uint32_t death = lives->death[i];
        if (i < lives->preexisting) {
            packer->value[i] = (i > 0 ? lives->death[i - 1] : end) - death;
            continue;
        }
        uint32_t lifetime = death == end ? 0 : death - lives->birth[i] + 1;
        uint32_t *of_stack = &last[dictionaries->stack_place[lives->stack[i]] - 1];
        packer->value[i] = zigzag((uint64_t)lifetime - *of_stack);
        *of_stack = lifetime;
    }
    section_add_column(packer, lives->count, 0);
}

static void column_waits(struct packer *packer, const struct lives *lives) {
    for (uint32_t i = 0; i < lives->count; i++)
        packer->value[i] = lives->death[i] - lives->request[i];
    section_add_column(packer, lives->count, 0);
}

/* A column of ids or flags below `limit`. */
static void column_u16(struct packer *packer, const uint16_t *ids, uint32_t count, uint64_t limit) {
    for (uint32_t i = 0; i < count; i++) {
        packer->value[i] = ids[i];
        if (ids[i] >= limit)
            packer_fail(packer, PAYLOAD_BAD_VALUE);
    }
    section_add_column(packer, count, 0);
}

static void column_flags(struct packer *packer, const struct lives *lives) {
    for (uint32_t i = 0; i < lives->count; i++) {
        packer->value[i] = lives->flags[i];
        if (lives->flags[i] > ALL_LIFE_FLAGS)
            packer_fail(packer, PAYLOAD_BAD_VALUE);
    }
    section_add_column(packer, lives->count, 0);
}

static void column_mapped(struct packer *packer, const uint32_t *values, uint32_t count, const uint32_t *to) {
    for (uint32_t i = 0; i < count; i++)
        packer->value[i] = to != NULL ? to[values[i]] : values[i];
    section_add_column(packer, count, 0);
}

static void lives_pack(struct packer *packer, const struct device_trace *device, uint32_t number) {
    const struct lives *lives = &device->lives;
    struct life_dictionaries dictionaries = {0};
    if (lives->count == 0 || !packer_values(packer, lives->count))
        return;
    dictionaries_fill(packer, &dictionaries, lives);
    if (packer->error != PAYLOAD_OK)
        return;
    table_pack(packer, &life_stack_table, number, dictionaries.stacks, dictionaries.n_stacks, NULL);
    table_pack(packer, &life_size_table, number, dictionaries.sizes, dictionaries.n_sizes, NULL);
    section_begin(packer);
    column_births(packer, lives);
    column_stacks(packer, lives, &dictionaries);
    column_deaths(packer, device, &dictionaries);
    column_waits(packer, lives);
    column_mapped(packer, dictionaries.size_place, lives->count, NULL);
    column_mapped(packer, lives->context, lives->count, packer->ids[OF_CONTEXTS].to);
    column_u16(packer, lives->stream, lives->count, device->n_streams);
    column_u16(packer, lives->pool, lives->count, device->n_pools);
    column_flags(packer, lives);
    section_end(packer, SECTION_LIVES, 0, number, lives->count);
}

/* Addresses: "the one of so many lives ago", or, where an address is new, its distance from where the memory
 * of the life before ended. */
static void addresses_pack(struct packer *packer, const struct lives *lives, uint32_t number) {
    struct numbering last_use = {NULL, 0, 0};
    if (lives->count == 0 || !packer_values(packer, lives->count))
        return;
    uint64_t *fresh = packer_alloc(packer, (uint64_t)lives->count * sizeof *fresh);
    uint64_t n_fresh = 0, end = 0;
    for (uint32_t i = 0; fresh != NULL && i < lives->count; i++) {
        struct numbering_slot *slot = numbering_slot(packer, &last_use, lives->address[i]);
        if (slot == NULL)
            break;
        packer->value[i] = slot->number != 0 ? i + 1 - slot->number : 0;
        if (slot->number == 0)
            fresh[n_fresh++] = zigzag(lives->address[i] - end);
        slot->number = i + 1;
        end = end_of_memory(lives->address[i], lives->size[i]);
    }
    numbering_release(packer, &last_use);
    if (packer->error != PAYLOAD_OK)
        return;
    section_begin(packer);
    section_add_column(packer, lives->count, 1);
    bytes_copy(packer->value, fresh, (size_t)n_fresh * sizeof *fresh);
    section_add_column(packer, n_fresh, 0);
    section_end(packer, SECTION_ADDRESSES, SECTION_OPTIONAL, number, lives->count);
}

/* Times as differences from the event before; the first is in the device's row. */
static void times_pack(struct packer *packer, const struct device_trace *device, uint32_t number) {
    if (device->time_us == NULL || device->n_events == 0 || !packer_values(packer, device->n_events))
        return;
    uint8_t *class = packer_alloc(packer, device->n_events);
    if (class == NULL)
        return;
    classify_events(device, class);
    section_begin(packer);
    for (uint32_t kind = 0; kind < N_EVENT_CLASSES; kind++) {
        uint64_t n = 0;
        for (uint32_t i = 0; i < device->n_events; i++)
            if (class[i] == kind)
                packer->value[n++] =
                    zigzag((uint64_t)device->time_us[i] - (uint64_t)device->time_us[i > 0 ? i - 1 : 0]);
        section_add_column(packer, n, 1);
    }
    section_end(packer, SECTION_TIMES, 0, number, device->n_events);
}

static void device_pack(struct packer *packer, const struct device_trace *device, uint32_t number) {
    if (!lives_valid(device)) {
        packer_fail(packer, PAYLOAD_BAD_VALUE);
        return;
    }
    packer->limit[OF_EVENTS] = device->n_events;
    packer->limit[OF_STREAMS] = device->n_streams;
    packer->limit[OF_POOLS] = device->n_pools;
    table_pack(packer, &stream_table, number, device->streams, device->n_streams, NULL);
    table_pack(packer, &pool_table, number, device->pools, device->n_pools, NULL);
    lives_pack(packer, device, number);
    addresses_pack(packer, &device->lives, number);
    times_pack(packer, device, number);
    table_pack(packer, &segment_event_table, number, device->segment_events, device->n_segment_events, NULL);
    table_pack(packer, &oom_table, number, device->ooms, device->n_ooms, NULL);
    table_pack(packer, &snapshot_table, number, device->snapshots, device->n_snapshots, NULL);
    table_pack(packer, &segment_table, number, device->segments, device->n_segments, NULL);
    table_pack(packer, &block_table, number, device->blocks, device->n_blocks, NULL);
}

static void device_rows_pack(struct packer *packer) {
    const struct trace *trace = packer->trace;
    struct device_row *rows = packer_alloc(packer, (uint64_t)trace->n_devices * sizeof *rows);
    for (uint32_t i = 0; rows != NULL && i < trace->n_devices; i++) {
        const struct device_trace *device = &trace->devices[i];
        bool timed = device->time_us != NULL && device->n_events > 0;
        rows[i] = (struct device_row){.n_events = device->n_events,
                                      .preexisting = device->lives.preexisting,
                                      .first_us = timed ? device->time_us[0] : 0,
                                      .ordinal = device->ordinal};
    }
    if (rows != NULL)
        table_pack(packer, &device_table, 0, rows, trace->n_devices, NULL);
}

static void file_pack(struct packer *packer) {
    const struct trace *trace = packer->trace;
    const struct file_row file = {trace->settings, trace->meta};
    table_pack(packer, &file_table, 0, &file, 1, NULL);
    strings_pack(packer);
    table_pack(packer, &fx_table, 0, trace->fx.fx, trace->fx.count, &packer->ids[OF_FX]);
    table_pack(packer, &frame_table, 0, trace->frames.frame, trace->frames.count, &packer->ids[OF_FRAMES]);
    table_pack(packer, &stack_table, 0, trace->stacks.stack, trace->stacks.count, &packer->ids[OF_STACKS]);
    table_pack(packer, &context_table, 0, trace->contexts.context, trace->contexts.count,
               &packer->ids[OF_CONTEXTS]);
    table_pack(packer, &annotation_table, 0, trace->annotations, trace->n_annotations, NULL);
    table_pack(packer, &diagnostic_table, 0, trace->diagnostics, trace->n_diagnostics, NULL);
    device_rows_pack(packer);
}

enum payload_error payload_pack(struct payload *payload, const struct trace *trace, struct arena *arena) {
    struct packer packer = {.payload = payload, .trace = trace};
    bytes_zero(payload, sizeof *payload);
    payload->arena = arena;
    limits_init(packer.limit);
    packer_renumber(&packer);
    if (packer.error == PAYLOAD_OK)
        file_pack(&packer);
    for (uint32_t i = 0; i < trace->n_devices && packer.error == PAYLOAD_OK; i++)
        device_pack(&packer, &trace->devices[i], i + 1);
    void *scratch = packer.value;
    arena_drop(arena, &scratch);
    return packer.error;
}

uint64_t payload_nbytes(const struct payload *payload) {
    uint64_t nbytes = HEADER_NBYTES + (uint64_t)payload->n_sections * SECTION_ENTRY_NBYTES +
                      (uint64_t)payload->n_pieces * PIECE_ENTRY_NBYTES;
    for (uint32_t i = 0; i < payload->n_pieces; i++)
        nbytes += payload->pieces[i].packed_nbytes;
    return nbytes;
}

void payload_assemble(const struct payload *payload, uint8_t *to) {
    bytes_copy(to, magic, sizeof magic);
    store_le(to + 8, payload->n_sections, 4);
    store_le(to + 12, payload->n_pieces, 4);
    to += HEADER_NBYTES;
    for (uint32_t i = 0; i < payload->n_sections; i++, to += SECTION_ENTRY_NBYTES) {
        const struct payload_section *section = &payload->sections[i];
        store_le(to, section->type, 2);
        store_le(to + 2, section->flags, 2);
        store_le(to + 4, section->device, 4);
        store_le(to + 8, section->count, 4);
        store_le(to + 12, section->n_pieces, 4);
    }
    for (uint32_t i = 0; i < payload->n_pieces; i++, to += PIECE_ENTRY_NBYTES) {
        store_le(to, payload->pieces[i].raw_nbytes, 4);
        store_le(to + 4, payload->pieces[i].packed_nbytes, 4);
    }
    for (uint32_t i = 0; i < payload->n_pieces; i++) {
        bytes_copy(to, payload->pieces[i].packed, payload->pieces[i].packed_nbytes);
        to += payload->pieces[i].packed_nbytes;
    }
}

/* ---- reading: header and directory ---- */

static bool section_known(uint32_t type) {
    return (type >= SECTION_FILE && type <= SECTION_DEVICES) ||
           (type >= SECTION_STREAMS && type < SECTION_END);
}

/* Sections are sorted by device and type, which leaves no room for two of the same. */
static uint64_t section_order(const struct payload_section *section) {
    return (uint64_t)section->device << 16 | section->type;
}

static enum payload_error section_check(const struct payload *payload, uint32_t index) {
    const struct payload_section *section = &payload->sections[index];
    bool of_device = section->type >= SECTION_STREAMS;
    if (index > 0 && section_order(section - 1) >= section_order(section))
        return PAYLOAD_BAD_SECTION;
    if (section->flags & ~SECTION_OPTIONAL || section->n_pieces == 0 || section->count == 0)
        return PAYLOAD_BAD_SECTION;
    if (section_known(section->type))
        return of_device == (section->device != 0) ? PAYLOAD_OK : PAYLOAD_BAD_SECTION;
    return section->flags & SECTION_OPTIONAL ? PAYLOAD_OK : PAYLOAD_BAD_SECTION;
}

/* Reads the entries of the sections; their pieces follow each other. */
static enum payload_error sections_read(struct payload *payload, const uint8_t *from) {
    uint64_t n_pieces = 0;
    for (uint32_t i = 0; i < payload->n_sections; i++, from += SECTION_ENTRY_NBYTES) {
        payload->sections[i] = (struct payload_section){
            .type = (uint16_t)load_le(from, 2),
            .flags = (uint16_t)load_le(from + 2, 2),
            .device = (uint32_t)load_le(from + 4, 4),
            .count = (uint32_t)load_le(from + 8, 4),
            .n_pieces = (uint32_t)load_le(from + 12, 4),
            .first_piece = (uint32_t)n_pieces,
        };
        enum payload_error error = section_check(payload, i);
        n_pieces += payload->sections[i].n_pieces;
        if (error != PAYLOAD_OK)
            return error;
        if (n_pieces > payload->n_pieces)
            return PAYLOAD_BAD_SECTION;
    }
    return n_pieces == payload->n_pieces ? PAYLOAD_OK : PAYLOAD_BAD_SECTION;
}

/* Reads the entries of the pieces; `packed` is where the first begins. */
static enum payload_error pieces_read(struct payload *payload, const uint8_t *from, const uint8_t *packed,
                                      uint64_t packed_nbytes) {
    for (uint32_t i = 0; i < payload->n_pieces; i++, from += PIECE_ENTRY_NBYTES) {
        struct payload_piece *piece = &payload->pieces[i];
        *piece = (struct payload_piece){.raw_nbytes = (uint32_t)load_le(from, 4),
                                        .packed = packed,
                                        .packed_nbytes = (uint32_t)load_le(from + 4, 4)};
        if (piece->packed_nbytes > packed_nbytes)
            return PAYLOAD_TRUNCATED;
        if (piece->raw_nbytes == 0 || piece->raw_nbytes > PAYLOAD_PIECE_NBYTES ||
            piece->raw_nbytes / MOST_INFLATION > piece->packed_nbytes)
            return PAYLOAD_BAD_VALUE;
        packed += piece->packed_nbytes;
        packed_nbytes -= piece->packed_nbytes;
    }
    return PAYLOAD_OK;
}

/* The pieces of a section are inflated to one place. */
static enum payload_error section_place(struct payload *payload, struct payload_section *section) {
    struct payload_piece *pieces = payload->pieces + section->first_piece;
    void *target = NULL;
    uint32_t capacity = 0;
    for (uint32_t i = 0; i < section->n_pieces; i++)
        section->raw_nbytes += pieces[i].raw_nbytes;
    /* Items of 16 bytes, because a section may have more bytes than a capacity can count. */
    if (!arena_grow(payload->arena, &target, &capacity, (section->raw_nbytes + 15) / 16, 16))
        return PAYLOAD_NO_MEMORY;
    uint8_t *at = target;
    section->raw = at;
    for (uint32_t i = 0; i < section->n_pieces; i++) {
        pieces[i].raw = pieces[i].target = at;
        at += pieces[i].raw_nbytes;
    }
    return PAYLOAD_OK;
}

/* Room for the directory, whose size was compared with the bytes that are there. */
static enum payload_error directory_alloc(struct payload *payload, uint32_t n_sections, uint32_t n_pieces) {
    payload->sections = arena_alloc(payload->arena, (size_t)n_sections * sizeof *payload->sections + 1);
    payload->pieces = arena_alloc(payload->arena, (size_t)n_pieces * sizeof *payload->pieces + 1);
    if (payload->sections == NULL || payload->pieces == NULL)
        return PAYLOAD_NO_MEMORY;
    payload->n_sections = payload->sections_capacity = n_sections;
    payload->n_pieces = payload->pieces_capacity = n_pieces;
    return PAYLOAD_OK;
}

enum payload_error payload_open(struct payload *payload, const void *bytes, uint64_t nbytes,
                                struct arena *arena) {
    const uint8_t *from = bytes;
    bytes_zero(payload, sizeof *payload);
    payload->arena = arena;
    if (nbytes < HEADER_NBYTES)
        return PAYLOAD_TRUNCATED;
    for (uint32_t i = 0; i < sizeof magic; i++)
        if (from[i] != magic[i])
            return PAYLOAD_BAD_MAGIC;
    uint32_t n_sections = (uint32_t)load_le(from + 8, 4), n_pieces = (uint32_t)load_le(from + 12, 4);
    uint64_t entries = (uint64_t)n_sections * SECTION_ENTRY_NBYTES + (uint64_t)n_pieces * PIECE_ENTRY_NBYTES;
    if (entries > nbytes - HEADER_NBYTES)
        return PAYLOAD_TRUNCATED;

    const uint8_t *section_entries = from + HEADER_NBYTES;
    const uint8_t *piece_entries = section_entries + (uint64_t)n_sections * SECTION_ENTRY_NBYTES;
    enum payload_error error = directory_alloc(payload, n_sections, n_pieces);
    if (error == PAYLOAD_OK)
        error = sections_read(payload, section_entries);
    if (error == PAYLOAD_OK)
        error =
            pieces_read(payload, piece_entries, section_entries + entries, nbytes - HEADER_NBYTES - entries);
    for (uint32_t i = 0; i < payload->n_sections && error == PAYLOAD_OK; i++)
        error = section_place(payload, &payload->sections[i]);
    return error;
}

/* ---- reading: columns ---- */

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

static void reader_fail(struct reader *reader, enum payload_error error) {
    if (reader->error == PAYLOAD_OK)
        reader->error = error;
}

static void column_fill(struct column *column) {
    uint64_t left = column->count - column->at;
    uint32_t n = left < COLUMN_BLOCK ? (uint32_t)left : COLUMN_BLOCK;
    for (uint32_t i = 0; i < COLUMN_BLOCK; i++)
        column->block[i] = 0;
    for (uint32_t k = 0; k < column->width; k++) {
        const uint8_t *plane = column->planes + k * column->count + column->at;
        uint32_t shift = column->shift + 8 * k;
        for (uint32_t i = 0; i < n; i++)
            column->block[i] |= (uint64_t)plane[i] << shift;
    }
    column->at += n;
    column->next = 0;
    column->have = COLUMN_BLOCK; /* beyond the end all values are 0 */
}

static inline uint64_t column_next(struct column *column) {
    if (column->next == column->have)
        column_fill(column);
    return column->block[column->next++];
}

/* NULL: there is none, which means no rows. */
static const struct payload_section *section_find(const struct payload *payload, uint16_t type,
                                                  uint32_t device) {
    const struct payload_section wanted = {.type = type, .device = device};
    uint32_t low = 0, high = payload->n_sections;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (section_order(&payload->sections[middle]) < section_order(&wanted))
            low = middle + 1;
        else
            high = middle;
    }
    if (low == payload->n_sections || section_order(&payload->sections[low]) != section_order(&wanted))
        return NULL;
    return &payload->sections[low];
}

/*
 * Reads the heads of a section of `n` columns. Column k has count[k] values, or, with count NULL, as many as
 * the section has rows. A first column takes at least a byte per row, so a section has no more rows than
 * bytes.
 */
static bool section_open(struct reader *reader, const struct payload_section *section, uint32_t n,
                         const uint64_t *count) {
    uint64_t at = (uint64_t)n * COLUMN_HEAD_NBYTES;
    if (section->raw_nbytes < at) {
        reader_fail(reader, PAYLOAD_TRUNCATED);
        return false;
    }
    for (uint32_t k = 0; k < n; k++) {
        struct column *column = &reader->column[k];
        column->width = section->raw[k * COLUMN_HEAD_NBYTES];
        column->shift = section->raw[k * COLUMN_HEAD_NBYTES + 1];
        column->count = count != NULL ? count[k] : section->count;
        column->at = column->next = column->have = 0;
        column->planes = section->raw + at;
        if (column->width * 8 + column->shift > 64 || (k == 0 && column->width == 0)) {
            reader_fail(reader, PAYLOAD_BAD_SECTION);
            return false;
        }
        if (column->width != 0 && column->count > (section->raw_nbytes - at) / column->width) {
            reader_fail(reader, PAYLOAD_TRUNCATED);
            return false;
        }
        at += column->width * column->count;
    }
    if (at != section->raw_nbytes)
        reader_fail(reader, PAYLOAD_BAD_SECTION);
    return reader->error == PAYLOAD_OK;
}

/* A column of the trace with room for `count` items. NULL and an error: no memory. */
static void *column_alloc(struct reader *reader, uint64_t count, size_t item_nbytes) {
    void *column = NULL;
    uint32_t capacity = 0;
    if (count == 0)
        count = 1;
    if (reader->error == PAYLOAD_OK &&
        !arena_grow(&reader->trace->arena, &column, &capacity, count, item_nbytes))
        reader_fail(reader, PAYLOAD_NO_MEMORY);
    return column;
}

/* ---- reading: tables of rows ---- */

static inline uint64_t value_decode(const struct table *table, const struct field *field, const uint8_t *row,
                                    uint64_t self, uint64_t code, uint64_t last, bool *ok) {
    const struct field *other = &table->field[field->other];
    uint64_t value = code;
    switch ((enum coding)field->coding) {
    case AS_IT_IS: break;
    case AS_SIGNED: value = unzigzag(code); break;
    case AS_STEP: value = last + unzigzag(code); break;
    case AS_RISE:
        value = last + code;
        *ok &= value >= last;
        break;
    case AS_NEXT:
        value = last + unzigzag(code);
        if (self > table->first)
            value += field_load(other, row - table->row_nbytes);
        break;
    case AS_BELOW: value = code == 0 ? 0 : field_load(other, row) - unzigzag(code - 1); break;
    case AS_PARENT:
        value = self - 1 - code;
        *ok &= code < self;
        break;
    }
    return value;
}

/* One column of a table into its rows. `rows` holds `first` rows that are not stored. */
static void field_decode(struct reader *reader, const struct table *table, uint32_t f, uint8_t *rows,
                         uint64_t count) {
    const struct field *field = &table->field[f];
    struct column *column = &reader->column[f];
    uint64_t last = 0;
    bool ok = true;
    for (uint64_t i = table->first; i < table->first + count; i++) {
        uint8_t *row = rows + i * table->row_nbytes;
        uint64_t value = value_decode(table, field, row, i, column_next(column), last, &ok);
        ok &= field_accepts(field, reader->limit, value);
        field_store(field, row, value);
        last = value;
    }
    if (!ok)
        reader_fail(reader, PAYLOAD_BAD_VALUE);
}

/* Reads a table; `*rows` is NULL where it has none. Returns the number of rows, "none" included. */
static uint32_t table_read(struct reader *reader, const struct table *table, uint32_t device, void **rows,
                           uint32_t *capacity) {
    const struct payload_section *section = section_find(reader->payload, table->type, device);
    if (section == NULL || reader->error != PAYLOAD_OK ||
        !section_open(reader, section, table->n_fields, NULL))
        return table->first;
    uint64_t total = (uint64_t)section->count + table->first;
    if (total > UINT32_MAX || !arena_grow(&reader->trace->arena, rows, capacity, total, table->row_nbytes)) {
        reader_fail(reader, PAYLOAD_NO_MEMORY);
        return table->first;
    }
    bytes_zero(*rows, (size_t)(total * table->row_nbytes));
    for (uint32_t f = 0; f < table->n_fields; f++)
        field_decode(reader, table, f, *rows, section->count);
    return (uint32_t)total;
}

/* A table that is not followed by more rows later. */
static uint32_t rows_read(struct reader *reader, const struct table *table, uint32_t device, void **rows) {
    uint32_t capacity = 0;
    *rows = NULL;
    return table_read(reader, table, device, rows, &capacity);
}

/* ---- reading: what belongs to the file ---- */

static void string_bytes_read(struct reader *reader, uint64_t nbytes) {
    const struct payload_section *section = section_find(reader->payload, SECTION_STRING_BYTES, 0);
    struct string_table *strings = &reader->trace->strings;
    if ((section != NULL ? section->count : 0) != nbytes) {
        reader_fail(reader, PAYLOAD_BAD_SECTION);
        return;
    }
    if (nbytes == 0 || !section_open(reader, section, 1, NULL))
        return;
    void *bytes = strings->bytes;
    if (reader->column[0].width != 1 || reader->column[0].shift != 0) {
        reader_fail(reader, PAYLOAD_BAD_SECTION);
    } else if (!arena_grow(&reader->trace->arena, &bytes, &strings->bytes_capacity, nbytes, 1)) {
        reader_fail(reader, PAYLOAD_NO_MEMORY);
    } else {
        strings->bytes = bytes;
        bytes_copy(strings->bytes, reader->column[0].planes, (size_t)nbytes);
    }
}

static void strings_read(struct reader *reader) {
    const struct payload_section *section = section_find(reader->payload, SECTION_STRING_LENGTHS, 0);
    struct string_table *strings = &reader->trace->strings;
    uint64_t at = 0;
    if (section != NULL && section_open(reader, section, 1, NULL)) {
        void *start = strings->start;
        if (!arena_grow(&reader->trace->arena, &start, &strings->start_capacity, (uint64_t)section->count + 2,
                        sizeof *strings->start)) {
            reader_fail(reader, PAYLOAD_NO_MEMORY);
            return;
        }
        strings->start = start;
        for (uint32_t i = 0; i < section->count && at <= UINT32_MAX; i++) {
            uint64_t nbytes = column_next(&reader->column[0]);
            strings->start[i + 1] = (uint32_t)at;
            at = nbytes <= UINT32_MAX ? at + nbytes : UINT64_MAX;
        }
        if (at > UINT32_MAX) {
            reader_fail(reader, PAYLOAD_BAD_VALUE);
            return;
        }
        strings->start[section->count + 1] = (uint32_t)at;
        strings->count = section->count + 1;
    }
    string_bytes_read(reader, at);
    reader->limit[OF_STRINGS] = strings->count;
}

/* Tables with a row for "none", of which an empty trace already has that row. */
static void none_table_read(struct reader *reader, const struct table *table, enum domain domain, void **rows,
                            uint32_t *count, uint32_t *capacity) {
    reader->limit[domain] = (uint64_t)1 << 32; /* parents are checked by their coding */
    if (reader->error == PAYLOAD_OK)
        *count = table_read(reader, table, 0, rows, capacity);
    reader->limit[domain] = *count;
}

static void interned_read(struct reader *reader) {
    struct trace *trace = reader->trace;
    void *rows = trace->fx.fx;
    none_table_read(reader, &fx_table, OF_FX, &rows, &trace->fx.count, &trace->fx.capacity);
    trace->fx.fx = rows;
    rows = trace->frames.frame;
    none_table_read(reader, &frame_table, OF_FRAMES, &rows, &trace->frames.count, &trace->frames.capacity);
    trace->frames.frame = rows;
    rows = trace->stacks.stack;
    none_table_read(reader, &stack_table, OF_STACKS, &rows, &trace->stacks.count, &trace->stacks.capacity);
    trace->stacks.stack = rows;
    rows = trace->contexts.context;
    none_table_read(reader, &context_table, OF_CONTEXTS, &rows, &trace->contexts.count,
                    &trace->contexts.capacity);
    trace->contexts.context = rows;
}

static void file_read(struct reader *reader) {
    struct trace *trace = reader->trace;
    void *rows;
    strings_read(reader);
    interned_read(reader);
    uint32_t n_files = rows_read(reader, &file_table, 0, &rows);
    const struct file_row *file = rows;
    if (reader->error == PAYLOAD_OK && n_files == 1) {
        trace->settings = file->settings;
        trace->meta = file->meta;
    } else {
        reader_fail(reader, PAYLOAD_BAD_SECTION);
    }
    trace->n_annotations = rows_read(reader, &annotation_table, 0, &rows);
    trace->annotations = rows;
    rows = NULL;
    trace->n_diagnostics = table_read(reader, &diagnostic_table, 0, &rows, &trace->diagnostics_capacity);
    trace->diagnostics = rows;
}

/* ---- reading: lives ---- */

static void births_read(struct reader *reader, struct lives *lives, uint32_t n_events) {
    struct column *column = &reader->column[0];
    uint64_t birth = 0;
    bool ok = true;
    for (uint32_t i = 0; i < lives->count; i++) {
        uint64_t step = column_next(column);
        birth += step;
        ok &= step <= n_events && birth <= n_events && (i < lives->preexisting) == (birth == 0);
        if (!ok)
            break;
        lives->birth[i] = (uint32_t)birth;
    }
    if (!ok)
        reader_fail(reader, PAYLOAD_BAD_VALUE);
}

/* Puts the place in the dictionary where the stack will be. */
static void stack_places_read(struct reader *reader, struct lives *lives, uint32_t n_stacks) {
    bool ok = true;
    for (uint32_t i = 0; i < lives->count; i++) {
        uint64_t place = column_next(&reader->column[1]);
        ok &= place < n_stacks;
        lives->stack[i] = ok ? (uint32_t)place : 0;
    }
    if (!ok)
        reader_fail(reader, PAYLOAD_BAD_VALUE);
}

/* Needs births and places of stacks. `last` has an item for each stack of the dictionary. */
static void deaths_read(struct reader *reader, struct lives *lives, uint32_t n_events, uint32_t *last) {
    struct column *column = &reader->column[2];
    uint64_t end = (uint64_t)n_events + 1, before = end;
    bool ok = true;
    for (uint32_t i = 0; i < lives->preexisting; i++) {
        uint64_t fall = column_next(column);
        ok &= fall <= before;
        before = ok ? before - fall : 0;
        lives->death[i] = (uint32_t)before;
    }
    for (uint32_t i = lives->preexisting; i < lives->count; i++) {
        uint64_t lifetime = last[lives->stack[i]] + unzigzag(column_next(column));
        uint64_t birth = lives->birth[i];
        ok &= lifetime <= end - birth + 1;
        lifetime = ok ? lifetime : 0;
        last[lives->stack[i]] = (uint32_t)lifetime;
        lives->death[i] = (uint32_t)(lifetime == 0 ? end : birth + lifetime - 1);
    }
    if (!ok)
        reader_fail(reader, PAYLOAD_BAD_VALUE);
}

static void waits_read(struct reader *reader, struct lives *lives) {
    bool ok = true;
    for (uint32_t i = 0; i < lives->count; i++) {
        uint64_t wait = column_next(&reader->column[3]);
        ok &= wait <= lives->death[i] - lives->birth[i];
        lives->request[i] = ok ? lives->death[i] - (uint32_t)wait : 0;
    }
    if (!ok)
        reader_fail(reader, PAYLOAD_BAD_VALUE);
}

static void sizes_read(struct reader *reader, struct lives *lives, const uint64_t *sizes, uint32_t n_sizes) {
    bool ok = true;
    for (uint32_t i = 0; i < lives->count; i++) {
        uint64_t place = column_next(&reader->column[4]);
        ok &= place < n_sizes;
        lives->size[i] = ok ? sizes[place] : 0;
    }
    if (!ok)
        reader_fail(reader, PAYLOAD_BAD_VALUE);
}

/* Columns 5 to 8: context, stream, pool, flags. */
static void labels_read(struct reader *reader, struct lives *lives) {
    struct column *column = reader->column;
    bool ok = true;
    for (uint32_t i = 0; i < lives->count; i++) {
        uint64_t context = column_next(&column[5]);
        ok &= context < reader->limit[OF_CONTEXTS];
        lives->context[i] = (uint32_t)context;
    }
    for (uint32_t i = 0; i < lives->count; i++) {
        uint64_t stream = column_next(&column[6]), pool = column_next(&column[7]);
        ok &= stream < reader->limit[OF_STREAMS] && pool < reader->limit[OF_POOLS];
        lives->stream[i] = (uint16_t)stream;
        lives->pool[i] = (uint16_t)pool;
    }
    for (uint32_t i = 0; i < lives->count; i++) {
        uint64_t flags = column_next(&column[8]);
        ok &= flags <= ALL_LIFE_FLAGS;
        lives->flags[i] = (uint8_t)flags;
    }
    if (!ok)
        reader_fail(reader, PAYLOAD_BAD_VALUE);
}

static bool lives_alloc(struct reader *reader, struct lives *lives, uint32_t count) {
    lives->birth = column_alloc(reader, count, sizeof *lives->birth);
    lives->death = column_alloc(reader, count, sizeof *lives->death);
    lives->request = column_alloc(reader, count, sizeof *lives->request);
    lives->size = column_alloc(reader, count, sizeof *lives->size);
    lives->address = column_alloc(reader, count, sizeof *lives->address);
    lives->stack = column_alloc(reader, count, sizeof *lives->stack);
    lives->context = column_alloc(reader, count, sizeof *lives->context);
    lives->stream = column_alloc(reader, count, sizeof *lives->stream);
    lives->pool = column_alloc(reader, count, sizeof *lives->pool);
    lives->flags = column_alloc(reader, count, sizeof *lives->flags);
    return reader->error == PAYLOAD_OK;
}

/* What the lives of a device choose from. */
struct read_dictionaries {
    void *stacks, *sizes, *last; /* u32, u64, and u32 for each stack */
    uint32_t n_stacks, n_sizes;
};

static bool dictionaries_read(struct reader *reader, struct read_dictionaries *dictionaries,
                              uint32_t number) {
    dictionaries->n_stacks = rows_read(reader, &life_stack_table, number, &dictionaries->stacks);
    dictionaries->n_sizes = rows_read(reader, &life_size_table, number, &dictionaries->sizes);
    dictionaries->last = column_alloc(reader, dictionaries->n_stacks, sizeof(uint32_t));
    if (reader->error == PAYLOAD_OK)
        bytes_zero(dictionaries->last, (size_t)dictionaries->n_stacks * sizeof(uint32_t));
    return reader->error == PAYLOAD_OK;
}

static void lives_read(struct reader *reader, struct device_trace *device, uint32_t number) {
    struct lives *lives = &device->lives;
    struct read_dictionaries dictionaries = {0};
    const struct payload_section *section = section_find(reader->payload, SECTION_LIVES, number);
    if (section == NULL) {
        if (lives->preexisting != 0)
            reader_fail(reader, PAYLOAD_BAD_VALUE);
        return;
    }
    if (lives->preexisting > section->count)
        reader_fail(reader, PAYLOAD_BAD_VALUE);
    if (!dictionaries_read(reader, &dictionaries, number) || !section_open(reader, section, 9, NULL) ||
        !lives_alloc(reader, lives, section->count))
        return;
    lives->count = section->count;
    births_read(reader, lives, device->n_events);
    stack_places_read(reader, lives, dictionaries.n_stacks);
    if (reader->error != PAYLOAD_OK)
        return;
    deaths_read(reader, lives, device->n_events, dictionaries.last);
    waits_read(reader, lives);
    sizes_read(reader, lives, dictionaries.sizes, dictionaries.n_sizes);
    labels_read(reader, lives);
    if (reader->error != PAYLOAD_OK)
        return;
    const uint32_t *stacks = dictionaries.stacks;
    for (uint32_t i = 0; i < lives->count; i++)
        lives->stack[i] = stacks[lives->stack[i]];
    arena_drop(&reader->trace->arena, &dictionaries.stacks);
    arena_drop(&reader->trace->arena, &dictionaries.sizes);
    arena_drop(&reader->trace->arena, &dictionaries.last);
}

/* How many of the section's lives have an address that is new: the zeros of its first column. */
static uint64_t fresh_addresses(struct reader *reader, const struct payload_section *section) {
    uint64_t fresh = 0;
    uint64_t nbytes = section->raw_nbytes;
    uint32_t width = nbytes > 0 ? section->raw[0] : 0;
    struct column *column = &reader->column[0];
    if (nbytes < 2 * COLUMN_HEAD_NBYTES || width > 8 || section->raw[1] > 64 - width * 8 ||
        section->count > (nbytes - 2 * COLUMN_HEAD_NBYTES) / (width != 0 ? width : 1))
        return 0; /* opening the section will say what is wrong */
    *column = (struct column){.planes = section->raw + 2 * COLUMN_HEAD_NBYTES,
                              .count = section->count,
                              .width = width,
                              .shift = section->raw[1]};
    for (uint32_t i = 0; i < section->count; i++)
        fresh += column_next(column) == 0;
    return fresh;
}

/* Optional: without it all addresses are 0. */
static void addresses_read(struct reader *reader, struct lives *lives, uint32_t number) {
    const struct payload_section *section = section_find(reader->payload, SECTION_ADDRESSES, number);
    uint64_t count[2], end = 0;
    bool ok = true;
    if (reader->error != PAYLOAD_OK)
        return;
    if (section == NULL) {
        if (lives->count > 0)
            bytes_zero(lives->address, (size_t)lives->count * sizeof *lives->address);
        return;
    }
    if (section->count != lives->count) {
        reader_fail(reader, PAYLOAD_BAD_SECTION);
        return;
    }
    count[0] = section->count;
    count[1] = fresh_addresses(reader, section);
    if (!section_open(reader, section, 2, count))
        return;
    for (uint32_t i = 0; i < lives->count; i++) {
        uint64_t back = column_next(&reader->column[0]);
        ok &= back <= i;
        uint64_t address = ok && back != 0 ? lives->address[i - back] : 0;
        if (back == 0)
            address = end + unzigzag(column_next(&reader->column[1]));
        lives->address[i] = address;
        end = end_of_memory(address, lives->size[i]);
    }
    if (!ok)
        reader_fail(reader, PAYLOAD_BAD_VALUE);
}

/* ---- reading: times and the other events of a device ---- */

static void times_read(struct reader *reader, struct device_trace *device, uint32_t number,
                       uint64_t first_us) {
    const struct payload_section *section = section_find(reader->payload, SECTION_TIMES, number);
    uint64_t count[N_EVENT_CLASSES] = {0}, at = first_us;
    if (section == NULL || reader->error != PAYLOAD_OK)
        return;
    /* Less than a byte per event cannot be; so this is checked before memory is taken. */
    if (section->count != device->n_events || section->raw_nbytes < device->n_events) {
        reader_fail(reader, PAYLOAD_BAD_SECTION);
        return;
    }
    void *class = column_alloc(reader, device->n_events, 1);
    device->time_us = column_alloc(reader, device->n_events, sizeof *device->time_us);
    if (reader->error != PAYLOAD_OK)
        return;
    const uint8_t *kind = class;
    bytes_zero(class, device->n_events);
    classify_events(device, class);
    for (uint32_t i = 0; i < device->n_events; i++)
        count[kind[i]]++;
    if (section_open(reader, section, N_EVENT_CLASSES, count)) {
        for (uint32_t i = 0; i < device->n_events; i++) {
            at += unzigzag(column_next(&reader->column[kind[i]]));
            device->time_us[i] = (int64_t)at;
        }
    }
    arena_drop(&reader->trace->arena, &class);
}

/* The allocator's index 0 is the default stream, and index 1 the default pool. */
static void streams_and_pools_read(struct reader *reader, struct device_trace *device, uint32_t number) {
    void *rows;
    device->n_streams = rows_read(reader, &stream_table, number, &rows);
    device->streams = rows;
    device->n_pools = rows_read(reader, &pool_table, number, &rows);
    device->pools = rows;
    /* Indices of both are 16-bit numbers. */
    if (device->n_streams > 1 << 16 || device->n_pools > 1 << 16)
        reader_fail(reader, PAYLOAD_BAD_SECTION);
    if (reader->error != PAYLOAD_OK)
        return;
    if ((device->n_streams > 0 && device->streams[0] != 0) ||
        (device->n_pools > 1 && (device->pools[1].first != 0 || device->pools[1].second != 0)))
        reader_fail(reader, PAYLOAD_BAD_VALUE);
    reader->limit[OF_STREAMS] = device->n_streams;
    reader->limit[OF_POOLS] = device->n_pools;
}

static void segments_read(struct reader *reader, struct device_trace *device, uint32_t number) {
    void *rows;
    device->n_segment_events = rows_read(reader, &segment_event_table, number, &rows);
    device->segment_events = rows;
    device->n_ooms = rows_read(reader, &oom_table, number, &rows);
    device->ooms = rows;
    device->n_snapshots = rows_read(reader, &snapshot_table, number, &rows);
    device->snapshots = rows;
    device->n_segments = rows_read(reader, &segment_table, number, &rows);
    device->segments = rows;
    device->n_blocks = rows_read(reader, &block_table, number, &rows);
    device->blocks = rows;
    if (reader->error != PAYLOAD_OK)
        return;
    for (uint32_t i = 0; i < device->n_segments; i++)
        if ((uint64_t)device->segments[i].first_block + device->segments[i].block_count > device->n_blocks)
            reader_fail(reader, PAYLOAD_BAD_VALUE);
}

static void device_read(struct reader *reader, uint32_t index, const struct device_row *row) {
    struct device_trace *device = &reader->trace->devices[index];
    bytes_zero(device, sizeof *device);
    device->ordinal = row->ordinal;
    device->n_events = row->n_events;
    device->lives.preexisting = row->preexisting;
    if (row->n_events > UINT32_MAX - 2 || (index > 0 && row[-1].ordinal >= row->ordinal)) {
        reader_fail(reader, PAYLOAD_BAD_VALUE);
        return;
    }
    reader->limit[OF_EVENTS] = device->n_events;
    streams_and_pools_read(reader, device, index + 1);
    if (reader->error == PAYLOAD_OK)
        lives_read(reader, device, index + 1);
    addresses_read(reader, &device->lives, index + 1);
    times_read(reader, device, index + 1, (uint64_t)row->first_us);
    segments_read(reader, device, index + 1);
}

static void devices_read(struct reader *reader) {
    const struct payload *payload = reader->payload;
    struct trace *trace = reader->trace;
    void *rows;
    uint32_t n_devices = rows_read(reader, &device_table, 0, &rows);
    if (reader->error != PAYLOAD_OK)
        return;
    /* Sections are sorted by device. */
    if (payload->n_sections > 0 && payload->sections[payload->n_sections - 1].device > n_devices) {
        reader_fail(reader, PAYLOAD_BAD_SECTION);
        return;
    }
    trace->devices = column_alloc(reader, n_devices, sizeof *trace->devices);
    for (uint32_t i = 0; i < n_devices && reader->error == PAYLOAD_OK; i++) {
        device_read(reader, i, (const struct device_row *)rows + i);
        trace->n_devices = i + 1;
    }
    arena_drop(&trace->arena, &rows);
}

enum payload_error payload_unpack(const struct payload *payload, struct trace *trace) {
    struct reader *reader = arena_alloc(payload->arena, sizeof *reader);
    if (reader == NULL)
        return PAYLOAD_NO_MEMORY;
    reader->payload = payload;
    reader->trace = trace;
    limits_init(reader->limit);
    file_read(reader);
    if (reader->error == PAYLOAD_OK)
        devices_read(reader);
    return reader->error;
}
