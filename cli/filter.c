#include "cli/filter.h"
#include "base/utf8.h"

#include "base/bits.h"
#include "base/suggest.h"
#include "cli/exit_code.h"
#include "cli/memory.h"
#include "cli/recording.h"
#include "cli/regex.h"
#include "cli/terminal.h"
#include "layout/device_part.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Only the first TEXT_NBYTES of a text are tested: a hostile file repeats long names in millions of frames. */
enum { TEXT_NBYTES = 4096 };

/* ---- expressions ---- */

static bool expression_compile(regex_t *expression, const struct filter_word *word,
                               char reason[REGEX_REASON_CAPACITY]) {
    char *text = memory_text("%.*s", (int)word->nbytes, word->text),
         *posix = regex_translate(text, NULL, NULL);
    bool done = regex_compile(expression, posix, REG_NOSUB | (word->sensitive ? 0 : REG_ICASE), reason);
    free(posix);
    free(text);
    return done;
}

/* ---- unknown words ---- */

static bool category_word_is_known(const struct filter_word *word, char *wrong, size_t capacity) {
    char typed[FILTER_TEXT_MAX_NBYTES + 1];
    snprintf(typed, sizeof typed, "%.*s", (int)word->nbytes, word->text);
    struct suggestion suggestion = suggestion_start(word_text(typed));
    for (uint32_t i = 0; i < CATEGORY_COUNT; i++) {
        if (strcasecmp(typed, category_label[i].name) == 0)
            return true;
        suggestion_offer(&suggestion, category_label[i].name);
    }
    int n = snprintf(wrong, capacity, "\"%.*s\" is not a category; ", UTF8_FIT(typed, 60));
    if (suggestion.closest != NULL)
        snprintf(wrong + n, capacity - (size_t)n, "did you mean \"category:%s\"?", suggestion.closest);
    for (uint32_t i = 0; suggestion.closest == NULL && i < CATEGORY_COUNT; i++)
        n += snprintf(wrong + n, capacity - (size_t)n, "%s%s", i == 0 ? "they are " : ", ",
                      category_label[i].name);
    return false;
}

bool filter_check(const char *words, char *wrong, size_t capacity) {
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
        char reason[REGEX_REASON_CAPACITY];
        if (filter.word[i].kind == FILTER_CATEGORY &&
            !category_word_is_known(&filter.word[i], wrong, capacity))
            return false;
        if (filter.word[i].kind != FILTER_REGEX)
            continue;
        if (!expression_compile(&expression, &filter.word[i], reason)) {
            snprintf(wrong, capacity, "/%.*s/ is not a regular expression: %s",
                     (int)(filter.word[i].nbytes < 80 ? filter.word[i].nbytes : 80), filter.word[i].text,
                     reason);
            return false;
        }
        regfree(&expression);
    }
    return true;
}

/* ---- texts ---- */

static void string_text(const struct trace *trace, uint32_t id, char text[TEXT_NBYTES]) {
    struct text bytes = trace_text(trace, id);
    uint32_t n = 0;
    for (; n < bytes.nbytes && n + 1 < TEXT_NBYTES; n++)
        text[n] = bytes.at[n] != 0 ? (char)bytes.at[n] : ' ';
    text[n] = '\0';
}

/* Notes the strings outside of frames: those in contexts, and in the notes of torch.fx. */
static void strings_note(const struct trace *trace, uint64_t *noted) {
    for (uint32_t i = 1; i < trace->contexts.count; i++) {
        const struct context *context = &trace->contexts.context[i];
        bits_add(noted, context->compile_context);
        bits_add(noted, context->user_metadata);
        bits_add(noted, context->category);
    }
    for (uint32_t i = 1; i < trace->fx.count; i++) {
        const struct fx *fx = &trace->fx.fx[i];
        bits_add(noted, fx->op);
        bits_add(noted, fx->name);
        bits_add(noted, fx->target);
        bits_add(noted, fx->original_trace);
    }
}

/* Tests every noted string. */
static void texts_match(const regex_t *expression, const struct trace *trace, const uint64_t *noted,
                        uint64_t *frames, uint64_t *strings) {
    char text[TEXT_NBYTES];
    for (uint32_t i = 1; i < trace->frames.count; i++) {
        filter_frame_text(trace, i, text, sizeof text);
        if (regex_meets(expression, text, 0, NULL))
            bits_add(frames, i);
    }
    for (uint32_t i = 1; i < trace->strings.count; i++) {
        if (!bits_has(noted, i))
            continue;
        string_text(trace, i, text);
        if (regex_meets(expression, text, 0, NULL))
            bits_add(strings, i);
    }
}

/* Runs one expression over the recording's texts. False: no memory. */
static bool regex_match(struct filter_regex *regex, const struct filter_word *word, const struct trace *trace,
                        struct arena *arena) {
    uint64_t *frames = arena_bits(arena, trace->frames.count),
             *strings = arena_bits(arena, trace->strings.count),
             *noted = arena_bits(arena, trace->strings.count);
    regex_t expression;
    char reason[REGEX_REASON_CAPACITY];
    if (frames == NULL || strings == NULL || noted == NULL || !expression_compile(&expression, word, reason))
        return false;
    strings_note(trace, noted);
    texts_match(&expression, trace, noted, frames, strings);
    regfree(&expression);
    ARENA_DROP(arena, noted);
    *regex = (struct filter_regex){frames, strings};
    return true;
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

bool filter_set_make(struct filter_set *set, const struct recording *recording, const char *words,
                     struct arena *arena) {
    struct filter_error error;
    *set = (struct filter_set){.parsed = {.text = words, .regexes = set->regex}};
    if (words[0] == '\0' || !filter_parse(&set->parsed.filter, words, (uint32_t)strlen(words), &error))
        return true; /* options_parse has refused expressions that cannot be read */
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

/* ---- the filtered recording ---- */

struct looked {
    uint64_t allocations; /* allocations that pass, on all devices that are shown */
    /* the first word that asks for a phase, which may be misspelt; NULL: none */
    const struct filter_word *phase;
    bool known; /* a phase of that name exists */
    struct suggestion suggestion;
    char typed[FILTER_TEXT_MAX_NBYTES + 1], closest[FILTER_TEXT_MAX_NBYTES + 1];
};

static void phase_offer(struct looked *looked, struct text name) {
    char text[FILTER_TEXT_MAX_NBYTES + 1];
    snprintf(text, sizeof text, "%.*s", (int)(name.nbytes < sizeof text ? name.nbytes : 0),
             (const char *)name.at);
    suggestion_offer(&looked->suggestion, text);
    if (looked->suggestion.closest == text) {
        memcpy(looked->closest, text, sizeof text);
        looked->suggestion.closest = looked->closest;
    }
    looked->known |= filter_text_meets(looked->phase, name);
}

static void looked_start(struct looked *looked, const struct filter *filter) {
    *looked = (struct looked){0};
    for (uint32_t i = 0; i < filter->n_words && looked->phase == NULL; i++)
        if (filter->word[i].kind == FILTER_PHASE && !filter->word[i].negated)
            looked->phase = &filter->word[i];
    if (looked->phase == NULL)
        return;
    snprintf(looked->typed, sizeof looked->typed, "%.*s", (int)looked->phase->nbytes, looked->phase->text);
    looked->suggestion = suggestion_start(word_text(looked->typed));
}

/* Counts what passes on one device. False: no memory. */
static bool device_look(struct looked *looked, const struct recording *recording, uint32_t device,
                        const struct filter_query *query, struct arena *scratch) {
    struct trace part;
    struct timeline timeline;
    struct selection selection = {0};
    struct arena arena;
    arena_init(&arena, arena_share(scratch), SIZE_MAX);
    struct selecting selecting = {
        .selection = &selection, .whole = &timeline, .query = query, .bits_only = true, .arena = &arena};
    enum selecting_progress progress = SELECTING_NO_MEMORY;
    if (device_part_init(&part, &recording->trace, device, &arena) &&
        timeline_init(&timeline, &part, device, &arena))
        progress = SELECTING_GOES_ON;
    while (progress == SELECTING_GOES_ON)
        progress = selecting_go_on(&selecting);
    looked->allocations += selection.allocations;
    for (uint32_t i = 0; looked->phase != NULL && i < selecting.facts.n_phases; i++)
        phase_offer(looked, selecting.facts.phases[i].name);
    arena_release(&arena);
    return progress == SELECTING_DONE;
}

static int looked_answer(const struct looked *looked, const struct recording *recording, const char *words) {
    if (looked->allocations != 0)
        return EXIT_CODE_DONE;
    if (looked->phase != NULL && !looked->known && looked->suggestion.closest != NULL) {
        terminal_error(recording->input.shown,
                       "--filter: no phase is called \"%s\"; did you mean \"phase:%s\"?", looked->typed,
                       looked->closest);
        return EXIT_CODE_USAGE;
    }
    terminal_note(recording->input.shown, "the filter \"%s\" leaves nothing: no allocation matches it",
                  words);
    return EXIT_CODE_DONE;
}

int filter_look(const struct recording *recording, const struct settings *settings, const uint32_t *device) {
    struct filter_set set;
    struct looked looked;
    struct arena arena;
    const struct trace *trace = &recording->trace;
    if (settings->filter[0] == '\0')
        return EXIT_CODE_DONE;
    recording_scratch(recording, &arena);
    bool done = filter_set_make(&set, recording, settings->filter, &arena), printed = !done;
    looked_start(&looked, &set.parsed.filter);
    for (uint32_t i = 0; done && set.query != NULL && looked.allocations == 0 && i < trace->n_devices; i++)
        if (device != NULL ? i == *device
                           : !settings->has_device || trace->devices[i].ordinal == settings->device)
            done = device_look(&looked, recording, i, set.query, &arena);
    if (!done && !printed)
        recording_print_no_memory(recording, arena.limit_hit);
    int code = !done               ? EXIT_CODE_FAILED
               : set.query == NULL ? EXIT_CODE_DONE
                                   : looked_answer(&looked, recording, settings->filter);
    arena_release(&arena);
    return code;
}
