/* The host.log that `strata run` writes beside dumps: the host's memory in use while they were recorded. */
#pragma once

#include "cli/recording.h"

/*
 * Adds the host's memory (NOTE_HOST_USED) to the events of a recording from a file, if a host.log beside it covers its
 * time. Of several logs, the one that names the file is used; if none does, it is unknown which log is the file's, and
 * nothing is added. A log that cannot be read is ignored. False: no memory.
 */
bool host_beside(struct recording *recording);
