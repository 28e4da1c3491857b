/*
 * Chooses allocations: one grammar for the page's search and filter, its address, and --filter of every verb.
 *
 *     attention.py size:>100MiB phase:backward alive:peak
 *
 * Words are joined by AND; -word, !word and `not word` leave out what the word keeps. A word is a text (of a frame, of what was noted, of the category's name, of a phase that
 * the allocation was made in, or the first digits of its address), a /regular expression/, or one of
 *
 *     size:>100MiB   size:<=1GB   size:500..900KiB     requested bytes
 *     age:<2ms   age:500..900                          lifetime, in time or in events
 *     stream:7   stream:default                        index as everywhere, else the file's handle; 0x... is a handle
 *     pool:default   pool:private   pool:0,1           pool:unknown, pool:2 (index)
 *     category:gradient   phase:backward   step:3      phases and steps that the allocation was made in
 *     file:attention                                   a file of its stack
 *     layer:12   block:transformer.py:57               made in the nth block of a forward; in blocks of this call site
 *     alive:peak   alive:end   own:yes   own:no        own: made by a line of the user's own code
 *     0x7f2a10000200                                   its memory holds the address
 *
 * Quotes keep blanks together ("layer norm", file:"my model.py"), and turn a key, a sign or "not" into plain text. A
 * word with a colon that is not like a key ("train.py:41", "at::native") is a text; an unknown key is a mistake.
 *
 *     words -> filter_parse -> struct filter -> filter_keep_step -> bitmap -> scene.keep, groups, curve, picture, report
 *
 * Freestanding. Contains no engine for regular expressions: the caller brings a table of the texts that match.
 */
#pragma once

#include "base/bits.h"
#include "layout/timeline.h"

enum { FILTER_WORDS_MAX = 32, FILTER_TEXT_MAX_NBYTES = 255 };

enum filter_kind {
    FILTER_TEXT,
    FILTER_REGEX,
    FILTER_SIZE,       /* bytes low .. high, both included; the same for the kinds below */
    FILTER_AGE_EVENTS, /* moments */
    FILTER_AGE_US,
    FILTER_STREAM,        /* low */
    FILTER_STREAM_HANDLE, /* low */
    FILTER_POOL,          /* low: index */
    FILTER_POOL_ID,       /* low, high: the two parts of its name */
    FILTER_POOL_PRIVATE,
    FILTER_CATEGORY,
    FILTER_PHASE,
    FILTER_STEP, /* numbers low .. high */
    FILTER_LAYER,
    FILTER_BLOCK,
    FILTER_FILE,
    FILTER_ALIVE_PEAK,
    FILTER_ALIVE_END,
    FILTER_OWN,    /* low: 1 or 0 */
    FILTER_ADDRESS /* low */
};

struct filter_word {
    enum filter_kind kind;
    const char *text; /* the needle, the expression or the name; points into the parsed text */
    uint32_t nbytes;
    uint64_t low, high;
    uint32_t nth_regex;   /* FILTER_REGEX: index among the expressions */
    bool sensitive;       /* FILTER_REGEX: case-sensitive, written /.../c */
    bool negated;         /* keeps what does not match */
    uint32_t from, until; /* the word's bytes in the parsed text */
};

struct filter {
    uint32_t n_words, n_regexes;
    struct filter_word word[FILTER_WORDS_MAX];
};

/* What is wrong with a word, as a phrase ("is not a size"), and its place in the text. */
struct filter_error {
    const char *what;
    uint32_t from, until;
};

/* Parses the words. `text` must outlive the filter. A text without words gives a filter that passes everything.
 * False: `error` says why, and the filter is empty. O(nbytes). */
bool filter_parse(struct filter *filter, const char *text, uint32_t nbytes, struct filter_error *error);

/* Does a text of the trace contain the word's text, ignoring case? O(length). */
bool filter_text_meets(const struct filter_word *word, struct text text);

/* Does the filter have a word of this kind? Some kinds need facts that only the analysis knows or that the file may
 * lack. */
bool filter_has(const struct filter *filter, enum filter_kind kind);

/* A named range of moments: a phase, a step or a layer. */
struct filter_span {
    uint32_t from, until; /* [from, until) */
    struct text name;
    int64_t number; /* of a step or a layer; -1: none */
};

/* The texts that a regular expression matches: bits by frame id (of the whole, if the trace is a part) and by
 * string id. Frames are tested in the form of filter_frame_text, strings (of contexts and of torch.fx's notes) as
 * they are. */
struct filter_regex {
    const uint64_t *frames, *strings;
};

/* Facts beyond the timeline that words refer to. NULL or 0: unknown, so no allocation matches a word that needs the
 * fact. */
struct filter_facts {
    const uint8_t *category;                         /* [allocations.count] enum category */
    const char *(*category_name)(uint32_t category); /* of [0, n_categories), spelt as in files */
    uint32_t n_categories;
    const struct filter_span *phases, *steps; /* in any order; may overlap */
    const struct filter_span *layers; /* numbered within their forward pass, named by their call site */
    uint32_t n_phases, n_steps, n_layers;
    const struct filter_regex *regexes; /* [filter->n_regexes] */
    uint32_t peak_moment;               /* the peak of the whole run, for alive:peak */
};

/* Writes "file:line function" of frame `id`, cut at capacity - 1 bytes, terminated, with a blank for NUL; returns
 * its length. O(length). */
uint32_t filter_frame_text(const struct trace *trace, uint32_t id, char *text, uint32_t capacity);

static inline uint32_t filter_bitmap_words(const struct timeline *timeline) {
    return timeline->device->allocations.count / 64 + 1;
}

static inline bool filter_keeps(const uint64_t *keep, uint32_t allocation) {
    return keep == NULL || bits_has(keep, allocation);
}

/* Marks in `keep[filter_bitmap_words]` the allocations that every word keeps, in steps, from 0 on: after the first one,
 * for each word one for each `at_once` allocations. Scratch memory comes from `arena` and is given back. All steps:
 * O(words * (allocations + (stacks + frames + length of all texts) * steps of a word)). False: no memory, and the
 * bitmap is undefined. */
uint32_t filter_keep_steps(const struct filter *filter, const struct timeline *timeline, uint32_t at_once);
bool filter_keep_step(const struct filter *filter, const struct timeline *timeline,
                      const struct filter_facts *facts, uint32_t step, uint32_t at_once, struct arena *arena,
                      uint64_t *keep);

/* The number of allocations marked. */
uint64_t filter_count(const struct timeline *timeline, const uint64_t *keep);
