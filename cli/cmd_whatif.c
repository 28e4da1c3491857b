/* strata whatif: scenarios are solved by threads, one each, that share the recording and nothing else. */
#include "analysis/whatif.h"
#include "cli/exit_code.h"
#include "cli/memory.h"
#include "cli/output.h"
#include "cli/recording.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "render/report/report_whatif.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { MOST_THREADS = WHATIF_SCENARIOS_MAX };

/* What the threads share. */
struct solving {
    struct whatif *whatif;
    size_t limit_nbytes; /* of each thread */
    atomic_uint next;    /* scenario */
    atomic_bool failed;
};

static void *solving_thread(void *context) {
    struct solving *solving = context;
    struct arena arena;
    arena_init(&arena, memory_host(), solving->limit_nbytes);
    for (;;) {
        unsigned index = atomic_fetch_add(&solving->next, 1);
        if (index >= solving->whatif->n_scenarios || atomic_load(&solving->failed))
            break;
        if (!whatif_solve(solving->whatif, index, &arena))
            atomic_store(&solving->failed, true);
        arena_release(&arena);
    }
    arena_release(&arena);
    return NULL;
}

static unsigned threads_wanted(const struct whatif *whatif) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned wanted = cores > 1 ? (unsigned)cores : 1;
    wanted = wanted < whatif->n_scenarios ? wanted : whatif->n_scenarios;
    return wanted < MOST_THREADS ? wanted : MOST_THREADS;
}

static size_t memory_left(const struct arena *scratch) {
    return scratch->limit_nbytes - scratch->used_nbytes;
}

/* This thread works as well, so that it goes on where no other can be started. */
static bool scenarios_solve(struct whatif *whatif, const struct arena *scratch) {
    unsigned wanted = threads_wanted(whatif), started = 0;
    pthread_t thread[MOST_THREADS];
    struct solving solving = {.whatif = whatif, .limit_nbytes = memory_left(scratch) / (wanted + 1)};
    while (started + 1 < wanted && pthread_create(&thread[started], NULL, solving_thread, &solving) == 0)
        started++;
    (void)solving_thread(&solving);
    while (started > 0)
        pthread_join(thread[--started], NULL);
    whatif_finish(whatif);
    return !atomic_load(&solving.failed);
}

static bool device_solve(struct whatif *whatif, struct program *program, const struct recording *recording,
                         uint32_t index, const struct settings *settings, struct arena *scratch) {
    struct whatif_request request = {.gpu_bytes = settings->gpu_bytes,
                                     .find_smallest = settings->find_budget,
                                     .set = settings->set,
                                     .n_set = settings->n_set};
    const struct trace *trace = &recording->trace;
    return program_init(program, trace, &trace->devices[index], scratch) &&
           whatif_init(whatif, program, &request, scratch) && scenarios_solve(whatif, scratch);
}

/* All devices, or the one that is asked for. */
static bool devices_solve(struct whatif_report *report, const struct recording *recording,
                          const struct settings *settings, struct arena *scratch) {
    const struct trace *trace = &recording->trace;
    struct whatif *device = arena_alloc(scratch, (trace->n_devices + (size_t)1) * sizeof *device);
    struct program *program = arena_alloc(scratch, (trace->n_devices + (size_t)1) * sizeof *program);
    if (device == NULL || program == NULL)
        return false;
    report->device = device;
    for (uint32_t i = 0; i < trace->n_devices; i++) {
        if (settings->has_device && settings->device != trace->devices[i].ordinal)
            continue;
        uint32_t nth = report->n_devices++;
        if (!device_solve(&device[nth], &program[nth], recording, i, settings, scratch))
            return false;
    }
    return true;
}

static bool whatif_build(struct buffer *out, const struct recording *recording,
                         const struct settings *settings, struct arena *scratch) {
    struct whatif_report report = {
        .format = settings->format, .file = recording->input.name, .fingerprint = recording->fingerprint};
    if (devices_solve(&report, recording, settings, scratch) && whatif_report_write(out, &report, scratch))
        return true;
    recording_print_no_memory(recording, scratch->limit_hit);
    return false;
}

static int whatif_write(struct recording *recording, const struct settings *settings,
                        const struct output *output) {
    if (!recording_read(recording, settings))
        return EXIT_CODE_FAILED;
    if (!recording_check_device(recording, settings))
        return EXIT_CODE_USAGE;
    struct arena scratch;
    recording_scratch(recording, &scratch);
    struct buffer out = {.host = arena_share(&scratch)};
    bool done =
        whatif_build(&out, recording, settings, &scratch) && output_write(output, out.bytes, out.nbytes);
    buffer_release(&out);
    arena_release(&scratch);
    return done ? EXIT_CODE_DONE : EXIT_CODE_FAILED;
}

static const char *whatif_ending(enum report_format format) {
    static const char *const endings[] = {
        [REPORT_TEXT] = ".whatif.txt", [REPORT_JSON] = ".whatif.json", [REPORT_MARKDOWN] = ".whatif.md"};
    return endings[format];
}

static int whatif_main(const struct settings *settings) {
    struct recording recording;
    struct output output;
    struct output_request request = {settings->output != NULL ? settings->output : "-",
                                     whatif_ending(settings->format), settings->force, false};
    if (settings->two_formats) {
        terminal_error(NULL, "whatif: --json and --markdown are two formats; ask for one at a time");
        return EXIT_CODE_USAGE;
    }
    if (!recording_open(&recording, settings))
        return EXIT_CODE_FAILED;
    int code = EXIT_CODE_FAILED;
    if (output_choose(&output, &request, &recording.input)) {
        code = whatif_write(&recording, settings, &output);
        output_release(&output);
    }
    recording_release(&recording);
    return code;
}

const struct verb verb_whatif = {
    .name = "whatif",
    .bit = VERB_WHATIF,
    .summary = "the recorded requests under other settings of the allocator",
    .about =
        "Replays the recorded requests through a model of PyTorch's caching allocator, under other "
        "settings:\n"
        "how much would have been reserved, and would it have fitted. docs/whatif.md explains the figures.\n",
    .examples =
        "  strata whatif snapshot.pickle\n"
        "  strata whatif --set expandable_segments=True --set roundup_power2_divisions=8 snapshot.pickle\n"
        "  strata whatif --gpu 80GiB --budget oom.pickle\n",
    .run = whatif_main,
};
