/*
 * A growing buffer: an allocation is replaced by a larger one, and that again, as when torch.cat extends a cache.
 *
 *     first   |--------|
 *     next          |----------|          made while the one before is alive, which goes soon after
 *     next                   |------------|
 *
 * figure: [0] links of the longest chain, [1] bytes of the first, [2] of the last, [3] chains of the stack.
 */
#include "analysis/findings/finder.h"

#include "base/bits.h"
#include "base/search.h"
#include "base/sort.h"

enum {
    SOON = 8, /* allocations within which the replaced one is freed */
    APART = 3,
    LINKS_LEAST = 3,
    LINES_LEAST = 4,     /* fewer lines may be those of a cache alone */
    LARGE_NBYTES = 4096, /* smaller ones are sums, counters and seeds of fixed size */
    LINKS_EVEN = 4,      /* in chains of up to this many, sizes that rise by chance look alike */
    STACK_CLASSES = 4096 /* a power of two */
};

/* An allocation that replaces another one, or is replaced. By rising allocation. */
struct link {
    uint32_t allocation, next; /* next: index of the link that replaces it; UINT32_MAX: none */
    uint32_t before;           /* index; UINT32_MAX: none */
    uint32_t length;           /* links up to here */
};

/* First allocation born at or after an allocation's death, which is mostly near. */
static uint32_t first_after(const struct allocations *allocations, uint32_t allocation) {
    uint32_t low = allocation + 1, step = 1;
    for (; low + step < allocations->count && allocations->birth[low + step] < allocations->death[allocation];
         step *= 2)
        low += step;
    uint32_t high = low + step < allocations->count ? low + step : allocations->count;
    return SEARCH(low, high, i, allocations->birth[i] < allocations->death[allocation]);
}

/* The allocation of the same stack that replaces this one; UINT32_MAX: none. */
static uint32_t successor_of(const struct finder *finder, uint32_t allocation) {
    const struct allocations *allocations = finder->allocations;
    if (allocations->death[allocation] >= finder->timeline->n_moments)
        return UINT32_MAX;
    uint32_t end = first_after(allocations, allocation);
    uint32_t from = end > allocation + SOON ? end - SOON : allocation + 1;
    for (uint32_t i = end; i-- > from;)
        if (allocations->stack[i] == allocations->stack[allocation] &&
            allocations->size[i] > allocations->size[allocation] && i - allocation >= APART)
            return i;
    return UINT32_MAX;
}

/* Stores the largest allocation of each class of stacks. Most allocations are the largest of their stack and need
 * no search. */
static bool most_find(struct finder *finder) {
    const struct allocations *allocations = finder->allocations;
    uint64_t *most = arena_zeros(finder->arena, STACK_CLASSES, sizeof *most);
    finder->pairs.most = most;
    if (most == NULL)
        return false;
    for (uint32_t i = allocations->preexisting; i < allocations->count; i++) {
        uint64_t *of_class = &most[allocations->stack[i] % STACK_CLASSES];
        *of_class = allocations->size[i] > *of_class ? allocations->size[i] : *of_class;
    }
    return true;
}

/* Can it have a successor? */
static bool may_grow(const struct finder *finder, uint32_t allocation, uint64_t least) {
    const struct allocations *allocations = finder->allocations;
    uint32_t stack = allocations->stack[allocation];
    return stack != 0 && allocations->size[allocation] >= least &&
           allocations->size[allocation] < finder->pairs.most[stack % STACK_CLASSES];
}

/* Finds pairs (allocation, successor) in the finder's part of the allocations, by allocation. */
static void pairs_find(struct finder *finder, uint64_t least) {
    const struct allocations *allocations = finder->allocations;
    uint64_t n = allocations->count - allocations->preexisting;
    uint32_t end = allocations->preexisting + (uint32_t)(n * (finder->part + 1) / GROWING_PARTS);
    for (uint32_t i = allocations->preexisting + (uint32_t)(n * finder->part / GROWING_PARTS); i < end; i++) {
        uint32_t next = may_grow(finder, i, least) ? successor_of(finder, i) : UINT32_MAX;
        if (next == UINT32_MAX)
            continue;
        if (!ARENA_GROW(finder->arena, finder->pairs.row, finder->pairs.capacity,
                        (uint64_t)finder->pairs.count + 1)) {
            finder->failed = true;
            return;
        }
        finder->pairs.row[finder->pairs.count++] = (struct sort_row){i, next};
    }
}

/* The link of an allocation, from the link of an earlier one on. */
static uint32_t link_at(const struct link *links, uint32_t count, uint32_t from, uint32_t allocation) {
    uint32_t apart = allocation - links[from].allocation;
    uint32_t until = apart < count - from ? from + apart : count;
    return SEARCH(from, until, i, links[i].allocation < allocation);
}

/* Links for all allocations in pairs, by allocation; a bit for each allocation takes less room than a list to sort.
 * NULL: no memory. */
static struct link *links_of_pairs(struct finder *finder, uint32_t *count) {
    size_t n_words = finder->allocations->count / 64 + 1;
    uint64_t *bits = arena_bits(finder->arena, finder->allocations->count);
    struct link *links = NULL;
    uint32_t n = 0;
    *count = 0;
    if (bits == NULL)
        return NULL;
    for (uint32_t i = 0; i < finder->pairs.count; i++) {
        const struct sort_row *pair = &finder->pairs.row[i];
        bits[pair->key / 64] |= UINT64_C(1) << pair->key % 64;
        bits[pair->value / 64] |= UINT64_C(1) << pair->value % 64;
    }
    for (size_t word = 0; word < n_words; word++)
        n += bits_count(bits[word]);
    links = arena_column(finder->arena, n, sizeof *links);
    for (size_t word = 0; links != NULL && word < n_words; word++)
        for (uint64_t left = bits[word]; left != 0; left &= left - 1)
            links[(*count)++] = (struct link){(uint32_t)(word * 64) + (uint32_t)__builtin_ctzll(left),
                                              UINT32_MAX, UINT32_MAX, 1};
    ARENA_DROP(finder->arena, bits);
    return links;
}

/* The same with the longest chain up to each. NULL: no memory. */
static struct link *links_make(struct finder *finder, uint32_t *count) {
    const struct sort_row *pairs = finder->pairs.row;
    struct link *links = links_of_pairs(finder, count);
    if (links == NULL) {
        finder->failed = true;
        return NULL;
    }
    for (uint32_t i = 0, from = 0; i < finder->pairs.count; i++) {
        while (links[from].allocation < pairs[i].key)
            from++;
        uint32_t to = link_at(links, *count, from, pairs[i].value);
        links[from].next = to;
        if (links[from].length + 1 > links[to].length) {
            links[to].length = links[from].length + 1;
            links[to].before = from;
        }
    }
    return links;
}

/* Does a chain that ends at a link grow: by enough, and, if it has few links, by similar steps? */
static bool chain_grows(const struct finder *finder, const struct link *links, uint32_t last) {
    const uint64_t *size = finder->allocations->size;
    uint64_t least = UINT64_MAX, most = 0, end = size[links[last].allocation];
    uint32_t at = last;
    if (links[last].next != UINT32_MAX || links[last].length < LINKS_LEAST)
        return false;
    for (; links[at].before != UINT32_MAX; at = links[at].before) {
        uint64_t step = size[links[at].allocation] - size[links[links[at].before].allocation];
        least = step < least ? step : least;
        most = step > most ? step : most;
    }
    bool even = most / 2 <= least;
    return end / 3 >= size[links[at].allocation] / 2 && (even || links[last].length > LINKS_EVEN);
}

/* The mean growth per link in the chain that ends with `last`. */
static uint64_t chain_slope(const struct link *links, uint32_t last, const uint64_t *size) {
    uint32_t first = last;
    while (links[first].before != UINT32_MAX)
        first = links[first].before;
    uint32_t n = links[last].length - 1;
    return n == 0 ? 0 : (size[links[last].allocation] - size[links[first].allocation]) / n;
}

/* Was a larger allocation of the stack freed for the last chain's first link? A cache that each prompt builds anew
 * grows within the prompt but not from step to step. The old one may be freed just after the new one is made, long
 * before the second link. */
static bool chain_restarts(const struct finder *finder, const struct link *links, uint32_t last,
                           uint32_t key) {
    const struct allocations *allocations = finder->allocations;
    uint32_t first = last, second = last;
    for (; links[first].before != UINT32_MAX; first = links[first].before)
        second = first;
    uint32_t begin = allocations->birth[links[first].allocation];
    uint32_t by = begin + (allocations->birth[links[second].allocation] - begin) / 2;
    for (uint32_t at = finder->lives.start[key]; at < finder->lives.start[key + 1]; at++) {
        uint32_t i = finder->lives.order[at];
        if (allocations->birth[i] < begin && allocations->death[i] <= by &&
            allocations->size[i] > allocations->size[links[first].allocation])
            return true;
    }
    return false;
}

/* The largest of a site's allocations [from, to). */
static uint64_t largest_of(const struct finder *finder, uint32_t from, uint32_t to) {
    uint64_t largest = 0;
    for (uint32_t at = from; at < to; at++) {
        uint64_t size = finder->allocations->size[finder->lives.order[at]];
        largest = size > largest ? size : largest;
    }
    return largest;
}

/* Do batches grow? Then most lines make larger allocations later than before, and not the buffer's alone. */
static bool lengths_grow(const struct finder *finder) {
    const struct lives *lives = &finder->lives;
    uint32_t n_grow = 0, n = 0;
    for (uint32_t site = 0; site < lives->n_sites; site++) {
        uint32_t from = lives->start[site], to = lives->start[site + 1], middle = from + (to - from) / 2;
        if (to - from < LINKS_LEAST || finder_side(finder, lives->order[from]) != SIDE_FORWARD)
            continue;
        uint64_t before = largest_of(finder, from, middle);
        n += before >= LARGE_NBYTES;
        n_grow += before >= LARGE_NBYTES && largest_of(finder, middle, to) > before;
    }
    return n >= LINES_LEAST && n_grow * 4 >= n * 3;
}

/* Judges the chains of one stack: rows [from, to) are their last links. */
static void stack_judge(struct finder *finder, const struct link *links, const struct sort_row *rows,
                        uint32_t from, uint32_t to) {
    const struct allocations *allocations = finder->allocations;
    uint32_t key = id_slot(&finder->verdicts->runs.slots, (uint32_t)rows[from].key), n_links = 0,
             last_of_stack = 0, n_of_stack = 0, longest = from;
    struct finding finding = {.kind = FINDING_GROWING_BUFFER,
                              .stack = (uint32_t)rows[from].key,
                              .site = finder->timeline->site[rows[from].key],
                              .n_sites = 1,
                              .at_moment = finder->timeline->peak_moment,
                              .from_moment = UINT32_MAX,
                              .figure = {[3] = to - from}};
    uint64_t last_bytes = 0, peak = finder->timeline->peak_bytes;
    bool ends_last = false;
    n_of_stack = finder->lives.start[key + 1] - finder->lives.start[key];
    last_of_stack = finder->lives.order[finder->lives.start[key + 1] - 1];
    for (uint32_t i = from; i < to; i++) {
        const struct link *last = &links[rows[i].value];
        n_links += last->length;
        last_bytes += allocations->size[last->allocation];
        ends_last |= last->allocation == last_of_stack;
        longest = last->length > links[rows[longest].value].length ? i : longest;
    }
    if (lengths_grow(finder))
        return;
    bool large = last_bytes >= (1u << 20) || is_percent(last_bytes, peak, 5); /* even in a small run */
    if ((!ends_last && (uint64_t)n_links * 2 < n_of_stack) || !large || last_bytes < peak / 1000)
        return;
    for (uint32_t i = from; i < to; i++) {
        finding.per_bytes += chain_slope(links, rows[i].value, allocations->size);
        for (uint32_t at = rows[i].value; at != UINT32_MAX; at = links[at].before) {
            uint32_t allocation = links[at].allocation;
            finder_count(finder, &finding, allocation);
            finder_remove(finder, allocation, allocations->birth[allocation], allocations->death[allocation]);
            finding.from_moment = allocations->birth[allocation] < finding.from_moment
                                      ? allocations->birth[allocation]
                                      : finding.from_moment;
            finding.to_moment = allocations->birth[allocation] > finding.to_moment
                                    ? allocations->birth[allocation]
                                    : finding.to_moment;
            finding.figure[1] = i == longest ? allocations->size[allocation] : finding.figure[1];
        }
    }
    finding.figure[0] = links[rows[longest].value].length;
    finding.figure[2] = allocations->size[links[rows[longest].value].allocation];
    finder_saves(finder, &finding);
    if (!ends_last || chain_restarts(finder, links, rows[to - 1].value, key))
        finding.per_bytes = 0;
    finding.grows = finding.per_bytes != 0;
    bool few = finding.figure[0] <= LINKS_LEAST;
    finding.severity = is_percent(last_bytes, peak, 10)  ? (few ? SEVERITY_MEDIUM : SEVERITY_HIGH)
                       : is_percent(last_bytes, peak, 3) ? SEVERITY_MEDIUM
                                                         : SEVERITY_LOW;
    finding.confidence =
        (uint8_t)confidence_of_turns((uint32_t)(finding.figure[0] < 5 ? finding.figure[0] : 5));
    for (uint32_t at = finder->lives.start[key]; at < finder->lives.start[key + 1]; at++)
        bits_add(finder->lives.told, finder->lives.order[at]);
    finder_add(finder, &finding);
}

void finding_growing_buffer_find(struct finder *finder) {
    uint64_t least = finder->timeline->peak_bytes / 100000;
    uint32_t n_links, n_growing = 0, n_rows = 0, n_judged = 0;
    finder->failed |= finder->part == 0 && !most_find(finder);
    if (!finder->failed)
        pairs_find(finder, least < 512 ? 512 : least);
    if (finder->part + 1 < GROWING_PARTS || finder->failed)
        return;
    ARENA_DROP(finder->arena, finder->pairs.most);
    if (finder->pairs.count == 0)
        return;
    struct link *links = links_make(finder, &n_links);
    for (uint32_t i = 0; i < n_links; i++)
        n_growing += chain_grows(finder, links, i);
    struct sort_row *rows = arena_column(finder->arena, (uint64_t)n_growing * 2, sizeof *rows);
    finder->failed |= rows == NULL;
    for (uint32_t i = 0; !finder->failed && i < n_links; i++)
        if (chain_grows(finder, links, i))
            rows[n_rows++] = (struct sort_row){finder->allocations->stack[links[i].allocation], i};
    if (!finder->failed && n_rows > 0)
        sort_rows(rows, rows + n_growing, n_rows);
    for (uint32_t from = 0, to; !finder->failed && from < n_rows && n_judged < FINDINGS_OF_KIND;
         from = to, n_judged++) {
        to = sort_rows_end(rows, n_rows, from);
        stack_judge(finder, links, rows, from, to);
    }
    ARENA_DROP(finder->arena, rows, links, finder->pairs.row);
}

void finding_growing_buffer_title(struct telling *telling) {
    TELL(telling, "%S is replaced by a larger one again and again, now %b", telling->finding->figure[2]);
}

void finding_growing_buffer_detail(struct telling *telling) {
    const uint64_t *figure = telling->finding->figure;
    TELL(telling, "From %b to %b in %n replacement%s", figure[1], figure[2], figure[0] - 1);
    if (figure[3] > 1)
        TELL(telling, ", and as many in %n other buffer%s of this line", figure[3] - 1);
    tell(telling, ". Each is made while the one before is still there, so both count for a moment.");
    tell_saving(telling, "Without it:");
}
