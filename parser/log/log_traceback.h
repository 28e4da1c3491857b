/*
 * Tracebacks above an error: the line of code that made the request. Python prints the outermost call first, in
 * several shapes:
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

/* The traceback that the lines of one rank are in. */
struct log_traceback {
    uint32_t frame[TRACEBACK_FRAMES]; /* ids, outermost first */
    bool own[TRACEBACK_FRAMES];       /* not of an installed package, nor of Python's library */
    uint32_t count;
    uint32_t gap;        /* lines since the last one */
    uint32_t n_open;     /* tracebacks that have begun and not ended: processes that print at once */
    uint32_t shared;     /* stack that the tracebacks which are open yet have too, */
    uint32_t n_shared;   /* number of them */
    bool ends_own;       /* the one that ended last: at a line of the user's own code */
    bool waits_for_line; /* the last frame has no line yet: IPython 7 prints it below */
    bool chained;        /* "During handling of the above exception": it repeats the error before */
};

/* Takes a line. `*taken`: it was part of a traceback. False: no memory. O(line). */
bool log_traceback_line(struct log_traceback *traceback, struct interner *interner, struct text line,
                        bool *taken);

/*
 * The stack of the traceback down to the innermost line of the user's own code, or down to its end where it has none of
 * these; 0 where there is no traceback. Where several processes print theirs at once, the lines of one cannot be told from
 * another's: they count as one stack if all could have come the same way, else it is 0. The traceback is over then. False:
 * no memory.
 */
bool log_traceback_end(struct log_traceback *traceback, struct interner *interner, uint32_t *stack);
