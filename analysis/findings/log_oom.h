/*
 * Why memory ran out, by what the message in a log says: what was asked for against what was free first. A figure that is
 * not printed is not known, and nothing is concluded from it. Freestanding.
 */
#pragma once

#include "base/words.h"
#include "trace/trace.h"

/* In the order in which they are asked; the first that holds is the cause. */
enum log_oom_cause {
    LOG_OOM_TOO_LARGE,      /* more was asked for than the device has */
    LOG_OOM_LIMIT,          /* what is in use and the request are above a limit set for the process */
    LOG_OOM_FREE_ENOUGH,    /* as much was free as was asked for */
    LOG_OOM_NOT_CONTIGUOUS, /* less was free; what is reserved but unallocated is enough, its pieces are not */
    LOG_OOM_IN_USE,         /* less was free, and that is less too, or not printed */
    LOG_OOM_UNKNOWN         /* what was free is not printed */
};

struct log_oom_facts {
    uint64_t number[NOTE_KINDS];
    bool known[NOTE_KINDS];
    enum log_oom_cause cause;
    uint32_t backend; /* string; 0: the message does not say */
    /* string: the variable that would help; 0: pieces are not the cause, or there is none */
    uint32_t setting;
    uint32_t killed; /* string: the process that the kernel ended; 0: none */
    enum note_setting key;
};

/* What the notes of an event say, and what follows. O(log notes + notes of the event). */
void log_oom_facts_of(struct log_oom_facts *facts, const struct device_trace *device, uint32_t event);

/* "too_large": for JSON. */
const char *log_oom_cause_name(enum log_oom_cause cause);

/* Is the call site of the error's stack (a frame; 0: none) a line of the user's own code? */
bool log_oom_site_is_own(const struct trace *trace, uint32_t site);

/* The error in sentences; `noun` is device_noun, `site` the line of code that asked, empty where no traceback names it. */
void log_oom_tell(struct words *words, const struct trace *trace, const struct log_oom_facts *facts,
                  const char *noun, struct text site, bool own);
