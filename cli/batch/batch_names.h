/* Rank and step from a file's path, and names for its outputs. */
#pragma once

#include "cli/batch/batch.h"

#include <regex.h>

enum { RANK_PATTERN_GROUPS = 10, NAMES_KNOWN = 20 };

/* The names in use and --rank-regex, ready to match. */
struct rank_pattern {
    regex_t known[NAMES_KNOWN];
    bool given;
    char names[RANK_PATTERN_GROUPS][16]; /* of its groups; "": no name */
    regex_t regex;
    size_t rank_group, step_group; /* 0: the expression has none */
    size_t first[2], n_first;      /* the first groups */
};

/* Compiles an expression as regex_translate reads it. NULL: the names in use. False: printed, nothing to release. */
bool rank_pattern_init(struct rank_pattern *pattern, const char *regex);
void rank_pattern_release(struct rank_pattern *pattern);

/*
 * Fills rank, step, local_rank, host and group of a file from its path: the file's own name counts before its
 * directories. A number that may be a rank or a step is kept for names_settle. docs/cluster.md lists the names that are
 * understood. Fields that the path does not tell stay unknown.
 */
void names_read(struct batch *batch, struct batch_file *file, const struct rank_pattern *pattern);

/* The numbers after ep, cp and tp in a path; BATCH_UNKNOWN if missing. */
void names_places(const struct rank_pattern *pattern, const char *input, int64_t place[3]);

/* Decides, once all files are read, which loose numbers are ranks and which are steps. O(n log n). */
void names_settle(struct batch *batch);

/* Does the file's name look like a run's output: .log, .out, .err, .csv? */
bool names_is_log(const char *input);

/* Does a name end with one of these words, whatever their case, with something before it? */
bool names_end_like(const char *name, const char *const *words, size_t n_words);

/* A list of names. Starts as {0}. */
struct name_list {
    const char **name; /* in the batch's arena */
    uint32_t count, capacity;
};

void name_list_add(struct name_list *list, struct batch *batch, const char *name);
void name_list_sort(struct name_list *list);
/* The list must be sorted. O(log count). */
bool name_list_has(const struct name_list *list, const char *name);

/* Length of a file's name without its endings (".pickle.gz"). */
size_t names_stem_length(const char *name);

/* May a text from a file become a link and a path? It may if it has only letters, digits, '.', '_' and '-', and is
 * not hidden. */
bool names_is_plain(const char *name);

/*
 * Sets `name` of every file: rank3-step10, or the path's text where no rank is known. Files that would share a name get
 * the path's text as well, so both of two files of one rank are kept. The result depends only
 * on the set of inputs, not on their order or content, so that all shards agree.
 */
void names_assign(struct batch *batch);
