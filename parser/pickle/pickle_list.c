#include "parser/pickle/pickle_machine.h"

#include "base/bytes.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Lists are kept up to this many bytes; then the cache starts anew. A file without equal stacks gains nothing from
 * it and must not pay for it with memory. */
enum { MAX_CACHE_NBYTES = 16 << 20, HEAD_NBYTES = 64, RECENT_BITS = 12 };

void list_cache_forget(struct machine *machine) {
    struct list_cache *lists = &machine->lists;
    if (lists->count > 1)
        bytes_zero(lists->table.slot, ((size_t)lists->table.mask + 1) * sizeof *lists->table.slot);
    lists->count = lists->count != 0;
    lists->last = lists->n_bytes = lists->table.count = 0;
}

void list_cache_release(struct machine *machine) {
    struct list_cache *lists = &machine->lists;
    ARENA_DROP(machine->arena, lists->entry, lists->table.slot, lists->recent, lists->bytes);
    *lists = (struct list_cache){0};
}

static uint32_t entry_hash(const void *lists, uint32_t entry) {
    return (uint32_t)((const struct list_cache *)lists)->entry[entry].hash;
}

/* Makes room for one more entry of so many bytes; the first time, makes entry 0 as well. */
static bool cache_reserve(struct machine *machine, uint32_t nbytes) {
    struct list_cache *lists = &machine->lists;
    struct arena *arena = machine->arena;
    if (lists->recent == NULL)
        lists->recent = arena_zeros(arena, UINT64_C(1) << RECENT_BITS, sizeof *lists->recent);
    if (lists->recent == NULL || !row_table_reserve(&lists->table, arena, entry_hash, lists) ||
        !ARENA_GROW(arena, lists->entry, lists->capacity, (uint64_t)lists->count + 2) ||
        !ARENA_GROW(arena, lists->bytes, lists->bytes_capacity, (uint64_t)lists->n_bytes + nbytes + 1))
        return machine_fail_memory(machine);
    if (lists->count == 0)
        lists->entry[lists->count++] = (struct list_entry){0};
    return true;
}

/* The slot of these bytes, or the empty slot where they belong. */
static uint32_t *cache_find(struct list_cache *lists, const uint8_t *raw, uint32_t nbytes, uint64_t hash) {
    return ROW_SEEK(&lists->table, (uint32_t)hash, i,
                    lists->entry[i].hash == hash && lists->entry[i].nbytes == nbytes &&
                        memcmp(lists->bytes + lists->entry[i].offset, raw, nbytes) == 0);
}

/* Notes that this entry came after the last one. */
static void cache_follow(struct list_cache *lists, uint32_t index) {
    lists->entry[lists->last].next = index;
    lists->last = index;
}

static bool cache_add(struct machine *machine, const uint8_t *raw, uint32_t nbytes, uint64_t hash,
                      uint32_t stack) {
    struct list_cache *lists = &machine->lists;
    if (nbytes >= MAX_CACHE_NBYTES)
        return true;
    if (nbytes >= MAX_CACHE_NBYTES - lists->n_bytes)
        list_cache_forget(machine);
    if (!cache_reserve(machine, nbytes))
        return false;
    bytes_copy(lists->bytes + lists->n_bytes, raw, nbytes + 1);
    lists->entry[lists->count] =
        (struct list_entry){.hash = hash, .offset = lists->n_bytes, .nbytes = nbytes, .stack = stack};
    lists->n_bytes += nbytes + 1;
    *cache_find(lists, raw, nbytes, hash) = lists->count;
    lists->table.count++;
    cache_follow(lists, lists->count++);
    return true;
}

/* Decodes the references; false (without an error) if one of them is not a frame. */
static bool references_decode(struct machine *machine, const uint8_t *raw, uint32_t nbytes, uint32_t *stack) {
    struct snapshot *snapshot = &machine->snapshot;
    snapshot->frames.count = 0;
    for (uint32_t at = 0; at < nbytes;) {
        uint32_t index = raw[at] == 'j' ? load_u32(raw + at + 1) : raw[at + 1];
        at += raw[at] == 'j' ? 5 : 2;
        if (index >= machine->memo.count || memo_tag(machine->memo.entry[index]) != VALUE_FRAME)
            return false;
        if (!ARENA_GROW(machine->arena, snapshot->frames.row, snapshot->frames.capacity,
                        (uint64_t)snapshot->frames.count + 1))
            return machine_fail_memory(machine);
        snapshot->frames.row[snapshot->frames.count++] = memo_bits(machine->memo.entry[index]);
    }
    return intern_stack(&snapshot->interner, snapshot->frames.row, snapshot->frames.count, stack) ||
           machine_fail_memory(machine);
}

/* End of a run of BINGET and LONG_BINGET; NULL if APPENDS does not follow in the available bytes. */
static const uint8_t *references_end(const uint8_t *at, const uint8_t *end) {
    while (end - at >= 6) {
        while (*at == 'j' && end - at >= 11)
            at += 5;
        if (*at == 'j')
            at += 5;
        else if (*at == 'h')
            at += 2;
        else
            return *at == 'e' ? at : NULL;
    }
    return NULL;
}

/* Is the list at `p` this entry? */
static bool entry_is(const struct machine *machine, uint32_t index, const uint8_t *p) {
    const struct list_cache *lists = &machine->lists;
    if (index == 0 || index >= lists->count)
        return false;
    const struct list_entry *entry = &lists->entry[index];
    return (size_t)(machine->cursor->end - p) > entry->nbytes &&
           memcmp(lists->bytes + entry->offset, p, entry->nbytes + 1) == 0;
}

static const uint8_t *entry_take(struct machine *machine, uint32_t index, const uint8_t *p, uint32_t *stack) {
    const struct list_entry *entry = &machine->lists.entry[index];
    cache_follow(&machine->lists, index);
    *stack = entry->stack;
    return p + entry->nbytes + 1;
}

/* The place of the last entry that began with the same bytes. NULL: too few bytes are available. */
static uint32_t *recent_find(struct machine *machine, const uint8_t *p) {
    if (machine->cursor->end - p < HEAD_NBYTES || machine->lists.recent == NULL)
        return NULL;
    uint64_t mixed = 0;
    for (int i = 0; i < HEAD_NBYTES; i += 8)
        mixed = (mixed ^ load_u64(p + i)) * 0x9E3779B97F4A7C15u;
    return &machine->lists.recent[mixed >> (64 - RECENT_BITS)];
}

/* The list of references from `p` to `end`, found by all of its bytes, or decoded and added. It becomes the last
 * entry, if it is kept at all. */
static bool references_take(struct machine *machine, const uint8_t *p, const uint8_t *end, uint32_t *stack) {
    struct list_cache *lists = &machine->lists;
    uint32_t nbytes = (uint32_t)(end - p);
    uint64_t hash = XXH3_64bits_withSeed(p, nbytes, hash_key[0]);
    uint32_t found = lists->table.mask == 0 ? 0 : *cache_find(lists, p, nbytes, hash);
    if (found == 0)
        return references_decode(machine, p, nbytes, stack) && cache_add(machine, p, nbytes, hash, *stack);
    *stack = lists->entry[found].stack;
    cache_follow(lists, found);
    return true;
}

const uint8_t *list_take(struct machine *machine, const uint8_t *p, uint32_t *stack) {
    struct list_cache *lists = &machine->lists;
    uint32_t next = lists->last == 0 ? 0 : lists->entry[lists->last].next;
    if (entry_is(machine, next, p))
        return entry_take(machine, next, p, stack);
    uint32_t *recent = recent_find(machine, p);
    if (recent != NULL && entry_is(machine, *recent, p))
        return entry_take(machine, *recent, p, stack);
    const uint8_t *end = references_end(p, machine->cursor->end);
    if (end == NULL || end == p || !references_take(machine, p, end, stack))
        return NULL;
    if (recent != NULL)
        *recent = lists->last;
    return end + 1;
}
