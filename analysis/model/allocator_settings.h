/* The settings of PyTorch's caching allocator that decide where an allocation goes, read from a snapshot
 * (allocator_settings) or from what people write (PYTORCH_ALLOC_CONF, PYTORCH_CUDA_ALLOC_CONF). Freestanding. */
#pragma once

#include "trace/trace.h"

enum { ROUNDUP_CLASSES = 16, SETTINGS_UNREAD_TOLD = 4 };
#define ALLOCATOR_UNLIMITED UINT64_MAX

struct allocator_settings {
    uint64_t max_split_bytes; /* max_split_size_mb; ALLOCATOR_UNLIMITED: none */
    /* large_segment_size_mb: the segment for a request of 1 to 10 MiB; 20 MiB by default */
    uint64_t large_segment_bytes;
    uint64_t non_split_bytes; /* max_non_split_rounding_mb; 0: as large_segment_bytes */
    uint32_t collect_ppm;     /* garbage_collection_threshold in millionths; 0: off */
    uint32_t fraction_ppm;    /* per_process_memory_fraction; 0: not set */
    /* expandable_segments_reserve: address space of a segment, in millionths of 1 GiB or of the device's memory; both 0:
     * more than the device has memory */
    uint64_t reserve_gib_ppm;
    uint32_t reserve_ppm;
    /* roundup_power2_divisions for 1, 2, 4, ... MiB and more; 0 and 1: none */
    uint32_t roundup[ROUNDUP_CLASSES];
    bool expandable;         /* expandable_segments */
    bool expandable_private; /* inside private pools too (since about 2.5) */
    /* Ascend's allocator: 32 bytes more per request; large blocks begin at multiples of 16 KiB */
    bool aligned;
    /* keys that the recording has, whatever their values; of those in PYTORCH_..._ALLOC_CONF only expandable */
    struct {
        bool expandable, max_split, collect;
    } told;
    struct text
        unread[SETTINGS_UNREAD_TOLD]; /* the first keys that are not read, within the text they are of */
    uint32_t n_unread;
};

/* Nothing set. */
struct allocator_settings allocator_settings_default(void);

enum settings_problem {
    SETTINGS_FINE,
    SETTINGS_UNKNOWN, /* an unknown key, or one that Strata does not model: ignored */
    SETTINGS_WRONG,   /* a value that PyTorch would refuse */
};

/*
 * Adds "expandable_segments:True,roundup_power2_divisions:[256:1,512:2,>:8]" key by key. Skips keys that do not
 * decide where an allocation goes (pinned_use_cuda_host_register and the like). Returns the first problem, and the
 * offset of its key in `*bad_at`; the other keys are taken nevertheless.
 */
enum settings_problem allocator_settings_add(struct allocator_settings *settings, const char *text,
                                             size_t nbytes, size_t *bad_at);

/* Reads the settings from the snapshot. False: it has none, and the settings are the default ones. */
bool allocator_settings_read(struct allocator_settings *settings, const struct trace *trace);

/* Writes settings that differ from the default, spelt as by PyTorch, in alphabetical order; "" if there are none.
 * `text` has room for ALLOCATOR_SETTINGS_TEXT bytes and is terminated. */
enum { ALLOCATOR_SETTINGS_TEXT = 640 };
void allocator_settings_print(const struct allocator_settings *settings, char text[ALLOCATOR_SETTINGS_TEXT]);

/* May this be set: one "key=value" or "key:value"? False: PyTorch would refuse it, or it is not modelled. */
bool allocator_setting_is_fine(const char *text);

/* Joins several that are fine into one text, spelt as by PyTorch, in alphabetical order. */
void allocator_settings_join(char text[ALLOCATOR_SETTINGS_TEXT], const char *const *set, uint32_t n_set);

/* The variable of the environment that sets up the allocator of the version that wrote the recording: of Ascend and
 * others as the recording names it; PYTORCH_ALLOC_CONF since 2.9, which records graph_capture_record_stream_reuse and
 * warns of the older name; PYTORCH_CUDA_ALLOC_CONF, which every version takes, otherwise. */
struct text allocator_variable(const struct trace *trace);
