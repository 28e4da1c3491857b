#include "cli/beside.h"

#include "cli/thread.h"

static void *guarded_resize(void *context, void *ptr, size_t old_nbytes, size_t new_nbytes) {
    struct beside *beside = context;
    struct arena_host host = arena_share(beside->memory);
    pthread_mutex_lock(&beside->mutex);
    void *moved = host.resize(host.context, ptr, old_nbytes, new_nbytes);
    pthread_mutex_unlock(&beside->mutex);
    return moved;
}

static void *thread_run(void *context) {
    struct beside *beside = context;
    beside->work(beside->argument);
    return NULL;
}

static bool begin(void *context, uint64_t nbytes, void (*work)(void *argument), void *argument) {
    struct beside *beside = context;
    if (beside->memory->limit_nbytes - beside->memory->used_nbytes < nbytes)
        return false;
    beside->work = work;
    beside->argument = argument;
    return thread_begin(&beside->thread, thread_run, beside);
}

static void end(void *context) {
    struct beside *beside = context;
    pthread_join(beside->thread, NULL);
}

void beside_init(struct beside *beside, struct arena *memory) {
    *beside = (struct beside){.hooks = {.begin = begin, .end = end, .host = {guarded_resize, beside}},
                              .memory = memory};
    beside->hooks.context = beside;
    pthread_mutex_init(&beside->mutex, NULL);
    arena_init(&beside->arena, beside->hooks.host, SIZE_MAX);
}

void beside_release(struct beside *beside) {
    arena_release(&beside->arena);
    pthread_mutex_destroy(&beside->mutex);
}
