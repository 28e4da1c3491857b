/* A recording and a moment in it, as strata diff takes them: "run.pickle#device=1#step=3", "run.pickle#at=peak-500". */
#pragma once

#include "cli/filter.h"
#include "cli/recording.h"

struct operand {
    const char *word; /* as given */
    char *path;       /* without the choices after it; free with operand_release */
    bool has_device, has_step, no_memory;
    int32_t device;
    uint64_t step;      /* its number as people see it */
    struct position at; /* POSITION_NONE: not given */
};

/* Keys after the path begin with # or &. A path that exists is taken whole. False: printed, release
 * nothing; for want of memory if no_memory is set. */
bool operand_parse(struct operand *operand, const char *word);
void operand_release(struct operand *operand);
