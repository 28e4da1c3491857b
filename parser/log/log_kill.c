/* Lines about processes that were killed: by the kernel, Slurm, Kubernetes, Ray and others for lack of the host's
 * memory, or by SIGKILL, whose reason a shell or a launcher does not know. */
#include "base/numbers.h"
#include "parser/log/log_forms.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { TOP_LINES = 16 };

/* A process as a line names it; texts may be empty. */
struct victim {
    uint64_t pid;
    bool has_pid;
    struct text name;
    uint64_t rank;
    bool has_rank;
};

/* "Killed process 77 (python3) total-vm:", "reaped process 777 (python),", "(actor ID: d, name=Worker.__init__, pid=600," */
static void victim_read(struct text line, struct victim *victim) {
    static const char *const patterns[] = {"d process # ($)", "Process # ($)", ", name=@, pid=#",
                                           "task=@,pid=#",    "d process #",   "pid=#",
                                           "(pid: #",         "pid #",         "Process #"};
    *victim = (struct victim){.name = {line.at, 0}};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns && !victim->has_pid; i++)
        victim->has_pid = log_search(line, patterns[i], &victim->name, &victim->pid);
    victim->has_rank = log_count_behind(line, "local_rank:", &victim->rank);
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

/* Says "Ray killed pid 600 (Worker.__init__)". */
static void killed_say(struct log_state *state, struct log_row *row, const char *killer,
                       const struct victim *victim) {
    char who[64] = "a process", pid[24] = "", said[160];
    if (victim->has_pid)
        (void)snprintf(pid, sizeof pid, "pid %" PRIu64, victim->pid);
    if (victim->has_rank)
        (void)snprintf(who, sizeof who, "rank %" PRIu64 "%s%s", victim->rank, pid[0] != '\0' ? ", " : "",
                       pid);
    else if (victim->has_pid)
        (void)snprintf(who, sizeof who, "%s", pid);
    int length = (int)(victim->name.nbytes < 64 ? victim->name.nbytes : 64);
    (void)snprintf(said, sizeof said, "%s%s%s%s%.*s%s%s", killer != NULL ? killer : "",
                   killer != NULL ? " killed " : "", who, length != 0 ? " (" : "", length,
                   (const char *)victim->name.at, length != 0 ? ")" : "",
                   killer != NULL ? "" : " was killed");
    log_know_text(row, NOTE_KILLED, log_string(state, word_text(said)));
}

/* Is the state of a container or a step denied: "OOMKilled": false? */
static bool is_denied(struct text line) {
    uint32_t at = log_find(line, 0, "OOMKilled");
    at = at != LOG_NONE ? at + 9 : line.nbytes;
    while (at < line.nbytes && strchr("\":= ", line.at[at]) != NULL)
        at++;
    return text_has_at(line, at, "false");
}

/* Adds the row of a kill. One that names the process takes the place of one that does not; a signal's is kept until
 * a line says that memory was the reason, and gives it its name. */
static void kill_add(struct log_state *state, struct log_row *row) {
    bool possible = log_knows(row, NOTE_POSSIBLE);
    struct log_row *last = possible ? &state->signal_row : &state->kill_row;
    bool named = log_knows(row, NOTE_HOST_USED) ||
                 log_has(trace_text(state->trace, row->value[NOTE_KILLED].text), "pid ");
    bool again = row->value[NOTE_KILLED].text == state->kill_row.value[NOTE_KILLED].text;
    if (!possible && state->kill != 0 && again && !log_knows(row, NOTE_HOST_USED))
        return; /* "reaped process 77 (python)", of one that was killed before */
    if (!possible && state->kill != 0 && named && !log_knows(&state->kill_row, NOTE_HOST_USED))
        state->rows.entry[state->kill - 1].dropped = true;
    if (!possible && state->signal != 0) {
        if (!named && state->kill == 0)
            row->value[NOTE_KILLED] = state->signal_row.value[NOTE_KILLED];
        state->rows.entry[state->signal - 1].dropped = true;
        state->signal = 0;
    }
    *last = *row;
    log_put(state, state->rows.count, row);
    *(possible ? &state->signal : &state->kill) = state->rows.count;
    if (log_knows(row, NOTE_PROCESS_USED)) /* Ray's table of processes may follow */
        state->top_until = state->open_until = state->line + TOP_LINES;
}

/* What may have ended a process. A message of one of these kinds counts if no other line tells more. */
static bool signal_line(struct log_state *state, const struct log_form *form, struct text line,
                        struct log_row *row) {
    static const char driver[] = "the driver ran out of resources: of memory, or it lost the device, or a "
                                 "kernel asks for too much";
    struct victim victim;
    log_know(row, NOTE_POSSIBLE, 1);
    if (form->name != NULL && strcmp(form->name, "driver") == 0) {
        log_know_text(row, NOTE_KILLED, log_string(state, word_text(driver)));
        log_know_text(row, NOTE_BACKEND, log_string(state, word_text("XPU")));
        row->of.gpu = LOG_NO_DEVICE;
        return true;
    }
    if (form->name == NULL)
        victim_read(line, &victim);
    else if (!shell_read(line, &victim))
        return false;
    killed_say(state, row, NULL, &victim);
    return true;
}

bool log_kill_line(struct log_state *state, struct text line, const struct log_row *fresh) {
    const struct log_hits *hits = &state->hits;
    if (log_form_of(hits, FORM_KILL, 0) == LOG_NONE && log_form_of(hits, FORM_SIGNAL, 0) == LOG_NONE)
        return false;
    struct log_row row = *fresh;
    struct victim victim;
    bool taken = false;
    row.of.gpu = LOG_HOST;
    row.of.is_oom = true;
    for (uint32_t form = log_form_of(hits, FORM_KILL, 0); form != LOG_NONE && !taken;
         form = log_form_of(hits, FORM_KILL, form + 1)) {
        bool figures = log_figures_read(line, log_forms[form].figures, &row) != 0;
        victim_read(line, &victim);
        taken = !is_denied(line) && (figures || victim.has_pid || state->kill == 0);
        if (!taken)
            continue; /* messages without figures count only if no other line reported a kill */
        killed_say(state, &row, log_forms[form].name, &victim);
        if (state->host_limit != 0)
            log_know_first(&row, NOTE_HOST_LIMIT, state->host_limit);
    }
    bool told = state->kill != 0 || state->signal != 0;
    for (uint32_t form = log_form_of(hits, FORM_SIGNAL, 0); form != LOG_NONE && !taken && !told;
         form = log_form_of(hits, FORM_SIGNAL, form + 1))
        taken = signal_line(state, &log_forms[form], line, &row);
    if (taken)
        kill_add(state, &row);
    return taken;
}

/* "501  40.00  python prepare.py": the kill's row gets the process that holds the most. */
bool log_top_line(struct log_state *state, struct text line) {
    char most[128];
    uint64_t pid, nbytes;
    uint32_t next, end;
    if (state->top_until <= state->line || (next = log_count(line, log_skip(line, 0), &pid)) == LOG_NONE ||
        (end = log_size(line, log_skip(line, next), GIB, &nbytes)) == LOG_NONE)
        return false;
    if (log_number(&state->kill_row, NOTE_HOST_MOST) >= nbytes)
        return true;
    struct text command = text_from(line, log_skip(line, end));
    (void)snprintf(most, sizeof most, "pid %" PRIu64 " (%.*s)", pid,
                   (int)(command.nbytes < 80 ? command.nbytes : 80), (const char *)command.at);
    log_know(&state->kill_row, NOTE_HOST_MOST, nbytes);
    log_know_text(&state->kill_row, NOTE_HOST_MOST, log_string(state, word_text(most)));
    log_put(state, state->kill - 1, &state->kill_row);
    return true;
}
