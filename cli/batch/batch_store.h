/*
 * The directory of the results. Files come into being in a staging directory of the shard,
 * DIR/.strata-I-of-N.tmp, and are renamed when they are complete, so that whatever is killed, no half of a file is seen
 * under its own name. The staging directory is locked: two batches cannot do the same part at once.
 *
 * A file in DIR is ours, and may be replaced or removed without -f, if a list of a batch's outputs,
 * DIR/shards/outputs-I-of-N.txt, names it with the fingerprint of its bytes.
 */
#pragma once

#include "base/hashed.h"
#include "cli/batch/batch.h"
#include "cli/batch/batch_names.h"
#include "cli/output.h"

#include <dirent.h>

/* A file that a batch has written. */
struct written {
    const char *name;        /* below the directory */
    const char *fingerprint; /* parser/fingerprint.h */
    uint32_t before;         /* another file that had this name; 0: none */
};

struct store {
    struct batch *batch;
    char *staging; /* path */
    /* of the staging directory, which is locked through it; open from the start, because removing files must not need
     * memory */
    DIR *entries;
    char *list_path;         /* of the own list of outputs */
    int list;                /* opened to add lines; -1: not open */
    struct written *written; /* [n_written], without the first */
    uint32_t n_written, capacity;
    struct row_table by_name; /* the last of each name */
};

/* Makes the output directory, with its parents, and the staging directory, removes leftovers of killed runs (of this
 * part and, without shards, of every part that nobody is working on), and reads the lists of outputs. False: printed,
 * nothing to close. */
bool store_open(struct store *store, struct batch *batch);

/* Removes the staging directory and its content. Takes no memory. */
void store_close(struct store *store);

/* Why the outputs of `file` cannot be put in place: a file that Strata did not write is there, and no -f was given.
 * NULL: they can. The text belongs to the batch's arena. O(bytes of what is there). */
const char *store_objection(struct batch *batch, const struct batch_file *file);

/* Gives the staged outputs of `file` their names, the sidecar last. NULL: done; otherwise the reason, in the
 * arena. */
const char *store_commit(struct store *store, const struct batch_file *file);

/* Removes the staged outputs of `file`. */
void store_discard(const struct store *store, const struct batch_file *file);

/* Removes NAME from the batch's directory, if it is ours. */
void store_remove(struct batch *batch, const char *name);

/* Removes the outputs of the file whose outputs are called STEM.ending: they no longer describe the input. */
void store_forget(struct batch *batch, const char *stem);

/* Removes what earlier runs wrote and `kept` (sorted names) lacks: with --resume and without shards all of it,
 * otherwise pages of differences; and writes the list anew. False: printed. */
bool store_finish(struct batch *batch, const struct name_list *kept);

/* Begins NAME in the batch's directory, which store_end ends: it appears whole or not at all and replaces only what is
 * ours (or anything with -f). False: printed, nothing to end. */
bool store_begin(struct output_file *file, struct batch *batch, const char *name, struct arena_host host);

/* False: it was not done, or a fault was printed. */
bool store_end(struct output_file *file, struct batch *batch, const char *name, bool done);
