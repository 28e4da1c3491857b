/* Turns diagnostics into sentences: a reader notes a code and numbers, which become text here. */
#pragma once

#include "trace/trace.h"

/* Gives every diagnostic its message (trace/trace.h), made from its key and numbers. One whose key has no sentence
 * keeps its page's message, or gets its code as the message. O(length of the messages). False: no memory, and only some
 * have their message. */
bool diagnostics_say(struct trace *trace);
