#include "cli/ahead.h"

#include "cli/thread.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A block is large enough that a system call and a wake-up cost nothing beside it, and small enough for the cache. */
enum { BLOCK_NBYTES = 1 << 20, BLOCK_COUNT = 4, LENT_COUNT = 2 };

struct ahead_block {
    uint8_t *bytes; /* READ_LENT_ROOM bytes into the block */
    size_t nbytes;
};

struct ahead {
    struct read_source source;
    struct ahead_watcher watcher;
    pthread_t thread;
    bool started;

    pthread_mutex_t mutex; /* guards the members below */
    pthread_cond_t changed;
    uint64_t filled, emptied; /* blocks, counted from the beginning */
    bool ended, draining, stopped;
    int error; /* errno of a failed read */
    struct ahead_block block[BLOCK_COUNT];

    /* the user's side */
    size_t used;   /* in the current block, if it is read and not lent */
    uint64_t lent; /* blocks from `emptied` on, including the current one; at most two */
};

/* Returns the next block to fill. NULL: the reading was stopped. */
static struct ahead_block *block_claim(struct ahead *ahead) {
    pthread_mutex_lock(&ahead->mutex);
    while (ahead->filled - ahead->emptied == BLOCK_COUNT && !ahead->draining && !ahead->stopped)
        pthread_cond_wait(&ahead->changed, &ahead->mutex);
    struct ahead_block *block = ahead->stopped ? NULL : &ahead->block[ahead->filled % BLOCK_COUNT];
    pthread_mutex_unlock(&ahead->mutex);
    return block;
}

/* Hands a block to the user's side. `n` is 0 at the end, below 0 after a failure with errno. */
static void block_publish(struct ahead *ahead, struct ahead_block *block, int64_t n) {
    int error = errno;
    pthread_mutex_lock(&ahead->mutex);
    if (n > 0) {
        block->nbytes = (size_t)n;
        ahead->filled++;
    } else {
        ahead->ended = true;
        ahead->error = n < 0 ? error : 0;
    }
    pthread_cond_signal(&ahead->changed);
    pthread_mutex_unlock(&ahead->mutex);
}

static void *thread_run(void *context) {
    struct ahead *ahead = context;
    for (struct ahead_block *block; (block = block_claim(ahead)) != NULL;) {
        int64_t n = ahead->source.read(ahead->source.context, block->bytes, BLOCK_NBYTES);
        block_publish(ahead, block, n);
        if (n <= 0)
            break;
        /* Nobody fills this block before this thread claims it again, so the watcher may read it while the user
         * does. */
        if (ahead->watcher.seen != NULL)
            ahead->watcher.seen(ahead->watcher.context, block->bytes, (size_t)n);
    }
    return NULL;
}

static bool block_init(struct ahead_block *block) {
    uint8_t *room = malloc(READ_LENT_ROOM + BLOCK_NBYTES);
    block->bytes = room != NULL ? room + READ_LENT_ROOM : NULL;
    return room != NULL;
}

static void blocks_free(struct ahead *ahead) {
    for (size_t i = 0; i < BLOCK_COUNT; i++) {
        if (ahead->block[i].bytes != NULL)
            free(ahead->block[i].bytes - READ_LENT_ROOM);
        ahead->block[i].bytes = NULL;
    }
}

struct ahead *ahead_new(struct read_source source, struct ahead_watcher watcher) {
    struct ahead *ahead = calloc(1, sizeof *ahead);
    if (ahead == NULL)
        return NULL;
    *ahead = (struct ahead){.source = source, .watcher = watcher};
    pthread_mutex_init(&ahead->mutex, NULL);
    pthread_cond_init(&ahead->changed, NULL);
    bool ready = true;
    for (size_t i = 0; i < BLOCK_COUNT; i++)
        ready = block_init(&ahead->block[i]) && ready;
    ahead->started = ready && thread_begin(&ahead->thread, thread_run, ahead);
    if (ahead->started)
        return ahead;
    ahead_free(ahead);
    return NULL;
}

/* Waits for the block after the lent ones. NULL: the source has ended or failed. */
static struct ahead_block *block_wait(struct ahead *ahead) {
    pthread_mutex_lock(&ahead->mutex);
    uint64_t next = ahead->emptied + ahead->lent;
    while (ahead->filled == next && !ahead->ended)
        pthread_cond_wait(&ahead->changed, &ahead->mutex);
    bool filled = ahead->filled != next;
    pthread_mutex_unlock(&ahead->mutex);
    return filled ? &ahead->block[next % BLOCK_COUNT] : NULL;
}

static void blocks_release(struct ahead *ahead, uint64_t count) {
    pthread_mutex_lock(&ahead->mutex);
    ahead->emptied += count;
    pthread_cond_signal(&ahead->changed);
    pthread_mutex_unlock(&ahead->mutex);
}

static void lent_release(struct ahead *ahead, uint64_t count) {
    ahead->lent -= count;
    blocks_release(ahead, count);
}

/* Answers a reader when no block is left: 0 at the end, -1 with errno after a failed read. */
static int64_t end_tell(const struct ahead *ahead) {
    errno = ahead->error;
    return ahead->error != 0 ? -1 : 0;
}

int64_t ahead_read(void *context, void *to, size_t nbytes) {
    struct ahead *ahead = context;
    if (ahead->lent != 0)
        lent_release(ahead, ahead->lent);
    struct ahead_block *block = block_wait(ahead);
    if (block == NULL)
        return end_tell(ahead);
    size_t left = block->nbytes - ahead->used;
    size_t n = left < nbytes ? left : nbytes;
    memcpy(to, block->bytes + ahead->used, n);
    ahead->used += n;
    if (ahead->used == block->nbytes) {
        ahead->used = 0;
        blocks_release(ahead, 1);
    }
    return (int64_t)n;
}

int64_t ahead_lend(void *context, uint8_t **bytes) {
    struct ahead *ahead = context;
    if (ahead->lent == LENT_COUNT)
        lent_release(ahead, 1);
    struct ahead_block *block = block_wait(ahead);
    if (block == NULL)
        return end_tell(ahead);
    ahead->lent++;
    *bytes = block->bytes;
    return (int64_t)block->nbytes;
}

int ahead_stop(struct ahead *ahead, bool draining) {
    if (!ahead->started)
        return ahead->error;
    pthread_mutex_lock(&ahead->mutex);
    ahead->draining = draining;
    ahead->stopped = !draining;
    pthread_cond_signal(&ahead->changed);
    pthread_mutex_unlock(&ahead->mutex);
    pthread_join(ahead->thread, NULL);
    ahead->started = false;
    blocks_free(ahead); /* frees the ring now: the work that follows takes as much memory as reading does */
    return ahead->error;
}

void ahead_free(struct ahead *ahead) {
    if (ahead == NULL)
        return;
    ahead_stop(ahead, false);
    blocks_free(ahead);
    pthread_cond_destroy(&ahead->changed);
    pthread_mutex_destroy(&ahead->mutex);
    free(ahead);
}
