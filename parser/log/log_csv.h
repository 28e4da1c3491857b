/* The rows of nvidia-smi --query-gpu=... --format=csv. Private to parser/log/. */
#pragma once

#include "parser/log/log_lines.h"

/* Looks at a line as a row of the CSV, or as its header. O(line). */
enum log_seen log_csv_line(struct log_state *state, struct text line, struct log_row *row);
