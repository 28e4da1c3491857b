/*
 * The directory of the results. Files come into being in a staging directory of the shard,
 * DIR/.strata-I-of-N.tmp, and are renamed when they are complete, so that whatever is killed, no half of a file is seen
 * under its own name. The staging directory is locked: two batches cannot do the same part at once.
 */
#pragma once

#include "cli/batch/batch.h"
#include "cli/output.h"

#include <dirent.h>

struct store {
    struct batch *batch;
    char *staging; /* path */
    /* of the staging directory, which is locked through it; open from the start, because removing files must not need
     * memory */
    DIR *entries;
};

/* Makes the output directory, with its parents, and the staging directory, and removes leftovers of killed runs: of
 * this part and, without shards, of every part that nobody is working on. False: printed, nothing to close. */
bool store_open(struct store *store, struct batch *batch);

/* Removes the staging directory and its content. Takes no memory. */
void store_close(struct store *store);

/* Why the outputs of `file` cannot be put in place: a file that Strata did not write is there, and no -f was given.
 * NULL: they can. The text belongs to the batch's arena. */
const char *store_objection(struct batch *batch, const struct batch_file *file);

/* Gives the staged outputs of `file` their names, the sidecar last. NULL: done; otherwise the reason, in the
 * arena. */
const char *store_commit(const struct store *store, const struct batch_file *file);

/* Removes the staged outputs of `file`. */
void store_discard(const struct store *store, const struct batch_file *file);

/* Removes the file at `path`, if Strata wrote it, and the export that it names if it is a sidecar. */
void store_unlink(struct batch *batch, const char *path);

/* Removes the sidecar of `file` and its export: they no longer describe the input. */
void store_forget(struct batch *batch, const struct batch_file *file);

/* The same for NAME in the batch's directory; with the last file its folder is removed. */
void store_remove(struct batch *batch, const char *name);

/* Begins NAME in the batch's directory, which output_file_end ends: it appears whole or not at all and replaces only
 * what a batch has written (or anything with -f). False: printed, nothing to end. */
bool store_begin(struct output_file *file, struct batch *batch, const char *name, struct arena_host host);
