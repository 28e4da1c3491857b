/* The sentences of diagnostics: a reader notes a code and numbers, which become text here. */
#pragma once

#include "trace/trace.h"

/* Gives every diagnostic its message (trace/trace.h), by its key and numbers. One whose key has no sentence keeps the message
 * that its page had, or says its code. O(what is said). False: no memory; some have their message then. */
bool diagnostics_say(struct trace *trace);
