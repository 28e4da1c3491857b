/*
 * A leak without turns: a line of the host's code keeps something again and again, at even distances with a forward
 * in between, while nearly everything else made meanwhile is freed. Lines inside a forward are not judged, because
 * layers look the same.
 *
 * figure: [0] kept bytes, [1] kept allocations, [2] 1 if everything else is freed.
 */
#include "analysis/findings/finder.h"

#include "analysis/loop/frame_bits.h"

enum { KEPT_LEAST = 3 };

/* The allocations of one stack, in order of birth. */
struct line {
    uint32_t n, n_kept;
    uint32_t first, last; /* kept allocations */
    uint32_t longest;     /* longest distance between two neighbours */
    uint64_t bytes;
    bool apart; /* a forward lies between every two */
};

static bool may_leak(const struct finder *finder, uint32_t allocation) {
    static const uint32_t others = BIT_FORWARD | BIT_PARAMETER | BIT_INIT | BIT_WORK;
    uint32_t stack = finder->allocations->stack[allocation];
    return stack != 0 && finder->verdicts->runs.letter[allocation] == PHASE_HOST &&
           (finder->verdicts->runs.stack_bits[stack] & others) == 0;
}

static void line_keep(struct line *line, uint32_t allocation, uint64_t bytes, bool apart) {
    if (line->n_kept == 0) {
        line->first = allocation;
        line->apart = true;
    } else {
        line->longest = allocation - line->last > line->longest ? allocation - line->last : line->longest;
        line->apart &= apart;
    }
    line->last = allocation;
    line->n_kept++;
    line->bytes += bytes;
}

/* Fills all lines; forwards_at[slots]: forward allocations before the line's last kept one. */
static void lines_fill(const struct finder *finder, struct line *lines, uint32_t *forwards_at,
                       uint32_t begin) {
    const struct allocations *allocations = finder->allocations;
    uint32_t forwards = 0;
    for (uint32_t i = begin; i < allocations->count; i++) {
        forwards += finder->verdicts->runs.letter[i] == PHASE_FORWARD;
        if (!may_leak(finder, i))
            continue;
        uint32_t slot = id_slot(finder->slots, allocations->stack[i]);
        lines[slot].n++;
        if (!finder_keeps(finder, i))
            continue;
        line_keep(&lines[slot], i, allocations->size[i], forwards > forwards_at[slot]);
        forwards_at[slot] = forwards;
    }
}

/* Is at least nine tenths of all other memory made between the first and the last freed? */
static bool rest_is_freed(const struct finder *finder, const struct line *line, bool *all) {
    const struct allocations *allocations = finder->allocations;
    uint64_t made = 0, freed = 0;
    for (uint32_t i = line->first; i <= line->last; i++) {
        if (allocations->stack[i] == allocations->stack[line->first])
            continue;
        made += allocations->size[i];
        freed += finder_keeps(finder, i) ? 0 : allocations->size[i];
    }
    *all = freed == made;
    return made - freed <= made / 10;
}

static bool line_leaks(const struct finder *finder, const struct line *line) {
    const struct allocations *allocations = finder->allocations;
    if (line->n_kept < KEPT_LEAST || !line->apart || (uint64_t)line->n_kept * 5 < (uint64_t)line->n * 4)
        return false;
    uint64_t span = line->last - line->first, n = line->n_kept - 1;
    return line->longest * n <= 3 * span + n &&
           (line->last - allocations->preexisting) * 2 >= allocations->count - allocations->preexisting;
}

/* Frees each when the next is made. */
static void line_measure(struct finder *finder, const struct line *line, struct finding *finding) {
    const struct allocations *allocations = finder->allocations;
    uint32_t before = UINT32_MAX;
    for (uint32_t i = line->first; i <= line->last; i++) {
        if (allocations->stack[i] != finding->stack || !finder_keeps(finder, i))
            continue;
        if (before != UINT32_MAX)
            finder_remove(finder, before, allocations->birth[i], allocations->death[before]);
        finder_count(finder, finding, i);
        before = i;
    }
    finder_saves(finder, finding);
}

static void line_report(struct finder *finder, const struct line *line, bool all) {
    uint64_t peak = finder->timeline->peak_bytes, each = line->bytes / line->n_kept;
    struct finding finding = {.kind = FINDING_LEAK,
                              .variant = LEAK_OF_HOST,
                              .confidence = (uint8_t)confidence_of_turns(line->n_kept),
                              .site = finder_site(finder, line->first),
                              .stack = finder->allocations->stack[line->first],
                              .n_sites = 1,
                              .from_moment = finder->allocations->birth[line->first],
                              .to_moment = finder->made,
                              .at_moment = finder->made,
                              .per_n = line->n_kept,
                              .per_bytes = each,
                              .figure = {line->bytes, line->n_kept, all}};
    line_measure(finder, line, &finding);
    bool high = is_percent(line->bytes, peak, 5) || is_percent(each, peak, 1);
    bool medium = is_percent(line->bytes, peak, 1) || each >= peak / 10000;
    finding.severity = high ? SEVERITY_HIGH : medium ? SEVERITY_MEDIUM : SEVERITY_LOW;
    if (line->n_kept == KEPT_LEAST) {
        finding.severity = SEVERITY_LOW;
        finding.confidence = CONFIDENCE_POSSIBLE;
    }
    finder->blamed[finding.site] = 1;
    finder_add(finder, &finding);
}

void finder_leak_of_host(struct finder *finder) {
    const struct allocations *allocations = finder->allocations;
    uint32_t forward = finder_first_forward(finder), n_slots = finder->slots->count, told = 0;
    if (finder->verdicts->turns.count != 0 || forward == UINT32_MAX ||
        finder->verdicts->runs.stacks == STACKS_NONE)
        return;
    struct line *lines;
    uint32_t *forwards_at;
    uint32_t begin =
        allocations->preexisting + recorded_from(&finder->verdicts->runs, finder->timeline, forward);
    bool all;
    finder->failed |= !ARENA_ZEROS(finder->arena, n_slots, lines, forwards_at);
    if (!finder->failed)
        lines_fill(finder, lines, forwards_at, begin);
    for (uint32_t slot = 0; !finder->failed && slot < n_slots && told < FINDINGS_OF_KIND; slot++)
        if (line_leaks(finder, &lines[slot]) && rest_is_freed(finder, &lines[slot], &all)) {
            line_report(finder, &lines[slot], all);
            told++;
        }
    ARENA_DROP(finder->arena, forwards_at, lines);
}

void tell_leak_of_host(struct telling *telling) {
    const struct finding *finding = telling->finding;
    TELL(telling,
         finding->figure[2]
             ? "%S keeps %b more each time (%n time%s), while everything else of the loop is freed again"
             : "%S keeps %b more each time (%n time%s), while nearly everything else of the loop is freed "
               "again",
         finding->per_bytes, finding->per_n);
}

void tell_leak_of_host_more(struct telling *telling) {
    const struct finding *finding = telling->finding;
    TELL(telling,
         "%n allocation%s with %b are alive at the end. No turns were found in the recording, but forwards "
         "lie "
         "between them.",
         finding->figure[1], finding->figure[0]);
    tell_saving(telling, "Each freed when the next is made:");
    if (finding->confidence == CONFIDENCE_POSSIBLE)
        tell(telling, " Three are the least that can show it: a longer recording would rule out a queue.");
}
