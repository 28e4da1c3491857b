/* One worker's part of a batch that a scheduler spreads over machines. */
#pragma once

#include "cli/batch/batch.h"

/*
 * Sets batch->shard (from 1) and batch->n_shards from "2/8", "auto" or "auto/8". "auto" asks the environment for Open
 * MPI, PMI, PMIx, Slurm (tasks and arrays), Kubernetes' indexed jobs and RANK/WORLD_SIZE, in this order. NULL: one
 * shard has everything. False: printed.
 */
bool shard_choose(struct batch *batch, const char *text);

/* Does this shard convert the file that results call `input`? A hash of the name decides, so a worker needs to know
 * nothing of other files. */
bool shard_has(const struct batch *batch, const char *input);
