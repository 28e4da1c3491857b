/*
 * The requests of a program with more layers beside those of the same program with fewer: what it asks for besides repeats
 * what stands there already.
 *
 *     2 layers    load  F F       head  B B       step step
 *     4 layers    load  F F [F F] head  B B [B B] step step [step step]       three insertions, of two repeats each
 *
 * Requests are equal where they come from the same stack, for the same size, pool and stream; frees, where what they free
 * was requested so. Which one of these is freed, a request does not say: no layer has a name. Freestanding.
 */
#pragma once

#include "analysis/model/program.h"

struct requests {
    const struct program *program;
    uint32_t count;
    /* [count] of the program, without segment events, but with calls of empty_cache (PROGRAM_SEGMENT) */
    uint32_t *op;
    uint32_t *token;    /* [count] kind and class, packed as operations are */
    uint32_t *class_of; /* [allocations.count]; 0 is that of calls without an allocation */
};

/* Requests that only the larger program has: [at, at + length) of the larger one. */
struct insertion {
    uint32_t at, length, period; /* length: period * repeats */
};

/* Allocations that are not told apart but by their order. */
struct request_class {
    /* stack, pool and stream, hashed; of what is older than the recording, without its stack */
    uint64_t place;
    uint64_t size;
    /* of the smaller program's: the larger one's class of the same place, whose size grows; 0: none */
    uint32_t twin;
};

struct alignment {
    struct requests small, large;
    uint32_t n_classes;
    struct request_class *class_;
    uint32_t n_insertions, insertion_capacity;
    struct insertion *insertion; /* by rising `at` */
    uint32_t repeats;            /* in each insertion */
    bool endless;                /* it was given up, since it took too long */
    uint64_t steps, most_steps;
};

/* Numbers the requests of both. O(n log n). False: no memory. */
bool alignment_init(struct alignment *alignment, const struct program *small, const struct program *large,
                    struct arena *arena);

/*
 * Finds insertions of `repeats` equal parts each that make the smaller program's requests the larger one's. One part that
 * is inserted alone must repeat what stands before it. `*found`: there are such. May be called again with another number.
 * Work is bounded. False: no memory.
 */
bool alignment_find(struct alignment *alignment, uint32_t repeats, bool *found, struct arena *arena);
