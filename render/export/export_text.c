/* Turns text of a recording into valid UTF-8 on one line for files that others read, and cuts endless stacks. */
#include "base/utf8.h"
#include "layout/site.h"
#include "render/export/export_parts.h"

#include <string.h>

uint32_t export_signed_digits(int64_t number, char digits[21]) {
    digits[0] = '-';
    return number < 0 ? 1 + digits_put(-(uint64_t)number, digits + 1) : digits_put((uint64_t)number, digits);
}

static bool is_plain(uint8_t byte, char forbidden) {
    return byte >= 0x20 && byte < 0x7f && byte != (uint8_t)forbidden;
}

/* The code point that is written for a character. */
static uint32_t character_shown(uint32_t code, char forbidden, char instead) {
    if (code == (uint8_t)forbidden && forbidden != 0)
        return (uint8_t)instead;
    return code < 0x80 ? ' ' : utf8_steers(code) ? UTF8_REPLACEMENT : code;
}

void export_text_add(struct buffer *out, struct text text, char forbidden, char instead) {
    for (size_t at = 0; at < text.nbytes;) {
        size_t plain = at;
        while (plain < text.nbytes && is_plain(text.at[plain], forbidden))
            plain++;
        buffer_add(out, text.at + at, plain - at);
        at = plain;
        if (at == text.nbytes)
            return;
        char bytes[4];
        uint32_t code = utf8_next((const char *)text.at, text.nbytes, &at);
        buffer_add(out, bytes, utf8_put(character_shown(code, forbidden, instead), bytes));
    }
}

struct place export_place_of(const struct trace *trace, uint32_t frame) {
    struct place place;
    place_of_frame(trace, frame, &place);
    return place;
}

bool export_met_init(struct export_met *met, struct export_work *work) {
    *met = (struct export_met){
        .number = arena_zeros(work->scratch, work->trace->frames.count, sizeof *met->number)};
    return met->number != NULL;
}

uint32_t export_met_number(struct export_met *met, uint32_t frame, struct export_work *work) {
    if (met->number[frame] == 0) {
        if (!ARENA_GROW(work->scratch, met->frame, met->capacity, (uint64_t)met->count + 1))
            return 0;
        met->frame[met->count++] = frame;
        met->number[frame] = met->count;
    }
    return met->number[frame];
}

void export_frame_add(struct buffer *out, const struct trace *trace, uint32_t frame, char forbidden,
                      char instead) {
    struct place place = export_place_of(trace, frame);
    if (place.file.nbytes != 0 || place.line != 0) {
        char line[22] = ":";
        uint32_t n = 1 + digits_put(place.line, line + 1);
        line[n++] = ' ';
        export_text_add(out, place.file, forbidden, instead);
        buffer_add(out, line, n);
    }
    export_text_add(out, place.name, forbidden, instead);
}

/* Names of call sites are short; so much of a hostile one is written. */
enum { SITE_NBYTES = 4096 };

void export_site_add(struct buffer *out, const struct trace *trace, uint32_t site) {
    char text[SITE_NBYTES];
    uint32_t length = site_text(trace, site, text, sizeof text);
    export_text_add(
        out, (struct text){(const uint8_t *)text, length < SITE_NBYTES ? length : SITE_NBYTES - 1}, 0, 0);
}

/* How many frames of one stack are written at most. */
static uint32_t frames_most(const struct export_frames *frames) {
    return frames->asked > EXPORT_FRAMES_FREE ? EXPORT_FRAMES_LEAST : EXPORT_FRAMES_MOST;
}

bool export_frames_find(struct export_frames *frames, const struct trace *trace, uint32_t stack,
                        struct arena *arena) {
    const struct stack_table *stacks = &trace->stacks;
    uint32_t most = frames_most(frames);
    frames->count = 0;
    for (; stack != 0 && frames->count < most; stack = stack_parent(stacks, stack)) {
        if (!ARENA_GROW(arena, frames->frame, frames->capacity, (uint64_t)frames->count + 1))
            return false;
        frames->frame[frames->count++] = stacks->frame[stack];
    }
    frames->cut = stack != 0;
    frames->asked += frames->count;
    for (uint32_t i = 0; i < frames->count / 2; i++) {
        uint32_t frame = frames->frame[i];
        frames->frame[i] = frames->frame[frames->count - 1 - i];
        frames->frame[frames->count - 1 - i] = frame;
    }
    return true;
}
