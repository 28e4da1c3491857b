#include "analysis/selection.h"

#include "analysis/category.h"
#include "analysis/steps.h"
#include "layout/phases.h"

static bool find_categories(struct filter_facts *facts, const struct timeline *timeline,
                            struct arena *arena) {
    static const char *names[CATEGORY_COUNT];
    uint8_t *category = arena_column(arena, timeline->device->lives.count, 1);
    for (uint32_t i = 0; i < CATEGORY_COUNT; i++)
        names[i] = category_name((enum category)i);
    facts->category = category;
    facts->category_names = names;
    facts->n_categories = CATEGORY_COUNT;
    return category != NULL && categories_find(timeline, category, arena);
}

/* The moments of a phase: from the first one that begins at or after its start to the first at or after its end. */
static uint32_t moment_from(const struct timeline *timeline, int64_t us) {
    if (us == INT64_MAX)
        return timeline->n_moments;
    uint32_t moment = us <= 0 ? 0 : timeline_moment_at(timeline, us - 1) + 1;
    return moment < timeline->n_moments ? moment : timeline->n_moments;
}

static bool find_phases(struct filter_facts *facts, const struct timeline *timeline, struct arena *arena) {
    struct phases phases;
    if (!phases_find(timeline, arena, &phases))
        return false;
    struct filter_span *spans = arena_column(arena, phases.count, sizeof *spans);
    for (uint32_t i = 0; spans != NULL && i < phases.count; i++) {
        const struct phase *phase = &phases.phase[i];
        spans[i] = (struct filter_span){.from = moment_from(timeline, phase->start_us),
                                        .until = moment_from(timeline, phase->end_us),
                                        .number = -1};
        spans[i].name = trace_string(timeline->trace, phase->name, &spans[i].nbytes);
    }
    facts->phases = spans;
    facts->n_phases = phases.count;
    return spans != NULL;
}

static bool find_steps(struct filter_facts *facts, const struct timeline *timeline, struct arena *arena) {
    struct steps steps;
    if (!steps_find(&steps, timeline, arena))
        return false;
    struct filter_span *spans = arena_column(arena, steps.count, sizeof *spans);
    for (uint32_t i = 0; spans != NULL && i < steps.count; i++)
        spans[i] = (struct filter_span){
            .from = steps.begin[i], .until = steps.begin[i + 1], .number = steps.first_number + (int64_t)i};
    facts->steps = spans;
    facts->n_steps = steps.count;
    return spans != NULL;
}

static bool find_facts(struct filter_facts *facts, const struct timeline *timeline,
                       const struct filter *filter, struct arena *arena) {
    return (!filter_has(filter, FILTER_CATEGORY) || find_categories(facts, timeline, arena)) &&
           (!filter_has(filter, FILTER_PHASE) || find_phases(facts, timeline, arena)) &&
           (!filter_has(filter, FILTER_STEP) || find_steps(facts, timeline, arena));
}

bool selection_make(struct selection *selection, const struct timeline *whole,
                    const struct filter_query *query, struct arena *arena) {
    struct filter_facts facts = {.regexes = query->regexes, .peak_moment = whole->peak_moment};
    uint64_t *keep = arena_column(arena, filter_bitmap_words(whole), sizeof *keep);
    if (keep == NULL || !find_facts(&facts, whole, &query->filter, arena) ||
        !filter_keep(&query->filter, whole, &facts, arena, keep) ||
        !timeline_some(&selection->timeline, whole, keep, arena))
        return false;
    selection->keep = keep;
    selection->allocations = filter_count(whole, keep);
    return true;
}

uint64_t selection_headroom(const struct selection *selection, uint64_t top_bytes, uint32_t first,
                            uint32_t end) {
    const struct timeline *timeline = &selection->timeline;
    uint64_t highest = timeline->live[timeline_peak_in(timeline, first, end)];
    if (highest == 0 || highest > top_bytes / 3)
        return top_bytes;
    return highest + highest / 16 + 1;
}
