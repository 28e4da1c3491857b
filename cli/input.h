/*
 * A snapshot's bytes and their fingerprint. A second thread reads ahead and hashes each block after the parser may have
 * it, so neither waits for the other; what is packed is unpacked in a third one (cli/ahead.h is the ring of blocks):
 *
 *     file --read(2)--> ring --> parser                      of a plain file
 *     file --read(2)--> ring --inflate--> ring --> parser    of a .gz
 *                         `-- fingerprint
 *
 * Memory: the rings, whatever the size of the file. Errors are printed here.
 */
#pragma once

#include "parser/fingerprint.h"
#include "parser/read.h"

#include <sys/stat.h>

struct input {
    const char *name;   /* the name for outputs: without the directory; "stdin" for standard input */
    const char *shown;  /* the name for messages: as given, or "standard input" */
    const char *path;   /* as given; "-": standard input */
    struct stat status; /* of the open file */
    struct input_reader *reader;
};

/* Opens `path` and begins to read ahead. Directories and terminals are refused. False: printed, nothing is
 * open. */
bool input_open(struct input *input, const char *path);

/* The bytes in order. The source is valid until input_finish or input_close. */
struct read_source input_source(struct input *input);

/* Bytes handed out by the source so far. */
uint64_t input_position(const struct input *input);

/* Reads the rest that the parser left (anything may follow a pickle) and computes the fingerprint of the whole file
 * as it is stored, packed or not. False: printed. */
bool input_finish(struct input *input, char fingerprint[FINGERPRINT_CHARACTERS + 1]);

/* Stops reading, closes the file and frees everything. Call it after input_finish too. */
void input_close(struct input *input);
