/* Private to older.c, older_freed.c, older_held.c and older_rest.c. */
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
    struct size_set sizes; /* of all older memory and of the parameters; the arrays below have its indices */
    uint32_t *parameters,
        *gradients;   /* of one step; gradients: those of the recorded backward, whatever the source */
    uint32_t *held;   /* what still exists at the end */
    uint32_t *states; /* recorded allocations of optimizer state */
    uint32_t *carry;  /* bits of the categories that are alive when a later turn begins */
    uint32_t made;    /* moment of the last recorded birth */
    bool exits;       /* what is freed after it counts as held */
    bool has_backward, begins_backward, zero_grad_seen;
};

/* The index of an allocation's size; SIZE_NONE: it has another. */
static inline uint32_t size_at(struct naming *naming, uint32_t allocation) {
    return size_set_at(&naming->sizes, naming->allocations->size[allocation]);
}

/* Is its category unknown? */
static inline bool is_unnamed(const struct naming *naming, uint32_t allocation) {
    return naming->category[allocation] == CATEGORY_OTHER &&
           !(naming->runs->stack_bits[naming->allocations->stack[allocation]] & BIT_CACHE) &&
           naming->timeline->trace->contexts.context[naming->allocations->context[allocation]].category == 0;
}

/* `reason`: REASON_BY_SIZE, or REASON_NONE if the stack or the place of its free tells. */
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
    uint32_t *of_size; /* [sizes.count] number of rows */
};

/* The index in `naming->sizes` of the size of row `from`; `*to`: the end of the rows with it. */
static inline uint32_t held_run(struct naming *naming, const struct held_rows *rows, uint32_t from,
                                uint32_t *to) {
    const uint64_t *size = naming->allocations->size;
    uint32_t first = rows->row[from].value;
    for (*to = from; *to < rows->count && size[rows->row[*to].value] == size[first]; (*to)++)
        continue;
    return size_at(naming, first);
}

enum { WORTH_NBYTES = 1024 /* smaller ones are many, with few sizes */ };

/* For gradients to which a backward adds in place, without a known optimizer: names parameters, gradients and other
 * memory of their sizes. Returns the number of copies named; 0: none. False: no memory. */
bool added_name(struct naming *naming, const struct held_rows *rows, uint32_t *copies, struct arena *arena);

/* Names what is left beside the copies of the parameters: the optimizer's 32-bit copies of 16-bit parameters, and
 * frozen weights beside adapters. Changes `rows->of_size`. False: no memory. */
bool rest_name(struct naming *naming, const struct held_rows *rows, struct arena *arena);

/* Sets the reason of older memory in private pools. */
void pools_name(struct naming *naming);

/* Names older allocations that are freed in the recording; `rows` by gap (the recorded allocations before the
 * free), size and address. */
bool freed_name(struct naming *naming, const struct sort_row *rows, uint32_t count, struct arena *arena);

/* Names older allocations that still exist at the end; `rows` by size and address. */
bool held_name(struct naming *naming, const struct sort_row *rows, uint32_t count, uint32_t *copies,
               struct arena *arena);
