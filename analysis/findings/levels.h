/* What a log says about a device, from its notes: levels at lines, not allocations (parser/log/log.h).
 * Freestanding. */
#pragma once

#include "analysis/loop/spans.h"

/* The figures of one kind that the lines print. */
struct level_track {
    uint32_t count; /* lines that print it; 0: the rest is unknown */
    uint64_t first, last, peak;
    uint32_t peak_event; /* the first event with the maximum */
    bool peaks;          /* all of them are maxima of the time before their lines: no line prints the level */
};

enum { LEVEL_ALLOCATED, LEVEL_RESERVED, LEVEL_DEVICE, LEVEL_HOST, LEVEL_KINDS };

struct levels {
    /* "allocated" includes maxima that lines print between two levels */
    struct level_track track[LEVEL_KINDS];
    unsigned shown; /* the level that the allocations represent: the most frequent one */
    uint32_t n_lines;
    bool outside_known;     /* some line prints both the reserved bytes and the bytes used on the device */
    uint64_t outside_bytes; /* the most that the device held beyond torch's reserved bytes */
    uint32_t outside_event;
};

/* O(notes). */
void levels_find(struct levels *levels, const struct device_trace *device);

/* The kind of the notes that have a level. */
enum note_what level_note(unsigned level);

/* "allocated", for JSON; "allocated memory", for people. */
extern const char *const level_name[LEVEL_KINDS];
extern const char *const level_title[LEVEL_KINDS];

/* Is the figure of an event a maximum, because its line prints no level? O(log notes + notes of the event). */
bool levels_is_peak(const struct device_trace *device, uint32_t event, enum note_what what);

/* Number of the line that an event represents; 0: none. O(log notes). */
uint64_t levels_line(const struct device_trace *device, uint32_t event);

/* The value of one kind of note at an event. False: the line does not print it. O(log notes + notes of the
 * event). */
bool levels_note(const struct device_trace *device, uint32_t event, enum note_what what, uint64_t *number);

/* The most of the host's memory in use in the moments [first, end), from the lines so far. 0: no line prints it.
 * O(notes). */
uint64_t levels_host_most(const struct device_trace *device, uint32_t first, uint32_t end);

/* Makes a phase of each label: from its line to the next line with a label. O(notes). False: no memory. */
bool levels_phases(struct spans *spans, const struct timeline *timeline, struct arena *arena);

/* Marks unknown begins of spans and raises peaks accordingly: before the first line no level is known, and if lines
 * print only maxima, no level at a moment is known. No peak is below a begin. O(spans + notes). */
void levels_begins(struct spans *spans, const struct device_trace *device);

/*
 * Makes turns of the steps that lines name: from after the last line of the previous step to the last line of the
 * step, since lines are printed at the end of a step. Numbers rise; a line with a lower number (the run was
 * restarted) belongs to the step around it. O(notes). False: no memory.
 */
bool levels_turns(struct turns *turns, const struct device_trace *device, struct arena *arena);
