/* The search's matches in lists: their columns, their order, and sums of the matches alone. */
#include "base/search.h"
#include "base/sort.h"
#include "render/page/page_state.h"

/* The first column at or after the beginning of a moment; `window` is as wide as the array. */
static uint32_t column_of_birth(const struct page_view *view, const struct view *window, uint32_t birth) {
    int32_t x = view_x_q8(window, view_timeline(view), birth);
    return x < 0 ? 0 : (uint32_t)x / 256 < window->width ? (uint32_t)x / 256 : window->width;
}

/* The first allocation that was made at `moment` or later. */
static uint32_t allocation_from(const struct allocations *allocations, uint32_t moment) {
    return SEARCH(0, allocations->count, i, allocations->birth[i] < moment);
}

f64 view_allocation_from(struct page_view *view, f64 event) {
    return event < 0 ? 0 : allocation_from(view_allocations(view), moment_of(view, event));
}

static uint32_t found_between(const struct page_view *view, uint32_t from, uint32_t to) {
    uint32_t count = 0;
    for (uint32_t at = from; at < to;) {
        uint32_t n = 64 - at % 64 < to - at ? 64 - at % 64 : to - at;
        uint64_t bits = word_found(view, at / 64) >> at % 64;
        count += bits_count(n == 64 ? bits : bits & ((UINT64_C(1) << n) - 1));
        at += n;
    }
    return count;
}

u32 view_matches_until(struct page_view *view, u32 allocation) {
    uint32_t count = view_allocations(view)->count;
    return view_found(view) == NULL || count == 0
               ? 0
               : found_between(view, 0, (allocation < count ? allocation : count - 1) + 1);
}

/* The first moment of a column, by bisection: x never falls with the moment. */
static uint32_t moment_of_column(const struct page_view *view, const struct view *window, uint32_t column) {
    return SEARCH(1, view_timeline(view)->n_moments, moment,
                  view_x_q8(window, view_timeline(view), moment) < 0 ||
                      column_of_birth(view, window, moment) < column);
}

place view_hits(struct page_view *view, i32 axis, f64 from, f64 to, u32 width) {
    const struct allocations *allocations = view_allocations(view);
    struct view window;
    if (view_found(view) == NULL || !page_window_of(view, &window, axis == 1, from, to, width, 1) ||
        !ARENA_GROW(&view->arena, view->curve, view->curve_capacity, width))
        return 0;
    uint32_t at = allocation_from(allocations, moment_of_column(view, &window, 0));
    for (uint32_t column = 0; column < width; column++) {
        uint32_t end = allocation_from(allocations, moment_of_column(view, &window, column + 1));
        end = end < at ? at : end;
        view->curve[column] = found_between(view, at, end);
        at = end;
    }
    return (place)view->curve;
}

i32 view_narrow(struct page_view *view, u32 on) {
    uint32_t n_words = view_allocations(view)->count / 64 + 1;
    view->is_narrow = false;
    if (on == 0 || view_found(view) == NULL)
        return PAYLOAD_OK;
    if (!ARENA_GROW(&view->arena, view->only, view->only_capacity, n_words))
        return PAYLOAD_NO_MEMORY;
    for (uint32_t i = 0; i < n_words; i++)
        view->only[i] = word_found(view, i);
    view->is_narrow = true;
    return PAYLOAD_OK;
}

enum match_order { BY_BIRTH, BY_BYTES, BY_LIFETIME, BY_CALL_SITE, BY_CATEGORY, BY_STREAM, MATCH_ORDERS };

enum {
    NAME_CHUNKS = 6
}; /* eight bytes each: names with the same first 48 bytes stay in the order of their ids */

/* Eight bytes of a text as a number; numbers sort as their texts do. */
static uint64_t chunk_of(const char *text, uint32_t length, uint32_t chunk) {
    uint64_t key = 0;
    for (uint32_t i = 8 * chunk; i < 8 * chunk + 8; i++)
        key = key << 8 | (i < length ? (uint8_t)text[i] : 0u);
    return key;
}

/* The rank of each call site's name in the alphabet, by frame id. NULL: no memory. */
static uint32_t *site_ranks(const struct page_view *view, struct arena *arena) {
    const struct trace *trace = &view->session->trace;
    const uint32_t *site = view_timeline(view)->site;
    uint32_t *rank = arena_zeros(arena, trace->frames.count, sizeof *rank), count = 0;
    struct sort_row *rows, *spare;
    char text[8 * NAME_CHUNKS + 1];
    if (!ARENA_COLUMNS(arena, trace->frames.count, rows, spare) || rank == NULL)
        return NULL;
    for (uint32_t i = 0; i < trace->stacks.count; i++)
        if (rank[site[i]]++ == 0)
            rows[count++].value = site[i];
    for (uint32_t chunk = NAME_CHUNKS; chunk-- > 0;) {
        SORT_AGAIN(rows, spare, count, own, chunk_of(text, site_text(trace, own, text, sizeof text), chunk));
    }
    for (uint32_t i = 0; i < count; i++)
        rank[rows[i].value] = i;
    return rank;
}

static uint64_t match_key(const struct page_view *view, enum match_order by, uint32_t allocation,
                          const uint32_t *rank, const uint8_t *category) {
    const struct allocations *allocations = view_allocations(view);
    switch (by) {
    case BY_BYTES: return allocations->size[allocation];
    case BY_LIFETIME: return allocations->death[allocation] - allocations->birth[allocation];
    case BY_CALL_SITE: return rank[view_timeline(view)->site[allocations->stack[allocation]]];
    case BY_CATEGORY: return category[allocation];
    case BY_STREAM: return allocations->stream[allocation];
    case BY_BIRTH:
    case MATCH_ORDERS: break;
    }
    return allocation;
}

/* So many allocations are looked at in one step, which takes some milliseconds. */
enum { MATCHES_AT_ONCE = 1 << 18 };

static uint32_t step_end(uint32_t next, uint32_t count) {
    return count - next < MATCHES_AT_ONCE ? count : next + MATCHES_AT_ONCE;
}

static i32 matching_end(struct page_view *view, uint32_t count, i32 code) {
    view->matching.doing = MATCHES_READY;
    view->n_matches = count;
    return code;
}

/* Prepares what the order needs besides the matches. */
static bool keys_begin(struct page_view *view) {
    struct matching *matching = &view->matching;
    struct sort_row *rows, *spare;
    bool done = ARENA_COLUMNS(&view->listing, matching->count, rows, spare);
    matching->sorting = (struct sorting){.rows = rows, .spare = spare};
    matching->rank = matching->by == BY_CALL_SITE ? site_ranks(view, &view->listing) : NULL;
    matching->next = 0;
    matching->doing = MATCHES_KEYED;
    return done && (matching->by != BY_CALL_SITE || matching->rank != NULL);
}

static i32 matches_find(struct page_view *view) {
    const struct allocations *allocations = view_allocations(view);
    struct matching *matching = &view->matching;
    uint32_t end = step_end(matching->next, allocations->count);
    for (; matching->next < end; matching->next++)
        if (allocations->birth[matching->next] < matching->end &&
            allocations->death[matching->next] >= matching->first &&
            allocation_is_found(view, matching->next)) {
            view->matches[matching->count++] = matching->next;
            if (allocations->size[matching->next] > view->largest_match)
                view->largest_match = allocations->size[matching->next];
        }
    if (end < allocations->count)
        return PAYLOAD_MORE;
    if (matching->by == BY_BIRTH && !matching->falling)
        return matching_end(view, matching->count, PAYLOAD_OK);
    return keys_begin(view) ? PAYLOAD_MORE : matching_end(view, 0, PAYLOAD_NO_MEMORY);
}

/* To sort falling, keys are inverted, so that equal ones stay in the order of their births. */
static i32 matches_key(struct page_view *view) {
    struct matching *matching = &view->matching;
    uint32_t end = step_end(matching->next, matching->count);
    const uint8_t *category =
        matching->by == BY_CATEGORY ? session_categories(view->session, view_now(view)) : NULL;
    if (matching->by == BY_CATEGORY && category == NULL)
        return matching_end(view, 0, PAYLOAD_NO_MEMORY);
    for (; matching->next < end; matching->next++) {
        uint32_t allocation = view->matches[matching->next];
        uint64_t key = match_key(view, (enum match_order)matching->by, allocation, matching->rank, category);
        matching->sorting.rows[matching->next] =
            (struct sort_row){matching->falling ? ~key : key, allocation};
    }
    if (end < matching->count)
        return PAYLOAD_MORE;
    sorting_begin(&matching->sorting, matching->sorting.rows, matching->sorting.spare, matching->count,
                  MATCHES_AT_ONCE);
    matching->doing = MATCHES_SORTED;
    return PAYLOAD_MORE;
}

static i32 matches_sort(struct page_view *view) {
    struct matching *matching = &view->matching;
    if (sorting_step(&matching->sorting))
        return PAYLOAD_MORE;
    for (uint32_t i = 0; i < matching->count; i++)
        view->matches[i] = matching->sorting.rows[i].value;
    return matching_end(view, matching->count, PAYLOAD_OK);
}

i32 view_match_rows(struct page_view *view, u32 by, u32 falling, f64 from, f64 to) {
    arena_release(&view->listing);
    view->matching = (struct matching){
        .by = by, .falling = falling != 0, .first = moment_of(view, from), .end = moment_end_of(view, to)};
    view->n_matches = 0;
    view->largest_match = 0;
    view->matches = arena_column(&view->listing, view_allocations(view)->count, sizeof *view->matches);
    if (view->matches == NULL)
        return PAYLOAD_NO_MEMORY;
    view->matching.doing = by < MATCH_ORDERS ? MATCHES_FOUND : MATCHES_READY;
    return PAYLOAD_OK;
}

i32 view_match_step(struct page_view *view) {
    switch (view->matching.doing) {
    case MATCHES_FOUND: return matches_find(view);
    case MATCHES_KEYED: return matches_key(view);
    case MATCHES_SORTED: return matches_sort(view);
    case MATCHES_READY: break;
    }
    return PAYLOAD_OK;
}

place view_match_list(struct page_view *view) {
    return FILL(view, listed, (double)(place)view->matches, view->n_matches, (double)view->largest_match);
}
