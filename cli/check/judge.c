/* The figures of one recording, and the verdicts of the rules on them. */
#include "analysis/findings/budget.h"
#include "analysis/findings/levels.h"
#include "base/format.h"
#include "base/utf8.h"
#include "cli/check/check.h"
#include "cli/clock.h"
#include "cli/ending.h"
#include "cli/exit_code.h"
#include "cli/filter.h"
#include "cli/memory.h"
#include "layout/groups.h"
#include "layout/site.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SITES_MOST = 1000, MILLION = 1000000 };

/* ---- the recording ---- */

struct subject {
    const struct recording *recording;
    struct arena arena;
    struct timeline timeline;
    struct filter_set filter;
    struct selection selection;
    const struct timeline *shown; /* timeline of the filtered allocations; without a filter `timeline` */
    const uint64_t *keep;
    struct verdicts verdicts;
    const struct figures *figures; /* of the file */
    struct group *groups;          /* by site at that moment */
    uint32_t n_groups;
};

static struct check_site site_of(const struct subject *subject, uint32_t frame, uint64_t bytes) {
    const struct trace *trace = subject->timeline.trace;
    struct text path = trace_text(trace, trace->frames.frame[frame].file);
    struct check_site site = {.line = trace->frames.frame[frame].line, .bytes = bytes};
    char text[1024];
    site_text(trace, frame, text, sizeof text);
    char *blank = strchr(text, ' '); /* before the function's name */
    if (frame != 0 && blank != NULL && site.line != 0 && blank != text)
        *blank = '\0';
    snprintf(site.name, sizeof site.name, "%.*s", (int)sizeof site.name - 1, text);
    site.file = memcpy(memory_alloc(path.nbytes + (size_t)1, 1), path.at, path.nbytes);
    return site;
}

/* ---- one rule ---- */

static void doubt(struct check_verdict *verdict, const char *reason) {
    verdict->status = CHECK_UNTRUSTED;
    snprintf(verdict->reason, sizeof verdict->reason, "%s", reason);
}

static enum category category_of(const struct rule *rule) {
    return category_by_name(word_text(rule->name));
}

/* Bytes of a category at every moment: phases by the thousand are answered at once. NULL: no memory. */
static uint64_t *category_curve(struct subject *subject, enum category category) {
    const struct timeline *timeline = &subject->timeline;
    const struct allocations *all = &timeline->device->allocations;
    uint64_t *bytes = arena_column(&subject->arena, (uint64_t)timeline->n_moments + 1, sizeof *bytes);
    if (bytes == NULL)
        return NULL;
    memset(bytes, 0, ((size_t)timeline->n_moments + 1) * sizeof *bytes);
    for (uint32_t i = 0; i < all->count; i++)
        if (filter_keeps(subject->keep, i) && subject->verdicts.category[i] == category &&
            all->birth[i] < all->death[i] && all->birth[i] < timeline->n_moments) {
            bytes[all->birth[i]] += all->size[i];
            if (all->death[i] < timeline->n_moments)
                bytes[all->death[i]] -= all->size[i];
        }
    for (uint32_t i = 1; i < timeline->n_moments; i++)
        bytes[i] += bytes[i - 1];
    return bytes;
}

/* Measures the most bytes at the beginning of any phase of this kind. False: no memory. Without such a phase the
 * verdict is untrusted. */
static bool bytes_at_phases(struct subject *subject, struct check_verdict *verdict, enum span_kind kind,
                            const char *name) {
    const struct spans *phases = &subject->verdicts.phases;
    uint64_t *bytes = category_curve(subject, category_of(verdict->rule));
    for (uint32_t i = 0; bytes != NULL && i < phases->count; i++) {
        uint32_t from = phases->span[i].from_moment;
        if (phases->span[i].kind != kind || from < subject->figures->first)
            continue;
        uint64_t then = bytes[from == 0 ? 0 : from - 1];
        verdict->actual = then > verdict->actual ? then : verdict->actual;
        verdict->has_actual = true;
    }
    if (bytes == NULL)
        return false;
    ARENA_DROP(&subject->arena, bytes);
    if (!verdict->has_actual) {
        char reason[100];
        snprintf(reason, sizeof reason, "the recording shows no %s phase", name);
        doubt(verdict, reason);
    }
    return true;
}

static bool moment_find(const struct subject *subject, struct check_verdict *verdict, uint32_t *moment) {
    const struct timeline *timeline = &subject->timeline;
    const struct rule *rule = verdict->rule;
    *moment = subject->figures->peak_moment;
    if (rule->moment == RULE_AT_END)
        *moment = timeline->n_moments - 1;
    if (rule->moment == RULE_AT_EVENT && rule->event < timeline->device->n_events)
        *moment = (uint32_t)rule->event + 1;
    else if (rule->moment == RULE_AT_EVENT)
        doubt(verdict, "the recording has no such event");
    if (rule->moment == RULE_AT_OOM && timeline->device->n_ooms != 0)
        *moment = timeline->device->ooms[0].event + 1;
    else if (rule->moment == RULE_AT_OOM)
        doubt(verdict, "the recording has no out-of-memory event");
    return verdict->status == CHECK_HELD;
}

static bool part_measure(struct subject *subject, struct check_verdict *verdict) {
    uint64_t sums[CATEGORY_COUNT];
    uint32_t moment;
    switch (verdict->rule->moment) {
    case RULE_AT_FORWARD: return bytes_at_phases(subject, verdict, SPAN_FORWARD, "forward");
    case RULE_AT_BACKWARD: return bytes_at_phases(subject, verdict, SPAN_BACKWARD, "backward");
    case RULE_AT_OPTIMIZER: return bytes_at_phases(subject, verdict, SPAN_OPTIMIZER, "optimizer");
    default: break;
    }
    if (!moment_find(subject, verdict, &moment))
        return true;
    verdicts_categories_at(&subject->verdicts, moment, subject->keep, sums);
    verdict->has_actual = true;
    verdict->actual = sums[category_of(verdict->rule)];
    return true;
}

/* Could findings of this kind be judged? The answer is the report's, which calls such kinds clear or not judged. */
static bool finding_is_judged(const struct verdicts *verdicts, enum finding_kind kind) {
    switch (kind) {
    case FINDING_LEAK:
    case FINDING_GROWING_BUFFER: return verdicts->judged.growth == GROWTH_JUDGED;
    case FINDING_HELD_OVER:
    case FINDING_GRADIENTS_KEPT: return verdicts->findings.looked[kind] != 0;
    default: return true;
    }
}

/* Finds the bytes of the rule's part of a server's budget. False: the log has no line with it. */
static bool budget_part_of(const struct subject *subject, const struct rule *rule, uint64_t *bytes) {
    struct budget budget;
    budget_of(&budget, subject->timeline.device);
    for (unsigned part = 0; part < BUDGET_PARTS; part++)
        if (strcmp(rule->name, budget_label[part].name) == 0) {
            *bytes = budget.bytes[part];
            return (budget.known >> part & 1) != 0;
        }
    return false;
}

/* Counts findings of a kind. None of a kind that could not be judged never passes. */
static void finding_measure(const struct subject *subject, struct check_verdict *verdict) {
    const struct findings *findings = &subject->verdicts.findings;
    uint32_t kind = 0;
    while (kind < FINDING_KINDS &&
           strcmp(finding_kind_name((enum finding_kind)kind), verdict->rule->name) != 0)
        kind++;
    for (uint32_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->finding[i];
        if (finding->kind != kind)
            continue;
        if (verdict->actual++ == 0 && finding->site != 0)
            verdict->site = site_of(subject, finding->site, finding->bytes);
    }
    verdict->has_actual =
        verdict->actual != 0 || finding_is_judged(&subject->verdicts, (enum finding_kind)kind);
    if (!verdict->has_actual)
        doubt(verdict, "this cannot be judged: too few steps were recorded, or their phases were not found");
}

static uint64_t share_of(uint64_t part, uint64_t whole) {
    while (part > UINT64_MAX / MILLION) {
        part /= 2;
        whole /= 2;
    }
    return whole == 0 ? 0 : part * MILLION / whole;
}

static bool measure(struct subject *subject, const struct check_file *file, struct check_verdict *verdict) {
    const struct rule *rule = verdict->rule;
    const struct figures *figures = &file->figures;
    verdict->has_actual = true;
    switch (rule->metric) {
    case METRIC_PEAK: verdict->actual = figures->peak; break;
    case METRIC_RESERVED: verdict->actual = figures->reserved; break;
    case METRIC_END: verdict->actual = figures->end; break;
    case METRIC_GROWTH: verdict->actual = figures->growth; break;
    case METRIC_GAP:
        verdict->actual = rule_is_share(rule) ? share_of(figures->gap, figures->reserved) : figures->gap;
        break;
    case METRIC_OOM: verdict->actual = figures->ooms; break;
    case METRIC_TRUST: verdict->actual = figures->doubt == NULL; break;
    case METRIC_BUDGET:
        verdict->has_actual = budget_part_of(subject, rule, &verdict->actual);
        if (!verdict->has_actual)
            doubt(verdict, "the log has no line of a server's start with this figure");
        break;
    case METRIC_FINDING: finding_measure(subject, verdict); break;
    case METRIC_CATEGORY: verdict->has_actual = false; return part_measure(subject, verdict);
    case METRIC_SPREAD:
    case METRICS: verdict->has_actual = false; break; /* known when all files are */
    }
    return true;
}

/* Marks a figure as unknown where its basis is missing, whatever it says. */
static void basis_check(const struct check_file *file, struct check_verdict *verdict) {
    enum metric metric = verdict->rule->metric;
    if (verdict->status != CHECK_HELD)
        return;
    if ((metric == METRIC_RESERVED || metric == METRIC_GAP) && !file->figures.has_reserved) {
        verdict->has_actual = false;
        doubt(verdict, "the file holds no segments, so what was reserved is not known");
    }
    if (metric == METRIC_GROWTH && !file->figures.has_growth) {
        verdict->has_actual = false;
        doubt(verdict, "growth cannot be judged: too few steps were recorded, or none were found");
    }
    if (!file->figures.has_start && metric != METRIC_TRUST && metric != METRIC_OOM && metric != METRIC_END) {
        char reason[120];
        verdict->has_actual = false;
        snprintf(reason, sizeof reason, "no step is left after the ones to skip; %s were found",
                 format_count(file->figures.steps).text);
        doubt(verdict, reason);
    }
}

/* Marks a verdict as untrusted where the recording lacks a part. Its figures are lower bounds then: only a limit that
 * even these exceed is certainly broken. The end is known from the final blocks, however much was lost before. */
static void trust_check(const struct check_file *file, struct check_verdict *verdict) {
    const struct rule *rule = verdict->rule;
    const char *lost = file->figures.doubt;
    bool end = rule->metric == METRIC_END && lost != NULL &&
               (strcmp(lost, "overflow") == 0 || strcmp(lost, "history_full") == 0);
    if (lost == NULL || rule->metric == METRIC_TRUST || end || verdict->status == CHECK_UNTRUSTED)
        return;
    bool grows = rule->op == LESS || rule->op == LESS_OR_EQUAL || rule->value == VALUE_NONE ||
                 (rule->op == EQUAL && verdict->actual > verdict->limit);
    if (verdict->status == CHECK_BROKEN && grows)
        return;
    char reason[200];
    snprintf(reason, sizeof reason, "the recording is not complete (%.*s), so the figure may be wrong",
             UTF8_FIT(file->figures.doubt, 80));
    doubt(verdict, reason);
}

static void limit_find(const struct check_file *file, struct check_verdict *verdict) {
    const struct rule *rule = verdict->rule;
    uint64_t base;
    verdict->has_limit = true;
    verdict->limit = rule->value == VALUE_COMPLETE ? 1 : rule->value == VALUE_NONE ? 0 : rule->number;
    if (rule->value != VALUE_BASELINE)
        return;
    verdict->has_limit = baseline_figure(file, rule, &base);
    if (verdict->has_limit)
        verdict->limit = rule_baseline_limit(rule, base);
    else if (verdict->status == CHECK_HELD)
        doubt(verdict, "the baseline does not have this figure of this file");
}

struct figure check_figure(const struct rule *rule, uint64_t figure) {
    struct figure text;
    if (rule->metric == METRIC_OOM || rule->metric == METRIC_FINDING)
        return format_count(figure);
    if (!rule_is_share(rule))
        return format_bytes(figure);
    snprintf(text.text, sizeof text.text, "%u.%02u %%", (unsigned)(figure / 10000),
             (unsigned)(figure / 100 % 100));
    return text;
}

/* "76.2 GiB is not < 75 GiB" */
static void broken_say(const struct check_file *file, struct check_verdict *verdict) {
    static const char *const signs[] = {"<", "<=", "=", ">=", ">"};
    const struct rule *rule = verdict->rule;
    struct figure actual = check_figure(rule, verdict->actual), limit = check_figure(rule, verdict->limit);
    verdict->status = CHECK_BROKEN;
    if (rule->metric == METRIC_TRUST)
        snprintf(verdict->reason, sizeof verdict->reason, "the recording is not complete: %.*s",
                 UTF8_FIT(file->figures.doubt, 100));
    else if (!rule_is_share(rule) && strcmp(actual.text, limit.text) == 0)
        snprintf(verdict->reason, sizeof verdict->reason, "%s bytes is not %s %s bytes",
                 format_count(verdict->actual).text, signs[rule->op], format_count(verdict->limit).text);
    else
        snprintf(verdict->reason, sizeof verdict->reason, "%s is not %s %s%s", actual.text, signs[rule->op],
                 limit.text, rule->metric == METRIC_GROWTH ? " per step" : "");
}

static void compare(const struct check_file *file, struct check_verdict *verdict) {
    if (verdict->status == CHECK_HELD && verdict->has_actual && verdict->has_limit &&
        !rule_holds(verdict->rule->op, verdict->actual, verdict->limit))
        broken_say(file, verdict);
}

/* Can a log answer this rule? It has levels only, and not all of them. */
static bool log_says(const struct subject *subject, const struct rule *rule) {
    struct levels levels;
    uint64_t bytes;
    levels_find(&levels, subject->timeline.device);
    switch (rule->metric) {
    case METRIC_PEAK:
    case METRIC_END: return levels.shown == LEVEL_ALLOCATED && levels.track[LEVEL_ALLOCATED].count != 0;
    case METRIC_RESERVED: return levels.track[LEVEL_RESERVED].count != 0;
    case METRIC_OOM: return true;
    case METRIC_BUDGET: return budget_part_of(subject, rule, &bytes);
    case METRIC_FINDING:
        return strcmp(rule->name, "out_of_memory") == 0 || strcmp(rule->name, "levels_rise") == 0 ||
               strcmp(rule->name, "retry_flush") == 0;
    default: return false;
    }
}

static bool rule_judge(struct subject *subject, struct check_file *file, struct check_verdict *verdict) {
    if (!measure(subject, file, verdict))
        return false;
    basis_check(file, verdict);
    if (!trace_has_allocations(subject->timeline.trace) && !log_says(subject, verdict->rule))
        doubt(verdict, "a log does not say this");
    limit_find(file, verdict);
    compare(file, verdict);
    if (verdict->rule->metric != METRIC_SPREAD)
        trust_check(file, verdict);
    return true;
}

/* ---- one file ---- */

static bool rules_judge(struct check_file *file, struct subject *subject, const struct check_plan *plan) {
    file->verdicts = memory_alloc(plan->n_rules, sizeof *file->verdicts);
    for (uint32_t i = 0; i < plan->n_rules; i++) {
        if (!check_rule_applies(&plan->rules[i], file))
            continue;
        struct check_verdict *verdict = &file->verdicts[file->n_verdicts];
        verdict->rule = &plan->rules[i].rule;
        verdict->index = i;
        if (!rule_judge(subject, file, verdict))
            return false;
        file->n_verdicts++;
    }
    return true;
}

/* Chooses the allocations that rules count: all, or those that pass the filter. False: no memory. */
static bool subject_choose(struct subject *subject) {
    const struct filter_query *query = subject->filter.query;
    subject->shown = &subject->timeline;
    if (query == NULL)
        return true;
    if (!selection_make(&subject->selection, &subject->timeline, query, NULL, &subject->arena))
        return false;
    subject->shown = &subject->selection.timeline;
    subject->keep = subject->selection.keep;
    return true;
}

static bool subject_judge(struct check_file *file, struct subject *subject, const struct check_plan *plan,
                          uint32_t device) {
    if (!timeline_init(&subject->timeline, &subject->recording->trace, device, &subject->arena) ||
        !subject_choose(subject) || !verdicts_init(&subject->verdicts, &subject->timeline, &subject->arena))
        return false;
    figures_find(&file->figures, &subject->verdicts, subject->shown, subject->keep, plan->skip_steps);
    subject->figures = &file->figures;
    if (!groups_at(subject->shown, subject->figures->peak_moment, GROUP_BY_SITE, &subject->arena,
                   &subject->groups, &subject->n_groups))
        return false;
    file->n_sites = subject->n_groups < SITES_MOST ? subject->n_groups : SITES_MOST;
    file->sites = memory_alloc(file->n_sites, sizeof *file->sites);
    for (uint32_t i = 0; i < file->n_sites; i++)
        file->sites[i] = site_of(subject, subject->groups[i].site, subject->groups[i].bytes);
    return rules_judge(file, subject, plan);
}

static void unreadable(struct check_file *file, const char *reason) {
    file->status = CHECK_UNREADABLE;
    snprintf(file->reason, sizeof file->reason, "%s", reason);
}

static void recording_judge(struct check_file *file, const struct recording *recording, uint32_t device,
                            const struct check_plan *plan, const struct settings *settings) {
    struct subject subject = {.recording = recording};
    recording_scratch(recording, &subject.arena);
    if (!filter_set_make(&subject.filter, recording, settings->filter, &subject.arena)) {
        unreadable(file, "there is not enough memory");
    } else if (!subject_judge(file, &subject, plan, device)) {
        recording_print_no_memory(recording, subject.arena.limit_hit);
        unreadable(file, "there is not enough memory");
    }
    arena_release(&subject.arena);
}

/* Adds a file to judge. `device` is NULL where the input has one. */
static struct check_file *file_add(struct check_files *files, const char *path,
                                   const struct device_trace *device, const struct check_plan *plan,
                                   const struct settings *settings) {
    files->file = memory_resize(files->file, files->count + (size_t)1, sizeof *files->file);
    struct check_file *file = &files->file[files->count++];
    *file = (struct check_file){.input = path};
    file->path =
        device == NULL ? memory_text("%s", path) : memory_text("%s#device=%" PRId32, path, device->ordinal);
    file->before = baseline_of(plan, file);
    file->name = strcmp(file->path, "-") == 0 ? "stdin" : path_name(file->path);
    file->shown = settings->redact ? file->name : file->path;
    return file;
}

/* Drops rules without a figure where another device of the input has one: a server's budget is told once, and a device of
 * which nothing was recorded has no steps. Any other device without a figure is not trusted. */
static void figureless_drop(struct check_file *devices, uint32_t count, const struct check_plan *plan) {
    bool *known = memory_alloc(plan->n_rules, sizeof *known);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < devices[i].n_verdicts; k++)
            known[devices[i].verdicts[k].index] |= devices[i].verdicts[k].has_actual;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t kept = 0;
        for (uint32_t k = 0; k < devices[i].n_verdicts; k++) {
            struct check_verdict verdict = devices[i].verdicts[k];
            bool may_go = devices[i].is_idle || verdict.rule->metric == METRIC_BUDGET;
            if (verdict.has_actual || !known[verdict.index] || !may_go)
                devices[i].verdicts[kept++] = verdict;
        }
        devices[i].n_verdicts = kept;
    }
    free(known);
}

/* Judges the device that -d names, else every one; the CPU only where there is no other. */
static void devices_judge(struct check_files *files, const struct recording *recording,
                          const struct check_plan *plan, const struct settings *settings) {
    const struct trace *trace = &recording->trace;
    uint32_t first = files->count, n_gpus = 0;
    for (uint32_t i = 0; i < trace->n_devices; i++)
        n_gpus += trace->devices[i].ordinal >= 0;
    bool several = (n_gpus == 0 ? trace->n_devices : n_gpus) > 1;
    for (uint32_t i = 0; i < trace->n_devices; i++) {
        const struct device_trace *device = &trace->devices[i];
        int64_t start_us = clock_us();
        if (settings->has_device ? device->ordinal != settings->device : n_gpus != 0 && device->ordinal < 0)
            continue;
        struct check_file *file = file_add(files, settings->input, several ? device : NULL, plan, settings);
        file->is_idle = device->n_events == 0;
        recording_judge(file, recording, i, plan, settings);
        file->taken_us = clock_us() - start_us;
    }
    figureless_drop(&files->file[first], files->count - first, plan);
}

/* Reads and judges an opened recording. NULL, or why there is nothing to judge; `*code` is then an enum exit_code. */
static const char *recording_judge_all(struct check_files *files, struct recording *recording,
                                       const struct check_plan *plan, const struct settings *settings,
                                       int *code) {
    uint32_t device;
    if (!recording_read(recording, settings)) /* which has printed why */
        return recording->trace.arena.limit_hit || recording->error.code == READ_NO_MEMORY
                   ? "there is not enough memory"
                   : "it cannot be read";
    if ((settings->has_device || recording->trace.n_devices == 0) &&
        !recording_choose_device(recording, settings, &device, code))
        return *code == EXIT_CODE_USAGE ? "it does not have this device"
                                        : "it has neither events nor segments";
    if ((*code = filter_look(recording, settings, NULL)) != EXIT_CODE_DONE)
        return "it cannot be filtered";
    devices_judge(files, recording, plan, settings);
    return NULL;
}

bool check_input_judge(struct check_files *files, const char *path, const struct check_plan *plan,
                       const struct settings *settings) {
    struct settings own = *settings;
    struct recording recording;
    const char *why = "it cannot be opened";
    int code = EXIT_CODE_DONE;
    uint32_t first = files->count;
    int64_t start_us = clock_us(), judging_us = 0;
    own.input = path;
    if (recording_open(&recording, &own)) {
        why = recording_judge_all(files, &recording, plan, &own, &code);
        recording_release(&recording);
    }
    if (why != NULL)
        unreadable(file_add(files, path, NULL, plan, &own), why);
    for (uint32_t i = first; i < files->count; i++)
        judging_us += files->file[i].taken_us;
    files->file[first].taken_us += clock_us() - start_us - judging_us; /* reading counts for the first */
    return code != EXIT_CODE_USAGE;
}

void check_file_settle(struct check_file *file) {
    for (uint32_t i = 0; file->status != CHECK_UNREADABLE && i < file->n_verdicts; i++) {
        enum check_status status = file->verdicts[i].status;
        file->status = status == CHECK_BROKEN || file->status == CHECK_HELD ? status : file->status;
        if (status == CHECK_BROKEN)
            break;
    }
}

void check_file_release(struct check_file *file) {
    for (uint32_t i = 0; i < file->n_sites; i++)
        free(file->sites[i].file);
    for (uint32_t i = 0; i < file->n_verdicts; i++)
        free(file->verdicts[i].site.file);
    free(file->sites);
    free(file->path);
    free(file->key);
    free(file->verdicts);
}

/* ---- all files ---- */

void check_spread_judge(struct check_files *files) {
    uint64_t least = UINT64_MAX, most = 0, peak = 0;
    uint32_t n = 0, doubtful = 0, unread = 0;
    for (uint32_t i = 0; i < files->count; i++) {
        const struct check_file *file = &files->file[i];
        bool same = i > 0 && file[-1].input == file->input;
        peak = same && peak > file->figures.peak ? peak : file->figures.peak;
        unread += file->status == CHECK_UNREADABLE;
        doubtful += file->figures.doubt != NULL;
        if (file->status == CHECK_UNREADABLE || (i + 1 < files->count && file[1].input == file->input))
            continue; /* an input counts once, with its highest device */
        least = peak < least ? peak : least;
        most = peak > most ? peak : most;
        n++;
    }
    for (uint32_t i = 0; i < files->count; i++)
        for (uint32_t k = 0; k < files->file[i].n_verdicts; k++) {
            struct check_verdict *verdict = &files->file[i].verdicts[k];
            if (verdict->rule->metric != METRIC_SPREAD)
                continue;
            verdict->has_actual = n >= 2;
            verdict->actual = n >= 2 ? share_of(most - least, most) : 0;
            if (n < 2 || unread != 0 || doubtful != 0)
                doubt(verdict, n < 2         ? "a spread needs two recordings"
                               : unread != 0 ? "not every recording could be read"
                                             : "not every recording is complete");
            else
                compare(&files->file[i], verdict);
        }
}
