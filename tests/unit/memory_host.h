/* Memory for arenas of tests: the C library's. */
#pragma once

#include "base/arena.h"

#include <stdlib.h>

static inline void *plain_resize(void *context, void *ptr, size_t old_nbytes, size_t new_nbytes) {
    (void)context;
    (void)old_nbytes;
    if (new_nbytes != 0)
        return realloc(ptr, new_nbytes);
    free(ptr);
    return NULL;
}

static const struct arena_host plain_host = {.resize = plain_resize};
