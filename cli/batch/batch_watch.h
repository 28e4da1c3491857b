/* strata batch --watch: finds the inputs that have come to rest, and whether there is anything to do. */
#pragma once

#include "cli/batch/batch.h"

/* All zero before the first look. */
struct watch {
    /* [n_seen] each input at the last look: its path, size and time; sorted; malloc'd */
    uint64_t *seen;
    uint32_t n_seen;
    bool looked;
    uint64_t shown; /* hash of everything that the index was made of */
    int code;       /* the exit code so far: that of the last index */
};

/*
 * Call it between batch_find's names and the work. Inputs that have changed since the last look (at the first: within
 * the time between two looks) are left out of the batch, or keep the result that they have. True: what is left differs
 * from what the last index was made of. Nothing is printed.
 */
bool watch_look(struct watch *watch, struct batch *batch);
