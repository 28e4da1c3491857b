#include "cli/exit_code.h"
#include "cli/memory.h"
#include "cli/output.h"
#include "cli/suggest.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "cli/version.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VERB_ENTRY(BIT, name) &verb_##name,
static const struct verb *const verbs[N_VERBS] = {STRATA_VERBS(VERB_ENTRY)};

/* Where a standard descriptor was closed when we were started, messages must not end up in a file that we open. Each is
 * filled with one that fails when it is used. */
static void standard_descriptors_fill(void) {
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_WRONLY) != fd)
            _exit(EXIT_CODE_FAILED);
}

/* `python _memory_viz.py trace_plot snapshot.pickle -o snapshot.html` is the command of PyTorch's own introduction: it
 * works here too. */
static const char verb_html_too[] = "trace_plot";

static const struct verb *verb_find(const char *name) {
    if (strcmp(name, verb_html_too) == 0)
        return &verb_html;
    for (size_t i = 0; i < N_VERBS; i++)
        if (strcmp(verbs[i]->name, name) == 0)
            return verbs[i];
    return NULL;
}

/* Ends a command that only printed to standard output. */
static int printed(void) {
    if (fflush(stdout) == 0 && !ferror(stdout))
        return EXIT_CODE_DONE;
    if (errno != EPIPE)
        terminal_error("standard output", "cannot write: %s", strerror(errno));
    return EXIT_CODE_FAILED;
}

static int version_print(void) {
    printf("strata %s\n", STRATA_VERSION);
    return printed();
}

static int help_print(void) {
    printf("Usage: strata [VERB] [OPTION]... SNAPSHOT\n\n"
           "Turns a PyTorch memory snapshot (torch.cuda.memory._dump_snapshot) into a picture.\n"
           "Nothing in the snapshot is executed, nothing is fetched from the network.\n\nVerbs:\n");
    for (size_t i = 0; i < N_VERBS; i++)
        printf("  %-12s%s\n", verbs[i]->name, verbs[i]->summary);
    printf("  %-12s%s\n", verb_html_too, "the same as html");
    printf("\nstrata VERB -h lists the options of a verb; -V prints the version.\n"
           "SNAPSHOT is a file, or - for standard input.\n\nExamples:\n"
           "  strata snapshot.pickle                      writes snapshot.html\n"
           "  strata png snapshot.pickle -o peak.png\n"
           "  strata report --markdown snapshot.pickle\n"
           "  strata batch dumps/ -o report/              one page per rank, and an index\n"
           "  strata diff before.pickle after.pickle      what changed, cause first\n");
    return printed();
}

static int verb_run_settings(const struct verb *verb, enum options_result result,
                             const struct settings *settings) {
    switch (result) {
    case OPTIONS_RUN: break;
    case OPTIONS_HELP: options_print_help(verb); return printed();
    case OPTIONS_VERSION: return version_print();
    case OPTIONS_WRONG: return EXIT_CODE_USAGE;
    case OPTIONS_NO_MEMORY: return EXIT_CODE_FAILED;
    }
    terminal_init(settings->quiet);
    return verb->run(settings);
}

static int verb_start(const struct verb *verb, int n_words, char **words) {
    struct settings settings;
    enum options_result result = options_parse(verb, n_words, words, &settings);
    int code = verb_run_settings(verb, result, &settings);
    options_release(&settings);
    return code;
}

static int help_run(const char *name) {
    const struct verb *verb = name != NULL ? verb_find(name) : NULL;
    if (verb == NULL)
        return help_print();
    options_print_help(verb);
    return printed();
}

/* A first word that looks like a mistyped verb and names no file. True: printed. */
static bool mistyped_verb(const char *word) {
    if (strpbrk(word, "./") != NULL || access(word, F_OK) == 0)
        return false;
    struct suggestion suggestion = suggestion_start(word);
    for (size_t i = 0; i < N_VERBS; i++)
        suggestion_offer(&suggestion, verbs[i]->name);
    if (suggestion.closest != NULL)
        terminal_error(NULL, "\"%s\" is neither a verb nor a file; did you mean \"%s\"?", word,
                       suggestion.closest);
    else
        terminal_error(NULL, "\"%s\" is neither a verb nor a file; strata -h lists the verbs", word);
    return true;
}

int main(int argc, char **argv) {
    standard_descriptors_fill();
    memory_begin();
    output_catch_signals();
    terminal_init(false);
    const char *word = argc > 1 ? argv[1] : NULL;
    if (word == NULL) {
        terminal_error(NULL, "no snapshot was given; strata -h explains");
        return EXIT_CODE_USAGE;
    }
    if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0)
        return help_print();
    if (strcmp(word, "help") == 0 && access(word, F_OK) != 0)
        return help_run(argc > 2 ? argv[2] : NULL);
    const struct verb *verb = verb_find(word);
    if (verb != NULL)
        return verb_start(verb, argc - 2, argv + 2);
    if (word[0] != '-' && mistyped_verb(word))
        return EXIT_CODE_USAGE;
    return verb_start(&verb_html, argc - 1, argv + 1);
}
