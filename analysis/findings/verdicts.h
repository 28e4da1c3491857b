/*
 * What Strata concludes from a device's recording, once for every output: phases, steps, what each allocation is for,
 * findings with the figures that justify them, and what could not be judged. docs/report-reference.md states the rules for people.
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
    uint32_t steps; /* turns that were found, an open last one included */
    enum turns_source steps_from;
    bool phases; /* forward, backward and optimizer can be told apart, and at least one was recorded */
    enum growth_judged growth;
};

struct verdicts {
    const struct timeline *timeline;
    struct phase_runs runs;
    struct turns turns;
    uint8_t *category; /* [allocations.count] enum category */
    uint8_t *reason;   /* [allocations.count] enum category_reason; NULL: not `with_reasons` */
    bool with_reasons; /* the caller's to say before step 0 */
    bool with_cuts;    /* the same: findings keep what they take out of the curve */
    struct spans steps, phases;
    struct judged judged;
    struct findings findings;
    struct older older;    /* what is older than the recording, and how much of it has a name */
    struct judge *judge;   /* between the two steps of the categories */
    struct finder *finder; /* while findings are looked for */
};

/* With reasons. O(allocations log allocations + stacks + annotations + length of all names). False: no memory. */
bool verdicts_init(struct verdicts *verdicts, const struct timeline *timeline, struct arena *arena);

/* The same in two steps, of which the second finds the findings and changes nothing else. */
bool verdicts_judge(struct verdicts *verdicts, const struct timeline *timeline, struct arena *arena);
bool findings_find(struct verdicts *verdicts, struct arena *arena);

/* The same with the findings' cuts, 12 bytes for each allocation that one takes out. */
bool verdicts_init_with_cuts(struct verdicts *verdicts, const struct timeline *timeline, struct arena *arena);

/* The same one step at a time, from 0 on, for a host that has other things to do between them. After a failure it begins
 * with step 0 again. The last steps are those of the findings: one for each kind, one before and one after them, and
 * more for a kind that takes long. */
enum { FINDINGS_STEPS = FINDING_KINDS + FINDING_PARTS - 1 + 2, VERDICTS_STEPS = 8 + FINDINGS_STEPS };
bool verdicts_step(struct verdicts *verdicts, const struct timeline *timeline, uint32_t step,
                   struct arena *arena);
bool findings_step(struct verdicts *verdicts, uint32_t step, struct arena *arena);

/* "annotations": the source of the steps as JSON has it. */
const char *turns_source_name(enum turns_source source);

/* What was judged and what could not be, in sentences, into `text`, cut at capacity - 1 bytes and always terminated.
 * Returns the full length. That nothing stays is said only where it would have been seen. */
uint32_t verdicts_judged_text(const struct verdicts *verdicts, char *text, uint32_t capacity);

/*
 * What is looked for besides growth: each check is a kind of finding, and says whether one was found, or would have been
 * seen and was not, or could not be seen.
 */
enum check_state { CHECK_CLEAR, CHECK_FOUND, CHECK_NOT_JUDGED };
struct check {
    enum finding_kind kind;
    enum check_state state;
    uint32_t looked; /* places that could have shown it: forwards, pairs of steps, events */
};

/* How many checks there are: 0 for logs and where no event was recorded. */
uint32_t verdicts_checks(const struct verdicts *verdicts);

/* Check `index`, and a sentence of it, which is empty where it was found, into `text` as above. */
struct check verdicts_check(const struct verdicts *verdicts, uint32_t index, char *text, uint32_t capacity);

/* "not_judged": as JSON has it. */
const char *check_state_name(enum check_state state);

/* "too_short": as JSON has it. */
const char *growth_judged_name(enum growth_judged growth);
