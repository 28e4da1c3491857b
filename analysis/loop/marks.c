#include "analysis/loop/marks.h"

#include "base/search.h"

/* The first moment that begins at or after a time of the annotations' clock; n_moments: none. O(log n). */
static uint32_t mark_moment(const struct timeline *timeline, int64_t time_us) {
    uint64_t since = (uint64_t)time_us - (uint64_t)timeline->first_us;
    if (time_us <= timeline->first_us)
        return 0;
    return SEARCH(0, timeline->n_moments, i,
                  timeline_start_us(timeline, i) < 0 || (uint64_t)timeline_start_us(timeline, i) < since);
}

static bool is_mark(const struct mark_walk *walk, const struct timeline *timeline, uint32_t i) {
    const struct annotation *annotation = &timeline->trace->annotations[i];
    return (!walk->own || annotation->device == timeline->device->ordinal) &&
           text_begins(trace_text(timeline->trace, annotation->name), walk->word);
}

static bool marks_are_own(struct mark_walk *walk, const struct timeline *timeline) {
    uint32_t i = 0;
    walk->own = true;
    while (i < timeline->trace->n_annotations && !is_mark(walk, timeline, i))
        i++;
    return i < timeline->trace->n_annotations;
}

bool marks_next(struct mark_walk *walk, const struct timeline *timeline) {
    const struct trace *trace = timeline->trace;
    if (!timeline_timed(timeline))
        return false;
    if (walk->next == 0)
        walk->own = marks_are_own(walk, timeline);
    for (; walk->next < trace->n_annotations; walk->next++) {
        const struct annotation *annotation = &trace->annotations[walk->next];
        if (!is_mark(walk, timeline, walk->next))
            continue;
        uint32_t moment = mark_moment(timeline, annotation->time_us);
        walk->moment = moment > walk->moment ? moment : walk->moment;
        walk->stage = (enum annotation_stage)annotation->stage;
        walk->annotation = walk->next++;
        return true;
    }
    return false;
}

int64_t mark_digits(const uint8_t *text, uint32_t nbytes) {
    int64_t number = 0;
    for (uint32_t i = 0; i < nbytes && i < 15 && text[i] >= '0' && text[i] <= '9'; i++)
        number = number * 10 + (text[i] - '0');
    return number;
}

int64_t mark_number(const struct mark_walk *walk, const struct trace *trace) {
    struct text name = trace_text(trace, trace->annotations[walk->annotation].name);
    uint32_t length = word_length(walk->word);
    return length < name.nbytes ? mark_digits(name.at + length, name.nbytes - length) : 0;
}
