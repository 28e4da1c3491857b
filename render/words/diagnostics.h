/* The sentences of diagnostics: a reader notes a code and numbers, which become text here. */
#pragma once

#include "trace/trace.h"

/* Gives every diagnostic its message (trace/trace.h), by its key and numbers. One whose key has no sentence keeps
 * its page's message, or gets its code. O(length of the messages). False: no memory, and only some have their
 * message. */
bool diagnostics_say(struct trace *trace);
