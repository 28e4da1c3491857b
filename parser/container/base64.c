#include "parser/container/base64.h"

#include <string.h>

/* Values of characters outside of the alphabet. */
enum { SKIPPED = 0xFC, PADDING = 0xFD, TERMINATOR = 0xFE, WRONG = 0xFF, N_SYMBOLS = 64 };

void base64_open(struct base64 *base64, struct cursor *cursor, char terminator) {
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    static const char skipped[] = " \t\r\n\\";
    *base64 = (struct base64){.cursor = cursor, .terminator = (uint8_t)terminator};
    memset(base64->value, WRONG, sizeof base64->value);
    for (unsigned i = 0; i < N_SYMBOLS; i++)
        base64->value[(uint8_t)alphabet[i]] = (uint8_t)i;
    for (const char *c = skipped; *c != '\0'; c++)
        base64->value[(uint8_t)*c] = SKIPPED;
    base64->value['='] = PADDING;
    base64->value[(uint8_t)terminator] = TERMINATOR;
}

/* Decodes whole groups of four symbols, the ordinary case. Returns the bytes written. */
static size_t groups_decode(struct base64 *base64, uint8_t *to, size_t nbytes) {
    struct cursor *cursor = base64->cursor;
    const uint8_t *value = base64->value, *p = cursor->p;
    size_t got = 0;
    while (nbytes - got >= 3 && cursor->end - p >= 4) {
        uint32_t a = value[p[0]], b = value[p[1]], c = value[p[2]], d = value[p[3]];
        if ((a | b | c | d) >= N_SYMBOLS)
            break;
        uint32_t bits = a << 18 | b << 12 | c << 6 | d;
        to[got] = (uint8_t)(bits >> 16);
        to[got + 1] = (uint8_t)(bits >> 8);
        to[got + 2] = (uint8_t)bits;
        got += 3;
        p += 4;
    }
    cursor->p = p;
    return got;
}

/* Decodes one character. True: it completed a byte. */
static bool character_decode(struct base64 *base64, uint8_t *to) {
    struct cursor *cursor = base64->cursor;
    uint8_t value = base64->value[*cursor->p];
    if (value == TERMINATOR) {
        base64->end = SOURCE_COMPLETE;
        return false;
    }
    if (value == WRONG || (value < N_SYMBOLS && base64->padded)) {
        cursor_fail(cursor, READ_CORRUPT, cursor_offset(cursor),
                    "the recording in the page is not base64 here");
        base64->end = SOURCE_FAILED;
        return false;
    }
    cursor->p++;
    base64->padded |= value == PADDING;
    if (value >= N_SYMBOLS)
        return false;
    base64->bits = base64->bits << 6 | value;
    base64->n_bits += 6;
    if (base64->n_bits < 8)
        return false;
    base64->n_bits -= 8;
    *to = (uint8_t)(base64->bits >> base64->n_bits);
    return true;
}

static int64_t base64_read(void *context, void *to, size_t nbytes) {
    struct base64 *base64 = context;
    struct cursor *cursor = base64->cursor;
    uint8_t *out = to;
    size_t got = 0;
    while (got < nbytes && base64->end == SOURCE_OPEN) {
        if (!cursor_fill(cursor, 1)) {
            base64->end = cursor->error->code == READ_OK ? SOURCE_TRUNCATED : SOURCE_FAILED;
            break;
        }
        if (base64->n_bits == 0 && !base64->padded)
            got += groups_decode(base64, out + got, nbytes - got);
        if (got < nbytes && cursor->p != cursor->end)
            got += character_decode(base64, out + got);
    }
    return source_result(base64->end, got);
}

struct read_source base64_source(struct base64 *base64) {
    return (struct read_source){.read = base64_read, .context = base64};
}
