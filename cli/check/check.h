/* Shared by the parts of strata check: files, verdicts of rules, baselines and outputs. Private to
 * cli/check/ and cli/cmd_check.c. */
#pragma once

#include "analysis/findings/figures.h"
#include "base/buffer.h"
#include "base/format.h"
#include "cli/check/rule.h"
#include "cli/recording.h"

#include <cjson/cJSON.h>

enum check_status { CHECK_HELD, CHECK_BROKEN, CHECK_UNTRUSTED, CHECK_UNREADABLE };

/* Rules of the command line and of the configuration, and the files that each is for. */
struct check_rule {
    struct rule rule;
    const char *pattern; /* a shell's pattern of base names or whole paths; NULL: every file */
};

struct check_plan {
    struct check_rule *rules;
    uint32_t n_rules, capacity;
    cJSON *config;        /* keeps its texts; NULL: none */
    const char *baseline; /* path; NULL: none */
    cJSON *known;         /* the baseline as read; NULL: none */
    /* words; NULL: none. With a filter, peak, end, categories and sites are those of the filtered allocations */
    const char *filter;
    uint64_t skip_steps;
    bool update;
};

/* A call site, for the baseline and for the place of an annotation. */
struct check_site {
    char name[160]; /* "attention.py:88" */
    char *file;     /* as recorded; owned */
    uint32_t line;
    uint64_t bytes; /* at the peak, or of a finding */
};

/* The verdict of a rule on one file. */
struct check_verdict {
    const struct rule *rule;
    uint32_t index; /* of the rule in the plan */
    enum check_status status;
    bool has_actual, has_limit;
    /* bytes, a count, or parts in a million; of METRIC_TRUST 1 where the recording is complete */
    uint64_t actual, limit;
    struct check_site site; /* of finding.KIND: where the most urgent finding is; line 0: none */
    char reason[200];       /* why the rule is broken or not judged; "" where it holds */
};

/* A device of an input. Everything is owned and freed by check_file_release. */
struct check_file {
    const char *input; /* as given; devices of one input share the pointer */
    char *path;        /* `input`, where several of its devices are judged with "#device=1" behind it */
    const char *name;  /* its base name */
    char *key; /* its name in a baseline: the shortest end of the path that no other input has; owned */
    const cJSON *before; /* its part of the baseline; NULL: none */
    const char *shown;   /* the file's name in results: `path`, or `name` if paths are redacted */
    enum check_status status;
    char reason[200]; /* of CHECK_UNREADABLE */
    bool is_idle;     /* nothing of its device was recorded but segments */
    int64_t taken_us; /* time for reading and judging it; for JUnit */
    struct check_verdict *verdicts;
    uint32_t n_verdicts;

    struct figures figures;
    struct check_site *sites; /* by falling bytes */
    uint32_t n_sites;
};

/* All of them; devices of one input are neighbours. */
struct check_files {
    struct check_file *file;
    uint32_t count;
};

void check_file_release(struct check_file *file);

/* ---- plan.c ---- */

/* Reads rules, configuration and baseline of the settings. Returns an enum exit_code; a failure was printed. */
int check_plan_make(struct check_plan *plan, const struct settings *settings);
void check_plan_release(struct check_plan *plan);
bool check_rule_applies(const struct check_rule *rule, const struct check_file *file);

/* ---- judge.c ---- */

/* Reads an input, adds a file for each device to judge, and judges the rules that are for it: at least one file. False:
 * there is no such device (printed). An input that cannot be read has that as its status. */
bool check_input_judge(struct check_files *files, const char *path, const struct check_plan *plan,
                       const struct settings *settings);

/* Judges the spread of the inputs' peaks, which needs all of them. */
void check_spread_judge(struct check_files *files);

/* Sets the file's status to the worst of its verdicts. */
void check_file_settle(struct check_file *file);

/* A figure of the rule's metric, or its limit: "76.2 GiB", "3", "9.52 %". */
struct figure check_figure(const struct rule *rule, uint64_t figure);

/* ---- baseline.c ---- */

/* Finds the file's part of the baseline, by its path. NULL: there is none. */
const cJSON *baseline_of(const struct check_plan *plan, const struct check_file *file);

/* Finds a figure of the file in the baseline. False: it has none. */
bool baseline_figure(const struct check_file *file, const struct rule *rule, uint64_t *bytes);

/* A site's bytes in the baseline; 0: it has no such site. */
uint64_t baseline_site(const struct check_file *file, const char *name);

/* Were the baseline's figures made with the same filter? */
bool baseline_has_filter(const struct check_plan *plan);

/* Appends a new baseline of the files, and gives them their keys. The same files, in any order, give the same bytes. */
void baseline_write(struct buffer *out, const struct check_plan *plan, struct check_file *files,
                    uint32_t n_files);

/* ---- output.c ---- */

enum check_format { CHECK_TEXT, CHECK_GITHUB, CHECK_JUNIT, CHECK_JSON };

void check_write(struct buffer *out, enum check_format format, const struct check_file *files,
                 uint32_t n_files, const struct check_plan *plan);
