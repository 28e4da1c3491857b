/* The table of options: which verbs have each, what its value does to the settings, and what the help says of it. */
#include "cli/options_internal.h"

#include "analysis/model/whatif.h"
#include "analysis/plan/plan.h"
#include "base/units.h"
#include "cli/filter.h"
#include "layout/owner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Index of `value` among `words`; -1: not there. */
static int choice_of(const char *value, const char *const *words, int n_words) {
    for (int i = 0; i < n_words; i++)
        if (strcmp(value, words[i]) == 0)
            return i;
    return -1;
}

static bool apply_output(struct settings *settings, const char *value) {
    settings->output = value;
    return *value != '\0';
}

static bool apply_device(struct settings *settings, const char *value) {
    uint64_t number = 0;
    bool cpu = strcmp(value, "-1") == 0; /* as reports number it */
    if (!cpu && !number_parse(value, 0, INT32_MAX, &number))
        return false;
    settings->has_device = true;
    settings->device = cpu ? ORDINAL_CPU : (int32_t)number;
    return true;
}

static bool apply_force(struct settings *settings, const char *value) {
    (void)value;
    return settings->force = true;
}

static bool apply_quiet(struct settings *settings, const char *value) {
    (void)value;
    return settings->quiet = true;
}

static bool apply_verbose(struct settings *settings, const char *value) {
    (void)value;
    return settings->verbose = true;
}

static bool apply_max_memory(struct settings *settings, const char *value) {
    uint64_t nbytes;
    if (!size_parse(value, &nbytes) || nbytes == 0)
        return false;
    settings->max_memory_nbytes = nbytes > SIZE_MAX ? SIZE_MAX : (size_t)nbytes;
    return true;
}

static bool apply_title(struct settings *settings, const char *value) {
    settings->title = value;
    return true;
}

static bool apply_theme(struct settings *settings, const char *value) {
    static const char *const themes[] = {"light", "dark", "auto"};
    settings->theme = value;
    return choice_of(value, themes, 3) >= 0;
}

/* Memory of a device: whoever leaves the unit away means GiB. */
static bool apply_large_size(struct settings *settings, const char *value, uint64_t *bytes) {
    if (!size_parse(value, bytes) || *bytes == 0)
        return false;
    if (size_lacks_unit(value, *bytes))
        snprintf(settings->wrong, sizeof settings->wrong, "%s bytes? write %sGiB", value, value);
    return settings->wrong[0] == '\0';
}

static bool apply_capacity(struct settings *settings, const char *value) {
    return apply_large_size(settings, value, &settings->capacity_bytes);
}

static bool apply_max_html_size(struct settings *settings, const char *value) {
    return size_parse(value, &settings->max_html_nbytes) && settings->max_html_nbytes != 0;
}

static bool apply_number(uint32_t *setting, const char *value, uint32_t low, uint32_t high) {
    uint64_t number;
    if (!number_parse(value, low, high, &number))
        return false;
    *setting = (uint32_t)number;
    return true;
}

static bool apply_width(struct settings *settings, const char *value) {
    return apply_number(&settings->width, value, 320, 7680);
}

static bool apply_height(struct settings *settings, const char *value) {
    return apply_number(&settings->height, value, 240, 4320);
}

static bool apply_scale(struct settings *settings, const char *value) {
    return apply_number(&settings->scale, value, 1, 4);
}

static bool apply_from(struct settings *settings, const char *value) {
    return position_parse(value, &settings->from);
}

static bool apply_to(struct settings *settings, const char *value) {
    return position_parse(value, &settings->to);
}

static bool apply_at(struct settings *settings, const char *value) {
    return position_parse(value, &settings->at);
}

/* Several filters are one: words are joined by AND. */
static bool apply_filter(struct settings *settings, const char *value) {
    if (!filter_check(value, settings->wrong, sizeof settings->wrong, &settings->no_memory))
        return false;
    size_t used = strlen(settings->filter), left = sizeof settings->filter - used;
    int n = snprintf(settings->filter + used, left, "%s%s", used != 0 ? " " : "", value);
    if (n >= 0 && (size_t)n < left)
        return true;
    snprintf(settings->wrong, sizeof settings->wrong, "filters are too long, %d bytes at most",
             FILTER_CAPACITY - 1);
    return false;
}

static bool apply_map(struct settings *settings, const char *value) {
    (void)value;
    settings->map = true;
    return true;
}

static bool apply_no_names(struct settings *settings, const char *value) {
    (void)value;
    settings->no_names = true;
    return true;
}

static bool apply_hide_internal(struct settings *settings, const char *value) {
    (void)value;
    return apply_filter(settings, "own:yes");
}

static bool apply_redact(struct settings *settings, const char *value) {
    settings->redact_all = value != NULL;
    settings->redact = true;
    return value == NULL || strcmp(value, "all") == 0;
}

static bool apply_rules(struct settings *settings, const char *value) {
    settings->rules = value;
    return *value != '\0';
}

static bool owner_add(struct settings *settings, const char *value, enum frame_owner owner) {
    struct owner_pattern *owners = realloc(settings->owners, (settings->n_owners + 1) * sizeof *owners);
    settings->no_memory = owners == NULL;
    if (owners == NULL)
        return false;
    settings->owners = owners;
    owners[settings->n_owners++] = (struct owner_pattern){value, owner};
    return *value != '\0' && strlen(value) <= OWNER_PATTERN_MAX_NBYTES;
}

static bool apply_own(struct settings *settings, const char *value) {
    return owner_add(settings, value, OWNER_USER);
}

static bool apply_library(struct settings *settings, const char *value) {
    return owner_add(settings, value, OWNER_LIBRARY);
}

static bool apply_axis(struct settings *settings, const char *value) {
    static const char *const axes[] = {[AXIS_EVENTS] = "events", [AXIS_TIME] = "time"};
    int choice = choice_of(value, axes, 2);
    settings->axis = choice == AXIS_TIME ? AXIS_TIME : AXIS_EVENTS;
    return choice >= 0;
}

#define COLORING_NAME(NAME, name, title, words) name,
static const char *const color_names[] = {STRATA_COLORINGS(COLORING_NAME)};
#undef COLORING_NAME

const char *options_color_name(enum color_by color_by) {
    return color_names[color_by];
}

static bool apply_color_by(struct settings *settings, const char *value) {
    int choice = choice_of(value, color_names, sizeof color_names / sizeof color_names[0]);
    if (choice >= 0)
        settings->color_by = (enum color_by)choice;
    settings->has_color_by = choice >= 0;
    return choice >= 0;
}

/* What has an option of its own is that option; the rest is noted. What the page would not understand either is left out. */
static bool view_part_apply(struct settings *settings, const char *name, const char *value) {
    if (strcmp(name, "device") == 0)
        (void)apply_device(settings, value);
    else if (strcmp(name, "axis") == 0)
        (void)apply_axis(settings, value);
    else if (strcmp(name, "color") == 0)
        (void)apply_color_by(settings, value);
    else if (strcmp(name, "filter") == 0)
        return apply_filter(settings, value);
    else if (strcmp(name, "search") == 0 &&
             !filter_check(value, settings->wrong, sizeof settings->wrong, &settings->no_memory))
        return false;
    else if (strcmp(name, "theme") == 0)
        settings->theme = strcmp(value, "dark") == 0 ? "dark" : "light";
    view_note(&settings->view, name, value);
    return true;
}

static bool apply_view(struct settings *settings, const char *text) {
    char name[32], value[VIEW_VALUE_CAPACITY];
    settings->view.given = true;
    while (*text != '\0')
        if (view_next(&text, name, value) && !view_part_apply(settings, name, value))
            return false;
    return true;
}

static bool is_json(enum report_format format) {
    return format == REPORT_JSON || format == REPORT_BRIEF;
}

/* --json --brief is brief, in any order. */
static bool apply_format(struct settings *settings, enum report_format format) {
    bool both_json = is_json(settings->format) && is_json(format);
    settings->two_formats |= settings->format != REPORT_TEXT && settings->format != format && !both_json;
    settings->format = both_json && settings->format == REPORT_BRIEF ? REPORT_BRIEF : format;
    return settings->has_format = true;
}

static bool apply_json(struct settings *settings, const char *value) {
    (void)value;
    return apply_format(settings, REPORT_JSON);
}

static bool apply_brief(struct settings *settings, const char *value) {
    (void)value;
    return apply_format(settings, REPORT_BRIEF);
}

static bool apply_markdown(struct settings *settings, const char *value) {
    (void)value;
    return apply_format(settings, REPORT_MARKDOWN);
}

#define EXPORT_WORD(NUMBER, name, ending, writer) "|" #name
static const char export_words[] = STRATA_EXPORTS(EXPORT_WORD);
#undef EXPORT_WORD

static bool apply_export(struct settings *settings, const char *value) {
    uint32_t format = 0;
    while (format < REPORT_FORMATS && strcmp(report_format_name((enum report_format)format), value) != 0)
        format++;
    return format < REPORT_FORMATS && apply_format(settings, (enum report_format)format);
}

#define EXPORT_KIND_WORD(NUMBER, name, ending, other, text) "|" #name
static const char export_kind_words[] = STRATA_EXPORT_KINDS(EXPORT_KIND_WORD);
#undef EXPORT_KIND_WORD

/* --to names the kind; beside it, --to ends a window as in every verb. No position is the name of a kind. */
static bool apply_export_to(struct settings *settings, const char *value) {
    enum export_kind kind = export_kind_by_name(value);
    if (kind == EXPORT_KINDS && position_parse(value, &settings->to))
        return true;
    if (kind != EXPORT_KINDS && (settings->export_kind == EXPORT_KINDS || settings->export_kind == kind)) {
        settings->export_kind = kind;
        return true;
    }
    snprintf(settings->wrong, sizeof settings->wrong,
             kind == EXPORT_KINDS ? "\"%.60s\" is neither a kind (%s) nor a position"
                                  : "\"%.60s\" is a second kind; one at a time of %s",
             value, export_kind_words + 1);
    return false;
}

static bool apply_allocated(struct settings *settings, const char *value) {
    (void)value;
    return settings->allocated = true;
}

static bool apply_top(struct settings *settings, const char *value) {
    return apply_number(&settings->top, value, 0, UINT32_MAX);
}

static bool apply_group(struct settings *settings, const char *value) {
    static const char *const names[] = {[GROUP_BY_SITE] = "site", [GROUP_BY_STACK] = "stack"};
    int choice = choice_of(value, names, 2);
    settings->group = choice == GROUP_BY_STACK ? GROUP_BY_STACK : GROUP_BY_SITE;
    return choice >= 0;
}

static bool apply_align(struct settings *settings, const char *value) {
    static const char *const names[] = {
        [ALIGN_PEAK] = "peak", [ALIGN_STEP] = "step", [ALIGN_ANNOTATION] = "annotation"};
    int choice = choice_of(value, names, 3);
    settings->align = choice < 0 ? ALIGN_PEAK : (enum align)choice;
    return choice >= 0;
}

static bool apply_set(struct settings *settings, const char *value) {
    if (!whatif_set_is_fine(value)) {
        snprintf(settings->wrong, sizeof settings->wrong,
                 "\"%.60s\" is not KEY=VALUE with a value that PyTorch takes; keys: expandable_segments, "
                 "garbage_collection_threshold, large_segment_size_mb, max_non_split_rounding_mb, "
                 "max_split_size_mb, per_process_memory_fraction, roundup_power2_divisions",
                 value);
        return false;
    }
    if (settings->n_set == SETS_CAPACITY)
        return false;
    settings->set[settings->n_set++] = value;
    return true;
}

static bool apply_gpu(struct settings *settings, const char *value) {
    return apply_large_size(settings, value, &settings->gpu_bytes);
}

/* "10%" or a size. */
static bool apply_kept(struct settings *settings, const char *value) {
    size_t n = strlen(value);
    char digits[8];
    uint64_t percent;
    settings->keep_percent = 0;
    if (n == 0 || value[n - 1] != '%')
        return size_parse(value, &settings->keep_bytes);
    if (n > sizeof digits - 1)
        return false;
    memcpy(digits, value, n - 1);
    digits[n - 1] = '\0';
    settings->keep_bytes = 0;
    if (!number_parse(digits, 0, 99, &percent))
        return false;
    settings->keep_percent = (uint32_t)percent;
    return true;
}

static bool without_add(struct settings *settings, const char *word, size_t n) {
    for (enum plan_word i = WORD_EXPANDABLE; i < PLAN_WORDS; i++)
        if (strlen(plan_word_text(i)) == n && memcmp(plan_word_text(i), word, n) == 0) {
            settings->without |= UINT32_C(1) << i;
            return true;
        }
    snprintf(settings->wrong, sizeof settings->wrong, "\"%.*s\" is none of ", (int)(n < 60 ? n : 60), word);
    for (enum plan_word i = WORD_EXPANDABLE; i < PLAN_WORDS; i++) {
        size_t used = strlen(settings->wrong);
        snprintf(settings->wrong + used, sizeof settings->wrong - used, "%s%s", i > 0 ? ", " : "",
                 plan_word_text(i));
    }
    return false;
}

static bool apply_without(struct settings *settings, const char *value) {
    for (;;) {
        size_t n = strcspn(value, ",");
        if (!without_add(settings, value, n))
            return false;
        if (value[n] == '\0')
            return true;
        value += n + 1;
    }
}

static bool apply_ranks(struct settings *settings, const char *value) {
    return number_parse(value, 2, 1000000, &settings->n_ranks);
}

static bool apply_extrapolate(struct settings *settings, const char *value) {
    settings->extrapolate = value;
    return strrchr(value, '=') != NULL;
}

static bool apply_to_size(struct settings *settings, const char *value) {
    return number_parse(value, 1, 1000000000, &settings->to_size);
}

static bool apply_budget(struct settings *settings, const char *value) {
    (void)value;
    return settings->find_budget = true;
}

static bool apply_rule(struct settings *settings, const char *value) {
    const char **rules = realloc(settings->check_rules, (settings->n_rules + 1) * sizeof *rules);
    settings->no_memory = rules == NULL;
    if (rules == NULL)
        return false;
    rules[settings->n_rules++] = value;
    settings->check_rules = rules;
    return *value != '\0';
}

static bool apply_config(struct settings *settings, const char *value) {
    settings->config = value;
    return *value != '\0';
}

static bool apply_baseline(struct settings *settings, const char *value) {
    settings->baseline = value;
    return *value != '\0';
}

static bool apply_update_baseline(struct settings *settings, const char *value) {
    (void)value;
    return settings->update_baseline = true;
}

static bool apply_check_format(struct settings *settings, const char *value) {
    static const char *const names[] = {"text", "github", "junit", "json"}; /* enum check_format */
    int choice = choice_of(value, names, 4);
    settings->check_format = choice < 0 ? 0 : (uint32_t)choice;
    return choice >= 0;
}

static bool apply_skip_steps(struct settings *settings, const char *value) {
    return apply_number(&settings->skip_steps, value, 0, 1000000);
}

static bool apply_jobs(struct settings *settings, const char *value) {
    return apply_number(&settings->jobs, value, 1, 4096);
}

static bool apply_png(struct settings *settings, const char *value) {
    (void)value;
    return settings->png = true;
}

static bool apply_recursive(struct settings *settings, const char *value) {
    (void)value;
    settings->flat = false;
    return true;
}

static bool apply_no_recursive(struct settings *settings, const char *value) {
    (void)value;
    return settings->flat = true;
}

static bool apply_series(struct settings *settings, const char *value) {
    static const char *const words[] = {"on", "off"};
    int choice = choice_of(value, words, 2);
    settings->no_series = choice == 1;
    return choice >= 0;
}

static bool apply_resume(struct settings *settings, const char *value) {
    (void)value;
    return settings->resume = true;
}

static bool apply_index(struct settings *settings, const char *value) {
    settings->index_directory = value;
    return *value != '\0';
}

static bool apply_rank_regex(struct settings *settings, const char *value) {
    settings->rank_regex = value;
    return *value != '\0';
}

static bool apply_group_by(struct settings *settings, const char *value) {
    settings->group_by = value;
    return *value != '\0' &&
           value[strspn(value, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_,-")] == '\0';
}

static bool apply_shard(struct settings *settings, const char *value) {
    settings->shard = value;
    return *value != '\0';
}

static bool apply_steps(struct settings *settings, const char *value) {
    return apply_number(&settings->n_steps, value, 0, 1000000000);
}

static bool apply_max_entries(struct settings *settings, const char *value) {
    return apply_number(&settings->max_entries, value, 1, INT32_MAX);
}

static bool apply_keep(struct settings *settings, const char *value) {
    return apply_number(&settings->keep, value, 1, 1000000);
}

static bool apply_stacks(struct settings *settings, const char *value) {
    static const char *const words[] = {"all", "python"};
    int choice = choice_of(value, words, 2);
    settings->python_stacks = choice == 1;
    return choice >= 0;
}

static bool apply_every(struct settings *settings, const char *value) {
    struct decimal decimal;
    uint32_t length = (uint32_t)strlen(value);
    return length < 20 && decimal_read(&decimal, value, length) == length && length != 0 &&
           decimal_times(&decimal, 1000000, &settings->every_us) && settings->every_us >= 10000 &&
           settings->every_us <= UINT64_C(3600000000);
}

static bool apply_no_report(struct settings *settings, const char *value) {
    (void)value;
    return settings->no_report = true;
}

/* ---- the table, in the order of the help ---- */

static const struct option options[] = {
    {'o', VERB_PICTURE, "output", "PATH", apply_output,
     "a file, a directory, or - for standard output\n(default: the input's name with the new ending, beside "
     "it)"},
    {'o', VERB_REPORT, "output", "PATH", apply_output,
     "a file, a directory, or - for standard output\n(default: standard output)"},
    {'o', VERB_EXPORT, "output", "PATH", apply_output,
     "a file, whose ending may say the kind, a directory, or -\nfor standard output (default: beside the "
     "input)"},
    {0, VERB_EXPORT, "to", "KIND|POSITION", apply_export_to,
     "csv, sqlite, pprof, folded, speedscope or perfetto; given\nonce more: where the window ends"},
    {0, VERB_EXPORT | SHAPES, "from", "POSITION", apply_from,
     "where the window begins: an event's index, 12.5s, peak,\npeak-500, oom (default: all is exported)"},
    {0, VERB_EXPORT | SHAPES, "at", "POSITION", apply_at,
     "folded, pprof, speedscope: what is live then: peak\n(default), oom or an event"},
    {0, VERB_EXPORT, "allocated", NULL, apply_allocated,
     "the same: all that was allocated in the window instead"},
    {'o', VERB_BATCH, "output", "DIR", apply_output, "directory for the results; created if it is missing"},
    {'o', VERB_RUN, "out", "DIR", apply_output,
     "folder for all of it; one that exists is\nused as it is, so that several runs share "
     "it\n"
     "(default: strata-run, strata-run-2, ...)"},
    {0, VERB_RUN, "steps", "N", apply_steps, "dump after N optimizer steps (default: 5; 0: do not)"},
    {0, VERB_RUN, "max-entries", "N", apply_max_entries,
     "events that each process keeps; the oldest go first\n(default: 1000000)"},
    {0, VERB_RUN, "stacks", "all|python", apply_stacks, "python: without C++ frames, dumps are faster"},
    {0, VERB_RUN, "keep", "N", apply_keep, "dumps that each process keeps (default: 8)"},
    {0, VERB_RUN, "every", "SECONDS", apply_every, "between two looks at the host (default: 1)"},
    {0, VERB_RUN, "no-report", NULL, apply_no_report, "write no pages at the end"},
    {'j', VERB_BATCH, "jobs", "N", apply_jobs,
     "files at once (default: as many as there are cores and\nas --max-memory has room for)"},
    {0, VERB_BATCH, "png", NULL, apply_png, "write a picture of each file too"},
    {'r', VERB_BATCH, "recursive", NULL, apply_recursive, "descend into directories (the default)"},
    {0, VERB_BATCH, "no-recursive", NULL, apply_no_recursive, "take only the files of the named directories"},
    {0, VERB_BATCH, "resume", NULL, apply_resume,
     "skip files whose results are up to date (same size,\nmodification time, options and rules)"},
    {0, VERB_BATCH, "rank-regex", "REGEX", apply_rank_regex,
     "finds the rank in a file's path: its first group, or the\none named rank; a second one, or step, is "
     "the step"},
    {0, VERB_BATCH, "group-by", "WORDS", apply_group_by,
     "which ranks are compared with each other: those whose paths\nhave the same numbers after these words, "
     "such as "
     "tp,pp;\nalso role, host, program (by call sites alone), all\n(default: role and pipeline stage, else "
     "the program)"},
    {0, VERB_BATCH, "series", "on|off", apply_series,
     "join the dumps of one rank at several steps into one\ntimeline, beside their own pages (default: on)"},
    {0, VERB_BATCH, "shard", "I/N|auto", apply_shard,
     "do part I of N (from 1), or the part that the scheduler's\nenvironment tells; writes no index"},
    {0, VERB_BATCH, "index", "DIR", apply_index, "convert nothing: join what the shards wrote into DIR"},
    {'o', VERB_DIFF | VERB_WHATIF | VERB_PLAN, "output", "PATH", apply_output,
     "a file, whose ending says what it is: .txt, .md, .json,\n.png or .html; - for standard output "
     "(default: "
     "text, there)"},
    {0, VERB_CHECK, "rule", "RULE", apply_rule,
     "a limit such as 'peak < 75GiB'; as many as you like\n(docs/ci.md)"},
    {0, VERB_CHECK, "config", "FILE", apply_config, "rules, patterns of files and the baseline: strata.json"},
    {0, VERB_CHECK, "baseline", "FILE", apply_baseline, "figures that rules may compare with"},
    {0, VERB_CHECK, "update-baseline", NULL, apply_update_baseline,
     "write the baseline again; refused where CI=true"},
    {0, VERB_CHECK, "format", "text|github|junit|json", apply_check_format,
     "of standard output (default: text)"},
    {0, VERB_CHECK, "skip-steps", "N", apply_skip_steps, "leave the first N steps out of peaks: the warm-up"},
    {0, VERB_DIFF, "align", "peak|step|annotation", apply_align,
     "compare each at its peak (default), or at the peak of\nthe same step or annotation"},
    {'d', VERB_DIFF | VERB_CHECK, "device", "N", apply_device,
     "ordinal of the device (default: as strata html)"},
    {0, VERB_DIFF, "json", NULL, apply_json, "for programs: JSON, \"schema\": 1"},
    {0, VERB_DIFF, "markdown", NULL, apply_markdown, "to paste into an issue"},
    {0, VERB_DIFF, "top", "N", apply_top, "list so many call sites, 0: all (default: 20)"},
    {'f', VERB_ANY & ~(unsigned)VERB_CHECK, "force", NULL, apply_force, "replace an existing output file"},
    {'d', VERB_PICTURE | SHAPES, "device", "N", apply_device,
     "ordinal of the device (default: one that ran out of\nmemory, else the one with most events)"},
    {'d', VERB_BATCH | SHAPES, "device", "N", apply_device,
     "ordinal of the device to show (default: as strata html)"},
    {'d', VERB_REPORT | VERB_WHATIF | VERB_PLAN | VERB_EXPORT | SHAPES, "device", "N", apply_device,
     "ordinal of the device (default: all)"},
    {0, VERB_REPORT, "json", NULL, apply_json, "for programs: JSON, \"schema\": 2"},
    {0, VERB_REPORT, "brief", NULL, apply_brief,
     "JSON of one screen, at most 4 KB: what ran out, what the\npeak is made of, findings"},
    {0, VERB_WHATIF | VERB_PLAN, "json", NULL, apply_json, "for programs: JSON, \"schema\": 1"},
    {0, VERB_REPORT | VERB_WHATIF | VERB_PLAN, "markdown", NULL, apply_markdown, "to paste into an issue"},
    {0, VERB_WHATIF, "set", "KEY=VALUE", apply_set,
     "a setting as PYTORCH_ALLOC_CONF spells it; all of them\nare one more scenario"},
    {0, VERB_PLAN, "keep", "SIZE|N%", apply_kept, "leave so much of --gpu to other libraries (default: 2%)"},
    {0, VERB_PLAN, "ranks", "N", apply_ranks, "plan optimizer state over so many ranks"},
    {0, VERB_PLAN, "without", "WORD,...", apply_without,
     "leave changes out: expandable_segments, max_split_size_mb,\nroundup_power2_divisions, "
     "large_segment_size_mb, "
     "findings,\nfused, checkpoint, eight_bit, offload"},
    {0, VERB_WHATIF | VERB_PLAN, "gpu", "SIZE", apply_gpu,
     "what the process may have of the device, such as 80GiB\n(default: what the recording shows)"},
    {0, VERB_WHATIF, "extrapolate", "PATH=SIZE", apply_extrapolate,
     "the same program recorded at a smaller size (batch, length\nof a sequence, number of layers); SNAPSHOT "
     "is then\nPATH=SIZE of a larger one"},
    {0, VERB_WHATIF, "to", "SIZE", apply_to_size, "the size that --extrapolate tells of, a whole number"},
    {0, VERB_WHATIF, "budget", NULL, apply_budget, "find the smallest budget that each scenario fits in"},
    {0, VERB_REPORT, "format", export_words + 1, apply_export,
     "--json, --markdown, --brief and the default, text, by name"},
    {0, VERB_REPORT | SHAPES, "top", "N", apply_top, "list so many groups at the peak, 0: all (default: 20)"},
    {0, VERB_REPORT | SHAPES, "group", "site|stack", apply_group,
     "sum by call site (default) or by identical stack"},
    {0, VERB_PICTURE | SHAPES, "title", "TEXT", apply_title, "title (default: the input's name)"},
    {0, VERB_HTML | VERB_BATCH | SHAPES, "theme", "light|dark|auto", apply_theme,
     "colours of the page (default: auto, as the system)"},
    {0, VERB_PNG | VERB_DIFF | VERB_WHATIF | SHAPES, "theme", "light|dark|auto", apply_theme,
     "colours of the picture (default: auto, which is light;\na page of diff or whatif follows the system)"},
    {0, VERB_PICTURE | VERB_BATCH | SHAPES, "capacity", "SIZE", apply_capacity,
     "draw a line at the device's capacity, such as 80GiB\n(default: the file's, where it names one)"},
    {0, VERB_HTML | VERB_BATCH | VERB_DIFF | SHAPES, "max-html-size", "SIZE", apply_max_html_size,
     "merge the smallest allocations until the page fits\n(default: 100MiB)"},
    {0, VERB_PNG | SHAPES, "map", NULL, apply_map,
     "draw segments and blocks below the timeline, at the\nmoment of --at (default: the peak)"},
    {0, VERB_PNG | SHAPES, "no-names", NULL, apply_no_names,
     "write no call sites on the bands that have room for them"},
    {0, VERB_PNG | VERB_BATCH | VERB_DIFF | VERB_WHATIF | SHAPES, "width", "PIXELS", apply_width,
     "320 to 7680 (default: 1600)"},
    {0, VERB_PNG | VERB_BATCH | VERB_DIFF | VERB_WHATIF | SHAPES, "height", "PIXELS", apply_height,
     "240 to 4320 (default: 900)"},
    {0, VERB_PNG | VERB_BATCH | VERB_DIFF | VERB_WHATIF | SHAPES, "scale", "N", apply_scale,
     "everything so many times larger, 1 to 4 (default: 1);\nthe plot has at most 16,384 pixels a side"},
    {0, VERB_PICTURE | SHAPES, "from", "POSITION", apply_from,
     "where the window begins: an event's index, 12.5s after\nthe first event, peak, peak-500, oom, oom-200"},
    {0, VERB_PICTURE | SHAPES, "to", "POSITION", apply_to,
     "where the window ends, like --from; with peak and oom\nthe event itself is shown, with an index it is "
     "not"},
    {0, VERB_HTML | SHAPES, "at", "POSITION", apply_at,
     "whose memory the list shows (default: that under the\ncursor, at first the peak): peak, oom or an "
     "event"},
    {0, VERB_PNG | SHAPES, "at", "POSITION", apply_at,
     "whose memory the legend lists (default: the highest\npoint shown): peak, oom or an event"},
    {0, VERB_PNG | SHAPES, "view", "ADDRESS", apply_view,
     "what an address of the page shows: its part from # on\n(device, window, bytes, axis, view, colours, "
     "theme, filter, search,\npin, highlight, range, marks)"},
    {0, VERB_PICTURE | VERB_BATCH | SHAPES, "axis", "events|time", apply_axis,
     "what runs along the timeline (default: events)"},
    {0, VERB_PICTURE | VERB_BATCH | SHAPES, "color-by", "WHAT", apply_color_by,
     "site (default), size, age, stream, pool, category\n(default for memory timelines) or each allocation"},
    {0, VERB_ALL | SHAPES, "filter", "WORDS", apply_filter,
     "show only what meets all words: a text, /regex/, size:>1GiB,\nphase:backward, alive:peak ... "
     "(docs/filter.md)"},
    {0, VERB_ALL | SHAPES, "hide-internal", NULL, apply_hide_internal,
     "leave out what no line of your own code allocated:\n--filter own:yes"},
    {0, VERB_ALL | SHAPES, "rules", "FILE", apply_rules,
     "what allocations are for, by rules of your own\n(docs/report.md, Categories)"},
    {0, VERB_ANY | SHAPES, "own", "PATTERN", apply_own,
     "files that are your own code: a glob such as '*/lib/mine/*',\nor the name of a folder or module; as "
     "many as you "
     "like"},
    {0, VERB_ANY | SHAPES, "library", "PATTERN", apply_library,
     "files that call sites pass over, as they do with torch\n(docs/report.md, Call sites)"},
    {0, VERB_ANY | SHAPES, "redact", "[=all]", apply_redact,
     "base names instead of paths, and none of the user's\nmetadata; all: nor what annotations are called"},
    {0, VERB_ANY, "max-memory", "SIZE", apply_max_memory,
     "how much memory the recording may take\n(default: three quarters of what there is)"},
    {'q', VERB_ANY | VERB_RUN, "quiet", NULL, apply_quiet, "no notes and no progress on standard error"},
    {'v', VERB_ANY, "verbose", NULL, apply_verbose, "more notes: what was read, how far to trust it"},
    {'V', VERB_ANY | VERB_RUN, "version", NULL, NULL, "print the version"},
    {'h', VERB_ANY | VERB_RUN, "help", NULL, NULL, "print this help"},
};

const struct option *option_behind(const struct option *option, unsigned verbs) {
    const struct option *end = options + sizeof options / sizeof options[0];
    for (option = option == NULL ? options : option + 1; option < end; option++)
        if ((option->where & verbs) != 0)
            return option;
    return NULL;
}

const struct option *option_by_name(unsigned verbs, const char *name, size_t length) {
    const struct option *option = NULL;
    while ((option = option_behind(option, verbs)) != NULL)
        if (strlen(option->name) == length && memcmp(option->name, name, length) == 0)
            break;
    return option;
}

bool option_is_owner(const struct option *option) {
    return option->apply == apply_own || option->apply == apply_library;
}

bool option_names_file(const struct option *option) {
    return option->apply == apply_rules;
}
