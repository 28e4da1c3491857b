#include "layout/place.h"

/* Splits "dir/train.py(12): step" as the profiler writes it. False: the name does not look so. */
bool place_of_profiler(struct text name, struct place *place) {
    uint32_t at = 0, line = 0;
    while (at < name.nbytes && !text_has_at(name, at, ".py("))
        at++;
    if (at == 0 || at == name.nbytes)
        return false;
    struct text file = {name.at, at + 3};
    uint32_t first_digit = at += 4;
    for (; at < name.nbytes && name.at[at] >= '0' && name.at[at] <= '9' && at - first_digit < 9; at++)
        line = line * 10 + (uint32_t)(name.at[at] - '0');
    if (at == first_digit || !text_has_at(name, at, "): ") || at + 3 == name.nbytes)
        return false;
    *place = (struct place){file, {name.at + at + 3, name.nbytes - at - 3}, line};
    return true;
}

bool file_is_none(struct text file) {
    return file.nbytes == 0 || text_is(file, "none");
}

/* True: the frame comes from a profile, where the place is part of the name. */
bool place_of_frame(const struct trace *trace, uint32_t id, struct place *place) {
    const struct frame *frame = &trace->frames.frame[id];
    *place = (struct place){trace_text(trace, frame->file), trace_text(trace, frame->name), frame->line};
    return file_is_none(place->file) && frame->line == 0 && place_of_profiler(place->name, place);
}

/* Compilers of code at run time name their files like "<string>" or "<eval_with_key>.12". */
bool file_is_python(struct text file) {
    return text_ends(file, ".py") || (file.nbytes > 1 && file.at[0] == '<' && text_contains(file, ">"));
}
