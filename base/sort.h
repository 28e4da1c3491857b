/* Sorting rows by a 64-bit key. Freestanding. */
#ifndef STRATA_BASE_SORT_H
#define STRATA_BASE_SORT_H

#include <stdint.h>

struct sort_row {
    uint64_t key;
    uint32_t value;
};

/* Stable, rising by key. `spare` has room for as many rows and is overwritten. O(count) for each byte in
 * which keys differ. */
void sort_rows(struct sort_row *rows, struct sort_row *spare, uint32_t count);

/* The last of rows, sorted by key, whose key is `key` or less; UINT32_MAX: there is none. O(log count). */
uint32_t sort_rows_seek(const struct sort_row *rows, uint32_t count, uint64_t key);

#endif
