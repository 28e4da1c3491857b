/* Reads a recording of any supported kind into a trace. docs/inputs.md says what is read and what is refused.
 */
#pragma once

#include "trace/trace.h"

enum read_code {
    READ_OK = 0,
    READ_IO,           /* the source failed; errno_value tells why */
    READ_EMPTY,        /* no bytes at all */
    READ_UNKNOWN_KIND, /* no known kind begins with these bytes */
    READ_TRUNCATED,    /* the file ends inside of something */
    READ_BAD_OPCODE,   /* a byte that is not a pickle opcode */
    READ_FORBIDDEN,    /* an opcode that would call code or needs outside data */
    READ_BAD_LENGTH,   /* a length that exceeds its limit */
    READ_BAD_VALUE,    /* an impossible argument: not a number, an unknown memo id, a protocol above 5 */
    READ_BAD_STACK,    /* too few values for an opcode, or no mark */
    READ_BAD_SHAPE,    /* well formed, but not a memory snapshot */
    READ_LIMIT,        /* a limit of the reader was reached */
    READ_NO_MEMORY,    /* the memory limit was reached, or there is no memory */
    READ_INTERRUPTED,  /* the progress function asked to stop */
    READ_CORRUPT,      /* compressed or encoded data is damaged: a checksum differs, a byte is not base64 */
    READ_NO_DATA       /* a known kind of file without a recording, such as a page with only a picture */
};

struct read_error {
    enum read_code code;
    /* the byte where it went wrong: in the decoded stream if its contents are wrong, in the input for
     * READ_CORRUPT */
    uint64_t offset;
    int errno_value;   /* READ_IO only */
    char message[320]; /* one line without file name and offset: "GLOBAL is refused: it would call code" */
};

struct read_helpers;

/* The borrower of bytes may write to this many bytes before them. */
enum { READ_LENT_ROOM = 64 << 10 };

/* Bytes of an input, read in order. */
struct read_source {
    /* Fills `to` with up to `nbytes` > 0; 0 at the end; -1: failed, errno is set. */
    int64_t (*read)(void *context, void *to, size_t nbytes);
    /* The same without a copy: sets `*bytes` to the next bytes, if there are any. They and the room before them
     * stay valid until the call after the next one. Do not call it after a `read`. NULL: bytes are copied. */
    int64_t (*lend)(void *context, uint8_t **bytes);
    void *context;
    uint64_t size_hint;                 /* 0: unknown */
    const struct read_helpers *helpers; /* NULL: none */
    uint64_t max_unpacked_nbytes;       /* what is packed in it may unpack to; 0: parser/container/packed.h */
    /* for tests: dicts and lists of a pickle are never read in one step (parser/pickle/pickle_dict.c); the result is
     * the same */
    bool plainly;
};

/* Optional help from the program, such as threads. The recording is the same without it. */
struct read_helpers {
    /* Starts a thread that reads `source` ahead, and sets `*ahead` to a source of the same bytes. Until ahead_stop,
     * `source` and all that it uses belong to the thread. NULL: no thread, and `source` is unchanged. The host of
     * the trace's arena must allow two threads at once, as the C library's does. */
    struct read_ahead *(*ahead_start)(const struct read_source *source, struct read_source *ahead);
    void (*ahead_stop)(struct read_ahead *ahead);
    /* Sets `*again` to a source of the same bytes from the first one on; `context` is the source's. Only one at a
     * time. NULL, or false: the input can be read only once. */
    bool (*again)(void *context, struct read_source *again);
};

struct read_progress {
    /* Called every few MiB; false stops the reading with READ_INTERRUPTED. NULL: no reports. */
    bool (*report)(void *context, uint64_t nbytes, uint64_t n_events);
    void *context;
};

/* Fills an empty, initialised trace. False: `error` tells why (the trace is useless, but must still be released). */
bool trace_read(struct trace *trace, const struct read_source *source, const struct read_progress *progress,
                struct read_error *error);
