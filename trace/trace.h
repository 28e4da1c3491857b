/*
 * A recording as columns and ids, whatever it was read from and is used for.
 *
 *     struct trace
 *       strings   id -> bytes                                         0 is "none" for every id
 *       frames    id -> file, name, line
 *       stacks    id -> parent, frame: a prefix tree; the node of the innermost frame is the stack's id
 *       contexts  id -> compile_context, user_metadata, ...
 *       devices[] allocations (columns), times, segment events, markers, final segments and blocks
 *
 * A *moment* counts states of a device, an *event* changes: moment 0 is the state before the first event and
 * moment i + 1 the state after event i, so n events have n + 1 moments. An allocation is alive at moment m when
 * birth <= m < death.
 *
 * Freestanding. All memory belongs to the trace's arena. Not thread safe, but several threads may read a filled
 * trace. docs/architecture.md says how events become allocations; trace_check.h has the promises as code.
 */
#pragma once

#include "base/arena.h"
#include "base/assert.h"
#include "base/bits.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

/* String id i has the bytes [start[i], start[i + 1]) of `bytes`: UTF-8 unless the file has invalid text, without a
 * terminator, perhaps with NUL. Id 0 is the empty string and means "none". */
struct string_table {
    uint32_t count;  /* ids in use, id 0 included */
    uint32_t *start; /* count + 1 offsets */
    uint8_t *bytes;
    uint32_t start_capacity, bytes_capacity;
};

/* Readers cut the files and names of frames and the names of annotations to this length, because every row that has
 * such a text may read it again. Real C++ names have some 3,000 bytes. */
enum { FRAME_TEXT_MAX_NBYTES = 16 << 10 };

/* The owner of a frame, if --own or --library names one; otherwise its file decides (layout/site.h). */
enum frame_owner { OWNER_UNTOLD, OWNER_LIBRARY, OWNER_USER };

/* Frame id 0 is "none". Two frames of equal content have one id. */
struct frame_table {
    uint32_t count, capacity; /* id 0 included */
    struct frame {
        uint32_t file; /* string */
        uint32_t name; /* string */
        uint32_t line; /* 0: none */
        uint32_t fx;   /* of `fx` below; 0: none */
    } * frame;
    uint8_t *owner; /* [count] enum frame_owner; NULL: none is named */
    uint8_t *rank;  /* [count] result of frames_rank */
    uint32_t *bits; /* [count] result of frames_bits, kept for all devices (frames_keep); NULL: not kept */
    const uint32_t
        *whole; /* [count] ids in the trace that this one is a part of (device_part_init); NULL: not a part */
};

/* The fields that torch.fx adds to frames of generated code; id 0 is "none". String ids. */
struct fx_table {
    uint32_t count, capacity;
    struct fx {
        uint32_t op, name, target, original_trace;
    } * fx;
};

/*
 * Stack id 0 is the empty stack. Its parent is the stack without its innermost frame, and a smaller id. Nearly
 * every stack directly follows its parent, so a parent is stored only for a stack that does not ("branched"):
 *
 *     stack    0   1   2   3   4   5   6        0 - 1 - 2 - 3
 *     frame    .   a   b   c   d   e   f                \ 4 - 5 - 6
 *     branched 0   0   0   0   1   0   0
 *     parent                   2
 */
struct stack_table {
    uint32_t count, capacity;
    uint32_t *frame; /* [count] innermost */
    struct stack_word {
        uint32_t branched; /* a bit for each of 32 stacks */
        uint32_t before;   /* number of branched stacks before these */
    } * word;
    uint32_t word_capacity, n_branched, branched_capacity;
    uint32_t *parent; /* [n_branched] */
};

static inline bool stack_is_branched(const struct stack_table *stacks, uint32_t stack) {
    return stacks->word[stack / 32].branched >> stack % 32 & 1;
}

/* The parent of stack 0 is 0. */
static inline uint32_t stack_parent(const struct stack_table *stacks, uint32_t stack) {
    const struct stack_word *word = &stacks->word[stack / 32];
    assert(stack < stacks->count);
    if (!(word->branched >> stack % 32 & 1))
        return stack - (stack != 0);
    uint32_t below = word->branched & ((UINT32_C(1) << stack % 32) - 1);
    return stacks->parent[word->before + bits_count(below)];
}

/* Other notes on an allocation; id 0 is "nothing". String ids. */
struct context_table {
    uint32_t count, capacity;
    struct context {
        uint32_t compile_context; /* "N/A" is stored as none */
        uint32_t user_metadata;
        uint32_t category;
        uint32_t forward_frames; /* text of the forward pass' stack */
    } * context;
};

enum allocation_flag {
    ALLOCATION_STACK_OF_FREE = 1, /* the allocation was not recorded: this is the stack of its free */
    ALLOCATION_FROM_BLOCK = 2,    /* known only from the final blocks */
    ALLOCATION_REOPENED = 4,      /* ended because its address was allocated again without a free */
    ALLOCATION_UNMATCHED_END = 8, /* alive at the end, but no active block is at its address */
};

/* One row per allocation, in stack order: those older than the recording first (those that outlive it at the
 * bottom, then by falling death), then by birth. */
struct allocations {
    uint32_t count;
    uint32_t preexisting; /* this many first rows have birth 0 */
    uint32_t *birth;      /* moment */
    uint32_t *death;      /* moment; n_events + 1: still there at the end */
    /* moment of free_requested, if the free was not completed at once: pending while request <= m < death.
     * Otherwise equal to death. */
    uint32_t *request;
    uint64_t *size; /* requested bytes */
    uint64_t *address;
    uint32_t *stack;
    uint32_t *context;
    uint16_t *stream; /* index into streams */
    uint16_t *pool;   /* index into pools */
    uint8_t *flags;   /* enum allocation_flag */
    /* allocations that each row represents in a recording that was made smaller (layout/merge.h); NULL: one each */
    uint32_t *merged;
};

/* The number of allocations that a row represents. */
static inline uint32_t allocation_stands_for(const struct allocations *allocations, uint32_t allocation) {
    return allocations->merged != NULL ? allocations->merged[allocation] : 1;
}

enum segment_change { SEGMENT_ALLOC, SEGMENT_FREE, SEGMENT_MAP, SEGMENT_UNMAP };

struct segment_event {
    uint32_t event; /* index; rising */
    uint32_t stack;
    uint64_t address;
    uint64_t size;
    uint16_t stream;
    uint8_t change; /* enum segment_change */
};

struct oom_event {
    uint32_t event;
    uint32_t stack;
    uint64_t size; /* requested bytes, rounded up by the allocator; OOM_UNKNOWN: a log does not print them */
    uint64_t device_free; /* free memory of the driver; OOM_UNKNOWN: a log does not print it */
};

#define OOM_UNKNOWN UINT64_MAX

/* Which free blocks might have served the request of an out-of-memory event. */
struct oom_place {
    uint16_t stream, pool; /* indices into streams and pools */
};

struct snapshot_event {
    uint32_t event;
    uint64_t size; /* active bytes, rounded sizes */
};

/* Kinds of notes on an event: a level that a log prints, its place in the file, the dump that ends there. */
enum note_what {
    NOTE_LINE,          /* number of the line, from 1 */
    NOTE_STEP,          /* step or iteration that the line names */
    NOTE_LABEL,         /* text: the line's words about the moment */
    NOTE_ALLOCATED,     /* bytes, here and below */
    NOTE_MAX_ALLOCATED, /* the most since the line before; the event before this one represents it */
    NOTE_RESERVED,      /* by the allocator */
    NOTE_MAX_RESERVED,  /* the most since the line before */
    NOTE_DEVICE_USED,   /* by all processes */
    NOTE_DEVICE_TOTAL,  /* capacity */
    NOTE_DEVICE_FREE,   /* as the driver says */
    NOTE_PROCESS_USED,  /* by this process, inside and outside of torch */
    NOTE_OTHERS_USED,   /* by other processes */
    NOTE_UNALLOCATED,   /* reserved, not allocated */
    NOTE_ALLOWED,       /* the limit of set_per_process_memory_fraction */
    NOTE_ASKED,         /* by the request that failed */
    NOTE_HOST_USED,     /* of the CPU's memory, by all processes */
    NOTE_DUMP,          /* text: name of the file of a series whose recording ends with this event */
    NOTE_DUMP_GAP,      /* the same, and events between it and the next file are missing */
    NOTE_OTHER_USED,    /* by the process outside of the allocator: "other allocations" of MPS */
    NOTE_BACKEND,       /* text: whose allocator failed, spelt as in the message: "CUDA", "MPS" */
    NOTE_SETTING,       /* text: the variable that sets up this allocator; number: enum note_setting */
    NOTE_MAX_DEVICE,    /* the most that was used on the device since the line before */
    NOTE_MAX_HOST,      /* the most of the host's memory that the line reports */
    NOTE_OOM_COUNT,     /* out-of-memory errors that a summary counts */
    NOTE_RETRIES,       /* requests served after the allocator had given its cache back, so far */
    NOTE_HOST_LIMIT,    /* of the control group that ran out of memory */
    NOTE_KILLED,        /* text: the killer and the victim: "the kernel killed python" */
    NOTE_GONE,          /* this and the next four are only in pages of versions that read XLA's logs */
    NOTE_BUDGET_TOTAL =
        NOTE_GONE + 5, /* of a server's start: what it plans to use the device's memory for, here and below */
    NOTE_BUDGET_USABLE,
    NOTE_BUDGET_WEIGHTS,
    NOTE_BUDGET_ACTIVATIONS,
    NOTE_BUDGET_KV_CACHE,
    NOTE_BUDGET_GRAPHS,
    NOTE_BUDGET_NON_TORCH,
    NOTE_BUDGET_AVAILABLE,
    NOTE_ASKED_BEYOND,          /* the request that failed was larger than this */
    NOTE_LARGEST_FREE,          /* the largest free piece; only in pages of earlier versions */
    NOTE_BUDGET_GRAPHS_PLANNED, /* CUDA graphs by an estimate before they are captured */
    NOTE_BUDGET_TOKENS,         /* that fit into the KV cache */
    NOTE_BUDGET_SLEEP,          /* freed when the server went to sleep */
    NOTE_HOST_MOST, /* text: the process that holds the most of the host's memory; number: its bytes */
    NOTE_RETRIED,   /* the allocator gave its cache back after the message and tried again */
    NOTE_POSSIBLE,  /* of a kill: lack of memory is one of the possible reasons */
    NOTE_PEAKS, /* bits of the levels (1 << NOTE_ALLOCATED) that are maxima, because the line prints no level */
    NOTE_PRIVATE, /* allocated in private pools: of CUDA graphs */
    NOTE_KINDS
};

/* The remedy against fragmentation that the message names: a value of the variable in NOTE_SETTING. */
enum note_setting {
    SETTING_UNTOLD,
    SETTING_EXPANDABLE,
    SETTING_MAX_SPLIT,
    SETTING_IS_ON,   /* expandable_segments:True is set already */
    SETTING_NOT_HERE /* Windows has no such segments */
};

struct note {
    uint32_t event; /* rising */
    uint32_t text;  /* string; 0: none */
    uint64_t number;
    uint8_t what; /* enum note_what */
};

enum segment_flag { SEGMENT_EXPANDABLE = 1, SEGMENT_SMALL = 2 };

/* A final segment. Its blocks are [first_block, first_block + block_count) of the device's blocks. */
struct segment {
    uint64_t address, total_size, allocated_size, active_size, requested_size;
    uint32_t stack;
    uint32_t first_block, block_count;
    uint16_t stream, pool;
    uint8_t flags; /* enum segment_flag */
};

enum block_state { BLOCK_INACTIVE, BLOCK_ALLOCATED, BLOCK_PENDING_FREE };

struct block {
    uint64_t address, size;
    uint64_t requested_size; /* 0 for inactive blocks */
    uint32_t stack;
    uint8_t state; /* enum block_state */
};

struct pool_id {
    uint64_t first, second; /* (0, 0): the default pool */
};

enum { POOL_UNKNOWN = 0, POOL_DEFAULT = 1 }; /* indices into pools */

enum {
    ORDINAL_CPU = -1,          /* the CPU's memory, as a profiler reports it */
    ORDINAL_HOST = -2,         /* pinned host memory, by the process' own allocator of it */
    ORDINAL_NONE = -2147483648 /* no device in particular: the file, or all of them */
};

struct device_trace {
    int32_t ordinal;         /* as in the file: the index inside the process; ORDINAL_CPU, ORDINAL_HOST */
    uint32_t name;           /* string, e.g. "NVIDIA H100 80GB HBM3"; 0: the file does not say */
    uint64_t capacity_bytes; /* memory of the device; 0: the file does not say */
    uint32_t n_events;
    struct allocations allocations;
    int64_t *time_us; /* n_events microseconds since the Unix epoch, or NULL: the file has no times */
    bool times_rise;  /* no time is earlier than the one before it; false: not known */

    uint32_t n_segment_events, n_ooms, n_oom_places, n_snapshots, n_segments, n_blocks, n_streams, n_pools,
        n_notes;
    struct segment_event *segment_events;
    struct oom_event *ooms;
    struct oom_place *oom_places; /* of ooms, by index; fewer in pages of older versions: unknown */
    struct snapshot_event *snapshots;
    struct note *notes; /* of logs, series, and the log of a host beside a dump; by rising event */
    struct segment *segments;
    struct block *blocks;
    uint64_t *streams;     /* raw handles; index 0 is the default stream, 0 */
    struct pool_id *pools; /* [0] stands for "unknown", [1] is (0, 0) */
};

enum annotation_stage { ANNOTATION_START, ANNOTATION_END };

struct annotation {
    int64_t time_us;
    uint32_t name;
    int32_t device; /* ordinal; ORDINAL_NONE: the process' own, of every device but the CPU */
    uint8_t stage;  /* enum annotation_stage */
};

/* The stretch of time in which an annotation matters to devices: all that it begins or ends lies in it. */
struct annotation_span {
    int64_t from_us, to_us;
};

enum { DIAGNOSTIC_NUMBERS = 3 };

/* Something the reader should know before trusting the picture: a code, whose spelling never changes, and numbers.
 * The outputs make a sentence of both (render/words/diagnostics.h); a page of an older version has the sentence
 * itself. */
struct diagnostic {
    uint32_t code;    /* string, e.g. "orphan_frees" */
    uint32_t message; /* string, one plain sentence; 0: not made yet */
    int32_t device;   /* ordinal; ORDINAL_NONE: it concerns the file */
    /* string, which of the code's sentences: "truncated/zip", or the code itself; 0: none, as in pages without
     * numbers */
    uint32_t key;
    uint64_t number[DIAGNOSTIC_NUMBERS]; /* the figures in its sentence */
};

enum trace_kind {
    TRACE_SNAPSHOT,
    TRACE_KINETO,
    TRACE_MEMORY_TIMELINE,
    TRACE_LOG,    /* levels printed by a log; one allocation is made up for each */
    TRACE_SERIES, /* several snapshots of one process */
    TRACE_KINDS
};

enum { RANK_UNKNOWN = -1 };

struct trace {
    struct arena arena;
    enum trace_kind kind;
    int32_t rank; /* of the process in a distributed job, if the file says it; otherwise RANK_UNKNOWN */
    bool devices_are_ranks; /* the devices are a log's ranks; a page does not keep this */
    struct string_table strings;
    struct frame_table frames;
    struct fx_table fx;
    struct stack_table stacks;
    struct context_table contexts;

    uint32_t n_devices, n_annotations, n_diagnostics;
    struct device_trace *devices; /* those with events, blocks or segments; by rising ordinal */
    struct annotation *annotations;
    struct annotation_span *spans; /* [n_annotations], see annotations_keep; NULL: not kept */
    struct diagnostic *diagnostics;
    uint32_t diagnostics_capacity;

    uint32_t settings; /* string: allocator_settings as JSON text; 0: the file has none */
    uint32_t meta;     /* string: JSON object of the writer (file name, digest, title); 0 in a fresh trace */
};

/* "GPU", or "device" for anything else: the CPU, its pinned memory, an accelerator whose log names its backend.
 * O(notes). */
const char *device_noun(const struct trace *trace, const struct device_trace *device);

/* ---- what a recording has: code above the parser asks these, not for the kind of the file ---- */

/* Does it have real allocations, each with a size and a life? A log has none: the parser makes some up from the
 * levels that it prints, so nothing may be concluded from them. */
static inline bool trace_has_allocations(const struct trace *trace) {
    return trace->kind != TRACE_LOG;
}

/* Does it have segments, addresses and requests from its first event to its last, as a replay and a plan need? */
static inline bool trace_has_segments(const struct trace *trace) {
    return trace->kind == TRACE_SNAPSHOT;
}

/* Does it have the lines that made its allocations? A memory timeline has categories instead. */
static inline bool trace_has_call_sites(const struct trace *trace) {
    return trace->kind != TRACE_MEMORY_TIMELINE;
}

/* Does it consist of several dumps? */
static inline bool trace_has_dumps(const struct trace *trace) {
    return trace->kind == TRACE_SERIES;
}

/* An empty trace that takes its memory from `host`, `limit_nbytes` at most. False: no memory. */
bool trace_init(struct trace *trace, struct arena_host host, size_t limit_nbytes);

/* Frees everything in it. */
void trace_release(struct trace *trace);

/* Columns for `count` allocations, but not `merged`; memory from `arena`. False: no memory. */
bool allocations_alloc(struct allocations *allocations, uint64_t count, struct arena *arena);

/* Adds a string without looking for an equal one. 0: no memory (or more than 4 GiB of text in all). O(nbytes). The
 * empty string gets id 0. */
uint32_t trace_string_add(struct trace *trace, const void *bytes, size_t nbytes);

/* Adds a stack without looking for an equal one. O(1). False: no memory. */
bool stack_table_add(struct stack_table *stacks, struct arena *arena, uint32_t parent, uint32_t frame);

/* The bytes of a string; valid until the next string is added. */
static inline struct text trace_text(const struct trace *trace, uint32_t id) {
    assert(id < trace->strings.count);
    const uint32_t *start = trace->strings.start;
    return (struct text){trace->strings.bytes + start[id], start[id + 1] - start[id]};
}

/* Equal strings may have different ids. O(nbytes). */
static inline bool trace_strings_equal(const struct trace *trace, uint32_t a, uint32_t b) {
    return a == b || text_equals(trace_text(trace, a), trace_text(trace, b));
}

/*
 * The limit for the sum of a device's allocations, segments or blocks over the whole recording. No memory holds
 * more (8 EiB), and below it no sum or difference of sizes exceeds 64 bits. Every reader checks it once it has
 * filled a trace.
 */
#define TRACE_BYTES_MAX (UINT64_C(1) << 63)

/* Ordinal of the first device whose sizes exceed this sum; ORDINAL_NONE: there is none. O(rows). */
int32_t trace_oversized_device(const struct trace *trace);

/* The device with this ordinal; NULL: there is none. */
static inline const struct device_trace *trace_device(const struct trace *trace, int32_t ordinal) {
    for (uint32_t i = 0; i < trace->n_devices; i++)
        if (trace->devices[i].ordinal == ordinal)
            return &trace->devices[i];
    return NULL;
}

/* True if an annotation is shown for the device with this ordinal. */
static inline bool annotation_concerns(const struct annotation *annotation, int32_t ordinal) {
    return annotation->device == ORDINAL_NONE ? ordinal != ORDINAL_CPU : annotation->device == ordinal;
}

/* True if a diagnostic concerns the device with this ordinal, or the whole file. */
static inline bool diagnostic_concerns(const struct diagnostic *diagnostic, int32_t ordinal) {
    return diagnostic->device == ORDINAL_NONE || diagnostic->device == ordinal;
}

/* Adds a diagnostic. `key` is a constant: the code, with a "/" and a word if the code has several sentences.
 * `numbers` has DIAGNOSTIC_NUMBERS of them, or is NULL. False: no memory. */
bool trace_diagnose(struct trace *trace, const char *key, int32_t device, const uint64_t *numbers);

/* The capacity of the event buffer if it was full; 0: nothing shows that it was. It was full if the number of
 * events is round, and an event frees memory from before the first one. O(allocations). */
uint64_t device_history_full(const struct device_trace *device);

static inline bool allocation_is_alive(const struct allocations *allocations, uint32_t allocation,
                                       uint32_t moment) {
    return allocations->birth[allocation] <= moment && moment < allocations->death[allocation];
}

static inline bool segment_event_gives_back(const struct segment_event *event) {
    return event->change == SEGMENT_FREE || event->change == SEGMENT_UNMAP;
}

/* Requested bytes alive at each moment, [n_events + 1] in a column of `arena`. NULL: no memory. */
uint64_t *device_live(const struct device_trace *device, struct arena *arena);

/* The reserved bytes at the end: of all final segments. */
static inline uint64_t device_reserved_end(const struct device_trace *device) {
    uint64_t nbytes = 0;
    for (uint32_t i = 0; i < device->n_segments; i++)
        nbytes += device->segments[i].total_size;
    return nbytes;
}

/* The change of the reserved bytes by a segment event, modulo 2^64. */
static inline uint64_t segment_event_delta(const struct segment_event *event) {
    return event->change == SEGMENT_ALLOC || event->change == SEGMENT_MAP ? event->size : 0 - event->size;
}
