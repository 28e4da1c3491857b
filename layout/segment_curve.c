#include "layout/segment_curve.h"

#include "base/ordered.h"
#include "base/search.h"
#include "base/sort.h"

struct counting {
    const struct segments *segments;
    struct ordered_store store;
    struct ordered pages; /* expandable pieces present, by address */
    uint32_t n_segments;
};

static const struct segment_piece *piece_at(const struct counting *counting, struct ordered_place place) {
    const struct ordered_key *key = ordered_at(&counting->pages, &counting->store, place);
    return key == NULL ? NULL : &counting->segments->piece[key->value];
}

/* The number of neighbours that a piece of an expandable segment touches. */
static uint32_t neighbours(const struct counting *counting, const struct segment_piece *piece) {
    struct ordered_place behind = ordered_seek(&counting->pages, &counting->store, piece->address + 1, 0);
    struct ordered_place here = ordered_seek(&counting->pages, &counting->store, piece->address, 0);
    struct ordered_place before = ordered_before(&counting->pages, &counting->store, here);
    const struct segment_piece *high = piece_at(counting, behind), *low = piece_at(counting, before);
    return (uint32_t)(high != NULL && segment_pieces_join(piece, high)) +
           (uint32_t)(low != NULL && low->address < piece->address && segment_pieces_join(low, piece));
}

static bool piece_count(struct counting *counting, uint32_t index, bool comes) {
    const struct segment_piece *piece = &counting->segments->piece[index];
    uint32_t joined = 0;
    if (piece->flags & SEGMENT_EXPANDABLE) {
        if (!comes)
            (void)ordered_remove(&counting->pages, &counting->store, piece->address, 0);
        joined = neighbours(counting, piece);
        if (comes && !ordered_add(&counting->pages, &counting->store, piece->address, 0, index))
            return false;
    }
    counting->n_segments += comes ? 1 - joined : joined - 1;
    return true;
}

/* Births and deaths of pieces by moment, deaths first. */
static struct sort_row *changes_of(const struct segments *segments, struct arena *arena) {
    uint32_t count = 0;
    struct sort_row *rows = arena_column(arena, (uint64_t)segments->count * 4 + 4, sizeof *rows);
    if (rows == NULL)
        return NULL;
    for (uint32_t i = 0; i < segments->count; i++) {
        rows[count++] = (struct sort_row){(uint64_t)segments->piece[i].birth << 1 | 1, i};
        rows[count++] = (struct sort_row){(uint64_t)segments->piece[i].death << 1, i};
    }
    sort_rows(rows, rows + count, count);
    return rows;
}

static bool changes_count(struct segment_counts *counts, struct counting *counting,
                          const struct sort_row *rows) {
    for (uint32_t i = 0; i < 2 * counting->segments->count; i++) {
        uint32_t moment = (uint32_t)(rows[i].key >> 1);
        if (!piece_count(counting, rows[i].value, (rows[i].key & 1) != 0))
            return false;
        if (moment != counts->moment[counts->count - 1])
            counts->moment[counts->count++] = moment;
        counts->n_segments[counts->count - 1] = counting->n_segments;
    }
    return true;
}

bool segment_counts_find(struct segment_counts *counts, const struct segments *segments,
                         struct arena *arena) {
    struct counting counting = {.segments = segments, .store = {.arena = arena}};
    uint64_t most = (uint64_t)segments->count * 2 + 1;
    *counts = (struct segment_counts){.count = 1};
    struct sort_row *rows = changes_of(segments, arena);
    if (!ARENA_COLUMNS(arena, most, counts->moment, counts->n_segments) || rows == NULL)
        return false;
    counts->moment[0] = counts->n_segments[0] = 0;
    bool done = changes_count(counts, &counting, rows);
    ordered_release(&counting.pages, &counting.store);
    ARENA_DROP(arena, counting.store.leaf, rows);
    return done;
}

uint32_t segment_counts_at(const struct segment_counts *counts, uint32_t moment) {
    /* the first count after the moment */
    uint32_t low = SEARCH(1, counts->count, i, counts->moment[i] <= moment);
    return counts->n_segments[low - 1];
}

/* Sorts as allocations are sorted: older ones by falling death, then by birth. */
static struct sort_row *pieces_sorted(const struct segments *segments, struct arena *arena) {
    struct sort_row *rows = arena_column(arena, (uint64_t)segments->count * 2 + 2, sizeof *rows);
    for (uint32_t i = 0; rows != NULL && i < segments->count; i++) {
        const struct segment_piece *piece = &segments->piece[i];
        rows[i] = (struct sort_row){
            piece->birth == 0 ? UINT32_MAX - piece->death : (uint64_t)piece->birth << 32, i};
    }
    if (rows != NULL)
        sort_rows(rows, rows + segments->count, segments->count);
    return rows;
}

static bool allocations_take(struct allocations *allocations, uint32_t count, struct arena *arena) {
    uint64_t n = (uint64_t)count + 1;
    bool done = ARENA_COLUMNS(arena, n, allocations->birth, allocations->death, allocations->size,
                              allocations->address, allocations->stack, allocations->context,
                              allocations->stream, allocations->pool, allocations->flags);
    allocations->request = allocations->death; /* a segment does not wait for a stream */
    return done;
}

static void allocation_fill(struct allocations *allocations, const struct segment_piece *piece) {
    uint32_t i = allocations->count++;
    allocations->birth[i] = piece->birth;
    allocations->death[i] = piece->death;
    allocations->size[i] = piece->size;
    allocations->address[i] = piece->address;
    allocations->stack[i] = piece->stack;
    allocations->context[i] = 0;
    allocations->stream[i] = piece->stream;
    allocations->pool[i] = piece->pool;
    allocations->flags[i] = 0;
    allocations->preexisting += piece->birth == 0;
}

bool segments_as_allocations(struct device_trace *device, uint32_t **piece, const struct segments *segments,
                             struct arena *arena) {
    *device = *segments->device;
    device->allocations = (struct allocations){0};
    struct sort_row *rows = pieces_sorted(segments, arena);
    *piece = arena_column(arena, (uint64_t)segments->count + 1, sizeof **piece);
    if (rows == NULL || *piece == NULL || !allocations_take(&device->allocations, segments->count, arena))
        return false;
    for (uint32_t i = 0; i < segments->count; i++) {
        (*piece)[device->allocations.count] = rows[i].value;
        if (segments->piece[rows[i].value].birth < segments->piece[rows[i].value].death)
            allocation_fill(&device->allocations, &segments->piece[rows[i].value]);
    }
    ARENA_DROP(arena, rows);
    return true;
}
