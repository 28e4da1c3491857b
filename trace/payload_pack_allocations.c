/* Allocations as sections of a payload. */
#include "trace/payload_packer.h"

enum { FEWEST_SLOTS = 64 };

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
    if (slots == 0 || !ARENA_GROW(packer->payload->arena, wider.slot, wider.capacity, slots)) {
        packer_fail(packer, PAYLOAD_NO_MEMORY);
        return false;
    }
    wider.capacity = slots;
    bytes_zero(wider.slot, (size_t)slots * sizeof *wider.slot);
    for (uint32_t i = 0; i < numbering->capacity; i++)
        if (numbering->slot[i].number != 0)
            *numbering_find(&wider, numbering->slot[i].key) = numbering->slot[i];
    ARENA_DROP(packer->payload->arena, numbering->slot);
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
    ARENA_DROP(packer->payload->arena, numbering->slot);
}

/* Everything that the reader will insist on. */
bool allocations_valid(const struct device_trace *device) {
    const struct allocations *allocations = &device->allocations;
    uint32_t birth = 0, end = device->n_events + 1;
    if (device->n_events > UINT32_MAX - 2 || allocations->preexisting > allocations->count)
        return false;
    for (uint32_t i = 0; i < allocations->count; i++) {
        bool first = i < allocations->preexisting;
        if (allocations->birth[i] < birth || allocations->birth[i] > device->n_events ||
            first != (allocations->birth[i] == 0))
            return false;
        if (allocations->death[i] < allocations->birth[i] || allocations->death[i] > device->n_events + 1)
            return false;
        if (allocations->request[i] < allocations->birth[i] ||
            allocations->request[i] > allocations->death[i])
            return false;
        if (first && allocations->death[i] > end)
            return false;
        birth = allocations->birth[i];
        end = allocations->death[i];
    }
    return true;
}

/* Dictionaries of a device's stacks and sizes, in the order in which the allocations bring them up. */
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
    return packer->error == PAYLOAD_OK;
}

static void dictionaries_fill(struct packer *packer, struct allocation_dictionaries *dictionaries,
                              const struct allocations *allocations) {
    struct numbering sizes = {NULL, 0, 0};
    if (!dictionaries_alloc(packer, dictionaries, allocations->count))
        return;
    for (uint32_t i = 0; i < allocations->count; i++) {
        uint32_t *place = &dictionaries->stack_place[allocations->stack[i]];
        if (*place == 0) {
            dictionaries->stacks[dictionaries->n_stacks++] = allocations->stack[i];
            *place = dictionaries->n_stacks;
        }
        struct numbering_slot *slot = numbering_slot(packer, &sizes, allocations->size[i]);
        if (slot == NULL)
            break;
        if (slot->number == 0) {
            dictionaries->sizes[dictionaries->n_sizes++] = allocations->size[i];
            slot->number = dictionaries->n_sizes;
        }
        dictionaries->size_place[i] = slot->number - 1;
    }
    numbering_release(packer, &sizes);
}

static void column_births(struct packer *packer, const struct allocations *allocations) {
    for (uint32_t i = 0; i < allocations->count; i++)
        packer->value[i] = allocations->birth[i] - (i > 0 ? allocations->birth[i - 1] : 0);
    section_add_column(packer, allocations->count, 1);
}

static void column_stacks(struct packer *packer, const struct allocations *allocations,
                          const struct allocation_dictionaries *dictionaries) {
    for (uint32_t i = 0; i < allocations->count; i++)
        packer->value[i] = dictionaries->stack_place[allocations->stack[i]] - 1;
    section_add_column(packer, allocations->count, 0);
}

/* Lifetimes, against the last lifetime of the same stack: loops repeat themselves. Those older than the
 * recording are sorted by their death, so the difference from the row before is small. */
static void column_deaths(struct packer *packer, const struct device_trace *device,
                          const struct allocation_dictionaries *dictionaries) {
    const struct allocations *allocations = &device->allocations;
    uint32_t *last = packer_alloc(packer, (uint64_t)dictionaries->n_stacks * sizeof *last);
    uint32_t end = device->n_events + 1;
    for (uint32_t i = 0; last != NULL && i < allocations->count; i++) {
        uint32_t death = allocations->death[i];
        if (i < allocations->preexisting) {
            packer->value[i] = (i > 0 ? allocations->death[i - 1] : end) - death;
            continue;
        }
        uint32_t lifetime = death == end ? 0 : death - allocations->birth[i] + 1;
        uint32_t *of_stack = &last[dictionaries->stack_place[allocations->stack[i]] - 1];
        packer->value[i] = zigzag((uint64_t)lifetime - *of_stack);
        *of_stack = lifetime;
    }
    section_add_column(packer, allocations->count, 0);
}

static void column_waits(struct packer *packer, const struct allocations *allocations) {
    for (uint32_t i = 0; i < allocations->count; i++)
        packer->value[i] = allocations->death[i] - allocations->request[i];
    section_add_column(packer, allocations->count, 0);
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

static void column_flags(struct packer *packer, const struct allocations *allocations) {
    for (uint32_t i = 0; i < allocations->count; i++) {
        packer->value[i] = allocations->flags[i];
        if (allocations->flags[i] > ALL_ALLOCATION_FLAGS)
            packer_fail(packer, PAYLOAD_BAD_VALUE);
    }
    section_add_column(packer, allocations->count, 0);
}

static void column_mapped(struct packer *packer, const uint32_t *values, uint32_t count, const uint32_t *to) {
    for (uint32_t i = 0; i < count; i++)
        packer->value[i] = to != NULL ? to[values[i]] : values[i];
    section_add_column(packer, count, 0);
}

void allocations_pack(struct packer *packer, const struct device_trace *device, uint32_t number) {
    const struct allocations *allocations = &device->allocations;
    struct allocation_dictionaries dictionaries = {0};
    if (allocations->count == 0 || !packer_values(packer, allocations->count))
        return;
    dictionaries_fill(packer, &dictionaries, allocations);
    if (packer->error != PAYLOAD_OK)
        return;
    table_pack(packer, &payload_allocation_stack_table, number, dictionaries.stacks, dictionaries.n_stacks,
               NULL);
    table_pack(packer, &payload_allocation_size_table, number, dictionaries.sizes, dictionaries.n_sizes,
               NULL);
    section_begin(packer);
    column_births(packer, allocations);
    column_stacks(packer, allocations, &dictionaries);
    column_deaths(packer, device, &dictionaries);
    column_waits(packer, allocations);
    column_mapped(packer, dictionaries.size_place, allocations->count, NULL);
    column_mapped(packer, allocations->context, allocations->count, packer->ids[OF_CONTEXTS].to);
    column_u16(packer, allocations->stream, allocations->count, device->n_streams);
    column_u16(packer, allocations->pool, allocations->count, device->n_pools);
    column_flags(packer, allocations);
    section_end(packer, SECTION_ALLOCATIONS, 0, number, allocations->count);
}

/* Addresses: "the one of so many allocations ago", or, where an address is new, its distance from where the memory
 * of the allocation before ended. */
void addresses_pack(struct packer *packer, const struct allocations *allocations, uint32_t number) {
    struct numbering last_use = {NULL, 0, 0};
    if (allocations->count == 0 || !packer_values(packer, allocations->count))
        return;
    uint64_t *fresh = packer_alloc(packer, (uint64_t)allocations->count * sizeof *fresh);
    uint64_t n_fresh = 0, end = 0;
    for (uint32_t i = 0; fresh != NULL && i < allocations->count; i++) {
        struct numbering_slot *slot = numbering_slot(packer, &last_use, allocations->address[i]);
        if (slot == NULL)
            break;
        packer->value[i] = slot->number != 0 ? i + 1 - slot->number : 0;
        if (slot->number == 0)
            fresh[n_fresh++] = zigzag(allocations->address[i] - end);
        slot->number = i + 1;
        end = end_of_memory(allocations->address[i], allocations->size[i]);
    }
    numbering_release(packer, &last_use);
    if (packer->error != PAYLOAD_OK)
        return;
    section_begin(packer);
    section_add_column(packer, allocations->count, 1);
    bytes_copy(packer->value, fresh, (size_t)n_fresh * sizeof *fresh);
    section_add_column(packer, n_fresh, 0);
    section_end(packer, SECTION_ADDRESSES, SECTION_OPTIONAL, number, allocations->count);
}

/* How many more allocations than one each row stands for. */
void merged_pack(struct packer *packer, const struct allocations *allocations, uint32_t number) {
    if (allocations->merged == NULL || allocations->count == 0 || !packer_values(packer, allocations->count))
        return;
    for (uint32_t i = 0; i < allocations->count; i++) {
        packer->value[i] = allocations->merged[i] - 1;
        if (allocations->merged[i] == 0)
            packer_fail(packer, PAYLOAD_BAD_VALUE);
    }
    section_begin(packer);
    section_add_column(packer, allocations->count, 1);
    section_end(packer, SECTION_MERGED, SECTION_OPTIONAL, number, allocations->count);
}
