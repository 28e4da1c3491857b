#include "parser/intern.h"

#include "base/bytes.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

void interner_init(struct interner *interner, struct trace *trace) {
    *interner = (struct interner){.trace = trace};
}

void interner_release(struct interner *interner) {
    struct arena *arena = &interner->trace->arena;
    ARENA_DROP(arena, interner->strings.slot, interner->frames.slot, interner->fx.slot,
               interner->contexts.slot);
    stack_tree_release(&interner->stacks, arena);
    interner_init(interner, interner->trace);
}

static uint32_t string_hash(const void *trace, uint32_t string) {
    struct text bytes = trace_text(trace, string);
    return (uint32_t)XXH3_64bits_withSeed(bytes.at, bytes.nbytes, hash_key[0]);
}

bool intern_string(struct interner *interner, const void *bytes, size_t nbytes, uint32_t *id) {
    struct trace *trace = interner->trace;
    struct row_table *table = &interner->strings;
    *id = 0;
    if (nbytes == 0)
        return true;
    if (!row_table_reserve(table, &trace->arena, string_hash, trace))
        return false;
    uint32_t *slot = ROW_SEEK(table, (uint32_t)XXH3_64bits_withSeed(bytes, nbytes, hash_key[0]), string,
                              trace_text(trace, string).nbytes == nbytes &&
                                  __builtin_memcmp(trace_text(trace, string).at, bytes, nbytes) == 0);
    if (*slot == 0) {
        *slot = trace_string_add(trace, bytes, nbytes);
        table->count += *slot != 0;
    }
    *id = *slot;
    return *id != 0;
}

/* The rows of a table: each is made of 32-bit ids. */
struct rows {
    uint8_t *row;
    uint32_t *count;
    size_t nbytes; /* of a row */
};

static uint32_t row_hash(const void *context, uint32_t row) {
    const struct rows *rows = context;
    return (uint32_t)XXH3_64bits_withSeed(rows->row + row * rows->nbytes, rows->nbytes, hash_key[0]);
}

/* Finds or adds a row; `rows` must have room for one more. */
static bool row_intern(struct trace *trace, struct row_table *table, struct rows rows, const void *row,
                       uint32_t *id) {
    if (!row_table_reserve(table, &trace->arena, row_hash, &rows))
        return false;
    uint32_t *slot = ROW_SEEK(table, (uint32_t)XXH3_64bits_withSeed(row, rows.nbytes, hash_key[0]), i,
                              __builtin_memcmp(rows.row + i * rows.nbytes, row, rows.nbytes) == 0);
    if (*slot == 0) {
        bytes_copy(rows.row + *rows.count * rows.nbytes, row, rows.nbytes);
        *slot = (*rows.count)++;
        table->count++;
    }
    *id = *slot;
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
           row_intern(trace, &interner->frames,
                      (struct rows){(uint8_t *)table->frame, &table->count, sizeof frame}, &frame, id);
}

bool intern_fx(struct interner *interner, struct fx fx, uint32_t *id) {
    struct trace *trace = interner->trace;
    struct fx_table *table = &trace->fx;
    *id = 0;
    if ((fx.op | fx.name | fx.target | fx.original_trace) == 0)
        return true;
    return ARENA_GROW(&trace->arena, table->fx, table->capacity, (uint64_t)table->count + 1) &&
           row_intern(trace, &interner->fx, (struct rows){(uint8_t *)table->fx, &table->count, sizeof fx},
                      &fx, id);
}

bool intern_context(struct interner *interner, struct context context, uint32_t *id) {
    struct trace *trace = interner->trace;
    struct context_table *table = &trace->contexts;
    *id = 0;
    if ((context.compile_context | context.user_metadata | context.category | context.forward_frames) == 0)
        return true;
    return ARENA_GROW(&trace->arena, table->context, table->capacity, (uint64_t)table->count + 1) &&
           row_intern(trace, &interner->contexts,
                      (struct rows){(uint8_t *)table->context, &table->count, sizeof context}, &context, id);
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
