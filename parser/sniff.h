/* Recognises the kind of an input by its first bytes. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The number of bytes of a byte order mark and white space before a text. */
static inline size_t sniff_blank(const uint8_t *p, size_t nbytes) {
    size_t at = nbytes >= 3 && p[0] == 0xEF && p[1] == 0xBB && p[2] == 0xBF ? 3 : 0;
    while (at < nbytes && (p[at] == ' ' || p[at] == '\t' || p[at] == '\n' || p[at] == '\r'))
        at++;
    return at;
}
