/* Lines of no known form that name memory by its words: "Peak memory: 12.3 GB". Private to parser/log/. */
#pragma once

#include "parser/log/log_lines.h"

/* Reads "LABEL: NUMBER UNIT", several in a line, if the label names allocated, reserved, cached, used, free or peak
 * memory, or is below a line about memory. Marks the row as inferred. O(line). */
enum log_seen log_inferred_line(struct log_state *state, struct text line, struct log_row *row);

/* Does it name memory or a GPU? O(text). */
bool log_is_about_memory(struct text text);
