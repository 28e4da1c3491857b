#include "base/sort.h"

#include "base/bytes.h"
#include "base/search.h"

/* One pass of a radix sort: by byte `shift / 8`. */
static void rows_scatter(const struct sort_row *from, struct sort_row *to, uint32_t count, unsigned shift) {
    uint32_t start[257] = {0};
    for (uint32_t i = 0; i < count; i++)
        start[(from[i].key >> shift & 255) + 1]++;
    for (unsigned digit = 0; digit < 256; digit++)
        start[digit + 1] += start[digit];
    for (uint32_t i = 0; i < count; i++)
        to[start[from[i].key >> shift & 255]++] = from[i];
}

void sort_rows(struct sort_row *rows, struct sort_row *spare, uint32_t count) {
    uint64_t differing = 0;
    for (uint32_t i = 1; i < count; i++)
        differing |= rows[i].key ^ rows[0].key;
    struct sort_row *from = rows, *to = spare;
    for (unsigned shift = 0; shift < 64; shift += 8) {
        if ((differing >> shift & 255) == 0)
            continue;
        rows_scatter(from, to, count, shift);
        struct sort_row *swap = from;
        from = to;
        to = swap;
    }
    if (from != rows)
        bytes_copy(rows, from, (size_t)count * sizeof *rows);
}

uint32_t sort_rows_seek(const struct sort_row *rows, uint32_t count, uint64_t key) {
    uint32_t low = 0, high = count;
    SEARCH(low, high, i, rows[i].key <= key);
    return low == 0 ? UINT32_MAX : low - 1;
}
