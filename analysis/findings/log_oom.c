#include "analysis/findings/log_oom.h"

#include "base/numbers.h"
#include "base/search.h"
#include "trace/own_code.h"

/* Figures are printed with two decimals of a GiB, so three of them together may be off by this much. */
enum { PRINTED_SLACK = 16 << 20 };

/* Of the device's memory, in percent. A setting that puts free pieces together gains no more than what is
 * unallocated: below this share the device is full. Messages in which the setting served have 5 % and more; in those
 * where nothing did, a few MiB were unallocated (tests/log_wild_test.py). */
enum { PIECES_PERCENT = 1 };

/* What a process's context and libraries take outside of PyTorch is a few percent. From this share on, others hold
 * what decides; from the second on, no snapshot of this process can show it. */
enum { OUTSIDE_PERCENT = 25, OUTSIDE_MOST_PERCENT = 50 };

const char *const log_oom_cause_name[] = {"too_large",      "limit",  "free_enough",
                                          "not_contiguous", "in_use", "unknown"};

static bool knows(const struct log_oom_facts *facts, enum note_what what) {
    return facts->known[what];
}

/* Is the driver's figure of free memory impossible? */
static bool is_doubtful(const struct log_oom_facts *facts) {
    return knows(facts, NOTE_DEVICE_FREE) && knows(facts, NOTE_DEVICE_TOTAL) &&
           facts->number[NOTE_DEVICE_FREE] > facts->number[NOTE_DEVICE_TOTAL];
}

static bool knows_free(const struct log_oom_facts *facts) {
    return knows(facts, NOTE_DEVICE_FREE) && !is_doubtful(facts);
}

/* Bytes that count towards the process's limit: reserved or else allocated bytes, and other uses. */
static uint64_t taken_bytes(const struct log_oom_facts *facts) {
    uint64_t own = knows(facts, NOTE_RESERVED)    ? facts->number[NOTE_RESERVED]
                   : knows(facts, NOTE_ALLOCATED) ? facts->number[NOTE_ALLOCATED]
                                                  : 0;
    return own + (knows(facts, NOTE_OTHER_USED) ? facts->number[NOTE_OTHER_USED] : 0);
}

/* What is in use on the device outside of this process, as far as the message shows; where it does not name the
 * process's use, outside of its PyTorch. */
static uint64_t outside_bytes(const struct log_oom_facts *facts) {
    uint64_t own = knows(facts, NOTE_PROCESS_USED) ? facts->number[NOTE_PROCESS_USED]
                                                   : facts->number[NOTE_RESERVED],
             others = facts->number[NOTE_OTHERS_USED];
    if (!knows_free(facts) || !knows(facts, NOTE_DEVICE_TOTAL) ||
        (!knows(facts, NOTE_PROCESS_USED) && !knows(facts, NOTE_RESERVED)))
        return others;
    uint64_t used = facts->number[NOTE_DEVICE_TOTAL] - facts->number[NOTE_DEVICE_FREE];
    uint64_t rest = used > own ? used - own : 0;
    return larger_of(others, is_percent(rest, facts->number[NOTE_DEVICE_TOTAL], OUTSIDE_PERCENT) ? rest : 0);
}

/* Do others hold what decides? Without them the request would have been served. */
static bool others_decide(const struct log_oom_facts *facts) {
    return (facts->cause == LOG_OOM_IN_USE || facts->cause == LOG_OOM_NOT_CONTIGUOUS) &&
           outside_bytes(facts) != 0 &&
           outside_bytes(facts) + facts->number[NOTE_DEVICE_FREE] >= facts->number[NOTE_ASKED];
}

static bool is_limited(const struct log_oom_facts *facts) {
    return knows(facts, NOTE_ALLOWED) &&
           facts->number[NOTE_ALLOWED] <= taken_bytes(facts) + facts->number[NOTE_ASKED] + PRINTED_SLACK;
}

/* Could pieces put together have served the request, and are they more than the last crumbs of a full device? */
static bool pieces_serve(const struct log_oom_facts *facts) {
    uint64_t pieces = facts->number[NOTE_UNALLOCATED];
    return knows(facts, NOTE_UNALLOCATED) && pieces >= facts->number[NOTE_ASKED] &&
           (!knows(facts, NOTE_DEVICE_TOTAL) ||
            is_percent(pieces, facts->number[NOTE_DEVICE_TOTAL], PIECES_PERCENT));
}

static enum log_oom_cause cause_of(const struct log_oom_facts *facts) {
    uint64_t asked = facts->number[NOTE_ASKED];
    if (knows(facts, NOTE_ASKED_BEYOND))
        return LOG_OOM_TOO_LARGE;
    if (!knows(facts, NOTE_ASKED))
        return LOG_OOM_UNKNOWN;
    if (knows(facts, NOTE_DEVICE_TOTAL) && asked > facts->number[NOTE_DEVICE_TOTAL])
        return LOG_OOM_TOO_LARGE;
    if (is_limited(facts))
        return LOG_OOM_LIMIT;
    if (!knows_free(facts))
        return LOG_OOM_UNKNOWN;
    if (facts->number[NOTE_DEVICE_FREE] >= asked)
        return LOG_OOM_FREE_ENOUGH;
    return pieces_serve(facts) ? LOG_OOM_NOT_CONTIGUOUS : LOG_OOM_IN_USE;
}

void log_oom_facts_of(struct log_oom_facts *facts, const struct device_trace *device, uint32_t event) {
    uint32_t at = SEARCH(0, device->n_notes, i, device->notes[i].event < event);
    *facts = (struct log_oom_facts){.cause = LOG_OOM_UNKNOWN};
    for (; at < device->n_notes && device->notes[at].event == event; at++) {
        const struct note *note = &device->notes[at];
        facts->number[note->what] = note->number;
        facts->known[note->what] = true;
        facts->backend = note->what == NOTE_BACKEND ? note->text : facts->backend;
        facts->killed = note->what == NOTE_KILLED ? note->text : facts->killed;
        facts->most = note->what == NOTE_HOST_MOST ? note->text : facts->most;
        facts->setting = note->what == NOTE_SETTING ? note->text : facts->setting;
    }
    facts->key = (enum note_setting)facts->number[NOTE_SETTING];
    facts->cause = cause_of(facts);
    bool helps = facts->cause == LOG_OOM_NOT_CONTIGUOUS && facts->key < SETTING_IS_ON;
    facts->setting = helps ? facts->setting : 0;
}

bool log_oom_site_is_own(const struct trace *trace, uint32_t site) {
    return site != 0 && file_is_own(trace_text(trace, trace->frames.frame[site].file));
}

static void tell_place(struct words *words, const struct log_oom_facts *facts, struct text site, bool own) {
    if (!knows(facts, NOTE_LINE))
        return;
    WORDS_TELL(words,
               site.nbytes != 0 ? "Line %n of the log; requested by "
                                : "Line %n of the log; which line of code asked is not known from it",
               facts->number[NOTE_LINE]);
    words_add(words, site);
    words_say(words, site.nbytes == 0 || own ? "." : ", a line of a library.");
}

void log_oom_tell_both(struct words *words, uint64_t one, const char *between, uint64_t other) {
    bool alike = one != other && text_is(word_text(format_bytes(one).text), format_bytes(other).text);
    unsigned unit = format_unit(larger_of(one, other));
    words_say(words, alike ? format_bytes_in(one, unit).text : format_bytes(one).text);
    words_say(words, between);
    words_say(words, alike ? format_bytes_in(other, unit).text : format_bytes(other).text);
}

static void tell_device(struct words *words, const struct log_oom_facts *facts, const char *noun) {
    uint64_t total = facts->number[NOTE_DEVICE_TOTAL], free = facts->number[NOTE_DEVICE_FREE];
    if (is_doubtful(facts)) {
        WORDS_TELL(words, " The driver's figure of free memory (%b) cannot be right: the device has %b.",
                   free, total);
    } else if (knows(facts, NOTE_DEVICE_TOTAL) && knows(facts, NOTE_DEVICE_FREE)) {
        words_say(words, " Of the ");
        words_say(words, noun);
        WORDS_TELL(words, "'s %b, %b were free.", total, free);
    } else if (knows(facts, NOTE_DEVICE_FREE)) {
        WORDS_TELL(words, " %b were free on the ", free);
        words_say(words, noun);
        words_say(words, ".");
    } else if (knows(facts, NOTE_DEVICE_TOTAL)) {
        words_say(words, " The ");
        words_say(words, noun);
        WORDS_TELL(words, " has %b; how much of it was free is not printed.", total);
    }
}

static void tell_process(struct words *words, const struct log_oom_facts *facts) {
    uint64_t reserved = facts->number[NOTE_RESERVED], used = facts->number[NOTE_PROCESS_USED];
    if (knows(facts, NOTE_ALLOCATED)) {
        WORDS_TELL(words, " %b were allocated", facts->number[NOTE_ALLOCATED]);
        if (knows(facts, NOTE_PRIVATE))
            WORDS_TELL(words, ", %b of it in private pools (CUDA graphs)", facts->number[NOTE_PRIVATE]);
        if (knows(facts, NOTE_UNALLOCATED))
            WORDS_TELL(words, ", reserved but unallocated %b", facts->number[NOTE_UNALLOCATED]);
        if (knows(facts, NOTE_OTHER_USED))
            WORDS_TELL(words, ", other allocations of the process %b", facts->number[NOTE_OTHER_USED]);
        words_say(words, ".");
    }
    if (knows(facts, NOTE_PROCESS_USED) && knows(facts, NOTE_RESERVED) && used > reserved)
        WORDS_TELL(words,
                   " This process held %b that PyTorch does not see: the driver's context, NCCL and other "
                   "libraries.",
                   used - reserved);
}

static bool backend_is(const struct trace *trace, const struct log_oom_facts *facts, const char *name) {
    return text_is(trace_text(trace, facts->backend), name);
}

static void tell_limit(struct words *words, const struct trace *trace, const struct log_oom_facts *facts) {
    bool vllm = backend_is(trace, facts, "vLLM");
    WORDS_TELL(words, vllm ? " The KV cache may take %b at most" : " This process may take %b at most",
               facts->number[NOTE_ALLOWED]);
    words_say(words, vllm                                     ? " (what gpu_memory_utilization leaves)"
                     : backend_is(trace, facts, "MPS")        ? " (PYTORCH_MPS_HIGH_WATERMARK_RATIO)"
                     : backend_is(trace, facts, "Level Zero") ? " in one buffer"
                                                              : " (set_per_process_memory_fraction)");
    if (knows_free(facts) && facts->number[NOTE_DEVICE_FREE] >= facts->number[NOTE_ASKED])
        words_say(words, ". The device had room for the request");
    words_say(words, ": this limit refused the request.");
}

/* Says who else holds the memory, first, because nothing in this process decides then. */
static void tell_others(struct words *words, const struct log_oom_facts *facts) {
    uint64_t bytes = outside_bytes(facts);
    bool named = knows(facts, NOTE_PROCESS_USED) || knows(facts, NOTE_OTHERS_USED);
    WORDS_TELL(words,
               named ? " Other processes hold %b of the device"
                     : " %b are held outside of this process's PyTorch",
               bytes);
    words_say(words,
              named
                  ? ": without them the request would have been served. nvidia-smi names them: "
                    "stop those that are yours, or choose another device."
                  : ": by other processes, or by this one's libraries. nvidia-smi shows by whom; a snapshot "
                    "cannot.");
}

static void tell_pieces(struct words *words, const struct trace *trace, const struct log_oom_facts *facts) {
    words_say(
        words,
        " More was reserved but unallocated than was requested, but no single piece of it was large enough");
    if (facts->setting != 0) {
        words_say(words, facts->key == SETTING_MAX_SPLIT ? ": max_split_size_mb in "
                                                         : ": expandable_segments:True in ");
        words_add(words, trace_text(trace, facts->setting));
        words_say(words, " may help");
    } else if (facts->key == SETTING_IS_ON) {
        words_say(words, ", although the log says that expandable_segments:True is set");
    }
    words_say(words, ".");
}

/* Says neither if the printed decimals cannot decide whether both together would be enough. */
static void tell_in_use(struct words *words, const struct log_oom_facts *facts) {
    uint64_t pieces = facts->number[NOTE_UNALLOCATED], asked = facts->number[NOTE_ASKED],
             both = pieces + facts->number[NOTE_DEVICE_FREE];
    words_say(words, " Less was free than was requested (");
    log_oom_tell_both(words, facts->number[NOTE_DEVICE_FREE], " of ", asked);
    words_say(words, ")");
    if (knows(facts, NOTE_UNALLOCATED) && pieces >= asked)
        WORDS_TELL(words, ": the device is full, and a setting of the allocator can gain %b of %b at most",
                   pieces, facts->number[NOTE_DEVICE_TOTAL]);
    else if (knows(facts, NOTE_UNALLOCATED)) {
        words_say(words, ", and what was reserved but unallocated is less too");
        if (both >= asked)
            words_say(words, ": both together would be enough, but not in one piece");
        else if (both + PRINTED_SLACK < asked)
            words_say(words,
                      ": the memory was in use, and only using less helps, in this process or in others");
    }
    words_say(words, ".");
}

static bool nothing_allocated(const struct log_oom_facts *facts) {
    return knows(facts, NOTE_ALLOCATED) && facts->number[NOTE_ALLOCATED] == 0 &&
           facts->number[NOTE_RESERVED] == 0;
}

void log_oom_tell_cause(struct words *words, const struct trace *trace, const struct log_oom_facts *facts) {
    if (others_decide(facts))
        tell_others(words, facts);
    switch (facts->cause) {
    case LOG_OOM_TOO_LARGE:
        words_say(words,
                  knows(facts, NOTE_ASKED_BEYOND)
                      ? " More than 1 EiB was requested, which no device has: a size was computed wrongly."
                      : " The request is more than the whole device has: nothing that could be freed would "
                        "serve it.");
        break;
    case LOG_OOM_LIMIT: tell_limit(words, trace, facts); break;
    case LOG_OOM_FREE_ENOUGH:
        words_say(
            words,
            " As much was free as was requested, so the device as a whole was not full: another process may "
            "have held more at that moment, the memory may belong to another pool, or the driver has a limit "
            "for one allocation.");
        break;
    case LOG_OOM_NOT_CONTIGUOUS: tell_pieces(words, trace, facts); break;
    case LOG_OOM_IN_USE: tell_in_use(words, facts); break;
    case LOG_OOM_UNKNOWN:
        if (nothing_allocated(facts))
            WORDS_TELL(words,
                       " Nothing was allocated: one request of %b is more than the device gives at once.",
                       facts->number[NOTE_ASKED]);
        break;
    }
    if (knows(facts, NOTE_RETRIED))
        words_say(
            words,
            " It is a warning: the allocator gave back what it had cached and tried again; an error would "
            "follow if that had failed too.");
}

/* Does a snapshot tell more? Not of devices and allocators without a recorder, nor where this process has next to
 * nothing. */
static bool snapshot_tells(const struct trace *trace, const struct log_oom_facts *facts) {
    static const char *const names[] = {"MPS", "HPU", "vLLM", "SGLang", "CUDA async"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (backend_is(trace, facts, names[i]))
            return false;
    return facts->cause != LOG_OOM_TOO_LARGE && !nothing_allocated(facts) &&
           !(others_decide(facts) &&
             is_percent(outside_bytes(facts), facts->number[NOTE_DEVICE_TOTAL], OUTSIDE_MOST_PERCENT));
}

/* Says that a process was killed, by whom, and what it and others held. */
static void tell_kill(struct words *words, const struct trace *trace, const struct log_oom_facts *facts) {
    WORDS_TELL(words, "Line %n of the log: ", facts->number[NOTE_LINE]);
    words_add(words, trace_text(trace, facts->killed));
    if (knows(facts, NOTE_POSSIBLE) && facts->backend != 0) {
        words_say(words, "; which of them is not known.");
        return;
    }
    words_say(words,
              knows(facts, NOTE_POSSIBLE)
                  ? " by SIGKILL. That is often, but not always, for lack of the host's memory: dmesg or the "
                    "scheduler tells, and \"strata run -- COMMAND\" watches it."
                  : " for lack of the host's memory.");
    if (knows(facts, NOTE_PROCESS_USED))
        WORDS_TELL(words, " It held %b.", facts->number[NOTE_PROCESS_USED]);
    if (knows(facts, NOTE_HOST_USED) && knows(facts, NOTE_DEVICE_TOTAL))
        WORDS_TELL(words, " The host had %b of %b in use.", facts->number[NOTE_HOST_USED],
                   facts->number[NOTE_DEVICE_TOTAL]);
    else if (knows(facts, NOTE_HOST_USED))
        WORDS_TELL(words, " It held %b.", facts->number[NOTE_HOST_USED]);
    if (knows(facts, NOTE_HOST_LIMIT))
        WORDS_TELL(words, " Its limit is %b.", facts->number[NOTE_HOST_LIMIT]);
    if (facts->most != 0) {
        WORDS_TELL(words, " The most, %b, were held by ", facts->number[NOTE_HOST_MOST]);
        words_add(words, trace_text(trace, facts->most));
        words_say(words, ".");
    }
}

void log_oom_tell_action(struct words *words, const struct trace *trace, const struct log_oom_facts *facts) {
    if (backend_is(trace, facts, "shm"))
        words_say(words, " What ran out is shared memory (/dev/shm), through which workers hand over what "
                         "they have loaded: give a container more (docker run --shm-size).");
    else if (backend_is(trace, facts, "CPU"))
        words_say(words, " To see what holds the host's memory, run it with \"strata run -- COMMAND\".");
    else if (backend_is(trace, facts, "vLLM") && knows(facts, NOTE_DEVICE_FREE))
        words_say(words,
                  " It is what gpu_memory_utilization claims when the server starts: lower it, or end what "
                  "else uses the device.");
    else if (backend_is(trace, facts, "vLLM") && knows(facts, NOTE_ALLOWED))
        words_say(words, " A request of max_model_len needs more KV cache than there is: raise "
                         "gpu_memory_utilization or lower max_model_len.");
    else if (backend_is(trace, facts, "vLLM"))
        words_say(words, " Weights and the profile run leave too little for the KV cache: raise "
                         "gpu_memory_utilization, lower max_model_len or max_num_seqs, or take a smaller "
                         "model or more GPUs.");
    else if (backend_is(trace, facts, "SGLang"))
        words_say(words,
                  " Weights leave too little for the KV cache: raise mem_fraction_static, or take a smaller "
                  "model or more GPUs.");
    else if (backend_is(trace, facts, "CUDA async"))
        words_say(words, " cudaMallocAsync cannot record a snapshot: set backend:native first.");
    else if (snapshot_tells(trace, facts))
        words_say(words, " Record a snapshot to see who holds the memory.");
}

void log_oom_tell(struct words *words, const struct trace *trace, const struct log_oom_facts *facts,
                  const char *noun, struct text site, bool own) {
    if (facts->killed != 0) {
        tell_kill(words, trace, facts);
        return;
    }
    tell_place(words, facts, site, own);
    tell_device(words, facts, noun);
    tell_process(words, facts);
    log_oom_tell_cause(words, trace, facts);
    log_oom_tell_action(words, trace, facts);
}
