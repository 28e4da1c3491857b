/*
 * The settings of PyTorch's caching allocator that decide where an allocation goes, read from what a snapshot says
 * (allocator_settings) or as people write them (PYTORCH_ALLOC_CONF, PYTORCH_CUDA_ALLOC_CONF). Freestanding.
 */
#pragma once

#include "trace/trace.h"

enum { ROUNDUP_CLASSES = 16 };
#define ALLOCATOR_UNLIMITED UINT64_MAX

struct allocator_settings {
    uint64_t max_split_bytes;     /* max_split_size_mb; ALLOCATOR_UNLIMITED: none */
    uint64_t large_segment_bytes; /* large_segment_size_mb: what a request of 1 to 10 MiB takes; 20 MiB */
    uint64_t non_split_bytes;     /* max_non_split_rounding_mb; 0: as large_segment_bytes */
    uint32_t collect_ppm;         /* garbage_collection_threshold in millionths; 0: off */
    uint32_t fraction_ppm;        /* per_process_memory_fraction; 0: not set */
    uint32_t roundup[ROUNDUP_CLASSES]; /* roundup_power2_divisions from 1, 2, 4, ... MiB on; 0 and 1: none */
    bool expandable;                   /* expandable_segments */
    bool expandable_private;           /* inside private pools too (since about 2.5) */
    bool aligned; /* Ascend's allocator: 32 bytes more per request, large blocks begin at 16 KiB */
    struct {
        bool expandable, max_split, collect;
    } told; /* the recording says it, whatever it says; max_split and collect by keys of their own only */
};

/* Nothing set. */
struct allocator_settings allocator_settings_default(void);

enum settings_problem {
    SETTINGS_FINE,
    SETTINGS_UNKNOWN, /* no key of the allocator's, or one that Strata does not model: left out */
    SETTINGS_WRONG,   /* a value that PyTorch would refuse */
};

/*
 * Adds "expandable_segments:True,roundup_power2_divisions:[256:1,512:2,>:8]" key by key. Keys that do not decide where
 * an allocation goes (pinned_use_cuda_host_register and its like) are skipped. `*bad_at` is the offset of the first key
 * with a problem, whose kind is returned; the others are taken nevertheless.
 */
enum settings_problem allocator_settings_add(struct allocator_settings *settings, const char *text,
                                             size_t nbytes, size_t *bad_at);

/* What the snapshot says. False: it says nothing of the allocator; the settings are the default ones then. */
bool allocator_settings_read(struct allocator_settings *settings, const struct trace *trace);

bool allocator_settings_equal(const struct allocator_settings *a, const struct allocator_settings *b);

/* As PyTorch spells them, in alphabetical order, only what differs from the default: "" where nothing is set.
 * `text` has room for ALLOCATOR_SETTINGS_TEXT bytes and is terminated. */
enum { ALLOCATOR_SETTINGS_TEXT = 640 };
void allocator_settings_print(const struct allocator_settings *settings, char text[ALLOCATOR_SETTINGS_TEXT]);
