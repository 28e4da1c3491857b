/* From the rows of a log to devices. Private to parser/log*.c. */
#pragma once

#include "parser/intern.h"
#include "parser/log/log_rows.h"

enum log_built { LOG_BUILT, LOG_NO_MEMORY, LOG_TOO_MANY };

/* Makes the trace's devices, one per rank (without ranks, one per GPU), and the host's memory as the CPU. O(rows
 * log rows). */
enum log_built log_build(struct interner *interner, struct log_rows *rows);
