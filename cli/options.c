/* The command line, word by word, against the table of options. */
#include "cli/options_internal.h"

#include "base/suggest.h"
#include "cli/ending.h"
#include "cli/gone.h"
#include "cli/memory.h"
#include "cli/terminal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct parse {
    const struct verb *verb;
    struct settings *settings;
    char **words;
    int n_words, at; /* `at`: index of the next word */
    bool operands_only;
};

static enum options_result wrong(const struct verb *verb) {
    fprintf(stderr, "Try: strata %s -h\n", verb->name);
    return OPTIONS_WRONG;
}

static const struct option *option_by_letter(unsigned verbs, char letter) {
    const struct option *option = NULL;
    while ((option = option_behind(option, verbs)) != NULL && option->letter != letter)
        ;
    return option;
}

static enum options_result unknown_name(const struct verb *verb, const char *name, size_t length) {
    char typed[64];
    snprintf(typed, sizeof typed, "%.*s", length < sizeof typed ? (int)length : (int)sizeof typed - 1, name);
    struct suggestion suggestion = suggestion_start(word_text(typed));
    for (const struct option *option = NULL; (option = option_behind(option, verb->bit)) != NULL;)
        suggestion_offer(&suggestion, option->name);
    const struct option *elsewhere = option_by_name(VERB_ANY | VERB_RUN, name, length);
    const char *instead = gone_instead(verb->bit, name, length, NULL);
    if (instead != NULL)
        terminal_error(NULL, "--%s is gone: %s", typed, instead);
    else if (elsewhere != NULL)
        terminal_error(NULL, "--%s is not an option of %s", typed, verb->name);
    else if (suggestion.closest != NULL)
        terminal_error(NULL, "unknown option --%s; did you mean --%s?", typed, suggestion.closest);
    else
        terminal_error(NULL, "unknown option --%s", typed);
    return wrong(verb);
}

/* An option's help as one line. */
static void help_text(const struct option *option, char *text, size_t capacity) {
    snprintf(text, capacity, "%s", option->help);
    for (char *at = text; (at = strchr(at, '\n')) != NULL;)
        *at = ' ';
}

static enum options_result value_wrong(const struct parse *parse, const struct option *option,
                                       const char *value) {
    char help[256];
    const char *instead = gone_instead(parse->verb->bit, option->name, strlen(option->name), value);
    help_text(option, help, sizeof help);
    if (instead != NULL)
        terminal_error(NULL, "--%s %s is gone: %s", option->name, value, instead);
    else if (parse->settings->wrong[0] != '\0')
        terminal_error(NULL, "--%s: %s", option->name, parse->settings->wrong);
    else
        terminal_error(NULL, "--%s: \"%s\" is not valid (%s): %s", option->name, value, option->value, help);
    return wrong(parse->verb);
}

/* ---- the options that shape a result, which names them: as given, without paths and endless texts ---- */

/* The number of bytes of a value that are kept: all of a usual value, the beginning of a long title, in whole
 * characters. */
static int value_kept_nbytes(const char *value) {
    enum { MOST = 512 };
    size_t kept = strlen(value);
    if (kept <= MOST)
        return (int)kept;
    for (kept = MOST; kept > 0 && ((unsigned char)value[kept] & 0xc0) == 0x80;)
        kept--;
    return (int)kept;
}

/* Adds an option. "..." stands for the rest of a value that was shortened, and once, at the end, for the options that
 * did not fit. */
static void flags_add(struct settings *settings, const struct option *option, const char *value) {
    static const char omission[] = " ...";
    size_t used = strlen(settings->flags), left = sizeof settings->flags - used;
    if (settings->flags_are_cut)
        return;
    const char *text = value != NULL ? value : "";
    int kept = value_kept_nbytes(text);
    int length = snprintf(settings->flags + used, left, "%s--%s%s%.*s%s", used != 0 ? " " : "", option->name,
                          value != NULL ? " " : "", kept, text, text[kept] != '\0' ? "..." : "");
    settings->flags_are_cut = length < 0 || (size_t)length + sizeof omission > left;
    if (settings->flags_are_cut)
        snprintf(settings->flags + used, left, "%s", omission);
}

/* Notes an option that shapes the result, with its value (NULL: none); of a file that shapes it the name, but not where
 * it lies. --own and --library wait until all options are known. */
static void options_note(struct settings *settings, const struct option *option, const char *value) {
    if ((option->where & SHAPES) != 0 && option->field.kind != FIELD_OWNER)
        flags_add(settings, option, (option->where & NAMES_FILE) != 0 ? path_name(value) : value);
}

/* Notes --own and --library. A result without paths gets only hashes (FNV-1a) of the patterns, which are enough to see
 * whether other patterns were given. */
static void options_note_owners(struct settings *settings) {
    for (uint32_t i = 0; i < settings->n_owners; i++) {
        const struct owner_pattern *pattern = &settings->owners[i];
        const char *name = pattern->owner == OWNER_USER ? "own" : "library";
        uint32_t hash = 2166136261u;
        char hashed[16];
        for (const char *at = pattern->text; *at != '\0'; at++)
            hash = (hash ^ (uint8_t)*at) * 16777619u;
        snprintf(hashed, sizeof hashed, "#%08" PRIx32, hash);
        flags_add(settings, option_by_name(VERB_ANY, name, strlen(name)),
                  settings->redact ? hashed : pattern->text);
    }
}

/* ---- words ---- */

static enum options_result option_apply(struct parse *parse, const struct option *option, const char *value) {
    if (option->letter == 'h')
        return OPTIONS_HELP;
    if (option->letter == 'V')
        return OPTIONS_VERSION;
    if (!option_set(parse->settings, option, value))
        return value_wrong(parse, option, value);
    options_note(parse->settings, option, value);
    return OPTIONS_RUN;
}

/* Takes the word after an option as its value. NULL: there is none; printed. */
static const char *value_take(struct parse *parse, const struct option *option) {
    if (parse->at < parse->n_words)
        return parse->words[parse->at++];
    terminal_error(NULL, "--%s needs a value (%s)", option->name, option->value);
    return NULL;
}

static enum options_result parse_long(struct parse *parse, const char *name) {
    size_t length = strcspn(name, "=");
    const char *value = name[length] == '=' ? name + length + 1 : NULL;
    const struct option *option = option_by_name(parse->verb->bit, name, length);
    if (option == NULL)
        return unknown_name(parse->verb, name, length);
    if (option->value == NULL && value != NULL) {
        terminal_error(NULL, "--%s takes no value", option->name);
        return wrong(parse->verb);
    }
    bool needed = option->value != NULL && option->value[0] != '[';
    if (needed && value == NULL && (value = value_take(parse, option)) == NULL)
        return wrong(parse->verb);
    return option_apply(parse, option, value);
}

/* Reads letters in a cluster: "-fq", "-oFILE", "-o FILE". */
static enum options_result parse_cluster(struct parse *parse, const char *letters) {
    for (; *letters != '\0'; letters++) {
        const struct option *option = option_by_letter(parse->verb->bit, *letters);
        const char *value = NULL;
        if (option == NULL) {
            const char *instead = gone_instead(parse->verb->bit, letters, 1, NULL);
            terminal_error(NULL, instead != NULL ? "-%c is gone: %s" : "unknown option -%c", *letters,
                           instead);
            return wrong(parse->verb);
        }
        if (option->value != NULL)
            value = letters[1] != '\0' ? letters + 1 : value_take(parse, option);
        if (option->value != NULL && value == NULL)
            return wrong(parse->verb);
        enum options_result result = option_apply(parse, option, value);
        if (result != OPTIONS_RUN || value != NULL)
            return result;
    }
    return OPTIONS_RUN;
}

static enum options_result parse_operand(struct parse *parse, const char *word) {
    struct settings *settings = parse->settings;
    if (parse->verb->bit == VERB_RUN) { /* the rest of the line is a command with its own words */
        settings->input = word;
        settings->inputs = parse->words + parse->at - 1;
        settings->n_inputs = (uint32_t)(parse->n_words - parse->at + 1);
        parse->at = parse->n_words;
        return OPTIONS_RUN;
    }
    /* Operands go to the places of words that have been read. */
    settings->inputs = parse->words;
    settings->inputs[settings->n_inputs++] = parse->words[parse->at - 1];
    if (settings->input == NULL)
        settings->input = word;
    return OPTIONS_RUN;
}

static enum options_result parse_word(struct parse *parse) {
    const char *word = parse->words[parse->at++];
    if (parse->operands_only || word[0] != '-' || word[1] == '\0')
        return parse_operand(parse, word);
    if (word[1] != '-')
        return parse_cluster(parse, word + 1);
    if (word[2] != '\0')
        return parse_long(parse, word + 2);
    parse->operands_only = true;
    return OPTIONS_RUN;
}

static uint32_t n_standard_inputs(const struct settings *settings) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < settings->n_inputs; i++)
        count += strcmp(settings->inputs[i], "-") == 0;
    return count;
}

enum options_result options_parse(const struct verb *verb, int n_words, char **words,
                                  struct settings *settings) {
    *settings = (struct settings){.theme = "auto",
                                  .max_html_nbytes = UINT64_C(100) << 20,
                                  .width = 1600,
                                  .height = 900,
                                  .scale = 1,
                                  .export_kind = EXPORT_KINDS,
                                  .top = 20,
                                  .run.n_steps = 5,
                                  .run.max_entries = 1000000,
                                  .run.keep = 8,
                                  .plan.keep_percent = 2,
                                  .run.every_us = 1000000,
                                  .batch.max_seconds = 1800};
    struct parse parse = {.verb = verb, .settings = settings, .words = words, .n_words = n_words};
    while (parse.at < parse.n_words) {
        enum options_result result = parse_word(&parse);
        if (result != OPTIONS_RUN)
            return result;
    }
    options_note_owners(settings);
    if (settings->max_memory_nbytes == 0)
        settings->max_memory_nbytes = memory_default_limit();
    settings->series =
        (verb->bit & (VERB_PICTURE | VERB_REPORT | VERB_EXPORT)) != 0 && settings->n_inputs > 1;
    if (settings->series && settings->output == NULL) {
        terminal_error(NULL,
                       "%s: several dumps become one series; name its file with -o; for a page of each, did "
                       "you mean `strata batch %s %s%s -o DIR`?",
                       verb->name, settings->inputs[0], settings->inputs[1],
                       settings->n_inputs > 2 ? " ..." : "");
        return wrong(verb);
    }
    if (verb->bit != VERB_RUN && n_standard_inputs(settings) > 1) {
        terminal_error(NULL, "%s: standard input can be read only once", verb->name);
        return wrong(verb);
    }
    if (settings->input != NULL)
        return OPTIONS_RUN;
    if (verb->bit == VERB_RUN) {
        terminal_error(NULL, "run: no command was given; it follows --");
        return wrong(verb);
    }
    terminal_error(NULL, "%s: no %s was given%s", verb->name,
                   verb->bit == VERB_BATCH ? "directory or snapshot" : "snapshot",
                   verb->bit == VERB_BATCH ? "" : " (- is standard input)");
    return wrong(verb);
}

/* Skips a cluster, with the value of its last letter, which may be the next word. `*output` becomes the value of -o. */
static int cluster_skip(int at, int n_words, char **words, const char **output) {
    for (const char *letters = words[at] + 1; *letters != '\0'; letters++) {
        const struct option *option = option_by_letter(VERB_ANY, *letters);
        if (option == NULL || option->value == NULL)
            continue;
        const char *value = letters[1] != '\0' ? letters + 1 : at + 1 < n_words ? words[++at] : NULL;
        *output = *letters == 'o' ? value : *output;
        break;
    }
    return at;
}

static int long_skip(int at, int n_words, char **words, const char **output) {
    const char *name = words[at] + 2, *value = strchr(name, '=');
    size_t length = strcspn(name, "=");
    const struct option *option = option_by_name(VERB_ANY, name, length);
    if (option == NULL || option->value == NULL || option->value[0] == '[')
        return at;
    value = value != NULL ? value + 1 : at + 1 < n_words ? words[++at] : NULL;
    *output = option->letter == 'o' ? value : *output;
    return at;
}

const char *options_output(int n_words, char **words) {
    const char *output = NULL;
    for (int at = 0; at < n_words && strcmp(words[at], "--") != 0; at++)
        if (words[at][0] == '-' && words[at][1] == '-')
            at = long_skip(at, n_words, words, &output);
        else if (words[at][0] == '-' && words[at][1] != '\0')
            at = cluster_skip(at, n_words, words, &output);
    return output;
}

void options_release(struct settings *settings) {
    free(settings->hosts);
    settings->hosts = NULL;
    settings->n_hosts = 0;
    free(settings->owners);
    settings->owners = NULL;
    settings->n_owners = 0;
    free((void *)settings->check.rules);
    settings->check.rules = NULL;
    settings->check.n_rules = 0;
}
