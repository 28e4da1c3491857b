#include "render/page/page_heap.h"

#include "base/bytes.h"

/*
 * The module's memory: what the compiler laid out, then one heap. Blocks are powers of two (in steps of a
 * quarter) from free lists, so that a freed block is found again without a search. Linear memory can only grow, so
 * large blocks are cut from larger ones that are free, and the last one grows where it lies.
 */

enum { PAGE_NBYTES = 65536, SIZE_CLASSES = 128, BLOCK_HEADER = 16, CUT_LEAST = 4096 };

extern uint8_t __heap_base;

struct heap_block {
    struct heap_block *next;
    uint32_t size_class;
    uint64_t unused_for_alignment;
};
_Static_assert(sizeof(struct heap_block) == BLOCK_HEADER, "blocks stay aligned to 16 bytes");

static struct {
    uintptr_t top;
    struct heap_block *free[SIZE_CLASSES];
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

static void heap_give(void *ptr) {
    struct heap_block *block = (struct heap_block *)ptr - 1;
    block->next = heap.free[block->size_class];
    heap.free[block->size_class] = block;
}

/* The largest class of at most `nbytes`, which are 64 or more. */
static uint32_t size_class_within(uint64_t nbytes) {
    uint32_t size_class = size_class_of(nbytes);
    return size_of_class(size_class) > nbytes ? size_class - 1 : size_class;
}

/* Cuts a block of a class from a larger one that is free: what the payload leaves behind is large and few. */
static struct heap_block *heap_cut(uint32_t size_class) {
    uint32_t from = size_class + 1;
    while (from < SIZE_CLASSES && heap.free[from] == NULL)
        from++;
    if (from == SIZE_CLASSES)
        return NULL;
    struct heap_block *block = heap.free[from];
    heap.free[from] = block->next;
    uint64_t nbytes = size_of_class(size_class), rest = size_of_class(from) - nbytes;
    if (rest < CUT_LEAST) {
        block->size_class = from;
        return block;
    }
    struct heap_block *other = (struct heap_block *)((uintptr_t)block + (uintptr_t)nbytes);
    other->size_class = size_class_within(rest);
    heap_give(other + 1);
    block->size_class = size_class;
    return block;
}

static void *heap_take(size_t nbytes) {
    uint32_t size_class = size_class_of((uint64_t)nbytes + BLOCK_HEADER);
    struct heap_block *block = heap.free[size_class];
    if (block != NULL) {
        heap.free[size_class] = block->next;
        return block + 1;
    }
    if (size_of_class(size_class) >= CUT_LEAST && (block = heap_cut(size_class)) != NULL)
        return block + 1;
    block = heap_extend(size_of_class(size_class));
    if (block == NULL)
        return NULL;
    block->size_class = size_class;
    return block + 1;
}

/* What lies last grows where it is. False: it does not lie last, or there is no more memory. */
static bool heap_stretch(struct heap_block *block, uint64_t nbytes) {
    uint64_t have = size_of_class(block->size_class), want = size_of_class(size_class_of(nbytes));
    if ((uintptr_t)block + (uintptr_t)have != heap.top || want < have || heap_extend(want - have) == NULL)
        return false;
    block->size_class = size_class_of(nbytes);
    return true;
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
    uint64_t nbytes = (uint64_t)new_nbytes + BLOCK_HEADER;
    if (size_class_of(nbytes) == block->size_class || heap_stretch(block, nbytes))
        return ptr;
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

/* ---- what the compiler may call ---- */

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

/* Products of 128 bits, of which checked products of 64 are made. */
__int128 __multi3(__int128 a, __int128 b);
__int128 __multi3(__int128 a, __int128 b) {
    const uint64_t low = UINT32_MAX;
    uint64_t x = (uint64_t)a, y = (uint64_t)b, high = x * (uint64_t)(b >> 64) + (uint64_t)(a >> 64) * y;
    uint64_t ll = (x & low) * (y & low), lh = (x & low) * (y >> 32), hl = (x >> 32) * (y & low);
    uint64_t middle = (ll >> 32) + (lh & low) + (hl & low);
    high += (x >> 32) * (y >> 32) + (lh >> 32) + (hl >> 32) + (middle >> 32);
    return (__int128)((unsigned __int128)high << 64 | (middle << 32 | (ll & low)));
}
