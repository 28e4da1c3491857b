/*
 * Which frame of a stack is "the line of your code": the innermost Python frame that is neither interpreter
 * noise nor part of torch, of Python's own library or of a library that stands between people and torch (einops,
 * accelerate, a debugger); where there is none, the innermost Python frame; where there is none, the node of
 * autograd's graph ("backward of MulBackward0"); where there is none, the innermost frame of C++ that is neither noise nor on every allocation's way through the
 * allocator ("at::native::mm_cuda", not "c10::cuda::CUDACachingAllocator::malloc"); and so on down.
 */
#pragma once

#include "trace/trace.h"

enum frame_kind {
    FRAME_NOISE,   /* interpreter, unwinder: both viewers hide these */
    FRAME_NATIVE,  /* C++ */
    FRAME_LIBRARY, /* Python, of torch or of Python's library, or made by the compiler */
    FRAME_USER     /* Python, anything else; or what the trace says is the user's (frames.owner) */
};

/* Ranks frames by how well each names a call site, more is better: `rank[frames.count]`. Each text is looked at once, however
 * many frames have it. O(frames + length of all texts); O(frames) where the trace keeps it. False: no memory. */
bool frames_rank(const struct trace *trace, uint8_t *rank, struct arena *arena);

enum frame_kind frame_kind_of_rank(uint8_t rank);

/* Call site of every stack: `site[stacks.count]`, frame ids. `rank[frames.count]` are the frames' ranks.
 * O(stacks). */
void sites_of_stacks(const struct trace *trace, const uint8_t *rank, uint32_t *site);

/* Hash of what a person calls the place: base name of the file, line, function. The same in every file and on
 * every machine, so colours made of it are comparable. */
uint32_t site_hash(const struct trace *trace, uint32_t frame);

/* The colour, of `n`, that the hash gives the site if none is taken. Not of frame 0. */
uint32_t site_color_index(const struct trace *trace, uint32_t frame, uint32_t n);

/* The parts of a site's name, to find it in another recording: hashes of the file's base name and of the
 * function, and the line. Frame 0: all 0. O(length, 1 KiB at most). */
struct site_key {
    uint64_t file, function;
    uint32_t line;
};
struct site_key site_key_of(const struct trace *trace, uint32_t frame);

/* Parts that two frames must share to be the same: base name, line and function; base name and function; the base name. */
enum site_level { SITE_LINE, SITE_FUNCTION, SITE_FILE };

/* For each frame: the first frame that shares the level's parts, `same[frames.count]`. O(frames). False: no memory. */
bool frames_same_at(const struct trace *trace, enum site_level level, uint32_t *same, struct arena *arena);

/* The same for what a person calls one place. */
static inline bool frames_same(const struct trace *trace, uint32_t *same, struct arena *arena) {
    return frames_same_at(trace, SITE_LINE, same, arena);
}

/* "train.py:41 forward", and of C++ "at::native::mm_cuda" without types or "backward of MulBackward0", into `text`, cut at capacity - 1 bytes, always
 * terminated, a NUL as U+FFFD; returns the full length. Frame 0 is
 * "(no stack recorded)". */
uint32_t site_text(const struct trace *trace, uint32_t frame, char *text, uint32_t capacity);
