/* For tests of the parser: bytes in memory as an input, and a writer of such bytes. */
#pragma once

#include "memory_host.h"
#include "parser/read.h"

#include <stdlib.h>
#include <string.h>

/* The name of a code in messages. */
static inline const char *read_code_name(enum read_code code) {
    static const char *const names[] = {
        [READ_OK] = "ok",
        [READ_IO] = "io",
        [READ_EMPTY] = "empty",
        [READ_UNKNOWN_KIND] = "unknown_kind",
        [READ_TRUNCATED] = "truncated",
        [READ_BAD_OPCODE] = "bad_opcode",
        [READ_FORBIDDEN] = "forbidden",
        [READ_BAD_LENGTH] = "bad_length",
        [READ_BAD_VALUE] = "bad_value",
        [READ_BAD_STACK] = "bad_stack",
        [READ_BAD_SHAPE] = "bad_shape",
        [READ_LIMIT] = "limit",
        [READ_NO_MEMORY] = "no_memory",
        [READ_INTERRUPTED] = "interrupted",
        [READ_CORRUPT] = "corrupt",
        [READ_NO_DATA] = "no_data",
    };
    return names[code];
}

/* Bytes being written. Tests have memory. */
struct bytes {
    uint8_t *at;
    size_t nbytes, capacity;
};

static inline void bytes_add(struct bytes *bytes, const void *from, size_t nbytes) {
    if (bytes->nbytes + nbytes > bytes->capacity) {
        bytes->capacity = (bytes->nbytes + nbytes) * 2;
        bytes->at = realloc(bytes->at, bytes->capacity);
        if (bytes->at == NULL)
            abort();
    }
    if (nbytes != 0)
        memcpy(bytes->at + bytes->nbytes, from, nbytes);
    bytes->nbytes += nbytes;
}

static inline void bytes_add_text(struct bytes *bytes, const char *text) {
    bytes_add(bytes, text, strlen(text));
}

/* A string literal, NUL bytes in it included. */
#define BYTES(bytes, literal) bytes_add((bytes), (literal), sizeof(literal) - 1)

static inline void bytes_release(struct bytes *bytes) {
    free(bytes->at);
    *bytes = (struct bytes){0};
}

struct memory_input {
    const uint8_t *at;
    size_t nbytes, used;
    size_t step; /* the most bytes that one read returns; 0: all */
};

static inline int64_t memory_input_read(void *context, void *to, size_t nbytes) {
    struct memory_input *input = context;
    size_t left = input->nbytes - input->used;
    size_t n = left < nbytes ? left : nbytes;
    if (input->step != 0 && n > input->step)
        n = input->step;
    if (n != 0)
        memcpy(to, input->at + input->used, n);
    input->used += n;
    return (int64_t)n;
}

/* Reads with at most `limit_nbytes` of memory. The trace is to be released in any case. */
static inline bool memory_input_trace(struct trace *trace, const void *at, size_t nbytes, size_t step,
                                      size_t limit_nbytes, struct read_error *error) {
    struct memory_input input = {.at = at, .nbytes = nbytes, .step = step};
    struct read_source source = {.read = memory_input_read, .context = &input};
    *error = (struct read_error){.code = READ_NO_MEMORY};
    return trace_init(trace, plain_host, limit_nbytes) && trace_read(trace, &source, NULL, error);
}

/* True if the trace has a diagnostic with this code. */
static inline bool trace_has_diagnostic(const struct trace *trace, const char *code) {
    for (uint32_t i = 0; i < trace->n_diagnostics; i++)
        if (text_is(trace_text(trace, trace->diagnostics[i].code), code))
            return true;
    return false;
}
