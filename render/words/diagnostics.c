#include "render/words/diagnostics.h"

#include "base/numbers.h"
#include "base/words.h"
#include "render/words/device.h"

#include <string.h>

/* Sentences with the marks of words_tell. Figures 0 to 2 are the diagnostic's numbers, 3 is the distance between the
 * first two; %D is "CPU: " or "host (pinned): " if the diagnostic is about memory of the host. */
struct sentence {
    const char *key, *text;
};

static const struct sentence sentences[] = {
    {"bad_json", "%0n value%0(|s) of the file %0(was|were) left out: %0(it is|they are) not valid JSON."},
    {"baseline_blocks", "%0n allocation%0(|s) (%1b) %0(was|were) made before the recording began and "
                        "%0(is|are) still there at its end, as the final segments show."},
    {"baseline_total",
     "%D%0b were allocated before the recording began and not freed in it. Their stacks are not known."},
    {"below_zero",
     "%0n change%0(|s) would take a category below zero. Such a category is shown as zero until later "
     "changes have made up for it."},
    {"category_totals",
     "A memory timeline records only the totals of each category, and these are exact. Single allocations "
     "are inferred from the changes, and have no stacks."},
    {"damaged",
     "The file is not valid JSON from byte %0n on. Only the %1n event%1(|s) before that %1(is|are) used."},
    {"empty_device", "%0(One event|No event) was recorded for this device, and nothing is allocated on it."},
    {"empty_snapshot", "The file has no event and no segment of any device: no history was recorded, and "
                       "nothing was allocated when it was written."},
    {"history_full",
     "The recording's buffer was full (exactly %0n events), so older events are lost and the recording "
     "begins in the middle of the run. Record with a larger max_entries."},
    {"live_end_differs/less",
     "At the end, %0b are in use by the events and blocks, %3n bytes less than by the segments' own totals "
     "(%1b). Record all actions, and keep other threads from allocating while the snapshot is taken."},
    {"live_end_differs/more",
     "At the end, %0b are in use by the events and blocks, %3n bytes more than by the segments' own totals "
     "(%1b). Record all actions, and keep other threads from allocating while the snapshot is taken."},
    {"live_above_reserved",
     "After event %1n, %0b (%0n bytes) more are in use than reserved, which is impossible: segment events "
     "or frees are missing. Record all actions, and keep other threads from allocating while the snapshot "
     "is taken."},
    {"live_above_reserved/start",
     "Before the first event, %0b (%0n bytes) more are in use than reserved, which is impossible: segment "
     "events or frees are missing. Record all actions, and keep other threads from allocating while the "
     "snapshot is taken."},
    {"log_changes",
     "%0n line%0( tells|s tell) only how much memory a stage added or gave back. No line tells how much "
     "was in use before, so no level can be computed from %0(it|them)."},
    {"log_levels",
     "A log prints levels of memory, not allocations: what happened between two lines, and which line of "
     "code holds the memory, is not known. Figures are as exact as the log prints them."},
    {"log_lines", "Of %0n line%0(|s) with text, %1n %1(is|are) about memory and %2n %2(was|were) skipped."},
    {"log_long_lines",
     "%0n line%0( is|s are) longer than %1n bytes: only %0(its beginning was|their beginnings were) read."},
    {"lost_events",
     "%DEvents are missing at %0n place%0(|s), for %1b in all. The totals are exact, but which code held "
     "those bytes is not known."},
    {"host_rounding",
     "%D%0b of the %1b in use at the end are rounding: the allocator rounds each request up "
     "to a power of two. PyTorch 2.15 leaves those above pinned_max_round_threshold_mb as they are."},
    {"misplaced",
     "%0n list element%0( was|s were) left out: %0(it is|they are) of another type than the elements "
     "around %0(it|them)."},
    {"no_addresses",
     "%DThis trace has no addresses. Its totals are right, but which allocation a free ends is not known."},
    {"no_history",
     "No event was recorded for this device, so only its state when the file was written is shown."},
    {"one_event",
     "Only one event was recorded for this device, so its state when the file was written is shown."},
    {"no_segment_events",
     "No segment event was recorded, but %0n allocation%0(|s) (%1b) lay outside of the final segments, so "
     "reserved memory must have changed. The reserved curve shows its final value at all moments. Record "
     "without skip_actions for segments."},
    {"no_segment_events/above",
     "No segment event was recorded, but reserved memory must have changed. The reserved curve shows its "
     "final value at all moments. Record without skip_actions for segments."},
    {"oom_free_bound",
     "The trace does not tell how much memory the device had free when it ran out. The figure shown is the "
     "device's capacity minus what was reserved."},
    {"orphan_frees", "%0n allocation%0(|s) (%1b) %0(was|were) made before the recording began and freed in "
                     "it. The stack shown is the one of the free."},
    {"overlapping_older",
     "Events are missing, so totals are too high: %0n older allocation%0(|s) without an event "
     "overlap%0(s|) another of that kind, and %1n allocation%1(|s) made in the recording overlap%1(s|) "
     "one that was not freed. Record all actions."},
    {"overflow", "The recording was longer than its buffer: the oldest events were overwritten. Record with "
                 "a larger max_entries."},
    {"reopened_addresses",
     "%0n event%0(|s) allocated at an address that was still in use, so a free is missing. The earlier "
     "allocation is shown as freed at that event."},
    {"reserved_shift",
     "The segment events contradict the final segments: the reserved curve would fall below zero, so all "
     "of it is raised by %0b."},
    {"reserved_shift/unknown",
     "The final segments are not known, so the reserved curve is a lower bound: the least that fits the "
     "events and what is allocated."},
    {"series_gaps",
     "The series has %0n dumps, and at %1n place%1(|s) events between two of them are missing. There, "
     "memory with the same address and size in both dumps is shown as one allocation that stayed."},
    {"series_joined",
     "The series has %0n dumps. Their events overlap or join, so they are shown as one recording."},
    {"sizes_unread", "%0n size%0(| is|s are) missing or no whole number%0(|s) of bytes, and count%0(s|) "
                     "as 0: every figure may be too "
                     "low."},
    {"texts_left_out",
     "%0n text%0(|s) (forward frames, metadata) %0(was|were) left out: the file repeats them by "
     "reference, and written out, all such texts would be longer than %1b and than %2d times what was read."},
    {"trailing_bytes",
     "%1(At least |)%0b (%0n byte%0(|s)) follow the end of the recording and are ignored. Two processes "
     "may have written this one file, so even what is shown may be mixed. Give each rank a file of its own "
     "and record again."},
    {"trailing_bytes/pickle",
     "Another pickle follows the end of the recording (%1(at least |)%0b, %0n bytes). Only the first is "
     "shown. Give each rank and each dump a file of its own."},
    {"truncated", "The file is cut off at byte %0n: the %1n event%1(|s) before that %1(is|are) shown."},
    {"truncated/devices",
     "The file is cut off at byte %0n: the %1n event%1(|s) before that %1(is|are) shown. For device %2d "
     "and those after it, older memory is known only from its frees, so totals may be too low."},
    {"truncated/packed", "The packed data is cut off at byte %0n, after the recording: nothing is missing."},
    {"truncated/gzip", "The gzip data is cut off at byte %0n, after the recording: nothing is missing."},
    {"truncated/json",
     "The file ends too early, at byte %0n: the %1n event%1(|s) before that %1(is|are) used."},
    {"truncated/zip", "The zip is cut off at byte %0n, after the recording: nothing is missing."},
    {"unequal_actions",
     "%2n free%2(|s) completed without a request (%0n requested, %1n completed in all). Events are missing, "
     "perhaps allocations too. Record all actions, with a larger max_entries if the buffer was full."},
    {"unequal_actions/no_completed",
     "Completions of frees were not recorded (%0n free%0(|s) requested, none completed), so memory counts "
     "as free from the request on. Record without skip_actions for frees to see what waited for other "
     "streams."},
    {"unequal_actions/no_requested",
     "Requests of frees were not recorded (%1n free%1(|s) completed, none requested), so it is not known "
     "what waited for other streams. Record without skip_actions for frees."},
    {"unknown_actions", "%0n event%0( was|s were) left out: %0(its|their) action is not known."},
    {"unmatched_end", "%0n allocation%0(|s) (%1b) %0(was|were) never freed by an event, but no active "
                      "block is at %0(its|their) address at the end. The curve may be wrong by that much."},
};

/* The sentence for a key, a string of the trace. NULL: it has none. */
static const char *sentence_of(const struct trace *trace, uint32_t key) {
    for (size_t i = 0; key != 0 && i < sizeof sentences / sizeof *sentences; i++)
        if (text_is(trace_text(trace, key), sentences[i].key))
            return sentences[i].text;
    return NULL;
}

struct message {
    const struct diagnostic *diagnostic;
    struct words words;
};

static bool message_mark(void *context, char mark) {
    struct message *message = context;
    int32_t device = message->diagnostic->device;
    if (mark == 'D' && (device == ORDINAL_CPU || device == ORDINAL_HOST)) {
        words_say(&message->words, device_words(device).text);
        words_say(&message->words, ": ");
    }
    return mark == 'D';
}

/* Keeps a message as a string of the trace: `there` if that says the same. 0: no memory. */
static uint32_t message_keep(struct trace *trace, const struct words *words, uint32_t there) {
    struct text text = trace_text(trace, there);
    if (there != 0 && text.nbytes == words->nbytes && memcmp(text.at, words->text, text.nbytes) == 0)
        return there;
    return trace_string_add(trace, words->text, words->nbytes);
}

bool diagnostics_say(struct trace *trace) {
    for (uint32_t i = 0; i < trace->n_diagnostics; i++) {
        char text[600]; /* figures are short, so every sentence of the table fits */
        struct diagnostic *diagnostic = &trace->diagnostics[i];
        const uint64_t *number = diagnostic->number;
        const char *sentence = sentence_of(trace, diagnostic->key);
        struct message message = {diagnostic, {text, sizeof text, 0}};
        if (sentence == NULL) {
            diagnostic->message = diagnostic->message != 0 ? diagnostic->message : diagnostic->code;
            continue;
        }
        words_tell(&message.words, sentence,
                   (const uint64_t[]){number[0], number[1], number[2], distance_of(number[0], number[1])},
                   message_mark, &message);
        diagnostic->message = message_keep(trace, &message.words, diagnostic->message);
        if (diagnostic->message == 0)
            return false;
    }
    return true;
}
