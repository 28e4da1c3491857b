/* Memory for arenas, and how much memory there is. */
#pragma once

#include "base/arena.h"

/* Memory of the C library. */
struct arena_host memory_host(void);

/* Memory for what is small beside a recording, to be freed by the caller. Where there is none, the process prints that,
 * removes its temporary files and exits with EXIT_CODE_FAILED, or with the code that memory_end_with has set. */
void *memory_alloc(size_t count, size_t item_nbytes); /* zeroed */
void *memory_resize(void *items, size_t count, size_t item_nbytes);
char *memory_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
__attribute__((noreturn)) void memory_end(void); /* for a call that failed elsewhere */
void memory_end_with(int code);

/* Makes freed memory go back to the system at once, so that memory taken is memory used. Call it once, before the first
 * arena. Does nothing where the C library offers no control. */
void memory_begin(void);

/* Makes the program keep freed memory. Call it before work that takes the same memory again and again, when everything
 * large is there. */
void memory_keep(void);

/* The memory that a trace may take by default: three quarters of the machine's, or of the control group's limit
 * (version 2 or 1) where that is lower. SIZE_MAX: unknown. */
size_t memory_default_limit(void);
