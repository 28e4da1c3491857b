#include "parser/container/packed.h"

#include "base/format.h"

#include "parser/container/inflate.h"

#include <errno.h>
#include <string.h>
#ifdef STRATA_ISAL
#include <isa-l/igzip_lib.h>
#endif
#ifdef STRATA_ZSTD
#define ZSTD_STATIC_LINKING_ONLY /* for a memory allocator of our own */
#include <zstd.h>
#include <zstd_errors.h>
#endif
#ifdef STRATA_LZMA
#include <lzma.h>
#endif

int64_t source_result(enum source_end end, size_t got) {
    if (end != SOURCE_FAILED || got != 0)
        return (int64_t)got;
    errno = EIO;
    return -1;
}

void source_drain(const struct read_source *source) {
    uint8_t waste[16 << 10];
    while (source->read(source->context, waste, sizeof waste) > 0)
        continue;
}

bool gzip_recognises(const uint8_t *p, size_t nbytes) {
    return nbytes >= 3 && p[0] == 0x1f && p[1] == 0x8b && p[2] == 8;
}

bool zstd_recognises(const uint8_t *p, size_t nbytes) {
    static const uint8_t magic[] = {0x28, 0xb5, 0x2f, 0xfd}, skippable[] = {0x2a, 0x4d, 0x18};
    if (nbytes < 4)
        return false;
    return memcmp(p, magic, 4) == 0 || ((p[0] & 0xf0) == 0x50 && memcmp(p + 1, skippable, 3) == 0);
}

bool xz_recognises(const uint8_t *p, size_t nbytes) {
    static const uint8_t magic[] = {0xfd, '7', 'z', 'X', 'Z'};
    return nbytes >= sizeof magic && memcmp(p, magic, sizeof magic) == 0;
}

/* One call of a library, which takes bytes from `from` and makes bytes at `to`. */
struct step {
    const uint8_t *from;
    uint8_t *to;
    uint32_t from_nbytes, to_nbytes;
    size_t n_taken, n_made;
    bool ends; /* a member, frame or stream is complete */
    bool no_memory;
    const char *damage; /* NULL: none */
};

/* ---- gzip and deflate ---- */

/* What ISA-L says of damage, until packed_explain finds the reason. zlib's message is these words and a reason. */
static const char unexplained[] = "the compressed data is damaged";

struct inflating {
    z_stream zlib;
    bool started;               /* `zlib` was */
    struct inflate_state *isal; /* NULL: not used so far, or not built in */
    bool is_fast;               /* ISA-L inflates this member, otherwise zlib does */
};

#ifdef STRATA_ISAL
/* May ISA-L read the member at the cursor? Only if the input can be read again, because zlib must then explain
 * damage. Also ISA-L ignores flags that RFC 1952 reserves and, up to version 2.30, fails on a header with a
 * checksum that comes in two pieces. */
static bool isal_may_read(struct cursor *cursor) {
    enum { FLAGS_AT = 3, FLAG_HEADER_CRC = 0x02, FLAGS_RESERVED = 0xE0 };
    const struct read_helpers *helpers = cursor->source->helpers;
    return helpers != NULL && helpers->again != NULL && cursor_fill(cursor, FLAGS_AT + 1) &&
           (cursor->p[FLAGS_AT] & (FLAG_HEADER_CRC | FLAGS_RESERVED)) == 0;
}

static bool isal_begin(struct packed *packed, struct inflating *inflating) {
    if (packed->kind != PACKED_GZIP || !isal_may_read(packed->cursor))
        return false;
    if (inflating->isal == NULL)
        inflating->isal = arena_alloc(&packed->memory, sizeof *inflating->isal);
    if (inflating->isal == NULL)
        return false;
    isal_inflate_init(inflating->isal);
    inflating->isal->crc_flag = ISAL_GZIP;
    return true;
}

static void isal_step(struct inflate_state *isal, struct step *step) {
    isal->next_in = (uint8_t *)(uintptr_t)step->from; /* only read */
    isal->avail_in = step->from_nbytes;
    isal->next_out = step->to;
    isal->avail_out = step->to_nbytes;
    int result = isal_inflate(isal);
    step->n_taken = step->from_nbytes - isal->avail_in;
    step->n_made = step->to_nbytes - isal->avail_out;
    step->ends = isal->block_state == ISAL_BLOCK_FINISH;
    if (result < ISAL_DECOMP_OK || result == ISAL_NEED_DICT)
        step->damage = unexplained;
}
#else
static bool isal_begin(struct packed *packed, struct inflating *inflating) {
    (void)packed;
    (void)inflating;
    return false;
}

static void isal_step(struct inflate_state *isal, struct step *step) {
    (void)isal;
    (void)step;
}
#endif

static bool inflate_begin(struct packed *packed) {
    if (packed->state == NULL)
        packed->state = arena_alloc(&packed->memory, sizeof(struct inflating));
    struct inflating *inflating = packed->state;
    if (inflating == NULL)
        return false;
    inflating->is_fast = isal_begin(packed, inflating);
    if (inflating->is_fast)
        return true;
    if (inflating->started)
        return inflateReset(&inflating->zlib) == Z_OK;
    inflating->started = inflate_start(&inflating->zlib, &packed->memory,
                                       packed->kind == PACKED_GZIP ? INFLATE_GZIP : INFLATE_RAW);
    return inflating->started;
}

static void inflate_step(struct packed *packed, struct step *step) {
    struct inflating *inflating = packed->state;
    z_stream *zlib = &inflating->zlib;
    if (inflating->is_fast) {
        isal_step(inflating->isal, step);
        return;
    }
    zlib->next_in = step->from;
    zlib->avail_in = step->from_nbytes;
    zlib->next_out = step->to;
    zlib->avail_out = step->to_nbytes;
    int result = inflate(zlib, Z_NO_FLUSH);
    step->n_taken = step->from_nbytes - zlib->avail_in;
    step->n_made = step->to_nbytes - zlib->avail_out;
    step->ends = result == Z_STREAM_END;
    step->no_memory = result == Z_MEM_ERROR;
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
        step->damage = result == Z_NEED_DICT ? "it needs a dictionary"
                       : zlib->msg != NULL   ? zlib->msg
                                             : "no reason given";
}

static void inflate_stop(struct packed *packed) {
    struct inflating *inflating = packed->state;
    if (inflating->started)
        inflateEnd(&inflating->zlib);
}

/* ---- zstd and xz ---- */

#if defined(STRATA_ZSTD) || defined(STRATA_LZMA)
static void memory_give(void *arena, void *memory) {
    if (memory != NULL)
        ARENA_DROP((struct arena *)arena, memory);
}
#endif

#ifdef STRATA_ZSTD
static void *zstd_take(void *arena, size_t nbytes) {
    return arena_column(arena, nbytes, 1);
}

static bool zstd_begin(struct packed *packed) {
    if (packed->state == NULL)
        packed->state =
            ZSTD_createDStream_advanced((ZSTD_customMem){zstd_take, memory_give, &packed->memory});
    return packed->state != NULL;
}

static void zstd_step(struct packed *packed, struct step *step) {
    ZSTD_inBuffer in = {step->from, step->from_nbytes, 0};
    ZSTD_outBuffer out = {step->to, step->to_nbytes, 0};
    size_t result = ZSTD_decompressStream(packed->state, &out, &in);
    step->n_taken = in.pos;
    step->ends = result == 0;
    if (!ZSTD_isError(result)) {
        step->n_made = out.pos;
        return;
    }
    step->no_memory = ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation;
    step->damage = ZSTD_getErrorName(result);
}

static void zstd_stop(struct packed *packed) {
    ZSTD_freeDStream(packed->state);
}
#endif

#ifdef STRATA_LZMA
/* xz -9 needs 65 MiB, but a header may ask for 4 GiB. */
static const uint64_t XZ_MEMORY_NBYTES = UINT64_C(256) << 20;

struct xz {
    lzma_stream stream;
    lzma_allocator allocator;
};

static void *xz_take(void *arena, size_t count, size_t nbytes) {
    return nbytes == 0 || count <= SIZE_MAX / nbytes ? arena_column(arena, count * nbytes, 1) : NULL;
}

static bool xz_begin(struct packed *packed) {
    struct xz *xz = packed->state;
    if (xz == NULL) {
        packed->state = xz = arena_alloc(&packed->memory, sizeof *xz);
        if (xz == NULL)
            return false;
        *xz = (struct xz){.stream = LZMA_STREAM_INIT, .allocator = {xz_take, memory_give, &packed->memory}};
        xz->stream.allocator = &xz->allocator;
    }
    return lzma_stream_decoder(&xz->stream, XZ_MEMORY_NBYTES, 0) == LZMA_OK;
}

static const char *xz_damage(lzma_ret result) {
    return result == LZMA_FORMAT_ERROR     ? "the next part is not an xz stream"
           : result == LZMA_MEMLIMIT_ERROR ? "unpacking it takes more than 256 MiB"
           : result == LZMA_OPTIONS_ERROR  ? "it needs an unknown filter"
                                           : "a checksum or a length is wrong";
}

static void xz_step(struct packed *packed, struct step *step) {
    lzma_stream *stream = &((struct xz *)packed->state)->stream;
    stream->next_in = step->from;
    stream->avail_in = step->from_nbytes;
    stream->next_out = step->to;
    stream->avail_out = step->to_nbytes;
    lzma_ret result = lzma_code(stream, LZMA_RUN);
    step->n_taken = step->from_nbytes - stream->avail_in;
    step->n_made = step->to_nbytes - stream->avail_out;
    step->ends = result == LZMA_STREAM_END;
    step->no_memory = result == LZMA_MEM_ERROR;
    if (result != LZMA_OK && result != LZMA_STREAM_END && result != LZMA_BUF_ERROR)
        step->damage = xz_damage(result);
}

static void xz_stop(struct packed *packed) {
    lzma_end(&((struct xz *)packed->state)->stream);
}
#endif

/* ---- all of them ---- */

static const struct {
    const char *name, *library;
    bool (*recognises)(const uint8_t *p, size_t nbytes); /* NULL: nothing follows the first stream */
    /* Prepares for the stream at the cursor, the first or another one. False: no memory. NULL: the program was built
     * without the library. */
    bool (*begin)(struct packed *packed);
    void (*step)(struct packed *packed, struct step *step);
    void (*stop)(struct packed *packed);
} kinds[] = {
    [PACKED_GZIP] = {"gzip", "zlib", gzip_recognises, inflate_begin, inflate_step, inflate_stop},
    [PACKED_DEFLATE] = {"deflate", "zlib", NULL, inflate_begin, inflate_step, inflate_stop},
#ifdef STRATA_ZSTD
    [PACKED_ZSTD] = {"zstd", "libzstd", zstd_recognises, zstd_begin, zstd_step, zstd_stop},
#else
    [PACKED_ZSTD] = {"zstd", "libzstd", zstd_recognises, NULL, NULL, NULL},
#endif
#ifdef STRATA_LZMA
    [PACKED_XZ] = {"xz", "liblzma", xz_recognises, xz_begin, xz_step, xz_stop},
#else
    [PACKED_XZ] = {"xz", "liblzma", xz_recognises, NULL, NULL, NULL},
#endif
};

static bool stream_begin(struct packed *packed) {
    packed->frame = cursor_offset(packed->cursor);
    return kinds[packed->kind].begin(packed) ||
           cursor_fail_memory(packed->cursor, cursor_offset(packed->cursor));
}

bool packed_open(struct packed *packed, struct cursor *cursor, enum packed_kind kind) {
    *packed = (struct packed){.cursor = cursor, .kind = kind};
    arena_init(&packed->memory, cursor->arena->host, SIZE_MAX);
    if (kinds[kind].begin == NULL)
        return cursor_fail(
            cursor, READ_UNKNOWN_KIND, 0,
            "this is packed by %s, which this program was built without (%s): unpack it with %s -d",
            kinds[kind].name, kinds[kind].library, kinds[kind].name);
    if (stream_begin(packed))
        return true;
    arena_release(&packed->memory);
    return false;
}

static void packed_fail(struct packed *packed, const struct step *step) {
    struct cursor *cursor = packed->cursor;
    /* libzstd does not report how far it got. */
    uint64_t offset = packed->kind == PACKED_ZSTD ? packed->frame : cursor_offset(cursor);
    packed->end = SOURCE_FAILED;
    if (step->no_memory)
        (void)cursor_fail_memory(cursor, cursor_offset(cursor));
    else if (step->damage == unexplained)
        (void)cursor_fail(cursor, READ_CORRUPT, offset, "%s", unexplained);
    else
        (void)cursor_fail(cursor, READ_CORRUPT, offset, "%s (%s)", unexplained, step->damage);
}

/* After a stream: does another one follow? */
static void stream_next(struct packed *packed) {
    static const uint8_t padding[4] = {0}; /* allowed between streams of xz */
    struct cursor *cursor = packed->cursor;
    while (packed->kind == PACKED_XZ && cursor_fill(cursor, sizeof padding) &&
           memcmp(cursor->p, padding, sizeof padding) == 0)
        cursor->p += sizeof padding;
    packed->end = SOURCE_COMPLETE;
    if (kinds[packed->kind].recognises == NULL)
        return;
    (void)cursor_fill(cursor, 6);
    if (kinds[packed->kind].recognises(cursor->p, (size_t)(cursor->end - cursor->p)))
        packed->end = stream_begin(packed) ? SOURCE_OPEN : SOURCE_FAILED;
    if (cursor->error->code != READ_OK)
        packed->end = SOURCE_FAILED;
}

static uint32_t at_most_u32(size_t nbytes) {
    return nbytes < UINT32_MAX ? (uint32_t)nbytes : UINT32_MAX;
}

static size_t packed_step(struct packed *packed, void *to, size_t nbytes) {
    struct cursor *cursor = packed->cursor;
    bool more = cursor_fill(cursor, 1);
    if (!more && cursor->error->code != READ_OK) {
        packed->end = SOURCE_FAILED;
        return 0;
    }
    struct step step = {.from = cursor->p,
                        .from_nbytes = at_most_u32((size_t)(cursor->end - cursor->p)),
                        .to = to,
                        .to_nbytes = at_most_u32(nbytes)};
    kinds[packed->kind].step(packed, &step);
    cursor->p += step.n_taken;
    if (step.no_memory || step.damage != NULL)
        packed_fail(packed, &step);
    else if (step.ends)
        stream_next(packed);
    else if (!more && step.n_made == 0)
        packed->end = SOURCE_TRUNCATED;
    return step.n_made;
}

static uint64_t unpacked_most(const struct packed *packed) {
    uint64_t most = cursor_offset(packed->cursor) * UNPACKED_RATIO;
    if (packed->cursor->source->max_unpacked_nbytes != 0)
        return packed->cursor->source->max_unpacked_nbytes;
    return most > UNPACKED_LEAST ? most : UNPACKED_LEAST;
}

static int64_t packed_read(void *context, void *to, size_t nbytes) {
    struct packed *packed = context;
    size_t got = 0;
    while (packed->end == SOURCE_OPEN && got == 0) /* a stream may be empty, but 0 would mean the end */
        got = packed_step(packed, to, nbytes);
    packed->n_made += got;
    if (packed->end != SOURCE_FAILED && packed->n_made > unpacked_most(packed)) {
        cursor_fail(packed->cursor, READ_LIMIT, packed->n_made,
                    "it unpacks to more than %s; --max-unpacked allows more",
                    format_bytes(unpacked_most(packed)).text);
        packed->end = SOURCE_FAILED;
        got = 0;
    }
    return source_result(packed->end, got);
}

struct read_source packed_source(struct packed *packed) {
    return (struct read_source){.read = packed_read,
                                .context = packed,
                                .max_unpacked_nbytes = packed->cursor->source->max_unpacked_nbytes};
}

/* Finds the error that zlib reports for the whole input; READ_OK: zlib finds none. */
static void damage_find(const struct read_source *again, struct arena *arena, struct read_error *error) {
    struct cursor cursor;
    struct packed packed;
    if (cursor_init(&cursor, again, NULL, arena, error) && packed_open(&packed, &cursor, PACKED_GZIP)) {
        const struct read_source source = packed_source(&packed);
        source_drain(&source);
        packed_release(&packed);
    }
    cursor_release(&cursor);
}

void packed_explain(const struct packed *packed) {
    const struct read_source *source = packed->cursor->source;
    struct read_error *error = packed->cursor->error, found = {.code = READ_OK};
    struct read_source again;
    if (error->code != READ_CORRUPT || strcmp(error->message, unexplained) != 0 ||
        !source->helpers->again(source->context, &again))
        return;
    damage_find(&again, packed->cursor->arena, &found);
    if (found.code == READ_CORRUPT)
        *error = found;
}

void packed_release(struct packed *packed) {
    kinds[packed->kind].stop(packed);
    arena_release(&packed->memory);
}
