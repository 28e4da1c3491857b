#include "parser/made_text.h"

#include "base/bytes.h"

bool made_texts_spend(struct made_texts *made, uint64_t n_read, uint64_t nbytes) {
    uint64_t most = MADE_TEXT_NBYTES + n_read * MADE_TEXT_SHARE;
    if (made->spent_nbytes > most || nbytes > most - made->spent_nbytes) {
        made->n_left_out++;
        return false;
    }
    made->spent_nbytes += nbytes;
    return true;
}

static uint64_t chunks_nbytes(const struct trace *trace, const uint32_t *chunk, uint32_t n_chunks) {
    uint64_t nbytes = 0;
    for (uint32_t i = 0; i < n_chunks; i++)
        nbytes += trace_text(trace, chunk[i]).nbytes;
    return nbytes;
}

/* False: no memory. */
static bool chunks_join(struct interner *interner, const uint32_t *chunk, uint32_t n_chunks, uint64_t nbytes,
                        uint32_t *string) {
    struct arena *arena = &interner->trace->arena;
    uint8_t *text = arena_column(arena, nbytes, 1);
    if (text == NULL)
        return false;
    size_t n = 0;
    for (uint32_t i = 0; i < n_chunks; i++) {
        struct text part = trace_text(interner->trace, chunk[i]);
        bytes_copy(text + n, part.at, part.nbytes);
        n += part.nbytes;
    }
    bool done = intern_string(interner, text, n, string);
    ARENA_DROP(arena, text);
    return done;
}

/* The entry of a list's text; NULL: no memory. */
static uint32_t *text_of_list(struct made_texts *made, struct arena *arena, uint32_t list) {
    uint32_t before = made->capacity;
    if (!ARENA_GROW(arena, made->text, made->capacity, (uint64_t)list + 1))
        return NULL;
    bytes_zero(made->text + before, (size_t)(made->capacity - before) * sizeof *made->text);
    return &made->text[list];
}

bool made_texts_join(struct made_texts *made, struct interner *interner, uint64_t n_read,
                     const uint32_t *chunk, uint32_t n_chunks, uint32_t *string) {
    struct arena *arena = &interner->trace->arena;
    uint32_t list;
    *string = n_chunks == 1 ? chunk[0] : 0;
    if (n_chunks < 2)
        return true;
    if (!stack_tree_add(&made->lists, arena, chunk, n_chunks, &list))
        return false;
    uint32_t *text = text_of_list(made, arena, list);
    if (text == NULL)
        return false;
    if (*text == 0) {
        uint64_t nbytes = chunks_nbytes(interner->trace, chunk, n_chunks);
        if (!made_texts_spend(made, n_read, nbytes))
            return true;
        if (!chunks_join(interner, chunk, n_chunks, nbytes, string))
            return false;
        *text = *string + 1;
    }
    *string = *text - 1;
    return true;
}

void made_texts_release(struct made_texts *made, struct arena *arena) {
    ARENA_DROP(arena, made->text);
    stack_tree_release(&made->lists, arena);
}
