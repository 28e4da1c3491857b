#include "cli/check/rule.h"

#include "analysis/findings/budget.h"
#include "analysis/findings/finding.h"
#include "analysis/loop/category.h"
#include "base/numbers.h"
#include "base/units.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { MILLION = 1000000 };

/* ---- words ---- */

struct rule_words {
    const char *at;
    char *wrong;
    size_t capacity;
};

static void skip_blanks(struct rule_words *words) {
    while (*words->at == ' ' || *words->at == '\t')
        words->at++;
}

static bool is_operator(char byte) {
    return byte == '<' || byte == '>' || byte == '=';
}

/* The length of the next word, up to a blank or an operator; 0: there is none. */
static size_t word_nbytes(const struct rule_words *words) {
    size_t n = 0;
    while (words->at[n] != '\0' && words->at[n] != ' ' && words->at[n] != '\t' && !is_operator(words->at[n]))
        n++;
    return n;
}

static bool word_take(struct rule_words *words, const char *word) {
    skip_blanks(words);
    size_t nbytes = word_nbytes(words);
    if (nbytes == 0 || strlen(word) != nbytes || memcmp(words->at, word, nbytes) != 0)
        return false;
    words->at += nbytes;
    return true;
}

static bool wrong(struct rule_words *words, const char *what) {
    snprintf(words->wrong, words->capacity, "%s", what);
    return false;
}

/* ---- metric ---- */

static const char *const metric_names[] = {[METRIC_PEAK] = "peak",
                                           [METRIC_RESERVED] = "reserved",
                                           [METRIC_END] = "end",
                                           [METRIC_GROWTH] = "growth",
                                           [METRIC_GAP] = "gap",
                                           [METRIC_OOM] = "oom",
                                           [METRIC_TRUST] = "trust",
                                           [METRIC_CATEGORY] = "category.",
                                           [METRIC_FINDING] = "finding.",
                                           [METRIC_BUDGET] = "budget.",
                                           [METRIC_SPREAD] = "ranks.spread"};

static bool name_is_known(const struct rule *rule) {
    if (rule->metric == METRIC_CATEGORY)
        return category_by_name(word_text(rule->name)) != CATEGORY_COUNT;
    for (uint32_t i = 0; rule->metric == METRIC_FINDING && i < FINDING_KINDS; i++)
        if (strcmp(rule->name, finding_kind_name((enum finding_kind)i)) == 0)
            return true;
    for (uint32_t i = 0; rule->metric == METRIC_BUDGET && i < BUDGET_PARTS; i++)
        if (strcmp(rule->name, budget_label[i].name) == 0)
            return true;
    return false;
}

static bool name_read(struct rule_words *words, struct rule *rule, size_t prefix, size_t nbytes) {
    if (nbytes == prefix || nbytes - prefix >= sizeof rule->name)
        return wrong(words,
                     nbytes == prefix ? "names nothing after the metric" : "has a name that is too long");
    memcpy(rule->name, words->at + prefix, nbytes - prefix);
    words->at += nbytes;
    if (name_is_known(rule))
        return true;
    return wrong(
        words,
        rule->metric == METRIC_CATEGORY ? "names a category that does not exist (docs/report.md lists them)"
        : rule->metric == METRIC_BUDGET
            ? "names a part of a budget that does not exist (total, usable, weights, activations, kv_cache, "
              "graphs, non_torch, available)"
            : "names a kind of finding that does not exist (docs/report-reference.md lists them)");
}

static bool metric_read(struct rule_words *words, struct rule *rule) {
    skip_blanks(words);
    size_t nbytes = word_nbytes(words);
    if (word_take(words, "gradients")) { /* the word that people use */
        rule->metric = METRIC_CATEGORY;
        snprintf(rule->name, sizeof rule->name, "gradient");
        return true;
    }
    for (uint32_t i = 0; i < METRICS; i++) {
        size_t length = strlen(metric_names[i]);
        bool named = i == METRIC_CATEGORY || i == METRIC_FINDING || i == METRIC_BUDGET;
        if (nbytes < length || memcmp(words->at, metric_names[i], length) != 0 ||
            (!named && nbytes != length))
            continue;
        rule->metric = (enum metric)i;
        if (named)
            return name_read(words, rule, length, nbytes);
        words->at += nbytes;
        return true;
    }
    if (nbytes >= 5 && memcmp(words->at, "site:", 5) == 0)
        return wrong(
            words, "is of a call site, which is no metric any more: use peak or end with --filter file:NAME");
    return wrong(words, "does not begin with a metric (peak, reserved, end, growth, gap, oom, trust, "
                        "category.NAME, finding.KIND, budget.PART, ranks.spread)");
}

/* ---- moment, operator ---- */

static bool moment_read(struct rule_words *words, struct rule *rule) {
    static const char *const names[] = {
        [RULE_AT_PEAK] = "peak",       [RULE_AT_END] = "end",           [RULE_AT_OOM] = "oom",
        [RULE_AT_FORWARD] = "forward", [RULE_AT_BACKWARD] = "backward", [RULE_AT_OPTIMIZER] = "optimizer"};
    if (!word_take(words, "at"))
        return true;
    if (rule->metric != METRIC_CATEGORY)
        return wrong(words, "has a moment, which only categories can have");
    for (uint32_t i = RULE_AT_PEAK; i <= RULE_AT_OPTIMIZER; i++)
        if (word_take(words, names[i])) {
            rule->moment = (enum rule_moment)i;
            return true;
        }
    skip_blanks(words);
    size_t nbytes = word_nbytes(words);
    rule->moment = RULE_AT_EVENT;
    if (!units_count((struct text){(const uint8_t *)words->at, (uint32_t)nbytes}, &rule->event))
        return wrong(
            words,
            "has a moment that does not exist (peak, end, oom, forward, backward, optimizer, or an event)");
    words->at += nbytes;
    return true;
}

static bool operator_read(struct rule_words *words, struct rule *rule) {
    skip_blanks(words);
    char sign = *words->at;
    if (!is_operator(sign))
        return wrong(words, "has no <, <=, =, >= or > after its metric");
    words->at++;
    bool equal = sign != '=' && *words->at == '=';
    words->at += equal;
    rule->op = sign == '='   ? EQUAL
               : sign == '<' ? (equal ? LESS_OR_EQUAL : LESS)
               : equal       ? GREATER_OR_EQUAL
                             : GREATER;
    return true;
}

/* ---- value ---- */

/* Reads "2%" or "0.5 %" as parts in a million. */
static bool share_read(struct text text, uint64_t *parts) {
    struct decimal decimal;
    uint32_t at = decimal_read(&decimal, text);
    while (at != 0 && at < text.nbytes && text.at[at] == ' ')
        at++;
    return at != 0 && text_is(text_from(text, at), "%") && decimal_times(&decimal, MILLION / 100, parts);
}

/* The text up to a plus, " per step" or the end, without blanks around it. */
static struct text value_text(const struct rule_words *words) {
    const char *plus = strchr(words->at, '+'), *per = strstr(words->at, " per ");
    size_t n = strlen(words->at);
    n = plus != NULL && (size_t)(plus - words->at) < n ? (size_t)(plus - words->at) : n;
    n = per != NULL && (size_t)(per - words->at) < n ? (size_t)(per - words->at) : n;
    while (n > 0 && (words->at[n - 1] == ' ' || words->at[n - 1] == '\t'))
        n--;
    return (struct text){(const uint8_t *)words->at, n > UINT16_MAX ? UINT16_MAX : (uint32_t)n};
}

/* Reads "+ 2%" and "+ 64MiB", each at most once. */
static bool baseline_read(struct rule_words *words, struct rule *rule) {
    bool share = false, size = false;
    for (skip_blanks(words); *words->at == '+'; skip_blanks(words)) {
        words->at++;
        skip_blanks(words);
        struct text value = value_text(words);
        uint64_t parts;
        if (share_read(value, &parts)) {
            if (share)
                return wrong(words, "adds two shares to the baseline");
            rule->more = parts;
            share = true;
        } else if (units_size(value, &rule->number)) {
            if (size)
                return wrong(words, "adds two sizes to the baseline");
            size = true;
        } else {
            return wrong(words, "adds something to the baseline that is neither a share nor a size");
        }
        words->at += value.nbytes;
    }
    return true;
}

static bool value_read(struct rule_words *words, struct rule *rule) {
    static const struct {
        const char *word;
        enum rule_value value;
    } plain[] = {{"none", VALUE_NONE}, {"complete", VALUE_COMPLETE}, {"baseline", VALUE_BASELINE}};
    for (uint32_t i = 0; i < 3; i++)
        if (word_take(words, plain[i].word)) {
            rule->value = plain[i].value;
            return rule->value != VALUE_BASELINE || baseline_read(words, rule);
        }
    skip_blanks(words);
    struct text value = value_text(words);
    int nbytes = (int)value.nbytes;
    rule->value = VALUE_SHARE;
    if (!share_read(value, &rule->number)) {
        rule->value = VALUE_NUMBER;
        if (!units_size(value, &rule->number))
            return wrong(words, "has no value that can be read after its sign (such as 75GiB, 10%, 0, none, "
                                "complete, baseline + 2%)");
    }
    bool digits = strspn(words->at, "0123456789") >= value.nbytes;
    /* a maximum over the run below 1 MiB makes no sense */
    if (rule->value == VALUE_NUMBER && digits && rule->number != 0 && rule->number < UINT64_C(1) << 20 &&
        (rule->metric == METRIC_PEAK || rule->metric == METRIC_RESERVED)) {
        snprintf(words->wrong, words->capacity, "is in bytes: %.*s bytes? write %.*sGiB", nbytes, words->at,
                 nbytes, words->at);
        return false;
    }
    words->at += nbytes;
    return true;
}

/* Do the metric and the value go together? */
static bool value_fits(struct rule_words *words, const struct rule *rule) {
    bool counted =
        rule->metric == METRIC_OOM || rule->metric == METRIC_FINDING || rule->metric == METRIC_GROWTH;
    if ((rule->metric == METRIC_TRUST) != (rule->value == VALUE_COMPLETE) ||
        (rule->metric == METRIC_TRUST && rule->op != EQUAL))
        return wrong(words, "is not a rule: the only rule with either word is trust = complete");
    if (rule->value == VALUE_NONE && (!counted || rule->op != EQUAL))
        return wrong(words, "is not a rule: \"none\" is for oom, growth and findings, after =");
    if (rule->value == VALUE_SHARE && rule->metric != METRIC_GAP && rule->metric != METRIC_SPREAD)
        return wrong(words, "has a share, which only gap and ranks.spread are measured in");
    if (rule->metric == METRIC_SPREAD && rule->value != VALUE_SHARE)
        return wrong(words, "needs a share, such as 5%");
    if (rule->value == VALUE_BASELINE &&
        (rule->metric == METRIC_FINDING || rule->metric == METRIC_BUDGET || rule->moment != RULE_AT_DEFAULT))
        return wrong(
            words,
            "has no baseline: findings, budgets, and moments other than the peak, are not kept in one");
    return true;
}

static bool end_read(struct rule_words *words, struct rule *rule) {
    if (word_take(words, "per")) {
        if (!word_take(words, "step"))
            return wrong(words, "says \"per\" without \"step\"");
        if (rule->metric != METRIC_GROWTH)
            return wrong(words, "says \"per step\", which is for growth only");
    }
    skip_blanks(words);
    return *words->at == '\0' ? true : wrong(words, "has text after its value");
}

bool rule_parse(struct rule *rule, const char *text, char *wrong_text, size_t capacity) {
    struct rule_words words = {text, wrong_text, capacity};
    *rule = (struct rule){.text = text};
    return metric_read(&words, rule) && moment_read(&words, rule) && operator_read(&words, rule) &&
           value_read(&words, rule) && value_fits(&words, rule) && end_read(&words, rule);
}

/* ---- judging ---- */

bool rule_holds(enum comparing op, uint64_t actual, uint64_t limit) {
    switch (op) {
    case LESS: return actual < limit;
    case LESS_OR_EQUAL: return actual <= limit;
    case EQUAL: return actual == limit;
    case GREATER_OR_EQUAL: return actual >= limit;
    case GREATER: break;
    }
    return actual > limit;
}

uint64_t rule_baseline_limit(const struct rule *rule, uint64_t base) {
    uint64_t whole = base / MILLION, rest = base % MILLION;
    if (rule->more != 0 && whole > UINT64_MAX / rule->more)
        return UINT64_MAX;
    uint64_t part = rule->more > UINT64_MAX / MILLION ? UINT64_MAX : rest * rule->more / MILLION;
    return sum_at_most(sum_at_most(base, sum_at_most(whole * rule->more, part)), rule->number);
}
