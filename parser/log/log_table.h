/* Forms of one line that are recognised by their words: one row of a table each. Private to parser/log/. */
#pragma once

#include "parser/log/log_lines.h"

/* Servers' start-up, smi tools' single figures, MLX, torchtitan's retries, the host's maxima and kills. O(line * forms). */
enum log_seen log_table_line(struct log_state *state, struct text line, struct log_row *row);

/* The memory column of nvidia-smi's and npu-smi's table. O(line). */
enum log_seen log_smi_line(struct log_state *state, struct text line, struct log_row *row);
