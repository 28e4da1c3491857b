/* --host: the host's memory in use while a dump was recorded, from a log such as the host.log of `strata run`. */
#pragma once

#include "cli/recording.h"

/*
 * Adds the host's memory (NOTE_HOST_USED) to the events of a recording, from the log of --host that names it, as
 * that of `strata run` does, or from the only one if it names no dump. Prints a note if there is no such log, or if it
 * covers another time. False: a log cannot be read or has no levels of the host, or no memory; printed.
 */
bool host_log_apply(struct recording *recording, const struct settings *settings);
