#include "parser/container/html.h"

#include "parser/container/base64.h"
#include "parser/container/inflate.h"
#include "trace/payload.h"

struct payload_bytes {
    uint8_t *bytes;
    uint32_t nbytes, capacity;
};

static bool scratch_failed(struct cursor *cursor, const struct arena *scratch) {
    cursor->arena->full |= scratch->full;
    return cursor_fail_memory(cursor, cursor_offset(cursor));
}

static bool bytes_decode(struct cursor *cursor, struct arena *arena, struct payload_bytes *payload) {
    enum { STEP_NBYTES = 1 << 20 };
    struct base64 base64;
    base64_open(&base64, cursor, '<');
    struct read_source source = base64_source(&base64);
    for (int64_t got = 1; got > 0; payload->nbytes += (uint32_t)got) {
        if (!ARENA_GROW(arena, payload->bytes, payload->capacity, (uint64_t)payload->nbytes + STEP_NBYTES))
            return scratch_failed(cursor, arena);
        got = source.read(source.context, payload->bytes + payload->nbytes, STEP_NBYTES);
        if (got < 0)
            return false;
    }
    return base64.end == SOURCE_COMPLETE || cursor_fail(cursor, READ_TRUNCATED, cursor_offset(cursor),
                                                        "the page ends inside of its recording");
}

static bool payload_check(struct cursor *cursor, const struct arena *scratch, enum payload_error error) {
    uint64_t offset = cursor_offset(cursor);
    switch (error) {
    case PAYLOAD_OK: return true;
    case PAYLOAD_NO_MEMORY: return scratch_failed(cursor, scratch);
    case PAYLOAD_BAD_MAGIC:
        return cursor_fail(cursor, READ_UNKNOWN_KIND, offset,
                           "the page was written by another version of Strata");
    case PAYLOAD_TRUNCATED:
        return cursor_fail(cursor, READ_CORRUPT, offset, "the recording in the page is shorter than it says");
    default: return cursor_fail(cursor, READ_CORRUPT, offset, "the recording in the page contradicts itself");
    }
}

static bool pieces_inflate(struct cursor *cursor, struct arena *arena, const struct payload *payload) {
    for (uint32_t i = 0; i < payload->n_pieces; i++) {
        const struct payload_piece *piece = &payload->pieces[i];
        switch (inflate_whole(arena, piece->packed, piece->packed_nbytes, piece->target, piece->raw_nbytes)) {
        case INFLATE_DONE: break;
        case INFLATE_NO_MEMORY: return scratch_failed(cursor, arena);
        case INFLATE_DAMAGED:
            return cursor_fail(cursor, READ_CORRUPT, cursor_offset(cursor),
                               "a piece of the recording in the page is damaged");
        }
    }
    return true;
}

static bool payload_read(struct cursor *cursor, struct arena *arena, struct trace *trace) {
    struct payload_bytes bytes = {0};
    struct payload payload;
    if (!bytes_decode(cursor, arena, &bytes))
        return false;
    if (!payload_check(cursor, arena, payload_open(&payload, bytes.bytes, bytes.nbytes, arena)) ||
        !pieces_inflate(cursor, arena, &payload))
        return false;
    return payload_check(cursor, arena, payload_unpack(&payload, trace));
}

bool page_read(struct cursor *cursor, struct trace *trace) {
    struct arena scratch;
    arena_init(&scratch, arena_share(&trace->arena), SIZE_MAX);
    bool done = payload_read(cursor, &scratch, trace);
    arena_release(&scratch);
    trace->meta = 0;
    return done;
}
