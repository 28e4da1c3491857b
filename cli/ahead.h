/*
 * Reads a source ahead in a thread of its own, into a ring of blocks, so that producer and consumer of the bytes do
 * not wait for each other:
 *
 *     source --> | block | block | block | block | --ahead_lend--> user
 *       thread       `-- seen
 *
 * Takes memory for the ring only. One thread uses it at a time.
 */
#pragma once

#include "parser/read.h"

struct ahead;

/* Gets every block in order, in the reading thread; the user may have the block already. */
struct ahead_watcher {
    void (*seen)(void *context, const void *bytes, size_t nbytes); /* NULL: none */
    void *context;
};

/* Starts to read. The source belongs to the thread until ahead_stop. NULL: no memory or no thread. */
struct ahead *ahead_new(struct read_source source, struct ahead_watcher watcher);

/* The two functions of a read_source with an ahead as its context. */
int64_t ahead_read(void *context, void *to, size_t nbytes);
int64_t ahead_lend(void *context, uint8_t **bytes);

/* Ends the thread. With `draining`, it first reads to the end of the source and shows everything to the watcher;
 * otherwise it ends as soon as its present read returns. Then the source is the caller's again, behind whatever was
 * read, and the ring is gone with all blocks that were lent. Returns the errno of a failed read, or 0. A second call
 * does nothing. */
int ahead_stop(struct ahead *ahead, bool draining);

/* Ends the thread if it still runs. NULL is fine. */
void ahead_free(struct ahead *ahead);
