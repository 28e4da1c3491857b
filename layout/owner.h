/*
 * Lets the user say which files are their own code, and which are a library that call sites skip.
 *
 * A pattern without a slash, * or ? is a name: it matches every file below a folder of that name, and the file of
 * that name, with or without ".py". Any other pattern is a glob over the whole path: * is any text, slashes too,
 * and ? is one byte. Without a slash at its beginning it may match after any folder; with a slash at its end it
 * matches everything below. A backslash in a path counts as a slash.
 */
#pragma once

#include "trace/trace.h"

enum { OWNER_PATTERN_MAX_NBYTES = 512 };

/* Does the pattern match this file? O(length * length of the pattern). */
bool owner_pattern_meets(const char *pattern, struct text file);

/* Sets `owner` of every frame whose file matches the pattern, replacing earlier ones, and counts them. Takes no
 * memory if there are none. Each text is looked at once. False: no memory, and nothing is set. */
bool frames_tell_owner(struct trace *trace, const char *pattern, enum frame_owner owner, uint32_t *n_frames);
