/* --filter: its words are checked as soon as they are read. Its regular expressions, which layout/filter.h leaves to
 * its caller, are run over a recording's texts. */
#pragma once

#include "analysis/findings/selection.h"

#include <stddef.h>

struct recording;
struct settings;

/* Are these words a filter with known keys and categories? False: `wrong` names the fault in a phrase. */
bool filter_check(const char *words, char *wrong, size_t capacity);

struct filter_set {
    const struct filter_query *query; /* points into this struct; NULL: there are no words */
    struct filter_query parsed;
    struct filter_regex regex[FILTER_WORDS_MAX];
};

/* Makes the filter of `words`, which must have been checked and must outlive the set, for this recording; "": none. `set`
 * must not move; the tables are in `arena`. O(expressions * length of all texts). False: no memory, printed. */
bool filter_set_make(struct filter_set *set, const struct recording *recording, const char *words,
                     struct arena *arena);

/* Prints a note where the settings' filter leaves nothing of the device (index into trace.devices; NULL: of all devices
 * that the settings show). Returns an enum exit_code: EXIT_CODE_USAGE where the filter asks for a phase whose name is
 * misspelt, printed. O(selection_make for each device); does nothing without a filter. */
int filter_look(const struct recording *recording, const struct settings *settings, const uint32_t *device);
