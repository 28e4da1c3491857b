/* Turns the sections of a payload back into a trace, checking everything. */
#include "base/search.h"
#include "trace/payload_reader.h"
#include "trace/trace_check.h"

/* ---- columns ---- */

void reader_fail(struct reader *reader, enum payload_error error) {
    if (reader->error == PAYLOAD_OK)
        reader->error = error;
}

void column_fill(struct column *column) {
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

/* NULL: the section is missing, which means that it has no rows. */
const struct payload_section *section_find(const struct payload *payload, uint16_t type, uint32_t device) {
    const struct payload_section wanted = {.type = type, .device = device};
    uint32_t low =
        SEARCH(0, payload->n_sections, i, section_order(&payload->sections[i]) < section_order(&wanted));
    if (low == payload->n_sections || section_order(&payload->sections[low]) != section_order(&wanted))
        return NULL;
    return &payload->sections[low];
}

/* Reads the heads of a section of `n` columns. Column k has count[k] values (UINT64_MAX: as many as the rest of the
 * section holds) or, with count NULL, as many as the section has rows. A first column takes at least a byte per
 * row, so a section has no more rows than bytes. */
bool section_open(struct reader *reader, const struct payload_section *section, uint32_t n,
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
        if (column->count == UINT64_MAX)
            column->count = column->width != 0 ? (section->raw_nbytes - at) / column->width : 0;
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
void *column_alloc(struct reader *reader, uint64_t count, size_t item_nbytes) {
    if (reader->error != PAYLOAD_OK)
        return NULL;
    void *column = arena_column(&reader->trace->arena, count, item_nbytes);
    if (column == NULL)
        reader_fail(reader, PAYLOAD_NO_MEMORY);
    return column;
}

/* ---- tables of rows ---- */

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
    }
    return value;
}

/* Decodes one column of a table into its rows. `rows` begins with `first` rows that are not stored. */
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
    reader_check(reader, ok);
}

/* Reads a table; `*rows` becomes NULL if it has none. Returns the number of rows, "none" included. */
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

/* Reads a table without a place in the trace. */
uint32_t rows_read(struct reader *reader, const struct table *table, uint32_t device, void **rows) {
    uint32_t capacity = 0;
    *rows = NULL;
    return table_read(reader, table, device, rows, &capacity);
}

/* ---- what belongs to the file ---- */

static void string_bytes_read(struct reader *reader, uint64_t nbytes) {
    const struct payload_section *section = section_find(reader->payload, SECTION_STRING_BYTES, 0);
    struct string_table *strings = &reader->trace->strings;
    if ((section != NULL ? section->count : 0) != nbytes) {
        reader_fail(reader, PAYLOAD_BAD_SECTION);
        return;
    }
    if (nbytes == 0 || !section_open(reader, section, 1, NULL))
        return;
    if (reader->column[0].width != 1 || reader->column[0].shift != 0) {
        reader_fail(reader, PAYLOAD_BAD_SECTION);
    } else if (!ARENA_GROW(&reader->trace->arena, strings->bytes, strings->bytes_capacity, nbytes)) {
        reader_fail(reader, PAYLOAD_NO_MEMORY);
    } else {
        bytes_copy(strings->bytes, reader->column[0].planes, (size_t)nbytes);
    }
}

static void strings_read(struct reader *reader) {
    const struct payload_section *section = section_find(reader->payload, SECTION_STRING_LENGTHS, 0);
    struct string_table *strings = &reader->trace->strings;
    uint64_t at = 0;
    if (section != NULL && section_open(reader, section, 1, NULL)) {
        if (!ARENA_GROW(&reader->trace->arena, strings->start, strings->start_capacity,
                        (uint64_t)section->count + 2)) {
            reader_fail(reader, PAYLOAD_NO_MEMORY);
            return;
        }
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

/* Reads a table into its place in `owner`: the trace, or the device `number`, counted from 1. */
static void place_read(struct reader *reader, const struct table_place *place, void *owner, uint32_t number) {
    uint8_t *at = owner;
    void *rows;
    uint32_t capacity = 0, count;
    if (reader->error != PAYLOAD_OK)
        return;
    bytes_copy(&rows, at + place->rows, sizeof rows);
    if (place->capacity != 0)
        bytes_copy(&capacity, at + place->capacity, sizeof capacity);
    count = table_read(reader, place->table, number, &rows, &capacity);
    bytes_copy(at + place->rows, &rows, sizeof rows);
    bytes_copy(at + place->count, &count, sizeof count);
    if (place->capacity != 0)
        bytes_copy(at + place->capacity, &capacity, sizeof capacity);
    if (place->ids != OF_ANY)
        reader->limit[place->ids] = count;
}

static void trace_place_read(struct reader *reader, uint32_t place) {
    place_read(reader, &payload_trace_places[place], reader->trace, 0);
}

/* Optional: present only if --own or --library named frames. */
static void frame_owners_read(struct reader *reader) {
    struct frame_table *frames = &reader->trace->frames;
    void *owner;
    uint32_t count = rows_read(reader, &payload_frame_owner_table, 0, &owner);
    if (owner != NULL && count != frames->count)
        reader_fail(reader, PAYLOAD_BAD_SECTION);
    frames->owner = owner;
}

static void frames_read(struct reader *reader) {
    trace_place_read(reader, PLACE_FX);
    trace_place_read(reader, PLACE_FRAMES);
    frame_owners_read(reader);
}

static uint32_t stacks_rows(const struct reader *reader) {
    const struct payload_section *section = section_find(reader->payload, SECTION_STACKS, 0);
    return section == NULL ? 0 : section->count;
}

static void stacks_open(struct reader *reader) {
    struct stack_table *stacks = &reader->trace->stacks;
    uint32_t count = stacks_rows(reader);
    if (count != 0 && section_open(reader, section_find(reader->payload, SECTION_STACKS, 0), 2, NULL) &&
        !ARENA_GROW(&reader->trace->arena, stacks->frame, stacks->capacity, (uint64_t)count + 1))
        reader_fail(reader, PAYLOAD_NO_MEMORY);
}

/* Two columns side by side: how many rows lie between a stack and its parent, and its frame. */
static void stacks_read(struct reader *reader) {
    struct stack_table *stacks = &reader->trace->stacks;
    for (uint32_t i = reader->part.from + 1; reader->error == PAYLOAD_OK && i <= reader->part.to; i++) {
        uint64_t code = column_row(&reader->column[0], i - 1), frame = column_row(&reader->column[1], i - 1);
        if (code >= i || frame >= reader->limit[OF_FRAMES])
            reader_fail(reader, PAYLOAD_BAD_VALUE);
        else if (!stack_table_add(stacks, &reader->trace->arena, i - 1 - (uint32_t)code, (uint32_t)frame))
            reader_fail(reader, PAYLOAD_NO_MEMORY);
    }
    reader->limit[OF_STACKS] = stacks->count;
}

/* Optional: older pages have only the messages. */
static void diagnostic_numbers_read(struct reader *reader) {
    const struct trace *trace = reader->trace;
    void *rows;
    if (section_find(reader->payload, SECTION_DIAGNOSTIC_NUMBERS, 0) == NULL)
        return;
    uint32_t count = rows_read(reader, &payload_diagnostic_number_table, 0, &rows);
    const struct diagnostic *told = rows;
    if (reader->error == PAYLOAD_OK && count != trace->n_diagnostics)
        reader_fail(reader, PAYLOAD_BAD_SECTION);
    for (uint32_t i = 0; reader->error == PAYLOAD_OK && i < count; i++) {
        trace->diagnostics[i].key = told[i].key;
        bytes_copy(trace->diagnostics[i].number, told[i].number, sizeof told[i].number);
    }
}

static void file_read(struct reader *reader) {
    struct trace *trace = reader->trace;
    void *rows;
    trace_place_read(reader, PLACE_CONTEXTS);
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
    trace_place_read(reader, PLACE_ANNOTATIONS);
    trace_place_read(reader, PLACE_DIAGNOSTICS);
    diagnostic_numbers_read(reader);
}

/* ---- times and the other events of a device ---- */

static const struct payload_section *times_section(const struct reader *reader) {
    return section_find(reader->payload, SECTION_TIMES, reader->device + 1);
}

/* Optional. Needs the allocations, because they say what each event is. */
static void times_open(struct reader *reader) {
    struct device_trace *device = reader_device(reader);
    const struct payload_section *section = times_section(reader);
    if (section == NULL)
        return;
    /* An event takes at least a byte. Checked before memory is taken. */
    if (section->count != device->n_events || section->raw_nbytes < device->n_events) {
        reader_fail(reader, PAYLOAD_BAD_SECTION);
        return;
    }
    reader->class = column_alloc(reader, device->n_events, 1);
    device->time_us = column_alloc(reader, device->n_events, sizeof *device->time_us);
    if (reader->error != PAYLOAD_OK)
        return;
    bytes_zero(reader->class, device->n_events);
    for (uint32_t i = 0; i < N_EVENT_CLASSES; i++)
        reader->classes[i] = 0;
}

/* First all ends, then all beginnings: an event that is both counts as a birth. */
static void completions_classify(struct reader *reader) {
    if (reader->class != NULL)
        payload_classify_completions(reader_device(reader), reader->class, reader->part.from,
                                     reader->part.to);
}

static void births_classify(struct reader *reader) {
    if (reader->class != NULL)
        payload_classify_births(reader_device(reader), reader->class, reader->part.from, reader->part.to);
}

static void classes_count(struct reader *reader) {
    if (reader->class == NULL)
        return;
    for (uint32_t i = reader->part.from; i < reader->part.to; i++)
        reader->classes[reader->class[i]]++;
    if (reader->part.to == reader_device(reader)->n_events)
        section_open(reader, times_section(reader), N_EVENT_CLASSES, reader->classes);
}

static void times_read(struct reader *reader) {
    struct device_trace *device = reader_device(reader);
    uint64_t at = reader->part.carried;
    if (reader->class == NULL)
        return;
    if (reader->part.from == 0)
        at = (uint64_t)reader->rows[reader->device].first_us;
    bool rise = reader->part.from == 0 || device->times_rise;
    for (uint32_t i = reader->part.from; i < reader->part.to; i++) {
        int64_t before = (int64_t)at;
        at += unzigzag(column_next(&reader->column[reader->class[i]]));
        device->time_us[i] = (int64_t)at;
        rise &= (int64_t)at >= before;
    }
    device->times_rise = rise;
    reader->part.carried = at;
    if (reader->part.to == device->n_events)
        ARENA_DROP(&reader->trace->arena, reader->class);
}

static void streams_and_pools_read(struct reader *reader) {
    struct device_trace *device = reader_device(reader);
    for (uint32_t i = PLACE_STREAMS; i <= PLACE_POOLS; i++)
        place_read(reader, &payload_device_places[i], device, reader->device + 1);
}

static void segments_read(struct reader *reader) {
    struct device_trace *device = reader_device(reader);
    for (uint32_t i = PLACE_SEGMENT_EVENTS; i < DEVICE_PLACES; i++)
        place_read(reader, &payload_device_places[i], device, reader->device + 1);
}

static void device_begin(struct reader *reader) {
    const struct device_row *row = &reader->rows[reader->device];
    struct device_trace *device = reader_device(reader);
    *device = (struct device_trace){.ordinal = row->ordinal,
                                    .name = row->name,
                                    .capacity_bytes = row->capacity_bytes,
                                    .n_events = row->n_events};
    device->allocations.preexisting = row->preexisting;
    reader->trace->n_devices = reader->device + 1;
    if (row->n_events > UINT32_MAX - 2 || (reader->device > 0 && row[-1].ordinal >= row->ordinal)) {
        reader_fail(reader, PAYLOAD_BAD_VALUE);
        return;
    }
    reader->limit[OF_EVENTS] = device->n_events;
    streams_and_pools_read(reader);
}

static void devices_begin(struct reader *reader) {
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
    reader->rows = rows;
    reader->n_devices = n_devices;
}

/* ---- step by step ---- */

/* A step reads its rows part by part; a step without rows has one part. */
struct step {
    void (*read)(struct reader *reader);           /* NULL: there are no more */
    uint32_t (*rows)(const struct reader *reader); /* NULL: none */
};

static uint32_t allocation_rows(const struct reader *reader) {
    return reader_device(reader)->allocations.count;
}

static uint32_t event_rows(const struct reader *reader) {
    return reader_device(reader)->n_events;
}

static const struct step file_steps[] = {
    {strings_read, NULL}, {frames_read, NULL},   {stacks_open, NULL}, {stacks_read, stacks_rows},
    {file_read, NULL},    {devices_begin, NULL}, {NULL, NULL}};

static const struct step device_steps[] = {{device_begin, NULL},
                                           {allocations_open, NULL},
                                           {allocations_read_births, allocation_rows},
                                           {allocations_read_stack_places, allocation_rows},
                                           {allocations_read_deaths, allocation_rows},
                                           {allocations_read_waits, allocation_rows},
                                           {allocations_read_sizes, allocation_rows},
                                           {allocations_read_contexts, allocation_rows},
                                           {allocations_read_places, allocation_rows},
                                           {allocations_read_flags, allocation_rows},
                                           {addresses_open, NULL},
                                           {addresses_read, allocation_rows},
                                           {times_open, NULL},
                                           {completions_classify, allocation_rows},
                                           {births_classify, allocation_rows},
                                           {classes_count, event_rows},
                                           {times_read, event_rows},
                                           {segments_read, NULL},
                                           {merged_open, NULL},
                                           {merged_read, allocation_rows},
                                           {NULL, NULL}};

struct reader *payload_unpacking(const struct payload *payload, struct trace *trace) {
    struct reader *reader = arena_alloc(payload->arena, sizeof *reader);
    if (reader == NULL)
        return NULL;
    reader->payload = payload;
    reader->trace = trace;
    reader->step = file_steps;
    payload_limits_init(reader->limit);
    return reader;
}

/* After the last device. What was read so far refers to rows that exist; here it is a recording or an error. */
static int32_t reader_end(struct reader *reader) {
    reader_check(reader, trace_check(reader->trace) == NULL);
    return reader->error;
}

/* Reads one part of the step. True: it was the last. */
static bool step_read(struct reader *reader) {
    enum { PART_ROWS = 1 << 18 }; /* some 5 ms in a browser that has not optimised the module yet */
    uint32_t rows = reader->step->rows != NULL ? reader->step->rows(reader) : 0;
    reader->part.from = reader->part.to;
    reader->part.to = rows - reader->part.from > PART_ROWS ? reader->part.from + PART_ROWS : rows;
    reader->step->read(reader);
    if (reader->part.to < rows)
        return false;
    reader->part.to = 0;
    reader->part.carried = reader->part.n_fresh = 0;
    reader->step++;
    return true;
}

int32_t payload_unpack_some(struct reader *reader) {
    bool of_file = reader->rows == NULL;
    if (reader->error != PAYLOAD_OK)
        return reader->error;
    if (reader->step->read == NULL)
        return reader_end(reader);
    if (step_read(reader) && reader->error == PAYLOAD_OK && reader->step->read == NULL) {
        reader->device += !of_file;
        if (reader->device < reader->n_devices)
            reader->step = device_steps;
    }
    return reader->error != PAYLOAD_OK ? (int32_t)reader->error : PAYLOAD_MORE;
}

enum payload_error payload_unpack(const struct payload *payload, struct trace *trace) {
    struct reader *reader = payload_unpacking(payload, trace);
    int32_t state = reader != NULL ? PAYLOAD_MORE : PAYLOAD_NO_MEMORY;
    while (state == PAYLOAD_MORE)
        state = payload_unpack_some(reader);
    return (enum payload_error)state;
}
