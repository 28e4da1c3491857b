/*
 * Draws the map of strata png --map in characters: a row for each of the segments with most free bytes. Segments
 * without anything in use are left to the causes.
 *
 *     1.2 GiB   666 MiB  ########################......................
 */
#include "render/report/report_words.h"

#include "base/format.h"
#include "base/numbers.h"
#include "base/sort.h"

#include <string.h>

enum { FREE_LEAST = 1 << 20 };

/* The chosen segments: those with the most free bytes; of equal ones those at lower addresses. */
struct chosen {
    uint32_t segment;
    uint64_t free_bytes;
};

static uint64_t free_of(const struct held *held, const struct held_segment *segment) {
    uint64_t bytes = 0;
    for (uint32_t i = segment->first_block; i < segment->first_block + segment->n_blocks; i++)
        bytes += held->block[i].allocation == ALLOCATION_NONE ? held->block[i].size : 0;
    return bytes;
}

/* The free bytes in [from, to) of a segment; its blocks are looked at from `*at` on. */
static uint64_t free_between(const struct held *held, const struct held_segment *segment, uint64_t from,
                             uint64_t to, uint32_t *at) {
    uint64_t bytes = 0;
    for (; *at < segment->first_block + segment->n_blocks; ++*at) {
        const struct held_block *block = &held->block[*at];
        uint64_t begin = block->address - segment->address, end = begin + block->size;
        uint64_t low = begin > from ? begin : from, high = end < to ? end : to;
        bytes += block->allocation == ALLOCATION_NONE && low < high ? high - low : 0;
        if (end > to)
            break;
    }
    return bytes;
}

static void row_make(struct report_map_row *row, const struct held *held, const struct held_segment *segment,
                     uint64_t cell_bytes) {
    uint32_t at = segment->first_block, count = 0;
    row->size = segment->size;
    for (uint64_t from = 0; from < segment->size && count < REPORT_MAP_WIDTH; from += cell_bytes) {
        uint64_t to = segment->size - from < cell_bytes ? segment->size : from + cell_bytes;
        uint64_t free_bytes = free_between(held, segment, from, to, &at);
        row->cell[count++] = free_bytes == 0 ? '#' : free_bytes == to - from ? '.' : '+';
    }
    row->cell[count] = '\0';
}

void report_map_make(struct report_map *map, const struct held *held) {
    struct chosen chosen[REPORT_MAP_ROWS];
    uint32_t n_chosen = 0;
    uint64_t reserved = 0, all_free = 0;
    *map = (struct report_map){0};
    for (uint32_t i = 0; i < held->n_segments; i++) {
        uint64_t free_bytes = free_of(held, &held->segment[i]);
        reserved += held->segment[i].size;
        all_free += free_bytes;
        if (free_bytes >= FREE_LEAST && free_bytes < held->segment[i].size)
            INSERT(chosen, n_chosen, REPORT_MAP_ROWS, ((struct chosen){i, free_bytes}), other,
                   free_bytes > other->free_bytes);
    }
    if (all_free < reserved / 20)
        return;
    uint64_t largest = LARGEST(n_chosen, i, held->segment[chosen[i].segment].size);
    map->cell_bytes = largest / REPORT_MAP_WIDTH + (largest % REPORT_MAP_WIDTH != 0);
    for (; map->n_rows < n_chosen; map->n_rows++) {
        struct report_map_row *row = &map->row[map->n_rows];
        row_make(row, held, &held->segment[chosen[map->n_rows].segment], map->cell_bytes);
        row->free_bytes = chosen[map->n_rows].free_bytes;
    }
}

void report_map_write(struct sheet *sheet, const struct report_map *map) {
    static const char *const headings[] = {"Size", "Free", "Addresses, rising", NULL};
    unsigned unit = format_unit(LARGEST(map->n_rows, i, map->row[i].size));
    if (map->n_rows == 0)
        return;
    sheet_say(
        sheet,
        "At the reserved peak, the segments in use with the most free memory (# in use, + in part, . free; a "
        "character is %s):",
        format_bytes(map->cell_bytes).text);
    sheet_table(sheet, headings, "rrl");
    for (uint32_t i = 0; i < map->n_rows; i++) {
        const struct report_map_row *row = &map->row[i];
        SHEET_CELLS(sheet, format_bytes_in(row->size, unit).text, format_bytes_in(row->free_bytes, unit).text,
                    sheet_name(sheet, row->cell, strlen(row->cell)));
    }
    sheet_table_end(sheet);
}
