/*
 * Ranks may differ because their names put them in different places of expert, context or tensor parallelism. That
 * is so if all ranks of one place are alike and ranks of different places are not; then ranks are compared within
 * their place.
 */
#include "analysis/compare/index.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_CAPACITY = 300 };

static const char *const place_names[INDEX_PLACES] = {"ep", "cp", "tp"};

/* Ranks of one group, step and place, in the order of place_compare: by rising peak. */
struct place {
    uint32_t from, to;
    int64_t number;
    uint64_t median; /* of the peaks; of two the lower one, so that a single higher rank does not move it */
    uint64_t spread; /* of the peaks; of three or more without the farthest one, which may be odd */
};

static int text_compare(const char *a, const char *b) {
    return strcmp(a != NULL ? a : "", b != NULL ? b : "");
}

static int block_compare(const struct index_row *x, const struct index_row *y) {
    int order = text_compare(x->group, y->group);
    return order != 0 ? order : (x->step > y->step) - (x->step < y->step);
}

struct sorted_row {
    struct index_row *row;
    int64_t place;
};

static int place_compare(const void *a, const void *b) {
    const struct sorted_row *x = a, *y = b;
    int order = block_compare(x->row, y->row);
    if (order == 0)
        order = (x->place > y->place) - (x->place < y->place);
    if (order == 0)
        order = (x->row->peak_bytes > y->row->peak_bytes) - (x->row->peak_bytes < y->row->peak_bytes);
    return order != 0 ? order : (x->row > y->row) - (x->row < y->row);
}

static struct place place_of(const struct sorted_row *rows, uint32_t from, uint32_t to) {
    const struct sorted_row *first = &rows[from], *last = &rows[to - 1];
    struct place place = {from, to, first->place, rows[from + (to - from - 1) / 2].row->peak_bytes,
                          last->row->peak_bytes - first->row->peak_bytes};
    if (to - from > 2) {
        uint64_t lower = last[-1].row->peak_bytes - first->row->peak_bytes;
        uint64_t upper = last->row->peak_bytes - first[1].row->peak_bytes;
        place.spread = lower < upper ? lower : upper;
    }
    return place;
}

static uint32_t places_find(const struct sorted_row *rows, uint32_t from, uint32_t to, struct place *places) {
    uint32_t count = 0;
    for (uint32_t i = from, end; i < to; i = end) {
        for (end = i + 1; end < to && rows[end].place == rows[i].place;)
            end++;
        places[count++] = place_of(rows, i, end);
    }
    return count;
}

/* The distance between the medians of places with at least two ranks and a spread of at most `most_spread`. */
static uint64_t places_apart(const struct place *places, uint32_t count, uint64_t most_spread,
                             uint32_t *n_alike) {
    uint64_t least = UINT64_MAX, most = 0;
    *n_alike = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (places[i].to - places[i].from < 2 || places[i].spread > most_spread)
            continue;
        least = places[i].median < least ? places[i].median : least;
        most = places[i].median > most ? places[i].median : most;
        ++*n_alike;
    }
    return most > least && most - least > least / 100 && most - least > 1 << 20 ? most - least : 0;
}

/* The distance between places, if three of four are alike inside, so that a rank's excess is its own; 0: places do
 * not differ. */
static uint64_t places_differ(const struct place *places, uint32_t count) {
    uint32_t n_alike;
    uint64_t apart = places_apart(places, count, UINT64_MAX, &n_alike);
    if (apart == 0)
        return 0;
    apart = places_apart(places, count, apart / 4, &n_alike);
    return n_alike >= 2 && (uint64_t)n_alike * 4 >= (uint64_t)count * 3 ? apart : 0;
}

static int median_compare(const void *a, const void *b) {
    const struct place *x = a, *y = b;
    if (x->median != y->median)
        return x->median < y->median ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

static int number_compare(const void *a, const void *b) {
    const struct place *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

/* Writes "pp2 ep0,2-7" for places by rising number. */
static void places_text(const char *group, unsigned kind, const struct place *places, uint32_t count,
                        char *text) {
    size_t used = (size_t)snprintf(text, TEXT_CAPACITY, "%.*s%s%s", UTF8_FIT(group != NULL ? group : "", 100),
                                   group != NULL && *group != '\0' ? " " : "", place_names[kind]);
    for (uint32_t i = 0, end; i < count && used + 60 < TEXT_CAPACITY; i = end) {
        for (end = i + 1; end < count && places[end].number == places[end - 1].number + 1;)
            end++;
        used += (size_t)snprintf(text + used, TEXT_CAPACITY - used,
                                 end - i > 1 ? "%s%" PRId64 "-%" PRId64 : "%s%" PRId64, i != 0 ? "," : "",
                                 places[i].number, places[end - 1].number);
    }
}

/* Joins places with similar medians into one group: the larger the group, the more certain is an odd rank in it. */
static bool places_name(struct index *index, const struct sorted_row *rows, struct place *places,
                        uint32_t count, unsigned kind) {
    char text[TEXT_CAPACITY];
    qsort(places, count, sizeof *places, number_compare);
    places_text(rows[places[0].from].row->group, kind, places, count, text);
    char *kept = arena_alloc(index->arena, strlen(text) + 1);
    if (kept == NULL)
        return false;
    memcpy(kept, text, strlen(text) + 1);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = places[i].from; k < places[i].to; k++)
            rows[k].row->group = kept;
    return true;
}

static bool places_group(struct index *index, const struct sorted_row *rows, struct place *places,
                         uint32_t count, uint64_t apart, unsigned kind) {
    qsort(places, count, sizeof *places, median_compare);
    for (uint32_t from = 0, to; from < count; from = to) {
        for (to = from + 1; to < count && places[to].median - places[to - 1].median <= apart / 4;)
            to++;
        if (!places_name(index, rows, places + from, to - from, kind))
            return false;
    }
    return true;
}

static bool places_split(struct index *index, struct sorted_row *rows, uint32_t count, struct place *places,
                         unsigned kind) {
    for (uint32_t from = 0, to; from < count; from = to) {
        for (to = from + 1; to < count && block_compare(rows[from].row, rows[to].row) == 0;)
            to++;
        uint32_t n_places = places_find(rows, from, to, places);
        uint64_t apart = places_differ(places, n_places);
        if (apart != 0 && !places_group(index, rows, places, n_places, apart, kind))
            return false;
    }
    return true;
}

bool index_split_places(struct index *index) {
    struct sorted_row *rows = malloc(((size_t)index->n_rows + 1) * sizeof *rows);
    struct place *places = malloc(((size_t)index->n_rows + 1) * sizeof *places);
    bool done = rows != NULL && places != NULL;
    for (unsigned kind = 0; done && kind < INDEX_PLACES; kind++) {
        uint32_t count = 0;
        for (uint32_t i = 0; i < index->n_rows; i++)
            if (index->rows[i].copy_of == NULL && index->rows[i].place[kind] != INDEX_UNKNOWN)
                rows[count++] = (struct sorted_row){&index->rows[i], index->rows[i].place[kind]};
        if (count != 0)
            qsort(rows, count, sizeof *rows, place_compare);
        done = places_split(index, rows, count, places, kind);
    }
    free(places);
    free(rows);
    return done;
}
