/* A recording and a moment in it, as strata diff takes them: "run.pickle#device=1#step=3", "run.pickle#at=peak-500". */
#pragma once

#include "cli/filter.h"
#include "cli/recording.h"

struct operand {
    const char *word; /* as given */
    char *path;       /* the path without the keys; free it with operand_release */
    bool has_device, has_step;
    int32_t device;
    uint64_t step;      /* number of the step as people see it */
    struct position at; /* POSITION_NONE: not given */
};

/* Splits an operand; its keys begin with # or &. A path that exists is taken whole. False: printed, nothing to
 * release. */
bool operand_parse(struct operand *operand, const char *word);
void operand_release(struct operand *operand);
