#include "cli/browser.h"

#include "cli/ending.h"
#include "cli/terminal.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORDS_MAX = 16, WAITS = 150, WAIT_NS = 20 * 1000 * 1000, CANNOT_RUN = 127 };

bool browser_agrees(const char *verb, const struct settings *settings) {
    bool standard = settings->output != NULL && strcmp(settings->output, "-") == 0;
    bool page = strcmp(verb, "html") == 0 || strcmp(verb, "batch") == 0 ||
                ending_kind(settings->output) == ENDING_PAGE;
    if (!settings->open || (page && !standard))
        return true;
    terminal_error(NULL, "--open opens a page that is written into a file: -o NAME.html");
    return false;
}

/* Tries the first of the browsers that "firefox --new-window:chromium" names. */
static void environment_run(const char *given, const char *path) {
    char text[1024];
    char *words[WORDS_MAX + 2], *rest = NULL;
    size_t n = 0;
    bool placed = false;
    snprintf(text, sizeof text, "%.*s", (int)strcspn(given, ":"), given);
    for (char *word = strtok_r(text, " ", &rest); word != NULL && n < WORDS_MAX;
         word = strtok_r(NULL, " ", &rest)) {
        bool place = strcmp(word, "%s") == 0;
        words[n++] = place ? (char *)(uintptr_t)path : word;
        placed |= place;
    }
    if (!placed)
        words[n++] = (char *)(uintptr_t)path;
    words[n] = NULL;
    execvp(words[0], words);
}

/* Runs in the child. The browser must not have our input and output. */
__attribute__((noreturn)) static void child_run(const char *path) {
    const char *given = getenv("BROWSER");
    int nothing = open("/dev/null", O_RDWR);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setsid();
    for (int fd = 0; nothing >= 0 && fd <= STDERR_FILENO; fd++)
        dup2(nothing, fd);
    if (given != NULL && *given != '\0' && *given != ':')
        environment_run(given, path);
    execlp("xdg-open", "xdg-open", path, (char *)NULL);
    execlp("wslview", "wslview", path, (char *)NULL);
    execlp("open", "open", path, (char *)NULL);
    _exit(CANNOT_RUN);
}

/* Waits briefly: an opener exits at once with a status, while a browser itself keeps running. */
static bool child_is_well(pid_t child) {
    const struct timespec pause = {0, WAIT_NS};
    int status = 0;
    for (int i = 0; i < WAITS; i++) {
        pid_t ended = waitpid(child, &status, WNOHANG);
        if (ended != 0)
            return ended == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
        nanosleep(&pause, NULL);
    }
    return true;
}

void browser_open(const struct settings *settings, const char *path) {
    char whole[PATH_MAX];
    if (!settings->open)
        return;
    const char *shown = realpath(path, whole) != NULL ? whole : path;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        child_run(shown);
    if (child < 0 || !child_is_well(child))
        terminal_note(path, "no browser could be started for it ($BROWSER, xdg-open); open it by hand");
}
