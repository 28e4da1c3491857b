/* Threads of the command line. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

/* Starts a thread with every signal blocked, because signals belong to the main thread, which owns the output. False:
 * the thread could not be started. */
bool thread_begin(pthread_t *thread, void *(*run)(void *context), void *context);
