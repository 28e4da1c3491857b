/*
 * A read_source that unpacks another input: any number of members of gzip, frames of zstd or streams of xz, one after
 * the other, with their checksums, or one stream of deflate. What follows the last one is ignored, as gzip(1) does.
 *
 * zstd and xz need libzstd and liblzma, which the program may be built without. A frame of zstd with a window above 128
 * MiB is refused, and so is a stream of xz that needs more than 256 MiB.
 *
 * ISA-L, if it is built in, inflates gzip in a fraction of zlib's time. It gives the same bytes, and ends truncated
 * input after the same byte, but does not say where and how a member is damaged: packed_explain asks zlib. (A member
 * with code tables that RFC 1951 forbids may be read by ISA-L and refused by zlib. No compressor writes one.)
 */
#pragma once

#include "parser/cursor.h"

/* The state of a source of unpacked or otherwise decoded bytes. */
enum source_end {
    SOURCE_OPEN,      /* more may come */
    SOURCE_COMPLETE,  /* everything was handed out */
    SOURCE_TRUNCATED, /* the input ended first */
    SOURCE_FAILED     /* the cursor's error tells why */
};

/* The result of a source's `read` that gives `got` bytes and leaves this state. */
int64_t source_result(enum source_end end, size_t got);

/* Reads a source to its end, to verify its checksums. */
void source_drain(const struct read_source *source);

enum packed_kind { PACKED_GZIP, PACKED_DEFLATE, PACKED_ZSTD, PACKED_XZ };

/* Without a limit in the source, unpacking ends with READ_LIMIT at so many times the packed bytes, but not before it has
 * given UNPACKED_LEAST. Recordings shrink to a tenth or a hundredth. */
enum { UNPACKED_RATIO = 1000, UNPACKED_LEAST = 64 << 20 };

struct packed {
    struct cursor *cursor;
    /* not the trace's: another thread may read the source while the trace's arena is in use */
    struct arena memory;
    enum packed_kind kind;
    void *state;     /* the library's */
    uint64_t frame;  /* offset of the last member, frame or stream */
    uint64_t n_made; /* bytes unpacked so far */
    enum source_end end;
};

/* True if a gzip member with deflated data, a frame of zstd (a skippable one too) or a stream of xz begins with these
 * bytes. */
bool gzip_recognises(const uint8_t *p, size_t nbytes);
bool zstd_recognises(const uint8_t *p, size_t nbytes);
bool xz_recognises(const uint8_t *p, size_t nbytes);

/* Begins at the cursor, which must stay valid. False: the cursor's error is set (also if the program was built
 * without the library), and there is nothing to release. */
bool packed_open(struct packed *packed, struct cursor *cursor, enum packed_kind kind);

/* The unpacked bytes. A truncated input just ends; packed.end tells. Damage sets the cursor's error to READ_CORRUPT,
 * with the offset in the packed input. */
struct read_source packed_source(struct packed *packed);

/* Completes an error that ISA-L found: reads the input again with zlib and takes over its error. Takes as long as
 * zlib needs to reach the damage. Does nothing for other errors. */
void packed_explain(const struct packed *packed);

void packed_release(struct packed *packed);
