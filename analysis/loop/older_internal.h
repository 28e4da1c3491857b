/* Shared by older.c, older_freed.c and older_held.c. */
#pragma once

#include "analysis/loop/frame_bits.h"
#include "analysis/loop/older.h"
#include "analysis/loop/size_set.h"

struct naming {
    const struct timeline *timeline;
    const struct allocations *allocations;
    const struct phase_runs *runs;
    const struct turns *turns;
    uint8_t *category, *reason; /* reason may be NULL */
    enum older_source source;
    struct size_set sizes; /* of all that is older and of the parameters; the arrays below have its indices */
    uint32_t *parameters,
        *gradients;   /* of one step; gradients: the recorded backward's, whatever the source */
    uint32_t *held;   /* all that is still there at the end */
    uint32_t *states; /* recorded allocations of the optimizer's state */
    uint32_t *carry;  /* bits of the categories that are alive when a later turn begins */
    uint32_t made;    /* moment of the last recorded birth */
    bool exits;       /* what goes after it counts as held */
    bool has_backward, begins_backward, zero_grad_seen;
};

/* Does nothing say what it is for? */
static inline bool is_unnamed(const struct naming *naming, uint32_t allocation) {
    return naming->category[allocation] == CATEGORY_OTHER &&
           !(naming->runs->stack_bits[naming->allocations->stack[allocation]] & BIT_CACHE) &&
           naming->timeline->trace->contexts.context[naming->allocations->context[allocation]].category == 0;
}

/* `reason`: REASON_BY_SIZE or, where the stack or the place of its free tells, REASON_NONE. */
static inline void name_as(struct naming *naming, uint32_t allocation, enum category category,
                           enum category_reason reason) {
    if (category == CATEGORY_OTHER)
        return;
    naming->category[allocation] = (uint8_t)category;
    if (naming->reason != NULL)
        naming->reason[allocation] = (uint8_t)reason;
}

struct held_rows {
    const struct sort_row *row; /* by size, then address */
    uint32_t count;
    uint32_t *of_size; /* [sizes.count] how many */
};

/* The first row of each size, as its index in `naming->sizes`; `*to`: behind the last. */
static inline uint32_t held_run(struct naming *naming, const struct held_rows *rows, uint32_t from,
                                uint32_t *to) {
    const uint64_t *size = naming->allocations->size;
    uint64_t own = size[rows->row[from].value];
    for (*to = from; *to < rows->count && size[rows->row[*to].value] == own; (*to)++)
        continue;
    return size_set_at(&naming->sizes, own);
}

enum { WORTH_NBYTES = 1024 /* smaller ones are many, of few sizes */ };

/* Gradients to which a backward adds in place, where no optimizer tells: parameters, gradients and what else has their sizes. The
 * copies that were named; 0: none. False: no memory. */
bool added_name(struct naming *naming, const struct held_rows *rows, uint32_t *copies, struct arena *arena);

/* What is left beside the copies of the parameters: the optimizer's 32-bit copies of 16-bit parameters, weights that nobody trains
 * beside adapters. Changes `rows->of_size`. False: no memory. */
bool rest_name(struct naming *naming, const struct held_rows *rows, struct arena *arena);

/* The reason of what is older and in a private pool. */
void pools_name(struct naming *naming);

/* Names older allocations that are freed in the recording: `rows` by gap (the recorded allocations before the free), size and address. */
bool freed_name(struct naming *naming, const struct sort_row *rows, uint32_t count, struct arena *arena);

/* Names older allocations that are still there at the end: `rows` by size and address. */
bool held_name(struct naming *naming, const struct sort_row *rows, uint32_t count, uint32_t *copies,
               struct arena *arena);
