#include "analysis/compare/highlight.h"

#include "layout/site.h"

/* Marks stacks that contain a frame. Parents have smaller ids. */
static uint8_t *stacks_through(const struct trace *trace, uint32_t frame, struct arena *arena) {
    uint8_t *through = arena_column(arena, trace->stacks.count, 1);
    for (uint32_t i = 0; through != NULL && i < trace->stacks.count; i++)
        through[i] = i != 0 && (trace->stacks.frame[i] == frame || through[stack_parent(&trace->stacks, i)]);
    return through;
}

static uint32_t key_of(const struct allocations *allocations, const uint8_t *category, uint32_t by,
                       uint32_t allocation) {
    switch (by) {
    case COMPARE_BY_STACK: return allocations->stack[allocation];
    case COMPARE_BY_MODULE:
    case COMPARE_BY_CATEGORY: return category[allocation];
    case COMPARE_BY_STREAM: return allocations->stream[allocation];
    default: return allocations->pool[allocation];
    }
}

/* Marks frames of the same file or call site, which are compared by name. */
static uint8_t *frames_like(const struct trace *trace, struct highlight highlight, struct arena *arena) {
    uint8_t *same = arena_column(arena, trace->frames.count, 1);
    struct site_key wanted = site_key_of(trace, highlight.key);
    for (uint32_t i = 0; same != NULL && i < trace->frames.count; i++) {
        struct site_key have = site_key_of(trace, i);
        same[i] =
            have.file == wanted.file && (highlight.by == COMPARE_BY_FILE ||
                                         (have.function == wanted.function && have.line == wanted.line));
    }
    return same;
}

static bool is_named(uint32_t by) {
    return by == COMPARE_BY_SITE || by == COMPARE_BY_FILE;
}

bool highlight_is_valid(const struct trace *trace, struct highlight highlight) {
    bool frame = is_named(highlight.by) || highlight.by == HIGHLIGHT_BY_FRAME;
    return highlight.by <= HIGHLIGHT_BY_FRAME && !(frame && highlight.key >= trace->frames.count);
}

bool highlight_bits(const struct timeline *timeline, struct highlight highlight, const uint8_t *category,
                    uint64_t *bits, struct arena *scratch) {
    const struct allocations *allocations = &timeline->device->allocations;
    bool named = is_named(highlight.by), framed = highlight.by == HIGHLIGHT_BY_FRAME;
    const uint8_t *like = framed  ? stacks_through(timeline->trace, highlight.key, scratch)
                          : named ? frames_like(timeline->trace, highlight, scratch)
                                  : NULL;
    if (like == NULL && (named || framed))
        return false;
    for (uint32_t i = 0; i < allocations->count; i++) {
        bool lit = framed  ? like[allocations->stack[i]] != 0
                   : named ? like[timeline->site[allocations->stack[i]]] != 0
                           : key_of(allocations, category, highlight.by, i) == highlight.key;
        if (lit)
            bits[i / 64] |= UINT64_C(1) << i % 64;
    }
    return true;
}
