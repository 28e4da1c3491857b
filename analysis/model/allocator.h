/*
 * Models PyTorch's caching allocator: does what c10/cuda/CUDACachingAllocator.cpp does with a request, step by
 * step, for one device.
 *
 *     segment       [ block | block | block ]        asked of the driver in one go; covered by its blocks
 *     reservation   [ block | block | ..unmapped.. ] an address range that is mapped in granules (expandable segments)
 *
 * Free blocks wait in lists, one per memory pool, stream and size class (small: up to 1 MiB). A request takes the
 * smallest block of its list that fits and splits off the rest if that is worth it; if none fits, it asks the
 * driver. A free block joins its free neighbours. The rules are the same since 2.0, except where settings change
 * them.
 *
 * Freestanding, and without floating point: average ages are compared by products. Memory comes from the caller's
 * arena and is released with it. Not thread safe; models of different arenas may run at once.
 */
#pragma once

#include "analysis/model/allocator_settings.h"
#include "base/ordered.h"

enum { ALLOCATOR_SMALL_BYTES = 1 << 20 }; /* the largest request that small lists serve */

enum allocator_use { ALLOCATOR_FREE, ALLOCATOR_USED, ALLOCATOR_WAITING /* for another stream */ };

/* Index 0 means "none". */
struct allocator_block {
    uint64_t address, size;
    uint32_t before, behind; /* neighbours in the segment or reservation */
    uint32_t reservation;    /* 0: a segment of its own */
    uint32_t note;  /* free: the searches in its pool before it was freed; waiting: its index in `waiting` */
    uint32_t owner; /* for the caller */
    uint16_t list;
    uint8_t use; /* enum allocator_use */
    bool mapped;
};

/* A call of the driver, with the memory that it gave or took back. */
struct allocator_call {
    uint64_t address, size;
    uint8_t change; /* enum segment_change */
};

/* Where the driver places `nbytes` of new memory: a segment, or a reservation, for which nbytes is what is mapped
 * first. */
struct allocator_driver {
    uint64_t (*place)(void *context, uint64_t nbytes, bool reservation);
    void *context;
};

struct allocator_list {
    struct ordered free;     /* by size, then address */
    struct ordered unmapped; /* by address */
    uint64_t searches;       /* searches in the list's pool, for ages; kept in its first list */
    uint32_t pool_list;      /* the first list of the same pool and size class */
    uint32_t n_giving;       /* free blocks that can be given back at least in part */
    uint16_t pool, stream;
    bool small;
    bool is_filled, is_giving; /* it is in these sets of the allocator */
};

struct allocator_reservation {
    uint64_t base, granule, mapped_bytes;
};

struct allocator {
    struct allocator_settings settings;
    struct allocator_driver driver;
    uint64_t budget_bytes; /* what the driver has for this process; ALLOCATOR_UNLIMITED at first */
    uint64_t device_bytes; /* memory of the device, which fractions refer to; 0: unknown */

    /* active: blocks in use or waiting, rounded */
    uint64_t reserved_bytes, peak_reserved_bytes, active_bytes;
    /* the next request has found no block and goes to the driver at once; for replays of a retry */
    bool no_search;
    bool no_retry; /* a request that finds no memory fails at once; for replays of a failed attempt */
    /* Of free blocks of one size the next request takes the one at this address, if there is one; 0: the lowest one.
     * For replays of allocators that choose otherwise among equal blocks. */
    uint64_t wanted_address;
    uint64_t n_retries, n_ooms;
    uint64_t steps; /* work of searches beyond their bisection, of which hostile recordings make much */
    bool no_memory; /* the arena had none: the model has stopped, and its results mean nothing */

    struct arena *arena;
    struct allocator_block *block;
    uint32_t n_blocks, block_capacity, spare_block;
    struct allocator_list *list;
    uint32_t n_lists, list_capacity;
    uint32_t last_list[2]; /* of large and of small blocks */
    struct ordered lists;  /* by pool, stream and size class */
    /* Lists, those of large blocks first, then by index. A list enters with a block and leaves when it is found
     * empty, so a block that comes and goes costs no more than a flag. */
    struct ordered filled;   /* all lists with free blocks */
    struct ordered giving;   /* all lists of the default pool from which something can be given back */
    uint64_t n_default_free; /* free blocks of the default pool */
    struct allocator_reservation *reservation;
    uint32_t n_reservations, reservation_capacity;
    struct ordered_store store;
    uint32_t *waiting; /* blocks */
    uint32_t n_waiting, waiting_capacity;
    uint32_t *scratch; /* blocks to release */
    uint32_t scratch_capacity;
    struct allocator_building { /* an initial state, added block by block */
        uint64_t address;
        uint32_t last, reservation;
        uint16_t list;
    } building;
    struct allocator_call *call; /* driver calls since the caller emptied the list (n_calls = 0) */
    uint32_t n_calls, call_capacity;
};

/* An empty allocator. Takes memory from `arena` as it grows. False: no memory. */
bool allocator_init(struct allocator *allocator, const struct allocator_settings *settings,
                    struct allocator_driver driver, struct arena *arena);

/* Bytes of a block for a request of `nbytes`: a multiple of 512, or more with roundup_power2_divisions. */
uint64_t allocator_round(const struct allocator_settings *settings, uint64_t nbytes);

/* The segment for a rounded request that no block serves, without expandable segments. */
uint64_t allocator_segment_bytes(const struct allocator_settings *settings, uint64_t rounded);

/* Serves a request of `nbytes` in a pool and a stream of the trace (POOL_UNKNOWN is the default pool), and returns
 * its block. 0: out of memory (n_ooms), or no_memory. O(log blocks), plus what a retry gives back. */
uint32_t allocator_allocate(struct allocator *allocator, uint64_t nbytes, uint16_t pool, uint16_t stream);

/* A free that waits for another stream: the block stays until allocator_free. */
void allocator_wait(struct allocator *allocator, uint32_t block);

/* Does a block still wait for its owner's free? A retry completes all waits, and the block may then serve another
 * owner. The caller keeps `owner` in the block. */
static inline bool allocator_waits(const struct allocator *allocator, uint32_t block, uint32_t owner) {
    return allocator->block[block].use == ALLOCATOR_WAITING && allocator->block[block].owner == owner;
}

/* Completes a free. */
void allocator_free(struct allocator *allocator, uint32_t block);

/* What empty_cache() and a failed request do: completes all waits, then gives back what can be given back. */
void allocator_empty_cache(struct allocator *allocator);

/* Gives back exactly this range: a whole segment, or mapped pages of a reservation. False: it is not free. For
 * replays of releases that follow other rules. O(free blocks). */
bool allocator_give_back(struct allocator *allocator, uint64_t address, uint64_t nbytes);

/*
 * Builds an initial state, block by block in rising order of addresses: allocator_segment begins a segment or a
 * reservation, allocator_block_add adds a block to it. Only reservations have unmapped blocks. Returns the block;
 * 0: no memory.
 */
bool allocator_segment(struct allocator *allocator, uint64_t address, uint16_t pool, uint16_t stream,
                       bool small, bool expandable);
uint32_t allocator_block_add(struct allocator *allocator, uint64_t nbytes, enum allocator_use use,
                             bool mapped);

/* The largest free block of all lists. O(lists). */
uint64_t allocator_largest_free_block(const struct allocator *allocator);
