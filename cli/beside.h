/* One piece of work in a thread beside the one that asks for it, and memory that both may take at once: base/beside.h
 * implemented with threads. */
#pragma once

#include "base/beside.h"

#include <pthread.h>

struct beside {
    struct beside_hooks hooks;
    struct arena *memory; /* of both sides; touched only under the mutex */
    struct arena arena;   /* of the thread that asks */
    pthread_mutex_t mutex;
    pthread_t thread;
    void (*work)(void *argument);
    void *argument;
};

/* `memory` counts what both sides take, against its limit, and must outlive everything taken from it. Until
 * beside_release, only hooks.host may take from it; the side that asks takes from `arena`. `beside` must not move. */
void beside_init(struct beside *beside, struct arena *memory);

/* Releases `arena` too. No work may be running. */
void beside_release(struct beside *beside);
