#include "base/format.h"
#include "cli/batch/batch_find.h"
#include "cli/batch/batch_join.h"
#include "cli/batch/batch_shard.h"
#include "cli/batch/batch_sidecar.h"
#include "cli/batch/batch_store.h"
#include "cli/batch/batch_workers.h"
#include "cli/browser.h"
#include "cli/exit_code.h"
#include "cli/memory.h"
#include "cli/terminal.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* "1 file failed", "2 files failed" */
static void note_count(uint32_t count, const char *what) {
    if (count != 0)
        terminal_note(NULL, "%s file%s %s", format_count(count).text, count == 1 ? "" : "s", what);
}

static int index_finish(struct index *index, struct batch *batch) {
    int number;
    if (!join_write(index, batch, &number))
        return number > 0 ? 128 + number : EXIT_CODE_FAILED;
    uint64_t compared = index->n_rows - index->n_copies;
    terminal_note(NULL, "\"%s/index.html\" compares %s recording%s", batch->directory,
                  format_count(compared).text, compared == 1 ? "" : "s");
    if (index->n_copies != 0)
        terminal_note(NULL, "%s more %s", format_count(index->n_copies).text,
                      index->n_copies == 1 ? "is a copy" : "are copies");
    enum { SHOWN = 5 };
    for (uint32_t i = 0; i < index->n_findings && i < SHOWN; i++)
        terminal_note(NULL, "%s", index->findings[i].title);
    if (index->n_findings > SHOWN)
        terminal_note(NULL, "and %" PRIu32 " more in the index", index->n_findings - SHOWN);
    note_count(index->n_skipped, "skipped");
    note_count(index->n_failed, "failed");
    browser_open(batch->settings, batch_text(batch, "%s/index.html", batch->directory));
    return index->n_failed == 0 && !batch->incomplete ? EXIT_CODE_DONE : EXIT_CODE_PARTLY;
}

/* Says that no snapshot was found, and what was found instead. Unreadable files have been reported already. */
static void nothing_say(const struct batch *batch) {
    uint32_t failed = batch_count(batch, BATCH_FAILED), others = batch->count - failed;
    char others_text[60] = "", failed_text[60] = "";
    if (others != 0 || failed == 0)
        snprintf(others_text, sizeof others_text, "; %" PRIu32 " other file%s %s seen", others,
                 others == 1 ? "" : "s", others == 1 ? "was" : "were");
    if (failed != 0)
        snprintf(failed_text, sizeof failed_text, "; %" PRIu32 " file%s could not be read", failed,
                 failed == 1 ? "" : "s");
    terminal_error(batch->settings->input, "no snapshot was found%s%s", others_text, failed_text);
}

/* Finds the files to convert and names them. False: printed. */
static bool batch_prepare(struct batch *batch, const struct rank_pattern *pattern) {
    batch_find(batch, pattern);
    if (batch_count(batch, BATCH_WAITING) + batch_count(batch, BATCH_ELSEWHERE) == 0) {
        nothing_say(batch);
        return false;
    }
    names_assign(batch);
    return true;
}

static void batch_resume(struct batch *batch) {
    for (uint32_t i = 0; i < batch->count; i++)
        if (batch->files[i].state == BATCH_WAITING && sidecar_is_current(batch, &batch->files[i]))
            batch->files[i].state = BATCH_UP_TO_DATE;
    note_count(batch_count(batch, BATCH_UP_TO_DATE), "up to date");
}

/* After the workers: prints what the shard leaves to do, or writes the index if there is only one shard. */
static int batch_finish(struct batch *batch) {
    struct index index;
    if (batch->settings->batch.shard == NULL) {
        join_batch(&index, batch);
        return index_finish(&index, batch);
    }
    const struct name_list none = {0};
    if (!store_finish(batch, &none))
        return EXIT_CODE_FAILED;
    uint32_t n_failed = batch_count(batch, BATCH_FAILED);
    note_count(batch_count(batch, BATCH_DONE), "done");
    note_count(n_failed, "failed");
    terminal_note(
        NULL, "when all shards are done, the same command with --resume instead of --shard writes the index");
    return n_failed == 0 ? EXIT_CODE_DONE : EXIT_CODE_PARTLY;
}

static int batch_convert_all(struct batch *batch) {
    struct store store;
    if (!store_open(&store, batch))
        return EXIT_CODE_FAILED;
    if (batch->settings->batch.resume)
        batch_resume(batch);
    int number = workers_run(batch);
    int code = number != 0 ? 128 + number : batch_finish(batch);
    store_close(&store);
    return code;
}

static int batch_work(struct batch *batch) {
    struct rank_pattern pattern;
    if (!shard_choose(batch, batch->settings->batch.shard))
        return EXIT_CODE_USAGE;
    if (!rank_pattern_init(&pattern, batch->settings->batch.rank_regex))
        return EXIT_CODE_USAGE;
    batch->pattern = &pattern;
    int code = batch_prepare(batch, &pattern) ? batch_convert_all(batch) : EXIT_CODE_FAILED;
    rank_pattern_release(&pattern);
    return code;
}

/* Refuses combinations of options that mean nothing. True: printed. */
static bool usage_is_wrong(const struct settings *settings) {
    const char *wrong = NULL;
    if (settings->output == NULL)
        wrong = "there is no output directory; -o DIR names it";
    else if (strcmp(settings->output, "-") == 0)
        wrong = "a batch writes many files; -o names a directory";
    for (uint32_t i = 0; i < settings->n_inputs; i++)
        if (strcmp(settings->inputs[i], "-") == 0 || settings->inputs[i][0] == '\0')
            wrong = "a batch reads files and directories, not standard input";
    if (wrong != NULL)
        terminal_error(NULL, "batch: %s", wrong);
    return wrong != NULL;
}

/* Drops slashes at the end of a directory's path: DIR/ and DIR are the same place. The root stays as it is. */
static const char *directory_plain(struct batch *batch, const char *path) {
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    return batch_text(batch, "%.*s", (int)length, path);
}

static int batch_run(const struct settings *settings) {
    struct batch batch = {.settings = settings, .shard = 1, .n_shards = 1};
    if (usage_is_wrong(settings))
        return EXIT_CODE_USAGE;
    arena_init(&batch.arena, memory_host(), settings->max_memory_nbytes);
    batch.directory = directory_plain(&batch, settings->output);
    int code = batch_work(&batch);
    arena_release(&batch.arena);
    return code;
}

const struct verb verb_batch = {
    .name = "batch",
    .bit = VERB_BATCH,
    .operands = "PATH... -o DIR",
    .summary = "many snapshots: a page for each, and an index that compares them",
    .about = "Finds the snapshots among PATHs, converts them side by side and writes into DIR, for each, a\n"
             "page, a sidecar NAME.strata.json (and with --png a picture), and index.html and summary.json, "
             "which say\n"
             "which rank is different and why. Ranks and steps are read from the files' names.\n"
             "A file that cannot be read fails alone. docs/cluster.md shows it under Slurm, Open MPI\n"
             "and Kubernetes.\n",
    .examples = "  strata batch dumps/ -o report/\n"
                "  strata batch dumps/ -o report/ -j 8 --png --resume\n"
                "  strata batch dumps/ -o report/ --pages odd\n"
                "  strata batch logs/ -o report/ --rank-regex 'node(\\d+)'\n"
                "  srun -n 64 strata batch dumps/ -o report/ --shard auto\n"
                "  strata batch dumps/ -o report/ --resume       # after it: writes the index\n",
    .exit_codes = "Exit codes: 0 done, 1 cannot read or write, 2 wrong usage, 4 some files failed, "
                  "or a timeline or difference could not be made.",
    .run = batch_run,
};
