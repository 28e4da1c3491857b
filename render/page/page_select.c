/* Selects allocations by filter, search and highlight, whose words are those of layout/filter.h. JavaScript matches the
 * regular expressions among them. */
#include "analysis/compare/compare.h"
#include "base/bytes.h"
#include "render/page/page_state.h"

static struct page_query *query_at(struct page_view *view, uint32_t slot) {
    return slot < PAGE_QUERIES ? &view->queries[slot] : NULL;
}

/* ---- words ---- */

place view_words(struct page_view *view, u32 slot, u32 nbytes) {
    struct page_query *query = query_at(view, slot);
    if (query == NULL)
        return 0;
    if (slot == PAGE_FILTER)
        view_filter_off(view); /* the memory of its result is freed next */
    arena_release(&query->arena);
    *query = (struct page_query){.arena = query->arena};
    query->nbytes = nbytes;
    query->text = arena_alloc(&query->arena, (size_t)nbytes + 1);
    return (place)query->text;
}

static bool regexes_make(struct page_query *query, const struct trace *trace) {
    uint32_t count = query->parsed.filter.n_regexes;
    query->regexes = arena_alloc(&query->arena, ((size_t)count + 1) * sizeof *query->regexes);
    for (uint32_t i = 0; query->regexes != NULL && i < count; i++) {
        query->regexes[i] = (struct filter_regex){.frames = arena_bits(&query->arena, trace->frames.count),
                                                  .strings = arena_bits(&query->arena, trace->strings.count)};
        if (query->regexes[i].frames == NULL || query->regexes[i].strings == NULL)
            return false;
    }
    query->parsed.regexes = query->regexes;
    return query->regexes != NULL;
}

place view_parse(struct page_view *view, u32 slot) {
    struct page_query *query = query_at(view, slot);
    struct filter_error error = {.what = ""};
    if (query == NULL || query->text == NULL)
        return 0;
    query->parsed.text = query->text;
    bool good = filter_parse(&query->parsed.filter, query->text, query->nbytes, &error);
    if (good && !regexes_make(query, &view->session->trace))
        return 0;
    query->ready = good;
    return FILL(view, parsed, query->parsed.filter.n_words, query->parsed.filter.n_regexes, !good, error.from,
                error.until, (double)(place)error.what, good ? 0 : word_length(error.what));
}

place view_regex(struct page_view *view, u32 slot, u32 nth) {
    struct page_query *query = query_at(view, slot);
    if (query == NULL || !query->ready)
        return 0;
    for (uint32_t i = 0; i < query->parsed.filter.n_words; i++) {
        const struct filter_word *word = &query->parsed.filter.word[i];
        if (word->kind == FILTER_REGEX && word->nth_regex == nth)
            return FILL(view, regex, (double)(place)word->text, word->nbytes, word->sensitive,
                        (double)(place)query->regexes[nth].frames,
                        (double)(place)query->regexes[nth].strings);
    }
    return 0;
}

/* ---- what the words mean ---- */

/* Begins a query. A search needs only a bitmap, a filter also a curve. */
static void query_begin(struct page_view *view, struct page_query *query) {
    if (query->selecting.selection != NULL)
        return;
    if (query == &view->queries[PAGE_FILTER])
        view_filter_off(view);
    query->selection = (struct selection){0};
    query->selecting =
        (struct selecting){.selection = &query->selection,
                           .whole = view_timeline(view),
                           .query = &query->parsed,
                           .known = session_verdicts(view->session, view_now(view), DEVICE_CATEGORIZED),
                           .bits_only = query == &view->queries[PAGE_SEARCH],
                           .arena = &query->arena};
}

/* Forgets what was computed from the allocations that were shown before. */
static void shown_changed(struct page_view *view) {
    scene_forget(&view->scene);
    view->laid = LAID_NOTHING;
    view_spark_forget(view);
}

i32 view_select(struct page_view *view, u32 slot) {
    struct page_query *query = query_at(view, slot);
    if (query == NULL || !query->ready)
        return PAYLOAD_BAD_VALUE;
    query_begin(view, query);
    enum selecting_progress progress = selecting_go_on(&query->selecting);
    if (progress == SELECTING_GOES_ON)
        return PAYLOAD_MORE;
    query->selecting = (struct selecting){0};
    if (progress == SELECTING_NO_MEMORY)
        return PAYLOAD_NO_MEMORY;
    if (slot == PAGE_FILTER) {
        view->filtered = true;
        view->keep = query->selection.keep;
        view->scene.keep = view->keep;
        shown_changed(view);
        view->scene.timeline =
            &query->selection.timeline; /* a column shows the highest moment of the filtered allocations */
    }
    return PAYLOAD_OK;
}

void view_filter_off(struct page_view *view) {
    view->filtered = false;
    view->keep = NULL;
    view->scene.keep = NULL;
    shown_changed(view);
    view->scene.timeline = view_timeline(view);
}

place view_kept(struct page_view *view) {
    const struct timeline *timeline = view_shown(view);
    uint64_t count =
        view->filtered ? view->queries[PAGE_FILTER].selection.allocations : view_allocations(view)->count;
    return FILL(view, kept, (double)count, (double)timeline->live[view_timeline(view)->peak_moment],
                (double)timeline->peak_bytes);
}

/* ---- search results ---- */

f64 view_next_match(struct page_view *view, f64 allocation, i32 step) {
    uint32_t count = view_allocations(view)->count;
    double at = allocation;
    if (view_found(view) == NULL)
        return -1;
    for (uint32_t tried = 0; tried < count; tried++) {
        at += step;
        at = at < 0 ? count - 1.0 : !(at < count) ? 0 : at; /* NaN becomes the first */
        uint32_t i = (uint32_t)at;
        if (allocation_is_found(view, i))
            return at;
        if (word_found(view, i / 64) != 0)
            continue;
        /* The walk goes on behind the words without a match, of which there may be 50,000. */
        uint32_t edge = step < 0 ? i & ~63u : (i | 63u) < count ? i | 63u : count - 1;
        at = edge;
        tried += edge > i ? edge - i : i - edge;
    }
    return -1;
}

place view_matches(struct page_view *view) {
    const struct allocations *allocations = view_allocations(view);
    uint32_t peak = view_timeline(view)->peak_moment, count = 0;
    uint64_t bytes = 0;
    if (view_found(view) == NULL)
        return FILL(view, found, 0, 0);
    for (uint32_t word = 0; word <= allocations->count / 64; word++)
        for (uint64_t bits = word_found(view, word); bits != 0; bits &= bits - 1) {
            uint32_t i = word * 64 + (uint32_t)__builtin_ctzll(bits);
            count++;
            bytes += allocations->birth[i] <= peak && peak < allocations->death[i] ? allocations->size[i] : 0;
        }
    return FILL(view, found, count, (double)bytes);
}

/* ---- highlights ---- */

static bool bits_of(struct page_view *view, struct highlight highlight, uint64_t *bits,
                    struct arena *scratch) {
    const uint8_t *column;
    return session_column(view->session, view_now(view), highlight.by, &column) &&
           highlight_bits(view_timeline(view), highlight, column, bits, scratch);
}

/* Clears the bits of the highlight, making room for them. False: no memory. */
static bool lit_clear(struct page_view *view) {
    uint32_t n_words = view_allocations(view)->count / 64 + 1;
    if (!ARENA_GROW(&view->arena, view->lit, view->lit_capacity, n_words))
        return false;
    bytes_zero(view->lit, (size_t)n_words * sizeof *view->lit);
    return true;
}

i32 view_light(struct page_view *view, u32 by, u32 key) {
    struct highlight highlight = {by, key};
    struct arena scratch;
    view->is_lit = false;
    if (!highlight_is_valid(&view->session->trace, highlight))
        return PAYLOAD_BAD_VALUE;
    if (!lit_clear(view))
        return PAYLOAD_NO_MEMORY;
    arena_init(&scratch, view->arena.host, SIZE_MAX);
    view->is_lit = bits_of(view, highlight, view->lit, &scratch);
    arena_release(&scratch);
    return view->is_lit ? PAYLOAD_OK : PAYLOAD_NO_MEMORY;
}

i32 view_light_finding(struct page_view *view, u32 index) {
    const struct verdicts *verdicts = session_verdicts(view->session, view_now(view), DEVICE_FOUND);
    view->is_lit = false;
    if (verdicts == NULL || !lit_clear(view))
        return PAYLOAD_NO_MEMORY;
    view->is_lit =
        index < verdicts->findings.count && finding_set(&verdicts->findings.finding[index], view->lit);
    return view->is_lit ? PAYLOAD_OK : PAYLOAD_BAD_VALUE;
}

/* Is the allocation bright, and alive at the moment? */
static bool is_bright(const struct page_view *view, const uint64_t *bright, uint32_t allocation,
                      uint32_t moment) {
    const struct allocations *allocations = view_allocations(view);
    return filter_keeps(bright, allocation) && allocation_is_kept(view, allocation) &&
           allocations->birth[allocation] <= moment && moment < allocations->death[allocation];
}

place view_lit(struct page_view *view, f64 event, u32 found) {
    const struct allocations *allocations = view_allocations(view);
    const uint64_t *bright = found != 0 ? view_found(view) : view->is_lit ? view->lit : NULL;
    uint32_t moment = moment_of(view, event), n = 0;
    uint64_t count = 0, bytes = 0;
    for (uint32_t i = 0; bright != NULL && i < allocations->count; i++) {
        if (!is_bright(view, bright, i, moment))
            continue;
        if (!ARENA_GROW(&view->arena, view->bright, view->bright_capacity, (uint64_t)n + 1))
            return 0;
        view->bright[n++] = i;
        count += allocation_stands_for(allocations, i);
        bytes += allocations->size[i];
    }
    return bright == NULL ? 0 : FILL(view, lit, (double)(place)view->bright, n, (double)count, (double)bytes);
}

void view_light_off(struct page_view *view) {
    view->is_lit = false;
}

/* ---- a group over the run ---- */

/* If there are more moments than this, several are summed as one, to bound the memory. */
enum { SPARK_WIDTH_MAX = 4096, SPARK_MOMENTS_MAX = 1 << 20 };

static uint32_t spark_moments(const struct page_view *view) {
    uint32_t n_moments = view_timeline(view)->n_moments;
    return n_moments < SPARK_MOMENTS_MAX ? n_moments : SPARK_MOMENTS_MAX;
}

void view_spark_forget(struct page_view *view) {
    arena_release(&view->sparking.arena);
    view->sparking.change = NULL;
}

/* Finds the group's allocations. */
static i32 spark_begin(struct page_view *view, struct highlight highlight) {
    struct sparking *sparking = &view->sparking;
    uint32_t n = spark_moments(view);
    view_spark_forget(view);
    if (!highlight_is_valid(&view->session->trace, highlight))
        return PAYLOAD_BAD_VALUE;
    sparking->by = highlight.by;
    sparking->key = highlight.key;
    sparking->next = 0;
    sparking->bits = arena_bits(&sparking->arena, view_allocations(view)->count);
    sparking->change = arena_zeros(&sparking->arena, n, sizeof *sparking->change);
    if (sparking->bits != NULL && sparking->change != NULL &&
        bits_of(view, highlight, sparking->bits, &sparking->arena))
        return PAYLOAD_MORE;
    view_spark_forget(view);
    return PAYLOAD_NO_MEMORY;
}

i32 view_spark_step(struct page_view *view, u32 by, u32 key, u32 at_once) {
    const struct allocations *allocations = view_allocations(view);
    struct sparking *sparking = &view->sparking;
    if (sparking->change == NULL || sparking->by != by || sparking->key != key)
        return spark_begin(view, (struct highlight){by, key});
    /* Doubles hold the product of a moment and `n` exactly, and the rounded quotient lies in the step of the true one:
     * that is at least 1 / n_moments away from the next step. A division of integers takes five times as long. */
    const double n = spark_moments(view), n_moments = view_timeline(view)->n_moments;
    uint32_t i = sparking->next, end = allocations->count - i > at_once ? i + at_once : allocations->count;
    for (sparking->next = end; i < end; i++) {
        if (!filter_keeps(sparking->bits, i) || !allocation_is_kept(view, i))
            continue;
        sparking->change[(uint32_t)(allocations->birth[i] * n / n_moments)] += allocations->size[i];
        if (allocations->death[i] < n_moments)
            sparking->change[(uint32_t)(allocations->death[i] * n / n_moments)] -= allocations->size[i];
    }
    return end < allocations->count ? PAYLOAD_MORE : PAYLOAD_OK;
}

/* Fills the columns, each with the highest of its steps. A division for each step would take most of the time. If there
 * are more columns than steps, a step fills several columns. */
static void spark_fill(struct page_view *view, uint32_t width) {
    uint32_t n = spark_moments(view);
    uint64_t live = 0;
    for (uint32_t x = 0, step = 0; x < width; x++) {
        uint64_t last = (((uint64_t)x + 1) * n - 1) / width, most = step > last ? live : 0;
        for (; step <= last; step++) {
            live += view->sparking.change[step];
            most = live > most ? live : most;
        }
        view->spark[x] = (double)most;
    }
}

place view_spark(struct page_view *view, u32 by, u32 key, u32 width) {
    i32 code;
    if (width == 0 || width > SPARK_WIDTH_MAX ||
        !ARENA_GROW(&view->arena, view->spark, view->spark_capacity, width))
        return 0;
    while ((code = view_spark_step(view, by, key, UINT32_MAX)) == PAYLOAD_MORE) {
    }
    if (code != PAYLOAD_OK)
        return 0;
    spark_fill(view, width);
    view_spark_forget(view);
    return (place)view->spark;
}

/* ---- what one call site made ---- */

/* Allocations are in the order of their births. */
place view_siblings(struct page_view *view, u32 allocation) {
    const struct allocations *allocations = view_allocations(view);
    const uint32_t *site = view_timeline(view)->site;
    const uint32_t *stack = allocations->stack;
    uint32_t nth = 1, count = 0, previous = ALLOCATION_NONE, next = ALLOCATION_NONE;
    if (allocation >= allocations->count)
        return 0;
    const uint32_t own = site[stack[allocation]];
    for (uint32_t i = 0; i < allocations->count; i++) {
        if (site[stack[i]] != own)
            continue;
        count++;
        if (i < allocation) {
            nth++;
            previous = i;
        } else if (i != allocation && next == ALLOCATION_NONE) {
            next = i;
        }
    }
    return FILL(view, siblings, nth, count, previous == ALLOCATION_NONE ? -1.0 : (double)previous,
                next == ALLOCATION_NONE ? -1.0 : (double)next);
}
