/* One worker's part of a batch that a scheduler spreads over machines. */
#ifndef STRATA_CLI_BATCH_BATCH_SHARD_H
#define STRATA_CLI_BATCH_BATCH_SHARD_H

#include "cli/batch/batch.h"

/*
 * Understands "2/8", "auto" and "auto/8": sets batch->shard (from 1) and batch->n_shards. "auto" asks the environment
 * for Open MPI, PMI, PMIx, Slurm (tasks and arrays), Kubernetes' indexed jobs and RANK/WORLD_SIZE, in this order. NULL:
 * everything. False: printed.
 */
bool shard_choose(struct batch *batch, const char *text);

/*
 * Marks what other shards do as BATCH_ELSEWHERE. The largest files are dealt first, each to the shard with the fewest
 * bytes so far, equal ones in an order by hash: every worker that sees the same files deals them the same way, whatever
 * order it found them in. O(n log n). False: no memory.
 */
bool shard_deal(struct batch *batch);

/* A number that is the same for workers that see the same files (paths and sizes). */
uint64_t shard_fingerprint(const struct batch *batch);

#endif
