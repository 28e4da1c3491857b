/*
 * The destination of a result. A file appears whole or not at all: it is written under a temporary name in the
 * target's directory and renamed. Existing files are kept unless forced, also when they appear while we work.
 * Signals remove the temporary file. Errors are printed here.
 */
#pragma once

#include "base/buffer.h"
#include "cli/input.h"

#include <signal.h>
#include <stddef.h>

struct output {
    char *path;    /* links followed; "-": standard output */
    char *shown;   /* for messages: before links are followed, "standard output" */
    bool in_place; /* standard output, a device or a pipe: there is nothing to rename */
    bool force;
};

struct output_request {
    /* as given: a file, a directory, "-", or NULL: beside the input, "-" for standard input */
    const char *path;
    const char *ending; /* such as ".html" */
    bool force;
    bool binary; /* not for a terminal's eyes */
};

/* Catches SIGINT, SIGTERM and SIGHUP (unless ignored by the parent): they remove the temporary file and exit
 * with 128 plus their number. A closed pipe and a file size limit become errors of write. */
void output_catch_signals(void);

/* For a program that is to be run: what output_catch_signals() ignored is as it was. Handlers end by themselves. */
void output_restore_signals(void);

/* The signals stay blocked until the thread's mask is `before` again, so that the result can be doomed. */
void output_hold_signals(sigset_t *before);

/* A directory that these signals remove too where it is empty, of this process and not of its children, until it is spared.
 * `path` must stay where it is as long; two at most. */
void output_doom_directory(const char *path);
void output_spare_directory(const char *path);

/*
 * Decides the target and refuses early what would be refused in the end: an existing file without force, the
 * input itself, a directory that is not there, a terminal. False: printed; release nothing.
 */
bool output_choose(struct output *output, const struct output_request *request, const struct input *input);

/* Is the target another file than this input? For verbs with several inputs; output_choose has tested the one given
 * to it. False: printed. */
bool output_spares(const struct output *output, const struct input *input);

/* The same for a file that is not open yet, such as rules; NULL: none. A device may be both. */
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
 * Finishes a result whose `code` is EXIT_CODE_DONE: the rest is written, and a file's bytes and its name are on the disk
 * when it returns; a note says where it is and how large. Any other result is abandoned without a trace, unless the disk
 * fails after the renaming.
 * Returns an enum exit_code; a fault is printed (but not for a closed pipe).
 */
int output_end(struct output_stream *stream, int code);

/*
 * Standard output, or a file that we have named ourselves, which replaces what is there. It must stay where it is between
 * begin and end.
 *
 *     struct output_file file;
 *     done = output_file_begin(&file, path, shown, host) && output_file_end(&file, render(&file.out));
 */
struct output_file {
    struct output output;
    /* the file's content is written into it; out.refused: the fault was printed already */
    struct buffer out;
    struct output_stream stream;
};

/* `path` ("-": standard output) and `shown`, the name for messages, come from malloc and are the file's from now on, also
 * after a failure. False: one of them is NULL, and it is printed that there is no memory; nothing to end. */
bool output_file_begin(struct output_file *file, char *path, char *shown, struct arena_host host);

/* Finishes the file, or leaves no trace of it where it is not `done`. False: not done, or printed. */
bool output_file_end(struct output_file *file, bool done);

/* Removes NAME from the open directory, if it is the temporary file of a run that was killed: no living one holds its lock.
 * Only for file systems whose locks hold for all who write there. */
void output_sweep(int directory, const char *name);

/* Waits until renames in the directory of `path` are on the disk. False: errno. */
bool output_keep_names(const char *path);

void output_release(struct output *output);
