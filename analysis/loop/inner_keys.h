/* An id for the frames inside a stack's outermost forward: two loops that call the same model from two lines have
 * the same inner keys. A stack without forward is its own key. Freestanding. */
#pragma once

#include "trace/trace.h"

/* The key of every stack, `key[stacks.count]`: the id of the first stack with the same inside. `frame_bits` as in
 * frame_bits.h. O(stacks): in a file made to be slow, some equal stacks have keys of their own. False: no memory. */
bool inner_keys_find(const struct trace *trace, const uint32_t *frame_bits, uint32_t *key,
                     struct arena *arena);

/* The same for Python frames only: stacks that differ only in C++ frames are equal, and one without forward has key
 * 0. Both bits as in frame_bits.h. */
bool python_keys_find(const struct trace *trace, const uint32_t *frame_bits, const uint32_t *stack_bits,
                      uint32_t *key, struct arena *arena);
