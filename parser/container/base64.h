/* A read_source that decodes base64 text inside another input, up to the character that ends it. */
#pragma once

#include "parser/container/packed.h"

struct base64 {
    struct cursor *cursor;
    enum source_end end;
    uint8_t terminator; /* ends the text: a quote or '<' */
    bool padded;        /* '=' was read: no more symbols may follow */
    uint32_t bits;      /* decoded bits not yet handed out, at the low end */
    unsigned n_bits;
    uint8_t value[256]; /* of each character (base64.c) */
};

/* Begins at the cursor, which must stay valid. */
void base64_open(struct base64 *base64, struct cursor *cursor, char terminator);

/* The decoded bytes. A truncated input just ends; base64.end tells. Text that is not base64 sets the cursor's
 * error. Skips white space, and backslashes because JSON may write a slash with one. */
struct read_source base64_source(struct base64 *base64);
