/*
 * A growing buffer: an allocation is replaced by a larger one, and that again, as when torch.cat extends a cache.
 *
 *     first   |--------|
 *     next          |----------|          made while the one before is alive, which goes soon after
 *     next                   |------------|
 */
#include "analysis/findings/finder.h"

#include "base/bits.h"
#include "base/search.h"

enum {
    SOON = 8, /* allocations within which the replaced one is freed */
    APART = 3,
    LINKS_LEAST = 3,
    LINES_LEAST = 4,     /* fewer lines may be those of a cache alone */
    LARGE_NBYTES = 4096, /* smaller ones are sums, counters and seeds of fixed size */
    LINKS_EVEN = 4       /* in chains of up to this many, sizes that rise by chance look alike */
};

/* The allocations of a call site, by their place there. */
struct site {
    const struct allocations *allocations;
    const uint32_t *own; /* [n] rising */
    uint32_t n;
    struct link {
        uint32_t before; /* place of the one that it replaces; UINT32_MAX: none */
        uint32_t length; /* links up to here */
        bool replaced;
    } * link; /* [n] */
};

static uint64_t size_of(const struct site *site, uint32_t at) {
    return site->allocations->size[site->own[at]];
}

/* The place of the larger allocation that replaces this one; UINT32_MAX: none. */
static uint32_t successor_of(const struct site *site, uint32_t at) {
    const struct allocations *allocations = site->allocations;
    uint32_t allocation = site->own[at], death = allocations->death[allocation], low = allocation + 1,
             step = 1;
    for (; low + step < allocations->count && allocations->birth[low + step] < death; step *= 2)
        low += step; /* it is mostly near */
    uint32_t high = low + step < allocations->count ? low + step : allocations->count,
             end = SEARCH(low, high, i, allocations->birth[i] < death);
    for (uint32_t i = SEARCH(at + 1, site->n, k, site->own[k] < end);
         i-- > at + 1 && site->own[i] + SOON >= end;)
        if (size_of(site, i) > size_of(site, at) && site->own[i] - allocation >= APART)
            return i;
    return UINT32_MAX;
}

/* Links all allocations of a site that are replaced, each into the longest chain up to it. */
static void links_make(struct site *site, uint64_t least, uint32_t n_moments) {
    uint64_t largest = 0;
    for (uint32_t at = 0; at < site->n; at++) {
        site->link[at] = (struct link){UINT32_MAX, 1, false};
        largest = size_of(site, at) > largest ? size_of(site, at) : largest;
    }
    for (uint32_t at = 0; at < site->n; at++) {
        bool may_grow = size_of(site, at) >= least && size_of(site, at) < largest &&
                        site->allocations->death[site->own[at]] < n_moments;
        uint32_t next = may_grow ? successor_of(site, at) : UINT32_MAX;
        if (next == UINT32_MAX)
            continue;
        site->link[at].replaced = true;
        if (site->link[at].length + 1 > site->link[next].length)
            site->link[next] = (struct link){at, site->link[at].length + 1, false};
    }
}

static uint32_t chain_first(const struct site *site, uint32_t last) {
    while (site->link[last].before != UINT32_MAX)
        last = site->link[last].before;
    return last;
}

/* Does a chain end here that grows: by enough, and, if it has few links, by similar steps? */
static bool chain_grows(const struct site *site, uint32_t last) {
    uint64_t least = UINT64_MAX, most = 0, first = size_of(site, chain_first(site, last));
    if (site->link[last].replaced || site->link[last].length < LINKS_LEAST)
        return false;
    for (uint32_t at = last; site->link[at].before != UINT32_MAX; at = site->link[at].before) {
        uint64_t step = size_of(site, at) - size_of(site, site->link[at].before);
        least = step < least ? step : least;
        most = step > most ? step : most;
    }
    return size_of(site, last) / 3 >= first / 2 &&
           (most / 2 <= least || site->link[last].length > LINKS_EVEN);
}

/* Was a larger allocation of the site freed for a chain's first link? A cache that each prompt builds anew grows within
 * the prompt but not from step to step. The old one may be freed just after the new one is made, long before the second
 * link. */
static bool chain_restarts(const struct site *site, uint32_t last) {
    const struct allocations *allocations = site->allocations;
    uint32_t first = chain_first(site, last), second = last;
    while (site->link[second].before != first)
        second = site->link[second].before;
    uint32_t begin = allocations->birth[site->own[first]];
    uint32_t by = begin + (allocations->birth[site->own[second]] - begin) / 2;
    for (uint32_t at = 0; at < first; at++)
        if (allocations->death[site->own[at]] <= by && size_of(site, at) > size_of(site, first))
            return true;
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

/* Takes the growing chains of a site out of the curve, and counts them. */
static void chains_measure(struct finder *finder, const struct site *site, struct finding *finding) {
    const struct allocations *allocations = site->allocations;
    for (uint32_t last = 0; last < site->n; last++) {
        if (!chain_grows(site, last))
            continue;
        finding->per_bytes +=
            (size_of(site, last) - size_of(site, chain_first(site, last))) / (site->link[last].length - 1);
        for (uint32_t at = last; at != UINT32_MAX; at = site->link[at].before) {
            uint32_t own = site->own[at], birth = allocations->birth[own];
            finder_count(finder, finding, own);
            finder_remove(finder, own, birth, allocations->death[own]);
            finding->from_moment = birth < finding->from_moment ? birth : finding->from_moment;
            finding->to_moment = birth > finding->to_moment ? birth : finding->to_moment;
        }
    }
    finder_saves(finder, finding);
}

/* True: it was judged. */
static bool site_judge(struct finder *finder, const struct site *site) {
    struct finding finding = {.kind = FINDING_GROWING_BUFFER,
                              .stack = site->allocations->stack[site->own[0]],
                              .site = finder_site(finder, site->own[0]),
                              .n_sites = 1,
                              .at_moment = finder->timeline->peak_moment,
                              .from_moment = UINT32_MAX};
    uint32_t n_links = 0, longest = UINT32_MAX, end = 0;
    uint64_t last_bytes = 0, peak = finder->timeline->peak_bytes;
    for (uint32_t last = 0; last < site->n; last++) {
        if (!chain_grows(site, last))
            continue;
        finding.growing.n_chains++;
        n_links += site->link[last].length;
        last_bytes += size_of(site, last);
        longest =
            longest == UINT32_MAX || site->link[last].length > site->link[longest].length ? last : longest;
        end = last;
    }
    bool large = last_bytes >= MIB || is_percent(last_bytes, peak, 5), /* even in a small run */
        ends_last = end + 1 == site->n;
    if (longest == UINT32_MAX)
        return false;
    if (!large || last_bytes < peak / 1000 || (!ends_last && (uint64_t)n_links * 2 < site->n) ||
        lengths_grow(finder))
        return true;
    uint32_t n = finding.growing.n_links = site->link[longest].length;
    finding.growing.first_bytes = size_of(site, chain_first(site, longest));
    finding.growing.last_bytes = size_of(site, longest);
    chains_measure(finder, site, &finding);
    if (!ends_last || chain_restarts(site, end))
        finding.per_bytes = 0;
    finding.grows = finding.per_bytes != 0;
    finding.severity = is_percent(last_bytes, peak, 10) ? (n <= LINKS_LEAST ? SEVERITY_MEDIUM : SEVERITY_HIGH)
                       : is_percent(last_bytes, peak, 3) ? SEVERITY_MEDIUM
                                                         : SEVERITY_LOW;
    finding.confidence = (uint8_t)confidence_of_turns(n);
    for (uint32_t at = 0; at < site->n; at++)
        bits_add(finder->lives.told, site->own[at]);
    finder_add(finder, &finding);
    return true;
}

static void growing_buffer_find(struct finder *finder) {
    const struct lives *lives = &finder->lives;
    uint64_t least = finder->timeline->peak_bytes / 100000;
    uint32_t most = 0, n_judged = 0;
    struct site site = {.allocations = finder->allocations};
    for (uint32_t i = 0; i < lives->n_sites; i++)
        most = lives->start[i + 1] - lives->start[i] > most ? lives->start[i + 1] - lives->start[i] : most;
    finder->failed |= !ARENA_COLUMNS(finder->arena, most, site.link);
    for (uint32_t i = 0; !finder->failed && i < lives->n_sites && n_judged < FINDINGS_OF_KIND; i++) {
        site.own = lives->order + lives->start[i];
        site.n = lives->start[i + 1] - lives->start[i];
        if (site.n < LINKS_LEAST || site.allocations->stack[site.own[0]] == 0)
            continue;
        links_make(&site, least < 512 ? 512 : least, finder->timeline->n_moments);
        n_judged += site_judge(finder, &site);
    }
    ARENA_DROP(finder->arena, site.link);
}

static void growing_buffer_title(struct telling *telling) {
    TELL(telling, "%S is replaced by a larger one again and again, now %b",
         telling->finding->growing.last_bytes);
}

static void growing_buffer_detail(struct telling *telling) {
    const struct finding_growing *own = &telling->finding->growing;
    TELL(telling, "From %b to %b in %n replacement%s", own->first_bytes, own->last_bytes, own->n_links - 1);
    if (own->n_chains > 1)
        TELL(telling, ", and as many in %n other buffer%s of this line", own->n_chains - 1);
    tell(telling, ". Each is made while the one before is still there, so both count for a moment.");
    tell_saving(telling, "Without it:");
}

const struct kind kind_growing_buffer = {
    KIND(growing_buffer), "Growing buffer", .flags = KIND_OF_SET | KIND_EACH,
    .advice.action = "Make the buffer once, in its final size, and write into it.",
    .advice.code = "buffer = torch.empty(final_size, device=\"cuda\")  # once, before the loop"};
