/*
 * Aligns the requests of a program with more layers with those of the same program with fewer: the additional ones
 * repeat those before them.
 *
 *     2 layers    load  F F       head  B B       step step
 *     4 layers    load  F F [F F] head  B B [B B] step step [step step]       three insertions, of two repeats each
 *
 * Requests are equal if stack, size, pool and stream are; frees are equal if the requests of what they free are.
 * Nothing tells which of several equal allocations is freed, because layers have no names. Freestanding.
 */
#pragma once

#include "analysis/model/program.h"

struct requests {
    const struct program *program;
    uint32_t count;
    /* [count] operations of the program, without segment events but with calls of empty_cache (PROGRAM_SEGMENT) */
    uint32_t *op;
    uint32_t *token;    /* [count] kind and class, packed like operations */
    uint32_t *class_of; /* [allocations.count]; 0 is for calls without an allocation */
};

/* Requests that only the larger program has: its [at, at + length). */
struct insertion {
    uint32_t at, length, period; /* length: period * repeats */
};

/* Allocations that differ only in their order. */
struct request_class {
    /* hash of stack, pool and stream; for older memory, without its stack */
    uint64_t place;
    uint64_t size;
    /* for the smaller program: the larger one's class with the same place, whose size grows; 0: none */
    uint32_t twin;
};

struct alignment {
    struct requests small, large;
    uint32_t n_classes;
    struct request_class *class_;
    uint32_t n_insertions, insertion_capacity;
    struct insertion *insertion; /* by rising `at` */
    uint32_t repeats;            /* repeats in each insertion */
    bool endless;                /* given up because it took too long */
    uint64_t steps, most_steps;
};

/* Numbers the requests of both. O(n log n). False: no memory. */
bool alignment_init(struct alignment *alignment, const struct program *small, const struct program *large,
                    struct arena *arena);

/*
 * Finds insertions of `repeats` equal parts each that turn the smaller program's requests into the larger one's. A
 * part inserted alone must repeat what precedes it. `*found`: they exist. May be called again with another number.
 * Work is bounded. False: no memory.
 */
bool alignment_find(struct alignment *alignment, uint32_t repeats, bool *found, struct arena *arena);
