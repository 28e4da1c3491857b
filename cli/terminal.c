#include "cli/terminal.h"

#include "base/utf8.h"
#include "cli/clock.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { LINE_CAPACITY = 4096, NAME_SHOWN = 40 };

static const int64_t progress_delay_us = 500000;
static const int64_t progress_interval_us = 100000;

/* There is one standard error, hence one of this. */
static struct {
    bool quiet, progress, color;
    enum terminal_color color_asked;
    volatile sig_atomic_t line_shown;
    const char *file;
    uint64_t total_nbytes;
    int64_t start_us, shown_us;
} terminal;

static bool environment_has(const char *name) {
    const char *value = getenv(name);
    return value != NULL && *value != '\0';
}

/* Is that a terminal that can do more than print? */
static bool is_capable(int fd) {
    const char *term = getenv("TERM");
    return isatty(fd) && term != NULL && strcmp(term, "dumb") != 0;
}

static bool may_color(int fd) {
    if (terminal.color_asked != COLOR_AUTO)
        return terminal.color_asked == COLOR_ALWAYS;
    return is_capable(fd) && !environment_has("NO_COLOR");
}

void terminal_init(bool quiet, enum terminal_color color) {
    terminal.color_asked = color;
    terminal.quiet = quiet;
    terminal.progress = is_capable(STDERR_FILENO) && !quiet;
    terminal.color = may_color(STDERR_FILENO);
}

/* Columns of a terminal; 0: it is not one. */
static uint32_t terminal_columns(int fd) {
    struct winsize size;
    return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col : 0;
}

struct text_look terminal_look(const char *output) {
    const char *given = getenv("COLUMNS");
    if (output != NULL && strcmp(output, "-") != 0)
        return (struct text_look){.color = terminal.color_asked == COLOR_ALWAYS};
    unsigned long columns = given != NULL && *given >= '0' && *given <= '9' ? strtoul(given, NULL, 10) : 0;
    if (columns == 0 || columns > 10000)
        columns = terminal_columns(STDOUT_FILENO);
    return (struct text_look){(uint32_t)columns, may_color(STDOUT_FILENO)};
}

void terminal_tame(char *to, size_t capacity, const char *text) {
    size_t used = 0, at = 0, nbytes = strlen(text);
    while (at < nbytes && used + 4 * 4 < capacity) {
        size_t from = at;
        uint32_t code = utf8_next(text, nbytes, &at);
        bool hostile = utf8_steers(code) || (code == UTF8_REPLACEMENT && at == from + 1);
        for (; from < at; from++)
            if (hostile)
                used += (size_t)snprintf(to + used, capacity - used, "\\x%02X", (unsigned char)text[from]);
            else
                to[used++] = text[from];
    }
    to[used] = '\0';
}

static void line_wipe(void) {
    if (terminal.line_shown)
        fputs("\r\033[K", stderr);
    terminal.line_shown = 0;
}

static void line_print(const char *color, const char *file, const char *format, va_list arguments) {
    char raw[LINE_CAPACITY], tame[LINE_CAPACITY], name[LINE_CAPACITY];
    vsnprintf(raw, sizeof raw, format, arguments);
    terminal_tame(tame, sizeof tame, raw);
    line_wipe();
    fprintf(stderr, terminal.color ? "\033[%smstrata:\033[0m " : "%.0sstrata: ", color);
    if (file != NULL) {
        terminal_tame(name, sizeof name, file);
        fprintf(stderr, "\"%s\": ", name);
    }
    fprintf(stderr, "%s\n", tame);
}

void terminal_error(const char *file, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    line_print("1;31", file, format, arguments);
    va_end(arguments);
}

void terminal_note(const char *file, const char *format, ...) {
    if (terminal.quiet)
        return;
    va_list arguments;
    va_start(arguments, format);
    line_print("1", file, format, arguments);
    va_end(arguments);
}

void progress_start(const char *file, uint64_t total_nbytes) {
    terminal.file = file;
    terminal.total_nbytes = total_nbytes;
    terminal.start_us = clock_us();
    terminal.shown_us = terminal.start_us + progress_delay_us - progress_interval_us;
}

struct figure progress_left(int64_t elapsed_us, uint64_t done, uint64_t left) {
    int64_t left_s = (int64_t)((double)elapsed_us * ((double)left / (double)done) / 1e6) + 1;
    return format_duration(left_s * 1000000);
}

/* " of 1.5 GiB, 4 s left", or nothing where the size is unknown. */
static void remaining_text(char *text, size_t capacity, uint64_t nbytes, int64_t elapsed_us) {
    uint64_t total = terminal.total_nbytes;
    *text = '\0';
    if (total == 0 || nbytes == 0 || nbytes > total)
        return;
    snprintf(text, capacity, " of %s, %s left", format_bytes(total).text,
             progress_left(elapsed_us, nbytes, total - nbytes).text);
}

void progress_report(uint64_t nbytes, uint64_t n_events) {
    if (!terminal.progress)
        return;
    int64_t now = clock_us();
    if (now - terminal.shown_us < progress_interval_us)
        return;
    terminal.shown_us = now;
    char name[LINE_CAPACITY], rest[120], line[LINE_CAPACITY + 256];
    terminal_tame(name, sizeof name, terminal.file);
    remaining_text(rest, sizeof rest, nbytes, now - terminal.start_us);
    snprintf(line, sizeof line, "%.*s: %s%s, %s events", NAME_SHOWN, name, format_bytes(nbytes).text, rest,
             format_count(n_events).text);
    progress_show(line);
}

bool progress_show(const char *line) {
    if (!terminal.progress)
        return false;
    terminal.line_shown = 1;
    uint32_t columns = terminal_columns(STDERR_FILENO);
    fprintf(stderr, "\r%.*s\033[K", UTF8_FIT(line, (columns != 0 ? columns : 80) - 1));
    fflush(stderr);
    return true;
}

void progress_end(void) {
    line_wipe();
    fflush(stderr);
}

const char *progress_wipe(void) {
    return terminal.line_shown ? "\r\033[K" : NULL;
}
