/* From the bytes of a payload back to a trace. Nothing in them is believed before it is checked. */
#include "trace/payload_format.h"

/* No deflate stream inflates to more than 1032 times its size (258 bytes per two bits). */
enum { MOST_INFLATION = 1032 };

static uint64_t load_le(const uint8_t *from, uint32_t nbytes) {
    uint64_t value = 0;
    for (uint32_t i = 0; i < nbytes; i++)
        value |= (uint64_t)from[i] << (8 * i);
    return value;
}

/* ---- reading: header and directory ---- */

static bool section_known(uint32_t type) {
    return (type >= SECTION_FILE && type <= SECTION_FRAME_OWNERS) ||
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
    for (uint32_t i = 0; i < sizeof payload_magic; i++)
        if (from[i] != payload_magic[i])
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

static void frame_texts_check(struct reader *reader) {
    const struct trace *trace = reader->trace;
    uint32_t n_file, n_name;
    for (uint32_t i = 0; reader->error == PAYLOAD_OK && i < trace->frames.count; i++) {
        trace_string(trace, trace->frames.frame[i].file, &n_file);
        trace_string(trace, trace->frames.frame[i].name, &n_name);
        if (n_file > FRAME_TEXT_MAX_NBYTES || n_name > FRAME_TEXT_MAX_NBYTES)
            reader_fail(reader, PAYLOAD_BAD_VALUE);
    }
}

/* Optional: without it nobody told whose frames are. */
static void frame_owners_read(struct reader *reader) {
    const struct payload_section *section = section_find(reader->payload, SECTION_FRAME_OWNERS, 0);
    struct frame_table *frames = &reader->trace->frames;
    bool ok = true;
    if (section == NULL || reader->error != PAYLOAD_OK)
        return;
    if (section->count != frames->count - 1) {
        reader_fail(reader, PAYLOAD_BAD_SECTION);
        return;
    }
    uint8_t *owner = column_alloc(reader, frames->count, sizeof *owner);
    if (owner == NULL || !section_open(reader, section, 1, NULL))
        return;
    owner[0] = OWNER_UNTOLD;
    for (uint32_t i = 1; i < frames->count; i++) {
        uint64_t value = column_next(&reader->column[0]);
        ok &= value < reader->limit[OF_OWNERS];
        owner[i] = (uint8_t)value;
    }
    frames->owner = owner;
    if (!ok)
        reader_fail(reader, PAYLOAD_BAD_VALUE);
}

static void interned_read(struct reader *reader) {
    struct trace *trace = reader->trace;
    void *rows = trace->fx.fx;
    none_table_read(reader, &payload_fx_table, OF_FX, &rows, &trace->fx.count, &trace->fx.capacity);
    trace->fx.fx = rows;
    rows = trace->frames.frame;
    none_table_read(reader, &payload_frame_table, OF_FRAMES, &rows, &trace->frames.count,
                    &trace->frames.capacity);
    trace->frames.frame = rows;
    frame_texts_check(reader);
    frame_owners_read(reader);
    rows = trace->stacks.stack;
    none_table_read(reader, &payload_stack_table, OF_STACKS, &rows, &trace->stacks.count,
                    &trace->stacks.capacity);
    trace->stacks.stack = rows;
    rows = trace->contexts.context;
    none_table_read(reader, &payload_context_table, OF_CONTEXTS, &rows, &trace->contexts.count,
                    &trace->contexts.capacity);
    trace->contexts.context = rows;
}

static void file_read(struct reader *reader) {
    struct trace *trace = reader->trace;
    void *rows;
    strings_read(reader);
    interned_read(reader);
    uint32_t n_files = rows_read(reader, &payload_file_table, 0, &rows);
    const struct file_row *file = rows;
    if (reader->error != PAYLOAD_OK || file == NULL || n_files != 1) {
        reader_fail(reader, PAYLOAD_BAD_SECTION);
        return;
    }
    trace->settings = file->settings;
    trace->meta = file->meta;
    trace->kind = (enum trace_kind)file->kind;
    trace->rank = file->rank;
    if (trace->rank < RANK_UNKNOWN)
        reader_fail(reader, PAYLOAD_BAD_VALUE);
    trace->n_annotations = rows_read(reader, &payload_annotation_table, 0, &rows);
    trace->annotations = rows;
    rows = NULL;
    trace->n_diagnostics =
        table_read(reader, &payload_diagnostic_table, 0, &rows, &trace->diagnostics_capacity);
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
    dictionaries->n_stacks = rows_read(reader, &payload_life_stack_table, number, &dictionaries->stacks);
    dictionaries->n_sizes = rows_read(reader, &payload_life_size_table, number, &dictionaries->sizes);
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

/* Optional: without it every row is one allocation. */
static void merged_read(struct reader *reader, struct lives *lives, uint32_t number) {
    const struct payload_section *section = section_find(reader->payload, SECTION_MERGED, number);
    bool ok = true;
    if (section == NULL || reader->error != PAYLOAD_OK)
        return;
    if (section->count != lives->count) {
        reader_fail(reader, PAYLOAD_BAD_SECTION);
        return;
    }
    lives->merged = column_alloc(reader, section->count, sizeof *lives->merged);
    if (lives->merged == NULL || !section_open(reader, section, 1, NULL))
        return;
    for (uint32_t i = 0; i < lives->count; i++) {
        uint64_t more = column_next(&reader->column[0]);
        ok &= more < UINT32_MAX;
        lives->merged[i] = (uint32_t)(more + 1);
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
    payload_classify_events(device, class);
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
    device->n_streams = rows_read(reader, &payload_stream_table, number, &rows);
    device->streams = rows;
    device->n_pools = rows_read(reader, &payload_pool_table, number, &rows);
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
    device->n_segment_events = rows_read(reader, &payload_segment_event_table, number, &rows);
    device->segment_events = rows;
    device->n_ooms = rows_read(reader, &payload_oom_table, number, &rows);
    device->ooms = rows;
    device->n_snapshots = rows_read(reader, &payload_snapshot_table, number, &rows);
    device->snapshots = rows;
    device->n_segments = rows_read(reader, &payload_segment_table, number, &rows);
    device->segments = rows;
    device->n_blocks = rows_read(reader, &payload_block_table, number, &rows);
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
    device->name = row->name;
    device->capacity_bytes = row->capacity_bytes;
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
    merged_read(reader, &device->lives, index + 1);
}

static void devices_read(struct reader *reader) {
    const struct payload *payload = reader->payload;
    struct trace *trace = reader->trace;
    void *rows;
    uint32_t n_devices = rows_read(reader, &payload_device_table, 0, &rows);
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
    payload_limits_init(reader->limit);
    file_read(reader);
    if (reader->error == PAYLOAD_OK)
        devices_read(reader);
    if (reader->error == PAYLOAD_OK && trace_oversized_device(trace) != ORDINAL_NONE)
        reader_fail(reader, PAYLOAD_BAD_VALUE);
    return reader->error;
}
