/*
 * Texts that a file does not hold as such but makes of references: a list of chunks that are joined, a dict that is shown as
 * JSON. Few bytes of a file can mean many bytes of text so, and mean them again for every event. Equal lists are joined once,
 * and all that is made stays below MADE_TEXT_NBYTES and ten times what was read.
 */
#pragma once

#include "parser/intern.h"

enum { MADE_TEXT_NBYTES = 64 << 20, MADE_TEXT_SHARE = 10 };

struct made_texts {
    uint64_t spent_nbytes;   /* made so far, or what the work for it amounts to */
    uint64_t n_left_out;     /* texts that would have passed the limit */
    struct stack_tree lists; /* every list of chunks that was met, as string ids */
    uint32_t *text;          /* [capacity] string of a list, + 1; 0: not made yet */
    uint32_t capacity;
};

/* Takes `nbytes` from what may still be made after `n_read` bytes of input. False: the text is left out, and counted. */
bool made_texts_spend(struct made_texts *made, uint64_t n_read, uint64_t nbytes);

/* The strings `chunk` joined, as a string of the interner's trace; 0 where it is left out. O(n_chunks) where an equal list was
 * joined before, else O(bytes). False: no memory. */
bool made_texts_join(struct made_texts *made, struct interner *interner, uint64_t n_read,
                     const uint32_t *chunk, uint32_t n_chunks, uint32_t *string);

void made_texts_release(struct made_texts *made, struct arena *arena);
