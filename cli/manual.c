/* Generates, from the tables of verbs and options, the pages of the manual and the shells' completions. */
#include "cli/manual.h"

#include "cli/options_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Prints text of roff: escapes a backslash and a hyphen, and lets no line begin with a dot or a quote. */
static void roff_print(const char *text, size_t nbytes) {
    bool begins = true;
    for (size_t i = 0; i < nbytes; i++) {
        if (begins && (text[i] == '.' || text[i] == '\''))
            printf("\\&");
        begins = text[i] == '\n';
        if (text[i] == '\\')
            printf("\\e");
        else if (text[i] == '-')
            printf("\\-");
        else
            putchar(text[i]);
    }
}

static void roff_text(const char *text) {
    roff_print(text, strlen(text));
}

/* Prints the heading of a page; its name is in capitals. */
static void page_begin(const char *verb, const char *summary) {
    char title[64];
    snprintf(title, sizeof title, "strata%s%s", verb != NULL ? "-" : "", verb != NULL ? verb : "");
    printf(".TH ");
    for (const char *at = title; *at != '\0'; at++)
        putchar(toupper((unsigned char)*at));
    printf(" 1 \"\" \"strata " STRATA_VERSION "\" \"Strata\"\n.SH NAME\n");
    roff_text(title);
    printf(" \\- ");
    roff_text(summary);
    printf("\n.SH SYNOPSIS\n.B strata");
    if (verb != NULL) {
        putchar(' ');
        roff_text(verb);
    }
    putchar('\n');
}

static void option_page(const struct option *option) {
    printf(".TP\n.B ");
    if (option->letter != 0)
        printf("\\-%c, ", option->letter);
    printf("\\-\\-");
    roff_text(option->name);
    if (option->value != NULL) {
        printf("%s", option->value[0] == '[' ? "" : " ");
        roff_text(option->value);
    }
    putchar('\n');
    roff_text(option->help);
    putchar('\n');
}

static void verb_page(const struct verb *verb) {
    page_begin(verb->name, verb->summary);
    printf("[OPTION]... ");
    roff_text(verb->operands != NULL ? verb->operands : "SNAPSHOT");
    printf("\n.SH DESCRIPTION\n");
    roff_text(verb->about);
    printf(".SH OPTIONS\n");
    for (const struct option *option = NULL; (option = option_behind(option, verb->bit)) != NULL;)
        option_page(option);
    printf(".SH EXAMPLES\n.nf\n");
    roff_text(verb->examples);
    printf(".fi\n.SH SEE ALSO\n.BR strata (1)\n");
}

static void program_page(const struct verb *const *verbs, size_t n_verbs) {
    page_begin(NULL, "turns a PyTorch memory snapshot into a picture");
    printf("[VERB] [OPTION]... SNAPSHOT\n.SH DESCRIPTION\n"
           "Turns a PyTorch memory snapshot into one page, a picture or a report. Nothing in it is executed, "
           "nothing is "
           "fetched from the network. Without a verb the ending of\n.B \\-o\nchooses it;\n.B html\nis the "
           "default.\n"
           ".SH VERBS\n");
    for (size_t i = 0; i < n_verbs; i++) {
        printf(".TP\n.BR strata\\-%s (1)\n", verbs[i]->name);
        roff_text(verbs[i]->summary);
        putchar('\n');
    }
    printf(".SH \"EXIT STATUS\"\n0 done, 1 cannot read, parse or write, 2 wrong usage, 3 a rule is broken, 4 "
           "some files of a "
           "batch failed.\n");
}

static void bash_print(const struct verb *const *verbs, size_t n_verbs) {
    printf("_strata() {\n    local word=${COMP_WORDS[COMP_CWORD]} options=\n    case ${COMP_WORDS[1]} in\n");
    for (size_t i = 0; i < n_verbs; i++) {
        printf("    %s) options='", verbs[i]->name);
        for (const struct option *option = NULL; (option = option_behind(option, verbs[i]->bit)) != NULL;)
            printf("--%s ", option->name);
        printf("' ;;\n");
    }
    printf("    esac\n    COMPREPLY=()\n    if [[ $word == -* ]]; then\n"
           "        COMPREPLY=($(compgen -W \"${options:---help --version}\" -- \"$word\"))\n"
           "    elif [[ $COMP_CWORD == 1 ]]; then\n        COMPREPLY=($(compgen -W '");
    for (size_t i = 0; i < n_verbs; i++)
        printf("%s ", verbs[i]->name);
    printf("' -- \"$word\"))\n    fi\n}\ncomplete -o default -F _strata strata\n");
}

/* Prints a text inside of single quotes, as one line. The characters `special` mean something to the shell and get a
 * backslash; a quote becomes `quote`. */
static void quoted_print(const char *text, const char *special, const char *quote) {
    for (; *text != '\0'; text++)
        if (*text == '\'')
            printf("%s", quote);
        else if (strchr(special, *text) != NULL)
            printf("\\%c", *text);
        else
            putchar(*text == '\n' ? ' ' : *text);
}

static void zsh_text(const char *text) {
    quoted_print(text, "[]:\\", "'\\''");
}

static void zsh_print(const struct verb *const *verbs, size_t n_verbs) {
    printf("#compdef strata\nlocal -a verbs\nverbs=(\n");
    for (size_t i = 0; i < n_verbs; i++) {
        printf("  '%s:", verbs[i]->name);
        zsh_text(verbs[i]->summary);
        printf("'\n");
    }
    printf(")\nif (( CURRENT == 2 )); then\n  _describe verb verbs\n  _files\n  return\nfi\ncase $words[2] "
           "in\n");
    for (size_t i = 0; i < n_verbs; i++) {
        printf("%s)\n  _arguments", verbs[i]->name);
        for (const struct option *option = NULL; (option = option_behind(option, verbs[i]->bit)) != NULL;) {
            bool needs = option->value != NULL && option->value[0] != '[';
            printf(" \\\n    '--%s%s[", option->name, needs ? "=" : "");
            zsh_text(option->help);
            printf("]%s'", needs ? ":value:_files" : "");
        }
        printf(" \\\n    '*:file:_files' ;;\n");
    }
    printf("*) _files ;;\nesac\n");
}

static void fish_text(const char *text) {
    quoted_print(text, "\\", "\\'");
}

static void fish_print(const struct verb *const *verbs, size_t n_verbs) {
    for (size_t i = 0; i < n_verbs; i++) {
        printf("complete -c strata -n __fish_use_subcommand -a %s -d '", verbs[i]->name);
        fish_text(verbs[i]->summary);
        printf("'\n");
        for (const struct option *option = NULL; (option = option_behind(option, verbs[i]->bit)) != NULL;) {
            bool needs = option->value != NULL && option->value[0] != '[';
            printf("complete -c strata -n '__fish_seen_subcommand_from %s' -l %s%s", verbs[i]->name,
                   option->name, needs ? " -r" : "");
            if (option->letter != 0)
                printf(" -s %c", option->letter);
            printf(" -d '");
            fish_text(option->help);
            printf("'\n");
        }
    }
}

bool manual_print(const char *what, const struct verb *const *verbs, size_t n_verbs) {
    if (strcmp(what, "bash") == 0)
        bash_print(verbs, n_verbs);
    else if (strcmp(what, "zsh") == 0)
        zsh_print(verbs, n_verbs);
    else if (strcmp(what, "fish") == 0)
        fish_print(verbs, n_verbs);
    else if (strcmp(what, "man") == 0)
        program_page(verbs, n_verbs);
    else {
        for (size_t i = 0; i < n_verbs; i++)
            if (strcmp(verbs[i]->name, what) == 0) {
                verb_page(verbs[i]);
                return true;
            }
        return false;
    }
    return true;
}
