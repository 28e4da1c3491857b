#include "cli/filter.h"

#include "base/bytes.h"
#include "cli/recording.h"
#include "cli/regex.h"
#include "cli/terminal.h"

#include <stdio.h>
#include <string.h>

/* Longer texts are tested as far as that: a hostile file repeats long names in millions of frames. */
enum { TEXT_NBYTES = 4096, EXPRESSION_NBYTES = 4 * FILTER_TEXT_MAX_NBYTES + 1 };

/* ---- expressions ---- */

/* What people write by habit and POSIX does not know: \d, \D and (?:. */
static void expression_translate(const struct filter_word *word, char text[EXPRESSION_NBYTES]) {
    size_t n = 0;
    for (uint32_t i = 0; i < word->nbytes; i++) {
        char byte = word->text[i], next = i + 1 < word->nbytes ? word->text[i + 1] : '\0';
        if (byte == '\\' && (next == 'd' || next == 'D')) {
            n += (size_t)snprintf(text + n, EXPRESSION_NBYTES - n, next == 'd' ? "[0-9]" : "[^0-9]");
            i++;
        } else if (byte == '\\' && next != '\0') {
            text[n++] = byte;
            text[n++] = next;
            i++;
        } else if (byte == '(' && next == '?' && i + 2 < word->nbytes && word->text[i + 2] == ':') {
            text[n++] = byte;
            i += 2;
        } else {
            text[n++] = byte;
        }
    }
    text[n] = '\0';
}

static bool expression_compile(regex_t *expression, const struct filter_word *word,
                               struct regex_wrong *wrong) {
    char text[EXPRESSION_NBYTES + 8];
    expression_translate(word, text);
    return regex_compile(expression, text, REG_NOSUB | (word->sensitive ? 0 : REG_ICASE), wrong);
}

bool filter_check(const char *words, char *wrong, size_t capacity, bool *no_memory) {
    struct filter filter;
    struct filter_error error;
    size_t nbytes = strlen(words);
    if (nbytes > UINT16_MAX || !filter_parse(&filter, words, (uint32_t)nbytes, &error)) {
        if (nbytes > UINT16_MAX)
            snprintf(wrong, capacity, "the filter is too long");
        else
            snprintf(wrong, capacity, "\"%.*s\" %s",
                     (int)(error.until - error.from < 80 ? error.until - error.from : 80), words + error.from,
                     error.what);
        return false;
    }
    for (uint32_t i = 0; i < filter.n_words; i++) {
        regex_t expression;
        struct regex_wrong why;
        if (filter.word[i].kind != FILTER_REGEX)
            continue;
        if (!expression_compile(&expression, &filter.word[i], &why)) {
            snprintf(wrong, capacity, "/%.*s/ is not a regular expression: %s",
                     (int)(filter.word[i].nbytes < 80 ? filter.word[i].nbytes : 80), filter.word[i].text,
                     why.reason);
            *no_memory |= why.no_memory;
            return false;
        }
        regfree(&expression);
    }
    return true;
}

/* ---- texts ---- */

static void string_text(const struct trace *trace, uint32_t id, char text[TEXT_NBYTES]) {
    uint32_t nbytes;
    const uint8_t *bytes = trace_string(trace, id, &nbytes);
    nbytes = nbytes < TEXT_NBYTES ? nbytes : TEXT_NBYTES - 1;
    for (uint32_t i = 0; i < nbytes; i++)
        text[i] = bytes[i] != 0 ? (char)bytes[i] : ' ';
    text[nbytes] = '\0';
}

static void bit_set(uint64_t *bits, uint32_t at) {
    bits[at / 64] |= UINT64_C(1) << at % 64;
}

static bool string_is_noted(const uint64_t *noted, uint32_t id) {
    return (noted[id / 64] >> id % 64 & 1) != 0;
}

/* Strings that stand beside frames: of contexts, and of what torch.fx notes. */
static void strings_note(const struct trace *trace, uint64_t *noted) {
    for (uint32_t i = 1; i < trace->contexts.count; i++) {
        const struct context *context = &trace->contexts.context[i];
        bit_set(noted, context->compile_context);
        bit_set(noted, context->user_metadata);
        bit_set(noted, context->category);
    }
    for (uint32_t i = 1; i < trace->fx.count; i++) {
        const struct fx *fx = &trace->fx.fx[i];
        bit_set(noted, fx->op);
        bit_set(noted, fx->name);
        bit_set(noted, fx->target);
        bit_set(noted, fx->original_trace);
    }
}

/* False: no memory. */
static bool texts_match(const regex_t *expression, const struct trace *trace, const uint64_t *noted,
                        uint64_t *frames, uint64_t *strings) {
    char text[TEXT_NBYTES];
    bool failed = false;
    for (uint32_t i = 1; i < trace->frames.count; i++) {
        filter_frame_text(trace, i, text, sizeof text);
        if (regex_meets(expression, text, 0, NULL, &failed))
            bit_set(frames, i);
    }
    for (uint32_t i = 1; i < trace->strings.count; i++) {
        if (!string_is_noted(noted, i))
            continue;
        string_text(trace, i, text);
        if (regex_meets(expression, text, 0, NULL, &failed))
            bit_set(strings, i);
    }
    return !failed;
}

/* False: no memory. */
static bool regex_match(struct filter_regex *regex, const struct filter_word *word, const struct trace *trace,
                        struct arena *arena) {
    uint64_t *frames = arena_bits(arena, trace->frames.count),
             *strings = arena_bits(arena, trace->strings.count),
             *noted = arena_bits(arena, trace->strings.count);
    regex_t expression;
    struct regex_wrong wrong;
    if (frames == NULL || strings == NULL || noted == NULL || !expression_compile(&expression, word, &wrong))
        return false;
    strings_note(trace, noted);
    bool done = texts_match(&expression, trace, noted, frames, strings);
    regfree(&expression);
    ARENA_DROP(arena, noted);
    *regex = (struct filter_regex){frames, strings};
    return done;
}

static void note_without_times(const struct recording *recording, const struct filter *filter) {
    bool timed = false;
    for (uint32_t i = 0; i < recording->trace.n_devices; i++)
        timed |= recording->trace.devices[i].time_us != NULL;
    if (!timed && filter_has(filter, FILTER_AGE_US))
        terminal_note(recording->input.shown,
                      "has no times, so no lifetime given in time passes the filter; a number without a "
                      "unit counts events");
}

bool filter_set_make(struct filter_set *set, const struct recording *recording,
                     const struct settings *settings, struct arena *arena) {
    return filter_set_of(set, recording, settings->filter, arena);
}

bool filter_set_of(struct filter_set *set, const struct recording *recording, const char *words,
                   struct arena *arena) {
    struct filter_error error;
    *set = (struct filter_set){.parsed = {.text = words, .regexes = set->regex}};
    if (words[0] == '\0' || !filter_parse(&set->parsed.filter, words, (uint32_t)strlen(words), &error))
        return true; /* options_parse has refused what cannot be read */
    for (uint32_t i = 0; i < set->parsed.filter.n_words; i++) {
        const struct filter_word *word = &set->parsed.filter.word[i];
        if (word->kind == FILTER_REGEX &&
            !regex_match(&set->regex[word->nth_regex], word, &recording->trace, arena)) {
            recording_print_no_memory(recording, arena->limit_hit);
            return false;
        }
    }
    note_without_times(recording, &set->parsed.filter);
    set->query = &set->parsed;
    return true;
}
