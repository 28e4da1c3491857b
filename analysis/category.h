/*
 * What an allocation is for. Its context says it where a profiler wrote the file or where a rule of the user's met it;
 * otherwise it is inferred from the stack and from what the allocation outlives. docs/report.md, "Categories", states
 * the rules for people. Freestanding.
 */
#ifndef STRATA_ANALYSIS_CATEGORY_H
#define STRATA_ANALYSIS_CATEGORY_H

#include "layout/timeline.h"

enum category {
    CATEGORY_OTHER, /* nothing tells */
    CATEGORY_PARAMETER,
    CATEGORY_GRADIENT,
    CATEGORY_OPTIMIZER_STATE,
    CATEGORY_ACTIVATION,
    CATEGORY_TEMPORARY,
    CATEGORY_INPUT,
    CATEGORY_AUTOGRAD_DETAIL, /* only a profiler knows these */
    CATEGORY_UNKNOWN,         /* a profiler's own word for what it could not tell */
    CATEGORY_COUNT
};

/* "optimizer_state": as profilers spell it, for files and JSON. */
const char *category_name(enum category category);

/* The category with this name; CATEGORY_COUNT: none has it. */
enum category category_by_name(const uint8_t *name, uint32_t nbytes);

/* What a stack says, as flags. */
enum stack_trait {
    STACK_BACKWARD = 1,    /* below autograd's engine */
    STACK_ACCUMULATES = 2, /* where a gradient is stored */
    STACK_OPTIMIZER = 4,   /* inside of an optimizer's code */
    STACK_LOADS = 8,       /* a module is made, filled or moved */
    STACK_DATA = 16        /* a data loader */
};

/* Traits of every stack into `traits[stacks.count]`. O(stacks + length of all names). False: no memory. */
bool stack_traits(const struct trace *trace, uint8_t *traits, struct arena *arena);

/* Category of every life of the timeline's device into `category[lives.count]`. O(lives + stacks + length of all
 * names). False: no memory. */
bool categories_find(const struct timeline *timeline, uint8_t *category, struct arena *arena);

#endif
