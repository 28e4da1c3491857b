#include "parser/container/inflate_fast.h"

#ifdef STRATA_ISAL

#include <isa-l/igzip_lib.h>

struct inflate_fast {
    struct inflate_state state;
};

struct inflate_fast *inflate_fast_new(struct arena *arena) {
    struct inflate_fast *fast = arena_alloc(arena, sizeof *fast);
    if (fast == NULL)
        return NULL;
    isal_inflate_init(&fast->state);
    fast->state.crc_flag = ISAL_GZIP;
    return fast;
}

void inflate_fast_reset(struct inflate_fast *fast) {
    isal_inflate_reset(&fast->state);
    fast->state.crc_flag = ISAL_GZIP;
}

/* Calls isal_inflate once with the bytes that the cursor has. False: damaged. */
static bool fast_step(struct inflate_state *state, struct cursor *cursor) {
    size_t available = (size_t)(cursor->end - cursor->p);
    uint32_t given = available < UINT32_MAX ? (uint32_t)available : UINT32_MAX;
    state->next_in = (uint8_t *)(uintptr_t)cursor->p; /* only read */
    state->avail_in = given;
    int result = isal_inflate(state);
    cursor->p += given - state->avail_in;
    return result >= ISAL_DECOMP_OK && result != ISAL_NEED_DICT;
}

size_t inflate_fast_some(struct inflate_fast *fast, struct cursor *cursor, void *to, size_t nbytes,
                         enum source_end *end) {
    struct inflate_state *state = &fast->state;
    uint32_t room = nbytes < UINT32_MAX ? (uint32_t)nbytes : UINT32_MAX;
    state->next_out = to;
    state->avail_out = room;
    *end = SOURCE_OPEN;
    while (state->avail_out != 0 && *end == SOURCE_OPEN) {
        uint32_t before = state->avail_out;
        bool more = cursor_fill(cursor, 1);
        if ((!more && cursor->error->code != READ_OK) || !fast_step(state, cursor))
            *end = SOURCE_FAILED;
        else if (state->block_state == ISAL_BLOCK_FINISH)
            *end = SOURCE_COMPLETE;
        else if (!more && state->avail_out == before)
            *end = SOURCE_TRUNCATED;
    }
    return room - state->avail_out;
}

#else

struct inflate_fast *inflate_fast_new(struct arena *arena) {
    (void)arena;
    return NULL;
}

void inflate_fast_reset(struct inflate_fast *fast) {
    (void)fast;
}

size_t inflate_fast_some(struct inflate_fast *fast, struct cursor *cursor, void *to, size_t nbytes,
                         enum source_end *end) {
    (void)fast;
    (void)cursor;
    (void)to;
    (void)nbytes;
    *end = SOURCE_FAILED;
    return 0;
}

#endif
