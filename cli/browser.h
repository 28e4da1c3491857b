/* --open: a page that was written, in the browser. */
#pragma once

#include "cli/options.h"

/* Can what the settings write be opened: a page, in a file? False: printed. True where nothing is to be opened. */
bool browser_agrees(const char *verb, const struct settings *settings);

/* Opens the file by $BROWSER (the first of several between colons, with its own words), else by xdg-open, wslview or open.
 * A browser that goes on running is left alone. Where there is none, a note says so. Nothing happens without --open. */
void browser_open(const struct settings *settings, const char *path);
