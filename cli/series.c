#include "cli/series.h"

#include "cli/terminal.h"
#include "parser/fingerprint.h"
#include "parser/series/series.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool part_read(struct recording *part, const struct settings *settings, const char *path,
                      size_t limit) {
    struct settings own = *settings;
    own.input = path;
    own.series = false;
    own.max_memory_nbytes = limit != 0 ? limit : 1;
    own.format = REPORT_TEXT; /* an id, if asked for, is that of the whole only */
    own.rules = NULL;
    own.n_owners = 0;
    own.redact = false;
    return recording_open(part, &own) && recording_read(part, &own);
}

static void refuse(const struct recording *parts, uint32_t wrong, enum series_result result) {
    static const char *const reasons[] = {
        [SERIES_NOT_SNAPSHOTS] = "is not a memory snapshot; a series is made of snapshots",
        [SERIES_OTHER_RANK] = "has another rank than the first dump; a series has dumps of one process only",
        [SERIES_OTHER_DEVICES] =
            "has no device in common with the first dump; a series has dumps of one process only",
        [SERIES_NOT_IN_ORDER] = "ends before the dump given before it; name the oldest first",
        [SERIES_OTHER_RUN] =
            "has other events at the same times than the dump before it; a series has dumps of one process",
        [SERIES_MERGED] =
            "is a page in which allocations are merged (--max-html-size): name the dump itself"};
    terminal_error(parts[wrong].input.shown, "%s", reasons[result]);
}

static bool parts_join(struct recording *recording, const struct recording *parts, uint32_t n) {
    struct series_part *part = calloc(n, sizeof *part);
    uint32_t wrong = 0;
    enum series_result result = SERIES_NO_MEMORY;
    for (uint32_t i = 0; part != NULL && i < n; i++)
        part[i] = (struct series_part){&parts[i].trace, parts[i].input.name};
    if (part != NULL)
        result = series_make(&recording->trace, part, n, &wrong);
    free(part);
    if (result == SERIES_NO_MEMORY)
        recording_print_no_memory(recording, recording->trace.arena.limit_hit);
    else if (result != SERIES_DONE)
        refuse(parts, wrong, result);
    if (result != SERIES_DONE)
        recording->error.code = result == SERIES_NO_MEMORY ? READ_NO_MEMORY
                                : result == SERIES_MERGED  ? READ_LIMIT
                                                           : READ_BAD_SHAPE;
    return result == SERIES_DONE;
}

/* Makes the fingerprint of a series from its files' fingerprints, one after the other. */
static bool fingerprint_join(struct recording *recording, const struct recording *parts, uint32_t n) {
    struct fingerprint *fingerprint = fingerprint_new();
    for (uint32_t i = 0; fingerprint != NULL && i < n; i++)
        fingerprint_add(fingerprint, parts[i].fingerprint, strlen(parts[i].fingerprint));
    if (fingerprint == NULL)
        recording_print_no_memory(recording, false);
    else
        fingerprint_text(fingerprint, recording->fingerprint);
    fingerprint_free(fingerprint);
    return fingerprint != NULL;
}

bool series_read(struct recording *recording, const struct settings *settings) {
    uint32_t n = settings->n_inputs, n_read = 0;
    size_t left = recording->trace.arena.limit_nbytes;
    struct recording *parts = calloc(n, sizeof *parts);
    bool done = parts != NULL;
    if (!done) {
        recording_print_no_memory(recording, false);
        recording->error.code = READ_NO_MEMORY;
    }
    for (; n_read < n && done; n_read++) {
        done = part_read(&parts[n_read], settings, settings->inputs[n_read], left);
        recording->error = parts[n_read].error;
        size_t used = parts[n_read].trace.arena.used_nbytes;
        left = left > used ? left - used : 0;
    }
    recording->trace.arena.limit_nbytes = left != 0 ? left : 1;
    snprintf(recording->series_name, sizeof recording->series_name, "%.100s and %u more",
             recording->input.name, n - 1);
    recording->input.name = recording->series_name;
    done = done && parts_join(recording, parts, n) && fingerprint_join(recording, parts, n);
    for (uint32_t i = 0; parts != NULL && i < n_read; i++)
        recording_release(&parts[i]);
    free(parts);
    return done;
}
