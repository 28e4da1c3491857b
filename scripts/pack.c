/*
 * Packs a file as an inert element of a page carries it: in zlib's format, then in base 85, a sixteenth shorter than
 * base64: four bytes, the highest first, are five digits, the highest first. The digits are the characters from '(' to
 * '|' with '}' in the place of '<', so that nothing in it can end the element. One to three bytes at the end, followed
 * by zeros to make four, are the first two to four digits. templates/unpack.js reads it.
 *
 *     strata_pack INPUT OUTPUT
 *
 * Part of the build: what every page carries is packed once, as tightly as can be, and not for each page again.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef STRATA_LIBDEFLATE

#include <libdeflate.h>

static size_t pack(const uint8_t *from, size_t nbytes, uint8_t *to, size_t room) {
    struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(12);
    size_t packed = compressor != NULL ? libdeflate_zlib_compress(compressor, from, nbytes, to, room) : 0;
    libdeflate_free_compressor(compressor);
    return packed;
}

#else

#include <zlib.h>

static size_t pack(const uint8_t *from, size_t nbytes, uint8_t *to, size_t room) {
    uLongf packed = room;
    return compress2(to, &packed, from, nbytes, Z_BEST_COMPRESSION) == Z_OK ? packed : 0;
}

#endif

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

static bool file_write(const char *path, const uint8_t *bytes, size_t nbytes) {
    FILE *file = fopen(path, "wb");
    if (file == NULL)
        return false;
    bool written = fwrite(bytes, 1, nbytes, file) == nbytes;
    return fclose(file) == 0 && written;
}

static size_t text_nbytes(size_t nbytes) {
    return nbytes / 4 * 5 + (nbytes % 4 != 0 ? nbytes % 4 + 1 : 0);
}

/* The five digits of a word. */
static void word_encode(uint32_t word, uint8_t digits[5]) {
    for (int i = 5; i-- > 0; word /= 85) {
        uint8_t digit = (uint8_t)('(' + word % 85);
        digits[i] = digit == '<' ? '}' : digit;
    }
}

/* Writes text_nbytes(nbytes) characters. */
static void text_encode(uint8_t *to, const uint8_t *bytes, size_t nbytes) {
    for (size_t at = 0; at < nbytes; at += 4) {
        size_t n = nbytes - at < 4 ? nbytes - at : 4;
        uint32_t word = 0;
        for (size_t i = 0; i < 4; i++)
            word = word << 8 | (i < n ? bytes[at + i] : 0);
        uint8_t digits[5];
        word_encode(word, digits);
        memcpy(to, digits, n + 1);
        to += n + 1;
    }
}

static bool file_pack(const char *path, const uint8_t *bytes, size_t nbytes) {
    size_t room = nbytes + nbytes / 8 + 64; /* what cannot be made smaller grows by less than this */
    uint8_t *packed = malloc(room);
    size_t packed_nbytes = packed != NULL ? pack(bytes, nbytes, packed, room) : 0;
    uint8_t *text = packed_nbytes != 0 ? malloc(text_nbytes(packed_nbytes)) : NULL;
    bool done = text != NULL;
    if (done) {
        text_encode(text, packed, packed_nbytes);
        done = file_write(path, text, text_nbytes(packed_nbytes));
    }
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
