/*
 * Gives the dicts and lists of a snapshot their meaning (their "shape"). A dict becomes a fact as soon as it is
 * complete (a frame id, an event, a block, a segment), a list of frames becomes a stack id; anything without a
 * known shape stays a small generic node. The pickle machine or another reader brings the values; this file never
 * sees bytes.
 *
 *     dict with "filename" and "name" -> VALUE_FRAME       list of frames   -> VALUE_STACK
 *     dict with "action"              -> VALUE_EVENT       list of events   -> VALUE_EVENTS, a recorder
 *     dict with "state"               -> VALUE_BLOCK       list of blocks   -> VALUE_BLOCKS
 *     dict with "total_size"          -> VALUE_SEGMENT     list of segments -> VALUE_SEGMENTS
 *       or "blocks"
 *     dict with "stage"               -> VALUE_SPENT, an annotation, stored at once
 *     any other dict                  -> VALUE_DICT        any other list   -> VALUE_LIST
 */
#pragma once

#include "parser/cursor.h"
#include "parser/made_text.h"
#include "parser/recorder.h"

enum value_tag {
    VALUE_NONE,
    VALUE_BOOL,   /* bits: 0 or 1 */
    VALUE_INT,    /* bits: int64_t */
    VALUE_BIG,    /* bits: uint64_t, 2^63 and above */
    VALUE_FLOAT,  /* bits: of a double */
    VALUE_STRING, /* bits: string id */
    VALUE_OPAQUE, /* bytes, sets and other values without a use */
    VALUE_SPENT,  /* its fact is stored already */
    VALUE_PAIR,   /* bits: index of a tuple of two integers */
    VALUE_FRAME,  /* bits: frame id */
    VALUE_STACK,  /* bits: stack id */
    VALUE_EVENT,  /* bits: index of a waiting event, and above 32 bits its turn */
    VALUE_EVENTS, /* bits: index of a recorder */
    VALUE_BLOCK,  /* bits: index of a staged block */
    VALUE_BLOCKS, /* bits: index of a chain */
    VALUE_SEGMENT,
    VALUE_SEGMENTS,
    VALUE_NEW_LIST, /* a list that is still empty */
    VALUE_NEW_DICT,
    VALUE_LIST, /* bits: index of a node */
    VALUE_DICT,
    VALUE_FUNCTION /* bits: enum of the pickle machine */
};

struct value {
    uint8_t tag;
    uint32_t memo; /* for containers: index + 1 of the memo entry that holds it; 0: none */
    uint64_t bits;
};

/* A generic list or dict: a chain of items. */
struct node {
    uint32_t first, last; /* items + 1; 0: none */
    uint32_t count;
    uint32_t settled;    /* for a dict: the items up to this one (+ 1) are in `keys` */
    uint32_t made_count; /* number of items when `made` was made; 0: not made */
    uint64_t keys;       /* for a dict: bits of its known keys */
    uint64_t made;       /* bits of the value that it became: a text, a stack, a fact */
    uint8_t made_tag;    /* VALUE_STRING if it is text */
    bool is_open_stack;  /* a list of frames alone, which came piecemeal */
};

struct node_item {
    struct value key, value; /* key: VALUE_NONE in lists */
    uint32_t next;           /* + 1; 0: the last */
};

struct chain {
    uint32_t first, last; /* rows + 1; 0: none */
    uint32_t count;
};

/* An event that waits for its list. One dict may be in two lists, or twice in one: it counts once. */
struct waiting_event {
    struct event event;
    uint32_t turn;      /* events that used this row before, 24 bits. A value of another turn is spent. */
    uint32_t next_free; /* + 1; 0: the last */
};

struct staged_block {
    struct block block;
    bool has_address, taken;
    uint32_t next;
};

struct staged_segment {
    struct segment segment;
    int32_t device;
    uint64_t stream;
    struct pool_id pool;
    struct chain blocks;
    bool taken;
    uint32_t next;
};

enum { MAX_KEYS = 64, UNREAD_TOLD = 16 };

struct snapshot {
    struct trace *trace;
    struct interner interner;
    struct read_error *error;    /* code and message are set here, the offset by the reader */
    const struct cursor *cursor; /* only for the number of bytes read */
    struct made_texts made;

    ROWS(struct recorder) recorders;
    ROWS(struct waiting_event) events; /* waiting for their list */
    uint32_t free_event;               /* chain of unused rows, + 1 */
    ROWS(struct pool_id) pairs;
    ROWS(struct staged_block) blocks;
    ROWS(struct staged_segment) segments;
    ROWS(struct chain) chains;
    ROWS(struct node) nodes;
    ROWS(struct node_item) items;
    ROWS(uint32_t) frames;       /* scratch: frames of a stack, chunks of a text */
    struct context last_context; /* the one interned last, because most events have the same again */
    uint32_t last_context_id;
    uint32_t annotations_capacity;
    uint64_t n_events;
    /* the events of this and later devices are incomplete; INT32_MAX: none */
    int32_t first_cut_device;
    uint64_t n_misplaced; /* list elements of another kind than their neighbours */

    /* ignored keys of events, blocks, segments and frames; 0: no more */
    uint32_t unread[UNREAD_TOLD];
    uint64_t n_sizes_unread; /* sizes that are missing or no byte counts */

    /* The dict in view. */
    uint64_t key_mask;
    struct value key_value[MAX_KEYS];
};

/* Prepares a newly initialised trace (known key strings get the first ids). False: no memory, and the error is set.
 * The cursor must outlive the snapshot. */
bool snapshot_init(struct snapshot *snapshot, struct trace *trace, const struct cursor *cursor);

/* Frees what only the reading needed. */
void snapshot_release(struct snapshot *snapshot);

/* Each returns false with code and message of `error` set; the caller sets the offset. */

/* The value of a complete dict of `n_pairs` keys and values (key, value, key, value, ...). */
bool snapshot_dict(struct snapshot *snapshot, const struct value *pairs, uint32_t n_pairs,
                   struct value *result);

/* The same for keys that the caller has put into key_value and key_mask. A VALUE_NEW_DICT without a known shape stays
 * one. */
bool snapshot_shape(struct snapshot *snapshot, struct value *dict);

/* Adds the dict in key_value and key_mask, which is an event, to a VALUE_NEW_LIST or VALUE_EVENTS at once. */
bool snapshot_append_dict(struct snapshot *snapshot, struct value *list);

/* For a reader that builds events itself: the action that a word means, and the id of the context of alloc and
 * annotate. */
enum action snapshot_action(uint32_t word);
bool snapshot_context(struct snapshot *snapshot, struct context context, uint32_t *id);

/* Adds to an incomplete dict; VALUE_NEW_DICT becomes VALUE_DICT. */
bool snapshot_dict_add(struct snapshot *snapshot, struct value *dict, const struct value *pairs,
                       uint32_t n_pairs);

/* Gives a dict, or a list of frames, that was filled piecemeal its shape, now that it is complete. Other values
 * stay. */
bool snapshot_settle(struct snapshot *snapshot, struct value *value);

/* Adds `n_items` settled values to a list; its tag follows from its items. */
bool snapshot_append(struct snapshot *snapshot, struct value *list, const struct value *items,
                     uint32_t n_items);

/* A tuple of settled values. */
bool snapshot_tuple(struct snapshot *snapshot, const struct value *items, uint32_t n_items,
                    struct value *result);

/* Does this key hold the events of the devices? */
bool snapshot_is_traces_key(const struct value *key);

/* After snapshot_finish of a truncated file: adds a diagnostic. False: no event is left (code READ_TRUNCATED), or
 * no memory. */
bool snapshot_diagnose_cut(struct snapshot *snapshot, uint64_t offset);

/* Fills devices, settings and diagnostics of the trace from the root. */
bool snapshot_finish(struct snapshot *snapshot, struct value root);
