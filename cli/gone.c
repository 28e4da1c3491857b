/* A row is added where an option or a value of an option goes; it answers for every later version. */
#include "cli/gone.h"

#include <string.h>

static const struct {
    unsigned verbs;
    const char *option, *value; /* NULL: the option itself */
    const char *instead;
} rows[] = {
    {VERB_PLAN, "extrapolate", NULL, "record the size you ask for, or ask `strata plan` about this one"},
    {VERB_PLAN, "to", NULL, "record the size you ask for, or ask `strata plan` about this one"},
    {VERB_PLAN, "width", NULL, "a plan is no picture any more; -o X.html writes the page that shows it"},
    {VERB_PLAN, "height", NULL, "a plan is no picture any more; -o X.html writes the page that shows it"},
    {VERB_PLAN, "scale", NULL, "a plan is no picture any more; -o X.html writes the page that shows it"},
    {VERB_PLAN, "budget", NULL, "use --gpu SIZE, which says what fits"},
    {VERB_PLAN, "ranks", NULL, "plan one rank's recording; shards of other sizes are not planned"},
    {VERB_BATCH, "recursive", NULL, "directories are searched; leave it out"},
    {VERB_BATCH, "r", NULL, "directories are searched; leave it out"},
    {VERB_BATCH, "index", NULL, "use `strata batch DIR -o OUT --resume`, which indexes what is there"},
    {VERB_BATCH, "join", NULL, "export each file; SQLite's ATTACH joins the databases"},
    {VERB_BATCH, "watch", NULL, "run `strata batch ... --resume` again"},
    {VERB_BATCH, "every", NULL, "run `strata batch ... --resume` again"},
    {VERB_BATCH, "series", NULL, "use `strata html A B C -o OUT.html` for the dumps of one process"},
    {VERB_BATCH, "group-by", NULL, "the index compares all ranks; sort its columns"},
    {VERB_PNG, "view", NULL, "use --from, --to, --at, --color-by, --filter; the page saves its own picture"},
    {VERB_HTML | VERB_PNG | VERB_REPORT | VERB_BATCH | VERB_DIFF | VERB_CHECK | VERB_EXPORT, "rules", NULL,
     "sum with --group file or select with --filter; a profiler's categories are kept"},
    {VERB_EXPORT, "to", "speedscope", "speedscope reads pprof and folded: use --to pprof"},
    {VERB_BATCH, "export", "speedscope", "speedscope reads pprof and folded: use --export pprof"},
    {VERB_CHECK, "format", "markdown", "use text, github, junit or json"},
};

static bool is_value(const char *known, const char *value) {
    return known == NULL || value == NULL ? known == value : strcmp(known, value) == 0;
}

const char *gone_instead(enum verb_bit verb, const char *name, size_t length, const char *value) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if ((rows[i].verbs & verb) != 0 && strlen(rows[i].option) == length &&
            memcmp(rows[i].option, name, length) == 0 && is_value(rows[i].value, value))
            return rows[i].instead;
    return NULL;
}
