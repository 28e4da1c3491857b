/*
 * Private to the model's files: allocator.c (lists, blocks, requests), allocator_expandable.c (reservations),
 * allocator_release.c (giving back) and allocator_state.c (initial states).
 *
 * A block is in exactly one list while it is free, and in none while it is in use or being worked on. A function
 * that gets no memory sets `no_memory` and returns 0.
 */
#pragma once

#include "analysis/model/allocator.h"

enum {
    ALLOCATOR_LIST_NONE = UINT16_MAX,
    ALLOCATOR_DEFAULT_POOL = 1,
    ALLOCATOR_SMALL_SEGMENT = 2 << 20 /* also the size of pages in small reservations */
};

static inline uint64_t round_up(uint64_t nbytes, uint64_t grain) {
    uint64_t over = nbytes % grain;
    return over == 0 || nbytes > UINT64_MAX - grain ? nbytes : nbytes + (grain - over);
}

/* A share of a figure in millionths, without overflow. */
static inline uint64_t share_of(uint64_t nbytes, uint64_t ppm) {
    return nbytes / 1000000 * ppm + nbytes % 1000000 * ppm / 1000000;
}

static inline bool fits(uint64_t reserved, uint64_t more, uint64_t limit) {
    return more <= limit && reserved <= limit - more;
}

static inline bool is_free(const struct allocator_block *block) {
    return block->use == ALLOCATOR_FREE;
}

static inline bool is_whole_segment(const struct allocator_block *block) {
    return block->reservation == 0 && block->before == 0 && block->behind == 0;
}

static inline uint64_t *searches_of(struct allocator *a, const struct allocator_list *list) {
    return &a->list[list->pool_list].searches;
}

/* The most that the process may reserve by its own settings. */
uint64_t allocator_limit_bytes(const struct allocator *a);

/* The list of a pool, stream and size class; ALLOCATOR_LIST_NONE: no memory. */
uint32_t allocator_list_of(struct allocator *a, uint16_t pool, uint16_t stream, bool small);

uint32_t allocator_block_take(struct allocator *a, struct allocator_block block);
void allocator_block_give(struct allocator *a, uint32_t index);

/* Puts a block into its list, and takes it out. */
void allocator_list_put(struct allocator *a, uint32_t index);
void allocator_list_take(struct allocator *a, uint32_t index);

/* Is a free block a whole segment, or does it contain whole granules? The answer stays the same while it is in a
 * list, because its ends do not move. */
bool allocator_block_gives(const struct allocator *a, const struct allocator_block *block);

/* Keeps the first `nbytes` of a block that is in no list. The rest becomes a block of its own, also in no list. */
uint32_t allocator_block_cut(struct allocator *a, uint32_t index, uint64_t nbytes);

/* Joins a block with free neighbours that are mapped, or unmapped, like itself, and puts it into its list. The index
 * of the block stays. */
void allocator_block_put(struct allocator *a, uint32_t index);

void allocator_reserved_add(struct allocator *a, uint64_t nbytes);
void allocator_call_note(struct allocator *a, enum segment_change change, uint64_t address, uint64_t size);

/* Releases a block without neighbours that is in its list. */
void allocator_segment_release(struct allocator *a, uint32_t index);

/* ---- allocator_expandable.c ---- */

uint32_t allocator_reservation_add(struct allocator *a, uint64_t base, bool small);

/* Returns a block of at least `wanted` bytes in a reservation, in no list; 0: the driver does not have that much. */
uint32_t allocator_grow(struct allocator *a, uint16_t list, uint64_t wanted);

/* Unmaps [from, to) of a free block. */
void allocator_unmap(struct allocator *a, uint32_t index, uint64_t from, uint64_t to);

/* Unmaps the whole granules of a free block. */
void allocator_unmap_granules(struct allocator *a, uint32_t index);

/* ---- allocator_release.c ---- */

/* Before everything is given back: releases blocks of at least max_split_size, which serve nothing smaller. True:
 * enough for the request. */
bool allocator_release_oversize(struct allocator *a, uint32_t list, uint64_t rounded);

/* garbage_collection_threshold: releases the oldest free segments if more is reserved than it allows. */
void allocator_collect(struct allocator *a);
