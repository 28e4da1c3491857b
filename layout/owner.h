/*
 * The user's word on files: my own code, or a library that call sites pass over.
 *
 * A pattern without a slash, * or ? is a name: it means every file below a folder of that name, and the file of that
 * name, with or without ".py". Any other is a glob over the whole path, where * is any text, slashes too, and ? is one
 * byte; where it does not begin with a slash it may begin after any folder, and where it ends with one it means
 * all that is below. A backslash in a path counts as a slash.
 */
#pragma once

#include "trace/trace.h"

enum { OWNER_PATTERN_MAX_NBYTES = 512 };

/* Does the pattern mean this file? O(length * length of the pattern). */
bool owner_pattern_meets(const char *pattern, struct text file);

/* Notes `owner` with every frame whose file meets the pattern, over what was noted before, and says how many there are.
 * Nothing is taken where there is none. Each text is looked at once. False: no memory; nothing is noted then. */
bool frames_tell_owner(struct trace *trace, const char *pattern, enum frame_owner owner, uint32_t *n_frames);
