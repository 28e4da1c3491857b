#include "parser/container/zip.h"

#include "parser/container/inflate.h" /* crc32 */

#include <string.h>

/* Signatures, little endian. */
enum { LOCAL_HEADER = 0x04034b50, DESCRIPTOR = 0x08074b50 };
enum { FLAG_ENCRYPTED = 1, FLAG_DESCRIPTOR = 8 };
enum { METHOD_STORED = 0, METHOD_DEFLATED = 8 };
enum { EXTRA_ZIP64 = 1 };
static const uint64_t SIZE_IN_EXTRA = UINT32_MAX;

struct member {
    uint64_t offset; /* of its header */
    uint32_t flags, method, crc;
    uint64_t packed_nbytes;
    bool wanted; /* its name is that of the pickle */
};

bool zip_recognises(const uint8_t *p, size_t nbytes) {
    return nbytes >= 4 && p[0] == 'P' && p[1] == 'K' && p[2] == 3 && p[3] == 4;
}

static bool is_data_pkl(const uint8_t *name, size_t nbytes) {
    static const char wanted[] = "data.pkl";
    size_t length = sizeof wanted - 1;
    return nbytes >= length && memcmp(name + nbytes - length, wanted, length) == 0 &&
           (nbytes == length || name[nbytes - length - 1] == '/');
}

/* The packed size in the zip64 field, after the unpacked size if both are there. False: absent. */
static bool zip64_packed(const uint8_t *extra, size_t nbytes, bool has_raw, uint64_t *packed_nbytes) {
    *packed_nbytes = 0;
    while (nbytes >= 4) {
        size_t id = (size_t)uint_at(extra, 2), length = (size_t)uint_at(extra + 2, 2);
        if (length > nbytes - 4)
            break;
        size_t at = has_raw ? 8 : 0;
        if (id == EXTRA_ZIP64 && length >= at + 8) {
            *packed_nbytes = uint_at(extra + 4 + at, 8);
            return true;
        }
        extra += 4 + length;
        nbytes -= 4 + length;
    }
    return false;
}

/* Reads a local header; the cursor is after its signature. */
static bool member_read(struct cursor *cursor, struct member *member) {
    *member = (struct member){.offset = cursor_offset(cursor) - 4};
    (void)cursor_uint(cursor, 2); /* version */
    member->flags = (uint32_t)cursor_uint(cursor, 2);
    member->method = (uint32_t)cursor_uint(cursor, 2);
    (void)cursor_uint(cursor, 4); /* time and date */
    member->crc = (uint32_t)cursor_uint(cursor, 4);
    member->packed_nbytes = cursor_uint(cursor, 4);
    uint64_t raw_nbytes = cursor_uint(cursor, 4);
    size_t name_nbytes = (size_t)cursor_uint(cursor, 2), extra_nbytes = (size_t)cursor_uint(cursor, 2);
    if (!cursor_need(cursor, name_nbytes + extra_nbytes))
        return false;
    member->wanted = is_data_pkl(cursor->p, name_nbytes);
    if (member->packed_nbytes == SIZE_IN_EXTRA &&
        !zip64_packed(cursor->p + name_nbytes, extra_nbytes, raw_nbytes == SIZE_IN_EXTRA,
                      &member->packed_nbytes) &&
        (member->flags & FLAG_DESCRIPTOR) == 0)
        return cursor_fail(cursor, READ_CORRUPT, member->offset,
                           "the zip does not say how long its member is");
    cursor->p += name_nbytes + extra_nbytes;
    return true;
}

static bool bytes_skip(struct cursor *cursor, uint64_t nbytes) {
    while (nbytes != 0) {
        size_t step = nbytes < CURSOR_LOOKAHEAD ? (size_t)nbytes : CURSOR_LOOKAHEAD;
        if (!cursor_need(cursor, step))
            return false;
        cursor->p += step;
        nbytes -= step;
    }
    return true;
}

/* Skips a stored member whose size follows it: it ends at a descriptor with the size that was read. */
static bool stored_skip(struct cursor *cursor) {
    uint64_t begin = cursor_offset(cursor);
    for (;;) {
        if (!cursor_need(cursor, 16))
            return false;
        const uint8_t *at = memmem(cursor->p, (size_t)(cursor->end - cursor->p) - 12, "PK\7\10", 4);
        if (at == NULL) {
            cursor->p = cursor->end - 15;
            continue;
        }
        cursor->p = at;
        uint64_t nbytes = cursor_offset(cursor) - begin;
        if (uint_at(at + 8, 4) == (nbytes & UINT32_MAX)) /* the low half, if it has 64 bits */
            return true;
        cursor->p++;
    }
}

static bool deflated_skip(struct cursor *cursor) {
    struct packed packed;
    if (!packed_open(&packed, cursor, PACKED_DEFLATE))
        return false;
    const struct read_source source = packed_source(&packed);
    source_drain(&source);
    packed_release(&packed);
    if (packed.end == SOURCE_TRUNCATED)
        return cursor_fail(cursor, READ_TRUNCATED, cursor_offset(cursor), "the zip ends inside of a member");
    return packed.end == SOURCE_COMPLETE;
}

/* A descriptor follows the data: a signature (not always), the checksum, both sizes in 32 or 64 bits. The next
 * header shows which. */
static bool descriptor_read(struct cursor *cursor, uint32_t *crc) {
    if (!cursor_need(cursor, 16))
        return false;
    if (uint_at(cursor->p, 4) == DESCRIPTOR)
        cursor->p += 4;
    *crc = (uint32_t)cursor_uint(cursor, 4);
    for (size_t nbytes = 8; nbytes <= 16; nbytes += 8) {
        if (!cursor_need(cursor, nbytes + 4))
            return false;
        if (cursor->p[nbytes] == 'P' && cursor->p[nbytes + 1] == 'K') {
            cursor->p += nbytes;
            return true;
        }
    }
    return cursor_fail(cursor, READ_CORRUPT, cursor_offset(cursor), "a member of the zip has no end");
}

static bool member_skip(struct cursor *cursor, const struct member *member) {
    uint32_t crc;
    if ((member->flags & FLAG_DESCRIPTOR) == 0 || member->packed_nbytes != 0)
        return bytes_skip(cursor, member->packed_nbytes) &&
               ((member->flags & FLAG_DESCRIPTOR) == 0 || descriptor_read(cursor, &crc));
    bool at_end = member->method == METHOD_DEFLATED ? deflated_skip(cursor) : stored_skip(cursor);
    return at_end && descriptor_read(cursor, &crc);
}

/* Opens the wanted member; the cursor is after its header. */
static bool member_open(struct zip *zip, const struct member *member) {
    struct cursor *cursor = zip->cursor;
    if (member->flags & FLAG_ENCRYPTED)
        return cursor_fail(cursor, READ_NO_DATA, member->offset, "data.pkl is encrypted in this zip");
    if (member->method != METHOD_STORED && member->method != METHOD_DEFLATED)
        return cursor_fail(cursor, READ_NO_DATA, member->offset,
                           "data.pkl is compressed by method %u; only stored and deflated ones are read",
                           member->method);
    zip->deflated = member->method == METHOD_DEFLATED;
    zip->sized = (member->flags & FLAG_DESCRIPTOR) == 0;
    zip->left = zip->sized ? member->packed_nbytes : UINT64_MAX;
    zip->wanted_crc = member->crc;
    return !zip->deflated || packed_open(&zip->packed, cursor, PACKED_DEFLATE);
}

bool zip_open(struct zip *zip, struct cursor *cursor) {
    *zip = (struct zip){.cursor = cursor};
    for (;;) {
        if (!cursor_need(cursor, 4))
            return false;
        if (!zip_recognises(cursor->p, 4))
            return cursor_fail(cursor, READ_NO_DATA, cursor_offset(cursor),
                               "this zip has no member data.pkl, as torch.save writes it");
        cursor->p += 4;
        struct member member;
        if (!member_read(cursor, &member))
            return false;
        if (member.wanted)
            return member_open(zip, &member);
        if (!member_skip(cursor, &member))
            return false;
    }
}

static size_t stored_read(struct zip *zip, void *to, size_t nbytes) {
    struct cursor *cursor = zip->cursor;
    if (zip->left == 0) {
        zip->end = SOURCE_COMPLETE;
        return 0;
    }
    if (!cursor_fill(cursor, 1)) {
        zip->end = cursor->error->code != READ_OK ? SOURCE_FAILED
                   : zip->sized                   ? SOURCE_TRUNCATED
                                                  : SOURCE_COMPLETE; /* its end is unknown */
        return 0;
    }
    size_t got = (size_t)(cursor->end - cursor->p);
    got = got < nbytes ? got : nbytes;
    got = got < zip->left ? got : (size_t)zip->left;
    memcpy(to, cursor->p, got);
    cursor->p += got;
    zip->left -= zip->sized ? got : 0;
    return got;
}

static size_t deflated_read(struct zip *zip, void *to, size_t nbytes) {
    const struct read_source source = packed_source(&zip->packed);
    int64_t got = source.read(source.context, to, nbytes);
    zip->end = zip->packed.end;
    return got > 0 ? (size_t)got : 0;
}

static bool checksum_check(struct zip *zip) {
    struct cursor *cursor = zip->cursor;
    if (!zip->deflated && !zip->sized)
        return true; /* it lasted until the end of the zip */
    if (!zip->sized && !descriptor_read(cursor, &zip->wanted_crc))
        return false;
    return zip->crc == zip->wanted_crc ||
           cursor_fail(cursor, READ_CORRUPT, cursor_offset(cursor), "the checksum of data.pkl is wrong");
}

static int64_t zip_read(void *context, void *to, size_t nbytes) {
    struct zip *zip = context;
    if (zip->end != SOURCE_OPEN)
        return source_result(zip->end, 0);
    nbytes = nbytes < 1 << 30 ? nbytes : 1 << 30; /* zlib's checksum counts in 32 bits */
    size_t got = zip->deflated ? deflated_read(zip, to, nbytes) : stored_read(zip, to, nbytes);
    zip->crc = (uint32_t)crc32(zip->crc, to, (unsigned)got);
    if (zip->end == SOURCE_COMPLETE && !checksum_check(zip))
        zip->end = SOURCE_FAILED;
    return source_result(zip->end, got);
}

struct read_source zip_source(struct zip *zip) {
    return (struct read_source){.read = zip_read, .context = zip};
}

void zip_release(struct zip *zip) {
    if (zip->deflated)
        packed_release(&zip->packed);
}
