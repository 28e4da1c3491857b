/* Prints one screen on standard error at the end of `strata run`. */
#pragma once

#include "cli/run/watch.h"

/* Makes pages and index of the folder's files, in a separate process that writes to DIR/.run/batch.log. False: there
 * are no pages. */
bool ending_pages(const struct folder *folder);

/* Prints why the run ended, the peaks of host and devices, what to know first, and where the pages are. `has_pages`:
 * they were just made. */
void ending_print(const struct watch *watch, bool has_pages, bool others_go_on);
