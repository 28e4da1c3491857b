#include "base/sort.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/search.h"

enum { FEW = 16 };

/* One pass of a radix sort, by byte `shift / 8`. First count the rows of each digit ... */
static void digits_count(struct sorting *sorting) {
    uint32_t *start = sorting->start;
    bytes_zero(start, sizeof sorting->start);
    for (uint32_t i = 0; i < sorting->count; i++)
        start[(sorting->rows[i].key >> sorting->shift & 255) + 1]++;
    for (unsigned digit = 0; digit < 256; digit++)
        start[digit + 1] += start[digit];
    sorting->counted = true;
    sorting->next = 0;
}

/* ... then move each row to its place. */
static void rows_scatter(struct sorting *sorting, uint32_t end) {
    const struct sort_row *from = sorting->rows;
    struct sort_row *to = sorting->spare;
    uint32_t start[256]; /* local, because rows might overlap sorting->start for all the compiler knows */
    unsigned shift = sorting->shift;
    bytes_copy(start, sorting->start, sizeof start);
    for (uint32_t i = sorting->next; i < end; i++)
        to[start[from[i].key >> shift & 255]++] = from[i];
    bytes_copy(sorting->start, start, sizeof start);
    sorting->next = end;
}

static void pass_end(struct sorting *sorting) {
    struct sort_row *swap = sorting->rows;
    sorting->rows = sorting->spare;
    sorting->spare = swap;
    sorting->shift += 8;
    sorting->counted = false;
}

void sorting_begin(struct sorting *sorting, struct sort_row *rows, struct sort_row *spare, uint32_t count,
                   uint32_t most) {
    *sorting = (struct sorting){.rows = rows, .spare = spare, .count = count, .most = most};
    for (uint32_t i = 1; i < count; i++)
        sorting->differing |= rows[i].key ^ rows[0].key;
}

bool sorting_step(struct sorting *sorting) {
    while (sorting->shift < 64 && (sorting->differing >> sorting->shift & 255) == 0)
        sorting->shift += 8;
    if (sorting->shift == 64)
        return false;
    uint32_t left = sorting->count - sorting->next;
    if (!sorting->counted)
        digits_count(sorting);
    else
        rows_scatter(sorting, left < sorting->most ? sorting->count : sorting->next + sorting->most);
    if (sorting->next == sorting->count)
        pass_end(sorting);
    return true;
}

/* Insertion sort: for a handful of rows, counting digits would be all the work. */
static void few_sort(struct sort_row *rows, uint32_t count) {
    for (uint32_t i = 1; i < count; i++) {
        struct sort_row row = rows[i];
        uint32_t at = i;
        for (; at != 0 && rows[at - 1].key > row.key; at--)
            rows[at] = rows[at - 1];
        rows[at] = row;
    }
}

void sort_rows(struct sort_row *rows, struct sort_row *spare, uint32_t count) {
    struct sorting sorting;
    if (count <= FEW) {
        few_sort(rows, count);
        return;
    }
    sorting_begin(&sorting, rows, spare, count, count);
    while (sorting_step(&sorting)) {
    }
    if (sorting.rows != rows)
        bytes_copy(rows, sorting.rows, (size_t)count * sizeof *rows);
    assert(rows[0].key <= rows[count / 2].key && rows[count / 2].key <= rows[count - 1].key);
}

uint32_t sort_rows_seek(const struct sort_row *rows, uint32_t count, uint64_t key) {
    uint32_t low = SEARCH(0, count, i, rows[i].key <= key);
    return low == 0 ? UINT32_MAX : low - 1;
}

uint32_t sort_rows_keys(const struct sort_row *rows, uint32_t count) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++)
        n += i == 0 || rows[i].key != rows[i - 1].key;
    return n;
}

bool sort_records(void *records, uint32_t count, size_t nbytes,
                  uint64_t (*key)(const void *record, uint32_t nth), uint32_t n_keys, struct arena *arena) {
    struct sort_row *rows = arena_column(arena, (uint64_t)count * 2, sizeof *rows);
    uint8_t *from = arena_column(arena, count, nbytes), *to = records;
    bool done = rows != NULL && from != NULL;
    if (done)
        bytes_copy(from, records, count * nbytes);
    for (uint32_t i = 0; done && i < count; i++)
        rows[i].value = i;
    for (uint32_t nth = n_keys; done && nth-- > 0;) { /* each sort is stable, so the last key comes first */
        SORT_AGAIN(rows, rows + count, count, own, key(from + own * nbytes, nth));
    }
    for (uint32_t i = 0; done && i < count; i++)
        bytes_copy(to + i * nbytes, from + rows[i].value * nbytes, nbytes);
    ARENA_DROP(arena, from, rows);
    return done;
}
