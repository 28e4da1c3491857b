/* The output's kind by the ending of -o. Every verb checks it: the ending and the verb must agree. */
#pragma once

#include "cli/options.h"

/* Words: also no ending that says anything. Other: a known format that no verb writes, such as .svg and .gz. */
enum ending_kind { ENDING_WORDS, ENDING_PICTURE, ENDING_PAGE, ENDING_OTHER };

/* The kind that the ending of a path means; the path may be NULL. */
enum ending_kind ending_kind(const char *path);

/* The name of the verb that makes a file of this name out of one recording. NULL: the ending does not say. */
const char *ending_verb(const char *path);

/* Does the ending of -o, where it has one that says something, name what `verb` writes? Directories and standard output
 * take all. False: printed. */
bool ending_agrees(const char *verb, const char *output, enum ending_kind kind);

/* Sets settings->format by an ending that names one, where no option says it. False: printed; they contradict each other. */
bool ending_choose_format(struct settings *settings);

/*
 * Sets settings->format where no option says it: .md is Markdown, .json JSON, .txt, no ending, a directory and standard
 * output are text. False: printed; two formats, another ending, or a format with a picture or page.
 */
bool ending_choose(const char *verb, struct settings *settings);
