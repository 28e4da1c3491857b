/*
 * Texts that a file does not contain but builds from references: a list of chunks to join, a dict shown as JSON. So
 * a few bytes of a file can mean many bytes of text, again for every event. Equal lists are joined only once, and
 * all texts together stay below MADE_TEXT_NBYTES and ten times the bytes read.
 */
#pragma once

#include "parser/intern.h"

enum { MADE_TEXT_NBYTES = 64 << 20, MADE_TEXT_SHARE = 10 };

struct made_texts {
    uint64_t spent_nbytes;   /* bytes made so far, or the equivalent of the work */
    uint64_t n_left_out;     /* texts beyond the limit */
    struct stack_tree lists; /* every list of chunks so far, as string ids */
    uint32_t *text;          /* [capacity] string id of a list, + 1; 0: not made yet */
    uint32_t capacity;
};

/* Takes `nbytes` from what may still be made after `n_read` bytes of input. False: the text is left out, and
 * counted. */
bool made_texts_spend(struct made_texts *made, uint64_t n_read, uint64_t nbytes);

/* Joins the strings `chunk` into one string of the interner's trace; 0: left out. O(n_chunks) if an equal list was
 * joined before, otherwise O(bytes). False: no memory. */
bool made_texts_join(struct made_texts *made, struct interner *interner, uint64_t n_read,
                     const uint32_t *chunk, uint32_t n_chunks, uint32_t *string);

void made_texts_release(struct made_texts *made, struct arena *arena);
