/* Threads of the command line. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

/* Starts a thread with every signal blocked: signals belong to the main thread, which owns the output. False: there is
 * none. */
bool thread_begin(pthread_t *thread, void *(*run)(void *context), void *context);
