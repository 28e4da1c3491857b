#include "analysis/findings/levels.h"

#include "base/search.h"

enum note_what level_note(unsigned level) {
    static const enum note_what whats[] = {NOTE_ALLOCATED, NOTE_RESERVED, NOTE_DEVICE_USED, NOTE_HOST_USED};
    return whats[level];
}

const char *const level_name[] = {"allocated", "reserved", "device", "host"};
const char *const level_title[] = {"allocated memory", "reserved memory", "the device's memory in use",
                                   "the host's memory in use"};

/* The first note of an event or of a later one. */
static uint32_t notes_seek(const struct device_trace *device, uint32_t event) {
    return SEARCH(0, device->n_notes, i, device->notes[i].event < event);
}

bool levels_note(const struct device_trace *device, uint32_t event, enum note_what what, uint64_t *number) {
    uint32_t at = notes_seek(device, event);
    for (; at < device->n_notes && device->notes[at].event == event; at++)
        if (device->notes[at].what == what) {
            *number = device->notes[at].number;
            return true;
        }
    return false;
}

bool levels_is_peak(const struct device_trace *device, uint32_t event, enum note_what what) {
    uint64_t peaks = 0;
    return levels_note(device, event, NOTE_PEAKS, &peaks) && (peaks >> what & 1) != 0;
}

uint64_t levels_host_most(const struct device_trace *device, uint32_t first, uint32_t end) {
    uint32_t at = notes_seek(device, first), before = at;
    uint64_t most = 0;
    while (before > 0 && device->notes[before - 1].what != NOTE_HOST_USED)
        before--;
    most = before > 0 ? device->notes[before - 1].number : 0;
    for (; at < device->n_notes && device->notes[at].event + 1 < end; at++)
        if (device->notes[at].what == NOTE_HOST_USED && device->notes[at].number > most)
            most = device->notes[at].number;
    return most;
}

uint64_t levels_line(const struct device_trace *device, uint32_t event) {
    uint64_t line = 0;
    (void)levels_note(device, event, NOTE_LINE, &line);
    return line;
}

static void track_peak(struct level_track *track, uint64_t bytes, uint32_t event) {
    if (track->peak < bytes || (track->peak == bytes && track->peak_event > event)) {
        track->peak = bytes;
        track->peak_event = event;
    }
}

/* Maxima are first and last only as long as no level is known. */
static void track_add(struct level_track *track, uint64_t bytes, uint32_t event, bool is_peak) {
    bool first = track->count == 0 || (track->peaks && !is_peak);
    if (track->count++ == 0)
        track->peak_event = event;
    track->first = first ? bytes : track->first;
    track->last = first || track->peaks == is_peak ? bytes : track->last;
    track->peaks = first ? is_peak : track->peaks;
    track_peak(track, bytes, event);
}

/* The first event of the line that ends at an event: a maximum has an event of its own before it. */
static uint32_t line_begin(const struct device_trace *device, uint32_t event) {
    return event > 0 && levels_line(device, event - 1) == levels_line(device, event) ? event - 1 : event;
}

/* Adds a maximum above the level of its line, which has an event of its own before the line's. */
static void maximum_add(struct levels *levels, const struct device_trace *device, const struct note *note) {
    struct level_track *track = &levels->track[LEVEL_ALLOCATED];
    if (note->what != NOTE_MAX_ALLOCATED || track->count == 0 || note->number <= track->peak)
        return;
    track_peak(track, note->number, line_begin(device, note->event));
}

static void outside_add(struct levels *levels, const struct note *note, uint32_t n) {
    uint64_t reserved = 0, used = 0;
    unsigned known = 0;
    for (uint32_t i = 0; i < n; i++) {
        known |= note[i].what == NOTE_RESERVED ? 1u : note[i].what == NOTE_DEVICE_USED ? 2u : 0;
        reserved = note[i].what == NOTE_RESERVED ? note[i].number : reserved;
        used = note[i].what == NOTE_DEVICE_USED ? note[i].number : used;
    }
    if (known != 3 || used < reserved)
        return; /* more was reserved than the device has in use: the driver lends host memory */
    uint64_t outside = used - reserved;
    if (!levels->outside_known || outside > levels->outside_bytes) {
        levels->outside_bytes = outside;
        levels->outside_event = note->event;
    }
    levels->outside_known = true;
}

static void event_add(struct levels *levels, const struct device_trace *device, const struct note *note,
                      uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        for (unsigned level = 0; level < LEVEL_KINDS; level++)
            if (note[i].what == level_note(level))
                track_add(&levels->track[level], note[i].number, note[i].event,
                          levels_is_peak(device, note[i].event, note[i].what));
    for (uint32_t i = 0; i < n; i++) {
        maximum_add(levels, device, &note[i]);
        if (note[i].what == NOTE_MAX_RESERVED && levels->track[LEVEL_RESERVED].count != 0)
            track_peak(&levels->track[LEVEL_RESERVED], note[i].number, note[i].event);
    }
    outside_add(levels, note, n);
}

void levels_find(struct levels *levels, const struct device_trace *device) {
    uint64_t last_line = 0;
    *levels = (struct levels){0};
    for (uint32_t from = 0, end; from < device->n_notes; from = end) {
        for (end = from + 1; end < device->n_notes && device->notes[end].event == device->notes[from].event;)
            end++;
        event_add(levels, device, &device->notes[from], end - from);
    }
    for (uint32_t i = 0; i < device->n_notes; i++)
        if (device->notes[i].what == NOTE_LINE) {
            levels->n_lines += device->notes[i].number != last_line;
            last_line = device->notes[i].number;
        }
    for (unsigned level = 1; level < LEVEL_KINDS; level++)
        if (levels->track[level].count > levels->track[levels->shown].count)
            levels->shown = level;
}

/* The level of which the lines print only maxima: allocated bytes or, if nothing is allocated, reserved bytes.
 * NOTE_KINDS: they print more. */
static enum note_what maxima_of(const struct device_trace *device) {
    uint32_t n_levels[2] = {0}, n_maxima[2] = {0};
    uint64_t most = 0;
    for (uint32_t i = 0; i < device->n_notes; i++) {
        const struct note *note = &device->notes[i];
        bool reserved = note->what == NOTE_RESERVED;
        if (!reserved && note->what != NOTE_ALLOCATED)
            continue;
        enum note_what maximum = reserved ? NOTE_MAX_RESERVED : NOTE_MAX_ALLOCATED;
        n_levels[reserved]++;
        n_maxima[reserved] += levels_note(device, note->event, maximum, &most) && most == note->number;
    }
    bool reserved = n_levels[0] == 0, all = n_maxima[reserved] == n_levels[reserved];
    return n_levels[reserved] == 0 || !all ? NOTE_KINDS : reserved ? NOTE_RESERVED : NOTE_ALLOCATED;
}

/* A maximum counts for the span that it was printed for, not for the time between that and the next one. */
static void span_maximum(struct span *span, const struct device_trace *device, enum note_what what) {
    uint64_t most = 0;
    uint32_t at = notes_seek(device, span->from_moment - 1), peak = span->peak_moment;
    for (; at < device->n_notes && device->notes[at].event < span->to_moment; at++)
        if (device->notes[at].what == what && device->notes[at].number > most) {
            most = device->notes[at].number;
            peak = device->notes[at].event + 1;
        }
    span->peak_bytes = most != 0 ? most : span->peak_bytes;
    span->peak_moment = peak;
}

void levels_begins(struct spans *spans, const struct device_trace *device) {
    enum note_what maxima = maxima_of(device);
    for (uint32_t i = 0; i < spans->count; i++) {
        struct span *span = &spans->span[i];
        span->begin_known &= maxima == NOTE_KINDS && span->from_moment > 1;
        if (maxima != NOTE_KINDS)
            span_maximum(span, device, maxima);
        if (span->begin_known && span->begin_bytes > span->peak_bytes)
            span->peak_bytes = span->begin_bytes;
    }
}

static void turn_add(struct turns *turns, const struct device_trace *device, const struct note *note) {
    bool first = turns->count == 0;
    if (first || (int64_t)note->number > turns->number[turns->count - 1]) {
        uint32_t begin =
            first ? line_begin(device, note->event) + 1 : turns->turn[turns->count - 1].end_moment;
        turns->turn[turns->count] = (struct turn){.begin_moment = begin};
        turns->number[turns->count++] = (int64_t)note->number;
    }
    turns->turn[turns->count - 1].end_moment = note->event + 2;
}

bool levels_turns(struct turns *turns, const struct device_trace *device, struct arena *arena) {
    uint32_t most = 0;
    *turns = (struct turns){.closed = true};
    for (uint32_t i = 0; i < device->n_notes; i++)
        most += device->notes[i].what == NOTE_STEP;
    if (most == 0)
        return true;
    if (!ARENA_COLUMNS(arena, most, turns->turn, turns->number))
        return false;
    turns->source = TURNS_LINES;
    for (uint32_t i = 0; i < device->n_notes; i++)
        if (device->notes[i].what == NOTE_STEP)
            turn_add(turns, device, &device->notes[i]);
    return true;
}

bool levels_phases(struct spans *spans, const struct timeline *timeline, struct arena *arena) {
    const struct device_trace *device = timeline->device;
    uint32_t capacity = 0, n_labels = 0, from = 0;
    *spans = (struct spans){0};
    for (uint32_t i = 0; i < device->n_notes; i++)
        n_labels += device->notes[i].what == NOTE_LABEL;
    spans->left_out = n_labels > SPANS_MOST ? n_labels - SPANS_MOST : 0;
    n_labels -= spans->left_out;
    if (n_labels == 0)
        return true;
    if (!ARENA_GROW(arena, spans->span, capacity, n_labels))
        return false;
    for (; spans->count < n_labels; from++) {
        const struct note *note = &device->notes[from];
        if (note->what != NOTE_LABEL)
            continue;
        uint32_t next = from + 1;
        while (next < device->n_notes && device->notes[next].what != NOTE_LABEL)
            next++;
        /* A label with figures names the time up to its line, and its maximum is of that time; a dump's name has
         * none and names what comes after it. */
        uint32_t before = line_begin(device, note->event), begin = note->event + 1,
                 end = next < device->n_notes ? device->notes[next].event + 1 : timeline->n_moments;
        uint64_t level;
        if (levels_note(device, note->event, NOTE_ALLOCATED, &level)) {
            begin = before + 1;
            end = note->event + 2;
        }
        end = end > begin ? end : begin + 1;
        struct span span = span_make(timeline, SPAN_ANNOTATION, begin, end, note->text);
        span.begin_known = before > 0;
        span.begin_bytes = timeline->live[before];
        spans->span[spans->count++] = span;
    }
    return true;
}
