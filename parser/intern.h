/* Gives equal things one id while a trace is being filled: strings, frames, stacks, contexts. */
#pragma once

#include "base/hashed.h"
#include "parser/stack_tree.h"

struct interner {
    struct trace *trace;
    struct row_table strings, frames, fx, contexts;
    struct stack_tree stacks; /* the trace gets them in interner_finish */
};

/* The tables of `trace` may have rows already, but stacks only the empty one; these rows are not indexed. The
 * indexes are in the trace's arena until interner_release. */
void interner_init(struct interner *interner, struct trace *trace);

/* Gives the trace the stacks that its devices use, with new ids. Call it when the devices are complete and no more
 * stacks are asked for. False: no memory. */
bool interner_finish(struct interner *interner);
void interner_release(struct interner *interner);

/* Each sets `*id` to the id of an equal row, which is added if there is none. O(1) on average. `*id` is 0 for
 * "none" (an empty string, all fields 0). The file and name of a frame are cut to FRAME_TEXT_MAX_NBYTES. False: no
 * memory. */
bool intern_string(struct interner *interner, const void *bytes, size_t nbytes, uint32_t *id);
bool intern_frame(struct interner *interner, struct frame frame, uint32_t *id);
bool intern_fx(struct interner *interner, struct fx fx, uint32_t *id);
bool intern_context(struct interner *interner, struct context context, uint32_t *id);

/* Cuts a string to FRAME_TEXT_MAX_NBYTES: a file keeps its end, with its own name, any other name its beginning. False:
 * no memory. */
bool intern_cut(struct interner *interner, uint32_t *string, bool keep_end);

/* The stack of `frames` (innermost first). O(n_frames). */
bool intern_stack(struct interner *interner, const uint32_t *frames, uint32_t n_frames, uint32_t *id);

/* The stack of `parent`, an id from here or 0, and one more `frame` inside. O(1) on average. */
bool intern_stack_below(struct interner *interner, uint32_t parent, uint32_t frame, uint32_t *id);
