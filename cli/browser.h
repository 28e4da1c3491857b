/* --open: a page that was written, in the browser. */
#pragma once

#include "cli/options.h"

/* Can the output of these settings be opened: is it a page, in a file? False: printed. True if nothing is to be
 * opened. */
bool browser_agrees(const char *verb, const struct settings *settings);

/* Opens the file with $BROWSER (the first of several between colons, with its own arguments), or else with
 * xdg-open, wslview or open. A browser that keeps running is left alone. If there is none, a note says so. Does
 * nothing without --open. */
void browser_open(const struct settings *settings, const char *path);
