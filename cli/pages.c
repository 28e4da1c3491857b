#include "cli/pages.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BLOCK_MOST = 32 }; /* a recording has some fifteen large columns; blocks beyond go without */

/* How far ahead of the bytes being read: the thread that reads is only a few of its blocks of 1 MiB before the parser,
 * and now and then skips its turn. */
enum { LEAD_NBYTES = 4 << 20 };

/* Fewer bytes are not worth a system call. */
enum { TAKEN_NBYTES_LEAST = 64 << 10 };

struct block {
    uint8_t *bytes; /* NULL: free */
    size_t nbytes;
    size_t full_nbytes;     /* written when it grew, with the file read up to */
    uint64_t full_position; /* here */
    size_t taken_nbytes;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static bool reading;
static uint64_t read_nbytes;
static struct block blocks[BLOCK_MOST];

bool pages_begin(void) {
    pthread_mutex_lock(&mutex);
    bool begun = !reading;
    reading = true;
    pthread_mutex_unlock(&mutex);
    return begun;
}

void pages_end(void) {
    pthread_mutex_lock(&mutex);
    reading = false;
    read_nbytes = 0;
    for (size_t i = 0; i < BLOCK_MOST; i++)
        blocks[i].bytes = NULL;
    pthread_mutex_unlock(&mutex);
}

/* The block at `bytes`; with NULL, a free place. NULL: there is none. */
static struct block *block_at(const void *bytes) {
    for (size_t i = 0; i < BLOCK_MOST; i++)
        if (blocks[i].bytes == bytes)
            return &blocks[i];
    return NULL;
}

void pages_grown(void *block, size_t full_nbytes, size_t nbytes) {
    pthread_mutex_lock(&mutex);
    struct block *own = read_nbytes != 0 ? block_at(NULL) : NULL;
    if (own != NULL)
        *own = (struct block){block, nbytes, full_nbytes, read_nbytes, full_nbytes};
    pthread_mutex_unlock(&mutex);
}

void pages_forget(const void *block) {
    pthread_mutex_lock(&mutex);
    struct block *own = block_at(block);
    if (own != NULL)
        own->bytes = NULL;
    pthread_mutex_unlock(&mutex);
}

#if defined(MADV_POPULATE_WRITE)
static void block_take(struct block *block) {
    double fill =
        (double)(read_nbytes + LEAD_NBYTES) / (double)block->full_position * (double)block->full_nbytes;
    size_t until = fill < (double)block->nbytes ? (size_t)fill : block->nbytes;
    if (until < block->taken_nbytes + TAKEN_NBYTES_LEAST)
        return;
    uintptr_t page_mask = (uintptr_t)sysconf(_SC_PAGESIZE) - 1;
    uint8_t *from = block->bytes + block->taken_nbytes, *to = block->bytes + until;
    from += -(uintptr_t)from & page_mask;
    to -= (uintptr_t)to & page_mask;
    if (from < to)
        (void)madvise(from, (size_t)(to - from), MADV_POPULATE_WRITE);
    block->taken_nbytes = until;
}
#else
static void block_take(struct block *block) {
    block->taken_nbytes = block->nbytes;
}
#endif

void pages_read_until(uint64_t position) {
    pthread_mutex_lock(&mutex);
    read_nbytes = position;
    pthread_mutex_unlock(&mutex);
}

void pages_take(void) {
    pthread_mutex_lock(&mutex);
    for (size_t i = 0; i < BLOCK_MOST; i++)
        if (blocks[i].bytes != NULL)
            block_take(&blocks[i]);
    pthread_mutex_unlock(&mutex);
}
