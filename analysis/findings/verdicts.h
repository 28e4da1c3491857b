/*
 * What Strata concludes from a device's recording, once for every output: phases, steps, the category of each
 * allocation, findings with the figures that justify them, and what could not be judged. docs/report-reference.md
 * states the rules for people.
 *
 *     struct verdicts verdicts;
 *     if (!verdicts_init(&verdicts, &timeline, &arena)) ...no memory
 *
 * Freestanding. Everything belongs to the arena and lives as long as it; `timeline` must outlive it too. Integer
 * arithmetic; the same recording gives the same answers on every host.
 */
#pragma once

#include "analysis/findings/finding.h"
#include "analysis/loop/category.h"
#include "analysis/loop/older.h"
#include "analysis/loop/spans.h"

enum growth_judged { GROWTH_JUDGED, GROWTH_TOO_SHORT, GROWTH_NO_STACKS };

struct judged {
    uint32_t steps; /* turns found, including an open last one */
    enum turns_source steps_from;
    bool phases; /* forward, backward and optimizer can be told apart, and at least one was recorded */
    enum growth_judged growth;
};

struct verdicts {
    const struct timeline *timeline;
    struct phase_runs runs;
    struct turns turns;
    uint8_t *category; /* [allocations.count] enum category */
    uint8_t *reason;   /* [allocations.count] enum category_reason; NULL: not wanted (`with_reasons`) */
    bool with_reasons; /* set by the caller before step 0 */
    bool with_cuts;    /* likewise: findings keep what they take out of the curve */
    struct spans steps, phases;
    struct judged judged;
    struct findings findings;
    struct older older;    /* memory from before the recording, and how much of it has a category */
    struct finder *finder; /* during the search for findings */
};

/* With reasons. O(allocations log allocations + stacks + annotations + length of all names). False: no memory. */
bool verdicts_init(struct verdicts *verdicts, const struct timeline *timeline, struct arena *arena);

/* The same in two steps; the second finds the findings and changes nothing else. */
bool verdicts_judge(struct verdicts *verdicts, const struct timeline *timeline, struct arena *arena);
bool findings_find(struct verdicts *verdicts, struct arena *arena);

/* Bytes alive at a moment by category; `keep`: bitmap of what a filter keeps, NULL: all. O(allocations). */
void verdicts_categories_at(const struct verdicts *verdicts, uint32_t moment, const uint64_t *keep,
                            uint64_t sums[CATEGORY_COUNT]);

/* verdicts_init with the findings' cuts: 12 bytes for each allocation taken out. */
bool verdicts_init_with_cuts(struct verdicts *verdicts, const struct timeline *timeline, struct arena *arena);

/* The same in steps, from 0 on, for a host that has other things to do in between. After a failure start with step
 * 0 again. After SPANS_STEPS `judged`, `steps` and `phases` are known, after CATEGORIES_STEPS categories too. The last
 * steps find the findings: one step per kind, one before and one after them. */
enum { SPANS_STEPS = 3, CATEGORIES_STEPS = SPANS_STEPS + 3 };
enum { FINDINGS_STEPS = FINDING_KINDS + 2, VERDICTS_STEPS = CATEGORIES_STEPS + FINDINGS_STEPS };
bool verdicts_step(struct verdicts *verdicts, const struct timeline *timeline, uint32_t step,
                   struct arena *arena);
bool findings_step(struct verdicts *verdicts, uint32_t step, struct arena *arena);

/* "annotations": the source of the steps, as in JSON. */
extern const char *const turns_source_name[]; /* by enum turns_source */

/* What was judged and what could not be, in sentences, into `text`, cut at capacity - 1 bytes and always
 * terminated. Returns the full length. It says that nothing leaks only if a leak would have been seen. */
uint32_t verdicts_judged_text(const struct verdicts *verdicts, char *text, uint32_t capacity);

/* Checks besides growth. Each searches for one kind of finding; it was found, or would have been seen and was not, or
 * could not be seen. */
enum check_state { CHECK_CLEAR, CHECK_FOUND, CHECK_NOT_JUDGED };
struct check {
    enum finding_kind kind;
    enum check_state state;
    uint32_t looked; /* places that could have shown it: forwards, pairs of steps, events */
};

/* The number of checks: 0 for logs and without recorded events. */
uint32_t verdicts_checks(const struct verdicts *verdicts);

/* Check `index`, and a sentence about it (empty if something was found) into `text` as above. */
struct check verdicts_check(const struct verdicts *verdicts, uint32_t index, char *text, uint32_t capacity);

/* "not_judged", as in JSON. */
extern const char *const check_state_name[]; /* by enum check_state */

/* "too_short", as in JSON. */
extern const char *const growth_judged_name[]; /* by enum growth_judged */
