/* The end of a run, in words on standard error: one screen. */
#pragma once

#include "cli/run/watch.h"

/* Makes pages and index of the folder's files, in a separate process that writes to DIR/.run/batch.log. False:
 * there are none. */
bool ending_pages(const struct folder *folder);

/* Why it ended, host and device peaks, what to know first, where the pages are. `has_pages`: they were just made. */
void ending_print(const struct watch *watch, bool has_pages, bool others_go_on);
