/* Strings with a meaning in a snapshot. They are interned first, so their string ids are these numbers + 1, and
 * recognising one takes an integer comparison. */
#pragma once

/* X(name, text): keys of dicts first (at most MAX_KEYS), then words used as values. */
#define STRATA_KEYS(X)                                  \
    X(ACTION, "action")                                 \
    X(ADDR, "addr")                                     \
    X(SIZE, "size")                                     \
    X(STREAM, "stream")                                 \
    X(FRAMES, "frames")                                 \
    X(TIME_US, "time_us")                               \
    X(COMPILE_CONTEXT, "compile_context")               \
    X(USER_METADATA, "user_metadata")                   \
    X(POOL_ID, "pool_id")                               \
    X(FORWARD_FRAMES, "forward_frames")                 \
    X(CATEGORY, "category")                             \
    X(DEVICE_FREE, "device_free")                       \
    X(NAME, "name")                                     \
    X(FILENAME, "filename")                             \
    X(LINE, "line")                                     \
    X(FX_NODE_OP, "fx_node_op")                         \
    X(FX_NODE_NAME, "fx_node_name")                     \
    X(FX_NODE_TARGET, "fx_node_target")                 \
    X(FX_ORIGINAL_TRACE, "fx_original_trace")           \
    X(DEVICE, "device")                                 \
    X(ADDRESS, "address")                               \
    X(TOTAL_SIZE, "total_size")                         \
    X(ALLOCATED_SIZE, "allocated_size")                 \
    X(ACTIVE_SIZE, "active_size")                       \
    X(REQUESTED_SIZE, "requested_size")                 \
    X(SEGMENT_TYPE, "segment_type")                     \
    X(SEGMENT_POOL_ID, "segment_pool_id")               \
    X(IS_EXPANDABLE, "is_expandable")                   \
    X(BLOCKS, "blocks")                                 \
    X(STATE, "state")                                   \
    X(HISTORY, "history")                               \
    X(REAL_SIZE, "real_size")                           \
    X(STAGE, "stage")                                   \
    X(SEGMENTS, "segments")                             \
    X(DEVICE_TRACES, "device_traces")                   \
    X(TRACES, "traces")                                 \
    X(ALLOCATOR_SETTINGS, "allocator_settings")         \
    X(EXTERNAL_ANNOTATIONS, "external_annotations")     \
    X(TRACE_ALLOC_OVERFLOWED, "trace_alloc_overflowed") \
    X(LAST_KEY, "trace_alloc_max_entries")              \
    X(ALLOC, "alloc")                                   \
    X(FREE_REQUESTED, "free_requested")                 \
    X(FREE_COMPLETED, "free_completed")                 \
    X(FREE, "free")                                     \
    X(SEGMENT_ALLOC, "segment_alloc")                   \
    X(SEGMENT_FREE, "segment_free")                     \
    X(SEGMENT_MAP, "segment_map")                       \
    X(SEGMENT_UNMAP, "segment_unmap")                   \
    X(SNAPSHOT, "snapshot")                             \
    X(OOM, "oom")                                       \
    X(ANNOTATE, "annotate")                             \
    X(USER_DEFINED, "user_defined")                     \
    X(WORKSPACE_SNAPSHOT, "workspace_snapshot")         \
    X(ACTIVE_ALLOCATED, "active_allocated")             \
    X(ACTIVE_PENDING_FREE, "active_pending_free")       \
    X(ACTIVE_AWAITING_FREE, "active_awaiting_free")     \
    X(INACTIVE, "inactive")                             \
    X(SMALL, "small")                                   \
    X(START, "START")                                   \
    X(END, "END")                                       \
    X(NOT_AVAILABLE, "N/A")                             \
    X(HOST_SEGMENTS, "host_segments")                   \
    X(HOST_TRACES, "host_traces")

#define STRATA_KEY_ENUM(name, text) KEY_##name,
enum key { STRATA_KEYS(STRATA_KEY_ENUM) KEY_COUNT };
#undef STRATA_KEY_ENUM
