/*
 * Packs a file for an inert element of a page. First come three u32, little endian: the packed bytes, the file's bytes and
 * their Adler-32. Then comes the file as a bare LZMA stream (lc=3, lp=0, pb=0), a tenth shorter than deflate.
 *
 * All this is written in base 94, 9 % shorter than base64. The digits are ASCII from ' ' to '~' without '<', so nothing in
 * them can end the element. Two digits, the lower one first, have 94 * 94 = 2^13 + 644 values: they carry the next 13 bits,
 * or 14 if the lower 13 are below 644. Bits count from the lowest of the first byte. The bits left at the end take one
 * digit if that is enough. templates/unpack.c reads this.
 *
 *     strata_pack INPUT OUTPUT
 *
 * Part of the build: what every page carries is packed once, as tightly as possible, and not again for each page.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <lzma.h>
#include <zlib.h>

enum { HEAD_NBYTES = 12 };

static void u32_put(uint8_t *to, uint32_t value) {
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}

/* How many bytes of `to` it took; 0: it cannot be packed. */
static size_t pack(const uint8_t *from, size_t nbytes, uint8_t *to, size_t room) {
    lzma_options_lzma options;
    lzma_filter filters[] = {{LZMA_FILTER_LZMA1, &options}, {LZMA_VLI_UNKNOWN, NULL}};
    size_t at = HEAD_NBYTES;
    if (nbytes > UINT32_MAX || lzma_lzma_preset(&options, 9 | LZMA_PRESET_EXTREME))
        return 0;
    options.pb = 0;
    if (lzma_raw_buffer_encode(filters, NULL, from, nbytes, to, &at, room) != LZMA_OK)
        return 0;
    u32_put(to, (uint32_t)at);
    u32_put(to + 4, (uint32_t)nbytes);
    u32_put(to + 8, (uint32_t)adler32(adler32(0, NULL, 0), from, (uInt)nbytes));
    return at;
}

/* The whole file, in memory of the caller's to free; NULL: it cannot be read. */
static uint8_t *file_read(const char *path, size_t *nbytes) {
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return NULL;
    uint8_t *bytes = NULL;
    long end = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    if (end >= 0 && fseek(file, 0, SEEK_SET) == 0)
        bytes = malloc((size_t)end + 1);
    if (bytes != NULL && fread(bytes, 1, (size_t)end, file) != (size_t)end) {
        free(bytes);
        bytes = NULL;
    }
    fclose(file);
    *nbytes = (size_t)end;
    return bytes;
}

static bool file_write(const char *path, const char *bytes, size_t nbytes) {
    FILE *file = fopen(path, "wb");
    if (file == NULL)
        return false;
    bool written = fwrite(bytes, 1, nbytes, file) == nbytes;
    return fclose(file) == 0 && written;
}

enum { BASE = 94, PAIR_SPARE = BASE * BASE - (1 << 13) };

static char digit_char(uint32_t digit) {
    return (char)(' ' + digit + (digit >= '<' - ' '));
}

/* The most characters that `nbytes` bytes can take. */
static size_t text_room(size_t nbytes) {
    return nbytes / 13 * 16 + 32;
}

/* Writes into text_room(nbytes) characters; returns how many. */
static size_t text_encode(char *to, const uint8_t *bytes, size_t nbytes) {
    const char *start = to;
    uint32_t bits = 0;
    int n_bits = 0;
    for (size_t at = 0; at < nbytes || n_bits > 0;) {
        for (; n_bits < 14 && at < nbytes; n_bits += 8)
            bits |= (uint32_t)bytes[at++] << n_bits;
        bool wide = (bits & 0x1fff) < PAIR_SPARE;
        uint32_t pair = bits & (wide ? 0x3fff : 0x1fff);
        *to++ = digit_char(pair % BASE);
        if (n_bits > 7 || pair >= BASE)
            *to++ = digit_char(pair / BASE);
        bits >>= wide ? 14 : 13;
        n_bits -= wide ? 14 : 13;
    }
    return (size_t)(to - start);
}

static bool file_pack(const char *path, const uint8_t *bytes, size_t nbytes) {
    size_t room = nbytes + nbytes / 8 + 64; /* incompressible data grows by less than this */
    uint8_t *packed = malloc(room);
    size_t packed_nbytes = packed != NULL ? pack(bytes, nbytes, packed, room) : 0;
    char *text = packed_nbytes != 0 ? malloc(text_room(packed_nbytes)) : NULL;
    bool done = text != NULL && file_write(path, text, text_encode(text, packed, packed_nbytes));
    free(text);
    free(packed);
    return done;
}

int main(int argc, char **argv) {
    size_t nbytes = 0;
    uint8_t *bytes = argc == 3 ? file_read(argv[1], &nbytes) : NULL;
    bool done = bytes != NULL && file_pack(argv[2], bytes, nbytes);
    free(bytes);
    if (!done)
        fprintf(stderr, "strata_pack: cannot pack %s\n",
                argc > 1 ? argv[1] : "nothing: INPUT and OUTPUT are asked for");
    return done ? 0 : 1;
}
