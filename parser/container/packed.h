/*
 * A read_source that unpacks zstd or xz: any number of frames or streams, one after the other, with their
 * checksums. Uses libzstd and liblzma if the program was built with them. Their memory comes from the arena, so its
 * limit holds; a frame of zstd with a window above 128 MiB is refused, and a stream of xz that wants more than 256
 * MiB.
 */
#pragma once

#include "parser/container/inflate.h"

enum packed_kind { PACKED_ZSTD, PACKED_XZ };

struct packed {
    struct cursor *cursor;
    /* its own, because another thread may read the source while the trace's arena is in use */
    struct arena memory;
    enum packed_kind kind;
    void *state;    /* the library's */
    bool between;   /* no frame is open */
    uint64_t frame; /* offset of the last frame */
    enum source_end end;
};

/* True if a frame of zstd (a skippable one too) or a stream of xz begins with these bytes. */
bool zstd_recognises(const uint8_t *p, size_t nbytes);
bool xz_recognises(const uint8_t *p, size_t nbytes);

/* Begins at the cursor, which must stay valid. False: the cursor's error is set (also if the program was built
 * without the library), and there is nothing to release. */
bool packed_open(struct packed *packed, struct cursor *cursor, enum packed_kind kind);

/* The unpacked bytes. A truncated input just ends; packed.end tells. Damage sets the cursor's error. */
struct read_source packed_source(struct packed *packed);

/* Unpacks the rest, to verify its checksums. False: the cursor's error is set. */
bool packed_finish(struct packed *packed);

void packed_release(struct packed *packed);
