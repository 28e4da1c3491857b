#include "parser/container/inflate.h"

static void *memory_take(void *context, unsigned count, unsigned item_nbytes) {
    return arena_column(context, count, item_nbytes);
}

static void memory_give(void *context, void *memory) {
    ARENA_DROP((struct arena *)context, memory);
}

bool inflate_start(z_stream *stream, struct arena *arena, enum inflate_format format) {
    *stream = (z_stream){.zalloc = memory_take, .zfree = memory_give, .opaque = arena};
    return inflateInit2(stream, (int)format) == Z_OK;
}

static void inflate_fail(const z_stream *stream, struct cursor *cursor, int result) {
    if (result == Z_MEM_ERROR)
        cursor_fail_memory(cursor, cursor_offset(cursor));
    else
        cursor_fail(cursor, READ_CORRUPT, cursor_offset(cursor), "the compressed data is damaged (%s)",
                    result == Z_NEED_DICT ? "it needs a dictionary"
                    : stream->msg != NULL ? stream->msg
                                          : "no reason given");
}

/* Calls inflate once with the bytes that the cursor has. */
static int inflate_step(z_stream *stream, struct cursor *cursor) {
    size_t available = (size_t)(cursor->end - cursor->p);
    unsigned given = available < UINT32_MAX ? (unsigned)available : UINT32_MAX;
    stream->next_in = cursor->p;
    stream->avail_in = given;
    int result = inflate(stream, Z_NO_FLUSH);
    cursor->p += given - stream->avail_in;
    return result;
}

size_t inflate_some(z_stream *stream, struct cursor *cursor, void *to, size_t nbytes, enum source_end *end) {
    stream->next_out = to;
    stream->avail_out = nbytes < UINT32_MAX ? (unsigned)nbytes : UINT32_MAX;
    size_t room = stream->avail_out;
    *end = SOURCE_OPEN;
    while (stream->avail_out != 0 && *end == SOURCE_OPEN) {
        bool more = cursor_fill(cursor, 1);
        if (!more && cursor->error->code != READ_OK) {
            *end = SOURCE_FAILED;
            break;
        }
        int result = inflate_step(stream, cursor);
        if (result == Z_STREAM_END) {
            *end = SOURCE_COMPLETE;
        } else if (result == Z_BUF_ERROR && !more) {
            *end = SOURCE_TRUNCATED;
        } else if (result != Z_OK && result != Z_BUF_ERROR) {
            inflate_fail(stream, cursor, result);
            *end = SOURCE_FAILED;
        }
    }
    return room - stream->avail_out;
}

enum inflate_result inflate_whole(struct arena *arena, const void *from, uint32_t from_nbytes, void *to,
                                  uint32_t nbytes) {
    z_stream stream;
    if (!inflate_start(&stream, arena, INFLATE_ZLIB))
        return INFLATE_NO_MEMORY;
    stream.next_in = from;
    stream.avail_in = from_nbytes;
    stream.next_out = to;
    stream.avail_out = nbytes;
    int result = inflate(&stream, Z_FINISH);
    inflateEnd(&stream);
    if (result == Z_MEM_ERROR)
        return INFLATE_NO_MEMORY;
    bool whole = result == Z_STREAM_END && stream.avail_out == 0 && stream.avail_in == 0;
    return whole ? INFLATE_DONE : INFLATE_DAMAGED;
}
