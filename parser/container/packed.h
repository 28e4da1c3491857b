/*
 * A read_source that unpacks zstd or xz: any number of frames or streams, one after the other, and what a checksum says
 * of them. By libzstd and liblzma, where the program was built with them; their memory is the arena's, so that the
 * memory limit holds for it too (a frame of zstd that wants a window above 128 MiB is refused, and a stream of xz that wants 256).
 */
#pragma once

#include "parser/container/inflate.h"

enum packed_kind { PACKED_ZSTD, PACKED_XZ };

struct packed {
    struct cursor *cursor;
    /* its own: the source may be read in another thread than the trace's arena is used in */
    struct arena memory;
    enum packed_kind kind;
    void *state;    /* of the library */
    bool between;   /* no frame is open */
    uint64_t frame; /* offset of the last one */
    enum source_end end;
};

/* True if a frame of zstd (a skippable one too) or a stream of xz begins with these bytes. */
bool zstd_recognises(const uint8_t *p, size_t nbytes);
bool xz_recognises(const uint8_t *p, size_t nbytes);

/* Begins at the cursor, which must stay valid. False: the cursor's error is set (also where the program was built
 * without the library), nothing is to be released. */
bool packed_open(struct packed *packed, struct cursor *cursor, enum packed_kind kind);

/* The unpacked bytes. A truncated input just ends; packed.end tells. Damage sets the cursor's error. */
struct read_source packed_source(struct packed *packed);

/* Unpacks what is left, for the check sums. False: the cursor's error is set. */
bool packed_finish(struct packed *packed);

void packed_release(struct packed *packed);
