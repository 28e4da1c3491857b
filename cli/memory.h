/* Memory for arenas, and how much of it is there. */
#pragma once

#include "base/arena.h"

/* Memory of the C library. */
struct arena_host memory_host(void);

/* Once, before the first arena: what is freed goes back to the system at once, so that the memory that is taken is the
 * memory that is used. Does nothing where the C library has no say in it. */
void memory_begin(void);

/* Before work that takes the same memory again and again, once all that is large is there: it stays the program's. */
void memory_keep(void);

/*
 * How much memory a trace may take when nothing else is asked for: three quarters of what the machine has, or
 * of the control group's limit (version 2 or 1) where that is lower. SIZE_MAX: unknown.
 */
size_t memory_default_limit(void);
