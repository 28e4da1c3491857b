/* Memory in use on NVIDIA's devices, by all processes. A separate process calls NVIDIA's library, if there is one,
 * so that a driver that hangs or crashes costs only these figures. */
#pragma once

#include "cli/run/folder.h"

#include <stdint.h>
#include <sys/types.h>

enum { DEVICES_MAX = 64, DEVICES_REASON = 200 };

/* Shared with the process that asks, which alone writes. */
struct devices {
    uint32_t n;                                                 /* 0: none, or not yet asked */
    uint64_t most_bytes[DEVICES_MAX], total_bytes[DEVICES_MAX]; /* in use at most, of all that there is */
    char why_not[DEVICES_REASON];                               /* "": they are asked */
};

/* Starts the process, which appends a line for each device and look to the folder's host.log until it is killed:
 *     2026-11-23 10:00:00.123 strata-device gpu=0 used=8589934592 total=85899345920
 * or one that says why there are none. Signals are blocked. NULL: no memory, or no process. */
struct devices *devices_begin(pid_t *process, const struct folder *folder, uint64_t every_us);

/* Kills it; the figures stay. NULL is fine. */
void devices_end(const struct devices *devices, pid_t process);
