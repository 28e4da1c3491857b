/*
 * What lies inside of a stack's outermost forward frame, as an id: two loops that call the same model from two lines
 * have the same inner keys. A stack without forward is its own key. Freestanding.
 */
#pragma once

#include "trace/trace.h"

/* Key of every stack, `key[stacks.count]`: the id of the first stack that is alike inside. `frame_bits` as of
 * frame_bits.h. O(stacks): in a file that is made to be slow, some stacks that are alike have keys of their own. False:
 * no memory. */
bool inner_keys_find(const struct trace *trace, const uint32_t *frame_bits, uint32_t *key,
                     struct arena *arena);

/* The same of Python's frames alone: stacks that differ in frames of C++ only are alike, and one without forward has the
 * key 0. Both bits as of frame_bits.h. */
bool python_keys_find(const struct trace *trace, const uint32_t *frame_bits, const uint32_t *stack_bits,
                      uint32_t *key, struct arena *arena);
