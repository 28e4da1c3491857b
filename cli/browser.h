/* --open: shows a page that was written in the browser. */
#pragma once

#include "cli/options.h"

/* Can the output of these settings be opened, that is: is it a page in a file? True too if nothing is to be opened.
 * False: printed. */
bool browser_agrees(const char *verb, const struct settings *settings);

/* Opens the file with $BROWSER (the first of several between colons, with its own arguments), or else with xdg-open,
 * wslview or open. A browser that keeps running is left alone. A note says if there is none. Does nothing without
 * --open. */
void browser_open(const struct settings *settings, const char *path);
