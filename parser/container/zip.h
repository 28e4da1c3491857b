/*
 * A read_source for the pickle in a zip written by torch.save: the member "data.pkl" or "NAME/data.pkl", stored or
 * deflated. Reads the zip from its beginning, as a stream, so it may come from a pipe; the central directory is not
 * used.
 */
#pragma once

#include "parser/container/packed.h"

struct zip {
    struct cursor *cursor;
    struct packed packed; /* for deflated members only */
    enum source_end end;
    bool deflated;
    bool sized;    /* `left` and `wanted_crc` are known; otherwise they follow the data */
    uint64_t left; /* bytes of the member still to read, as stored in the zip */
    uint32_t crc, wanted_crc;
};

bool zip_recognises(const uint8_t *p, size_t nbytes);

/* Moves from the cursor (at the first member) to the pickle. False: the cursor's error is set, and there is nothing
 * to release. */
bool zip_open(struct zip *zip, struct cursor *cursor);

/* The bytes of the member; at their end its checksum is verified. A stored member of unknown size lasts until the end
 * of the zip, because what follows a pickle is ignored anyway. A truncated zip just ends; zip.end tells. */
struct read_source zip_source(struct zip *zip);

void zip_release(struct zip *zip);
