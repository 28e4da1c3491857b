/* Reads and writes UTF-8. Reading never fails: each invalid byte becomes one U+FFFD. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { UTF8_REPLACEMENT = 0xfffd };

/* The code point at `*at` < nbytes; moves `*at` past it. Overlong forms, surrogates, values above U+10FFFF and
 * sequences cut off by the end are invalid bytes. O(1). */
static inline uint32_t utf8_next(const char *text, size_t nbytes, size_t *at) {
    const uint8_t *byte = (const uint8_t *)text + *at;
    size_t left = nbytes - *at;
    uint32_t first = byte[0];
    size_t length = first < 0x80   ? 1
                    : first < 0xc2 ? 0
                    : first < 0xe0 ? 2
                    : first < 0xf0 ? 3
                    : first < 0xf5 ? 4
                                   : 0;
    if (length == 0 || length > left) {
        *at += 1;
        return UTF8_REPLACEMENT;
    }
    uint32_t code = length == 1 ? first : first & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((byte[i] & 0xc0) != 0x80) {
            *at += 1;
            return UTF8_REPLACEMENT;
        }
        code = code << 6 | (byte[i] & 0x3fu);
    }
    uint32_t least = length == 4 ? 0x10000 : length == 3 ? 0x800 : 0;
    if (code < least || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
        *at += 1;
        return UTF8_REPLACEMENT;
    }
    *at += length;
    return code;
}

/* Does a character control a terminal, end a line, reorder the text beside it, or leave an invisible mark? Printed
 * text must not contain such characters of a file. */
static inline bool utf8_steers(uint32_t code) {
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c ||
           (code >= 0x200e && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
           (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
}

/* Writes a code point below 0x110000, a surrogate too; returns its number of bytes. */
static inline size_t utf8_put(uint32_t code, char bytes[4]) {
    if (code < 0x80) {
        bytes[0] = (char)code;
        return 1;
    }
    size_t length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const uint8_t mark[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = length - 1; i > 0; i--) {
        bytes[i] = (char)(0x80 | (code & 0x3f));
        code >>= 6;
    }
    bytes[0] = (char)(mark[length] | code);
    return length;
}

/* The length of a text's beginning in at most so many bytes that ends with a whole character. O(most). */
static inline size_t utf8_fit(const char *text, size_t most) {
    size_t length = 0;
    while (length < most && text[length] != '\0')
        length++;
    for (size_t back = 0; back < 3 && length > 0 && ((uint8_t)text[length] & 0xc0) == 0x80; back++)
        length--;
    return length;
}

/* The length of a text that was cut after so many bytes, without the character that the cut parts. O(1). */
static inline size_t utf8_whole(const char *text, size_t nbytes) {
    for (size_t back = 1; back <= 3 && back <= nbytes; back++) {
        uint8_t byte = (uint8_t)text[nbytes - back];
        if ((byte & 0xc0) == 0x80)
            continue;
        size_t length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
        return length > back ? nbytes - back : nbytes;
    }
    return nbytes;
}

/* Ends a text that a full buffer may have cut at its last whole character. */
static inline void utf8_trim(char *text) {
    size_t nbytes = 0;
    while (text[nbytes] != '\0')
        nbytes++;
    text[utf8_whole(text, nbytes)] = '\0';
}

/* The two arguments of "%.*s" for at most so many bytes of a text. */
#define UTF8_FIT(text, most) (int)utf8_fit((text), (most)), (text)
