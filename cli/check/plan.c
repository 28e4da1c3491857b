/* Collects the rules to check: from the command line, strata.json, and the baseline. */
#include "base/utf8.h"
#include "cli/check/check.h"
#include "cli/ending.h"
#include "cli/exit_code.h"
#include "cli/json_file.h"
#include "cli/memory.h"
#include "cli/terminal.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { CONFIG_MEMORY_NBYTES = 64 << 20, RULES_MOST = 10000 };

static bool rule_add(struct check_plan *plan, const char *text, const char *pattern, const char *where) {
    char wrong[200];
    if (plan->n_rules == RULES_MOST) {
        terminal_error(where, "too many rules: a check may have 10,000; the first one too many is \"%.*s\"",
                       UTF8_FIT(text, 60));
        return false;
    }
    if (plan->n_rules == plan->capacity) {
        plan->capacity = plan->capacity * 2 + 16;
        plan->rules = memory_resize(plan->rules, plan->capacity, sizeof *plan->rules);
    }
    struct check_rule *rule = &plan->rules[plan->n_rules];
    rule->pattern = pattern;
    if (!rule_parse(&rule->rule, text, wrong, sizeof wrong)) {
        terminal_error(where, "the rule \"%.*s\" %s", UTF8_FIT(text, 200), wrong);
        return false;
    }
    plan->n_rules++;
    return true;
}

bool check_rule_applies(const struct check_rule *rule, const struct check_file *file) {
    const char *name = strcmp(file->input, "-") == 0 ? "stdin" : path_name(file->input);
    return rule->pattern == NULL || fnmatch(rule->pattern, name, 0) == 0 ||
           fnmatch(rule->pattern, file->input, 0) == 0;
}

static bool config_wrong(const char *path, const char *what) {
    terminal_error(path, "%s", what);
    return false;
}

static bool config_rules(struct check_plan *plan, const cJSON *list, const char *pattern, const char *path) {
    const cJSON *item;
    if (!cJSON_IsArray(list))
        return config_wrong(path,
                            "\"rules\" is a list of rules, and so is the value of each pattern in \"files\"");
    cJSON_ArrayForEach(item, list) {
        if (!cJSON_IsString(item))
            return config_wrong(path, "a rule is a text, such as \"peak < 75GiB\"");
        if (!rule_add(plan, item->valuestring, pattern, path))
            return false;
    }
    return true;
}

static bool config_member(struct check_plan *plan, const cJSON *item, const char *path) {
    if (strcmp(item->string, "rules") == 0)
        return config_rules(plan, item, NULL, path);
    if (strcmp(item->string, "files") == 0) {
        if (!cJSON_IsObject(item))
            return config_wrong(path, "\"files\" is an object of patterns, each with a list of rules");
        for (const cJSON *list = item->child; list != NULL; list = list->next)
            if (!config_rules(plan, list, list->string, path))
                return false;
        return true;
    }
    if (strcmp(item->string, "baseline") == 0) {
        plan->baseline = plan->baseline != NULL ? plan->baseline : item->valuestring;
        return cJSON_IsString(item) || config_wrong(path, "\"baseline\" is the path of a file");
    }
    if (strcmp(item->string, "skip_steps") == 0) {
        double number = cJSON_IsNumber(item) ? item->valuedouble : -1;
        plan->skip_steps =
            plan->skip_steps == 0 && number >= 0 && number < 1e9 ? (uint64_t)number : plan->skip_steps;
        return (number >= 0 && number < 1e9) || config_wrong(path, "\"skip_steps\" is a number of steps");
    }
    terminal_error(path, "\"%.*s\" is not one of rules, files, baseline and skip_steps",
                   UTF8_FIT(item->string, 60));
    return false;
}

static bool config_read(struct check_plan *plan, const char *path) {
    const cJSON *item;
    struct json_fault fault;
    plan->config = json_file_read(path, CONFIG_MEMORY_NBYTES, &fault);
    if (!cJSON_IsObject(plan->config)) {
        terminal_error(path, "is not a file with a JSON object of rules%s", fault.text);
        return false;
    }
    cJSON_ArrayForEach(item, plan->config) if (!config_member(plan, item, path)) return false;
    return true;
}

static bool needs_baseline(const struct check_plan *plan) {
    for (uint32_t i = 0; i < plan->n_rules; i++)
        if (plan->rules[i].rule.value == VALUE_BASELINE)
            return true;
    return false;
}

static bool usage(const char *what) {
    terminal_error(NULL, "check: %s", what);
    return false;
}

static bool plan_is_sound(const struct check_plan *plan) {
    if (plan->update && plan->baseline == NULL)
        return usage("--update-baseline needs --baseline FILE");
    const char *ci = getenv("CI");
    if (plan->update && ci != NULL && strcmp(ci, "true") == 0)
        return usage("--update-baseline is refused if CI=true: people make a baseline and review it");
    if (plan->n_rules == 0 && !plan->update)
        return usage(
            "there is no rule; give --rule \"peak < 75GiB\", --config strata.json or --update-baseline");
    if (needs_baseline(plan) && plan->baseline == NULL)
        return usage(
            "a rule refers to the baseline; --baseline FILE names it, and with --update-baseline it is made");
    return true;
}

static int baseline_read(struct check_plan *plan, const struct settings *settings) {
    if (plan->baseline == NULL)
        return EXIT_CODE_DONE;
    struct json_fault fault;
    plan->known = json_file_read(plan->baseline, CONFIG_MEMORY_NBYTES, &fault);
    const cJSON *schema = json_member(plan->known, "schema");
    if (cJSON_IsObject(plan->known) && cJSON_IsNumber(schema) && schema->valuedouble == 1 &&
        cJSON_IsObject(json_member(plan->known, "files"))) {
        if (plan->update || baseline_has_filter(plan))
            return EXIT_CODE_DONE;
        terminal_error(plan->baseline, "was made with another --filter, so its figures cannot be compared; "
                                       "--update-baseline makes it again");
        return EXIT_CODE_USAGE;
    }
    struct stat status;
    bool absent = plan->known == NULL && lstat(plan->baseline, &status) != 0 && errno == ENOENT;
    if (absent && plan->update)
        return EXIT_CODE_DONE; /* it will be the first one */
    if (absent)
        terminal_error(plan->baseline,
                       "is not there; `strata check --baseline %s --update-baseline %s%s` makes it",
                       plan->baseline, settings->input, settings->n_inputs > 1 ? " ..." : "");
    else
        terminal_error(plan->baseline, "cannot be read as a baseline (schema 1)%s", fault.text);
    return EXIT_CODE_FAILED;
}

int check_plan_make(struct check_plan *plan, const struct settings *settings) {
    *plan = (struct check_plan){.baseline = settings->check.baseline,
                                .filter = settings->filter[0] != '\0' ? settings->filter : NULL,
                                .skip_steps = settings->check.skip_steps,
                                .update = settings->check.update_baseline};
    for (uint32_t i = 0; i < settings->check.n_rules; i++)
        if (!rule_add(plan, settings->check.rules[i], NULL, NULL))
            return EXIT_CODE_USAGE;
    if (settings->check.config != NULL && !config_read(plan, settings->check.config))
        return EXIT_CODE_USAGE;
    if (!plan_is_sound(plan))
        return EXIT_CODE_USAGE;
    return baseline_read(plan, settings);
}

void check_plan_release(struct check_plan *plan) {
    free(plan->rules);
    cJSON_Delete(plan->config);
    cJSON_Delete(plan->known);
}
