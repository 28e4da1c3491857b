#include "analysis/loop/modules.h"

#include "analysis/loop/category.h"
#include "analysis/loop/frame_bits.h"
#include "base/bytes.h"
#include "base/numbers.h"
#include "base/search.h"
#include "base/sort.h"
#include "base/words.h"
#include "layout/phases.h"
#include "layout/site.h"

static uint8_t key_outside(const struct phase_runs *runs, uint32_t allocation) {
    static const uint8_t keys[] = {[SIDE_FORWARD] = MODULE_OUTSIDE,
                                   [SIDE_BACKWARD] = MODULE_BACKWARD,
                                   [SIDE_OPTIMIZER] = MODULE_OPTIMIZER};
    uint8_t letter = runs->letter[allocation];
    return letter == PHASE_UNKNOWN ? MODULE_UNKNOWN : keys[side_of_letter(letter)];
}

/* The key of a name, which is new or not. O(keys). */
static uint8_t key_of_name(struct modules *modules, struct module_name name) {
    for (uint32_t i = MODULE_NAMED; i < modules->count; i++)
        if (modules->name[i].text == name.text && modules->name[i].frame == name.frame &&
            modules->name[i].layer == name.layer)
            return (uint8_t)i;
    if (modules->count == MODULE_FURTHER)
        return MODULE_FURTHER;
    modules->name[modules->count] = name;
    return (uint8_t)modules->count++;
}

/* For each stack the innermost forward() outside of libraries that is in it, [stacks.count]; 0: none. NULL: no memory. */
static uint32_t *forwards_of_stacks(const struct timeline *timeline, const struct phase_runs *runs,
                                    struct arena *arena) {
    const struct stack_table *stacks = &timeline->trace->stacks;
    uint32_t *forward = arena_column(arena, stacks->count, sizeof *forward);
    uint32_t *same = arena_column(arena, timeline->trace->frames.count, sizeof *same);
    if (forward == NULL || same == NULL || !frames_same_at(timeline->trace, SITE_LINE, same, arena))
        return NULL;
    forward[0] = 0;
    for (uint32_t i = 1; i < stacks->count; i++) {
        uint32_t site = timeline->site[i];
        forward[i] = runs->frame_bits[site] & BIT_FORWARD ? same[site] : forward[stack_parent(stacks, i)];
    }
    ARENA_DROP(arena, same);
    return forward;
}

/* Is it the name of a module in a model: words that points join, "blocks.3.mlp"? */
static bool is_module_name(struct text name) {
    bool points = false, word = false;
    for (uint32_t i = 0; i < name.nbytes; i++) {
        uint8_t c = name.at[i] | 32;
        bool letter =
            (c >= 'a' && c <= 'z') || name.at[i] == '_' || (i > 0 && name.at[i] >= '0' && name.at[i] <= '9');
        if (!letter && (name.at[i] != '.' || !word))
            return false;
        points |= name.at[i] == '.';
        word = letter;
    }
    return points && word;
}

/* Annotations whose names are modules' give them to what is made while they last, the innermost one to each. */
static void annotated_name(struct modules *modules, const struct timeline *timeline,
                           const struct phases *phases) {
    const struct allocations *allocations = &timeline->device->allocations;
    for (uint32_t p = 0; p < phases->count; p++) { /* outer ones come first */
        const struct phase *phase = &phases->phase[p];
        if (!is_module_name(phase_name(trace_text(timeline->trace, phase->name), 0)))
            continue;
        uint8_t key = key_of_name(modules, (struct module_name){phase->name, 0, MODULE_NO_LAYER});
        uint32_t from = timeline_moment_at(timeline, phase->start_us - 1) + 1,
                 end = phase->end_us == INT64_MAX ? timeline->n_moments
                                                  : timeline_moment_at(timeline, phase->end_us) + 1;
        uint32_t i = SEARCH(allocations->preexisting, allocations->count, k, allocations->birth[k] < from);
        for (; i < allocations->count && allocations->birth[i] < end; i++)
            modules->key[i] = key;
    }
}

static bool modules_name(struct modules *modules, const struct blocks *blocks,
                         const struct timeline *timeline, const struct phase_runs *runs,
                         struct arena *arena) {
    const struct allocations *allocations = &timeline->device->allocations;
    uint32_t *forward = forwards_of_stacks(timeline, runs, arena);
    uint8_t *of_stack = arena_zeros(arena, timeline->trace->stacks.count, 1);
    if (forward == NULL || of_stack == NULL)
        return false;
    bytes_fill(modules->key, MODULE_OLDER, allocations->preexisting);
    for (uint32_t f = 0; f < blocks->n_forwards; f++)
        for (uint32_t k = 0; blocks->forward[f].in_module && k < blocks->forward[f].n_blocks; k++) {
            const struct block_span *span = &blocks->span[blocks->forward[f].first_block + k];
            bytes_fill(modules->key + span->first,
                       key_of_name(modules, (struct module_name){0, blocks->forward[f].site, k}),
                       span->end - span->first);
        }
    for (uint32_t i = allocations->preexisting; i < allocations->count; i++) {
        uint32_t stack = allocations->stack[i];
        if (modules->key[i] != MODULE_UNKNOWN)
            continue;
        modules->key[i] = key_outside(runs, i);
        if (modules->key[i] != MODULE_OUTSIDE || forward[stack] == 0)
            continue;
        if (of_stack[stack] == 0)
            of_stack[stack] = key_of_name(modules, (struct module_name){0, forward[stack], MODULE_NO_LAYER});
        modules->key[i] = of_stack[stack];
    }
    return true;
}

struct modules *modules_find(const struct timeline *timeline, const struct phase_runs *runs,
                             const uint8_t *category, struct arena *arena) {
    struct blocks blocks;
    struct phases phases;
    struct arena own;
    struct modules *modules = arena_zeros(arena, 1, sizeof *modules);
    if (modules == NULL ||
        (modules->key = arena_zeros(arena, timeline->device->allocations.count, 1)) == NULL)
        return NULL;
    modules->count = MODULE_NAMED;
    arena_init(&own, arena_share(arena), SIZE_MAX);
    bool done = blocks_find(&blocks, timeline, runs, category, &own) &&
                modules_name(modules, &blocks, timeline, runs, &own) && phases_find(timeline, &own, &phases);
    if (done)
        annotated_name(modules, timeline, &phases);
    arena_release(&own);
    return done ? modules : NULL;
}

void module_say(struct words *words, const struct trace *trace, const struct modules *modules,
                uint8_t module) {
    static const char *const names[MODULE_NAMED] = {"not known", "older than the recording",
                                                    "outside of modules", "backward", "optimizer"};
    const struct module_name *name = &modules->name[module];
    const struct frame *frame = &trace->frames.frame[name->frame];
    char place[512];
    if (module < MODULE_NAMED || module >= modules->count)
        words_say(words, module < MODULE_NAMED ? names[module] : "further modules");
    else if (name->text != 0)
        words_add(words, phase_name(trace_text(trace, name->text), 0));
    else if (name->layer == MODULE_NO_LAYER) {
        (void)site_text(trace, name->frame, place, sizeof place);
        words_say(words, place);
    } else {
        WORDS_TELL(words, "layer %d", name->layer);
        words_say(words, name->frame != 0 ? " of " : "");
        words_add(words, text_base_name(trace_text(trace, frame->file)));
    }
}

/* First and last moment, from `begin` to `end`, at which an activation of the block is freed; false: none is. */
static bool block_goes(const struct allocations *allocations, const uint8_t *category,
                       const struct block_span *block, uint32_t begin, uint32_t end,
                       struct layer_span *span) {
    *span = (struct layer_span){.from_moment = UINT32_MAX, .backward = true};
    for (uint32_t i = block->first; i < block->end; i++) {
        uint32_t death = allocations->death[i];
        if (category[i] != CATEGORY_ACTIVATION || death < begin || death > end)
            continue;
        span->from_moment = death < span->from_moment ? death : span->from_moment;
        span->to_moment = death > span->to_moment ? death : span->to_moment;
    }
    return span->from_moment != UINT32_MAX;
}

/* Appends the backward of a forward's blocks; a layer ends where the next one begins. */
static uint32_t backward_spans(struct layer_span *spans, const struct blocks *blocks,
                               const struct forward *forward, const struct timeline *timeline,
                               const struct phase_runs *runs, const uint8_t *category) {
    const struct allocations *allocations = &timeline->device->allocations;
    const struct phase_run *run = &runs->run[forward->run + 1];
    uint32_t over = runs->first_allocation + run->last + 1, n = 0;
    uint32_t begin = allocations->birth[runs->first_allocation + run->first],
             end = over < allocations->count ? allocations->birth[over] : timeline->n_moments - 1;
    for (uint32_t k = forward->n_blocks; k-- > 0;) {
        struct layer_span span;
        if (!block_goes(allocations, category, &blocks->span[forward->first_block + k], begin, end, &span))
            continue;
        span.layer = k;
        if (n != 0 && spans[n - 1].from_moment < span.from_moment)
            spans[n - 1].to_moment = span.from_moment - 1;
        spans[n++] = span;
    }
    return n;
}

bool layer_spans_find(struct layer_span **spans, uint32_t *n_spans, const struct blocks *blocks,
                      const struct timeline *timeline, const struct phase_runs *runs, const uint8_t *category,
                      struct arena *arena) {
    const struct allocations *allocations = &timeline->device->allocations;
    *n_spans = 0;
    *spans = arena_column(arena, (uint64_t)blocks->n_spans * 2, sizeof **spans);
    for (uint32_t f = 0; *spans != NULL && f < blocks->n_forwards; f++) {
        const struct forward *forward = &blocks->forward[f];
        for (uint32_t k = 0; k < forward->n_blocks; k++) {
            const struct block_span *block = &blocks->span[forward->first_block + k];
            (*spans)[(*n_spans)++] = (struct layer_span){allocations->birth[block->first],
                                                         allocations->birth[block->end - 1], k, false};
        }
        if (forward->has_backward)
            *n_spans += backward_spans(*spans + *n_spans, blocks, forward, timeline, runs, category);
    }
    return *spans != NULL;
}

enum { ODD_ALLOCATIONS_MOST = 4096 };

struct summing {
    const struct timeline *timeline;
    const uint8_t *category;
    const struct block_span *span; /* spans of the forward's blocks */
};

static uint64_t bytes_of(const struct summing *summing, const struct block_span *span, uint32_t site) {
    const struct allocations *allocations = &summing->timeline->device->allocations;
    uint64_t bytes = 0;
    for (uint32_t i = span->first; i < span->end; i++)
        if (summing->category[i] == CATEGORY_ACTIVATION &&
            (site == 0 || summing->timeline->site[allocations->stack[i]] == site))
            bytes += allocations->size[i];
    return bytes;
}

/* The call site that accounts for most of the difference of two layers. */
static uint32_t odd_site(const struct summing *summing, const struct block_span *odd,
                         const struct block_span *usual) {
    const struct allocations *allocations = &summing->timeline->device->allocations;
    uint64_t most = 0;
    uint32_t best = 0;
    if (odd->end - odd->first > ODD_ALLOCATIONS_MOST || usual->end - usual->first > ODD_ALLOCATIONS_MOST)
        return 0;
    for (int which = 0; which < 2; which++) {
        const struct block_span *span = which == 0 ? odd : usual;
        for (uint32_t i = span->first; i < span->end; i++) {
            uint32_t site = summing->timeline->site[allocations->stack[i]];
            uint64_t own = bytes_of(summing, odd, site), other = bytes_of(summing, usual, site);
            uint64_t difference = own > other ? own - other : other - own;
            if (site != 0 && difference > most) {
                most = difference;
                best = site;
            }
        }
    }
    return best;
}

/* `rows[n_layers]` are sorted by bytes; their values are layers. */
static void layers_compare(struct layer_summary *summary, const struct summing *summing,
                           const struct sort_row *rows) {
    uint32_t n = summary->n_layers;
    const struct sort_row *usual = &rows[(n - 1) / 2];
    uint64_t common = 0, most = 0;
    summary->bytes = usual->key;
    for (uint32_t i = 0; i < n; i++) {
        common += (rows[i].key < usual->key ? rows[i].key : usual->key) / n;
        most += (rows[i].key > usual->key ? rows[i].key : usual->key) / n;
    }
    summary->alike = (uint32_t)(most != 0 ? common / (most / 100 + 1) : 100);
    summary->alike = common == most ? 100 : summary->alike < 99 ? summary->alike : 99;
    const struct sort_row *odd =
        rows[n - 1].key - usual->key > usual->key - rows[0].key ? &rows[n - 1] : &rows[0];
    uint64_t by = odd->key > usual->key ? odd->key - usual->key : usual->key - odd->key;
    if (by < MIB || by < usual->key / 100)
        return;
    summary->odd_layer = odd->value;
    summary->odd_bytes = (int64_t)(odd->key - usual->key);
    summary->odd_site = odd_site(summing, &summing->span[odd->value], &summing->span[usual->value]);
}

static const struct forward *forward_choose(const struct blocks *blocks, const struct timeline *timeline) {
    const struct forward *chosen = NULL;
    for (uint32_t f = 0; f < blocks->n_forwards; f++) {
        const struct forward *forward = &blocks->forward[f];
        bool before = timeline->device->allocations.birth[forward->first] <= timeline->peak_moment;
        if (forward->n_blocks != 0 && forward->in_module && (before || chosen == NULL))
            chosen = forward;
    }
    return chosen;
}

static bool forward_summarize(struct layer_summary *summary, const struct summing *summing,
                              const struct forward *forward, struct arena *arena) {
    uint32_t n = forward->n_blocks;
    struct sort_row *rows = arena_column(arena, (uint64_t)n * 2, sizeof *rows);
    if (rows == NULL)
        return false;
    SORT_BY(rows, rows + n, n, k, bytes_of(summing, &summing->span[k], 0));
    *summary = (struct layer_summary){.n_layers = n, .site = forward->site};
    layers_compare(summary, summing, rows);
    return true;
}

bool layers_summarize(struct layer_summary *summary, const struct timeline *timeline,
                      const struct phase_runs *runs, const uint8_t *category, struct arena *arena) {
    struct blocks blocks;
    struct arena own;
    *summary = (struct layer_summary){0};
    arena_init(&own, arena_share(arena), SIZE_MAX);
    bool done = blocks_find(&blocks, timeline, runs, category, &own);
    const struct forward *forward = done ? forward_choose(&blocks, timeline) : NULL;
    if (forward != NULL)
        done = forward_summarize(summary,
                                 &(struct summing){.timeline = timeline,
                                                   .category = category,
                                                   .span = &blocks.span[forward->first_block]},
                                 forward, &own);
    if (summary->bytes == 0)
        summary->n_layers = 0; /* nothing to say of layers that keep nothing */
    arena_release(&own);
    return done;
}
