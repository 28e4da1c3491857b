/* Memory for arenas, and how much memory there is. */
#pragma once

#include "base/arena.h"

/* Memory of the C library. */
struct arena_host memory_host(void);

/* Makes freed memory go back to the system at once, so that memory taken is memory used. Call it once, before the first
 * arena. Does nothing where the C library offers no control. */
void memory_begin(void);

/* Makes the program keep freed memory. Call it before work that takes the same memory again and again, when everything
 * large is there. */
void memory_keep(void);

/* The memory that a trace may take by default: three quarters of the machine's, or of the control group's limit
 * (version 2 or 1) where that is lower. SIZE_MAX: unknown. */
size_t memory_default_limit(void);
