/* The output's kind by the ending of -o. Every verb checks it: the ending and the verb must agree. */
#pragma once

#include "cli/options.h"

/* ENDING_WORDS: a text; also the kind of a name without a known ending. ENDING_OTHER: a known format that no verb
 * writes, such as .svg and .gz. */
enum ending_kind { ENDING_WORDS, ENDING_PICTURE, ENDING_PAGE, ENDING_OTHER };

bool path_is_directory(const char *path);

/* The part of a path after its last slash. NULL for NULL. */
const char *path_name(const char *path);

/* The kind that the ending of a path means; the path may be NULL. */
enum ending_kind ending_kind(const char *path);

/* The name of the verb that makes a file with this name from one recording. NULL: the ending does not say. */
const char *ending_verb(const char *path);

/* Does the ending of -o, where it means something, name what `verb` writes? Directories and standard output accept
 * everything. False: printed. */
bool ending_agrees(const char *verb, const char *output, enum ending_kind kind);

/* Sets settings->format by an ending that names one, where no option does. False: an option contradicts the ending;
 * printed. */
bool ending_choose_format(struct settings *settings);

/*
 * Sets settings->format where no option does: .md is Markdown, .json JSON; .txt, no ending, a directory and standard
 * output are text. False: printed, because of two formats, another ending, or a format together with a picture or page.
 */
bool ending_choose(const char *verb, struct settings *settings);
