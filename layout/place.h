/* A frame's place as people name it, whichever tool wrote the recording. */
#pragma once

#include "trace/trace.h"

/* "train.py", 41, "forward". */
struct place {
    struct text file, name;
    uint32_t line;
};

/* Splits "dir/train.py(12): step" as the profiler writes it. False: the name has another form. O(length). */
bool place_of_profiler(struct text name, struct place *place);

/* Finds the place of a frame. True: the frame comes from a profile, which writes the place into the name. */
bool place_of_frame(const struct trace *trace, uint32_t id, struct place *place);

/* Finds "MulBackward0" in "torch::autograd::generated::MulBackward0::apply(...)": the node of the autograd graph
 * that a C++ function applies, within the first 2 KiB. False: none. O(length). */
bool place_node(struct text name, struct text *node);

/* Is there no file, or a word that means none? */
bool file_is_none(struct text file);

/* Is it Python? Code that a compiler generates at run time counts, in files like "<string>" or
 * "<eval_with_key>.12". */
bool file_is_python(struct text file);
