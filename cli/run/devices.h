/* Memory in use on NVIDIA's devices, by all processes. A separate process calls NVIDIA's library, if there is one,
 * so that a driver that hangs or crashes costs only these figures. */
#pragma once

#include "cli/run/folder.h"

#include <stdint.h>
#include <sys/types.h>

enum { DEVICES_MAX = 64, DEVICES_REASON = 200 };

/* Shared by the process that asks NVML, which alone writes to it, and this one. */
struct devices {
    uint32_t n; /* 0: none, or not yet asked */
    /* the most in use, and all that the device has */
    uint64_t most_bytes[DEVICES_MAX], total_bytes[DEVICES_MAX];
    /* why devices are not asked; "": they are */
    char why_not[DEVICES_REASON];
};

/* Starts the process, which appends a line for each device and look to the folder's host.log until it is killed:
 *     2026-11-23 10:00:00.123 strata-device gpu=0 used=8589934592 total=85899345920
 * or one that says why there are none. Signals are blocked. NULL: no memory, or no process. */
struct devices *devices_begin(pid_t *process, const struct folder *folder, uint64_t every_us);

/* Ends the process; the figures stay. NULL is fine. */
void devices_end(const struct devices *devices, pid_t process);
