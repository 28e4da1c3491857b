/* The pickle machine: protocols 0 to 5, data only. Opcodes that call code are refused by name and offset. */
#pragma once

#include "parser/cursor.h"

/*
 * Reads one pickle and fills `trace`; what follows STOP is counted, said in a diagnostic and else ignored. The memory that it needs besides the
 * columns is eight bytes per memo entry. False: the cursor's error is set. O(bytes).
 */
bool pickle_read(struct cursor *cursor, struct trace *trace);
