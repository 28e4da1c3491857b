/*
 * Walks over annotations by name, as moments of a device: ProfilerStep#3, Optimizer.step#AdamW.step. Freestanding.
 */
#pragma once

#include "layout/timeline.h"

/* Starts as {.word = "ProfilerStep#"}. */
struct mark_walk {
    const char *word; /* beginning of the names */
    uint32_t next;    /* next annotation to look at */
    bool own;         /* the device has such annotations of its own, so those of others do not count */

    /* the annotation found */
    uint32_t annotation;
    uint32_t moment; /* the first moment that begins at or after it; n_moments: none. Never falls. */
    enum annotation_stage stage;
};

/* Moves to the next annotation. A step noted by one device alone is a step of all; where each device notes its own, as
 * with one thread for each, only those of this device count. False: there is none, or the file has no times.
 * O(log n), and O(annotations) for the first. */
bool marks_next(struct mark_walk *walk, const struct timeline *timeline);

/* The number at the beginning of a text, at most 15 digits; 0: none. */
int64_t mark_digits(const uint8_t *text, uint32_t nbytes);

/* The number after the word, at most 15 digits; 0: none. */
int64_t mark_number(const struct mark_walk *walk, const struct trace *trace);
