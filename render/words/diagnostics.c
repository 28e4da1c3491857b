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
 *     %eN        the distance between number 0 and number N, as a count
 *     %pN(a|b)   a where number N is 1, else b
 *     %D         "CPU: " or "host (pinned): " if the diagnostic is about memory of the host
 */
struct sentence {
    const char *key, *text;
};

static const struct sentence sentences[] = {
    {"bad_json", "%c0 value%p0(|s) of the file %p0(was|were) left out: %p0(it is|they are) not valid JSON."},
    {"baseline_blocks", "%c0 allocation%p0(|s) (%b1) %p0(was|were) made before the recording began and "
                        "%p0(is|are) still there at its end, as the final segments show."},
    {"baseline_total",
     "%D%b0 were allocated before the recording began and not freed in it. Their stacks are not known."},
    {"below_zero",
     "%c0 change%p0(|s) would take a category below zero. Such a category is shown as zero until later "
     "changes have made up for it."},
    {"category_totals",
     "A memory timeline records only the totals of each category, and these are exact. Single allocations "
     "are inferred from the changes, and have no stacks."},
    {"damaged",
     "The file is not valid JSON from byte %c0 on. Only the %c1 event%p1(|s) before that %p1(is|are) used."},
    {"empty_device", "%p0(One event|No event) was recorded for this device, and nothing is allocated on it."},
    {"empty_snapshot", "The file has no event and no segment of any device: no history was recorded, and "
                       "nothing was allocated when it was written."},
    {"history_full",
     "The recording's buffer was full (exactly %c0 events), so older events are lost and the recording "
     "begins in the middle of the run. Record with a larger max_entries."},
    {"live_end_differs/less",
     "At the end, %b0 are in use by the events and blocks, %e1 bytes less than by the segments' own totals "
     "(%b1). Record all actions, and keep other threads from allocating while the snapshot is taken."},
    {"live_end_differs/more",
     "At the end, %b0 are in use by the events and blocks, %e1 bytes more than by the segments' own totals "
     "(%b1). Record all actions, and keep other threads from allocating while the snapshot is taken."},
    {"live_above_reserved",
     "After event %c1, %b0 (%c0 bytes) more are in use than reserved, which is impossible: segment events "
     "or frees are missing. Record all actions, and keep other threads from allocating while the snapshot "
     "is taken."},
    {"live_above_reserved/start",
     "Before the first event, %b0 (%c0 bytes) more are in use than reserved, which is impossible: segment "
     "events or frees are missing. Record all actions, and keep other threads from allocating while the "
     "snapshot is taken."},
    {"log_changes",
     "%c0 line%p0( tells|s tell) only how much memory a stage added or gave back. No line tells how much "
     "was in use before, so no level can be computed from %p0(it|them)."},
    {"log_levels",
     "A log prints levels of memory, not allocations: what happened between two lines, and which line of "
     "code holds the memory, is not known. Figures are as exact as the log prints them."},
    {"log_lines",
     "Of %c0 line%p0(|s) with text, %c1 %p1(is|are) about memory and %c2 %p2(was|were) skipped."},
    {"log_long_lines",
     "%c0 line%p0( is|s are) longer than %c1 bytes: only %p0(its beginning was|their beginnings were) read."},
    {"lost_events",
     "%DEvents are missing at %c0 place%p0(|s), for %b1 in all. The totals are exact, but which code held "
     "those bytes is not known."},
    {"host_rounding", "%D%b0 of the %b1 in use at the end are rounding: the allocator rounds each request up "
                      "to a power of two."},
    {"misplaced",
     "%c0 list element%p0( was|s were) left out: %p0(it is|they are) of another type than the elements "
     "around %p0(it|them)."},
    {"no_addresses",
     "%DThis trace has no addresses. Its totals are right, but which allocation a free ends is not known."},
    {"no_history",
     "No event was recorded for this device, so only its state when the file was written is shown."},
    {"one_event",
     "Only one event was recorded for this device, so its state when the file was written is shown."},
    {"no_segment_events",
     "No segment event was recorded, but %c0 allocation%p0(|s) (%b1) lay outside of the final segments, so "
     "reserved memory must have changed. The reserved curve shows its final value at all moments. Record "
     "without skip_actions for segments."},
    {"no_segment_events/above",
     "No segment event was recorded, but reserved memory must have changed. The reserved curve shows its "
     "final value at all moments. Record without skip_actions for segments."},
    {"oom_free_bound",
     "The trace does not tell how much memory the device had free when it ran out. The figure shown is the "
     "device's capacity minus what was reserved."},
    {"orphan_frees", "%c0 allocation%p0(|s) (%b1) %p0(was|were) made before the recording began and freed in "
                     "it. The stack shown is the one of the free."},
    {"overlapping_older",
     "Events are missing, so totals are too high: %c0 older allocation%p0(|s) without an event "
     "overlap%p0(s|) another of that kind, and %c1 allocation%p1(|s) made in the recording overlap%p1(s|) "
     "one that was not freed. Record all actions."},
    {"overflow", "The recording was longer than its buffer: the oldest events were overwritten. Record with "
                 "a larger max_entries."},
    {"reopened_addresses",
     "%c0 event%p0(|s) allocated at an address that was still in use, so a free is missing. The earlier "
     "allocation is shown as freed at that event."},
    {"reserved_shift",
     "The segment events contradict the final segments: the reserved curve would fall below zero, so all "
     "of it is raised by %b0."},
    {"reserved_shift/unknown",
     "The final segments are not known, so the reserved curve is a lower bound: the least that fits the "
     "events and what is allocated."},
    {"series_gaps",
     "The series has %c0 dumps, and at %c1 place%p1(|s) events between two of them are missing. There, "
     "memory with the same address and size in both dumps is shown as one allocation that stayed."},
    {"series_joined",
     "The series has %c0 dumps. Their events overlap or join, so they are shown as one recording."},
    {"sizes_unread", "%c0 size%p0(| is|s are) missing or no whole number%p0(|s) of bytes, and count%p0(s|) "
                     "as 0: every figure may be too "
                     "low."},
    {"texts_left_out",
     "%c0 text%p0(|s) (forward frames, metadata) %p0(was|were) left out: the file repeats them by "
     "reference, and written out, all such texts would be longer than %b1 and than %n2 times what was read."},
    {"trailing_bytes",
     "%p1(At least |)%b0 (%c0 byte%p0(|s)) follow the end of the recording and are ignored. Two processes "
     "may have written this one file, so even what is shown may be mixed. Give each rank a file of its own "
     "and record again."},
    {"trailing_bytes/pickle",
     "Another pickle follows the end of the recording (%p1(at least |)%b0, %c0 bytes). Only the first is "
     "shown. Give each rank and each dump a file of its own."},
    {"truncated", "The file is cut off at byte %c0: the %c1 event%p1(|s) before that %p1(is|are) shown."},
    {"truncated/devices",
     "The file is cut off at byte %c0: the %c1 event%p1(|s) before that %p1(is|are) shown. For device %n2 "
     "and those after it, older memory is known only from its frees, so totals may be too low."},
    {"truncated/packed", "The packed data is cut off at byte %c0, after the recording: nothing is missing."},
    {"truncated/gzip", "The gzip data is cut off at byte %c0, after the recording: nothing is missing."},
    {"truncated/json",
     "The file ends too early, at byte %c0: the %c1 event%p1(|s) before that %p1(is|are) used."},
    {"truncated/zip", "The zip is cut off at byte %c0, after the recording: nothing is missing."},
    {"unequal_actions",
     "%c2 free%p2(|s) completed without a request (%c0 requested, %c1 completed in all). Events are missing, "
     "perhaps allocations too. Record all actions, with a larger max_entries if the buffer was full."},
    {"unequal_actions/no_completed",
     "Completions of frees were not recorded (%c0 free%p0(|s) requested, none completed), so memory counts "
     "as free from the request on. Record without skip_actions for frees to see what waited for other "
     "streams."},
    {"unequal_actions/no_requested",
     "Requests of frees were not recorded (%c1 free%p1(|s) completed, none requested), so it is not known "
     "what waited for other streams. Record without skip_actions for frees."},
    {"unknown_actions", "%c0 event%p0( was|s were) left out: %p0(its|their) action is not known."},
    {"unmatched_end", "%c0 allocation%p0(|s) (%b1) %p0(was|were) never freed by an event, but no active "
                      "block is at %p0(its|their) address at the end. The curve may be wrong by that much."},
};

/* The sentence for a key, a string of the trace. NULL: it has none. */
static const char *sentence_of(const struct trace *trace, uint32_t key) {
    for (size_t i = 0; key != 0 && i < sizeof sentences / sizeof *sentences; i++)
        if (text_is(trace_text(trace, key), sentences[i].key))
            return sentences[i].text;
    return NULL;
}

/* A message under construction. Figures are short, so every sentence of the table fits. */
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
