#include "analysis/findings/log_oom.h"

#include "base/search.h"
#include "trace/own_code.h"

/* Figures are printed with two decimals of a GiB, so three of them together may be off by this much. */
enum { PRINTED_SLACK = 16 << 20 };

const char *const log_oom_cause_name[] = {"too_large",      "limit",  "free_enough",
                                          "not_contiguous", "in_use", "unknown"};

static bool knows(const struct log_oom_facts *facts, enum note_what what) {
    return facts->known[what];
}

/* Bytes that count towards the process's limit: reserved or else allocated bytes, and other uses. */
static uint64_t taken_bytes(const struct log_oom_facts *facts) {
    uint64_t own = knows(facts, NOTE_RESERVED)    ? facts->number[NOTE_RESERVED]
                   : knows(facts, NOTE_ALLOCATED) ? facts->number[NOTE_ALLOCATED]
                                                  : 0;
    return own + (knows(facts, NOTE_OTHER_USED) ? facts->number[NOTE_OTHER_USED] : 0);
}

static bool is_limited(const struct log_oom_facts *facts) {
    return knows(facts, NOTE_ALLOWED) &&
           facts->number[NOTE_ALLOWED] <= taken_bytes(facts) + facts->number[NOTE_ASKED] + PRINTED_SLACK;
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
    if (!knows(facts, NOTE_DEVICE_FREE))
        return LOG_OOM_UNKNOWN;
    if (facts->number[NOTE_DEVICE_FREE] >= asked)
        return LOG_OOM_FREE_ENOUGH;
    return knows(facts, NOTE_UNALLOCATED) && facts->number[NOTE_UNALLOCATED] >= asked ? LOG_OOM_NOT_CONTIGUOUS
                                                                                      : LOG_OOM_IN_USE;
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
        facts->setting = note->what == NOTE_SETTING ? note->text : facts->setting;
    }
    facts->key = (enum note_setting)facts->number[NOTE_SETTING];
    facts->cause = cause_of(facts);
    facts->setting = facts->cause == LOG_OOM_NOT_CONTIGUOUS ? facts->setting : 0;
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

static void tell_device(struct words *words, const struct log_oom_facts *facts, const char *noun) {
    uint64_t total = facts->number[NOTE_DEVICE_TOTAL], free = facts->number[NOTE_DEVICE_FREE];
    if (knows(facts, NOTE_DEVICE_TOTAL) && knows(facts, NOTE_DEVICE_FREE)) {
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
    if (knows(facts, NOTE_OTHERS_USED))
        WORDS_TELL(words, " Other processes held %b of it.", facts->number[NOTE_OTHERS_USED]);
}

static void tell_process(struct words *words, const struct log_oom_facts *facts) {
    uint64_t reserved = facts->number[NOTE_RESERVED], used = facts->number[NOTE_PROCESS_USED];
    if (knows(facts, NOTE_ALLOCATED)) {
        WORDS_TELL(words, " Allocated were %b", facts->number[NOTE_ALLOCATED]);
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

/* Writes the buffers that XLA had planned. */
static void tell_buffers(struct words *words, const struct log_oom_facts *facts) {
    static const struct {
        enum note_what what;
        const char *name;
    } parts[] = {{NOTE_XLA_PARAMETERS, "%b for parameters"},
                 {NOTE_XLA_OUTPUTS, "%b for outputs"},
                 {NOTE_XLA_TEMPORARIES, "%b for temporaries"},
                 {NOTE_XLA_CONSTANTS, "%b for constants"}};
    const char *before = ": ";
    if (!knows(facts, NOTE_XLA_TOTAL))
        return;
    WORDS_TELL(words, " XLA planned buffers of %b for the program", facts->number[NOTE_XLA_TOTAL]);
    for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++)
        if (knows(facts, parts[i].what) && facts->number[parts[i].what] != 0) {
            words_say(words, before);
            WORDS_TELL(words, parts[i].name, facts->number[parts[i].what]);
            before = ", ";
        }
    words_say(words, ".");
}

static bool backend_is(const struct trace *trace, const struct log_oom_facts *facts, const char *name) {
    return text_is(trace_text(trace, facts->backend), name);
}

static void tell_limit(struct words *words, const struct trace *trace, const struct log_oom_facts *facts) {
    bool mps = backend_is(trace, facts, "MPS"), bfc = backend_is(trace, facts, "BFC") ||
                                                      backend_is(trace, facts, "XLA") ||
                                                      backend_is(trace, facts, "CuPy");
    bool vllm = backend_is(trace, facts, "vLLM");
    bool one = backend_is(trace, facts, "MLX") || backend_is(trace, facts, "Level Zero") ||
               backend_is(trace, facts, "OpenVINO");
    WORDS_TELL(words, vllm ? " The KV cache may take %b at most" : " This process may take %b at most",
               facts->number[NOTE_ALLOWED]);
    words_say(words, vllm  ? " (what gpu_memory_utilization leaves)"
                     : mps ? " (PYTORCH_MPS_HIGH_WATERMARK_RATIO)"
                     : bfc ? " (the limit of its allocator)"
                     : one ? " in one buffer"
                           : " (set_per_process_memory_fraction)");
    if (knows(facts, NOTE_DEVICE_FREE) && facts->number[NOTE_DEVICE_FREE] >= facts->number[NOTE_ASKED])
        words_say(words, ". The device had room for the request");
    words_say(words, ": this limit refused the request.");
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
    }
    words_say(words, ".");
}

/* Says neither if the printed decimals cannot decide whether both together would be enough. */
static void tell_in_use(struct words *words, const struct log_oom_facts *facts) {
    uint64_t both = facts->number[NOTE_UNALLOCATED] + facts->number[NOTE_DEVICE_FREE];
    words_say(words, " Less was free than was requested");
    if (knows(facts, NOTE_UNALLOCATED)) {
        words_say(words, ", and what was reserved but unallocated is less too");
        if (both >= facts->number[NOTE_ASKED])
            words_say(words, ": both together would be enough, but not in one piece");
        else if (both + PRINTED_SLACK < facts->number[NOTE_ASKED])
            words_say(words,
                      ": the memory was in use, and only using less helps, in this process or in others");
    }
    words_say(words, ".");
}

void log_oom_tell_cause(struct words *words, const struct trace *trace, const struct log_oom_facts *facts) {
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
        if (knows(facts, NOTE_LARGEST_FREE) && facts->number[NOTE_LARGEST_FREE] < facts->number[NOTE_ASKED]) {
            WORDS_TELL(words, " As much was free as was requested, but the largest piece of it had %b.",
                       facts->number[NOTE_LARGEST_FREE]);
            break;
        }
        words_say(
            words,
            " As much was free as was requested, so the device as a whole was not full: another process may "
            "have held more at that moment, the memory may belong to another pool, or the driver has a limit "
            "for one allocation.");
        break;
    case LOG_OOM_NOT_CONTIGUOUS: tell_pieces(words, trace, facts); break;
    case LOG_OOM_IN_USE: tell_in_use(words, facts); break;
    case LOG_OOM_UNKNOWN: break;
    }
    if (facts->cause == LOG_OOM_IN_USE && knows(facts, NOTE_OTHERS_USED) &&
        facts->number[NOTE_OTHERS_USED] >= facts->number[NOTE_ASKED])
        words_say(
            words,
            " Without the other processes on the device the request would have been served: see who they "
            "are with nvidia-smi.");
}

/* Other frameworks, and devices for which PyTorch has no recorder. */
static bool has_no_recorder(const struct trace *trace, const struct log_oom_facts *facts) {
    static const char *const names[] = {"XLA",       "BFC",  "MLX",   "MPS",    "HPU",      "Paddle",
                                        "vLLM",      "ggml", "Metal", "ONNX",   "TensorRT", "DirectML",
                                        "MindSpore", "CuPy", "RMM",   "Neuron", "OpenVINO"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (backend_is(trace, facts, names[i]))
            return true;
    return false;
}

/* Says that a process was killed because the host ran out of memory. */
static void tell_kill(struct words *words, const struct trace *trace, const struct log_oom_facts *facts) {
    WORDS_TELL(words, "Line %n of the log: ", facts->number[NOTE_LINE]);
    words_add(words, trace_text(trace, facts->killed));
    words_say(words, " for lack of the host's memory.");
    if (knows(facts, NOTE_HOST_USED))
        WORDS_TELL(words, " It held %b.", facts->number[NOTE_HOST_USED]);
    if (knows(facts, NOTE_HOST_LIMIT))
        WORDS_TELL(words, " Its limit is %b.", facts->number[NOTE_HOST_LIMIT]);
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
    else if (backend_is(trace, facts, "vLLM"))
        words_say(words, " A request of max_model_len needs more KV cache than there is: raise "
                         "gpu_memory_utilization or lower max_model_len.");
    else if (!has_no_recorder(trace, facts))
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
    tell_buffers(words, facts);
    log_oom_tell_cause(words, trace, facts);
    log_oom_tell_action(words, trace, facts);
}
