/* Packs allocations into the sections of a payload. */
#include "base/hashed.h"
#include "trace/payload_packer.h"

/* Adds a key that is not there. False: no memory, and the packer has failed. */
static bool number_add(struct packer *packer, struct key_map *map, uint64_t key, uint32_t number) {
    if (key_map_add(map, packer->payload->arena, key, number))
        return true;
    packer_fail(packer, PAYLOAD_NO_MEMORY);
    return false;
}

/* A device's stacks and sizes, in the order of their first allocation. */
struct allocation_dictionaries {
    uint32_t *stack_place; /* [old stack id] place in `stacks` + 1; 0: not there */
    uint32_t *stacks;
    uint64_t *sizes;
    uint32_t *size_place; /* [allocation] */
    uint32_t n_stacks, n_sizes;
};

static bool dictionaries_alloc(struct packer *packer, struct allocation_dictionaries *dictionaries,
                               uint64_t n) {
    uint64_t n_stacks = packer->trace->stacks.count;
    dictionaries->stack_place = packer_alloc(packer, n_stacks * sizeof(uint32_t));
    dictionaries->stacks = packer_alloc(packer, (n < n_stacks ? n : n_stacks) * sizeof(uint32_t));
    dictionaries->sizes = packer_alloc(packer, n * sizeof(uint64_t));
    dictionaries->size_place = packer_alloc(packer, n * sizeof(uint32_t));
    if (packer->error != PAYLOAD_OK)
        return false;
    bytes_zero(dictionaries->stack_place, (size_t)n_stacks * sizeof(uint32_t));
    return true;
}

static void dictionaries_release(struct packer *packer, struct allocation_dictionaries *dictionaries) {
    struct arena *arena = packer->payload->arena;
    ARENA_DROP(arena, dictionaries->stack_place, dictionaries->stacks, dictionaries->sizes,
               dictionaries->size_place);
}

static void dictionaries_fill(struct packer *packer, struct allocation_dictionaries *dictionaries,
                              const struct allocations *allocations) {
    struct key_map sizes = {0}; /* a size: its place + 1 */
    if (!dictionaries_alloc(packer, dictionaries, allocations->count))
        return;
    for (uint32_t i = 0; i < allocations->count; i++) {
        uint32_t *place = &dictionaries->stack_place[allocations->stack[i]];
        if (*place == 0) {
            dictionaries->stacks[dictionaries->n_stacks++] = allocations->stack[i];
            *place = dictionaries->n_stacks;
        }
        const uint32_t *number = key_map_number(&sizes, allocations->size[i]);
        dictionaries->size_place[i] = number != NULL ? *number - 1 : dictionaries->n_sizes;
        if (number != NULL)
            continue;
        dictionaries->sizes[dictionaries->n_sizes++] = allocations->size[i];
        if (!number_add(packer, &sizes, allocations->size[i], dictionaries->n_sizes))
            break;
    }
    ARENA_DROP(packer->payload->arena, sizes.slot);
}

/* The sources of the columns. */
struct allocation_rows {
    const struct device_trace *device;
    const struct allocations *allocations;
    const struct allocation_dictionaries *dictionaries;
    uint32_t *last; /* [dictionaries->n_stacks] the last lifetime of each stack */
};

static void births_fill(struct packer *packer, const void *context, uint32_t first, uint32_t n) {
    const uint32_t *birth = ((const struct allocation_rows *)context)->allocations->birth + first;
    for (uint32_t i = 0; i < n; i++)
        packer->value[i] = birth[i] - (first + i > 0 ? birth[(int64_t)i - 1] : 0);
}

static void stacks_fill(struct packer *packer, const void *context, uint32_t first, uint32_t n) {
    const struct allocation_rows *rows = context;
    for (uint32_t i = 0; i < n; i++)
        packer->value[i] = rows->dictionaries->stack_place[rows->allocations->stack[first + i]] - 1;
}

/* Lifetimes are stored against the last lifetime of the same stack, because loops repeat themselves. Allocations
 * older than the recording are sorted by their death, so their difference from the row before is small. */
static void deaths_fill(struct packer *packer, const void *context, uint32_t first, uint32_t n) {
    const struct allocation_rows *rows = context;
    const struct allocations *allocations = rows->allocations;
    const uint32_t end = rows->device->n_events + 1;
    if (first == 0)
        bytes_zero(rows->last, (size_t)rows->dictionaries->n_stacks * sizeof *rows->last);
    for (uint32_t i = first; i < first + n; i++) {
        uint32_t death = allocations->death[i];
        if (i < allocations->preexisting) {
            packer->value[i - first] = (i > 0 ? allocations->death[i - 1] : end) - death;
            continue;
        }
        uint32_t lifetime = death == end ? 0 : death - allocations->birth[i] + 1;
        uint32_t *of_stack = &rows->last[rows->dictionaries->stack_place[allocations->stack[i]] - 1];
        packer->value[i - first] = zigzag((uint64_t)lifetime - *of_stack);
        *of_stack = lifetime;
    }
}

static void waits_fill(struct packer *packer, const void *context, uint32_t first, uint32_t n) {
    const struct allocations *allocations = ((const struct allocation_rows *)context)->allocations;
    for (uint32_t i = 0; i < n; i++)
        packer->value[i] = allocations->death[first + i] - allocations->request[first + i];
}

static void sizes_fill(struct packer *packer, const void *context, uint32_t first, uint32_t n) {
    const struct allocation_rows *rows = context;
    for (uint32_t i = 0; i < n; i++)
        packer->value[i] = rows->dictionaries->size_place[first + i];
}

static void contexts_fill(struct packer *packer, const void *context, uint32_t first, uint32_t n) {
    const struct allocation_rows *rows = context;
    for (uint32_t i = 0; i < n; i++)
        packer->value[i] = packer_id(packer, OF_CONTEXTS, rows->allocations->context[first + i]);
}

/* Ids below `limit`. */
static void u16_fill(struct packer *packer, const uint16_t *ids, uint32_t n, uint64_t limit) {
    for (uint32_t i = 0; i < n; i++) {
        packer->value[i] = ids[i];
        if (ids[i] >= limit)
            packer_fail(packer, PAYLOAD_BAD_VALUE);
    }
}

static void streams_fill(struct packer *packer, const void *context, uint32_t first, uint32_t n) {
    const struct allocation_rows *rows = context;
    u16_fill(packer, rows->allocations->stream + first, n, rows->device->n_streams);
}

static void pools_fill(struct packer *packer, const void *context, uint32_t first, uint32_t n) {
    const struct allocation_rows *rows = context;
    u16_fill(packer, rows->allocations->pool + first, n, rows->device->n_pools);
}

static void flags_fill(struct packer *packer, const void *context, uint32_t first, uint32_t n) {
    const struct allocations *allocations = ((const struct allocation_rows *)context)->allocations;
    for (uint32_t i = 0; i < n; i++) {
        packer->value[i] = allocations->flags[first + i];
        if (allocations->flags[first + i] > ALL_ALLOCATION_FLAGS)
            packer_fail(packer, PAYLOAD_BAD_VALUE);
    }
}

static void columns_pack(struct packer *packer, const struct allocation_rows *rows) {
    static void (*const fill[])(struct packer * packer, const void *context, uint32_t first, uint32_t n) = {
        births_fill,   stacks_fill,  deaths_fill, waits_fill, sizes_fill,
        contexts_fill, streams_fill, pools_fill,  flags_fill};
    for (uint32_t i = 0; i < sizeof fill / sizeof *fill; i++) {
        const struct column_rows column = {fill[i], rows, rows->allocations->count};
        section_add_rows(packer, &column, i == 0);
    }
}

void allocations_pack(struct packer *packer, const struct device_trace *device, uint32_t number) {
    const struct allocations *allocations = &device->allocations;
    struct allocation_dictionaries dictionaries = {0};
    if (allocations->count == 0)
        return;
    dictionaries_fill(packer, &dictionaries, allocations);
    uint32_t *last = packer_alloc(packer, (uint64_t)dictionaries.n_stacks * sizeof *last);
    if (packer->error != PAYLOAD_OK)
        return;
    table_pack(packer, &payload_allocation_stack_table, number, dictionaries.stacks, dictionaries.n_stacks,
               NULL);
    table_pack(packer, &payload_allocation_size_table, number, dictionaries.sizes, dictionaries.n_sizes,
               NULL);
    section_begin(packer);
    columns_pack(packer, &(struct allocation_rows){device, allocations, &dictionaries, last});
    section_end(packer, SECTION_ALLOCATIONS, 0, number, allocations->count);
    ARENA_DROP(packer->payload->arena, last);
    dictionaries_release(packer, &dictionaries);
}

static void words_fill(struct packer *packer, const void *context, uint32_t first, uint32_t n) {
    const uint32_t *word = context;
    for (uint32_t k = 0; k < n; k++)
        packer->value[k] = word[first + k];
}

static void longs_fill(struct packer *packer, const void *context, uint32_t first, uint32_t n) {
    bytes_copy(packer->value, (const uint64_t *)context + first, n * sizeof *packer->value);
}

/* An address is stored as "the same as n allocations ago" or, if it is new, as the distance from the end of the
 * memory of the allocation before. */
void addresses_pack(struct packer *packer, const struct allocations *allocations, uint32_t number) {
    struct key_map last_use = {0}; /* an address: its last allocation + 1 */
    uint32_t n = allocations->count, n_fresh = 0;
    if (n == 0)
        return;
    uint32_t *ago = packer_alloc(packer, (uint64_t)n * sizeof *ago);
    uint64_t *fresh = packer_alloc(packer, (uint64_t)n * sizeof *fresh), end = 0;
    for (uint32_t i = 0; ago != NULL && fresh != NULL && i < n; i++) {
        uint32_t *last = key_map_number(&last_use, allocations->address[i]);
        ago[i] = 0;
        if (last != NULL) {
            ago[i] = i + 1 - *last;
            *last = i + 1;
        } else {
            fresh[n_fresh++] = zigzag(allocations->address[i] - end);
            if (!number_add(packer, &last_use, allocations->address[i], i + 1))
                break;
        }
        end = end_of_memory(allocations->address[i], allocations->size[i]);
    }
    ARENA_DROP(packer->payload->arena, last_use.slot);
    if (packer->error != PAYLOAD_OK)
        return;
    section_begin(packer);
    section_add_rows(packer, &(struct column_rows){words_fill, ago, n}, 1);
    section_add_rows(packer, &(struct column_rows){longs_fill, fresh, n_fresh}, 0);
    ARENA_DROP(packer->payload->arena, fresh, ago);
    section_end(packer, SECTION_ADDRESSES, SECTION_OPTIONAL, number, n);
}

static void merged_fill(struct packer *packer, const void *context, uint32_t first, uint32_t n) {
    const uint32_t *merged = (const uint32_t *)context + first;
    for (uint32_t i = 0; i < n; i++) {
        packer->value[i] = merged[i] - 1;
        if (merged[i] == 0)
            packer_fail(packer, PAYLOAD_BAD_VALUE);
    }
}

/* The number of further allocations that each row stands for. */
void merged_pack(struct packer *packer, const struct allocations *allocations, uint32_t number) {
    if (allocations->merged == NULL || allocations->count == 0)
        return;
    section_begin(packer);
    section_add_rows(packer, &(struct column_rows){merged_fill, allocations->merged, allocations->count}, 1);
    section_end(packer, SECTION_MERGED, SECTION_OPTIONAL, number, allocations->count);
}

static uint32_t bytes_count(const uint8_t *bytes, uint32_t nbytes, uint8_t byte) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < nbytes; i++)
        count += bytes[i] == byte;
    return count;
}

/* Writes how much later each event is than the one before, into the column of its class. Every class has a run of its
 * own, so there is no branch on the class, which the processor could not predict. */
static void times_write(struct packer *packer, struct column *columns, const struct device_trace *device,
                        const uint8_t *class) {
    const int64_t *time_us = device->time_us;
    uint64_t before = (uint64_t)time_us[0];
    for (uint32_t first = 0, n; first < device->n_events; first += n) {
        uint32_t count[N_EVENT_CLASSES] = {0};
        n = device->n_events - first < COLUMN_RUN ? device->n_events - first : COLUMN_RUN;
        for (uint32_t i = first; i < first + n; i++) {
            packer->value[class[i] * COLUMN_RUN + count[class[i]]++] = zigzag((uint64_t)time_us[i] - before);
            before = (uint64_t)time_us[i];
        }
        for (uint32_t k = 0; k < N_EVENT_CLASSES; k++)
            column_write(packer, &columns[k], packer->value + (size_t)k * COLUMN_RUN, count[k]);
    }
}

void times_pack(struct packer *packer, const struct device_trace *device, uint32_t number) {
    struct column column[N_EVENT_CLASSES] = {{.count = 0}};
    if (device->time_us == NULL || device->n_events == 0)
        return;
    uint8_t *class = packer_alloc(packer, device->n_events);
    if (class == NULL || !packer_values(packer, N_EVENT_CLASSES * COLUMN_RUN))
        return;
    bytes_zero(class, device->n_events);
    payload_classify_completions(device, class, 0, device->allocations.count);
    payload_classify_births(device, class, 0, device->allocations.count);
    for (uint32_t k = 0; k < N_EVENT_CLASSES; k++)
        column[k].count = bytes_count(class, device->n_events, (uint8_t)k);
    times_write(packer, column, device, class);
    section_begin(packer);
    for (uint32_t k = 0; k < N_EVENT_CLASSES && packer->error == PAYLOAD_OK; k++)
        section_add_column(packer, &column[k], 1);
    ARENA_DROP(packer->payload->arena, class);
    section_end(packer, SECTION_TIMES, 0, number, device->n_events);
}
