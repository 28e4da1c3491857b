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
