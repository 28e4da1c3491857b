/* The host.log that `strata run` writes beside dumps: the host's memory in use while they were recorded. */
#pragma once

#include "cli/recording.h"

/*
 * Notes the host's memory (NOTE_HOST_USED) with the events of a recording from a file, where one host.log lies beside it and
 * tells of its time. Of several it is the one that names the file; where none does, whose they are is not known, and nothing
 * is noted. A log that cannot be read counts as none. False: no memory.
 */
bool host_beside(struct recording *recording);
