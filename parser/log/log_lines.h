/*
 * Recognises lines of a log that say something about memory; docs/inputs-reference.md names the sources of their forms.
 * Each line is read alone, except for messages over several lines: a table of memory_summary(), the text of an
 * out-of-memory error that was wrapped, the rows of a CSV, which its header explains. Private to parser/log/.
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
    COLUMN_BYTES = 0x80 /* its figures are in bytes; those of other columns are in MiB */
};

/* What one rank's earlier lines say about its next one; lines without a rank share one stream. */
struct log_stream {
    int32_t rank;
    struct log_stream *next;
    struct log_oom oom;
    struct log_traceback traceback;
    uint32_t last_label;   /* string: the line before, if it is not about memory */
    bool about_before;     /* the line before is about memory */
    uint64_t total_nbytes; /* the device's capacity that consecutive lines about memory named last */

    /* A table of memory_summary(). */
    enum { LOG_IDLE, LOG_IN_SUMMARY } open;
    struct log_row row;  /* its figures so far */
    uint32_t lines_left; /* it may take this many more */

    /* Accelerate's TorchTracemalloc, and the stages of transformers' Trainer. */
    enum { TRACED_NOTHING, TRACED_BEGIN, TRACED_END } traced; /* the line of a stretch that came last */
    uint64_t traced_nbytes;                                   /* allocated after it */
    bool staged; /* a line said how much was allocated before the first stage */

    /* Tables and other output of tools. */
    int32_t table_gpu;    /* the device that an earlier line of a table names; -1: none */
    struct log_row share; /* sum over a GPU's processes so far */
    uint64_t share_pid;   /* the first of them */
    bool shares;          /* `share` is open */
    bool processes;       /* in nvidia-smi's table of processes */
    bool mig;             /* in nvidia-smi's table of parts of GPUs */
    bool query;           /* in a part of nvidia-smi -q about memory */
    bool queried;         /* there was such a part */
    uint32_t n_queried;   /* GPUs that nvidia-smi -q has named */
    bool phy_ids;         /* npu-smi's tables have the column Phy-ID */
    bool generated;       /* the line before is mlx-lm's about its speed */
    bool operators;       /* in a table of key_averages() */
    uint32_t below;       /* 1 + index of the command that printed the number in the next line; 0: none */
    uint32_t column;      /* 1 + index of the column of memory that a table's head names; 0: no table */
    uint32_t column_begin, column_end; /* of its name */
    uint32_t max_rss_bars; /* 1 + the number of bars before that column in sacct -P; 0: no table */
    uint64_t yolo_unit;    /* bytes of a G in a table of YOLO's epochs; 0: no table */
    uint64_t free_unit;    /* the unit that "free -m" prints; 0: unknown */
    bool free_head;        /* the line before is the head of free's table */
};

/* State of the whole file. */
struct log_state {
    struct log_stream *stream; /* of the current line */
    uint32_t n_columns;        /* of the CSV; 0: no header yet */
    uint8_t column[LOG_CSV_COLUMNS];
    uint32_t n_uuids; /* GPUs that are named by "GPU-62176d6c-...", in order of appearance */
    uint64_t uuid[LOG_UUIDS];
    uint64_t n_inferred;               /* lines of no known form that were read by their words */
    uint64_t n_changes;                /* lines that say how much was added, but not to what */
    uint64_t n_operators, most_nbytes; /* rows of key_averages(), and the largest figure in one */
    uint64_t host_limit;               /* of the control group that the kernel reports on; 0: none */
    bool killed;                       /* a kill for lack of memory was reported */
    bool csv_guessed;                  /* figures of a CSV without a header were used */
};

/* Precedes the name of a dump in the log of `strata run`. */
static const char log_dump[] = " strata-dump ";

enum log_seen {
    LOG_NOTHING, /* not a line about memory */
    LOG_ROW,     /* `row` is filled */
    LOG_PART     /* the beginning or the middle of a message */
};

/* Reads a line without its end. `row` comes with line, rank and time. O(line). */
enum log_seen log_line(struct log_state *state, struct text line, struct log_row *row);

/* Ends a table that is open at the end of the log. False: there is none, or it has no figures. */
bool log_line_end(struct log_stream *stream, struct log_row *row);

/* Adds the memory of a process to that of earlier ones on the row's GPU. LOG_ROW: `row` is the sum for another GPU,
 * or for the previous sample if this one is `anew`. */
enum log_seen log_share_add(struct log_stream *stream, struct log_row *row, uint64_t nbytes, bool anew);

/* The same at the end. */
bool log_share_end(struct log_stream *stream, struct log_row *row);

/* Sets the row's GPU by its "GPU-62176d6c-...", numbered in order of appearance. */
void log_uuid_find(struct log_state *state, struct text line, struct log_row *row);

/* The host's memory in a line of see_memory_usage, which may have the device's too. False: it has no such figure. */
bool log_line_host(struct text line, struct log_row *row);

/* ---- forms, by file: each reads a line as log_line does. O(line * forms). ---- */

/* log_table.c: forms that are recognised by their words: start-up of servers, single figures of tools, kills. */
enum log_seen log_table_line(struct log_state *state, struct text line, struct log_row *row);

/* log_table.c: the memory column in the tables of nvidia-smi, npu-smi and their like. */
enum log_seen log_smi_line(struct log_state *state, struct text line, struct log_row *row);

/* log_columns.c: a row of a table whose head names a column of memory. */
bool log_column_line(struct log_stream *stream, struct text line, struct log_row *row);

/* log_tools.c: tools whose lines belong together, or print sums. */
enum log_seen log_tools_line(struct log_state *state, struct text line, struct log_row *row);

/* log_csv.c: a row or the header of nvidia-smi --query-gpu=... --format=csv. */
enum log_seen log_csv_line(struct log_state *state, struct text line, struct log_row *row);

/* log_inferred.c: "LABEL: NUMBER UNIT", several in a line, if the label names allocated, reserved, cached, used, free
 * or peak memory, or is below a line about memory. Marks the row as inferred. */
enum log_seen log_inferred_line(struct log_state *state, struct text line, struct log_row *row);

/* log_inferred.c: does the text name memory or a GPU? O(text). */
bool log_is_about_memory(struct text text);
