/*
 * The forms of lines that say something about memory, as one table (log_table.c); docs/inputs-reference.md names their
 * sources. The words of all forms are found in one pass; a line without any of them is not looked at, unless
 * a message of several lines is open. A new form is one row there, and one sample in samples/log_forms.py. Private to
 * parser/log/.
 */
#pragma once

#include "parser/log/log.h"
#include "parser/log/log_pieces.h"
#include "parser/log/log_traceback.h"

/* What a form is about. The order in which forms are tried is that of the kinds, then that of the rows: a row stands
 * before those whose words its own include (tests/unit/parser/log_forms_test.c). The first that reads a line takes it. */
enum log_kind {
    FORM_OTHER,   /* words of other programs and of prose: nothing in the line is about PyTorch's memory */
    FORM_TRACE,   /* lines of tracebacks; they never take the line from others */
    FORM_SETTING, /* the allocator's settings, as a script prints or exports them */
    FORM_ERROR,   /* out-of-memory errors */
    FORM_KILL,    /* a process was killed for lack of the host's memory */
    FORM_SIGNAL, /* a process was killed, or a driver gave up: lack of memory is one of the possible reasons */
    FORM_CSV,    /* the header of nvidia-smi --query-gpu=... --format=csv */
    FORM_DEVICE, /* names the device of the lines below */
    FORM_STAGE,  /* TrainerMemoryTracker of transformers */
    FORM_LABEL,  /* names the moment of the next line of its rank */
    FORM_LEVEL,  /* figures of a device: levels, maxima, parts of a server's budget */
    FORM_HOST    /* figures of the host */
};

enum log_flag {
    FLAG_RESET = 1,      /* its maxima are since the line before, not since the beginning */
    FLAG_LABELLED = 2,   /* the line before is its label */
    FLAG_LABEL = 4,      /* the text before its words is its label */
    FLAG_ALONE = 8,      /* an error's words count only as the text of an error, not in a sentence */
    FLAG_RETRIED = 0x10, /* the allocator tries again after this message */
    FLAG_INSIDE = 0x20,  /* the words count only while a traceback is open */
    FLAG_PAIRS = 0x40,   /* the line may have the figures of several devices */
    FLAG_CARRIED = 0x80, /* a line of FORM_DEVICE above it names its device */
    FLAG_BEFORE = 0x100, /* the line before begins with its device's number */
    FLAG_CHAIN = 0x200,  /* a chain of exceptions goes on: the next error may repeat the last */
    FLAG_JOINED = 0x400 /* a row of a table: its figures and those of the table's other rows are one moment */
};

enum { FORM_FIGURES = 8 };

struct log_form {
    const char *needs[2]; /* words that the line must have; NULL: any */
    enum log_kind kind;
    unsigned flags;   /* enum log_flag */
    const char *name; /* of an error: whose allocator, NULL: log_backends; of a kill: by whom or what */
    struct log_figure figures[FORM_FIGURES];
};

/* Where the words of forms begin, by their first two bytes: few pairs of a line begin any. A word of form `i` is number
 * 2 * i or 2 * i + 1; numbers are kept as 1 + number, 0 for none. */
enum { LOG_FORMS_MOST = 256 };
struct log_words {
    uint64_t begins[(1 << 16) / 64]; /* bits of `first` that are not 0: few bytes, which stay in the cache */
    uint16_t first[1 << 16], next[2 * LOG_FORMS_MOST];
    uint8_t length[2 * LOG_FORMS_MOST];
};

/* The forms whose words a line has all, rising. */
struct log_hits {
    uint16_t form[LOG_FORMS_MOST];
    uint32_t n_forms;
};

extern const struct log_form log_forms[];
extern const uint32_t log_n_forms;

/* Figures of out-of-memory messages besides the request, in any of their lines. */
extern const struct log_figure log_told[];

/* Whose allocator it was, by a word of the message, and the variable that sets it up: words, backend, variable or NULL,
 * up to NULL. */
extern const char *const log_backends[][3];

/* ---- what lines hand on to later lines ---- */

enum { LOG_CSV_COLUMNS = 64, OOM_TAIL = 96, LOG_LABEL_NBYTES = 80, LOG_BEFORE_NBYTES = 240 };

/* The out-of-memory error that the lines of one rank tell about. */
struct log_oom {
    struct log_row row;   /* its figures, and those that follow from them */
    struct log_row raw;   /* its figures as printed */
    uint32_t index;       /* of the row among all */
    uint32_t lines_left;  /* its message may take this many more; 0: it is over */
    uint32_t n_seen;      /* errors so far */
    uint32_t n_full;      /* of them, with a size */
    bool since_2_1;       /* its message has the words of PyTorch 2.1 and later */
    uint32_t tail_nbytes; /* the end of the line before, where a wrapped phrase may begin */
    uint8_t tail[OOM_TAIL];
};

/* What one rank's earlier lines say about its next one; lines without a rank share one stream. */
struct log_stream {
    int32_t rank;
    struct log_stream *next;
    struct log_oom oom;
    struct log_traceback traceback;
    struct log_row joined; /* the last row of a form with FLAG_JOINED */
    uint32_t joined_index; /* of it among all rows */
    uint32_t joined_until; /* its table ends before this line */
    bool staged;           /* transformers' stages: a line said how much was allocated before the first */
    uint64_t stage_nbytes; /* allocated after the last stage */
    int32_t device;        /* that the last line of FORM_DEVICE names; -1: none */
    uint32_t label;        /* string: the stream's line before, if it has the words of a label */
    uint32_t label_line;
};

/*
 * State of the whole file. A line without words of a form is not looked at, unless it may belong to what an earlier
 * line began: an error's message or Ray's table (until `open_until`), a traceback (`trace_until`), a CSV's rows
 * (`n_columns`), the label of the next line (`before`). What belongs to one rank is in its stream.
 */
struct log_state {
    struct cursor *cursor;
    struct trace *trace;
    struct interner interner;
    struct log_rows rows;
    bool failed; /* no memory: nothing that follows counts */

    uint32_t line; /* from 1 */
    struct log_words *words;
    struct log_hits hits; /* of the current line */
    struct log_stream
        *streams; /* one per rank; the one that was used last, that of the current line, is first */
    uint32_t n_streams;
    struct text before; /* the line before, as it stands in the file; cut to LOG_BEFORE_NBYTES */
    bool before_is_row; /* it was read as a form */
    uint8_t before_bytes[LOG_BEFORE_NBYTES];

    uint32_t open_until;  /* lines before this one are looked at, whatever their words */
    uint32_t trace_until; /* some traceback may be open before this line */
    uint32_t top_until;   /* the rows of Ray's table of processes end before this line; 0: none is open */
    uint32_t n_columns;   /* of the CSV; 0: no header yet */
    uint8_t column[LOG_CSV_COLUMNS];

    uint32_t n_full;         /* out-of-memory errors that name a request, over all ranks */
    struct log_row last_oom; /* the last out-of-memory error of any rank */
    uint32_t last_index;     /* its index among the rows */
    uint32_t kill;           /* 1 + index of the last row of a kill; 0: none yet */
    uint32_t signal;         /* the same for a FORM_SIGNAL */
    struct log_row kill_row, signal_row;
    uint64_t host_limit; /* of the control group that the kernel reports on; 0: none */
    bool expandable;     /* a line says that expandable_segments:True is set */
    bool windows;        /* a traceback's path is one of Windows */

    uint64_t n_lines, n_understood, n_long;
    uint64_t n_changes;             /* lines that say how much was added, but not to what */
    uint8_t plain[LOG_LINE_NBYTES]; /* a line without colours */
};

/* Notes that do not make two rows differ: they are of the line, or words about it. */
#define LOG_WORDS_OF_NOTES                                                                \
    (UINT64_C(1) << NOTE_LINE | UINT64_C(1) << NOTE_LABEL | UINT64_C(1) << NOTE_BACKEND | \
     UINT64_C(1) << NOTE_KILLED | UINT64_C(1) << NOTE_RETRIED | UINT64_C(1) << NOTE_POSSIBLE)

/* Bits of the figures that a row has. */
static inline uint64_t log_figures_of(const struct log_row *row) {
    return row->of.known & ~LOG_WORDS_OF_NOTES;
}

/* Precedes the name of a dump in the log of `strata run`. */
#define LOG_DUMP " strata-dump "

/* ---- log.c ---- */

/* The id of a text, among the trace's strings. */
uint32_t log_string(struct log_state *state, struct text text);

/* Keeps a row, new (`index` is the number of rows) or more complete. */
void log_put(struct log_state *state, uint32_t index, struct log_row *row);

/* The rank that a line names, RANK_UNKNOWN if none; `inner` is the line without wrappers. */
int32_t log_rank_of(struct text line, struct text inner);

/* ---- log_table.c ---- */

/* NULL: no memory. */
struct log_words *log_words_make(struct arena *arena);

/* Finds the forms whose words the line has, and lists them. False: the line has no word of any. O(line). */
bool log_forms_find(const struct log_words *words, struct text line, struct log_hits *hits);

/* The first form of a kind in that list, from form `from` on; LOG_NONE: none. O(forms in the list). */
uint32_t log_form_of(const struct log_hits *hits, enum log_kind kind, uint32_t from);

/* ---- readers of one kind of line: `fresh` is a row with line, rank and time. True: the line was one. O(line) each ---- */

/* log_levels.c: levels, budgets, tables of tools; labels of a line that comes next. */
bool log_level_line(struct log_state *state, struct text line, const struct log_row *fresh);

/* log_kill.c: a process was killed, a driver gave up, a row of Ray's table of processes. */
bool log_kill_line(struct log_state *state, struct text line, const struct log_row *fresh);
bool log_top_line(struct log_state *state, struct text line);

/* log_oom.c: an out-of-memory error, or more of one. */
bool log_oom_line(struct log_state *state, struct text line, const struct log_row *fresh);

/* VS Code and some loggers print the error, then its traceback: an error without a site takes the site of the
 * traceback below it. So does one whose site is a library's, if a chain of exceptions follows. */
void log_oom_below(struct log_state *state, struct log_stream *stream);

/* log_traceback.c: a line of a traceback. */
bool log_traceback_line(struct log_state *state, struct text line);

/* log_build.c: makes the devices of the trace, one per rank (without ranks, one per GPU), and the host's memory as the
 * CPU. False: no memory, or the cursor has the error. O(rows log rows). */
bool log_build(struct log_state *state);
