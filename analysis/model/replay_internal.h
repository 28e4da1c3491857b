/*
 * The state of a replay, shared by the files that make one: replay_start.c (what was there before the first event),
 * replay.c (event by event) and replay_grade.c (how well it went). Private to them.
 */
#pragma once

#include "analysis/model/replay.h"

#include "base/sort.h"

struct replayer {
    struct replay *replay;
    const struct trace *trace;
    const struct device_trace *device;
    const struct program *program;
    struct arena *arena;
    struct arena *largest_arena; /* of the curve of the largest free block; NULL: not asked for */
    struct allocator allocator;
    struct segments segments;
    uint32_t *block_of; /* per allocation; 0: none */
    uint32_t *extra;
    uint32_t pending, n_pending; /* segment events that the next allocation explains */
    uint32_t used;               /* of those: placed by the model */
    bool retried;            /* the next allocation had found no block before memory was given back for it */
    uint64_t reserved_bytes; /* as recorded */
    uint64_t invented;       /* addresses for what was not recorded */
    uint64_t most_steps;
    const char *trouble; /* the replay cannot go on */
    uint32_t op, group;  /* the next of the program's operations and of its releases */
};

/* Puts the state before the first event into the model; `trouble` where it contradicts itself. False: no memory. */
bool replayer_start(struct replayer *replayer);

/* Counts the blocks of the recording's end that the model has too. False: no memory. */
bool replayer_compare_end(struct replayer *replayer);

/* Grade and reason, from all that was counted. */
void replayer_grade(struct replayer *replayer);
