/* Forms of tools whose lines belong together, or print sums. Private to parser/log/. */
#pragma once

#include "parser/log/log_lines.h"

/* The Trainer of transformers with skip_memory_metrics=False, axolotl, mlx-lm's generate, GNU time -f %M, and the tables of
 * key_averages(), whose figures are counted and no levels. O(line). */
enum log_seen log_tools_line(struct log_state *state, struct text line, struct log_row *row);
