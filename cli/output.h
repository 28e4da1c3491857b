/*
 * The destination of a result. A file appears whole or not at all: it is written under a temporary name in the target's
 * directory and renamed. An existing file is kept unless forced, also if it appears while we work. Signals remove the
 * temporary file. Errors are printed here.
 */
#pragma once

#include "base/buffer.h"
#include "cli/input.h"

#include <signal.h>

struct output {
    char *path;    /* links followed; "-": standard output */
    char *shown;   /* for messages: before links are followed, "standard output" */
    bool in_place; /* standard output, a device or a pipe: there is nothing to rename */
    bool force;
};

struct output_request {
    /* as given: a file, a directory, "-", or NULL: beside the input, "-" for standard input */
    const char *path;
    const char *part, *ending; /* of a name that is not given: ".plan" or "", and ".html" */
    bool force;
    bool binary; /* must not be shown on a terminal */
};

/* Catches SIGINT, SIGTERM and SIGHUP (unless ignored by the parent): they remove the temporary file and exit
 * with 128 plus their number. A closed pipe and a file size limit become errors of write. */
void output_catch_signals(void);

/* Opens the standard descriptors that were closed at the start, so that messages never go into a file that we open.
 * Using one of them fails. False: a descriptor cannot be opened. */
bool output_fill_descriptors(void);

/* Restores what these two have changed, for a program that is about to be run: signals that we ignore, and descriptors
 * that were closed. (Handlers end by themselves at an exec.) */
void output_restore_process(void);

/* Blocks SIGCHLD and these signals, to be taken by sigtimedwait, but not those that the parent process ignores.
 * `waited`: what is blocked; `before`: the mask to restore. */
void output_wait_for_signals(const int *signals, size_t n_signals, sigset_t *waited, sigset_t *before);

/* Blocks the signals, so that the result can be doomed. They stay blocked until the thread's mask is `before` again. */
void output_hold_signals(sigset_t *before);

/* Makes these signals remove a directory too, if it is empty, until it is spared; in this process, not in its children.
 * `path` must stay valid as long. Two directories at most. */
void output_doom_directory(const char *path);
void output_spare_directory(const char *path);

/* Ends the process as these signals do, but with this exit code. */
__attribute__((noreturn)) void output_leave(int code);

/* Decides the target and refuses early what would fail in the end: an existing file without force, the input itself,
 * a directory that does not exist, a terminal. False: printed; nothing to release. */
bool output_choose(struct output *output, const struct output_request *request, const struct input *input);

/* Is the target another file than this input? For verbs with several inputs; output_choose has tested the input that it
 * was given. False: printed. */
bool output_spares(const struct output *output, const struct input *input);

/* Does the same for a file that is not open yet, such as the logs of --host. A device may be both. */
bool output_spares_path(const struct output *output, const char *path);

/*
 * Results are not held in memory. `out` starts as {0} or with a host and hands what is written into it to the target: a
 * renderer that fails leaves no trace, but what a pipe has read already. No file is there before the first 64 KiB.
 *
 *     struct output_stream stream;
 *     output_stream(&stream, &output, &out);
 *     code = render(&out);                     out.refused: the fault was printed already
 *     code = output_end(&stream, code);
 */
struct output_stream {
    const struct output *output;
    struct buffer *out;
    int fd; /* below 0: not open yet */
};
void output_stream(struct output_stream *stream, const struct output *output, struct buffer *out);

/*
 * Finishes a result whose `code` is EXIT_CODE_DONE: writes the rest, puts a file's bytes and its name on the disk, and
 * prints in a note where it is and how large. Any other result is abandoned without a trace, unless the disk fails
 * after the renaming. Returns an enum exit_code; a fault is printed (but not for a closed pipe).
 */
int output_end(struct output_stream *stream, int code);

/*
 * Standard output, or a file that we have named ourselves, which replaces what is there. It must stay where it is
 * between begin and end.
 *
 *     struct output_file file;
 *     output_file_begin(&file, path, shown, host);
 *     done = output_file_end(&file, render(&file.out));
 */
struct output_file {
    struct output output;
    /* takes the file's content; out.refused: the fault was printed already */
    struct buffer out;
    struct output_stream stream;
};

/* Begins the file. `path` ("-": standard output) and `shown`, the name for messages, are copied. */
void output_file_begin(struct output_file *file, const char *path, const char *shown, struct arena_host host);

/* Finishes the file; unless `done`, leaves no trace of it. False: it was not done, or a fault was printed. */
bool output_file_end(struct output_file *file, bool done);

/* Makes a directory and the missing ones above it. False: printed. */
bool output_directories_make(const char *path);

/* Removes NAME from the open directory if it is the temporary file of a run that was killed: nobody holds its lock.
 * Call it only on file systems whose locks hold for all writers. */
void output_sweep(int directory, const char *name);

/* Waits until renames in the directory of `path` are on the disk. False: errno. */
bool output_keep_names(const char *path);

void output_release(struct output *output);
