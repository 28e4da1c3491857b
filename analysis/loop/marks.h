/*
 * Annotations by name, one after the other, as moments of a device: ProfilerStep#3, Optimizer.step#AdamW.step.
 * Freestanding.
 */
#pragma once

#include "layout/timeline.h"

/* Begins as {.word = "ProfilerStep#"}. */
struct mark_walk {
    const char *word; /* what the names begin with */
    uint32_t next;    /* annotation to look at */

    /* the one that was found */
    uint32_t annotation;
    uint32_t moment; /* the first that begins at or after it; n_moments: none does. Never falls. */
    enum annotation_stage stage;
};

/* Goes to the next annotation, of whichever device: a step that one device notes is a step of all. False: there is none,
 * or the file has no times. O(log n). */
bool marks_next(struct mark_walk *walk, const struct timeline *timeline);

/* The number that a text begins with, at most 15 digits; 0: none. */
int64_t mark_digits(const uint8_t *text, uint32_t nbytes);

/* The number after the word, at most 15 digits; 0: none. */
int64_t mark_number(const struct mark_walk *walk, const struct trace *trace);
