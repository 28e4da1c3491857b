#include "cli/memory.h"

#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/run/cgroup.h"
#include "cli/terminal.h"

#include <assert.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif
#include <stdalign.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* arena.h promises an alignment of 16 bytes. */
static_assert(alignof(max_align_t) >= 16, "realloc aligns less than arenas promise");

/*
 * The block that was freed last, if it is a large one. The next large block is made of it, so that the system need
 * not clear its pages again: the memo of a pickle becomes the curve of live bytes. Begins with its size. NULL: there
 * is none.
 */
static _Atomic(size_t *) spare;
enum { SPARE_NBYTES_LEAST = 4 << 20, LARGE_NBYTES = 1 << 20 };

/* Frees a block, or keeps it and frees the one kept before. */
static void block_free(void *ptr, size_t nbytes) {
    size_t *kept = nbytes >= SPARE_NBYTES_LEAST ? ptr : NULL;
    if (kept != NULL)
        *kept = nbytes;
    free(kept == NULL ? ptr : atomic_exchange(&spare, kept));
}

/* A new block. A large one is cut from the spare block, if it needs at least half of that; otherwise the spare block is
 * freed, so that little more memory is taken at any time than without it. */
static void *block_new(size_t nbytes) {
    size_t *kept = nbytes >= LARGE_NBYTES ? atomic_exchange(&spare, NULL) : NULL;
    void *block = kept != NULL && nbytes <= *kept && nbytes >= *kept / 2 ? realloc(kept, nbytes) : NULL;
    if (block == NULL) {
        free(kept);
        block = malloc(nbytes);
    }
    return block;
}

static void *host_resize(void *context, void *ptr, size_t old_nbytes, size_t new_nbytes) {
    (void)context;
    if (new_nbytes != 0)
        return ptr == NULL ? block_new(new_nbytes) : realloc(ptr, new_nbytes);
    block_free(ptr, old_nbytes);
    return NULL;
}

struct arena_host memory_host(void) {
    return (struct arena_host){host_resize, NULL};
}

static int end_code = EXIT_CODE_FAILED;

void memory_end_with(int code) {
    end_code = code;
}

void memory_end(void) {
    terminal_error(NULL, "no memory");
    output_leave(end_code);
}

void *memory_alloc(size_t count, size_t item_nbytes) {
    void *items = calloc(count != 0 ? count : 1, item_nbytes);
    if (items == NULL)
        memory_end();
    return items;
}

void *memory_resize(void *items, size_t count, size_t item_nbytes) {
    items = realloc(items, count * item_nbytes);
    if (items == NULL)
        memory_end();
    return items;
}

char *memory_text(const char *format, ...) {
    char *text;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length < 0)
        memory_end();
    return text;
}

/* Fixes one threshold of glibc, which keeps its other thresholds fixed too. Left to itself, glibc takes ever larger
 * blocks from its heap as larger ones are freed, and a hole below another block of the heap is never given back: that
 * was a fifth of all memory in large recordings. */
void memory_begin(void) {
#if defined(__GLIBC__)
    enum { TRIM_NBYTES = 16 << 20 };
    (void)mallopt(M_TRIM_THRESHOLD, TRIM_NBYTES);
#endif
}

/* Keeps freed blocks for the next replay: the system would have to clear every page of a new block. */
void memory_keep(void) {
#if defined(__GLIBC__)
    enum { OWN_BLOCK_NBYTES = 32 << 20, KEPT_NBYTES = 256 << 20 };
    (void)mallopt(M_MMAP_THRESHOLD, OWN_BLOCK_NBYTES);
    (void)mallopt(M_TRIM_THRESHOLD, KEPT_NBYTES);
#endif
}

static uint64_t machine_nbytes(void) {
    long pages = sysconf(_SC_PHYS_PAGES);
    long page_nbytes = sysconf(_SC_PAGESIZE);
    return pages > 0 && page_nbytes > 0 ? (uint64_t)pages * (uint64_t)page_nbytes : UINT64_MAX;
}

size_t memory_default_limit(void) {
    uint64_t machine = machine_nbytes();
    uint64_t group = cgroup_limit();
    uint64_t nbytes = machine < group ? machine : group;
    return nbytes == UINT64_MAX ? SIZE_MAX : (size_t)(nbytes / 4 * 3);
}
