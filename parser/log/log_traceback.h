/*
 * Tracebacks above an error: the line of code that made the request. Python prints the outermost call first, in several
 * shapes:
 *
 *       File "train.py", line 41, in forward                       CPython, torchrun, loggers that put a prefix in front
 *     File ~/work/train.py:41, in forward(x)                       IPython 8
 *     ~/work/train.py in forward(x)  and then  ---> 41             IPython 7
 *     Cell In[5], line 3, in step(batch)                           notebooks
 *     │ /home/you/train.py:41 in forward                  │        rich
 *
 * Private to parser/log/.
 */
#pragma once

#include "parser/intern.h"
#include "parser/log/log_text.h"

/* Longer tracebacks keep their innermost lines; at most TRACEBACK_GAP other lines may come between the last line
 * and the error. */
enum { TRACEBACK_FRAMES = 128, TRACEBACK_GAP = 60 };

/* The traceback that the lines of one rank have begun. */
struct log_traceback {
    uint32_t frame[TRACEBACK_FRAMES]; /* ids, outermost first */
    bool own[TRACEBACK_FRAMES];       /* not of an installed package, nor of Python's library */
    uint32_t count;
    uint32_t first_line, last_line; /* of its frames, in the file */
    bool innermost_first;           /* VS Code prints it so, below the error */
    uint32_t n_open;                /* open tracebacks; several: processes print at once */
    uint32_t n_begun;               /* of several, those whose first own line came */
    bool parted;                    /* two of them are at different lines of one function */
    uint32_t shared;                /* the stack of the tracebacks that are still open */
    uint32_t n_shared;              /* their number */
    bool ends_own;                  /* the last traceback ended at a line of the user's own code */
    bool waits_for_line;            /* the last frame has no line yet: IPython 7 prints it below */
    bool chained; /* "During handling of the above exception" came: the next error may repeat the last */
};

struct log_state;

/*
 * Ends a traceback and returns its stack: its frames down to the innermost line of the user's own code, or all if none
 * is; 0: there is no traceback. If several processes print theirs at once, the lines of one cannot be told from
 * another's: they are one stack if all can have come the same way, otherwise 0.
 */
uint32_t log_traceback_end(struct log_state *state, struct log_traceback *traceback);
