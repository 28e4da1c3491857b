/*
 * Identifies a recording, whatever file holds it: the same dump as a pickle, packed with gzip, in a page of
 * _memory_viz.py or in a page of Strata has the same id, unless something was left out of it (a page merged to fit
 * a size is another recording).
 *
 * XXH3-128, spelled as a fingerprint, over devices, allocations, segments, blocks, out-of-memory events and times,
 * with stacks and their text as decoded. Numbers are taken as 64 bits, lowest byte first. Not part of it: user
 * metadata, annotations, settings, and how rows and strings are numbered.
 */
#pragma once

#include "parser/fingerprint.h"
#include "trace/trace.h"

/* Takes memory from the trace's arena, 8 bytes per string, frame and stack, and gives it back. False: no memory.
 * O(bytes of text + rows). */
bool recording_id(struct trace *trace, char text[FINGERPRINT_CHARACTERS + 1]);
