/*
 * The files of a batch, as they pass through its stages:
 *
 *     batch_find --> batch_names --> batch_shard --> batch_workers --> batch_join --> index.html, summary.json
 *     paths          ranks, names    whose part      sidecars          rows
 */
#pragma once

#include "base/arena.h"
#include "cli/json_file.h"
#include "cli/options.h"

#include <sys/stat.h>

enum { BATCH_UNKNOWN = -1 }; /* the name tells no rank or no step */

/* Which recordings get pages; in the order of the words of --pages. */
enum batch_pages { PAGES_ALL, PAGES_ODD, PAGES_NONE };

enum batch_state {
    BATCH_WAITING,
    BATCH_ELSEWHERE,  /* belongs to another shard */
    BATCH_UP_TO_DATE, /* --resume found its results */
    BATCH_DONE,
    BATCH_FAILED,
    BATCH_SKIPPED, /* not a snapshot */
};

/* Strings belong to the batch's arena. */
struct batch_file {
    const char *path;  /* to open */
    const char *input; /* the name in results: relative to the command line's path */
    const char *name;  /* of its outputs, without ending: letters, digits, '.', '_' and '-' */
    int64_t rank, step, local_rank;
    const char *host; /* "node1", as the path has it; NULL: the path names none */
    /* names the ranks that do the same work, from the path or --rank-regex: "actor pp2"; NULL: unknown */
    const char *group;
    /* a number in the name that is a rank or a step; the other files of its family decide which */
    int64_t loose;
    uint64_t family;    /* hash of the path without that number */
    bool loose_is_step; /* unless the family counts from 0, which makes it a rank */
    uint64_t nbytes;
    int64_t mtime_ns;
    uint64_t device, inode; /* to recognise the same file under two names */
    bool named;             /* the command line names it */
    bool compressed;
    enum batch_state state;
    bool odd;           /* --pages odd: its page is wanted */
    const char *reason; /* of BATCH_FAILED and BATCH_SKIPPED */
    /* for BATCH_UP_TO_DATE, so that its sidecar is read only once; otherwise NULL */
    const struct index_row *row;
};

struct pool;
struct rank_pattern;
struct store;

struct batch {
    const struct settings *settings;
    struct store *store; /* NULL: not open yet */
    struct pool *pool;   /* workers that run now; NULL: none */
    const struct rank_pattern *pattern;
    const char *directory; /* of the outputs */
    struct arena arena;
    uint32_t count, capacity;
    struct batch_file *files; /* by rising `input` */
    uint32_t shard, n_shards; /* 1 of 1: everything */
    bool incomplete;          /* a page that the index should link to failed; this was printed */
};

/* Ends the run for lack of memory: prints that, kills the workers, removes staged and temporary files, and exits with
 * EXIT_CODE_FAILED. Files that have their names stay. Takes no memory. */
__attribute__((noreturn)) void batch_end(struct batch *batch);

static inline void batch_need(struct batch *batch, bool has_memory) {
    if (!has_memory)
        batch_end(batch);
}

/* Memory of the batch's arena; where there is none, the run ends. */
void *batch_alloc(struct batch *batch, size_t count, size_t item_nbytes); /* zeroed */
char *batch_text(struct batch *batch, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *batch_keep(struct batch *batch, const char *text); /* copies a text; NULL becomes "" */

/* Makes room for one more item than the `count` of a growing column. */
#define BATCH_GROW(batch, column, capacity, count) \
    batch_need((batch), ARENA_GROW(&(batch)->arena, column, capacity, (uint64_t)(count) + 1))

/* Reads a JSON file as json_file_read does, within what is left of the batch's memory. */
cJSON *batch_json(struct batch *batch, const char *path, struct json_fault *fault);

/* Adds a zeroed file without rank and step. */
struct batch_file *batch_add(struct batch *batch);

/* Counts the files in a state. O(files). */
uint32_t batch_count(const struct batch *batch, enum batch_state state);

/* Does each file get an export? */
static inline bool batch_exports(const struct batch *batch) {
    return batch->settings->export_kind != EXPORT_KINDS;
}

/* Does the file get a page? A shard cannot know which rows are odd, so it writes all; the final join removes pages. */
static inline bool batch_writes_page(const struct batch *batch, const struct batch_file *file) {
    const struct settings *settings = batch->settings;
    return settings->batch.pages == PAGES_ALL ||
           (settings->batch.pages == PAGES_ODD && (file->odd || settings->batch.shard != NULL));
}

/* When a file was changed, in nanoseconds since 1970. */
int64_t batch_mtime_ns(const struct stat *status);

/* A number that depends on the text only (64-bit FNV-1a): the same on every machine. */
uint64_t batch_hash(const char *text);
