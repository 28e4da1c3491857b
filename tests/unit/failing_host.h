/* Memory that is counted and fails on demand, for tests in which every allocation of a task fails in turn. After cmocka.h. */
#pragma once

#include "base/arena.h"

#include <stdbool.h>
#include <stdlib.h>

struct failing {
    long fail_at; /* this allocation fails, and all after it if `for_good`; -1: none */
    bool for_good;
    long n_calls;
    size_t nbytes; /* allocated and not yet freed */
};

static inline void *failing_resize(void *context, void *ptr, size_t old_nbytes, size_t new_nbytes) {
    struct failing *host = context;
    if (new_nbytes == 0) {
        host->nbytes -= old_nbytes;
        free(ptr);
        return NULL;
    }
    const long call = host->n_calls++;
    if (host->fail_at >= 0 && (host->for_good ? call >= host->fail_at : call == host->fail_at))
        return NULL;
    void *moved = realloc(ptr, new_nbytes);
    if (moved != NULL)
        host->nbytes += new_nbytes - old_nbytes;
    return moved;
}

static inline struct arena_host host_of(struct failing *host) {
    return (struct arena_host){failing_resize, host};
}

enum outcome {
    DONE,
    NO_MEMORY,
    WRONG /* another error than "no memory" */
};

/* A task starts without any memory, frees all that it takes, and returns its outcome. */
typedef enum outcome task(struct arena_host host, const void *input);

/* Lets each allocation of a task fail, alone and with all that follow. A task may survive the failure of a call that
 * only gives back the rest of a block (arena_trim) or that can use a smaller one, but never with a wrong answer or a
 * leak. If a task survives that all allocations fail from some point on, it also survives this from any later point.
 * Returns how many failures ended the task. */
static inline long fail_each(task *run, const void *input) {
    struct failing plenty = {.fail_at = -1};
    long n_refused = 0;
    assert_int_equal(run(host_of(&plenty), input), DONE);
    assert_int_equal(plenty.nbytes, 0);
    for (long i = 0; i < plenty.n_calls; i++) {
        struct failing forever = {.fail_at = i, .for_good = true}, once = {.fail_at = i};
        enum outcome outcome = run(host_of(&forever), input);
        assert_int_equal(outcome, n_refused == i ? outcome : DONE);
        assert_int_not_equal(outcome, WRONG);
        assert_int_equal(forever.nbytes, 0);
        n_refused += outcome == NO_MEMORY;
        assert_int_not_equal(run(host_of(&once), input), WRONG);
        assert_int_equal(once.nbytes, 0);
    }
    return n_refused;
}
