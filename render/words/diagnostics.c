#include "render/words/diagnostics.h"

#include "base/format.h"
#include "render/words/device.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/*
 * A sentence's figures, N being 0 to 2:
 *     %cN        the number as a count, 12,034
 *     %bN        as bytes, 51.3 GiB
 *     %nN        plain, 12034
 *     %eN        how far number 0 and number N lie apart, as a count
 *     %pN(a|b)   a where number N is 1, else b
 *     %D         "CPU: " or "host (pinned): " where it is about the memory of the CPU
 */
struct sentence {
    const char *key, *text;
};

static const struct sentence sentences[] = {
    {"bad_json", "%c0 value%p0(|s) of the file %p0(is|are) left out: not JSON."},
    {"baseline_blocks",
     "%c0 allocation%p0(|s) (%b1) made before the recording began and still there: known from the final "
     "segments."},
    {"baseline_total",
     "%D%b0 were allocated before the recording began and never freed in it: their stacks are not known."},
    {"below_zero",
     "%c0 change%p0(|s) would take a category below zero: it shows nothing until the difference is made up."},
    {"category_totals",
     "A memory timeline holds totals per category: those are exact, but the single allocations shown are "
     "reconstructed from the changes and have no stacks."},
    {"damaged",
     "The file breaks off: it is not JSON at byte %c0: the %c1 event%p1(|s) before that %p1(is|are) used."},
    {"empty_device", "%p0(One event|No event) was recorded for this device, and nothing is allocated on it."},
    {"empty_snapshot",
     "The file has no event and no segment of any device: no history was recorded, and nothing was "
     "allocated when it was written."},
    {"history_full",
     "The recording holds exactly %c0 events and begins in the middle: its buffer was full, and what came "
     "before is lost. Record with a larger max_entries."},
    {"live_end_differs/less",
     "At the end %b0 are in use by the events and blocks, %e1 bytes less than the segments' own totals say "
     "(%b1). Record all actions, and keep other threads from allocating while the snapshot is taken."},
    {"live_end_differs/more",
     "At the end %b0 are in use by the events and blocks, %e1 bytes more than the segments' own totals say "
     "(%b1). Record all actions, and keep other threads from allocating while the snapshot is taken."},
    {"live_above_reserved",
     "After event %c1 more is in use than is reserved, by %b0 (%c0 bytes), which cannot be: segment events "
     "or frees are missing. Record all actions, and keep other threads from allocating while the snapshot is "
     "taken."},
    {"live_above_reserved/start",
     "Before the first event more is in use than is reserved, by %b0 (%c0 bytes), which cannot be: segment "
     "events or frees are missing. Record all actions, and keep other threads from allocating while the "
     "snapshot is taken."},
    {"log_changes",
     "%c0 line%p0( says|s say) how much a stage added and took away, but no line says what was there before: "
     "no level follows from %p0(it|them)."},
    {"log_csv_guessed", "A CSV without a header was read: of two figures the larger is taken for the "
                        "device's capacity, the other for what is used."},
    {"log_inferred", "%c0 line%p0( of no known form was|s of no known form were) read by the words before a "
                     "size alone, such as allocated or peak: these figures are inferred."},
    {"log_killed",
     "Line %n0 says that a program was killed; by whom and why is not known from it. Run it with \"strata "
     "run -- COMMAND\", which watches the host's memory."},
    {"log_levels",
     "These are levels printed in a log, not allocations: between two lines anything may have happened, and "
     "which line of code holds the memory is not known. Figures are as exact as the log prints them."},
    {"log_lines", "%c0 line%p0(|s) with text: %c1 about memory, %c2 passed over."},
    {"log_long_lines",
     "%c0 line%p0( is|s are) longer than %c1 bytes: only %p0(its beginning was|their beginnings were) read."},
    {"log_operators", "%c0 row%p0(|s) of a profiler's table (key_averages()) say%p0(s|) what an operator "
                      "allocated less what it freed, "
                      "%b1 at most: sums over the run and no levels, so no peak follows from them."},
    {"lost_events",
     "%DEvents are missing at %c0 place%p0(|s) (%b1 in all): the totals are exact, but who held those bytes "
     "is not known."},
    {"host_rounding", "%D%b0 of %b1 in use at the end are rounding: its allocator rounds each request up to "
                      "a power of two."},
    {"misplaced", "%c0 list element%p0( differs in kind from its neighbours and is|s differ in kind from "
                  "their neighbours and are) left out."},
    {"no_addresses",
     "%DThis trace has no addresses: its curve is right, but which allocation a free ends is not known."},
    {"no_history",
     "No event was recorded for this device: what is shown is its state when the file was written."},
    {"one_event",
     "One event was recorded for this device: what is shown is its state when the file was written."},
    {"no_segment_events",
     "No segment event was recorded, although %c0 allocation%p0(|s) (%b1) lay outside of the final segments: "
     "the reserved curve shows the end's bytes throughout. Record without skip_actions for segments."},
    {"no_segment_events/above", "No segment event was recorded, although reserved memory must have changed: "
                                "its curve shows the end's bytes "
                                "throughout. Record without skip_actions for segments."},
    {"oom_free_bound",
     "The trace does not say how much the device had free when memory ran out: shown is its capacity less "
     "what was reserved."},
    {"orphan_frees", "%c0 allocation%p0(|s) (%b1) made before the recording began and freed in it: the stack "
                     "shown is the free's."},
    {"overlapping_older", "%c0 allocation%p0(|s) taken to be older than the recording overlap%p0(s|) another "
                          "such one, and %c1 made in it overlap%p1(s|) one that is still there: their own "
                          "events are missing, and totals are too high. Record all actions."},
    {"overflow",
     "The recording was longer than its buffer: the oldest events were overwritten. Record with a larger "
     "max_entries."},
    {"reopened_addresses",
     "%c0 event%p0(|s) allocated an address that was still in use: the earlier allocation is taken to "
     "end there."},
    {"reserved_shift",
     "The segment events and the final segments do not add up: the reserved curve is raised by %b0 so "
     "that it never falls below zero."},
    {"reserved_shift/unknown",
     "The final segments are not known: reserved memory is the least that the events and what is "
     "allocated allow, a lower bound."},
    {"series_gaps", "%c0 dumps in a series, and at %c1 place%p1(|s) events between two of them are missing: "
                    "there the states stand "
                    "side by side, and what has the same address and size in both is taken to have stayed."},
    {"series_joined",
     "%c0 dumps in a series: their events overlap or join, so that they are shown as one recording."},
    {"texts_left_out",
     "%c0 text%p0(|s) made of references (forward frames, metadata) left out: all of them together would be "
     "longer than %b1 and %n2 times what was read."},
    {"trailing_bytes",
     "%p1(At least |)%b0 (%c0 byte%p0(|s)) follow the end of the recording and are ignored. Two processes "
     "may have written this one file, and then even what is shown may be mixed: give each rank a file of its "
     "own and record again."},
    {"trailing_bytes/pickle", "Another pickle follows the end of the recording (%p1(at least |)%b0, %c0 "
                              "bytes): two were written to one file, and "
                              "only the first is shown. Give each rank and each dump a file of its own."},
    {"truncated", "The file is cut off at byte %c0: the %c1 event%p1(|s) before that %p1(is|are) shown."},
    {"truncated/devices",
     "The file is cut off at byte %c0: the %c1 event%p1(|s) before that %p1(is|are) shown. From device %n2 "
     "on, what was there before the recording is known from frees only, and totals may be too low."},
    {"truncated/packed", "The packed data is cut off at byte %c0, after the recording: nothing is missing."},
    {"truncated/gzip", "The gzip data is cut off at byte %c0, after the recording: nothing is missing."},
    {"truncated/json",
     "The file ends too early, at byte %c0: the %c1 event%p1(|s) before that %p1(is|are) used."},
    {"truncated/zip", "The zip is cut off at byte %c0, after the recording: nothing is missing."},
    {"unequal_actions",
     "%c2 free%p2(|s) completed without having been requested (%c0 requested, %c1 completed in all): events "
     "are missing, "
     "and with them perhaps allocations. Record all actions, in a longer buffer if it was full."},
    {"unequal_actions/no_completed",
     "%c0 free%p0( was|s were) requested and none completed: completions were left out, so memory counts as "
     "free from the request on. Record without skip_actions for frees to see what waited for other streams."},
    {"unequal_actions/no_requested", "%c1 free%p1(|s) completed and none was requested: requests were left "
                                     "out, so what waited for other streams is not "
                                     "known. Record without skip_actions for frees."},
    {"unknown_actions", "%c0 event%p0(|s) left out: %p0(its|their) action is not known."},
    {"unmatched_end", "%c0 allocation%p0(|s) (%b1) open at the end of the trace, but no active block is at "
                      "%p0(its|their) address: the curve may be wrong by that much."},
};

/* The sentence for a key, a string of the trace. NULL: it has none. */
static const char *sentence_of(const struct trace *trace, uint32_t key) {
    for (size_t i = 0; key != 0 && i < sizeof sentences / sizeof *sentences; i++)
        if (text_is(trace_text(trace, key), sentences[i].key))
            return sentences[i].text;
    return NULL;
}

/* A message under construction. Every figure is short, so no sentence of the table reaches the end of the room. */
struct message {
    char text[600];
    size_t nbytes;
};

static void message_add(struct message *message, const char *text, size_t nbytes) {
    size_t room = sizeof message->text - message->nbytes;
    nbytes = nbytes < room ? nbytes : room;
    memcpy(message->text + message->nbytes, text, nbytes);
    message->nbytes += nbytes;
}

static void message_add_text(struct message *message, const char *text) {
    message_add(message, text, strlen(text));
}

/* Adds one of the two words of "(one|many)", which is at `from`. Returns what follows it. */
static const char *plural_add(struct message *message, const char *from, bool one) {
    const char *bar = strchr(from, '|'), *end = strchr(bar, ')');
    if (one)
        message_add(message, from + 1, (size_t)(bar - from - 1));
    else
        message_add(message, bar + 1, (size_t)(end - bar - 1));
    return end + 1;
}

/* Adds a figure; `from` is after its '%'. Returns what follows it. */
static const char *figure_add(struct message *message, const struct diagnostic *diagnostic,
                              const char *from) {
    char plain[24];
    if (*from == 'D') {
        if (diagnostic->device == ORDINAL_CPU || diagnostic->device == ORDINAL_HOST) {
            message_add_text(message, device_words(diagnostic->device).text);
            message_add_text(message, ": ");
        }
        return from + 1;
    }
    uint64_t number = diagnostic->number[from[1] - '0'], first = diagnostic->number[0];
    switch (*from) {
    case 'b': message_add_text(message, format_bytes(number).text); break;
    case 'c': message_add_text(message, format_count(number).text); break;
    case 'e':
        message_add_text(message, format_count(first > number ? first - number : number - first).text);
        break;
    case 'n':
        snprintf(plain, sizeof plain, "%" PRIu64, number);
        message_add_text(message, plain);
        break;
    case 'p': return plural_add(message, from + 2, number == 1);
    default: __builtin_trap(); /* a mistake in the table above */
    }
    return from + 2;
}

static void message_make(struct message *message, const struct diagnostic *diagnostic, const char *sentence) {
    while (*sentence != '\0') {
        size_t plain = strcspn(sentence, "%");
        message_add(message, sentence, plain);
        sentence += plain;
        if (*sentence == '%')
            sentence = figure_add(message, diagnostic, sentence + 1);
    }
}

/* Keeps a message as a string of the trace: `there` if that says the same. 0: no memory. */
static uint32_t message_keep(struct trace *trace, const struct message *message, uint32_t there) {
    struct text text = trace_text(trace, there);
    if (there != 0 && text.nbytes == message->nbytes && memcmp(text.at, message->text, text.nbytes) == 0)
        return there;
    return trace_string_add(trace, message->text, message->nbytes);
}

bool diagnostics_say(struct trace *trace) {
    for (uint32_t i = 0; i < trace->n_diagnostics; i++) {
        struct diagnostic *diagnostic = &trace->diagnostics[i];
        const char *sentence = sentence_of(trace, diagnostic->key);
        struct message message = {.nbytes = 0};
        if (sentence == NULL) {
            diagnostic->message = diagnostic->message != 0 ? diagnostic->message : diagnostic->code;
            continue;
        }
        message_make(&message, diagnostic, sentence);
        diagnostic->message = message_keep(trace, &message, diagnostic->message);
        if (diagnostic->message == 0)
            return false;
    }
    return true;
}
