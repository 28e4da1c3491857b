/* Groups of two recordings, matched by their names. */
#include "analysis/compare/compare.h"

#include <stdlib.h>
#include <string.h>

enum { NAME_CAPACITY = 512 };

static char *name_copy(const struct timeline *timeline, enum compare_by by, uint32_t key,
                       const struct modules *modules, struct arena *arena) {
    char text[NAME_CAPACITY];
    uint32_t nbytes = compare_name(timeline, by, key, modules, text, sizeof text) + 1;
    char *name = arena_alloc(arena, nbytes);
    return name == NULL ? NULL : memcpy(name, text, nbytes);
}

/* Appends the groups of one side. False: no memory. */
static bool side_add(const struct compare_side *side, enum compare_by by, bool is_b, struct arena *arena,
                     struct compare_named **rows, uint32_t *n_rows, uint32_t *capacity) {
    struct extent extent = {EXTENT_AT, side->moment, side->moment + 1};
    uint32_t *allocations, n_allocations, n_groups;
    struct group *groups;
    const struct modules *modules =
        by == COMPARE_BY_MODULE ? modules_find(side->timeline, side->runs, side->category, arena) : NULL;
    const uint8_t *column = modules != NULL ? modules->key : side->category;
    if ((modules == NULL && by == COMPARE_BY_MODULE) ||
        !extent_allocations(side->timeline, extent, side->keep, arena, &allocations, &n_allocations) ||
        !compare_groups(side->timeline, allocations, n_allocations, by, column, arena, &groups, &n_groups) ||
        !ARENA_GROW(arena, *rows, *capacity, (uint64_t)*n_rows + n_groups))
        return false;
    for (uint32_t i = 0; i < n_groups; i++) {
        struct compare_named row = {name_copy(side->timeline, by, groups[i].key, modules, arena),
                                    groups[i].key,
                                    is_b ? 0 : groups[i].bytes,
                                    is_b ? groups[i].bytes : 0,
                                    is_b ? 0 : groups[i].count,
                                    is_b ? groups[i].count : 0,
                                    NULL};
        if (row.name == NULL)
            return false;
        (*rows)[(*n_rows)++] = row;
    }
    return true;
}

static int by_name(const void *left, const void *right) {
    const struct compare_named *a = left, *b = right;
    int order = strcmp(a->name, b->name);
    return order != 0 ? order : (b->a_count != 0) - (a->a_count != 0);
}

static uint64_t size_of(const struct compare_named *row) {
    return magnitude_of(compare_delta(row->a_bytes, row->b_bytes));
}

static int by_difference(const void *left, const void *right) {
    const struct compare_named *a = left, *b = right;
    uint64_t of_a = size_of(a), of_b = size_of(b);
    if (of_a != of_b)
        return of_a > of_b ? -1 : 1;
    return a->key != b->key ? (a->key < b->key ? -1 : 1) : strcmp(a->name, b->name);
}

/* Unites rows of one name. */
static uint32_t names_unite(struct compare_named *rows, uint32_t count) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct compare_named *last = n != 0 ? &rows[n - 1] : NULL;
        if (last == NULL || strcmp(last->name, rows[i].name) != 0) {
            rows[n++] = rows[i];
            continue;
        }
        last->a_bytes += rows[i].a_bytes;
        last->b_bytes += rows[i].b_bytes;
        last->a_count += rows[i].a_count;
        last->b_count += rows[i].b_count;
    }
    return n;
}

bool compare_named(const struct compare_side *a, const struct compare_side *b, enum compare_by by,
                   struct arena *arena, struct compare_named **rows, uint32_t *n_rows) {
    uint32_t capacity = 0;
    *rows = NULL;
    *n_rows = 0;
    if (!side_add(a, by, false, arena, rows, n_rows, &capacity) ||
        !side_add(b, by, true, arena, rows, n_rows, &capacity))
        return false;
    if (*n_rows != 0)
        qsort(*rows, *n_rows, sizeof **rows, by_name);
    *n_rows = names_unite(*rows, *n_rows);
    if (*n_rows != 0)
        qsort(*rows, *n_rows, sizeof **rows, by_difference);
    return true;
}
