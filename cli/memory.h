/* Memory for arenas, and how much of it is there. */
#pragma once

#include "base/arena.h"

/* Memory of the C library. */
struct arena_host memory_host(void);

/* Call once, before the first arena: freed memory goes back to the system at once, so memory taken is
 * memory used. Does nothing where the C library offers no control. */
void memory_begin(void);

/* Before work that takes the same memory again and again, once all that is large is there: it stays the program's. */
void memory_keep(void);

/*
 * The memory that a trace may take by default: three quarters of the machine's, or
 * of the control group's limit (version 2 or 1) where that is lower. SIZE_MAX: unknown.
 */
size_t memory_default_limit(void);
