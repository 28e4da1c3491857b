#include "parser/intern.h"

#include "base/bytes.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { FIRST_SLOTS = 1024 };

void interner_init(struct interner *interner, struct trace *trace) {
    *interner = (struct interner){.trace = trace};
}

static void index_release(struct arena *arena, struct intern_index *index) {
    ARENA_DROP(arena, index->slot);
    *index = (struct intern_index){0};
}

void interner_release(struct interner *interner) {
    struct arena *arena = &interner->trace->arena;
    index_release(arena, &interner->strings);
    index_release(arena, &interner->frames);
    index_release(arena, &interner->fx);
    stack_tree_release(&interner->stacks, arena);
    index_release(arena, &interner->contexts);
}

/* The rows of a table: each is made of 32-bit ids. */
struct rows {
    void *row;
    uint32_t *count;
    size_t nbytes; /* of a row; 0: the rows are the trace's strings */
};

static uint64_t row_hash(const struct trace *trace, const struct rows *rows, uint32_t row) {
    if (rows->nbytes != 0)
        return XXH3_64bits((const uint8_t *)rows->row + (size_t)row * rows->nbytes, rows->nbytes);
    struct text bytes = trace_text(trace, row);
    return XXH3_64bits(bytes.at, bytes.nbytes);
}

static void slots_fill(struct intern_index *index, const struct intern_index *old, const struct trace *trace,
                       const struct rows *rows) {
    for (uint32_t i = 0; old->mask != 0 && i <= old->mask; i++) {
        if (old->slot[i] == 0)
            continue;
        uint32_t at = (uint32_t)row_hash(trace, rows, old->slot[i]) & index->mask;
        while (index->slot[at] != 0)
            at = (at + 1) & index->mask;
        index->slot[at] = old->slot[i];
    }
}

/* Keeps an index at most half full, so that probing stays short. */
static bool index_reserve(struct trace *trace, struct intern_index *index, const struct rows *rows) {
    if (index->mask != 0 && index->count < index->mask / 2)
        return true;
    uint64_t n_slots = index->mask == 0 ? FIRST_SLOTS : ((uint64_t)index->mask + 1) * 2;
    uint32_t *slot = arena_zeros(&trace->arena, n_slots, sizeof *slot);
    if (slot == NULL)
        return false;
    struct intern_index larger = {.slot = slot, .mask = (uint32_t)(n_slots - 1), .count = index->count};
    slots_fill(&larger, index, trace, rows);
    index_release(&trace->arena, index);
    *index = larger;
    return true;
}

bool intern_string(struct interner *interner, const void *bytes, size_t nbytes, uint32_t *id) {
    struct trace *trace = interner->trace;
    struct intern_index *index = &interner->strings;
    *id = 0;
    if (nbytes == 0)
        return true;
    if (!index_reserve(trace, index, &(struct rows){0}))
        return false;
    uint32_t at = (uint32_t)XXH3_64bits(bytes, nbytes) & index->mask;
    for (; index->slot[at] != 0; at = (at + 1) & index->mask) {
        struct text other = trace_text(trace, index->slot[at]);
        if (other.nbytes == nbytes && __builtin_memcmp(other.at, bytes, nbytes) == 0) {
            *id = index->slot[at];
            return true;
        }
    }
    *id = trace_string_add(trace, bytes, nbytes);
    if (*id == 0)
        return false;
    index->slot[at] = *id;
    index->count++;
    return true;
}

/* Finds or adds a row; `rows` must have room for one more. */
static bool row_intern(struct trace *trace, struct intern_index *index, struct rows rows, const void *row,
                       uint32_t *id) {
    if (!index_reserve(trace, index, &rows))
        return false;
    uint32_t at = (uint32_t)XXH3_64bits(row, rows.nbytes) & index->mask;
    for (; index->slot[at] != 0; at = (at + 1) & index->mask) {
        const uint8_t *other = (const uint8_t *)rows.row + (size_t)index->slot[at] * rows.nbytes;
        if (__builtin_memcmp(other, row, rows.nbytes) == 0) {
            *id = index->slot[at];
            return true;
        }
    }
    bytes_copy((uint8_t *)rows.row + (size_t)*rows.count * rows.nbytes, row, rows.nbytes);
    *id = index->slot[at] = (*rows.count)++;
    index->count++;
    return true;
}

bool intern_cut(struct interner *interner, uint32_t *string, bool keep_end) {
    static const char ellipsis[] = "\xe2\x80\xa6";
    enum { N_ELLIPSIS = sizeof ellipsis - 1, N_KEPT = FRAME_TEXT_MAX_NBYTES - N_ELLIPSIS };
    struct text bytes = trace_text(interner->trace, *string);
    if (bytes.nbytes <= FRAME_TEXT_MAX_NBYTES)
        return true;
    uint8_t text[FRAME_TEXT_MAX_NBYTES];
    bytes_copy(text, keep_end ? (const uint8_t *)ellipsis : bytes.at, keep_end ? N_ELLIPSIS : N_KEPT);
    bytes_copy(text + (keep_end ? N_ELLIPSIS : N_KEPT),
               keep_end ? bytes.at + bytes.nbytes - N_KEPT : (const uint8_t *)ellipsis,
               keep_end ? N_KEPT : N_ELLIPSIS);
    return intern_string(interner, text, sizeof text, string);
}

bool intern_frame(struct interner *interner, struct frame frame, uint32_t *id) {
    struct trace *trace = interner->trace;
    struct frame_table *table = &trace->frames;
    if (!intern_cut(interner, &frame.file, true) || !intern_cut(interner, &frame.name, false))
        return false;
    return ARENA_GROW(&trace->arena, table->frame, table->capacity, (uint64_t)table->count + 1) &&
           row_intern(trace, &interner->frames, (struct rows){table->frame, &table->count, sizeof frame},
                      &frame, id);
}

bool intern_fx(struct interner *interner, struct fx fx, uint32_t *id) {
    struct trace *trace = interner->trace;
    struct fx_table *table = &trace->fx;
    *id = 0;
    if ((fx.op | fx.name | fx.target | fx.original_trace) == 0)
        return true;
    return ARENA_GROW(&trace->arena, table->fx, table->capacity, (uint64_t)table->count + 1) &&
           row_intern(trace, &interner->fx, (struct rows){table->fx, &table->count, sizeof fx}, &fx, id);
}

bool intern_context(struct interner *interner, struct context context, uint32_t *id) {
    struct trace *trace = interner->trace;
    struct context_table *table = &trace->contexts;
    *id = 0;
    if ((context.compile_context | context.user_metadata | context.category | context.forward_frames) == 0)
        return true;
    return ARENA_GROW(&trace->arena, table->context, table->capacity, (uint64_t)table->count + 1) &&
           row_intern(trace, &interner->contexts,
                      (struct rows){table->context, &table->count, sizeof context}, &context, id);
}

bool intern_stack_below(struct interner *interner, uint32_t parent, uint32_t frame, uint32_t *id) {
    return stack_tree_extend(&interner->stacks, &interner->trace->arena, parent, frame, id);
}

bool intern_stack(struct interner *interner, const uint32_t *frames, uint32_t n_frames, uint32_t *id) {
    return stack_tree_add(&interner->stacks, &interner->trace->arena, frames, n_frames, id);
}

bool interner_finish(struct interner *interner) {
    return stack_tree_finish(&interner->stacks, interner->trace);
}
