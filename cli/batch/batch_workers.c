#include "cli/batch/batch_workers.h"

#include "cli/batch/batch_convert.h"
#include "cli/batch/batch_store.h"
#include "cli/clock.h"
#include "cli/memory.h"
#include "cli/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LOG_CAPACITY = 4096 };

/* Memory that a conversion takes per byte of the file. Measured: a training run's 60 MB took 40 MiB; 15 MB in which no
 * two stacks are equal, the worst case, took 65 MiB; the same compressed to 1.3 MB took 63 MiB. */
static const uint64_t memory_factor = 3, memory_factor_compressed = 50;
static const uint64_t memory_least = 32 << 20;

struct worker {
    pid_t pid; /* 0: idle */
    struct batch_file *file;
    uint64_t reserved_nbytes;
    int log;         /* its standard error, in memory: a full disk must not cost the reason */
    int64_t ends_us; /* then its file has taken too long */
};

/* The progress of a batch: a line that is rewritten on a terminal, otherwise a note every ten seconds. */
struct progress {
    uint32_t n_files, n_done;
    uint64_t nbytes, done_nbytes;
    int64_t start_us, noted_us;
};

struct pool {
    struct batch *batch;
    struct batch_file **queue; /* largest first; [next] is the next to start */
    struct batch_file **again; /* to be tried again, alone */
    uint32_t n_queue, next, n_again;
    struct worker *workers;
    uint32_t n_workers, n_running;
    uint64_t memory_nbytes, reserved_nbytes;
    sigset_t waited, before;
    struct progress progress;
};

/* ---- progress ---- */

static void progress_add(struct progress *progress, uint64_t nbytes) {
    progress->n_done++;
    progress->done_nbytes += nbytes;
}

static void progress_tell(struct progress *progress) {
    enum { NOTE_INTERVAL_US = 10 * 1000000 };
    char left[64] = "", text[256];
    int64_t now = clock_us();
    uint64_t done_nbytes = progress->done_nbytes;
    if (done_nbytes != 0 && done_nbytes < progress->nbytes)
        snprintf(left, sizeof left, ", %s left",
                 progress_left(now - progress->start_us, done_nbytes, progress->nbytes - done_nbytes).text);
    snprintf(text, sizeof text, "%s of %s files, %s of %s%s", format_count(progress->n_done).text,
             format_count(progress->n_files).text, format_bytes(done_nbytes).text,
             format_bytes(progress->nbytes).text, left);
    if (progress_show(text) || now - progress->noted_us < NOTE_INTERVAL_US)
        return;
    progress->noted_us = now;
    terminal_note(NULL, "%s", text);
}

/* ---- resources ---- */

static uint32_t cores(void) {
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return count > 0 ? (uint32_t)count : 1;
}

static uint64_t file_estimate(const struct batch_file *file) {
    uint64_t factor = file->compressed ? memory_factor_compressed : memory_factor;
    return file->nbytes > (UINT64_MAX - memory_least) / factor ? UINT64_MAX
                                                               : file->nbytes * factor + memory_least;
}

/* The memory to reserve for a file: an even share, more if the file is large, never more than there is. */
static uint64_t file_reservation(const struct pool *pool, const struct batch_file *file) {
    uint64_t even = pool->memory_nbytes / pool->n_workers, wanted = file_estimate(file);
    uint64_t more = wanted > even ? wanted : even;
    return more < pool->memory_nbytes ? more : pool->memory_nbytes;
}

/* ---- one worker ---- */

/* Runs the process of one file. What it writes to standard error becomes the reason. */
__attribute__((noreturn)) static void worker_main(const struct pool *pool, const struct worker *worker,
                                                  pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody takes the results of a worker without its parent */
    if (getppid() != parent)
        _exit(CONVERT_FAILED);
    setpgid(0, 0); /* the terminal's Ctrl-C reaches the parent only, which kills its workers */
    if (dup2(worker->log, STDERR_FILENO) < 0)
        _exit(CONVERT_FAILED);
    for (uint32_t i = 0; i < pool->n_workers; i++) /* they count towards what this process may open */
        if (pool->workers[i].pid != 0)
            close(pool->workers[i].log);
    pthread_sigmask(SIG_SETMASK, &pool->before, NULL);
    terminal_init(true, COLOR_NEVER);
    memory_end_with(CONVERT_NO_MEMORY);
    enum convert_code code = batch_convert(pool->batch, worker->file, pool->batch->store->staging,
                                           (size_t)worker->reserved_nbytes);
    _exit((int)code);
}

static void file_fail(struct batch_file *file, const char *reason) {
    file->state = BATCH_FAILED;
    file->reason = reason;
    terminal_error(file->path, "%s", file->reason);
}

/* False: the system has no room for one more process or file now, but a worker's end will give it some. */
static bool worker_start(struct pool *pool, struct batch_file *file, uint64_t reserved_nbytes) {
    struct worker *worker = pool->workers;
    while (worker->pid != 0)
        worker++;
    *worker =
        (struct worker){.file = file,
                        .reserved_nbytes = reserved_nbytes,
                        .ends_us = clock_us() + (int64_t)pool->batch->settings->batch.max_seconds * 1000000};
    worker->log = memfd_create("strata-log", MFD_CLOEXEC);
    pid_t parent = getpid();
    int spare = worker->log >= 0 ? fcntl(worker->log, F_DUPFD_CLOEXEC, 0) : -1;
    if (spare >= 0) /* putting results in place needs one more */
        close(spare);
    worker->pid = spare >= 0 ? fork() : -1;
    if (worker->pid == 0)
        worker_main(pool, worker, parent);
    if (worker->pid < 0) {
        int error = errno;
        if (worker->log >= 0)
            close(worker->log);
        worker->pid = 0;
        if (pool->n_running != 0)
            return false;
        file_fail(file, batch_text(pool->batch, "cannot start a worker: %s", strerror(error)));
        progress_add(&pool->progress, file->nbytes);
        return true;
    }
    pool->reserved_nbytes += reserved_nbytes;
    pool->n_running++;
    return true;
}

/* The last message of a worker without "strata: "FILE": " before it. NULL: it said nothing. */
static const char *worker_reason(struct batch *batch, const struct worker *worker) {
    char text[LOG_CAPACITY];
    off_t end = lseek(worker->log, 0, SEEK_END);
    off_t from = end > (off_t)sizeof text - 1 ? end - ((off_t)sizeof text - 1) : 0;
    ssize_t n = pread(worker->log, text, sizeof text - 1, from);
    if (n <= 0)
        return NULL;
    text[n] = '\0';
    char *last = NULL;
    for (char *at = text; (at = strstr(at, "strata: ")) != NULL; at++)
        if (at == text || at[-1] == '\n')
            last = at + strlen("strata: ");
    if (last == NULL)
        last = text;
    last[strcspn(last, "\n")] = '\0';
    char *quoted = last[0] == '"' ? strstr(last + 1, "\": ") : NULL;
    return batch_text(batch, "%s", quoted != NULL ? quoted + 3 : last);
}

static const char *reason_or_code(struct batch *batch, const struct worker *worker, int code) {
    const char *reason = worker_reason(batch, worker);
    return reason != NULL ? reason : batch_text(batch, "its worker ended with code %d", code);
}

static void worker_done(struct pool *pool, struct batch_file *file) {
    const char *reason = store_commit(pool->batch->store, file);
    if (reason != NULL)
        file_fail(file, reason);
    else
        file->state = BATCH_DONE;
}

static void worker_killed(struct pool *pool, struct batch_file *file, int number) {
    const char *hint = number == SIGKILL ? ", as happens when memory runs out" : "";
    if (number == SIGALRM) {
        file_fail(file, batch_text(pool->batch, "took longer than %" PRIu32 " s; --max-time allows more",
                                   pool->batch->settings->batch.max_seconds));
        return;
    }
    file_fail(file, batch_text(pool->batch, "its worker was killed by signal %d (%s)%s", number,
                               strsignal(number), hint));
}

/* Settles the state of a worker's file by its exit status. */
static void worker_conclude(struct pool *pool, const struct worker *worker, int status) {
    struct batch_file *file = worker->file;
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    bool had_less = worker->reserved_nbytes < pool->memory_nbytes;
    if (WIFSIGNALED(status))
        worker_killed(pool, file, WTERMSIG(status));
    else if (code == CONVERT_DONE)
        worker_done(pool, file);
    else if (code == CONVERT_NO_MEMORY && had_less)
        pool->again[pool->n_again++] = file;
    else if (code == CONVERT_NO_SNAPSHOT) {
        file->state = BATCH_SKIPPED;
        file->reason = reason_or_code(pool->batch, worker, code);
    } else
        file_fail(file, reason_or_code(pool->batch, worker, code));
    if (file->state != BATCH_DONE) /* otherwise all staged files have their names */
        store_discard(pool->batch->store, file);
    if (file->state == BATCH_FAILED || file->state == BATCH_SKIPPED)
        store_forget(pool->batch, file->name);
    if (file->state != BATCH_WAITING)
        progress_add(&pool->progress, file->nbytes);
}

static void worker_end(struct pool *pool, struct worker *worker, int status) {
    worker_conclude(pool, worker, status);
    close(worker->log);
    pool->reserved_nbytes -= worker->reserved_nbytes;
    pool->n_running--;
    worker->pid = 0;
}

/* ---- the pool ---- */

static bool pool_has_room(const struct pool *pool, uint64_t nbytes) {
    return pool->n_running == 0 ||
           (pool->n_running < pool->n_workers && nbytes <= pool->memory_nbytes - pool->reserved_nbytes);
}

/* Checks for an objection just before the work, so that the work is not wasted. False: the file has failed. */
static bool file_admit(struct pool *pool, struct batch_file *file) {
    const char *objection = store_objection(pool->batch, file);
    if (objection == NULL)
        return true;
    file_fail(file, objection);
    progress_add(&pool->progress, file->nbytes);
    return false;
}

static void pool_start(struct pool *pool) {
    while (pool->next < pool->n_queue) {
        struct batch_file *file = pool->queue[pool->next];
        uint64_t nbytes = file_reservation(pool, file);
        if (!pool_has_room(pool, nbytes))
            return;
        if (file_admit(pool, file) && !worker_start(pool, file, nbytes))
            return;
        pool->next++;
    }
    while (pool->n_running == 0 && pool->n_again != 0)
        (void)worker_start(pool, pool->again[--pool->n_again], pool->memory_nbytes);
}

static void pool_reap(struct pool *pool) {
    for (uint32_t i = 0; i < pool->n_workers; i++) {
        struct worker *worker = &pool->workers[i];
        int status;
        if (worker->pid != 0 && clock_us() > worker->ends_us)
            kill(worker->pid, SIGALRM);
        if (worker->pid != 0 && waitpid(worker->pid, &status, WNOHANG) == worker->pid)
            worker_end(pool, worker, status);
    }
}

void workers_kill(struct pool *pool) {
    for (uint32_t i = 0; i < pool->n_workers; i++) {
        struct worker *worker = &pool->workers[i];
        if (worker->pid == 0)
            continue;
        kill(worker->pid, SIGKILL);
        while (waitpid(worker->pid, NULL, 0) < 0 && errno == EINTR)
            ;
        close(worker->log);
        worker->pid = 0;
    }
}

/* Waits for a worker's end or a signal to us. Returns that signal, or 0. */
static int pool_wait(struct pool *pool) {
    struct timespec moment = {.tv_sec = 0, .tv_nsec = 200 * 1000 * 1000};
    int number = sigtimedwait(&pool->waited, NULL, &moment);
    progress_tell(&pool->progress);
    return number > 0 && number != SIGCHLD ? number : 0;
}

static int pool_loop(struct pool *pool) {
    int number = 0;
    for (;;) {
        pool_start(pool);
        if (number != 0 || pool->n_running == 0)
            break;
        number = pool_wait(pool);
        if (number == 0)
            pool_reap(pool);
    }
    if (number != 0)
        workers_kill(pool);
    return number;
}

/* Blocks the signals that ask the batch to stop; pool_wait takes them. */
static void pool_block_signals(struct pool *pool) {
    static const int stops[] = {SIGINT, SIGTERM, SIGHUP};
    output_wait_for_signals(stops, sizeof stops / sizeof stops[0], &pool->waited, &pool->before);
}

static int larger_first(const void *a, const void *b) {
    const struct batch_file *x = *(const struct batch_file *const *)a,
                            *y = *(const struct batch_file *const *)b;
    if (x->nbytes != y->nbytes)
        return x->nbytes > y->nbytes ? -1 : 1;
    return strcmp(x->input, y->input);
}

static void pool_init(struct pool *pool, struct batch *batch) {
    const struct settings *settings = batch->settings;
    *pool = (struct pool){.batch = batch, .progress.start_us = clock_us()};
    pool->progress.noted_us = pool->progress.start_us;
    pool->n_workers = settings->batch.jobs != 0 ? settings->batch.jobs : cores();
    pool->memory_nbytes = settings->max_memory_nbytes;
    pool->queue = batch_alloc(batch, batch->count, sizeof *pool->queue);
    pool->again = batch_alloc(batch, batch->count, sizeof *pool->again);
    pool->workers = batch_alloc(batch, pool->n_workers, sizeof *pool->workers);
    for (uint32_t i = 0; i < batch->count; i++)
        if (batch->files[i].state == BATCH_WAITING) {
            pool->queue[pool->n_queue++] = &batch->files[i];
            pool->progress.nbytes += batch->files[i].nbytes;
        }
    pool->progress.n_files = pool->n_queue;
    qsort(pool->queue, pool->n_queue, sizeof *pool->queue, larger_first);
}

int workers_run(struct batch *batch) {
    struct pool pool;
    pool_init(&pool, batch);
    batch->pool = &pool;
    pool_block_signals(&pool);
    int number = pool_loop(&pool);
    progress_end();
    pthread_sigmask(SIG_SETMASK, &pool.before, NULL);
    batch->pool = NULL;
    return number;
}
