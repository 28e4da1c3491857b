/*
 * A limit: "metric [at MOMENT] OP VALUE [per step]", one grammar for --rule and for strata.json.
 *
 *     peak < 75GiB                       reserved <= baseline + 2% + 64MiB      growth = 0 per step
 *     category.activation at backward < 30GiB                                gap < 10%
 *     oom = none    trust = complete     finding.leak = none                    ranks.spread < 5%
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum metric {
    METRIC_PEAK,
    METRIC_RESERVED,
    METRIC_END,
    METRIC_GROWTH, /* bytes per step */
    METRIC_GAP,    /* reserved memory that is not in use, at the reserved peak */
    METRIC_OOM,    /* a count */
    METRIC_TRUST,
    METRIC_CATEGORY,
    METRIC_FINDING, /* a count */
    METRIC_BUDGET,  /* a part of a server's budget, from a log */
    METRIC_SPREAD,  /* the spread of the files' peaks, as a share of the largest peak */
    METRICS
};

enum comparing { LESS, LESS_OR_EQUAL, EQUAL, GREATER_OR_EQUAL, GREATER };

enum rule_value { VALUE_NUMBER, VALUE_SHARE, VALUE_NONE, VALUE_COMPLETE, VALUE_BASELINE };

enum rule_moment {
    RULE_AT_DEFAULT,
    RULE_AT_PEAK,
    RULE_AT_END,
    RULE_AT_OOM,
    RULE_AT_FORWARD,
    RULE_AT_BACKWARD,
    RULE_AT_OPTIMIZER,
    RULE_AT_EVENT
};

enum { RULE_NAME_NBYTES = 200 };

struct rule {
    const char *text; /* as given */
    enum metric metric;
    char name[RULE_NAME_NBYTES]; /* name of a category, a finding or a part of a budget */
    enum rule_moment moment;
    uint64_t event; /* index of the event, for RULE_AT_EVENT */
    enum comparing op;
    enum rule_value value;
    /* bytes or a count; for a share parts in a million; for a baseline the bytes that may be added */
    uint64_t number;
    uint64_t more; /* for a baseline: the parts in a million that may be added */
};

/* Reads a rule; `text` must outlive it. False: `wrong` holds the reason, a phrase that follows the rule's text. */
bool rule_parse(struct rule *rule, const char *text, char *wrong, size_t capacity);

/* Is the metric a share in a million? Bytes or a count otherwise. */
static inline bool rule_is_share(const struct rule *rule) {
    return rule->value == VALUE_SHARE;
}

/* Is `actual` OP `limit` true? */
bool rule_holds(enum comparing op, uint64_t actual, uint64_t limit);

/* base + parts + number, at most 2^64 - 1. */
uint64_t rule_baseline_limit(const struct rule *rule, uint64_t base);
