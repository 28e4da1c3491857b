#include "cli/ending.h"

#include "base/text.h"
#include "cli/terminal.h"

#include <string.h>
#include <sys/stat.h>

/* Longer endings come first, because the first ending that a name has is taken. */
static const struct ending {
    const char *text;
    enum ending_kind kind;
    enum report_format format; /* of ENDING_WORDS; REPORT_FORMATS: the format of a file of strata export */
    const char *verb, *what;
} endings[] = {
    {".pb.gz", ENDING_WORDS, REPORT_FORMATS, "export", "a pprof profile"},
    {".pftrace", ENDING_WORDS, REPORT_FORMATS, "export", "a Perfetto trace"},
    {".folded", ENDING_WORDS, REPORT_FORMATS, "export", "folded stacks"},
    {".sqlite", ENDING_WORDS, REPORT_FORMATS, "export", "an SQLite database"},
    {".db", ENDING_WORDS, REPORT_FORMATS, "export", "an SQLite database"},
    {".csv", ENDING_WORDS, REPORT_FORMATS, "export", "a table"},
    {".html", ENDING_PAGE, REPORT_TEXT, "html", "a page"},
    {".png", ENDING_PICTURE, REPORT_TEXT, "png", "a picture"},
    {".json", ENDING_WORDS, REPORT_JSON, "report", "JSON"},
    {".md", ENDING_WORDS, REPORT_MARKDOWN, "report", "Markdown"},
    {".txt", ENDING_WORDS, REPORT_TEXT, "report", "text"},
    {".svg", ENDING_OTHER, REPORT_FORMATS, NULL, "an SVG picture"},
    {".pdf", ENDING_OTHER, REPORT_FORMATS, NULL, "a PDF document"},
    {".jpg", ENDING_OTHER, REPORT_FORMATS, NULL, "a JPEG picture"},
    {".jpeg", ENDING_OTHER, REPORT_FORMATS, NULL, "a JPEG picture"},
    {".gz", ENDING_OTHER, REPORT_FORMATS, NULL, "a compressed file"},
    {".xz", ENDING_OTHER, REPORT_FORMATS, NULL, "a compressed file"},
    {".zst", ENDING_OTHER, REPORT_FORMATS, NULL, "a compressed file"},
};

const char *path_name(const char *path) {
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;
    return slash != NULL ? slash + 1 : path;
}

/* Finds the ending of a path. NULL: none that is known; a name that is nothing but an ending has none. */
static const struct ending *ending_find(const char *path) {
    const char *name = path != NULL ? path_name(path) : "";
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (word_ends(name, endings[i].text))
            return &endings[i];
    return NULL;
}

/* The text from the last dot of the name on, if that is not its first character; "": none. */
static const char *ending_text(const char *path) {
    const char *name = path_name(path), *dot = strrchr(name, '.');
    return dot != NULL && dot != name ? dot : "";
}

enum ending_kind ending_kind(const char *path) {
    const struct ending *ending = ending_find(path);
    return ending != NULL ? ending->kind : ENDING_WORDS;
}

const char *ending_verb(const char *path) {
    const struct ending *ending = ending_find(path);
    return ending != NULL ? ending->verb : NULL;
}

bool path_is_directory(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* Refuses an ending for which no verb writes files. False: printed. */
static bool ending_is_ours(const char *output, const struct ending *ending) {
    if (ending == NULL || ending->kind != ENDING_OTHER || path_is_directory(output))
        return true;
    terminal_error(output,
                   "is the name of %s, which Strata does not write; it writes .html, .png, .txt, .md, .json "
                   "and what strata export has",
                   ending->what);
    return false;
}

bool ending_agrees(const char *verb, const char *output, enum ending_kind kind) {
    const struct ending *ending = ending_find(output);
    bool is_export = ending != NULL && ending->format == REPORT_FORMATS;
    if (!ending_is_ours(output, ending))
        return false;
    if (ending == NULL || (ending->kind == kind && !is_export) || path_is_directory(output))
        return true;
    terminal_error(output, "is the name of %s, and strata %s does not write that; strata %s does",
                   ending->what, verb, ending->verb);
    return false;
}

/* Refuses an option and an ending that name different formats. */
static bool formats_agree(const struct settings *settings, const struct ending *ending) {
    enum report_format asked = settings->format == REPORT_BRIEF  ? REPORT_JSON
                               : settings->format == REPORT_FULL ? REPORT_TEXT
                                                                 : settings->format;
    if (ending == NULL || ending->format == asked || path_is_directory(settings->output))
        return true;
    terminal_error(settings->output,
                   "is the name of %s, and another format is requested: leave one of them out", ending->what);
    return false;
}

bool ending_choose_format(struct settings *settings) {
    const struct ending *ending = ending_find(settings->output);
    if (settings->has_format)
        return formats_agree(settings, ending);
    if (ending != NULL && ending->kind == ENDING_WORDS)
        settings->format = ending->format;
    return true;
}

/* Chooses the format of a text whose ending names one. */
static bool words_choose(const char *verb, struct settings *settings) {
    const char *text = ending_text(settings->output);
    if (settings->has_format || ending_find(settings->output) != NULL || text[0] == '\0' ||
        path_is_directory(settings->output))
        return ending_choose_format(settings);
    terminal_error(settings->output,
                   "%s: the ending \"%s\" does not say what to write; .txt, .md, .json, .png and .html do",
                   verb, text);
    return false;
}

bool ending_choose(const char *verb, struct settings *settings) {
    enum ending_kind kind = ending_kind(settings->output);
    if (settings->two_formats) {
        terminal_error(NULL, "%s: --json and --markdown are two formats; ask for one at a time", verb);
        return false;
    }
    if (settings->output == NULL)
        return true;
    if (kind == ENDING_WORDS || kind == ENDING_OTHER)
        return ending_agrees(verb, settings->output, ENDING_WORDS) && words_choose(verb, settings);
    if (settings->has_format)
        terminal_error(settings->output, "a %s is neither JSON nor Markdown",
                       kind == ENDING_PAGE ? "page" : "picture");
    return !settings->has_format;
}
