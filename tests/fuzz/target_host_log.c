/* The host's log of strata run (docs/run.md): samples of any size, cut or damaged, mixed with samples of devices and other
 * lines. The reader must find the figures of complete lines. */
#include "tests/fuzz/examine.h"
#include "tests/fuzz/recipe.h"
#include "tests/fuzz/target.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MOST = 400, LINES_MOST = 200 };

struct host_log {
    char text[LINE_MOST * LINES_MOST];
    size_t nbytes;
    uint64_t resident[LINES_MOST];
    uint32_t n_looks;
    bool plain; /* only complete lines */
};

/* A number with any count of digits, because large sizes are what goes wrong. */
static uint64_t number_make(const uint8_t **bytes, size_t *nbytes) {
    uint64_t number = 0;
    for (uint8_t left = recipe_u8(bytes, nbytes) % 8; left > 0; left--)
        number = number << 8 | recipe_u8(bytes, nbytes);
    return number;
}

static void look_add(struct host_log *log, const uint8_t **bytes, size_t *nbytes, uint32_t second,
                     bool cgroup) {
    uint64_t resident = number_make(bytes, nbytes), group = number_make(bytes, nbytes),
             limit = number_make(bytes, nbytes);
    char more[200] = "";
    if (cgroup)
        snprintf(more, sizeof more,
                 " cgroup=%" PRIu64 " cgroup_peak=%" PRIu64 " cgroup_limit=%" PRIu64 " oom_kill=%u", group,
                 group, limit, (unsigned)(limit % 3));
    log->nbytes += (size_t)snprintf(
        log->text + log->nbytes, LINE_MOST,
        "2026-11-23 10:%02u:%02u.%03u strata-host resident=%" PRIu64 " processes=%u%s\n", second / 60 % 60,
        second % 60, second * 7 % 1000, resident, (unsigned)(resident % 300), more);
    log->resident[log->n_looks++] = resident;
}

/* Adds a sample of a device, or a dump; nothing of it is read back. */
static void device_add(struct host_log *log, const uint8_t **bytes, size_t *nbytes) {
    uint8_t gpu = recipe_u8(bytes, nbytes);
    uint64_t used = number_make(bytes, nbytes), total = number_make(bytes, nbytes);
    log->nbytes += (size_t)snprintf(
        log->text + log->nbytes, LINE_MOST,
        gpu > 200 ? "2026-11-23 10:00:00.000 strata-dump rank%u_%" PRIu64 "-%" PRIu64 ".pickle\n"
                  : "2026-11-23 10:00:00.000 strata-device gpu=%u used=%" PRIu64 " total=%" PRIu64 "\n",
        gpu % 9, used, total);
}

/* Adds bytes of the input unchanged. */
static void rubbish_add(struct host_log *log, const uint8_t **bytes, size_t *nbytes) {
    for (uint8_t left = recipe_u8(bytes, nbytes) % 80; left > 0 && *nbytes > 0; left--)
        log->text[log->nbytes++] = (char)recipe_u8(bytes, nbytes);
    log->plain = false;
}

static void log_make(struct host_log *log, const uint8_t *bytes, size_t nbytes) {
    for (uint32_t i = 0; i < LINES_MOST && nbytes > 0; i++) {
        uint8_t what = recipe_u8(&bytes, &nbytes);
        if (what % 8 == 7) {
            rubbish_add(log, &bytes, &nbytes);
            continue;
        }
        if (what % 8 == 5) {
            device_add(log, &bytes, &nbytes);
            continue;
        }
        look_add(log, &bytes, &nbytes, i, what % 2 == 0);
        if (what % 8 == 6) { /* a line that was cut off when the process was killed */
            log->nbytes -= what / 8;
            log->plain = false;
        }
    }
}

/* The trace has the figure of each line, in order. (No machine has 64 TiB, the SIZE_LIMIT of log_text.c.) */
static void looks_check(const struct host_log *log, const struct trace *trace) {
    uint32_t n = 0;
    for (uint32_t d = 0; d < trace->n_devices; d++)
        for (uint32_t i = 0; i < trace->devices[d].n_notes; i++) {
            const struct note *note = &trace->devices[d].notes[i];
            if (note->what != NOTE_HOST_USED)
                continue;
            EXAMINE_CHECK(n < log->n_looks && note->number == log->resident[n]);
            n++;
        }
    EXAMINE_CHECK(n == log->n_looks);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes) {
    struct host_log *log = calloc(1, sizeof *log);
    struct trace trace;
    struct read_error error;
    if (log == NULL)
        abort();
    log->plain = true;
    log_make(log, bytes, nbytes);
    examine_recording((const uint8_t *)log->text, log->nbytes);
    bool sane = true;
    for (uint32_t i = 0; i < log->n_looks; i++)
        sane &= log->resident[i] > 0 && log->resident[i] < UINT64_C(1) << 46;
    if (examine_read(&trace, (const uint8_t *)log->text, log->nbytes, &error) && log->plain && sane)
        looks_check(log, &trace);
    trace_release(&trace);
    free(log);
    return 0;
}
