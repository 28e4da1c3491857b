/*
 * The lines of a log that say something about memory, one form each (docs/inputs-reference.md names their sources). A line is
 * looked at alone, but for messages that go over several: a table of memory_summary(), the text of an out-of-memory
 * error that somebody wrapped, and the rows of a CSV, which its header explains. Private to parser/log*.c.
 */
#pragma once

#include "parser/log/log_oom.h"
#include "parser/log/log_rows.h"
#include "parser/log/log_traceback.h"

enum { LOG_CSV_COLUMNS = 64, LOG_UUIDS = 64 };

/* A column of nvidia-smi's CSV. */
enum log_column {
    COLUMN_NONE,
    COLUMN_INDEX,
    COLUMN_PID,
    COLUMN_TOTAL,
    COLUMN_USED,
    COLUMN_FREE,
    COLUMN_SHARE,
    COLUMN_BYTES = 0x80 /* its figures are bytes, those of others MiB */
};

/* Messages that the lines of one rank have begun; lines without a rank share one. */
struct log_stream {
    struct log_row row; /* of a message over several lines */
    int32_t rank;
    enum { LOG_IDLE, LOG_IN_SUMMARY } open;
    uint32_t lines_left; /* it may take this many more */
    int32_t table_gpu;   /* device that the line before of a table names; -1: none */
    uint32_t last_label; /* the text of the line before, if that is not about memory */
    enum {
        TRACED_NOTHING,
        TRACED_BEGIN,
        TRACED_END
    } traced;               /* of Accelerate's TorchTracemalloc: the figures so far, */
    uint64_t traced_nbytes; /* and how much was allocated then */
    uint64_t total_nbytes;  /* sum of the figures in consecutive lines about memory */
    bool staged;            /* the Trainer's stages have begun, at traced_nbytes */
    bool about_before;      /* the line before is about memory */
    bool generated;         /* the line before is mlx-lm's about its output */
    uint32_t below;         /* a line was a command that prints a number alone: which, and 1; 0: none */
    bool operators;         /* a table of key_averages() is open */
    uint32_t max_rss;       /* where the column MaxRSS of a table of sacct ends; 0: none is open */
    uint32_t max_rss_bars;  /* for a table with bars: how many precede the column, + 1; 0: none is open */
    struct log_row share;   /* sum over the processes of a GPU, as far as they were read */
    uint64_t share_pid;     /* the first of them */
    bool shares, processes; /* `share` is open; a table of processes is, */
    bool mig;               /* one of parts of GPUs is */
    bool query;             /* nvidia-smi -q is about a GPU's memory, */
    uint32_t n_queried;     /* and has named this many GPUs */
    bool phy_ids;           /* npu-smi's tables have the column Phy-ID */
    uint64_t yolo_unit;     /* bytes of a G in a table of YOLO's epochs; 0: none is open */
    uint64_t free_unit;     /* the unit that "free -m" prints; 0: unknown */
    bool free_head;         /* the line before is the head of free's table */
    struct log_oom oom;
    struct log_traceback traceback;
    struct log_stream *next;
};

/* State of the whole file. */
struct log_state {
    struct log_stream *stream; /* of the line that is looked at */
    uint32_t n_columns;        /* of the CSV; 0: no header yet */
    uint8_t column[LOG_CSV_COLUMNS];
    uint32_t n_uuids; /* GPUs that are named by "GPU-62176d6c-...", in the order in which they came */
    uint64_t uuid[LOG_UUIDS];
    uint64_t n_inferred;               /* lines of no known form */
    uint64_t n_changes;                /* lines that say how much was added, when no line says to what */
    uint64_t n_operators, most_nbytes; /* rows of key_averages(), and the most in one */
    uint64_t host_limit;               /* of the control group that the kernel reports on; 0: none */
    bool killed;                       /* a kill for lack of memory was reported */
    bool csv_guessed;                  /* figures of a CSV without a header were used */
};

/* In front of the name of a dump, in the log of `strata run`. */
static const char log_dump[] = " strata-dump ";

enum log_seen {
    LOG_NOTHING, /* no line about memory */
    LOG_ROW,     /* `row` is filled */
    LOG_PART     /* the beginning or the middle of a message */
};

/* Looks at a line without its end. `row` comes with line, rank and time. O(line). */
enum log_seen log_line(struct log_state *state, struct text line, struct log_row *row);

/* Ends a table that is open at the end of the log. False: none, or it says nothing. */
bool log_line_end(struct log_stream *stream, struct log_row *row);

/* Adds the memory of a process to that of earlier ones on the row's GPU. LOG_ROW: `row` is the sum for another GPU,
 * or for the previous sample if this one is `anew`. */
enum log_seen log_share_add(struct log_stream *stream, struct log_row *row, uint64_t nbytes, bool anew);

/* The same at the end. */
bool log_share_end(struct log_stream *stream, struct log_row *row);

/* Sets the row's GPU by its "GPU-62176d6c-...", numbered in the order in which they came. */
void log_uuid_find(struct log_state *state, struct text line, struct log_row *row);

/* The host's memory in a line of see_memory_usage, which may say both. False: it says nothing of it. */
bool log_line_host(struct text line, struct log_row *row);
