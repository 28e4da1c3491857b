/*
 * What a log says about a device: levels at lines, not allocations (parser/log/log.h). They lie in the device's notes.
 * Freestanding.
 */
#pragma once

#include "analysis/loop/spans.h"

/* The figures of one kind that the lines print. */
struct level_track {
    uint32_t count; /* lines that print it; 0: none does, and nothing below is known */
    uint64_t first, last, peak;
    uint32_t peak_event; /* the first of the highest */
};

enum { LEVEL_ALLOCATED, LEVEL_RESERVED, LEVEL_DEVICE, LEVEL_HOST, LEVEL_KINDS };

struct levels {
    /* allocated: maxima that lines print between two levels included */
    struct level_track track[LEVEL_KINDS];
    unsigned shown; /* whose levels the allocations stand for: the most frequent */
    uint32_t n_lines;
    bool outside_known;     /* some line prints both what is reserved and what is used on the device */
    uint64_t outside_bytes; /* most that the device held beyond what torch had reserved */
    uint32_t outside_event;
};

/* O(notes). */
void levels_find(struct levels *levels, const struct device_trace *device);

/* "allocated": for JSON. "allocated memory": for people. */
const char *level_name(unsigned level);
const char *level_title(unsigned level);

/* Number of the line that an event stands for; 0: none. O(log notes). */
uint64_t levels_line(const struct device_trace *device, uint32_t event);

/* What a note of an event says. False: the line does not say it. O(log notes + notes of the event). */
bool levels_note(const struct device_trace *device, uint32_t event, enum note_what what, uint64_t *number);

/* The most that the host had in use at the moments [first, end), by the lines up to then. 0: no line tells. O(notes). */
uint64_t levels_host_most(const struct device_trace *device, uint32_t first, uint32_t end);

/* What a line's label names: from the line on, until the next that has one. O(notes). False: no memory. */
bool levels_phases(struct spans *spans, const struct timeline *timeline, struct arena *arena);

/*
 * What is not known of the beginning of spans, and what follows for their peaks: before the first line no level is known, and
 * where lines print nothing but maxima none is a level at a moment. No peak is below a begin. O(spans + notes).
 */
void levels_begins(struct spans *spans, const struct device_trace *device);

/*
 * Steps that lines name, as turns: from after the last line of the step before to the last line of the step, since lines are
 * printed when a step has ended. Numbers rise; a line with a lower number than one before it (a run that began again) is part
 * of the step that it stands in. O(notes). False: no memory.
 */
bool levels_turns(struct turns *turns, const struct device_trace *device, struct arena *arena);
