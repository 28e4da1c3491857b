/* Reads allocations from the sections of a payload. */
#include "trace/payload_reader.h"

void allocations_read_births(struct reader *reader) {
    struct allocations *allocations = &reader_device(reader)->allocations;
    uint32_t n_events = reader_device(reader)->n_events;
    struct column *column = &reader->column[0];
    uint64_t birth = reader->part.carried;
    bool ok = true;
    for (uint32_t i = reader->part.from; i < reader->part.to; i++) {
        uint64_t step = column_row(column, i);
        birth += step;
        ok &= step <= n_events && birth <= n_events && (i < allocations->preexisting) == (birth == 0);
        if (!ok)
            break;
        allocations->birth[i] = (uint32_t)birth;
    }
    reader->part.carried = birth;
    reader_check(reader, ok);
}

/* Stores each stack's place in the dictionary; the stack itself replaces it later. */
void allocations_read_stack_places(struct reader *reader) {
    struct allocations *allocations = &reader_device(reader)->allocations;
    uint32_t n_stacks = reader->choice.n_stacks;
    bool ok = true;
    for (uint32_t i = reader->part.from; i < reader->part.to; i++) {
        uint64_t place = column_row(&reader->column[1], i);
        ok &= place < n_stacks;
        allocations->stack[i] = ok ? (uint32_t)place : 0;
    }
    reader_check(reader, ok);
}

/* Reads the deaths of allocations from before the recording, which come first, by falling death. */
static bool older_deaths_read(struct reader *reader, uint32_t from, uint32_t to) {
    struct allocations *allocations = &reader_device(reader)->allocations;
    uint64_t before = from == 0 ? (uint64_t)reader_device(reader)->n_events + 1 : reader->part.carried;
    bool ok = true;
    for (uint32_t i = from; i < to; i++) {
        uint64_t fall = column_row(&reader->column[2], i);
        ok &= fall <= before;
        before = ok ? before - fall : 0;
        allocations->death[i] = (uint32_t)before;
    }
    reader->part.carried = before;
    return ok;
}

/* Needs births and places of stacks. */
void allocations_read_deaths(struct reader *reader) {
    struct allocations *allocations = &reader_device(reader)->allocations;
    uint32_t *last = reader->choice.last, from = reader->part.from, to = reader->part.to;
    uint32_t older = allocations->preexisting < to ? allocations->preexisting : to;
    uint64_t end = (uint64_t)reader_device(reader)->n_events + 1;
    bool ok = from >= older || older_deaths_read(reader, from, older);
    for (uint32_t i = from < older ? older : from; i < to; i++) {
        uint64_t lifetime = last[allocations->stack[i]] + unzigzag(column_row(&reader->column[2], i));
        uint64_t birth = allocations->birth[i];
        ok &= lifetime <= end - birth + 1;
        lifetime = ok ? lifetime : 0;
        last[allocations->stack[i]] = (uint32_t)lifetime;
        allocations->death[i] = (uint32_t)(lifetime == 0 ? end : birth + lifetime - 1);
    }
    reader_check(reader, ok);
}

void allocations_read_waits(struct reader *reader) {
    struct allocations *allocations = &reader_device(reader)->allocations;
    bool ok = true;
    for (uint32_t i = reader->part.from; i < reader->part.to; i++) {
        uint64_t wait = column_row(&reader->column[3], i);
        ok &= wait <= allocations->death[i] - allocations->birth[i];
        allocations->request[i] = ok ? allocations->death[i] - (uint32_t)wait : 0;
    }
    reader_check(reader, ok);
}

void allocations_read_sizes(struct reader *reader) {
    struct allocations *allocations = &reader_device(reader)->allocations;
    const uint64_t *sizes = reader->choice.sizes;
    uint32_t n_sizes = reader->choice.n_sizes;
    bool ok = true;
    for (uint32_t i = reader->part.from; i < reader->part.to; i++) {
        uint64_t place = column_row(&reader->column[4], i);
        ok &= place < n_sizes;
        allocations->size[i] = ok ? sizes[place] : 0;
    }
    reader_check(reader, ok);
}

void allocations_read_contexts(struct reader *reader) {
    struct allocations *allocations = &reader_device(reader)->allocations;
    bool ok = true;
    for (uint32_t i = reader->part.from; i < reader->part.to; i++) {
        uint64_t context = column_row(&reader->column[5], i);
        ok &= context < reader->limit[OF_CONTEXTS];
        allocations->context[i] = (uint32_t)context;
    }
    reader_check(reader, ok);
}

void allocations_read_places(struct reader *reader) {
    struct allocations *allocations = &reader_device(reader)->allocations;
    bool ok = true;
    for (uint32_t i = reader->part.from; i < reader->part.to; i++) {
        uint64_t stream = column_row(&reader->column[6], i), pool = column_row(&reader->column[7], i);
        ok &= stream < reader->limit[OF_STREAMS] && pool < reader->limit[OF_POOLS];
        allocations->stream[i] = (uint16_t)stream;
        allocations->pool[i] = (uint16_t)pool;
    }
    reader_check(reader, ok);
}

/* Reads the last column; replaces each stack's place by the stack, then frees the dictionaries. */
void allocations_read_flags(struct reader *reader) {
    struct allocations *allocations = &reader_device(reader)->allocations;
    const uint32_t *stacks = reader->choice.stacks;
    bool ok = true;
    for (uint32_t i = reader->part.from; i < reader->part.to; i++) {
        uint64_t flags = column_row(&reader->column[8], i);
        ok &= flags <= ALL_ALLOCATION_FLAGS;
        allocations->flags[i] = (uint8_t)flags;
        allocations->stack[i] = stacks[allocations->stack[i]];
    }
    reader_check(reader, ok);
    if (reader->part.to < allocations->count)
        return;
    ARENA_DROP(&reader->trace->arena, reader->choice.stacks, reader->choice.sizes, reader->choice.last);
}

static bool choice_read(struct reader *reader) {
    uint32_t number = reader->device + 1;
    reader->choice.n_stacks =
        rows_read(reader, &payload_allocation_stack_table, number, &reader->choice.stacks);
    reader->choice.n_sizes = rows_read(reader, &payload_allocation_size_table, number, &reader->choice.sizes);
    reader->choice.last = column_alloc(reader, reader->choice.n_stacks, sizeof(uint32_t));
    if (reader->error == PAYLOAD_OK)
        bytes_zero(reader->choice.last, (size_t)reader->choice.n_stacks * sizeof(uint32_t));
    return reader->error == PAYLOAD_OK;
}

void allocations_open(struct reader *reader) {
    struct allocations *allocations = &reader_device(reader)->allocations;
    const struct payload_section *section =
        section_find(reader->payload, SECTION_ALLOCATIONS, reader->device + 1);
    if (section == NULL) {
        if (allocations->preexisting != 0)
            reader_fail(reader, PAYLOAD_BAD_VALUE);
        return;
    }
    if (allocations->preexisting > section->count)
        reader_fail(reader, PAYLOAD_BAD_VALUE);
    if (!choice_read(reader) || !section_open(reader, section, 9, NULL))
        return;
    if (allocations_alloc(allocations, section->count, &reader->trace->arena))
        allocations->count = section->count;
    else
        reader_fail(reader, PAYLOAD_NO_MEMORY);
}

/* NULL: all addresses are 0. */
static const struct payload_section *addresses_section(const struct reader *reader) {
    return section_find(reader->payload, SECTION_ADDRESSES, reader->device + 1);
}

/* The zeros of the first column give the length of the second, which addresses_read checks. */
void addresses_open(struct reader *reader) {
    struct allocations *allocations = &reader_device(reader)->allocations;
    const struct payload_section *section = addresses_section(reader);
    const uint64_t count[2] = {allocations->count, UINT64_MAX};
    if (section != NULL && section->count != allocations->count)
        reader_fail(reader, PAYLOAD_BAD_SECTION);
    else if (section != NULL)
        section_open(reader, section, 2, count);
    else if (allocations->count > 0)
        bytes_zero(allocations->address, (size_t)allocations->count * sizeof *allocations->address);
}

void addresses_read(struct reader *reader) {
    struct allocations *allocations = &reader_device(reader)->allocations;
    uint64_t end = reader->part.carried;
    bool ok = true;
    if (addresses_section(reader) == NULL)
        return;
    for (uint32_t i = reader->part.from; i < reader->part.to; i++) {
        uint64_t back = column_row(&reader->column[0], i);
        ok &= back <= i;
        uint64_t address = ok && back != 0 ? allocations->address[i - back] : 0;
        if (back == 0) {
            address = end + unzigzag(column_next(&reader->column[1]));
            reader->part.n_fresh++;
        }
        allocations->address[i] = address;
        end = end_of_memory(address, allocations->size[i]);
    }
    reader->part.carried = end;
    reader_check(reader, ok);
    if (reader->part.to == allocations->count && reader->column[1].width != 0 &&
        reader->part.n_fresh != reader->column[1].count)
        reader_fail(reader, PAYLOAD_BAD_SECTION);
}

/* Optional: without this section every row is one allocation. */
void merged_open(struct reader *reader) {
    struct allocations *allocations = &reader_device(reader)->allocations;
    const struct payload_section *section = section_find(reader->payload, SECTION_MERGED, reader->device + 1);
    if (section == NULL)
        return;
    if (section->count != allocations->count) {
        reader_fail(reader, PAYLOAD_BAD_SECTION);
        return;
    }
    allocations->merged = column_alloc(reader, section->count, sizeof *allocations->merged);
    if (allocations->merged != NULL)
        section_open(reader, section, 1, NULL);
}

void merged_read(struct reader *reader) {
    struct allocations *allocations = &reader_device(reader)->allocations;
    bool ok = true;
    if (allocations->merged == NULL)
        return;
    for (uint32_t i = reader->part.from; i < reader->part.to; i++) {
        uint64_t more = column_row(&reader->column[0], i);
        ok &= more < UINT32_MAX;
        allocations->merged[i] = (uint32_t)(more + 1);
    }
    reader_check(reader, ok);
}
