/*
 * Out-of-memory errors, read from their messages: PyTorch's allocators for CUDA, HIP, XPU, MPS, NPU, MLU and others
 * in all their versions, XLA's, TensorFlow's and the host's. docs/inputs-reference.md lists the forms with their
 * sources. Private to parser/log/.
 */
#pragma once

#include "base/text.h"
#include "parser/log/log_rows.h"

enum { OOM_TAIL = 96, OOM_SIZES = 8 };

/* The out-of-memory error that the lines of one rank tell about. */
struct log_oom {
    struct log_row row;  /* its figures, and those that follow from them */
    struct log_row raw;  /* its figures as printed */
    bool since_2_1;      /* its message has the words of PyTorch 2.1 and later */
    uint32_t index;      /* of the row among all, set by the caller */
    uint32_t lines_left; /* its message may take this many more; 0: it is over */
    uint32_t n_full;     /* errors so far that name a request */
    uint32_t n_bare;     /* errors so far without figures: at most one, and none after a full one */
    uint32_t tail_nbytes;
    uint64_t asked[OOM_SIZES]; /* ring of the sizes that errors named last */
    uint32_t n_asked;          /* sizes named so far */
    uint8_t tail[OOM_TAIL];    /* the end of the line before */
};

enum log_oom_seen {
    LOG_OOM_NOTHING,
    LOG_OOM_BEGINS, /* `oom->row` is a new error, as far as this line describes it */
    LOG_OOM_MORE,   /* `oom->row` has more figures now */
    LOG_OOM_AGAIN   /* the line repeats an error that is known */
};

/* Looks at a line; `fresh` is its row, with line, rank and time. O(line). */
enum log_oom_seen log_oom_line(struct log_oom *oom, struct text line, const struct log_row *fresh);

/* Do both rows have the same figures and the same device? */
bool log_oom_same(const struct log_row *a, const struct log_row *b);

/* ---- log_backend.c: whose allocator ran out of memory, and the variable that sets it up ---- */

/* Is the line a MemoryError of Python itself? */
bool log_is_python(struct text line);

/* Sets the row's backend by the first known words of the line, if it has none yet. */
void log_backend_read(struct text line, struct log_row *row);

/* Reads the variable and the hint that a line names. */
void log_setting_read(struct text line, struct log_row *row);

/* Names the variable of a backend whose message gave the hint without it, or is of 2.1 and later and was cut. */
void log_setting_complete(struct log_row *row, bool since_2_1);
