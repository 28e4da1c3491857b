#include "layout/filter.h"

#include "base/bytes.h"
#include "base/search.h"
#include "base/sort.h"
#include "base/text.h"
#include "base/words.h"

/* ---- texts ---- */

struct needle {
    uint8_t bytes[FILTER_TEXT_MAX_NBYTES]; /* lower case */
    uint32_t nbytes;
};

static struct needle needle_of(const struct filter_word *word) {
    struct needle needle = {.nbytes = word->nbytes};
    for (uint32_t i = 0; i < word->nbytes; i++)
        needle.bytes[i] = (uint8_t)lower((uint8_t)word->text[i]);
    return needle;
}

static bool text_holds(struct text text, const struct needle *needle) {
    for (uint32_t at = 0; needle->nbytes <= text.nbytes && at <= text.nbytes - needle->nbytes; at++) {
        uint32_t i = 0;
        while (i < needle->nbytes && lower(text.at[at + i]) == needle->bytes[i])
            i++;
        if (i == needle->nbytes)
            return true;
    }
    return false;
}

/* Strings that a word matches: by its expression, or those that hold its needle, each searched when first asked
 * for. */
struct texts {
    const struct trace *trace;
    const struct filter_regex *regex; /* NULL: the needle */
    const struct needle *needle;
    uint8_t *known; /* [strings.count] 0: not searched yet, 1: no, 2: yes */
};

static bool string_holds(struct texts *texts, uint32_t id) {
    if (texts->regex != NULL)
        return id != 0 && bits_has(texts->regex->strings, id);
    if (texts->known[id] == 0)
        texts->known[id] = text_holds(trace_text(texts->trace, id), texts->needle) ? 2 : 1;
    return texts->known[id] == 2;
}

/* Does the needle span the end of the file's name, the line and the beginning of the function's? Reads only the
 * part of "file:line function" that it needs, because thousands of frames share long texts. */
static bool frame_seam_holds(const struct texts *texts, const struct frame *frame) {
    uint8_t text[2 * FILTER_TEXT_MAX_NBYTES + 16];
    struct text file = trace_text(texts->trace, frame->file), name = trace_text(texts->trace, frame->name);
    uint32_t most = texts->needle->nbytes - 1, tail = file.nbytes < most ? file.nbytes : most,
             head = name.nbytes < most ? name.nbytes : most, n = tail;
    bytes_copy(text, file.at + (file.nbytes - tail), tail);
    if (frame->line != 0) {
        text[n++] = ':';
        n += digits_put(frame->line, (char *)text + n);
    }
    text[n++] = ' ';
    bytes_copy(text + n, name.at, head);
    return text_holds((struct text){text, n + head}, texts->needle);
}

static bool fx_holds(struct texts *texts, uint32_t id) {
    const struct fx *fx = &texts->trace->fx.fx[id];
    return id != 0 && (string_holds(texts, fx->op) || string_holds(texts, fx->name) ||
                       string_holds(texts, fx->target) || string_holds(texts, fx->original_trace));
}

static bool frame_holds(struct texts *texts, uint32_t id, bool file_only) {
    const struct frame *frame = &texts->trace->frames.frame[id];
    const uint32_t *whole = texts->trace->frames.whole;
    if (id == 0)
        return false;
    if (texts->regex != NULL)
        return fx_holds(texts, frame->fx) || bits_has(texts->regex->frames, whole != NULL ? whole[id] : id);
    if (string_holds(texts, frame->file))
        return true;
    return !file_only &&
           (string_holds(texts, frame->name) || frame_seam_holds(texts, frame) || fx_holds(texts, frame->fx));
}

uint32_t filter_frame_text(const struct trace *trace, uint32_t id, char *text, uint32_t capacity) {
    const struct frame *frame = &trace->frames.frame[id];
    const uint32_t parts[2] = {frame->file, frame->name};
    uint32_t n = 0;
    for (uint32_t part = 0; part < 2; part++) {
        struct text bytes = trace_text(trace, parts[part]);
        for (uint32_t i = 0; i < bytes.nbytes && n + 1 < capacity; i++)
            text[n++] = bytes.at[i] != 0 ? (char)bytes.at[i] : ' ';
        char line[12] = ":";
        uint32_t n_line = part == 0 && frame->line != 0 ? 1 + digits_put(frame->line, line + 1) : 0;
        for (uint32_t i = 0; i < n_line && n + 1 < capacity; i++)
            text[n++] = line[i];
        if (part == 0 && n + 1 < capacity)
            text[n++] = ' ';
    }
    if (capacity != 0)
        text[n] = '\0';
    return n;
}

/* ---- stacks and contexts that match a text or an expression ---- */

struct masks {
    uint8_t *frames, *stacks, *contexts, *known;
};

static bool masks_init(struct masks *masks, const struct trace *trace, struct arena *arena) {
    masks->frames = arena_zeros(arena, trace->frames.count, 1);
    masks->stacks = arena_column(arena, trace->stacks.count, 1);
    masks->contexts = arena_zeros(arena, trace->contexts.count, 1);
    masks->known = arena_zeros(arena, trace->strings.count, 1);
    return masks->frames != NULL && masks->stacks != NULL && masks->contexts != NULL && masks->known != NULL;
}

/* Looks only at contexts that the device uses. */
static void masks_fill(struct masks *masks, const struct timeline *timeline, const struct filter_word *word,
                       const struct filter_regex *regex) {
    const struct trace *trace = timeline->trace;
    const struct allocations *allocations = &timeline->device->allocations;
    struct needle needle = needle_of(word);
    struct texts texts = {trace, regex, &needle, masks->known};
    bool file_only = word->kind == FILTER_FILE;
    for (uint32_t i = 1; i < trace->frames.count; i++)
        masks->frames[i] = frame_holds(&texts, i, file_only);
    for (uint32_t i = 0; i < allocations->count; i++)
        masks->contexts[allocations->context[i]] = !file_only;
    masks->contexts[0] = 0;
    for (uint32_t i = 1; i < trace->contexts.count; i++) {
        const struct context *context = &trace->contexts.context[i];
        masks->contexts[i] = masks->contexts[i] != 0 && (string_holds(&texts, context->compile_context) ||
                                                         string_holds(&texts, context->user_metadata) ||
                                                         string_holds(&texts, context->category));
    }
}

/* A parent has a smaller id, so its mark is known already. */
static void stacks_of_frames(struct masks *masks, const struct trace *trace) {
    masks->stacks[0] = 0;
    for (uint32_t i = 1; i < trace->stacks.count; i++)
        masks->stacks[i] =
            masks->stacks[stack_parent(&trace->stacks, i)] | masks->frames[trace->stacks.frame[i]];
}

/* ---- spans ---- */

bool filter_text_meets(const struct filter_word *word, struct text text) {
    struct needle needle = needle_of(word);
    return text_holds(text, &needle);
}

/* Disjoint ranges of moments, rising. */
struct ranges {
    struct sort_row *row; /* key: from, value: until */
    uint32_t count;
};

static bool span_meets(const struct filter_span *span, const struct filter_word *word,
                       const struct needle *needle) {
    if (word->kind != FILTER_STEP && word->kind != FILTER_LAYER)
        return text_holds(span->name, needle);
    return span->number >= 0 && (uint64_t)span->number >= word->low && (uint64_t)span->number <= word->high;
}

static void ranges_join(struct ranges *ranges) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < ranges->count; i++) {
        struct sort_row row = ranges->row[i];
        if (n != 0 && row.key <= ranges->row[n - 1].value) {
            if (row.value > ranges->row[n - 1].value)
                ranges->row[n - 1].value = row.value;
            continue;
        }
        ranges->row[n++] = row;
    }
    ranges->count = n;
}

static bool ranges_of(struct ranges *ranges, const struct filter_word *word, const struct filter_span *spans,
                      uint32_t n_spans, struct arena *arena) {
    struct needle needle = needle_of(word);
    struct sort_row *spare;
    bool done = ARENA_COLUMNS(arena, n_spans, spare, ranges->row);
    ranges->count = 0;
    for (uint32_t i = 0; done && i < n_spans; i++)
        if (spans[i].from < spans[i].until && span_meets(&spans[i], word, &needle))
            ranges->row[ranges->count++] = (struct sort_row){spans[i].from, spans[i].until};
    if (done) {
        sort_rows(ranges->row, spare, ranges->count);
        ranges_join(ranges);
    }
    ARENA_DROP(arena, spare);
    return done;
}

static bool ranges_hold(const struct ranges *ranges, uint32_t moment) {
    /* the first range that begins after the moment */
    uint32_t low = SEARCH(0, ranges->count, i, ranges->row[i].key <= moment);
    return low != 0 && moment < ranges->row[low - 1].value;
}

/* ---- allocations ---- */

struct keeping {
    const struct timeline *timeline;
    const struct filter_facts *facts;
    const struct filter_word *word;
    struct masks masks;
    struct ranges ranges;
    uint64_t categories; /* a bit for each category that the word means */
    uint64_t address;    /* a text's digits as an address, and their number; 0 digits: not an address */
    uint32_t n_digits;
    uint16_t stream;
    bool stream_known;
};

/* The lifetime in microseconds; a life that goes on after the recording ends with it. */
static uint64_t allocation_us(const struct timeline *timeline, uint32_t allocation) {
    const struct allocations *allocations = &timeline->device->allocations;
    int64_t end = allocations->death[allocation] < timeline->n_moments
                      ? timeline_start_us(timeline, allocations->death[allocation])
                      : timeline->end_us;
    return (uint64_t)(end - timeline_start_us(timeline, allocations->birth[allocation]));
}

static bool within(const struct filter_word *word, uint64_t value) {
    return value >= word->low && value <= word->high;
}

static bool holds_address(const struct allocations *allocations, uint32_t allocation, uint64_t address) {
    uint64_t from = allocations->address[allocation];
    return address == from || (address > from && address - from < allocations->size[allocation]);
}

/* Does an address begin with these digits, in the form in which people read it? */
static bool begins_with(uint64_t address, uint64_t digits, uint32_t n_digits) {
    uint32_t n = address == 0 ? 1 : (67 - (uint32_t)__builtin_clzll(address)) / 4;
    return n >= n_digits && address >> 4 * (n - n_digits) == digits;
}

/* Does a plain text match the allocation's stack, notes, category, phases or address? */
static bool text_meets(const struct keeping *keeping, uint32_t allocation) {
    const struct allocations *allocations = &keeping->timeline->device->allocations;
    const struct filter_facts *facts = keeping->facts;
    if ((keeping->masks.stacks[allocations->stack[allocation]] |
         keeping->masks.contexts[allocations->context[allocation]]) != 0)
        return true;
    if (keeping->categories != 0 && (keeping->categories >> facts->category[allocation] & 1) != 0)
        return true;
    if (keeping->ranges.count != 0 && allocation >= allocations->preexisting &&
        ranges_hold(&keeping->ranges, allocations->birth[allocation]))
        return true;
    return keeping->n_digits != 0 &&
           begins_with(allocations->address[allocation], keeping->address, keeping->n_digits);
}

static bool pool_meets(const struct device_trace *device, const struct filter_word *word, uint32_t pool) {
    if (word->kind == FILTER_POOL)
        return pool == word->low;
    if (word->kind == FILTER_POOL_PRIVATE)
        return pool > 1;
    return pool != POOL_UNKNOWN && device->pools[pool].first == word->low &&
           device->pools[pool].second == word->high;
}

static bool allocation_meets(const struct keeping *keeping, uint32_t allocation) {
    const struct timeline *timeline = keeping->timeline;
    const struct allocations *allocations = &timeline->device->allocations;
    const struct filter_word *word = keeping->word;
    switch (word->kind) {
    case FILTER_TEXT: return text_meets(keeping, allocation);
    case FILTER_REGEX:
    case FILTER_FILE:
        return (keeping->masks.stacks[allocations->stack[allocation]] |
                keeping->masks.contexts[allocations->context[allocation]]) != 0;
    case FILTER_SIZE: return within(word, allocations->size[allocation]);
    case FILTER_AGE_EVENTS:
        return within(word, allocations->death[allocation] - allocations->birth[allocation]);
    case FILTER_AGE_US: return timeline_timed(timeline) && within(word, allocation_us(timeline, allocation));
    case FILTER_STREAM:
    case FILTER_STREAM_HANDLE:
        return keeping->stream_known && allocations->stream[allocation] == keeping->stream;
    case FILTER_POOL:
    case FILTER_POOL_ID:
    case FILTER_POOL_PRIVATE: return pool_meets(timeline->device, word, allocations->pool[allocation]);
    case FILTER_CATEGORY:
        return keeping->categories != 0 &&
               (keeping->categories >> keeping->facts->category[allocation] & 1) != 0;
    case FILTER_PHASE:
    case FILTER_STEP:
    case FILTER_LAYER:
    case FILTER_BLOCK:
        return allocation >= allocations->preexisting &&
               ranges_hold(&keeping->ranges, allocations->birth[allocation]);
    case FILTER_ALIVE_PEAK:
        return allocations->birth[allocation] <= keeping->facts->peak_moment &&
               keeping->facts->peak_moment < allocations->death[allocation];
    case FILTER_ALIVE_END: return allocations->death[allocation] >= timeline->n_moments;
    case FILTER_OWN:
        return timeline_frame_is_user(timeline, timeline->site[allocations->stack[allocation]]) ==
               (word->low != 0);
    case FILTER_ADDRESS: return holds_address(allocations, allocation, word->low);
    }
    return false;
}

/* A number is an index into the streams, as everywhere, or, if it is too large for one, the file's own handle. */
static void stream_find(struct keeping *keeping) {
    const struct device_trace *device = keeping->timeline->device;
    uint64_t wanted = keeping->word->low;
    keeping->stream_known = keeping->word->kind == FILTER_STREAM && wanted < device->n_streams;
    keeping->stream = (uint16_t)wanted;
    for (uint32_t i = 0; i < device->n_streams && !keeping->stream_known; i++)
        if (device->streams[i] == wanted) {
            keeping->stream_known = true;
            keeping->stream = (uint16_t)i;
        }
}

/* `category:` needs the whole name, a plain text any part of it. */
static void categories_find(struct keeping *keeping) {
    struct needle needle = needle_of(keeping->word);
    const struct filter_facts *facts = keeping->facts;
    for (uint32_t i = 0; facts->category != NULL && i < facts->n_categories && i < 64; i++) {
        struct text name = word_text(facts->category_name(i));
        if ((keeping->word->kind == FILTER_TEXT || name.nbytes == needle.nbytes) && text_holds(name, &needle))
            keeping->categories |= UINT64_C(1) << i;
    }
}

enum { ADDRESS_DIGITS_LEAST = 6, ADDRESS_DIGITS_MOST = 16 };

/* An address needs at least six hexadecimal digits, one of them decimal; anything else may be a word. */
static void address_find(struct keeping *keeping) {
    struct needle needle = needle_of(keeping->word);
    bool decimal = false;
    if (needle.nbytes < ADDRESS_DIGITS_LEAST || needle.nbytes > ADDRESS_DIGITS_MOST || needle.bytes[0] == '0')
        return;
    for (uint32_t i = 0; i < needle.nbytes; i++) {
        uint8_t digit = needle.bytes[i];
        bool letter = digit >= 'a' && digit <= 'f';
        if (!letter && (digit < '0' || digit > '9'))
            return;
        decimal |= !letter;
        keeping->address = keeping->address << 4 | (uint64_t)(letter ? digit - 'a' + 10 : digit - '0');
    }
    keeping->n_digits = decimal ? needle.nbytes : 0;
}

/* Prepares a word before the first allocation is tested. False: no memory. */
static bool keeping_prepare(struct keeping *keeping, struct arena *arena) {
    const struct trace *trace = keeping->timeline->trace;
    const struct filter_facts *facts = keeping->facts;
    const struct filter_word *word = keeping->word;
    bool expression = word->kind == FILTER_REGEX;
    if (word->kind == FILTER_TEXT || word->kind == FILTER_FILE || expression) {
        if (!masks_init(&keeping->masks, trace, arena))
            return false;
        if (!expression || facts->regexes != NULL)
            masks_fill(&keeping->masks, keeping->timeline, word,
                       expression ? &facts->regexes[word->nth_regex] : NULL);
        stacks_of_frames(&keeping->masks, trace);
    }
    if (word->kind == FILTER_STREAM || word->kind == FILTER_STREAM_HANDLE)
        stream_find(keeping);
    if (word->kind == FILTER_CATEGORY || word->kind == FILTER_TEXT)
        categories_find(keeping);
    if (word->kind == FILTER_TEXT)
        address_find(keeping);
    if (word->kind == FILTER_PHASE || word->kind == FILTER_TEXT)
        return ranges_of(&keeping->ranges, word, facts->phases, facts->n_phases, arena);
    if (word->kind == FILTER_STEP)
        return ranges_of(&keeping->ranges, word, facts->steps, facts->n_steps, arena);
    if (word->kind == FILTER_LAYER || word->kind == FILTER_BLOCK)
        return ranges_of(&keeping->ranges, word, facts->layers, facts->n_layers, arena);
    return true;
}

/* Clears the bits of a part of the allocations, [from, end), that the word does not keep. */
static bool word_keep(const struct filter_word *word, const struct timeline *timeline,
                      const struct filter_facts *facts, uint32_t from, uint32_t end, struct arena *arena,
                      uint64_t *keep) {
    struct keeping keeping = {.timeline = timeline, .facts = facts, .word = word};
    bool done = keeping_prepare(&keeping, arena);
    for (uint32_t i = from; done && i < end; i++)
        if (bits_has(keep, i) && allocation_meets(&keeping, i) == word->negated)
            keep[i / 64] &= ~(UINT64_C(1) << i % 64);
    ARENA_DROP(arena, keeping.ranges.row, keeping.masks.known, keeping.masks.contexts, keeping.masks.stacks,
               keeping.masks.frames);
    return done;
}

uint32_t filter_keep_steps(const struct filter *filter, const struct timeline *timeline, uint32_t at_once) {
    return filter->n_words * (timeline->device->allocations.count / at_once + 1) + 1;
}

bool filter_keep_step(const struct filter *filter, const struct timeline *timeline,
                      const struct filter_facts *facts, uint32_t step, uint32_t at_once, struct arena *arena,
                      uint64_t *keep) {
    uint32_t n_words = filter_bitmap_words(timeline), count = timeline->device->allocations.count;
    if (step > 0) {
        uint32_t parts = count / at_once + 1, from = (step - 1) % parts * at_once,
                 end = count - from > at_once ? from + at_once : count;
        return word_keep(&filter->word[(step - 1) / parts], timeline, facts, from, end, arena, keep);
    }
    for (uint32_t i = 0; i < n_words; i++)
        keep[i] = ~UINT64_C(0);
    keep[n_words - 1] = (UINT64_C(1) << count % 64) - 1;
    return true;
}

uint64_t filter_count(const struct timeline *timeline, const uint64_t *keep) {
    const struct allocations *allocations = &timeline->device->allocations;
    uint64_t count = 0;
    for (uint32_t i = 0; i < allocations->count; i++)
        if (filter_keeps(keep, i))
            count += allocation_stands_for(allocations, i);
    return count;
}
