/* A read_source that decodes base64 text standing in another input, up to the character that ends it. */
#pragma once

#include "parser/container/inflate.h"

struct base64 {
    struct cursor *cursor;
    enum source_end end;
    uint8_t terminator; /* after the text: a quote or '<' */
    bool padded;        /* '=' was seen: no more symbols */
    uint32_t bits;      /* not yet given out, at the low end */
    unsigned n_bits;
    uint8_t value[256]; /* of each character; see base64.c */
};

/* Begins at the cursor, which must stay valid. */
void base64_open(struct base64 *base64, struct cursor *cursor, char terminator);

/* The decoded bytes. A truncated input just ends; base64.end tells. What is not base64 sets the cursor's
 * error. White space and backslashes (JSON may write a slash with one) are skipped. */
struct read_source base64_source(struct base64 *base64);
