#include "base/hashed.h"
#include "cli/browser.h"
#include "cli/ending.h"
#include "cli/exit_code.h"
#include "cli/manual.h"
#include "cli/memory.h"
#include "cli/output.h"
#include "cli/suggest.h"
#include "cli/terminal.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define VERB_ENTRY(BIT, name) &verb_##name,
static const struct verb *const verbs[N_VERBS] = {STRATA_VERBS(VERB_ENTRY)};

/* `python _memory_viz.py trace_plot snapshot.pickle -o snapshot.html` is the command of PyTorch's own introduction, so
 * it works here too. */
static const char verb_html_too[] = "trace_plot";

static const struct verb *verb_find(const char *name) {
    if (strcmp(name, verb_html_too) == 0)
        return &verb_html;
    if (strcmp(name, "whatif") == 0)
        return &verb_plan; /* the name of `plan --set` before 0.4.0 */
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
    printf("Usage: strata [VERB] [OPTION]... SNAPSHOT\n\n");
    help_words_print("Turns a PyTorch memory snapshot (torch.cuda.memory._dump_snapshot) into a picture. "
                     "Nothing in the snapshot is executed, nothing is fetched from the network.",
                     0, 0);
    printf("\nVerbs:\n");
    for (size_t i = 0; i < N_VERBS; i++) {
        printf("  %-12s", verbs[i]->name);
        help_words_print(verbs[i]->summary, 14, 14);
    }
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

/* Refuses to make one page of a directory or of several files where no verb is named. True: printed. */
static bool means_batch(const struct settings *settings) {
    if (settings->input == NULL || !path_is_directory(settings->input))
        return false;
    terminal_error(settings->input, "is a directory; did you mean `strata batch %s -o DIR`?",
                   settings->input);
    return true;
}

static int verb_run_settings(const struct verb *verb, enum options_result result,
                             const struct settings *settings) {
    switch (result) {
    case OPTIONS_RUN: break;
    case OPTIONS_HELP: options_print_help(verb); return printed();
    case OPTIONS_VERSION: return version_print();
    case OPTIONS_WRONG: return EXIT_CODE_USAGE;
    }
    terminal_init(settings->quiet, (enum terminal_color)settings->color);
    if (!browser_agrees(verb->name, settings))
        return EXIT_CODE_USAGE;
    return verb->run(settings);
}

/* Runs a verb. `given`: the command line names it. */
static int verb_start(const struct verb *verb, bool given, int n_words, char **words) {
    struct settings settings;
    enum options_result result = options_parse(verb, n_words, words, &settings);
    int code = !given && result == OPTIONS_RUN && means_batch(&settings)
                   ? EXIT_CODE_USAGE
                   : verb_run_settings(verb, result, &settings);
    options_release(&settings);
    return code;
}

/* The verb that the output's ending means where none is named: -o peak.png is a picture. */
static const struct verb *verb_by_output(int n_words, char **words) {
    const char *name = ending_verb(options_output(n_words, words));
    const struct verb *verb = name != NULL ? verb_find(name) : NULL;
    return verb != NULL ? verb : &verb_html;
}

static int help_run(const char *name) {
    const struct verb *verb = name != NULL ? verb_find(name) : NULL;
    if (verb == NULL)
        return help_print();
    options_print_help(verb);
    return printed();
}

/* Prints pages of the manual and completions, for building and installing the program (scripts/manual.cmake). */
static int manual_run(const char *what) {
    return manual_print(what, verbs, N_VERBS) ? printed() : EXIT_CODE_USAGE;
}

/* The other commands of _memory_viz.py, and the verbs that do the same here. */
static const struct {
    const char *word, *verb, *why;
} words_known[] = {
    {"segments", "png --map", "draws segments and blocks"},
    {"segment_plot", "png --map", "draws segments and blocks; the page has them too, below the timeline"},
    {"memory", "report --group stack", "lists the memory by stack"},
    {"stats", "report", "prints the figures"},
    {"compare", "diff", "says what changed"},
    {"trace", "html", "shows every event, in one page"},
};

/* Answers a command of _memory_viz.py with the verb that does the same and its operands. True: printed. */
static bool word_of_memory_viz(int argc, char **argv) {
    for (size_t i = 0; i < sizeof words_known / sizeof *words_known; i++) {
        if (strcmp(argv[1], words_known[i].word) != 0)
            continue;
        bool two = strcmp(words_known[i].verb, "diff") == 0 && argc > 3;
        bool named = argc > 2 && argv[2][0] != '-';
        terminal_error(NULL, "\"%s\" is a command of _memory_viz.py; here `strata %s %s%s%s` %s", argv[1],
                       words_known[i].verb, named ? argv[2] : "SNAPSHOT", two ? " " : "", two ? argv[3] : "",
                       words_known[i].why);
        return true;
    }
    return false;
}

/* Refuses a first word that looks like a mistyped verb and names no file. True: printed. */
static bool mistyped_verb(const char *word) {
    char found[PATH_MAX];
    if (strpbrk(word, "./") != NULL || access(word, F_OK) == 0)
        return false;
    struct suggestion suggestion = suggestion_start(word_text(word));
    for (size_t i = 0; i < N_VERBS; i++)
        suggestion_offer(&suggestion, verbs[i]->name);
    if (suggestion.closest != NULL)
        terminal_error(NULL, "\"%s\" is neither a verb nor a file; did you mean \"%s\"?", word,
                       suggestion.closest);
    else if (suggestion_of_file(word, found))
        terminal_error(NULL, "\"%s\" is neither a verb nor a file; did you mean \"%s\"?", word, found);
    else
        terminal_error(NULL, "\"%s\" is neither a verb nor a file; strata -h lists the verbs", word);
    return true;
}

/* Answers a command without arguments: lists the verbs, and says that something is missing. */
static int verbs_list(void) {
    if (help_print() != EXIT_CODE_DONE)
        return EXIT_CODE_FAILED;
    terminal_error(NULL, "no snapshot was given; strata -h explains");
    return EXIT_CODE_USAGE;
}

/* Answers a first word that is neither a verb nor a file. True: printed, and the exit code is in `code`. */
static bool word_answer(int argc, char **argv, int *code) {
    const char *word = argv[1];
    if (word[0] == '-' || access(word, F_OK) == 0)
        return false;
    if (strcmp(word, "help") == 0)
        *code = argc > 3 && strcmp(argv[2], "--manual") == 0 ? manual_run(argv[3])
                                                             : help_run(argc > 2 ? argv[2] : NULL);
    else if (strcmp(word, "version") == 0)
        *code = version_print();
    else if (word_of_memory_viz(argc, argv) || mistyped_verb(word))
        *code = EXIT_CODE_USAGE;
    else
        return false;
    return true;
}

/* Draws the key of the hash tables. Without random bytes the constants stay, as in the page. */
static void hash_key_draw(void) {
    uint64_t drawn[2];
    if (getrandom(drawn, sizeof drawn, GRND_NONBLOCK) != sizeof drawn)
        return;
    hash_key[0] = drawn[0] | 1;
    hash_key[1] = drawn[1] | 1;
}

int main(int argc, char **argv) {
    if (!output_fill_descriptors())
        return EXIT_CODE_FAILED;
    hash_key_draw();
    memory_begin();
    output_catch_signals();
    terminal_init(false, COLOR_AUTO);
    if (argc < 2)
        return verbs_list();
    const char *word = argv[1];
    const struct verb *verb = verb_find(word);
    int code;
    if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0)
        return help_print();
    if (verb != NULL)
        return verb_start(verb, true, argc - 2, argv + 2);
    if (word_answer(argc, argv, &code))
        return code;
    return verb_start(verb_by_output(argc - 1, argv + 1), false, argc - 1, argv + 1);
}
