/* What the ending of -o asks for, for verbs whose results are words, a picture or a page. */
#ifndef STRATA_CLI_ENDING_H
#define STRATA_CLI_ENDING_H

#include "cli/options.h"

enum ending_kind { ENDING_WORDS, ENDING_PICTURE, ENDING_PAGE };

/* Of a path, which may be NULL. */
enum ending_kind ending_kind(const char *path);

/*
 * Sets settings->format where no option says it: .md is Markdown, .json JSON, .txt, no ending, a directory and standard
 * output are text. False: printed; two formats, another ending, or a format with a picture or page.
 */
bool ending_choose(const char *verb, struct settings *settings);

#endif
