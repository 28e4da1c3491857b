/*
 * Messages and progress on standard error. Results never pass through here.
 *
 * Every line has the form `strata: "file": what went wrong`. Names and texts may come from hostile files:
 * bytes that would steer a terminal are written as \xNN. One thread only.
 */
#pragma once

#include "base/format.h"
#include "render/report/text_look.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Values of --color. */
enum terminal_color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

/* Sets what is printed. Notes are left out when `quiet`; errors never are. Progress needs a terminal that is not
 * TERM=dumb; with COLOR_AUTO, NO_COLOR must also be unset or empty. */
void terminal_init(bool quiet, enum terminal_color color);

/* The look of a text for `output` (-o; NULL and "-": standard output). On standard output it is as wide as COLUMNS or
 * the terminal. */
struct text_look terminal_look(const char *output);

/* Prints an error about a file. `file` NULL: the line is about no file. */
void terminal_error(const char *file, const char *format, ...) __attribute__((format(printf, 2, 3)));
void terminal_note(const char *file, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Copies `text`, with \xNN for bytes that steer a terminal, reorder text beside them or are not UTF-8. Cuts off what
 * does not fit. */
void terminal_tame(char *to, size_t capacity, const char *text);

/* Begins a line that is rewritten in place, at most ten times a second and not in the first half second. `total_nbytes`
 * 0: unknown, so that no time left is shown. Does nothing where progress is not wanted. */
void progress_start(const char *file, uint64_t total_nbytes);
void progress_report(uint64_t nbytes, uint64_t n_events);
void progress_end(void);

/* Estimates how long the rest (`left`) takes if `done`, above 0, took `elapsed_us`: whole seconds, rounded up. */
struct figure progress_left(int64_t elapsed_us, uint64_t done, uint64_t left);

/* Shows a line that the caller has composed (no control characters). False: progress is not wanted here. */
bool progress_show(const char *line);

/* The bytes that a signal handler must write to leave a clean line on the terminal; NULL: none. Safe in a signal
 * handler. */
const char *progress_wipe(void);
