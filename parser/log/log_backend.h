/* Whose allocator ran out of memory, and the variable that sets it up, by the words of a message. Private to parser/log/. */
#pragma once

#include "parser/log/log_rows.h"

/* Is the line a MemoryError of Python itself? */
bool log_is_python(struct text line);

/* Sets the row's backend by the first known words of the line, if it has none yet. */
void log_backend_read(struct text line, struct log_row *row);

/* Takes the variable and the hint that a line names. */
void log_setting_read(struct text line, struct log_row *row);

/* Names the variable of a backend whose message gave the hint without it, or is of 2.1 and later and was cut. */
void log_setting_complete(struct log_row *row, bool since_2_1);
