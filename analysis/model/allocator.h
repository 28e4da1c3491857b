/*
 * PyTorch's caching allocator as a model: what c10/cuda/CUDACachingAllocator.cpp does with a request, step by step,
 * for one device.
 *
 *     segment       [ block | block | block ]        asked of the driver in one go; covered by its blocks
 *     reservation   [ block | block | ..unmapped.. ] an address range that is mapped in granules (expandable segments)
 *
 * Free blocks wait in lists, one per memory pool, stream and size class (small: up to 1 MiB). A request takes the
 * smallest block of its list that does, splits off the rest where that is worth it, and asks the driver where none does;
 * a free block joins its free neighbours. The rules are the same from 2.0 on, but where the settings say otherwise.
 *
 * Freestanding, and without floating point: an average age is compared by its products. Memory from the caller's arena;
 * all of it is released with that. Not thread safe; models of different arenas may run at once.
 */
#pragma once

#include "analysis/model/allocator_settings.h"
#include "base/ordered.h"

enum { ALLOCATOR_SMALL_BYTES = 1 << 20 }; /* the largest request that small lists serve */

enum allocator_use { ALLOCATOR_FREE, ALLOCATOR_USED, ALLOCATOR_WAITING /* for another stream */ };

/* Index 0 is "none". */
struct allocator_block {
    uint64_t address, size;
    uint32_t before, behind; /* neighbours in the segment or reservation */
    uint32_t reservation;    /* 0: a segment of its own */
    uint32_t note;           /* free: its pool's searches when it came; waiting: its place among those */
    uint32_t owner;          /* the caller's */
    uint16_t list;
    uint8_t use; /* enum allocator_use */
    bool mapped;
};

/* A call of the driver: the memory that it gave or took back. */
struct allocator_call {
    uint64_t address, size;
    uint8_t change; /* enum segment_change */
};

/* Where the driver places new memory of `nbytes`: a segment, or a reservation, whose nbytes are what is mapped of it
 * first. */
struct allocator_driver {
    uint64_t (*place)(void *context, uint64_t nbytes, bool reservation);
    void *context;
};

struct allocator_list {
    struct ordered free;     /* by size, then address */
    struct ordered unmapped; /* by address */
    uint64_t searches;       /* of the list's pool, for ages; kept in its first list */
    uint32_t pool_list;      /* the first list of the same pool and size class */
    uint32_t n_giving;       /* free blocks of which something can be given back */
    uint16_t pool, stream;
    bool small;
    bool is_filled, is_giving; /* it is in these of the allocator's sets */
};

struct allocator_reservation {
    uint64_t base, granule, mapped_bytes;
};

struct allocator {
    struct allocator_settings settings;
    struct allocator_driver driver;
    uint64_t budget_bytes; /* what the driver has for this process; ALLOCATOR_UNLIMITED at first */
    uint64_t device_bytes; /* memory of the device, of which the fractions are; 0: not known */

    uint64_t reserved_bytes, peak_reserved_bytes, active_bytes; /* blocks in use or waiting, rounded */
    /* the next request has found no block: it goes to the driver at once; for replays of a retry */
    bool no_search;
    bool no_retry; /* a request that finds no memory fails at once; for replays of a failed attempt */
    uint64_t n_retries, n_ooms;
    uint64_t steps; /* work that searches did beyond their bisection: hostile recordings make much of it */
    bool no_memory; /* the arena had none: the model has stopped and says nothing */

    struct arena *arena;
    struct allocator_block *block;
    uint32_t n_blocks, block_capacity, spare_block;
    struct allocator_list *list;
    uint32_t n_lists, list_capacity, last_list;
    struct ordered lists; /* by pool, stream and size class */
    /* Lists, those of large blocks first, then by index. One comes in with a block and goes out when it is looked at and found without, so that neither
     * costs a block that comes and goes more than a flag. */
    struct ordered filled;   /* all that have free blocks */
    struct ordered giving;   /* of the default pool, all of which something can be given back */
    uint64_t n_default_free; /* free blocks of the default pool */
    struct allocator_reservation *reservation;
    uint32_t n_reservations, reservation_capacity;
    struct ordered_store store;
    uint32_t *waiting; /* blocks */
    uint32_t n_waiting, waiting_capacity;
    uint32_t *scratch; /* blocks to release */
    uint32_t scratch_capacity;
    struct allocator_building { /* a state that is added block by block */
        uint64_t address;
        uint32_t last, reservation;
        uint16_t list;
    } building;
    struct allocator_call *call; /* of the driver since the caller emptied it (n_calls = 0) */
    uint32_t n_calls, call_capacity;
};

/* An allocator that holds nothing. Takes memory from `arena` as it grows. False: none. */
bool allocator_init(struct allocator *allocator, const struct allocator_settings *settings,
                    struct allocator_driver driver, struct arena *arena);

/* Bytes of a block that a request of `nbytes` takes: a multiple of 512, or more with roundup_power2_divisions. */
uint64_t allocator_round(const struct allocator_settings *settings, uint64_t nbytes);

/* The block for a request of `nbytes`, by a pool and a stream of the trace (POOL_UNKNOWN is the default pool). 0: out of
 * memory (n_ooms), or no_memory. O(log blocks) but for what is given back in a retry. */
uint32_t allocator_allocate(struct allocator *allocator, uint64_t nbytes, uint16_t pool, uint16_t stream);

/* A free that waits for another stream: the block stays as it is until allocator_free. */
void allocator_wait(struct allocator *allocator, uint32_t block);

/* Whether the block still waits that its owner, as the caller wrote it into the block, let wait: a retry completes all. */
static inline bool allocator_waits(const struct allocator *allocator, uint32_t block, uint32_t owner) {
    return allocator->block[block].use == ALLOCATOR_WAITING && allocator->block[block].owner == owner;
}

/* A free that is complete. */
void allocator_free(struct allocator *allocator, uint32_t block);

/* empty_cache(), and what a failed request does: completes all that waits, then gives back what can be. */
void allocator_empty_cache(struct allocator *allocator);

/* Gives back exactly this: a whole segment, or mapped pages of a reservation. False: it is not free. For replays of
 * releases that follow other rules. O(free blocks). */
bool allocator_give_back(struct allocator *allocator, uint64_t address, uint64_t nbytes);

/*
 * A state that is already there, block by block in rising order of the addresses: allocator_segment begins a segment or a
 * reservation, allocator_block_add adds to it. Unmapped blocks only in a reservation. Returns the block, 0 where there
 * is no memory.
 */
bool allocator_segment(struct allocator *allocator, uint64_t address, uint16_t pool, uint16_t stream,
                       bool small, bool expandable);
uint32_t allocator_block_add(struct allocator *allocator, uint64_t nbytes, enum allocator_use use,
                             bool mapped);

/* The largest free block of all lists. O(lists). */
uint64_t allocator_largest_free_block(const struct allocator *allocator);
