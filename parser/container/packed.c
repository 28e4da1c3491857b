#include "parser/container/packed.h"

#include <errno.h>
#include <string.h>
#ifdef STRATA_ZSTD
#define ZSTD_STATIC_LINKING_ONLY /* for a memory allocator of our own */
#include <zstd.h>
#include <zstd_errors.h>
#endif
#ifdef STRATA_LZMA
#include <lzma.h>
#endif

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

struct step {
    const uint8_t *from;
    size_t from_nbytes;
    uint8_t *to;
    size_t to_nbytes;
    size_t n_taken, n_made;
    bool ends; /* a frame or stream is complete */
    bool no_memory;
    const char *damage; /* NULL: none */
};

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

static bool zstd_start(struct packed *packed) {
    packed->state = ZSTD_createDStream_advanced((ZSTD_customMem){zstd_take, memory_give, &packed->memory});
    return packed->state != NULL;
}

static void zstd_step(struct packed *packed, struct step *step) {
    ZSTD_inBuffer in = {step->from, step->from_nbytes, 0};
    ZSTD_outBuffer out = {step->to, step->to_nbytes, 0};
    size_t result = ZSTD_decompressStream(packed->state, &out, &in);
    step->n_taken = in.pos;
    step->n_made = out.pos;
    step->ends = result == 0;
    if (!ZSTD_isError(result))
        return;
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

static bool xz_start(struct packed *packed) {
    struct xz *xz = arena_alloc(&packed->memory, sizeof *xz);
    if (xz == NULL)
        return false;
    *xz = (struct xz){.stream = LZMA_STREAM_INIT, .allocator = {xz_take, memory_give, &packed->memory}};
    xz->stream.allocator = &xz->allocator;
    packed->state = xz;
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
    if (packed->between && packed->end == SOURCE_OPEN && stream->total_in != 0 &&
        lzma_stream_decoder(stream, XZ_MEMORY_NBYTES, 0) != LZMA_OK) {
        step->no_memory = true;
        return;
    }
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

static const struct {
    const char *name, *library;
    bool (*recognises)(const uint8_t *p, size_t nbytes);
    bool (*start)(struct packed *packed); /* NULL: the program was built without the library */
    void (*step)(struct packed *packed, struct step *step);
    void (*stop)(struct packed *packed);
} kinds[] = {
#ifdef STRATA_ZSTD
    [PACKED_ZSTD] = {"zstd", "libzstd", zstd_recognises, zstd_start, zstd_step, zstd_stop},
#else
    [PACKED_ZSTD] = {"zstd", "libzstd", zstd_recognises, NULL, NULL, NULL},
#endif
#ifdef STRATA_LZMA
    [PACKED_XZ] = {"xz", "liblzma", xz_recognises, xz_start, xz_step, xz_stop},
#else
    [PACKED_XZ] = {"xz", "liblzma", xz_recognises, NULL, NULL, NULL},
#endif
};

bool packed_open(struct packed *packed, struct cursor *cursor, enum packed_kind kind) {
    *packed = (struct packed){.cursor = cursor, .kind = kind, .between = true};
    arena_init(&packed->memory, cursor->arena->host, SIZE_MAX);
    if (kinds[kind].start != NULL && kinds[kind].start(packed))
        return true;
    if (kinds[kind].start == NULL)
        (void)cursor_fail(
            cursor, READ_UNKNOWN_KIND, 0,
            "this is packed by %s, which this program was built without (%s): unpack it with %s -d",
            kinds[kind].name, kinds[kind].library, kinds[kind].name);
    if (cursor->error->code == READ_OK)
        (void)cursor_fail_memory(cursor, cursor_offset(cursor));
    arena_release(&packed->memory);
    return false;
}

static size_t packed_fail(struct packed *packed, const struct step *step) {
    struct cursor *cursor = packed->cursor;
    /* libzstd does not report how far it got. */
    uint64_t offset = packed->kind == PACKED_ZSTD ? packed->frame : cursor_offset(cursor);
    packed->end = SOURCE_FAILED;
    if (step->no_memory)
        (void)cursor_fail_memory(cursor, cursor_offset(cursor));
    else
        (void)cursor_fail(cursor, READ_CORRUPT, offset, "the compressed data is damaged (%s)", step->damage);
    return 0;
}

/* After a frame: does another one follow? Anything else is ignored, as after gzip. */
static void frame_next(struct packed *packed) {
    static const uint8_t padding[4] = {0}; /* allowed between streams of xz */
    struct cursor *cursor = packed->cursor;
    while (packed->kind == PACKED_XZ && cursor_fill(cursor, sizeof padding) &&
           memcmp(cursor->p, padding, sizeof padding) == 0)
        cursor->p += sizeof padding;
    (void)cursor_fill(cursor, 6);
    if (cursor->error->code != READ_OK)
        packed->end = SOURCE_FAILED;
    else if (!kinds[packed->kind].recognises(cursor->p, (size_t)(cursor->end - cursor->p)))
        packed->end = SOURCE_COMPLETE;
}

static size_t packed_step(struct packed *packed, void *to, size_t nbytes) {
    struct cursor *cursor = packed->cursor;
    bool more = cursor_fill(cursor, 1);
    if (!more && cursor->error->code != READ_OK) {
        packed->end = SOURCE_FAILED;
        return 0;
    }
    struct step step = {
        .from = cursor->p, .from_nbytes = (size_t)(cursor->end - cursor->p), .to = to, .to_nbytes = nbytes};
    if (packed->between)
        packed->frame = cursor_offset(cursor);
    kinds[packed->kind].step(packed, &step);
    cursor->p += step.n_taken;
    if (step.no_memory || step.damage != NULL)
        return packed_fail(packed, &step);
    packed->between = step.ends;
    if (step.ends)
        frame_next(packed);
    else if (!more && step.n_made == 0)
        packed->end = SOURCE_TRUNCATED;
    return step.n_made;
}

static int64_t packed_read(void *context, void *to, size_t nbytes) {
    struct packed *packed = context;
    size_t got = 0;
    while (packed->end == SOURCE_OPEN && got == 0)
        got = packed_step(packed, to, nbytes);
    if (packed->end == SOURCE_FAILED && got == 0) {
        errno = EIO;
        return -1;
    }
    return (int64_t)got;
}

struct read_source packed_source(struct packed *packed) {
    return (struct read_source){.read = packed_read, .context = packed};
}

bool packed_finish(struct packed *packed) {
    uint8_t waste[16 << 10];
    while (packed_read(packed, waste, sizeof waste) > 0)
        continue;
    return packed->cursor->error->code == READ_OK;
}

void packed_release(struct packed *packed) {
    kinds[packed->kind].stop(packed);
    arena_release(&packed->memory);
}
