#include "cli/ending.h"

#include "cli/terminal.h"

#include <string.h>
#include <sys/stat.h>

/* From the last dot of the name on, a leading one aside; "": none. */
static const char *ending_of(const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    return dot != NULL && dot != name ? dot : "";
}

enum ending_kind ending_kind(const char *path) {
    const char *ending = path != NULL ? ending_of(path) : "";
    return strcmp(ending, ".png") == 0    ? ENDING_PICTURE
           : strcmp(ending, ".html") == 0 ? ENDING_PAGE
                                          : ENDING_WORDS;
}

static bool is_directory(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static bool words_choose(const char *verb, struct settings *settings, const char *ending) {
    if (strcmp(ending, ".json") == 0)
        settings->format = REPORT_JSON;
    else if (strcmp(ending, ".md") == 0)
        settings->format = REPORT_MARKDOWN;
    else if (strcmp(ending, ".txt") != 0 && ending[0] != '\0' && !is_directory(settings->output)) {
        terminal_error(
            settings->output,
            "%s: the ending \"%s\" does not say what to write; .txt, .md, .json, .png and .html do", verb,
            ending);
        return false;
    }
    return true;
}

bool ending_choose(const char *verb, struct settings *settings) {
    enum ending_kind kind = ending_kind(settings->output);
    if (settings->two_formats) {
        terminal_error(NULL, "%s: --json and --markdown are two formats; ask for one at a time", verb);
        return false;
    }
    if (settings->output == NULL || (kind == ENDING_WORDS && settings->format != REPORT_TEXT))
        return true;
    if (kind == ENDING_WORDS)
        return words_choose(verb, settings, ending_of(settings->output));
    if (settings->format != REPORT_TEXT)
        terminal_error(settings->output, "a %s is neither JSON nor Markdown",
                       kind == ENDING_PAGE ? "page" : "picture");
    return settings->format == REPORT_TEXT;
}
