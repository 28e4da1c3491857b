/*
 * The command line: one table of options, each with the verbs that have it. Long options as --name VALUE or
 * --name=VALUE, letters alone or in clusters (-fq), -- ends the options, a single - is the standard input or
 * output.
 */
#pragma once

#include "cli/units.h"
#include "layout/scene.h"
#include "render/export/export.h"
#include "render/raster/raster.h"
#include "render/report/report.h"

/* Every verb, in the order of the help. A new verb needs its file, cmd_NAME.c, and a line here; options_table.c says
 * which options it has. */
#define STRATA_VERBS(X) \
    X(HTML, html)       \
    X(PNG, png)         \
    X(REPORT, report)   \
    X(BATCH, batch)     \
    X(DIFF, diff)       \
    X(PLAN, plan)       \
    X(CHECK, check)     \
    X(EXPORT, export)   \
    X(RUN, run)

enum verb_number {
#define STRATA_VERB_NUMBER(verb, name) VERB_NUMBER_##verb,
    STRATA_VERBS(STRATA_VERB_NUMBER)
#undef STRATA_VERB_NUMBER
        N_VERBS
};

/* One bit each, for the table of options. */
enum verb_bit {
#define STRATA_VERB_BIT(verb, name) VERB_##verb = 1 << VERB_NUMBER_##verb,
    STRATA_VERBS(STRATA_VERB_BIT)
#undef STRATA_VERB_BIT
};

/* How the moments of two compared recordings are aligned. */
enum align { ALIGN_PEAK, ALIGN_STEP, ALIGN_ANNOTATION };

/* A value of --own or --library. */
struct owner_pattern {
    const char *text;
    enum frame_owner owner;
};

enum { FLAGS_CAPACITY = 1024, FILTER_CAPACITY = 1024, SETS_CAPACITY = 16 };

struct plan_settings {
    bool unwanted;                  /* html, png, report, batch: make no plan */
    bool all_devices;               /* the page shows the plan of every device */
    const char *set[SETS_CAPACITY]; /* settings of the allocator, "key=value" or "key:value" */
    uint32_t n_set;
    uint64_t gpu_bytes; /* size of the device; 0: as the recording shows it */
    bool has_keep;
    uint64_t keep_bytes;   /* what stays free of the device, for others */
    uint32_t keep_percent; /* the same in per cent; 2 by default, 0 where keep_bytes is given */
    uint32_t without;      /* bits of enum plan_word */
};

struct check_settings {
    const char **rules; /* [n_rules] as given */
    uint32_t n_rules;
    const char *config, *baseline; /* paths; NULL: none */
    bool update_baseline;
    uint32_t format; /* enum check_format of cli/check/check.h */
    uint32_t skip_steps;
};

struct run_settings {
    bool all_stacks, stops, no_report;
    uint32_t n_steps, max_entries, keep; /* 5, 1,000,000, 8 by default */
    uint64_t every_us;                   /* between two samples; 1 s by default */
};

struct batch_settings {
    uint32_t jobs;          /* 0: as many as cores and memory allow */
    uint32_t max_seconds;   /* that a file may take; 1,800 by default */
    bool png, flat, resume; /* flat: do not go down into directories */
    uint32_t pages;         /* enum batch_pages */
    const char *rank_regex; /* NULL: the names in use */
    const char *shard;      /* NULL: everything */
};

/* The settings of a command line; zero if not given, except as noted. */
struct settings {
    const char *input;
    char **inputs; /* all operands; `input` is the first */
    uint32_t n_inputs;
    bool series; /* html, png, report, export: several inputs are one recording */
    const char *output;
    bool force, quiet, verbose;
    bool open;                    /* open the page in the browser */
    uint32_t color;               /* enum terminal_color */
    size_t max_memory_nbytes;     /* memory_default_limit by default */
    uint64_t max_unpacked_nbytes; /* 0: parser/container/packed.h */

    /* what of a recording is read and shown, and how */
    bool has_device, redact, redact_all;
    int32_t device;
    const char **hosts; /* [n_hosts] paths of logs of the host's memory */
    uint32_t n_hosts;
    struct owner_pattern *owners; /* [n_owners] as given; the last that a file meets decides */
    uint32_t n_owners;
    char filter[FILTER_CAPACITY]; /* words of layout/filter.h, of --filter and --hide-internal; "": none */
    struct position from, to, at;

    /* page and picture */
    const char *title;
    const char *theme; /* "auto" by default */
    uint64_t capacity_bytes;
    uint64_t max_html_nbytes;      /* limit for a page; 100 MiB by default */
    uint32_t width, height, scale; /* 1600, 900, 1 by default */
    enum axis axis;
    enum color_by color_by;
    bool has_color_by, map, no_names;

    /* report, diff, export */
    enum report_format format;
    bool has_format;  /* an option names the format */
    bool two_formats; /* two formats of a report are named; `format` is the last one */
    enum compare_by group;
    uint32_t top;                 /* 20 by default; 0: all */
    enum align align;             /* diff */
    enum export_kind export_kind; /* export: EXPORT_KINDS: the output's ending names it; batch: no export */
    bool allocated;               /* export: sums of what was allocated, not of what is live */

    struct plan_settings plan;
    struct check_settings check;
    struct run_settings run;
    struct batch_settings batch;

    char wrong[320]; /* what is wrong with the last value; "": its help says enough */
    /* the given options that shape the result, in their long form: "--scale 2 --from peak-500" */
    char flags[FLAGS_CAPACITY];
    bool flags_are_cut; /* `flags` lacks options that did not fit */
};

struct verb {
    const char *name;
    enum verb_bit bit;
    const char *summary; /* one line, for the list of verbs */
    /* the operands as its usage names them; NULL: it takes one snapshot */
    const char *operands;
    const char *about;      /* a paragraph, for its own help */
    const char *examples;   /* lines that begin with two blanks */
    const char *exit_codes; /* a sentence for the help; NULL: done, cannot read or write, wrong usage */
    int (*run)(const struct settings *settings); /* an enum exit_code */
};

#define STRATA_VERB_DECLARE(BIT, name) extern const struct verb verb_##name;
STRATA_VERBS(STRATA_VERB_DECLARE)
#undef STRATA_VERB_DECLARE

enum options_result {
    OPTIONS_RUN,  /* the settings are complete */
    OPTIONS_HELP, /* -h was given */
    OPTIONS_VERSION,
    OPTIONS_WRONG, /* printed */
};

/* Reads the words after the verb. Strings in `settings` point into `words`. */
enum options_result options_parse(const struct verb *verb, int n_words, char **words,
                                  struct settings *settings);

/* Finds the value of -o on a command line without a verb. NULL: it has no -o. */
const char *options_output(int n_words, char **words);

/* Frees what options_parse took, whatever it returned. */
void options_release(struct settings *settings);

/* The name of a colouring, as --color-by has it. */
const char *options_color_name(enum color_by color_by);

/* Prints words to standard output in lines of at most 80 characters, beginning at column `at`; the second and further
 * lines begin at column `indent`. The last line is ended too. Ends of lines in `text` count as blanks. */
void help_words_print(const char *text, size_t at, size_t indent);

/* Prints a verb's help to standard output, in lines of at most 80 characters. */
void options_print_help(const struct verb *verb);
