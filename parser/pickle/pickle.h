/* The pickle machine: protocols 0 to 5, data only. Opcodes that call code are refused by name and offset. */
#pragma once

#include "parser/cursor.h"

/* Reads one pickle and fills `trace`; bytes after STOP are counted for a diagnostic and otherwise ignored. Takes
 * four bytes per memo entry besides the columns. False: the cursor's error is set. O(bytes). */
bool pickle_read(struct cursor *cursor, struct trace *trace);
