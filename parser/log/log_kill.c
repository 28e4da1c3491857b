/* Lines about processes that were killed: by the kernel, Slurm, Kubernetes, Ray and others for lack of the host's
 * memory, or by SIGKILL, whose reason a shell or a launcher does not know. */
#include "base/numbers.h"
#include "parser/log/log_forms.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A process as a line names it; texts may be empty. */
struct victim {
    uint64_t pid;
    bool has_pid;
    struct text name;
    uint64_t rank;
    bool has_rank;
};

/* The text between two words, up to 80 bytes; empty: there is none. */
static struct text between(struct text line, const char *open, const char *close) {
    uint32_t at = log_find(line, 0, open), begin = at + word_length(open),
             end = at != LOG_NONE ? log_find(line, begin, close) : LOG_NONE;
    return end != LOG_NONE && end - begin <= 80 ? (struct text){line.at + begin, end - begin}
                                                : (struct text){line.at, 0};
}

static void pid_read(struct text line, struct victim *victim) {
    static const char *const words[] = {"Killed process ", "reaped process ", "pid=", "(pid: ", "pid ",
                                        "(pid ",           "Process "};
    for (size_t i = 0; i < sizeof words / sizeof *words && !victim->has_pid; i++)
        victim->has_pid = log_count_behind(line, words[i], &victim->pid);
}

/* "Killed process 77 (python3) total-vm:", "reaped process 777 (python),", "(actor ID: d, name=Worker.__init__, pid=600," */
static void victim_read(struct text line, struct victim *victim) {
    uint32_t process = log_find(line, 0, "rocess "), ray = log_find(line, 0, ", name=");
    *victim = (struct victim){.name = {line.at, 0}};
    pid_read(line, victim);
    victim->has_rank = log_count_behind(line, "local_rank:", &victim->rank);
    if (ray != LOG_NONE)
        victim->name = between(text_from(line, ray), ", name=", ",");
    else if (process != LOG_NONE)
        victim->name = between(text_from(line, process), " (", ")");
    if (victim->name.nbytes != 0 && victim->name.at[0] == '(')
        victim->name.nbytes++; /* "((sd-pam))" */
}

/* What a shell says: "Killed" alone, "zsh: killed     python train.py", "run.sh: line 3:  1234 Killed     python train.py",
 * a progress bar that ends with it. False: it says something else. */
static bool shell_read(struct text line, struct victim *victim) {
    struct text message = log_message(line);
    uint32_t killed = log_find(message, 0, " Killed  "), at = killed;
    *victim = (struct victim){.name = {line.at, 0}};
    if (text_is(message, "Killed") || text_ends(message, "]Killed") || text_ends(message, "/it] Killed") ||
        text_ends(message, ": Killed"))
        return true;
    if (killed == LOG_NONE)
        at = killed = log_find(message, 0, "killed  ");
    if (killed == LOG_NONE ||
        (killed != 0 && !log_has(message, ": line ") && !log_has(message, "zsh: ") && message.at[0] != '['))
        return false;
    while (at > 0 && message.at[at - 1] == ' ')
        at--;
    uint32_t digits = at;
    while (digits > 0 && is_digit(message.at[digits - 1]))
        digits--;
    victim->has_pid = digits < at && log_count(message, digits, &victim->pid) == at;
    while (killed < message.nbytes && message.at[killed] == ' ')
        killed++;
    victim->name =
        text_from(message, log_skip(message, killed + 6 < message.nbytes ? killed + 6 : message.nbytes));
    return true;
}

/* Writes "Ray killed pid 600 (Worker.__init__)". */
static void killed_say(struct log_row *row, const char *killer, const struct victim *victim) {
    char who[64] = "a process", pid[24] = "";
    if (victim->has_pid)
        (void)snprintf(pid, sizeof pid, "pid %" PRIu64, victim->pid);
    if (victim->has_rank)
        (void)snprintf(who, sizeof who, "rank %" PRIu64 "%s%s", victim->rank, pid[0] != '\0' ? ", " : "",
                       pid);
    else if (victim->has_pid)
        (void)snprintf(who, sizeof who, "%s", pid);
    int length = (int)(victim->name.nbytes < 64 ? victim->name.nbytes : 64);
    (void)snprintf(row->killed, sizeof row->killed, "%s%s%s%s%.*s%s%s", killer != NULL ? killer : "",
                   killer != NULL ? " killed " : "", who, length != 0 ? " (" : "", length,
                   (const char *)victim->name.at, length != 0 ? ")" : "",
                   killer != NULL ? "" : " was killed");
}

/* Is the state of a container or a step denied: "OOMKilled": false? */
static bool is_denied(struct text line) {
    uint32_t at = log_find(line, 0, "OOMKilled");
    at = at != LOG_NONE ? at + 9 : line.nbytes;
    while (at < line.nbytes && strchr("\":= ", line.at[at]) != NULL)
        at++;
    return text_has_at(line, at, "false");
}

/* What may have ended a process. A message of one of these kinds counts if no other line tells more. */
static bool signal_line(const struct log_form *form, struct text line, struct log_row *row) {
    struct victim victim;
    if (form->name != NULL && strcmp(form->name, "driver") == 0) {
        log_name_set(row->killed,
                     word_text("the driver ran out of resources: of memory, or it lost the device, or a "
                               "kernel asks for too much"));
        log_name_set(row->backend, word_text("XPU"));
        row->gpu = LOG_NO_DEVICE;
    } else if (form->name != NULL) {
        if (!shell_read(line, &victim))
            return false;
        killed_say(row, NULL, &victim);
    } else {
        victim_read(line, &victim);
        killed_say(row, NULL, &victim);
    }
    row->possible = true;
    return true;
}

enum log_seen log_kill_line(struct log_state *state, struct text line, struct log_row *row) {
    uint32_t form = log_form_of(&state->hits, FORM_KILL, 0);
    struct victim victim;
    row->gpu = LOG_HOST;
    row->is_oom = true;
    for (; form != LOG_NONE; form = log_form_of(&state->hits, FORM_KILL, form + 1)) {
        bool figures = log_figures_read(line, log_forms[form].figures, row) != 0;
        victim_read(line, &victim);
        if (is_denied(line) || (!figures && !victim.has_pid && state->kill != 0))
            continue; /* messages without figures count only if no other line reported a kill */
        killed_say(row, log_forms[form].name, &victim);
        if (state->host_limit != 0)
            log_know_first(row, NOTE_HOST_LIMIT, state->host_limit);
        return LOG_ROW;
    }
    for (form = log_form_of(&state->hits, FORM_SIGNAL, 0); form != LOG_NONE;
         form = log_form_of(&state->hits, FORM_SIGNAL, form + 1))
        if (state->kill == 0 && state->signal == 0 && signal_line(&log_forms[form], line, row))
            return LOG_ROW;
    return LOG_NOTHING;
}

bool log_top_line(struct text line, struct log_row *row) {
    uint64_t pid, nbytes;
    uint32_t next = log_count(line, log_skip(line, 0), &pid), end;
    if (next == LOG_NONE || (end = log_size(line, log_skip(line, next), GIB, &nbytes)) == LOG_NONE)
        return false;
    end = log_skip(line, end);
    struct text command = {line.at + end, line.nbytes - end < 80 ? line.nbytes - end : 80};
    (void)snprintf(row->most, sizeof row->most, "pid %" PRIu64 " (%.*s)", pid, (int)command.nbytes,
                   (const char *)command.at);
    log_know(row, NOTE_HOST_MOST, nbytes);
    return true;
}
