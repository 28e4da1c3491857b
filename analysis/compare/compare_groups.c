/* Groups allocations by what they have in common, and highlights groups. */
#include "analysis/compare/compare.h"
#include "analysis/loop/category.h"
#include "analysis/loop/modules.h"
#include "analysis/model/pool_use.h"
#include "base/bits.h"
#include "base/sort.h"
#include "base/words.h"
#include "layout/site.h"

/* ---- keys ---- */

#define COMPARE_NAME(NAME, name, thing)  name,
#define COMPARE_THING(NAME, name, thing) thing,

const char *const compare_by_name[] = {STRATA_GROUPINGS(COMPARE_NAME)};
const char *const compare_by_thing[] = {STRATA_GROUPINGS(COMPARE_THING)};

struct keys {
    const struct timeline *timeline;
    enum compare_by by;
    const uint8_t *category;
    uint32_t *same;     /* [frames.count] the first frame with the same site or file; NULL: unused */
    uint32_t *of_stack; /* [stacks.count] the key of a stack; NULL: unused */
    uint32_t count;     /* keys are below it */
};

static bool keys_of_stacks(struct keys *keys, struct arena *arena) {
    const struct timeline *timeline = keys->timeline;
    const struct trace *trace = timeline->trace;
    keys->same = arena_column(arena, trace->frames.count, sizeof *keys->same);
    keys->of_stack = arena_column(arena, trace->stacks.count, sizeof *keys->of_stack);
    keys->count = trace->frames.count;
    bool done = keys->same != NULL && keys->of_stack != NULL &&
                frames_same_at(trace, keys->by == COMPARE_BY_SITE ? SITE_LINE : SITE_FILE, keys->same, arena);
    for (uint32_t i = 0; done && i < trace->stacks.count; i++)
        keys->of_stack[i] = keys->same[timeline->site[i]];
    return done;
}

static bool keys_init(struct keys *keys, struct arena *arena) {
    const struct device_trace *device = keys->timeline->device;
    switch (keys->by) {
    case COMPARE_BY_SITE:
    case COMPARE_BY_FILE: return keys_of_stacks(keys, arena);
    case COMPARE_BY_STACK: keys->count = keys->timeline->trace->stacks.count; break;
    case COMPARE_BY_CATEGORY: keys->count = CATEGORY_COUNT; break;
    case COMPARE_BY_STREAM: keys->count = device->n_streams; break;
    case COMPARE_BY_POOL: keys->count = device->n_pools; break;
    case COMPARE_BY_METADATA: keys->count = keys->timeline->trace->strings.count; break;
    case COMPARE_BY_MODULE:
    case COMPARE_KINDS: keys->count = MODULES; break;
    }
    return true;
}

static uint32_t key_of(const struct keys *keys, uint32_t allocation) {
    const struct allocations *allocations = &keys->timeline->device->allocations;
    switch (keys->by) {
    case COMPARE_BY_SITE:
    case COMPARE_BY_FILE: return keys->of_stack[allocations->stack[allocation]];
    case COMPARE_BY_STACK: return allocations->stack[allocation];
    case COMPARE_BY_MODULE:
    case COMPARE_BY_CATEGORY: return keys->category[allocation];
    case COMPARE_BY_STREAM: return allocations->stream[allocation];
    case COMPARE_BY_METADATA:
        return keys->timeline->trace->contexts.context[allocations->context[allocation]].user_metadata;
    case COMPARE_BY_POOL:
    case COMPARE_KINDS: break;
    }
    return allocations->pool[allocation];
}

static uint32_t *keys_find(struct keys *keys, const uint32_t *allocations, uint32_t n_allocations,
                           struct arena *arena) {
    uint32_t *key = keys_init(keys, arena) ? arena_column(arena, n_allocations, sizeof *key) : NULL;
    for (uint32_t i = 0; key != NULL && i < n_allocations; i++)
        key[i] = key_of(keys, allocations[i]);
    return key;
}

uint32_t *compare_keys(const struct timeline *timeline, const uint32_t *allocations, uint32_t n_allocations,
                       enum compare_by by, const uint8_t *category, struct arena *arena) {
    return keys_find(&(struct keys){.timeline = timeline, .by = by, .category = category}, allocations,
                     n_allocations, arena);
}

bool compare_groups(const struct timeline *timeline, const uint32_t *allocations, uint32_t n_allocations,
                    enum compare_by by, const uint8_t *category, struct arena *arena, struct group **groups,
                    uint32_t *n_groups) {
    struct keys keys = {.timeline = timeline, .by = by, .category = category};
    uint32_t *key = keys_find(&keys, allocations, n_allocations, arena);
    *n_groups = 0;
    bool done = key != NULL &&
                groups_sum(timeline, allocations, n_allocations, key, keys.count, arena, groups, n_groups);
    ARENA_DROP(arena, key, keys.of_stack, keys.same);
    return done;
}

bool compare_within(const struct timeline *timeline, uint32_t *allocations, uint32_t *n_allocations,
                    enum compare_by by, uint32_t key, const uint8_t *category, struct arena *arena) {
    struct keys keys = {.timeline = timeline, .by = by, .category = category};
    uint32_t n = 0;
    bool done = keys_init(&keys, arena);
    for (uint32_t i = 0; done && i < *n_allocations; i++)
        if (key_of(&keys, allocations[i]) == key)
            allocations[n++] = allocations[i];
    *n_allocations = done ? n : *n_allocations;
    ARENA_DROP(arena, keys.of_stack, keys.same);
    return done;
}

/* ---- highlights ---- */

static bool is_of_frames(uint32_t by) {
    return by == COMPARE_BY_SITE || by == COMPARE_BY_FILE || by == HIGHLIGHT_BY_FRAME;
}

bool highlight_is_valid(const struct trace *trace, struct highlight highlight) {
    return highlight.by <= HIGHLIGHT_BY_FRAME &&
           !(is_of_frames(highlight.by) && highlight.key >= trace->frames.count);
}

/* The key of every stack that contains a frame is 1. Parents have smaller ids. */
static bool keys_through(struct keys *keys, uint32_t frame, struct arena *arena) {
    const struct trace *trace = keys->timeline->trace;
    uint32_t *through = keys->of_stack = arena_zeros(arena, trace->stacks.count, sizeof *through);
    for (uint32_t i = 1; through != NULL && i < trace->stacks.count; i++)
        through[i] = trace->stacks.frame[i] == frame || through[stack_parent(&trace->stacks, i)];
    return through != NULL;
}

bool highlight_bits(const struct timeline *timeline, struct highlight highlight, const uint8_t *category,
                    uint64_t *bits, struct arena *scratch) {
    bool through = highlight.by == HIGHLIGHT_BY_FRAME;
    struct keys keys = {.timeline = timeline,
                        .by = through ? COMPARE_BY_SITE : (enum compare_by)highlight.by,
                        .category = category};
    if (!(through ? keys_through(&keys, highlight.key, scratch) : keys_init(&keys, scratch)))
        return false;
    uint32_t key = through ? 1 : keys.same != NULL ? keys.same[highlight.key] : highlight.key;
    const uint32_t *of_stack = keys.of_stack, *stack = timeline->device->allocations.stack;
    for (uint32_t i = 0; i < timeline->device->allocations.count; i++)
        if ((of_stack != NULL ? of_stack[stack[i]] : key_of(&keys, i)) == key)
            bits_add(bits, i);
    return true;
}

/* ---- two extents of one device ---- */

struct sides {
    const struct group *a, *b;
};

static uint64_t pair_delta(const struct sides *sides, struct compare_pair pair) {
    uint64_t a = pair.a != COMPARE_NONE ? sides->a[pair.a].bytes : 0,
             b = pair.b != COMPARE_NONE ? sides->b[pair.b].bytes : 0;
    return magnitude_of(compare_delta(a, b));
}

static uint32_t merge(const struct sort_row *a, uint32_t n_a, const struct sort_row *b, uint32_t n_b,
                      struct compare_pair *pairs) {
    uint32_t i = 0, k = 0, n = 0;
    while (i < n_a || k < n_b) {
        bool has_a = i < n_a && (k == n_b || a[i].key <= b[k].key),
             has_b = k < n_b && (i == n_a || b[k].key <= a[i].key);
        pairs[n++] =
            (struct compare_pair){has_a ? a[i].value : COMPARE_NONE, has_b ? b[k].value : COMPARE_NONE};
        i += has_a;
        k += has_b;
    }
    return n;
}

bool compare_pairs(const struct group *a, uint32_t n_a, const struct group *b, uint32_t n_b,
                   struct arena *arena, struct compare_pair **pairs, uint32_t *n_pairs) {
    uint64_t n = (uint64_t)n_a + n_b;
    struct sides sides = {a, b};
    struct sort_row *rows, *spare;
    struct compare_pair *merged;
    bool done = ARENA_COLUMNS(arena, n, rows, spare, merged, *pairs);
    *n_pairs = 0;
    if (done) {
        SORT_BY(rows, spare, n_a, i, a[i].key);
        SORT_BY(rows + n_a, spare, n_b, i, b[i].key);
        *n_pairs = merge(rows, n_a, rows + n_a, n_b, merged);
        SORT_BY(rows, spare, *n_pairs, i, ~pair_delta(&sides, merged[i]));
        for (uint32_t i = 0; i < *n_pairs; i++)
            (*pairs)[i] = merged[rows[i].value];
    }
    ARENA_DROP(arena, merged, spare, rows);
    return done;
}

/* ---- names ---- */

/* With a blank for each control character: a name is one line. */
static void name_add(struct words *words, struct text text) {
    for (uint32_t i = 0; i < text.nbytes; i++)
        words_add(words,
                  text.at[i] >= ' ' ? (struct text){text.at + i, 1} : (struct text){(const uint8_t *)" ", 1});
}

/* Writes the text after the last slash of either kind. */
static void name_file(struct words *words, const struct trace *trace, uint32_t frame) {
    struct text file = trace_text(trace, trace->frames.frame[frame].file);
    name_add(words, text_base_name(file));
    words_say(words, frame == 0 || file.nbytes == 0 ? "(no file recorded)" : "");
}

uint32_t compare_name(const struct timeline *timeline, enum compare_by by, uint32_t key,
                      const struct modules *modules, char *text, uint32_t capacity) {
    struct words words = {text, capacity, 0};
    const struct trace *trace = timeline->trace;
    uint32_t length;
    switch (by) {
    case COMPARE_BY_SITE:
    case COMPARE_BY_STACK:
        length = site_text(trace, by == COMPARE_BY_SITE ? key : timeline->site[key], text, capacity);
        return length < capacity ? length : capacity - 1;
    case COMPARE_BY_FILE: name_file(&words, trace, key); break;
    case COMPARE_BY_CATEGORY: words_say(&words, category_label[key].name); break;
    case COMPARE_BY_STREAM: WORDS_TELL(&words, key == 0 ? "default stream" : "stream %d", key); break;
    case COMPARE_BY_POOL: pool_tell(&words, timeline->device, (uint16_t)key); break;
    case COMPARE_BY_MODULE: module_say(&words, trace, modules, (uint8_t)key); break;
    case COMPARE_BY_METADATA:
        name_add(&words, key != 0 ? trace_text(trace, key) : word_text("(no metadata)"));
        break;
    case COMPARE_KINDS: break;
    }
    length = words_end(&words);
    return length < capacity ? length : capacity - 1;
}
