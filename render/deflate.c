#define _POSIX_C_SOURCE 200809L /* sysconf */

#include "render/deflate.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>
#include <zlib.h>

enum {
    /* On a million events, level 9 takes seven times as long for 1 % less, level 1 half as long for 7 % more.
     */
    DEFLATE_LEVEL = 6,
    DEFLATE_MAX_THREADS = 64,
};

/* What the workers share. Each takes the next piece that nobody has taken, so which thread does which piece
 * is chance; a piece is a stream of its own, so its bytes are not. */
struct deflate_job {
    struct payload_piece *pieces;
    uint32_t n_pieces;
    atomic_uint next;
    atomic_bool failed;
    struct arena_host host;
    pthread_mutex_t host_lock;
};

static void *job_resize(struct deflate_job *job, void *ptr, size_t old_nbytes, size_t new_nbytes) {
    pthread_mutex_lock(&job->host_lock);
    ptr = job->host.resize(job->host.context, ptr, old_nbytes, new_nbytes);
    pthread_mutex_unlock(&job->host_lock);
    return ptr;
}

/* Deflates one piece with a stream that is fresh or reset. False: no memory. */
static bool piece_deflate(struct deflate_job *job, struct payload_piece *piece, z_stream *stream) {
    uLong bound = deflateBound(stream, piece->raw_nbytes);
    uint8_t *packed = job_resize(job, NULL, 0, bound);
    if (!packed)
        return false;
    stream->next_in = (z_const Bytef *)piece->raw;
    stream->avail_in = piece->raw_nbytes;
    stream->next_out = packed;
    stream->avail_out = (uInt)bound;
    bool done = deflate(stream, Z_FINISH) == Z_STREAM_END;
    uint8_t *fitted = done ? job_resize(job, packed, bound, stream->total_out) : NULL;
    if (!fitted) {
        job_resize(job, packed, bound, 0);
        return false;
    }
    piece->packed = fitted;
    piece->packed_nbytes = (uint32_t)stream->total_out;
    return deflateReset(stream) == Z_OK;
}

static void *job_work(void *argument) {
    struct deflate_job *job = argument;
    z_stream stream = {0};
    if (deflateInit(&stream, DEFLATE_LEVEL) != Z_OK) {
        atomic_store(&job->failed, true);
        return NULL;
    }
    while (!atomic_load(&job->failed)) {
        uint32_t piece = atomic_fetch_add(&job->next, 1);
        if (piece >= job->n_pieces)
            break;
        if (!piece_deflate(job, &job->pieces[piece], &stream))
            atomic_store(&job->failed, true);
    }
    deflateEnd(&stream);
    return NULL;
}

static unsigned threads_wanted(unsigned threads, uint32_t n_pieces) {
    if (threads == 0) {
        long cores = sysconf(_SC_NPROCESSORS_ONLN);
        threads = cores > 0 ? (unsigned)cores : 1;
    }
    if (threads > n_pieces)
        threads = n_pieces;
    return threads < DEFLATE_MAX_THREADS ? threads : DEFLATE_MAX_THREADS;
}

bool deflate_pieces(struct payload_piece *pieces, uint32_t n_pieces, unsigned threads,
                    struct arena_host host) {
    struct deflate_job job = {.pieces = pieces, .n_pieces = n_pieces, .host = host};
    pthread_mutex_init(&job.host_lock, NULL);
    for (uint32_t i = 0; i < n_pieces; i++)
        pieces[i].packed = NULL;

    /* The calling thread works too, so a system that refuses new threads only makes it slower. */
    pthread_t workers[DEFLATE_MAX_THREADS];
    unsigned n_workers = 0, wanted = threads_wanted(threads, n_pieces);
    while (n_workers + 1 < wanted && pthread_create(&workers[n_workers], NULL, job_work, &job) == 0)
        n_workers++;
    job_work(&job);
    for (unsigned i = 0; i < n_workers; i++)
        pthread_join(workers[i], NULL);
    pthread_mutex_destroy(&job.host_lock);

    if (atomic_load(&job.failed)) {
        deflate_release(pieces, n_pieces, host);
        return false;
    }
    return true;
}

void deflate_release(struct payload_piece *pieces, uint32_t n_pieces, struct arena_host host) {
    for (uint32_t i = 0; i < n_pieces; i++) {
        if (pieces[i].packed)
            host.resize(host.context, (void *)(uintptr_t)pieces[i].packed, pieces[i].packed_nbytes, 0);
        pieces[i].packed = NULL;
    }
}
