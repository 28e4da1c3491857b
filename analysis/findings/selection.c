#include "analysis/findings/selection.h"

#include "analysis/findings/verdicts.h"
#include "analysis/loop/blocks.h"
#include "base/text.h"
#include "layout/site.h"

static const char *category_name(uint32_t category) {
    return category_label[category].name;
}

static void facts_of_categories(struct filter_facts *facts, const struct verdicts *verdicts) {
    facts->category = verdicts->category;
    facts->category_name = category_name;
    facts->n_categories = CATEGORY_COUNT;
}

/* The span of an annotation has its own name, others that of their kind. */
static struct filter_span filter_span_of(const struct verdicts *verdicts, const struct span *span) {
    struct filter_span filtered = {.from = span->from_moment, .until = span->to_moment + 1, .number = -1};
    filtered.name = span->name != 0 ? trace_text(verdicts->timeline->trace, span->name)
                                    : word_text(span_kind_name[span->kind]);
    if (span->step != SPAN_NO_STEP)
        filtered.number = turns_number(&verdicts->turns, span->step);
    return filtered;
}

static struct filter_span *filter_spans(const struct verdicts *verdicts, const struct spans *spans,
                                        struct arena *arena) {
    struct filter_span *filtered = arena_column(arena, spans->count, sizeof *filtered);
    for (uint32_t i = 0; filtered != NULL && i < spans->count; i++)
        filtered[i] = filter_span_of(verdicts, &spans->span[i]);
    return filtered;
}

/* Can a text match more than what was recorded: a category, a phase? */
static bool text_may_conclude(const struct filter_word *word, const struct trace *trace) {
    for (uint32_t i = 0; i < CATEGORY_COUNT; i++)
        if (filter_text_meets(word, word_text(category_label[i].name)))
            return true;
    for (uint32_t i = 0; i < SPAN_KINDS; i++)
        if (filter_text_meets(word, word_text(span_kind_name[i])))
            return true;
    for (uint32_t i = 0, last = 0; i < trace->n_annotations; i++) {
        uint32_t name = trace->annotations[i].name;
        if (name != last && filter_text_meets(word, trace_text(trace, name)))
            return true;
        last = name;
    }
    return false;
}

static bool asks_for_layers(const struct filter *filter) {
    return filter_has(filter, FILTER_LAYER) || filter_has(filter, FILTER_BLOCK);
}

static struct filter_span layer_span(const struct timeline *timeline, const struct block_span *block,
                                     uint32_t layer, const char *site) {
    const uint32_t *birth = timeline->device->allocations.birth;
    return (struct filter_span){.from = birth[block->first],
                                .until = birth[block->end - 1] + 1,
                                .name = word_text(site),
                                .number = layer};
}

/* The blocks of every forward. False: no memory. */
static bool find_layers(struct filter_facts *facts, const struct verdicts *verdicts, struct arena *arena) {
    enum { SITE_NBYTES = 512 };
    struct blocks blocks;
    if (!blocks_find(&blocks, verdicts->timeline, &verdicts->runs, verdicts->category, arena))
        return false;
    struct filter_span *layers = arena_column(arena, blocks.n_spans, sizeof *layers);
    facts->layers = layers;
    for (uint32_t f = 0; layers != NULL && f < blocks.n_forwards; f++) {
        const struct forward *forward = &blocks.forward[f];
        char *site = arena_alloc(arena, SITE_NBYTES);
        if (site == NULL)
            return false;
        (void)site_text(verdicts->timeline->trace, forward->site, site, SITE_NBYTES);
        for (uint32_t k = 0; k < forward->n_blocks; k++)
            layers[facts->n_layers++] =
                layer_span(verdicts->timeline, &blocks.span[forward->first_block + k], k, site);
    }
    return layers != NULL;
}

static bool asks_for_facts(const struct filter *filter, const struct trace *trace) {
    for (uint32_t i = 0; i < filter->n_words; i++)
        if (filter->word[i].kind == FILTER_TEXT && text_may_conclude(&filter->word[i], trace))
            return true;
    return filter_has(filter, FILTER_CATEGORY) || filter_has(filter, FILTER_PHASE) ||
           filter_has(filter, FILTER_STEP) || asks_for_layers(filter);
}

/* Finds the verdicts that the filter's words need. */
static bool find_facts(struct filter_facts *facts, const struct timeline *timeline,
                       const struct filter *filter, const struct verdicts *known, struct arena *arena) {
    struct verdicts *judged = NULL;
    if (!asks_for_facts(filter, timeline->trace))
        return true;
    if (known == NULL &&
        ((judged = arena_alloc(arena, sizeof *judged)) == NULL || !verdicts_init(judged, timeline, arena)))
        return false;
    const struct verdicts *verdicts = known != NULL ? known : judged;
    facts_of_categories(facts, verdicts);
    facts->phases = filter_spans(verdicts, &verdicts->phases, arena);
    facts->n_phases = verdicts->phases.count;
    facts->steps = filter_spans(verdicts, &verdicts->steps, arena);
    facts->n_steps = verdicts->steps.count;
    return facts->phases != NULL && facts->steps != NULL &&
           (!asks_for_layers(filter) || find_layers(facts, verdicts, arena));
}

bool selection_make(struct selection *selection, const struct timeline *whole,
                    const struct filter_query *query, const struct verdicts *known, struct arena *arena) {
    struct selecting selecting = {
        .selection = selection, .whole = whole, .query = query, .known = known, .arena = arena};
    enum selecting_progress progress = SELECTING_GOES_ON;
    while (progress == SELECTING_GOES_ON)
        progress = selecting_go_on(&selecting);
    return progress == SELECTING_DONE;
}

static bool selecting_begin(struct selecting *selecting) {
    selecting->facts = (struct filter_facts){.regexes = selecting->query->regexes,
                                             .peak_moment = selecting->whole->peak_moment};
    selecting->keep =
        arena_column(selecting->arena, filter_bitmap_words(selecting->whole), sizeof *selecting->keep);
    return selecting->keep != NULL &&
           find_facts(&selecting->facts, selecting->whole, &selecting->query->filter, selecting->known,
                      selecting->arena);
}

static void selecting_end(struct selecting *selecting) {
    selecting->selection->keep = selecting->keep;
    selecting->selection->allocations = filter_count(selecting->whole, selecting->keep);
}

/* So many allocations are asked for a word in one step, which takes some milliseconds. */
enum { KEPT_AT_ONCE = 1 << 20 };

/* First the facts, then the bitmap word by word, then the timeline, then the counts. */
enum selecting_progress selecting_go_on(struct selecting *selecting) {
    const struct filter *filter = &selecting->query->filter;
    uint32_t step = selecting->step++, bits = filter_keep_steps(filter, selecting->whole, KEPT_AT_ONCE),
             timeline = selecting->bits_only ? 0 : TIMELINE_SOME_STEPS;
    bool done;
    if (step == 0)
        done = selecting_begin(selecting);
    else if (step <= bits)
        done = filter_keep_step(filter, selecting->whole, &selecting->facts, step - 1, KEPT_AT_ONCE,
                                selecting->arena, selecting->keep);
    else
        done =
            step > bits + timeline || timeline_some_step(&selecting->selection->timeline, selecting->whole,
                                                         selecting->keep, step - 1 - bits, selecting->arena);
    if (!done)
        return SELECTING_NO_MEMORY;
    if (step <= bits + timeline)
        return SELECTING_GOES_ON;
    selecting_end(selecting);
    return SELECTING_DONE;
}

uint64_t selection_headroom(const struct selection *selection, uint64_t top_bytes, uint32_t first,
                            uint32_t end) {
    const struct timeline *timeline = &selection->timeline;
    uint64_t highest = timeline->live[timeline_peak_in(timeline, first, end)];
    if (highest == 0 || top_bytes == 0 || highest > (top_bytes - 1) / 3)
        return top_bytes;
    return highest + (highest + 15) / 16;
}
