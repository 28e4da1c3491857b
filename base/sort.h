/* Sorting rows by a 64-bit key. Freestanding. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct sort_row {
    uint64_t key;
    uint32_t value;
};

/* Stable, rising by key. `spare` has room for as many rows and is overwritten. O(count) for each byte in
 * which keys differ. */
void sort_rows(struct sort_row *rows, struct sort_row *spare, uint32_t count);

/* The same in steps, each of which moves `most` rows, or counts all. */
struct sorting {
    struct sort_row *rows, *spare; /* they change places: the result so far is in `rows` */
    uint32_t count, most, next;    /* next: the row that is moved next */
    uint64_t differing;            /* bits of keys that differ */
    unsigned shift;
    bool counted;        /* `start` is of this byte */
    uint32_t start[257]; /* the place of each digit's next row */
};
void sorting_begin(struct sorting *sorting, struct sort_row *rows, struct sort_row *spare, uint32_t count,
                   uint32_t most);

/* False: nothing was left to do. */
bool sorting_step(struct sorting *sorting);

/* The last of rows, sorted by key, whose key is `key` or less; UINT32_MAX: there is none. O(log count). */
uint32_t sort_rows_seek(const struct sort_row *rows, uint32_t count, uint64_t key);
