#include "layout/place.h"

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

bool place_of_frame(const struct trace *trace, uint32_t id, struct place *place) {
    const struct frame *frame = &trace->frames.frame[id];
    *place = (struct place){trace_text(trace, frame->file), trace_text(trace, frame->name), frame->line};
    return file_is_none(place->file) && frame->line == 0 && place_of_profiler(place->name, place);
}

bool file_is_python(struct text file) {
    return text_ends(file, ".py") || (file.nbytes > 1 && file.at[0] == '<' && text_contains(file, ">"));
}

/* ---- the autograd node that a function applies: "MulBackward0::apply", "PyNode::apply" ---- */

static bool is_word_byte(uint8_t byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
           byte == '_';
}

/* Does the name of a node end at `end`? */
static bool node_ends_at(struct text name, uint32_t end) {
    static const char *const nodes[] = {"AccumulateGrad", "CopySlices", "CopyBackwards", "PyNode"};
    for (uint32_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
        if (text_ends((struct text){name.at, end}, nodes[i]))
            return true;
    while (end > 0 && name.at[end - 1] >= '0' && name.at[end - 1] <= '9')
        end--;
    return end > 8 && text_has_at(name, end - 8, "Backward") && is_word_byte(name.at[end - 9]);
}

/* Names are searched this far. No node's name is longer, and a million frames may share a hostile name of 16 KiB. */
enum { NODE_NBYTES_MOST = 2048 };

bool place_node(struct text name, struct text *node) {
    for (uint32_t at = 1; at < name.nbytes && at < NODE_NBYTES_MOST; at++) {
        if ((name.at[at] != ':' && name.at[at] != '_') ||
            (!text_has_at(name, at, "::apply") && !text_has_at(name, at, "_apply")) ||
            !node_ends_at(name, at))
            continue;
        uint32_t begin = at;
        while (begin > 0 && is_word_byte(name.at[begin - 1]))
            begin--;
        *node = (struct text){name.at + begin, at - begin};
        return true;
    }
    return false;
}
