/* Why memory ran out, from the message in a log: compares the requested bytes with the free bytes first. Figures
 * that are not printed are unknown, and nothing is concluded from them. Freestanding. */
#pragma once

#include "base/words.h"
#include "trace/trace.h"

/* Tested in this order; the first that holds is the cause. */
enum log_oom_cause {
    LOG_OOM_TOO_LARGE,   /* the request is larger than the device */
    LOG_OOM_LIMIT,       /* what is in use and the request exceed a limit set for the process */
    LOG_OOM_FREE_ENOUGH, /* at least as much was free as was requested */
    /* too little was free; reserved but unallocated memory is enough, but its pieces are not */
    LOG_OOM_NOT_CONTIGUOUS,
    LOG_OOM_IN_USE, /* too little was free, and unallocated memory is not enough or not printed */
    LOG_OOM_UNKNOWN /* the free bytes are not printed */
};

struct log_oom_facts {
    uint64_t number[NOTE_KINDS];
    bool known[NOTE_KINDS];
    enum log_oom_cause cause;
    uint32_t backend; /* string; 0: not in the message */
    /* string: the variable that would help; 0: pieces are not the cause, or there is no such variable */
    uint32_t setting;
    uint32_t killed; /* string: the process that was killed; 0: none */
    uint32_t most;   /* string: the process that held the most of the host's memory; 0: not printed */
    enum note_setting key;
};

/* Reads the facts from the notes of an event, and draws the conclusion. O(log notes + notes of the event). */
void log_oom_facts_of(struct log_oom_facts *facts, const struct device_trace *device, uint32_t event);

/* "too_large", for JSON. */
extern const char *const log_oom_cause_name[]; /* by enum log_oom_cause */

/* Is the call site of the error's stack (a frame; 0: none) a line of the user's own code? */
bool log_oom_site_is_own(const struct trace *trace, uint32_t site);

/* Adds two amounts with so many digits that they differ, if they do: "19.8 GiB" and "19.8 GiB" are 19.84 and 19.77. */
void log_oom_tell_both(struct words *words, uint64_t one, const char *between, uint64_t other);

/* Write why the request failed, and what to do: sentences that begin with a space each; nothing where nothing is known.
 * Not for a process that was killed. */
void log_oom_tell_cause(struct words *words, const struct trace *trace, const struct log_oom_facts *facts);
void log_oom_tell_action(struct words *words, const struct trace *trace, const struct log_oom_facts *facts);

/* Writes the whole error in sentences: place, figures, cause, action. `noun` is device_noun; `site` is the line of code
 * that made the request, empty if no traceback names it. */
void log_oom_tell(struct words *words, const struct trace *trace, const struct log_oom_facts *facts,
                  const char *noun, struct text site, bool own);
