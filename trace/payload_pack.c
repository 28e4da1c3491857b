/* Turns a trace into the pieces of its payload. */
#include "trace/payload_packer.h"
#include "trace/trace_check.h"

enum {
    /* A plane of at least this many bytes begins a piece of its own: in one Huffman code with its neighbours, the
     * statistics of each would spoil the other. For smaller planes the cost of a stream (header, codes, checksum)
     * is higher. */
    PLANE_ALONE_NBYTES = 1024
};

void packer_fail(struct packer *packer, enum payload_error error) {
    if (packer->error == PAYLOAD_OK)
        packer->error = error;
}

void *packer_alloc(struct packer *packer, uint64_t nbytes) {
    void *bytes = arena_column(packer->payload->arena, nbytes, 1);
    if (bytes == NULL)
        packer_fail(packer, PAYLOAD_NO_MEMORY);
    return bytes;
}

/* Makes room for `count` numbers in packer->value. */
bool packer_values(struct packer *packer, uint64_t count) {
    bool ok = ARENA_GROW(packer->payload->arena, packer->value, packer->value_capacity, count);
    if (!ok)
        packer_fail(packer, PAYLOAD_NO_MEMORY);
    return ok && packer->error == PAYLOAD_OK;
}

void section_begin(struct packer *packer) {
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

/* ---- columns: plane k has byte k of every number ---- */

static uint32_t bytes_needed(uint64_t value) {
    uint32_t nbytes = 0;
    for (; value != 0; value >>= 8)
        nbytes++;
    return nbytes;
}

/* Adds planes, which are 0 for the numbers so far. */
static bool column_widen(struct packer *packer, struct column *column, uint32_t width) {
    while (column->width < width) {
        uint8_t *plane = packer_alloc(packer, column->count);
        if (plane == NULL)
            return false;
        bytes_zero(plane, column->written);
        column->plane[column->width++] = plane;
    }
    return true;
}

void column_write(struct packer *packer, struct column *column, const uint64_t *value, uint32_t n) {
    uint64_t all = column->all;
    for (uint32_t i = 0; i < n; i++)
        all |= value[i];
    column->all = all;
    if (!column_widen(packer, column, bytes_needed(all)))
        return;
    for (uint32_t k = 0; k < column->width; k++) {
        uint8_t *to = column->plane[k] + column->written;
        for (uint32_t i = 0; i < n; i++)
            to[i] = (uint8_t)(value[i] >> 8 * k);
    }
    column->written += n;
}

/* Shifts every number to the right by bits that are 0. Eight bits are a plane of zeros, which becomes the highest. */
static void column_shift(struct column *column, uint32_t shift) {
    for (; shift >= 8; shift -= 8) {
        uint8_t *zeros = column->plane[0];
        bytes_move(column->plane, column->plane + 1, (column->width - 1) * sizeof *column->plane);
        column->plane[column->width - 1] = zeros;
    }
    for (uint32_t k = 0; k < column->width; k++) {
        uint8_t *to = column->plane[k];
        const uint8_t *above = k + 1 < column->width ? column->plane[k + 1] : NULL;
        for (uint32_t i = 0; i < column->count; i++)
            to[i] = (uint8_t)(to[i] >> shift | (above != NULL ? above[i] << (8 - shift) : 0));
    }
}

void section_add_column(struct packer *packer, struct column *column, uint32_t least_width) {
    uint32_t shift = column->all != 0 ? (uint32_t)__builtin_ctzll(column->all) : 0;
    uint32_t width = bytes_needed(column->all >> shift);
    /* No shift unless it saves a plane: deflate finds more repetitions in aligned bytes. */
    if (width == column->width)
        shift = 0;
    if (width * 8 + shift > 64) /* the planes of the highest bits would end above bit 64 */
        shift = 64 - width * 8;
    if (shift != 0)
        column_shift(column, shift);
    for (uint32_t k = width; k < column->width; k++)
        ARENA_DROP(packer->payload->arena, column->plane[k]);
    column->width = width;
    if (!column_widen(packer, column, least_width))
        return;
    section_add_head(packer, column->width, shift);
    for (uint32_t k = 0; k < column->width && column->count != 0; k++)
        section_add_chunk(packer, column->plane[k], column->count);
}

/* Adds the first `count` numbers of the scratch column as the next column. */
static void section_add_values(struct packer *packer, uint64_t count, uint32_t least_width) {
    struct column column = {.count = (uint32_t)count};
    column_write(packer, &column, packer->value, (uint32_t)count);
    if (packer->error == PAYLOAD_OK)
        section_add_column(packer, &column, least_width);
}

void section_add_rows(struct packer *packer, const struct column_rows *rows, uint32_t least_width) {
    struct column column = {.count = rows->count};
    if (!packer_values(packer, COLUMN_RUN))
        return;
    for (uint32_t first = 0, n; first < rows->count; first += n) {
        n = rows->count - first < COLUMN_RUN ? rows->count - first : COLUMN_RUN;
        rows->fill(packer, rows->context, first, n);
        column_write(packer, &column, packer->value, n);
    }
    if (packer->error == PAYLOAD_OK)
        section_add_column(packer, &column, least_width);
}

/* Adds pieces of at most PAYLOAD_PIECE_NBYTES each. */
static void section_add_pieces(struct packer *packer, const uint8_t *bytes, uint64_t nbytes) {
    struct payload *payload = packer->payload;
    while (nbytes > 0) {
        if (!ARENA_GROW(payload->arena, payload->pieces, payload->pieces_capacity,
                        (uint64_t)payload->n_pieces + 1)) {
            packer_fail(packer, PAYLOAD_NO_MEMORY);
            return;
        }
        uint32_t raw_nbytes = nbytes < PAYLOAD_PIECE_NBYTES ? (uint32_t)nbytes : PAYLOAD_PIECE_NBYTES;
        payload->pieces[payload->n_pieces++] = (struct payload_piece){.raw = bytes, .raw_nbytes = raw_nbytes};
        bytes += raw_nbytes;
        nbytes -= raw_nbytes;
    }
}

/* Adds chunks [first, end) as pieces; several chunks are joined into one run of bytes. */
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

/* Ends the section: heads and planes become pieces, and the section gets its entry in the directory. */
void section_end(struct packer *packer, uint16_t type, uint16_t flags, uint32_t device, uint32_t count) {
    struct payload *payload = packer->payload;
    if (packer->error != PAYLOAD_OK)
        return;
    if (!ARENA_GROW(payload->arena, payload->sections, payload->sections_capacity,
                    (uint64_t)payload->n_sections + 1)) {
        packer_fail(packer, PAYLOAD_NO_MEMORY);
        return;
    }
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

/* ---- which ids are used ---- */

static void id_mark(struct packer *packer, enum domain domain, uint64_t id) {
    struct id_slots *ids = &packer->ids[domain];
    if (id < ids->n_ids)
        id_slots_use(ids, (uint32_t)id);
    else
        packer_fail(packer, PAYLOAD_BAD_VALUE);
}

uint64_t packer_id(const struct packer *packer, enum domain domain, uint64_t id) {
    const struct id_slots *ids = &packer->ids[domain];
    return ids->count == ids->n_ids ? id : id_slot(ids, (uint32_t)id);
}

/* Marks what the rows of a table refer to; with `used`, what its marked rows refer to. */
static void table_mark(struct packer *packer, const struct table *table, const void *rows, uint64_t count,
                       const struct id_slots *used) {
    for (uint32_t f = 0; f < table->n_fields; f++) {
        const struct field *field = &table->field[f];
        if (packer->ids[field->domain].bits == NULL)
            continue;
        for (uint64_t i = 0; i < count; i++)
            if (used == NULL || id_has_slot(used, (uint32_t)i))
                id_mark(packer, field->domain,
                        field_load(field, (const uint8_t *)rows + i * table->row_nbytes));
    }
}

/* The rows of a place in its owner, and of these the ones in use; NULL: all are. */
struct place_rows {
    const void *rows;
    uint32_t count;
    const struct id_slots *used;
};

static struct place_rows place_rows(const struct packer *packer, const struct table_place *place,
                                    const void *owner) {
    struct place_rows found = {.used =
                                   packer->ids[place->ids].bits != NULL ? &packer->ids[place->ids] : NULL};
    bytes_copy(&found.rows, (const uint8_t *)owner + place->rows, sizeof found.rows);
    bytes_copy(&found.count, (const uint8_t *)owner + place->count, sizeof found.count);
    return found;
}

static void place_mark(struct packer *packer, const struct table_place *place, const void *owner) {
    struct place_rows found = place_rows(packer, place, owner);
    table_mark(packer, place->table, found.rows, found.count, found.used);
}

static void device_mark(struct packer *packer, const struct device_trace *device) {
    id_mark(packer, OF_STRINGS, device->name);
    for (uint32_t i = 0; i < device->allocations.count; i++) {
        id_mark(packer, OF_STACKS, device->allocations.stack[i]);
        id_mark(packer, OF_CONTEXTS, device->allocations.context[i]);
    }
    for (uint32_t i = 0; i < DEVICE_PLACES; i++)
        place_mark(packer, &payload_device_places[i], device);
}

/* A parent comes before its children. */
static void stacks_mark(struct packer *packer) {
    const struct stack_table *stacks = &packer->trace->stacks;
    struct id_slots *ids = &packer->ids[OF_STACKS];
    for (uint32_t i = 1; i < stacks->count; i++)
        if (stack_parent(stacks, i) >= i)
            packer_fail(packer, PAYLOAD_BAD_VALUE);
    if (packer->error != PAYLOAD_OK)
        return;
    id_slots_use_parents(ids, stacks);
    for (uint32_t i = 0; i < stacks->count; i = id_slots_next(ids, i + 1))
        id_mark(packer, OF_FRAMES, stacks->frame[i]);
}

static struct file_row file_row_of(const struct trace *trace) {
    return (struct file_row){
        .settings = trace->settings, .meta = trace->meta, .kind = (uint32_t)trace->kind, .rank = trace->rank};
}

/* Finds the rows in use: those of the devices first, then the stacks, frames and strings that they refer to. */
static void packer_renumber(struct packer *packer) {
    const struct trace *trace = packer->trace;
    const struct file_row file = file_row_of(trace);
    const uint32_t counts[N_DOMAINS] = {[OF_STRINGS] = trace->strings.count,
                                        [OF_FRAMES] = trace->frames.count,
                                        [OF_FX] = trace->fx.count,
                                        [OF_STACKS] = trace->stacks.count,
                                        [OF_CONTEXTS] = trace->contexts.count};
    for (enum domain domain = OF_STRINGS; domain <= OF_CONTEXTS; domain++) {
        packer->limit[domain] = counts[domain];
        if (!id_slots_begin(&packer->ids[domain], counts[domain], packer->payload->arena)) {
            packer_fail(packer, PAYLOAD_NO_MEMORY);
            return;
        }
    }
    for (uint32_t i = 0; i < trace->n_devices; i++)
        device_mark(packer, &trace->devices[i]);
    stacks_mark(packer);
    for (uint32_t i = TRACE_PLACES; i-- > 0;) /* backwards, because frames refer to torch.fx's notes */
        place_mark(packer, &payload_trace_places[i], trace);
    table_mark(packer, &payload_diagnostic_number_table, trace->diagnostics, trace->n_diagnostics, NULL);
    table_mark(packer, &payload_file_table, &file, 1, NULL);
    for (enum domain domain = OF_STRINGS; domain <= OF_CONTEXTS; domain++)
        id_slots_number(&packer->ids[domain]);
}

/* ---- tables of rows ---- */

/* A table while one of its columns is being packed. */
struct packing {
    const struct table *table;
    const uint8_t *rows;
    uint64_t count;
    const struct id_slots *used; /* NULL: all rows */
};

/* A field's value with its new id, as the reader will see it. */
static uint64_t packed_value(struct packer *packer, const struct field *field, const uint8_t *row) {
    uint64_t value = field_load(field, row);
    if (!field_accepts(field, packer->limit, value)) {
        packer_fail(packer, PAYLOAD_BAD_VALUE);
        return 0;
    }
    return packer_id(packer, field->domain, value);
}

static uint64_t value_encode(struct packer *packer, const struct table *table, const struct field *field,
                             const uint8_t *row, const uint8_t *before) {
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
    }
    return code;
}

/* Fills the scratch column with the numbers of one field; returns how many. */
static uint64_t field_encode(struct packer *packer, const struct packing *packing,
                             const struct field *field) {
    const struct table *table = packing->table;
    const uint8_t *before = NULL;
    uint64_t n = 0;
    for (uint64_t i = table->first; i < packing->count; i++) {
        if (packing->used != NULL && !id_has_slot(packing->used, (uint32_t)i))
            continue;
        const uint8_t *row = packing->rows + i * table->row_nbytes;
        packer->value[n] = value_encode(packer, table, field, row, before);
        before = row;
        n++;
    }
    return n;
}

void table_pack(struct packer *packer, const struct table *table, uint32_t device, const void *rows,
                uint64_t count, const struct id_slots *used) {
    const struct packing packing = {table, rows, count, used};
    const bool is_optional = table->type == SECTION_FRAME_OWNERS ||
                             table->type == SECTION_DIAGNOSTIC_NUMBERS || table->type == SECTION_OOM_PLACES;
    uint64_t n = 0;
    if (count <= table->first || !packer_values(packer, count))
        return;
    section_begin(packer);
    for (uint32_t f = 0; f < table->n_fields; f++) {
        n = field_encode(packer, &packing, &table->field[f]);
        section_add_values(packer, n, f == 0);
    }
    if (n > 0)
        section_end(packer, table->type, is_optional ? SECTION_OPTIONAL : 0, device, (uint32_t)n);
}

static void place_pack(struct packer *packer, const struct table_place *place, const void *owner,
                       uint32_t device) {
    struct place_rows found = place_rows(packer, place, owner);
    table_pack(packer, place->table, device, found.rows, found.count, found.used);
}

static void strings_pack(struct packer *packer) {
    const struct string_table *strings = &packer->trace->strings;
    const struct id_slots *ids = &packer->ids[OF_STRINGS];
    uint64_t n = 0, nbytes = 0;
    if (ids->count <= 1 || !packer_values(packer, strings->count))
        return;
    for (uint32_t i = 1; i < strings->count; i++)
        if (id_has_slot(ids, i))
            nbytes += packer->value[n++] = strings->start[i + 1] - strings->start[i];
    section_begin(packer);
    section_add_values(packer, n, 1);
    section_end(packer, SECTION_STRING_LENGTHS, 0, 0, (uint32_t)n);

    uint8_t *text = packer_alloc(packer, nbytes);
    uint64_t at = 0;
    for (uint32_t i = 1; text != NULL && i < strings->count; i++) {
        if (!id_has_slot(ids, i))
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

/* ---- stacks: the largest table by far where no two begin alike, so packed without a scratch column ---- */

/* Rows between a stack and its parent, and its frame. */
enum stack_column { STACK_PARENT, STACK_FRAME, STACK_COLUMNS };

static uint64_t stack_code(const struct packer *packer, uint32_t stack, enum stack_column column) {
    const struct stack_table *stacks = &packer->trace->stacks;
    return column == STACK_FRAME ? packer_id(packer, OF_FRAMES, stacks->frame[stack])
                                 : packer_id(packer, OF_STACKS, stack) - 1 -
                                       packer_id(packer, OF_STACKS, stack_parent(stacks, stack));
}

static void stack_column_pack(struct packer *packer, enum stack_column kind) {
    const struct id_slots *ids = &packer->ids[OF_STACKS];
    struct column column = {.count = ids->count - 1};
    if (!packer_values(packer, COLUMN_RUN))
        return;
    for (uint32_t i = id_slots_next(ids, 1), n; i < ids->n_ids;) {
        for (n = 0; n < COLUMN_RUN && i < ids->n_ids; n++, i = id_slots_next(ids, i + 1))
            packer->value[n] = stack_code(packer, i, kind);
        column_write(packer, &column, packer->value, n);
    }
    if (packer->error == PAYLOAD_OK)
        section_add_column(packer, &column, kind == STACK_PARENT);
}

static void stacks_pack(struct packer *packer) {
    uint32_t count = packer->ids[OF_STACKS].count;
    if (count <= 1 || packer->error != PAYLOAD_OK)
        return;
    section_begin(packer);
    for (enum stack_column column = 0; column < STACK_COLUMNS; column++)
        stack_column_pack(packer, column);
    section_end(packer, SECTION_STACKS, 0, 0, count - 1);
}

static void device_pack(struct packer *packer, const struct device_trace *device, uint32_t number) {
    packer->limit[OF_EVENTS] = device->n_events;
    packer->limit[OF_STREAMS] = device->n_streams;
    packer->limit[OF_POOLS] = device->n_pools;
    for (uint32_t i = 0; i < DEVICE_PLACES; i++) {
        if (i == PLACE_SEGMENT_EVENTS) {
            allocations_pack(packer, device, number);
            addresses_pack(packer, &device->allocations, number);
            times_pack(packer, device, number);
        }
        if (i == PLACE_NOTES)
            merged_pack(packer, &device->allocations, number);
        place_pack(packer, &payload_device_places[i], device, number);
    }
}

static void device_rows_pack(struct packer *packer) {
    const struct trace *trace = packer->trace;
    struct device_row *rows = packer_alloc(packer, (uint64_t)trace->n_devices * sizeof *rows);
    for (uint32_t i = 0; rows != NULL && i < trace->n_devices; i++) {
        const struct device_trace *device = &trace->devices[i];
        bool timed = device->time_us != NULL && device->n_events > 0;
        rows[i] = (struct device_row){.n_events = device->n_events,
                                      .preexisting = device->allocations.preexisting,
                                      .first_us = timed ? device->time_us[0] : 0,
                                      .capacity_bytes = device->capacity_bytes,
                                      .name = device->name,
                                      .ordinal = device->ordinal};
    }
    if (rows != NULL)
        table_pack(packer, &payload_device_table, 0, rows, trace->n_devices, NULL);
}

static void file_pack(struct packer *packer) {
    const struct trace *trace = packer->trace;
    const struct file_row file = file_row_of(trace);
    table_pack(packer, &payload_file_table, 0, &file, 1, NULL);
    strings_pack(packer);
    for (uint32_t i = 0; i < TRACE_PLACES; i++) {
        if (i == PLACE_CONTEXTS)
            stacks_pack(packer);
        place_pack(packer, &payload_trace_places[i], trace, 0);
    }
    device_rows_pack(packer);
    table_pack(packer, &payload_frame_owner_table, 0, trace->frames.owner,
               trace->frames.owner != NULL ? trace->frames.count : 0, &packer->ids[OF_FRAMES]);
    table_pack(packer, &payload_diagnostic_number_table, 0, trace->diagnostics, trace->n_diagnostics, NULL);
}

enum payload_error payload_pack(struct payload *payload, const struct trace *trace, struct arena *arena) {
    struct packer packer = {.payload = payload, .trace = trace};
    bytes_zero(payload, sizeof *payload);
    payload->arena = arena;
    payload_limits_init(packer.limit);
    if (trace_check(trace) != NULL) /* the reader would refuse it */
        return PAYLOAD_BAD_VALUE;
    packer_renumber(&packer);
    if (packer.error == PAYLOAD_OK)
        file_pack(&packer);
    for (uint32_t i = 0; i < trace->n_devices && packer.error == PAYLOAD_OK; i++)
        device_pack(&packer, &trace->devices[i], i + 1);
    ARENA_DROP(arena, packer.value);
    return packer.error;
}

static void store_le(uint8_t *to, uint64_t value, uint32_t nbytes) {
    for (uint32_t i = 0; i < nbytes; i++)
        to[i] = (uint8_t)(value >> (8 * i));
}

uint64_t payload_nbytes(const struct payload *payload) {
    uint64_t nbytes = HEADER_NBYTES + (uint64_t)payload->n_sections * SECTION_ENTRY_NBYTES +
                      (uint64_t)payload->n_pieces * PIECE_ENTRY_NBYTES;
    for (uint32_t i = 0; i < payload->n_pieces; i++)
        nbytes += payload->pieces[i].packed_nbytes;
    return nbytes;
}

void payload_assemble(const struct payload *payload, uint8_t *to) {
    bytes_copy(to, payload_magic, sizeof payload_magic);
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
