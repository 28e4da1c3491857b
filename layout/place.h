/* A frame's place as a person names it, whichever tool wrote the recording. */
#pragma once

#include "trace/trace.h"

/* "train.py", 41, "forward". */
struct place {
    struct text file, name;
    uint32_t line;
};

/* Splits "dir/train.py(12): step" as the profiler writes it. False: the name does not look so. O(length). */
bool place_of_profiler(struct text name, struct place *place);

/* True: the frame comes from a profile, where the place is part of the name. */
bool place_of_frame(const struct trace *trace, uint32_t id, struct place *place);

/* "MulBackward0" of "torch::autograd::generated::MulBackward0::apply(...)": the node of autograd's graph that a function of
 * C++ applies, where it stands in the first 2 KiB. False: it applies none. O(length). */
bool place_node(struct text name, struct text *node);

/* No file at all, or the word that stands for none. */
bool file_is_none(struct text file);

/* Compilers of code at run time name their files like "<string>" or "<eval_with_key>.12". */
bool file_is_python(struct text file);
