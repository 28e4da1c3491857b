/* Reads a recording of any supported kind into a trace. docs/inputs.md says what is read and what is refused.
 */
#pragma once

#include "trace/trace.h"

enum read_code {
    READ_OK = 0,
    READ_IO,           /* the source failed; errno_value says how */
    READ_EMPTY,        /* no bytes at all */
    READ_UNKNOWN_KIND, /* the first bytes are of no kind that is read */
    READ_TRUNCATED,    /* the file ends inside of something */
    READ_BAD_OPCODE,   /* a byte that is not a pickle opcode */
    READ_FORBIDDEN,    /* an opcode that would call code or needs outside data */
    READ_BAD_LENGTH,   /* a length that exceeds its limit */
    READ_BAD_VALUE,    /* an argument that cannot be: not a number, unknown memo id, protocol above 5 */
    READ_BAD_STACK,    /* too few values for an opcode, or no mark */
    READ_BAD_SHAPE,    /* well formed, but not a memory snapshot */
    READ_LIMIT,        /* a named limit was reached */
    READ_NO_MEMORY,    /* the memory limit, or none left */
    READ_INTERRUPTED,  /* the progress function asked to stop */
    READ_CORRUPT,      /* compressed or encoded data is damaged: a check sum differs, a byte is not base64 */
    READ_NO_DATA       /* a known kind of file that holds no recording, such as a page with a picture only */
};

struct read_error {
    enum read_code code;
    uint64_t offset; /* byte where it went wrong: of the decoded stream where something is wrong with what it
                        says, of the input for READ_CORRUPT */
    int errno_value; /* READ_IO only */
    char message[160]; /* one line without the file's name and the offset: "GLOBAL is refused: it would call
                          code" */
};

struct read_helpers;

/* Before bytes that are lent lies so much room, which is the borrower's to write. */
enum { READ_LENT_ROOM = 64 << 10 };

/* Bytes of an input, read in order. */
struct read_source {
    /* Fills `to` with up to `nbytes` > 0; 0 at the end; -1: failed, errno is set. */
    int64_t (*read)(void *context, void *to, size_t nbytes);
    /* The same without a copy: sets `*bytes` to where the next ones are, unless there are none. They and the room before
     * them stay until the call after the next one. Not to be called behind a `read`. NULL: bytes are copied. */
    int64_t (*lend)(void *context, uint8_t **bytes);
    void *context;
    uint64_t size_hint;                 /* 0: unknown */
    const struct read_helpers *helpers; /* NULL: none */
    /* For tests: of a pickle, dicts and lists are never taken whole (parser/pickle/pickle_event.c); what is read is the same */
    bool plainly;
};

/* Optional help from the program, such as threads. The recording that is read is the same without it. */
struct read_helpers {
    /* Starts a thread that reads `source` ahead, and sets `*ahead` to the same bytes. Until ahead_stop, `source` and
     * all that it uses belong to the thread. NULL: no thread, `source` is as it was. The host of the trace's arena must
     * then be one that two threads may use at once, as the C library's is. */
    struct read_ahead *(*ahead_start)(const struct read_source *source, struct read_source *ahead);
    void (*ahead_stop)(struct read_ahead *ahead);
    /* Sets `*again` to the same bytes from the first one on; `context` is the source's. Only one at a time. NULL, or
     * false: the input can be read only once. */
    bool (*again)(void *context, struct read_source *again);
};

struct read_progress {
    /* Called every few MiB; false stops the reading with READ_INTERRUPTED. NULL: not called. */
    bool (*report)(void *context, uint64_t nbytes, uint64_t n_events);
    void *context;
};

/* Fills an empty, initialised trace. False: `error` says why (and the trace holds nothing of use, but must
 * still be released). */
bool trace_read(struct trace *trace, const struct read_source *source, const struct read_progress *progress,
                struct read_error *error);

/* Stable name of a code, such as "truncated". */
const char *read_code_name(enum read_code code);
