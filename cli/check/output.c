/* The results of strata check: for people, for GitHub, as JUnit's XML, and as JSON. */
#include "base/format.h"
#include "base/json_writer.h"
#include "base/utf8.h"
#include "cli/check/check.h"
#include "cli/terminal.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { TAME_NBYTES = 16384 };

static const char *status_name(enum check_status status) {
    static const char *const names[] = {"held", "broken", "untrusted", "unreadable"};
    return names[status];
}

/* The site that a broken rule points at: the one that has grown most since the baseline, or without one the largest.
 * NULL: none. */
static const struct check_site *site_of(const struct check_file *file) {
    const struct check_site *best = NULL;
    uint64_t most = 0;
    for (uint32_t i = 0; i < file->n_sites; i++) {
        uint64_t before = baseline_site(file, file->sites[i].name);
        uint64_t grown = file->sites[i].bytes > before ? file->sites[i].bytes - before : 0;
        if (grown > most && file->sites[i].line != 0) {
            most = grown;
            best = &file->sites[i];
        }
    }
    return best;
}

/* Appends where a broken rule about findings first found one; `add` appends its name. */
static void place_add(struct buffer *out, const struct check_verdict *verdict,
                      void (*add)(struct buffer *out, const char *text)) {
    if (verdict->status != CHECK_BROKEN || verdict->site.line == 0)
        return;
    buffer_add_text(out, ", first at ");
    add(out, verdict->site.name);
}

/* Appends what was measured: "76.2 GiB", "3", "9.52 %", "complete". */
static void actual_add(struct buffer *out, const struct check_verdict *verdict) {
    buffer_add_text(out, !verdict->has_actual ? "not known"
                         : verdict->rule->metric != METRIC_TRUST
                             ? check_figure(verdict->rule, verdict->actual).text
                         : verdict->actual != 0 ? "complete"
                                                : "not complete");
}

/* ---- text ---- */

/* Appends a name without control characters, which must not reach a terminal. */
static void plain_add(struct buffer *out, const char *text) {
    char tame[TAME_NBYTES];
    terminal_tame(tame, sizeof tame, text);
    buffer_add_text(out, tame);
}

static void drift_add(struct buffer *out, const struct check_file *file, const char *name, enum metric metric,
                      uint64_t now) {
    struct rule rule = {.metric = metric};
    uint64_t before;
    if (baseline_figure(file, &rule, &before) && before != now)
        buffer_printf(out, "    %s %s, %s against the baseline\n", name, format_bytes(now).text,
                      format_bytes_change((int64_t)(now - before)).text);
}

static void file_text(struct buffer *out, const struct check_file *file) {
    if (file->shown[strspn(file->shown, " \t")] == ':')
        buffer_add_text(out, "./"); /* GitHub takes a line that begins with :: for a command */
    plain_add(out, file->shown);
    if (file->status == CHECK_UNREADABLE) {
        buffer_printf(out, ": %s\n", file->reason);
        return;
    }
    buffer_printf(out, ": %s\n", status_name(file->status));
    for (uint32_t i = 0; i < file->n_verdicts; i++) {
        const struct check_verdict *verdict = &file->verdicts[i];
        buffer_printf(out, "  %-9s ", status_name(verdict->status));
        plain_add(out, verdict->rule->text);
        buffer_add_text(out, "  (");
        actual_add(out, verdict);
        buffer_add_text(out, ")");
        if (verdict->reason[0] != '\0')
            buffer_printf(out, ": %s", verdict->reason);
        place_add(out, verdict, plain_add);
        buffer_add_text(out, "\n");
    }
    const struct check_site *site = site_of(file);
    if (file->status == CHECK_BROKEN && site != NULL) {
        buffer_add_text(out, "    largest or most grown at the peak: ");
        plain_add(out, site->name);
        buffer_printf(out, ", %s\n", format_bytes(site->bytes).text);
    }
    drift_add(out, file, "peak", METRIC_PEAK, file->figures.peak);
    drift_add(out, file, "reserved", METRIC_RESERVED, file->figures.reserved);
    drift_add(out, file, "end", METRIC_END, file->figures.end);
}

/* ---- GitHub's workflow commands ---- */

/* Appends a character of a name; one that would steer the terminal in which a log is read becomes U+FFFD. */
static void tame_add(struct buffer *out, uint32_t code) {
    char bytes[4];
    buffer_add(out, bytes, utf8_put(utf8_steers(code) ? UTF8_REPLACEMENT : code, bytes));
}

/* Appends data of a command: escapes %, CR and LF, in a property also : and the comma. */
static void command_add(struct buffer *out, const char *text, bool property) {
    for (size_t at = 0, nbytes = strlen(text); at < nbytes;) {
        uint32_t code = utf8_next(text, nbytes, &at);
        if (code == '%' || code == '\r' || code == '\n' || (property && (code == ':' || code == ',')))
            buffer_printf(out, "%%%02X", (unsigned)code);
        else
            tame_add(out, code);
    }
}

/* Is there such a file below the folder? The path must not lead above it. */
static bool exists_below(const char *folder, const char *path) {
    char whole[PATH_MAX];
    struct stat status;
    int n = snprintf(whole, sizeof whole, "%s/%s", folder, path);
    return n > 0 && (size_t)n < sizeof whole && strstr(path, "..") == NULL && stat(whole, &status) == 0 &&
           S_ISREG(status.st_mode);
}

/* The path that GitHub knows a file by. GitHub knows paths in the repository, a recording those of the machine where it
 * was made, so this is the longest ending that exists below the workspace. If none does, it is the path as it is,
 * without the workspace's own. */
static const char *workspace_path(const char *path) {
    const char *given = getenv("GITHUB_WORKSPACE");
    const char *workspace = given != NULL && *given != '\0' ? given : ".";
    size_t length = strlen(workspace);
    while (length > 0 && workspace[length - 1] == '/')
        length--;
    if (length != 0 && strncmp(path, workspace, length) == 0 && path[length] == '/')
        return path + length + 1;
    for (const char *ending = path; ending != NULL; ending = strchr(ending, '/')) {
        ending += strspn(ending, "/");
        if (*ending != '\0' && exists_below(workspace, ending))
            return ending;
    }
    return path;
}

static void error_begin(struct buffer *out, const struct check_site *site, const char *title) {
    buffer_add_text(out, "::error ");
    if (site != NULL && site->file[0] != '\0') {
        buffer_add_text(out, "file=");
        command_add(out, workspace_path(site->file), true);
        buffer_printf(out, ",line=%" PRIu32 ",", site->line);
    }
    buffer_add_text(out, "title=");
    command_add(out, title, true);
    buffer_add_text(out, "::");
}

static void file_github(struct buffer *out, const struct check_file *file) {
    if (file->status == CHECK_UNREADABLE) {
        error_begin(out, NULL, "strata check");
        command_add(out, file->shown, false);
        buffer_add_text(out, ": ");
        command_add(out, file->reason, false);
        buffer_add_text(out, "\n");
    }
    for (uint32_t i = 0; i < file->n_verdicts; i++) {
        const struct check_verdict *verdict = &file->verdicts[i];
        if (verdict->status == CHECK_HELD)
            continue;
        const struct check_site *site = verdict->site.line != 0 ? &verdict->site : site_of(file);
        error_begin(out, verdict->status == CHECK_BROKEN ? site : NULL, verdict->rule->text);
        command_add(out, file->name, false);
        buffer_printf(out, ": %s: ", status_name(verdict->status));
        command_add(out, verdict->reason, false);
        buffer_add_text(out, "\n");
    }
}

/* ---- JUnit ---- */

/* Appends text; XML 1.0 allows no other control characters than these three. */
static void xml_add(struct buffer *out, const char *text) {
    size_t nbytes = strlen(text);
    for (size_t at = 0; at < nbytes;) {
        uint32_t code = utf8_next(text, nbytes, &at);
        if (code == '<' || code == '>' || code == '&' || code == '"' || code == '\'' || code == '\n' ||
            code == '\t')
            buffer_printf(out, "&#%u;", (unsigned)code);
        else
            tame_add(out, code == 0xfffe || code == 0xffff ? UTF8_REPLACEMENT : code);
    }
}

static void time_add(struct buffer *out, int64_t us) {
    buffer_printf(out, " time=\"%" PRId64 ".%06" PRId64 "\"", us / 1000000, us % 1000000);
}

/* Begins a test case. The file is read once, so its first case gets all of its time and the
 * others none. */
static void case_begin(struct buffer *out, const struct check_file *file, const char *name, bool first) {
    buffer_add_text(out, "    <testcase classname=\"strata.");
    xml_add(out, file->name);
    buffer_add_text(out, "\" name=\"");
    xml_add(out, name);
    buffer_add_text(out, "\"");
    time_add(out, first ? file->taken_us : 0);
}

/* `verdict` NULL: the file could not be read. */
static void case_end(struct buffer *out, const char *element, const char *type, const char *message,
                     const struct check_verdict *verdict) {
    buffer_printf(out, ">\n      <%s type=\"%s\" message=\"", element, type);
    xml_add(out, message);
    buffer_add_text(out, "\">");
    xml_add(out, message);
    if (verdict != NULL)
        place_add(out, verdict, xml_add);
    buffer_printf(out, "</%s>\n    </testcase>\n", element);
}

struct counts {
    uint32_t tests, failures, errors;
};

static struct counts file_counts(const struct check_file *file) {
    struct counts counts = {.tests = file->n_verdicts};
    for (uint32_t i = 0; i < file->n_verdicts; i++) {
        counts.failures += file->verdicts[i].status == CHECK_BROKEN;
        counts.errors += file->verdicts[i].status == CHECK_UNTRUSTED;
    }
    counts.tests += file->status == CHECK_UNREADABLE;
    counts.errors += file->status == CHECK_UNREADABLE;
    return counts;
}

static void file_junit(struct buffer *out, const struct check_file *file) {
    struct counts counts = file_counts(file);
    buffer_add_text(out, "  <testsuite name=\"");
    xml_add(out, file->shown);
    buffer_printf(out, "\" tests=\"%u\" failures=\"%u\" errors=\"%u\" skipped=\"0\"", counts.tests,
                  counts.failures, counts.errors);
    time_add(out, file->taken_us);
    buffer_add_text(out, ">\n");
    if (file->status == CHECK_UNREADABLE) {
        case_begin(out, file, "read", true);
        case_end(out, "error", "unreadable", file->reason, NULL);
    }
    for (uint32_t i = 0; i < file->n_verdicts; i++) {
        const struct check_verdict *verdict = &file->verdicts[i];
        case_begin(out, file, verdict->rule->text, i == 0);
        if (verdict->status == CHECK_HELD)
            buffer_add_text(out, "/>\n");
        else
            case_end(out, verdict->status == CHECK_BROKEN ? "failure" : "error", status_name(verdict->status),
                     verdict->reason, verdict);
    }
    buffer_add_text(out, "  </testsuite>\n");
}

static void junit_write(struct buffer *out, const struct check_file *files, uint32_t n_files) {
    struct counts all = {0};
    int64_t taken_us = 0;
    for (uint32_t i = 0; i < n_files; i++) {
        struct counts counts = file_counts(&files[i]);
        all = (struct counts){all.tests + counts.tests, all.failures + counts.failures,
                              all.errors + counts.errors};
        taken_us += files[i].taken_us;
    }
    buffer_printf(
        out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"strata check\" tests=\"%u\" "
        "failures=\"%u\" errors=\"%u\"",
        all.tests, all.failures, all.errors);
    time_add(out, taken_us);
    buffer_add_text(out, ">\n");
    for (uint32_t i = 0; i < n_files; i++)
        file_junit(out, &files[i]);
    buffer_add_text(out, "</testsuites>\n");
}

/* ---- JSON ---- */

static void figure_json(struct json_writer *json, const char *name, const struct check_verdict *verdict,
                        bool known, uint64_t figure) {
    if (!known)
        json_null(json, name);
    else if (verdict->rule->metric == METRIC_TRUST)
        json_text(json, name, figure != 0 ? "complete" : "not complete");
    else if (rule_is_share(verdict->rule))
        json_share(json, name, figure, 10000); /* as per cent */
    else
        json_u64(json, name, figure);
}

static void verdict_json(struct json_writer *json, const struct check_verdict *verdict) {
    json_object(json, NULL, JSON_COMPACT);
    json_text(json, "rule", verdict->rule->text);
    figure_json(json, "actual", verdict, verdict->has_actual, verdict->actual);
    figure_json(json, "limit", verdict, verdict->has_limit, verdict->limit);
    json_text(json, "status", status_name(verdict->status));
    json_text(json, "reason", verdict->reason[0] != '\0' ? verdict->reason : NULL);
    json_end(json);
}

static void json_write(struct buffer *out, const struct check_file *files, uint32_t n_files,
                       const struct check_plan *plan) {
    struct json_writer json = json_document(out, 1);
    if (plan->filter != NULL)
        json_text(&json, "filter", plan->filter);
    json_array(&json, "files", JSON_LINES);
    for (uint32_t i = 0; i < n_files; i++) {
        const struct check_site *site = site_of(&files[i]);
        json_object(&json, NULL, JSON_LINES);
        json_text(&json, "file", files[i].shown);
        json_text(&json, "status", status_name(files[i].status));
        json_text(&json, "reason", files[i].reason[0] != '\0' ? files[i].reason : NULL);
        json_text(&json, "site", site != NULL ? site->name : NULL);
        json_array(&json, "rules", JSON_LINES);
        for (uint32_t k = 0; k < files[i].n_verdicts; k++)
            verdict_json(&json, &files[i].verdicts[k]);
        json_end(&json);
        json_end(&json);
    }
    json_end(&json);
    (void)json_document_end(&json);
}

void check_write(struct buffer *out, enum check_format format, const struct check_file *files,
                 uint32_t n_files, const struct check_plan *plan) {
    switch (format) {
    case CHECK_JUNIT: junit_write(out, files, n_files); return;
    case CHECK_JSON: json_write(out, files, n_files, plan); return;
    case CHECK_TEXT:
    case CHECK_GITHUB: break;
    }
    if (plan->filter != NULL) {
        buffer_add_text(out, "Only what passes the filter: ");
        plain_add(out, plan->filter);
        buffer_add_text(out, "\n");
    }
    for (uint32_t i = 0; i < n_files; i++) {
        file_text(out, &files[i]);
        if (format == CHECK_GITHUB)
            file_github(out, &files[i]);
    }
}
