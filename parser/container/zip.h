/*
 * A read_source over the pickle in a zip that torch.save wrote: the member "data.pkl" or "NAME/data.pkl",
 * stored or deflated. The zip is read from its beginning, as a stream, so it may come from a pipe; its central
 * directory is not looked at.
 */
#pragma once

#include "parser/container/inflate.h"

struct zip {
    struct cursor *cursor;
    /* its own: the source may be read in another thread than the trace's arena is used in */
    struct arena memory;
    z_stream stream; /* deflated members only */
    enum source_end end;
    bool deflated;
    bool sized;    /* `left` and `wanted_crc` are known; otherwise they follow the data */
    uint64_t left; /* bytes of the member still to read, as they stand in the zip */
    uint32_t crc, wanted_crc;
};

bool zip_recognises(const uint8_t *p, size_t nbytes);

/* Moves from the cursor (at the first member) to the pickle. False: the cursor's error is set, nothing is to
 * be released. */
bool zip_open(struct zip *zip, struct cursor *cursor);

/* The bytes of the member. A stored member of unknown size does not end before the zip does: what follows a
 * pickle is not looked at. A truncated zip just ends; zip.end tells. */
struct read_source zip_source(struct zip *zip);

/* Reads the rest of the member, for its check sum. False: the cursor's error is set. */
bool zip_finish(struct zip *zip);

void zip_release(struct zip *zip);
