/*
 * Packs a file as an inert element of a page carries it: in zlib's format, then in base64.
 *
 *     strata_pack INPUT OUTPUT
 *
 * Part of the build: what every page carries is packed once, as tightly as can be, and not for each page again.
 */
#include "base/base64.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

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

static bool file_pack(const char *path, const uint8_t *bytes, size_t nbytes) {
    size_t room = nbytes + nbytes / 8 + 64; /* what cannot be made smaller grows by less than this */
    uint8_t *packed = malloc(room);
    size_t packed_nbytes = packed != NULL ? pack(bytes, nbytes, packed, room) : 0;
    uint8_t *text = packed_nbytes != 0 ? malloc(base64_nbytes(packed_nbytes)) : NULL;
    bool done = text != NULL;
    if (done) {
        base64_encode(text, packed, packed_nbytes);
        done = file_write(path, text, base64_nbytes(packed_nbytes));
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
