/* Sorting rows by a 64-bit key. Freestanding. */
#pragma once

#include "base/arena.h"

struct sort_row {
    uint64_t key;
    uint32_t value;
};

/* Stable, rising by key. `spare` has room for as many rows and is overwritten. O(count) per byte in which keys
 * differ. */
void sort_rows(struct sort_row *rows, struct sort_row *spare, uint32_t count);

/* Makes a row of each number from 0 to count - 1, with the key that an expression in its name `at` gives, and sorts the
 * rows. SORT_AGAIN gives rows, whose values have the name `own`, other keys: equal ones keep their order.
 *
 *     SORT_BY(rows, spare, n, i, size[i]);
 *     SORT_AGAIN(rows, spare, n, own, stack[own]);     by stack, then by size
 */
#define SORT_BY(rows, spare, count, at, own_key)             \
    do {                                                     \
        for (uint32_t at = 0; (at) < (count); (at)++)        \
            (rows)[at] = (struct sort_row){(own_key), (at)}; \
        sort_rows((rows), (spare), (count));                 \
    } while (0)
#define SORT_AGAIN(rows, spare, count, own, own_key)               \
    do {                                                           \
        for (uint32_t sort_at = 0; sort_at < (count); sort_at++) { \
            const uint32_t own = (rows)[sort_at].value;            \
            (rows)[sort_at].key = (own_key);                       \
        }                                                          \
        sort_rows((rows), (spare), (count));                       \
    } while (0)

/* The same sort in steps, each of which moves at most `most` rows or counts all of them. */
struct sorting {
    struct sort_row *rows, *spare; /* they swap: the result so far is in `rows` */
    uint32_t count, most, next;    /* next: the row to move next */
    uint64_t differing;            /* bits of keys that differ */
    unsigned shift;
    bool counted;        /* `start` holds this byte's places */
    uint32_t start[257]; /* the place of each digit's next row */
};
void sorting_begin(struct sorting *sorting, struct sort_row *rows, struct sort_row *spare, uint32_t count,
                   uint32_t most);

/* False: the sort is complete. */
bool sorting_step(struct sorting *sorting);

/* How many different keys rows, sorted by key, have. */
uint32_t sort_rows_keys(const struct sort_row *rows, uint32_t count);

/*
 * Sorts `count` records of `nbytes` each by several keys: by key(record, 0), equal ones by key(record, 1), and so
 * on; records with the same keys keep their order. Memory of the arena is used meanwhile. False: no memory, and
 * nothing has moved.
 */
bool sort_records(void *records, uint32_t count, size_t nbytes,
                  uint64_t (*key)(const void *record, uint32_t nth), uint32_t n_keys, struct arena *arena);

/*
 * Inserts a row among the first of `count` rows in order, of which the best `most` are kept, and counts it where it is
 * kept. `before`: does the new row come before the one that `other` points to? Equal rows stay in the order in which
 * they come. For few rows: O(count).
 *
 *     INSERT(order, n, LARGEST_MOST, own, other, bytes[own] > bytes[*other]);
 */
#define INSERT(rows, count, most, own, other, before)                    \
    do {                                                                 \
        uint32_t insert_at = (count);                                    \
        (count) += insert_at < (most);                                   \
        for (; insert_at > 0; insert_at--) {                             \
            const __typeof__(*(rows)) *(other) = &(rows)[insert_at - 1]; \
            if (!(before))                                               \
                break;                                                   \
            if (insert_at < (most))                                      \
                (rows)[insert_at] = *(other);                            \
        }                                                                \
        if (insert_at < (most))                                          \
            (rows)[insert_at] = (own);                                   \
    } while (0)

/* The end of the rows from `from` on that have the same key; `count` if `from` is. O(their number). */
static inline uint32_t sort_rows_end(const struct sort_row *rows, uint32_t count, uint32_t from) {
    uint32_t end = from;
    while (end < count && rows[end].key == rows[from].key)
        end++;
    return end;
}

/* The last of rows, sorted by key, whose key is at most `key`; UINT32_MAX: there is none. O(log count). */
uint32_t sort_rows_seek(const struct sort_row *rows, uint32_t count, uint64_t key);
