#include "analysis/loop/blocks.h"

#include "analysis/loop/category.h"
#include "analysis/loop/frame_bits.h"
#include "base/bytes.h"
#include "base/hashed.h"
#include "base/sort.h"
#include "layout/site.h"

enum { PERIODS = 12, LEAST_ALLOCATIONS = 6, PYTHON_FRAMES_MOST = 512 };

struct region {
    uint32_t from, end, period; /* a range of the forward's allocations; period 0: none */
    uint64_t bytes;
    const uint64_t *key;
};

struct blocks_search {
    const struct timeline *timeline;
    const struct phase_runs *runs;
    const uint8_t *category;
    const struct trace *trace;
    const struct allocations *allocations;
    struct arena *arena;
    struct blocks *blocks;
    uint32_t *plain; /* [stacks] the same number for stacks that differ by their lines alone */
    /* About the current forward: */
    uint32_t n;
    uint64_t *key, *plain_key, *bytes; /* [n] */
    uint64_t *votes;                   /* [n] by distance */
    uint32_t *voted;                   /* [n] order of the first vote for a distance, from 1 */
    uint32_t *ahead;                   /* [n] first occurrence of its key */
    struct sort_row *rows, *spare;     /* [n] */
    /* About the previous forward, which most forwards equal: */
    uint32_t last_n;
    uint64_t *last_key, *last_bytes; /* [last_n] */
    struct region best;              /* its best region */
};

/* ---- stacks without lines ---- */

static uint64_t hash_text(uint64_t hash, struct text text) {
    for (uint32_t i = 0; i < text.nbytes; i++)
        hash = (hash ^ text.at[i]) * UINT64_C(1099511628211);
    return (hash ^ 0xff) * UINT64_C(1099511628211);
}

/* Gives the stacks of equal hashes the number of their first: small keys take a sort of allocations fewer passes. */
static void plain_number(struct blocks_search *searching, struct sort_row *rows, struct sort_row *spare,
                         uint32_t n) {
    sort_rows(rows, spare, n);
    for (uint32_t i = 0, first = 0; i < n; i++) {
        first = i > 0 && rows[i].key != rows[first].key ? i : first;
        searching->plain[rows[i].value] = rows[first].value;
    }
}

static bool plain_fill(struct blocks_search *searching) {
    const struct trace *trace = searching->trace;
    uint32_t n = trace->stacks.count;
    uint64_t *of_frame = arena_column(searching->arena, trace->frames.count, sizeof *of_frame);
    struct sort_row *rows, *spare;
    if (of_frame == NULL || !ARENA_COLUMNS(searching->arena, n, searching->plain, rows, spare))
        return false;
    for (uint32_t i = 0; i < trace->frames.count; i++) {
        const struct frame *frame = &trace->frames.frame[i];
        of_frame[i] = hash_text(hash_text(UINT64_C(14695981039346656037), trace_text(trace, frame->file)),
                                trace_text(trace, frame->name));
    }
    rows[0] = (struct sort_row){0, 0};
    for (uint32_t i = 1; i < n; i++) {
        uint64_t outer = rows[stack_parent(&trace->stacks, i)].key;
        rows[i] = (struct sort_row){hash_mix(outer, of_frame[trace->stacks.frame[i]]), i};
    }
    plain_number(searching, rows, spare, n);
    ARENA_DROP(searching->arena, spare, rows, of_frame);
    return true;
}

/* ---- periods ---- */

static void vote(struct blocks_search *searching, uint32_t distance, uint64_t weight, uint32_t *n_voted) {
    if (searching->voted[distance] == 0)
        searching->voted[distance] = ++*n_voted;
    searching->votes[distance] += weight;
}

/* The occurrences of one key, rows [from, to), vote for their distances. */
static void key_votes(struct blocks_search *searching, uint32_t from, uint32_t to, uint32_t *n_voted) {
    static const uint32_t further[] = {2, 3, 4, 6, 8};
    const struct sort_row *rows = searching->rows;
    for (uint32_t i = from; i + 1 < to; i++) {
        uint32_t at = rows[i].value, later = rows[i + 1].value;
        vote(searching, later - at, searching->bytes[later] + 1, n_voted);
    }
    for (uint32_t i = from; i < to; i++)
        for (uint32_t m = 0; m < sizeof further / sizeof *further && i + further[m] < to; m++)
            vote(searching, rows[i + further[m]].value - rows[i].value,
                 (searching->bytes[rows[i].value] + 1) / 2, n_voted);
}

/* Chooses the distances with the most votes, of equal ones the earliest. Returns how many. */
static uint32_t periods_choose(const struct blocks_search *searching, uint32_t period[PERIODS]) {
    uint32_t count = 0;
    for (uint32_t distance = 1; distance < searching->n; distance++) {
        uint32_t at = count;
        if (searching->votes[distance] == 0)
            continue;
        for (; at > 0; at--) {
            uint32_t other = period[at - 1];
            if (searching->votes[other] > searching->votes[distance] ||
                (searching->votes[other] == searching->votes[distance] &&
                 searching->voted[other] < searching->voted[distance]))
                break;
        }
        if (at == PERIODS)
            continue;
        count += count < PERIODS;
        for (uint32_t i = count - 1; i > at; i--)
            period[i] = period[i - 1];
        period[at] = distance;
    }
    return count;
}

/* In `rows` the occurrences of each key are adjacent, and keys are in the order of their first one. */
static uint32_t periods_find(struct blocks_search *searching, const uint64_t *key, uint32_t period[PERIODS]) {
    uint32_t n = searching->n, n_voted = 0;
    struct sort_row *rows = searching->rows;
    bytes_zero(searching->votes, n * sizeof *searching->votes);
    bytes_zero(searching->voted, n * sizeof *searching->voted);
    SORT_BY(rows, searching->spare, n, i, key[i]);
    for (uint32_t i = 0, first = 0; i < n; i++) {
        first = i > 0 && rows[i].key == rows[i - 1].key ? first : rows[i].value;
        searching->ahead[rows[i].value] = first;
    }
    SORT_BY(rows, searching->spare, n, i, searching->ahead[i]);
    for (uint32_t from = 0, to; from < n; from = to) {
        to = sort_rows_end(rows, n, from);
        key_votes(searching, from, to, &n_voted);
    }
    return periods_choose(searching, period);
}

/* ---- regions ---- */

static bool is_better(uint64_t bytes, uint32_t period, const struct region *best) {
    uint32_t low = (bytes | best->bytes) >> 59 != 0 ? 5 : 0; /* the file chooses the sizes */
    uint64_t own = bytes >> low, old = best->bytes >> low;
    return own * 10 > old * 11 || (own * 20 > old * 19 && period < best->period);
}

static void region_weigh(const struct blocks_search *searching, const uint64_t *key, uint32_t from,
                         uint32_t end, uint32_t period, struct region *best) {
    uint64_t bytes = 0;
    for (uint32_t i = from; i < end; i++)
        bytes += searching->bytes[i];
    if (is_better(bytes, period, best))
        *best = (struct region){from, end, period, bytes, key};
}

static void regions_weigh(const struct blocks_search *searching, const uint64_t *key, uint32_t period,
                          struct region *best) {
    uint32_t n = searching->n, run = 0;
    for (uint32_t i = 0; i + period <= n; i++) {
        if (i + period < n && key[i] == key[i + period]) {
            run++;
            continue;
        }
        if (run >= period)
            region_weigh(searching, key, i - run, i + period, period, best);
        run = 0;
    }
}

static void regions_find(struct blocks_search *searching, const uint64_t *key, struct region *best) {
    uint32_t period[PERIODS], count = periods_find(searching, key, period);
    for (uint32_t i = 0; i < count; i++)
        if (period[i] >= 2)
            regions_weigh(searching, key, period[i], best);
}

/* ---- where a block begins ---- */

/* Python frames of a stack, outermost first. */
struct frames {
    uint32_t count;
    uint32_t frame[PYTHON_FRAMES_MOST];
};

static void frames_read(struct frames *frames, const struct blocks_search *searching, uint32_t stack) {
    const struct stack_table *stacks = &searching->trace->stacks;
    const uint32_t *bits = searching->runs->frame_bits;
    uint32_t n = 0;
    for (uint32_t i = stack; i != 0 && n < PYTHON_FRAMES_MOST; i = stack_parent(stacks, i))
        if (bits[stacks->frame[i]] & BIT_PYTHON)
            frames->frame[n++] = stacks->frame[i];
    frames->count = n;
    for (uint32_t i = 0; i < n / 2; i++) {
        uint32_t swap = frames->frame[i];
        frames->frame[i] = frames->frame[n - 1 - i];
        frames->frame[n - 1 - i] = swap;
    }
}

static uint32_t frames_shared(const struct frames *a, const struct frames *b) {
    uint32_t n = 0;
    while (n < a->count && n < b->count && a->frame[n] == b->frame[n])
        n++;
    return n;
}

/* Are both stacks in the same function at this depth, `b` on an earlier line? */
static bool line_falls(const struct blocks_search *searching, const struct frames *a, const struct frames *b,
                       uint32_t at) {
    const struct trace *trace = searching->trace;
    if (at >= a->count || at >= b->count)
        return false;
    const struct frame *x = &trace->frames.frame[a->frame[at]], *y = &trace->frames.frame[b->frame[at]];
    return trace_strings_equal(trace, x->file, y->file) && trace_strings_equal(trace, x->name, y->name) &&
           y->line < x->line;
}

static uint32_t stack_at(const struct blocks_search *searching, const struct forward *forward, uint32_t at) {
    return searching->allocations->stack[forward->first + at];
}

/* Offset of the first block's begin in its region. */
static uint32_t rotation_find(const struct blocks_search *searching, const struct forward *forward,
                              const struct region *region) {
    struct frames one, two, *before = &one, *own = &two;
    uint32_t best = 0, best_shared = UINT32_MAX;
    bool best_falls = false;
    frames_read(before, searching, stack_at(searching, forward, region->from));
    for (uint32_t i = 1; i <= region->period; i++) {
        frames_read(own, searching, stack_at(searching, forward, region->from + i));
        uint32_t shared = frames_shared(before, own);
        bool falls = line_falls(searching, before, own, shared);
        if (shared < best_shared || (shared == best_shared && falls && !best_falls)) {
            best = i % region->period;
            best_shared = shared;
            best_falls = falls;
        }
        struct frames *swap = before;
        before = own;
        own = swap;
    }
    return best;
}

/* ---- blocks ---- */

static void span_add(struct blocks_search *searching, struct forward *forward, uint32_t from, uint32_t end,
                     bool *failed) {
    struct blocks *blocks = searching->blocks;
    if (*failed ||
        !ARENA_GROW(searching->arena, blocks->span, blocks->span_capacity, (uint64_t)blocks->n_spans + 1)) {
        *failed = true;
        return;
    }
    blocks->span[blocks->n_spans++] = (struct block_span){forward->first + from, forward->first + end};
    forward->n_blocks++;
}

/* An earlier occurrence of the first key that begins a block too, because it makes something extra, such as a mask
 * or a cache. `first`: none. */
static uint32_t earlier_find(const struct region *region, uint32_t first) {
    uint32_t p = region->period, nearest = UINT32_MAX, best = first;
    for (uint32_t i = first; i-- > 0 && first - i <= 2 * p;) {
        uint32_t distance = first - i, off = distance > p ? distance - p : p - distance;
        if (2 * distance <= p || region->key[i] != region->key[first] || off >= nearest)
            continue;
        nearest = off;
        best = i;
    }
    return 3 * (uint64_t)nearest <= (p > 12 ? p : 12) ? best : first;
}

/* The end after the last key's last occurrence near the expected end of the last block; 0: there is none. */
static uint32_t last_end(const struct blocks_search *searching, const struct region *region, uint32_t first,
                         uint32_t last) {
    uint64_t key = region->key[first + region->period - 1];
    uint32_t end = 0;
    for (uint32_t d = (region->period + 1) / 2; 3 * (uint64_t)d <= 4 * (uint64_t)region->period; d++)
        if (last + d < searching->n && region->key[last + d] == key)
            end = last + d + 1;
    return end;
}

static bool spans_make(struct blocks_search *searching, struct forward *forward,
                       const struct region *region) {
    bool failed = false, ends = forward->run + 1 == searching->runs->count;
    uint32_t p = region->period, first = region->from + rotation_find(searching, forward, region);
    uint32_t earlier = earlier_find(region, first), last = first;
    forward->first_block = searching->blocks->n_spans;
    forward->period = p;
    if (earlier < first)
        span_add(searching, forward, earlier, first, &failed);
    for (; last + p < region->end; last += p)
        span_add(searching, forward, last, last + p, &failed);
    uint32_t end = last_end(searching, region, first, last);
    if (end == 0 && ends)
        end = last + p < searching->n ? last + p : searching->n;
    if (end > last)
        span_add(searching, forward, last, end, &failed);
    return !failed;
}

static uint32_t site_find(const struct blocks_search *searching, const struct block_span *span,
                          bool *in_module) {
    struct frames shared, own;
    uint32_t innermost = 0;
    frames_read(&shared, searching, searching->allocations->stack[span->first]);
    for (uint32_t i = span->first + 1; i < span->end; i++) {
        frames_read(&own, searching, searching->allocations->stack[i]);
        shared.count = frames_shared(&shared, &own);
    }
    *in_module = shared.count == 0; /* without Python frames nothing tells */
    for (uint32_t i = 0; i < shared.count; i++)
        *in_module |= (searching->runs->frame_bits[shared.frame[i]] & BIT_FORWARD) != 0;
    for (uint32_t i = shared.count; i-- > 0;) {
        uint32_t frame = shared.frame[i];
        if (frame_kind_of_rank(searching->timeline->frame_rank[frame]) != FRAME_USER)
            continue;
        innermost = innermost != 0 ? innermost : frame;
        if (text_is(trace_text(searching->trace, searching->trace->frames.frame[frame].name), "forward"))
            return frame;
    }
    return innermost;
}

/* Sums up the forward's activations in blocks; a single block counts as none. */
static void forward_settle(struct blocks_search *searching, struct forward *forward) {
    const struct block_span *span = &searching->blocks->span[forward->first_block];
    if (forward->n_blocks < 2) {
        searching->blocks->n_spans -= forward->n_blocks;
        forward->n_blocks = 0;
        return;
    }
    for (uint32_t i = span[0].first; i < span[forward->n_blocks - 1].end; i++)
        forward->bytes_in_blocks += searching->bytes[i - forward->first];
    forward->site = site_find(searching, &span[0], &forward->in_module);
}

static bool columns_make(struct blocks_search *searching, uint32_t n) {
    struct arena *arena = searching->arena;
    return ARENA_COLUMNS(arena, n, searching->key, searching->plain_key, searching->bytes,
                         searching->last_key, searching->last_bytes, searching->votes, searching->voted,
                         searching->ahead, searching->rows, searching->spare);
}

static void columns_fill(struct blocks_search *searching, struct forward *forward) {
    searching->n = forward->end - forward->first;
    for (uint32_t i = 0; i < searching->n; i++) {
        uint32_t allocation = forward->first + i, stack = searching->allocations->stack[allocation];
        bool activation = searching->category[allocation] == CATEGORY_ACTIVATION;
        searching->key[i] = stack;
        searching->plain_key[i] = searching->plain[stack];
        searching->bytes[i] = activation ? searching->allocations->size[allocation] : 0;
        forward->bytes += searching->bytes[i];
    }
}

/* Is the forward like the previous one? Then it has the same best region. */
static bool is_like_last(const struct blocks_search *searching) {
    uint64_t differs = searching->n ^ searching->last_n;
    for (uint32_t i = 0; differs == 0 && i < searching->n; i++)
        differs =
            (searching->key[i] ^ searching->last_key[i]) | (searching->bytes[i] ^ searching->last_bytes[i]);
    return differs == 0;
}

static void columns_swap(struct blocks_search *searching) {
    uint64_t *key = searching->last_key, *bytes = searching->last_bytes;
    searching->last_key = searching->key;
    searching->last_bytes = searching->bytes;
    searching->last_n = searching->n;
    searching->key = key;
    searching->bytes = bytes;
}

static struct region region_choose(struct blocks_search *searching, uint64_t forward_bytes) {
    struct region best = {0};
    regions_find(searching, searching->key, &best);
    if (best.bytes < forward_bytes - forward_bytes / 2)
        regions_find(searching, searching->plain_key, &best);
    return best;
}

static bool forward_search(struct blocks_search *searching, struct forward *forward) {
    columns_swap(searching);
    columns_fill(searching, forward);
    if (searching->n < LEAST_ALLOCATIONS)
        return true;
    if (!is_like_last(searching))
        searching->best = region_choose(searching, forward->bytes);
    else if (searching->best.key == searching->last_key)
        searching->best.key = searching->key;
    const struct region *best = &searching->best;
    if (best->period == 0 || best->bytes < forward->bytes / 10 + (forward->bytes % 10 != 0))
        return true;
    if (!spans_make(searching, forward, best))
        return false;
    forward_settle(searching, forward);
    return true;
}

/* Lists forwards, beginning at the run's first allocation of forward(). False: no memory. */
static bool forwards_list(struct blocks *blocks, const struct phase_runs *runs, struct arena *arena) {
    for (uint32_t r = 0; r < runs->count; r++) {
        if (runs->run[r].side != SIDE_FORWARD || !runs->run[r].has_forward)
            continue;
        uint32_t first = runs->first_allocation + runs->run[r].first;
        while (runs->letter[first] != PHASE_FORWARD)
            first++;
        if (!ARENA_GROW(arena, blocks->forward, blocks->forward_capacity, (uint64_t)blocks->n_forwards + 1))
            return false;
        blocks->forward[blocks->n_forwards++] =
            (struct forward){.first = first,
                             .end = runs->first_allocation + runs->run[r].last + 1,
                             .run = r,
                             .has_backward = r + 1 < runs->count && runs->run[r + 1].side == SIDE_BACKWARD};
    }
    return true;
}

bool blocks_find(struct blocks *blocks, const struct timeline *timeline, const struct phase_runs *runs,
                 const uint8_t *category, struct arena *arena) {
    struct blocks_search searching = {.timeline = timeline,
                                      .runs = runs,
                                      .category = category,
                                      .trace = timeline->trace,
                                      .allocations = &timeline->device->allocations,
                                      .arena = arena,
                                      .blocks = blocks};
    uint32_t longest = 0;
    *blocks = (struct blocks){0};
    bool done = runs->stacks == STACKS_NONE || forwards_list(blocks, runs, arena);
    for (uint32_t i = 0; i < blocks->n_forwards; i++) {
        uint32_t n = blocks->forward[i].end - blocks->forward[i].first;
        longest = n > longest ? n : longest;
    }
    if (done && longest != 0)
        done = plain_fill(&searching) && columns_make(&searching, longest);
    for (uint32_t i = 0; done && i < blocks->n_forwards; i++)
        done = forward_search(&searching, &blocks->forward[i]);
    ARENA_DROP(arena, searching.spare, searching.rows, searching.ahead, searching.voted, searching.votes,
               searching.last_bytes, searching.last_key, searching.bytes, searching.plain_key, searching.key);
    ARENA_DROP(arena, searching.plain);
    return done;
}
