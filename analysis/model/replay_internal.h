/* The state of a replay. Private to replay_start.c (the state before the first event), replay.c (event by event)
 * and replay_grade.c (the result). */
#pragma once

#include "analysis/model/replay.h"

#include "base/sort.h"

struct replayer {
    struct replay *replay;
    const struct trace *trace;
    const struct device_trace *device;
    const struct program *program;
    struct arena *arena, *result_arena; /* of the work; of what outlasts it */
    bool follows_largest;               /* the curve of the largest free block is requested */
    bool ties_are_free;                 /* among equal free blocks the recorded one is taken */
    struct allocator allocator;
    struct segments segments;
    uint32_t *block_of; /* by allocation; 0: none */
    uint32_t *extra;
    uint32_t pending, n_pending; /* segment events that the next allocation explains */
    uint32_t used;               /* those of them that the model has placed */
    bool retried;            /* the next allocation had found no block before memory was given back for it */
    uint64_t reserved_bytes; /* as recorded */
    uint64_t invented;       /* next invented address, for memory whose address was not recorded */
    uint64_t most_steps;
    const char *trouble; /* why the replay cannot continue */
    uint32_t op, group;  /* the next operation and the next release of the program */
};

/* Puts the state before the first event into the model; sets `trouble` if it contradicts itself. False: no
 * memory. */
bool replayer_start(struct replayer *replayer);

/* Counts the final blocks of the recording that the model has too. False: no memory. */
bool replayer_compare_end(struct replayer *replayer);

/* Sets grade and reason from all counts. */
void replayer_grade(struct replayer *replayer);
