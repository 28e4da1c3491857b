#include "render/page/page_heap.h"

#include "base/bytes.h"

/*
 * The module's memory: what the compiler laid out, then one heap, which only grows.
 *
 *     | small | small | large      | free      | large | ... | top
 *
 * Small blocks have sizes of powers of two (in steps of a quarter) and come from free lists, so that a freed block is
 * found again without a search. Large blocks hold the columns of a recording and are as long as these need. Free large
 * blocks lie in one list by address, neighbours in it are joined, and free memory at the top is given back to the heap.
 * There are few large blocks.
 */

enum {
    PAGE_NBYTES = 65536,
    SIZE_CLASSES = 64,
    BLOCK_HEADER = 16,
    LARGE_LEAST = 256 << 10, /* a block of so many bytes or more is large */
    LARGE_STEP = 4096,
    LARGE = SIZE_CLASSES /* stands in place of a size class */
};

extern uint8_t __heap_base;

struct heap_block {
    struct heap_block *next; /* next free block, while it is free */
    uint32_t size_class;
    uint64_t nbytes; /* the header included */
};
_Static_assert(sizeof(struct heap_block) == BLOCK_HEADER, "blocks stay aligned to 16 bytes");

static struct {
    uintptr_t top;
    struct heap_block *free[SIZE_CLASSES], *large;
} heap;

/* Four sizes per power of two: 64, 80, 96, 112, 128, ... */
static uint32_t size_class_of(uint64_t nbytes) {
    if (nbytes < 64)
        nbytes = 64;
    uint32_t exponent = 63u - (uint32_t)__builtin_clzll(nbytes - 1 < 64 ? 64 : nbytes - 1);
    uint64_t quarter = UINT64_C(1) << (exponent - 2);
    uint64_t steps = (nbytes + quarter - 1) / quarter; /* 4 .. 8 */
    return (exponent - 6) * 4 + (uint32_t)(steps - 4);
}

static uint64_t size_of_class(uint32_t size_class) {
    return (UINT64_C(16) << (size_class / 4)) * (4 + size_class % 4);
}

/* The size of the block for so many bytes, header included. */
static uint64_t block_nbytes(uint64_t nbytes) {
    nbytes += BLOCK_HEADER;
    return nbytes < LARGE_LEAST ? size_of_class(size_class_of(nbytes))
                                : (nbytes + LARGE_STEP - 1) / LARGE_STEP * LARGE_STEP;
}

static uintptr_t block_end(const struct heap_block *block) {
    return (uintptr_t)block + (uintptr_t)block->nbytes;
}

static struct heap_block *heap_extend(uint64_t nbytes) {
    if (heap.top == 0)
        heap.top = ((uintptr_t)&__heap_base + 15) & ~(uintptr_t)15;
    uint64_t end = (uint64_t)heap.top + nbytes, have = (uint64_t)__builtin_wasm_memory_size(0) * PAGE_NBYTES;
    if (end > UINT32_MAX)
        return NULL;
    if (end > have &&
        __builtin_wasm_memory_grow(0, (size_t)((end - have + PAGE_NBYTES - 1) / PAGE_NBYTES)) == SIZE_MAX)
        return NULL;
    struct heap_block *block = (struct heap_block *)heap.top;
    heap.top = (uintptr_t)end;
    return block;
}

/* Joins `block` with the block after it, if that is free too. */
static void large_join(struct heap_block *block) {
    struct heap_block *next = block->next;
    if (next == NULL || block_end(block) != (uintptr_t)next)
        return;
    block->nbytes += next->nbytes;
    block->next = next->next;
}

static void large_give(struct heap_block *block) {
    struct heap_block **link = &heap.large, *before = NULL;
    while (*link != NULL && *link < block) {
        before = *link;
        link = &before->next;
    }
    block->size_class = LARGE;
    block->next = *link;
    *link = block;
    large_join(block);
    if (before != NULL)
        large_join(before);
    /* The last block may have ended at the top, and may be free now. */
    for (link = &heap.large; *link != NULL && (*link)->next != NULL;)
        link = &(*link)->next;
    if (*link != NULL && block_end(*link) == heap.top) {
        heap.top = (uintptr_t)*link;
        *link = NULL;
    }
}

/* Frees the part of a block beyond `nbytes`, if it is large enough to be a block. */
static void large_cut(struct heap_block *block, uint64_t nbytes) {
    uint64_t rest = block->nbytes - nbytes;
    if (rest < LARGE_STEP)
        return;
    struct heap_block *other = (struct heap_block *)((uintptr_t)block + (uintptr_t)nbytes);
    other->nbytes = rest;
    block->nbytes = nbytes;
    large_give(other);
}

/* Finds the smallest free block that is large enough. NULL: there is none. */
static struct heap_block *large_find(uint64_t nbytes) {
    struct heap_block **best = NULL;
    for (struct heap_block **link = &heap.large; *link != NULL; link = &(*link)->next)
        if ((*link)->nbytes >= nbytes && (best == NULL || (*link)->nbytes < (*best)->nbytes))
            best = link;
    if (best == NULL)
        return NULL;
    struct heap_block *block = *best;
    *best = block->next;
    large_cut(block, nbytes);
    return block;
}

/* Grows a large block in place, into free memory after it or at the top. False: impossible. */
static bool large_stretch(struct heap_block *block, uint64_t nbytes) {
    if (block_end(block) == heap.top) {
        if (heap_extend(nbytes - block->nbytes) == NULL)
            return false;
        block->nbytes = nbytes;
        return true;
    }
    struct heap_block **link = &heap.large;
    while (*link != NULL && (uintptr_t)*link != block_end(block))
        link = &(*link)->next;
    if (*link == NULL || block->nbytes + (*link)->nbytes < nbytes)
        return false;
    block->nbytes += (*link)->nbytes;
    *link = (*link)->next;
    large_cut(block, nbytes);
    return true;
}

static void heap_give(void *ptr) {
    struct heap_block *block = (struct heap_block *)ptr - 1;
    if (block->size_class == LARGE) {
        large_give(block);
        return;
    }
    block->next = heap.free[block->size_class];
    heap.free[block->size_class] = block;
}

static void *heap_take(size_t size) {
    uint64_t nbytes = block_nbytes(size);
    uint32_t size_class = nbytes < LARGE_LEAST ? size_class_of(nbytes) : LARGE;
    struct heap_block *block = size_class == LARGE ? NULL : heap.free[size_class];
    if (block != NULL) {
        heap.free[size_class] = block->next;
        return block + 1;
    }
    if (nbytes >= LARGE_STEP)
        block = large_find(nbytes);
    if (block == NULL && (block = heap_extend(nbytes)) != NULL)
        block->nbytes = nbytes;
    if (block == NULL)
        return NULL;
    block->size_class = size_class;
    return block + 1;
}

static void *heap_resize(void *context, void *ptr, size_t old_nbytes, size_t new_nbytes) {
    (void)context;
    if (ptr == NULL)
        return heap_take(new_nbytes);
    if (new_nbytes == 0) {
        heap_give(ptr);
        return NULL;
    }
    struct heap_block *block = (struct heap_block *)ptr - 1;
    uint64_t nbytes = block_nbytes(new_nbytes);
    if (nbytes == block->nbytes)
        return ptr;
    if (block->size_class == LARGE && nbytes >= LARGE_LEAST) {
        if (nbytes < block->nbytes)
            large_cut(block, nbytes);
        if (nbytes <= block->nbytes || large_stretch(block, nbytes))
            return ptr;
    }
    void *moved = heap_take(new_nbytes);
    if (moved == NULL)
        return NULL;
    bytes_copy(moved, ptr, old_nbytes < new_nbytes ? old_nbytes : new_nbytes);
    heap_give(ptr);
    return moved;
}

struct arena_host page_heap(void) {
    return (struct arena_host){.resize = heap_resize, .context = NULL};
}

/* ---- functions that the compiler may call ---- */

void *memcpy(void *restrict to, const void *restrict from, size_t nbytes);
void *memmove(void *to, const void *from, size_t nbytes);
void *memset(void *to, int value, size_t nbytes);
int memcmp(const void *a, const void *b, size_t nbytes);

void *memcpy(void *restrict to, const void *restrict from, size_t nbytes) {
    return __builtin_memcpy(to, from, nbytes); /* memory.copy: -mbulk-memory */
}

void *memmove(void *to, const void *from, size_t nbytes) {
    return __builtin_memmove(to, from, nbytes);
}

void *memset(void *to, int value, size_t nbytes) {
    return __builtin_memset(to, value, nbytes);
}

int memcmp(const void *a, const void *b, size_t nbytes) {
    const uint8_t *x = a, *y = b;
    for (size_t i = 0; i < nbytes; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

/* Products of 128 bits, which the compiler uses for checked products of 64 bits. */
__int128 __multi3(__int128 a, __int128 b);
__int128 __multi3(__int128 a, __int128 b) {
    const uint64_t low = UINT32_MAX;
    uint64_t x = (uint64_t)a, y = (uint64_t)b, high = x * (uint64_t)(b >> 64) + (uint64_t)(a >> 64) * y;
    uint64_t ll = (x & low) * (y & low), lh = (x & low) * (y >> 32), hl = (x >> 32) * (y & low);
    uint64_t middle = (ll >> 32) + (lh & low) + (hl & low);
    high += (x >> 32) * (y >> 32) + (lh >> 32) + (hl >> 32) + (middle >> 32);
    return (__int128)((unsigned __int128)high << 64 | (middle << 32 | (ll & low)));
}
