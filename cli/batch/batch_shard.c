#include "cli/batch/batch_shard.h"

#include "cli/terminal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SHARDS_MAX = 1 << 20 };

/* Reads a number from the environment. False: the variable is not set, or is not a number. */
static bool environment_number(const char *name, uint64_t *number) {
    const char *value = name != NULL ? getenv(name) : NULL;
    return value != NULL && number_parse(value, 0, UINT32_MAX, number);
}

/* A scheduler's variables: this process's number from 0, and the number of processes. */
struct scheduler {
    const char *name;
    const char *index;
    const char *counts[3]; /* the first one that is set counts */
};

/* A launcher's own variables come before those of the scheduler it runs under: below mpirun, Slurm's variables describe
 * the launcher's daemon. */
static const struct scheduler launchers[] = {
    {"Open MPI", "OMPI_COMM_WORLD_RANK", {"OMPI_COMM_WORLD_SIZE"}},
    {"PMI", "PMI_RANK", {"PMI_SIZE"}},
    {"PMIx", "PMIX_RANK", {"PMIX_SIZE", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}},
};
static const struct scheduler slurm_tasks = {
    "Slurm", "SLURM_PROCID", {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}};
static const struct scheduler others[] = {
    {"Kubernetes", "JOB_COMPLETION_INDEX", {"JOB_COMPLETIONS", "WORLD_SIZE"}},
    {"RANK", "RANK", {"WORLD_SIZE"}},
};

struct part {
    const char *who;
    uint64_t index, count; /* count 0: unknown */
};

static bool scheduler_ask(const struct scheduler *scheduler, struct part *part) {
    *part = (struct part){.who = scheduler->name};
    if (!environment_number(scheduler->index, &part->index))
        return false;
    for (size_t i = 0; i < 3; i++)
        if (environment_number(scheduler->counts[i], &part->count))
            break;
    return true;
}

/* Slurm: a job array, each of whose jobs may have several tasks. */
static bool slurm_ask(struct part *part) {
    uint64_t id, least, count, step = 1;
    bool tasks = scheduler_ask(&slurm_tasks, part);
    /* A batch script without srun is one process, however many tasks were requested. */
    if (tasks && getenv("SLURM_JOB_ID") != NULL && getenv("SLURM_STEP_ID") == NULL)
        *part = (struct part){slurm_tasks.name, 0, 1};
    if (!environment_number("SLURM_ARRAY_TASK_ID", &id) ||
        !environment_number("SLURM_ARRAY_TASK_COUNT", &count))
        return tasks;
    if (!environment_number("SLURM_ARRAY_TASK_MIN", &least))
        least = 0;
    if (!environment_number("SLURM_ARRAY_TASK_STEP", &step) || step == 0)
        step = 1;
    struct part inner = tasks && part->count != 0 ? *part : (struct part){.count = 1};
    uint64_t job = id >= least ? (id - least) / step : 0;
    *part = (struct part){slurm_tasks.name, job * inner.count + inner.index, count * inner.count};
    return true;
}

static bool environment_ask(struct part *part) {
    for (size_t i = 0; i < sizeof launchers / sizeof launchers[0]; i++)
        if (scheduler_ask(&launchers[i], part))
            return true;
    if (slurm_ask(part))
        return true;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (scheduler_ask(&others[i], part))
            return true;
    return false;
}

static bool shard_auto(struct batch *batch, uint64_t count) {
    struct part part;
    if (!environment_ask(&part)) {
        terminal_error(
            NULL, "--shard auto: the environment names no scheduler (Open MPI, PMIx, Slurm, a Kubernetes "
                  "indexed job, RANK and WORLD_SIZE are known); give --shard I/N instead");
        return false;
    }
    part.count = count != 0 ? count : part.count;
    if (part.count == 0) {
        terminal_error(NULL,
                       "--shard auto: %s names the part but not the number of parts; give --shard auto/N",
                       part.who);
        return false;
    }
    if (part.count > SHARDS_MAX || part.index >= part.count) {
        terminal_error(NULL, "--shard auto: %s says part %" PRIu64 " of %" PRIu64 ", counted from 0",
                       part.who, part.index, part.count);
        return false;
    }
    batch->shard = (uint32_t)part.index + 1;
    batch->n_shards = (uint32_t)part.count;
    terminal_note(NULL, "shard %" PRIu32 "/%" PRIu32 ", as %s says", batch->shard, batch->n_shards, part.who);
    return true;
}

bool shard_choose(struct batch *batch, const char *text) {
    uint64_t index, count = 0;
    char first[24] = "";
    batch->shard = batch->n_shards = 1;
    if (text == NULL)
        return true;
    size_t length = strcspn(text, "/");
    snprintf(first, sizeof first, "%.*s", (int)(length < sizeof first ? length : 0), text);
    bool counted = text[length] == '/' && number_parse(text + length + 1, 1, SHARDS_MAX, &count);
    if (strcmp(first, "auto") == 0 && (counted || text[length] == '\0'))
        return shard_auto(batch, count);
    if (!counted || !number_parse(first, 1, count, &index)) {
        terminal_error(NULL, "--shard: \"%s\" is not valid; it is I/N with I from 1 to N, auto or auto/N",
                       text);
        return false;
    }
    batch->shard = (uint32_t)index;
    batch->n_shards = (uint32_t)count;
    return true;
}

bool shard_has(const struct batch *batch, const char *input) {
    return batch_hash(input) % batch->n_shards + 1 == batch->shard;
}
