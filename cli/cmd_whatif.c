/* strata whatif: each scenario is solved by a thread; the threads share only the recording. */
#include "analysis/model/whatif.h"
#include "cli/convert.h"
#include "cli/ending.h"
#include "cli/exit_code.h"
#include "cli/memory.h"
#include "cli/output.h"
#include "cli/recording.h"
#include "cli/render.h"
#include "cli/terminal.h"
#include "cli/thread.h"
#include "cli/whatif.h"
#include "render/png/whatif_chart.h"
#include "render/report/report_whatif.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_THREADS = WHATIF_SCENARIOS_MAX };

/* Shared by the threads. */
struct solving {
    struct whatif *whatif;
    size_t limit_nbytes; /* the limit for each thread */
    atomic_uint next;    /* number of the next scenario to solve */
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

/* This thread works too, so that it continues if no other can be started. */
bool scenarios_solve(struct whatif *whatif, const struct arena *scratch) {
    unsigned wanted = threads_wanted(whatif), started = 0;
    pthread_t thread[MOST_THREADS];
    struct solving solving = {.whatif = whatif, .limit_nbytes = memory_left(scratch) / (wanted + 1)};
    memory_keep();
    while (started + 1 < wanted && thread_begin(&thread[started], solving_thread, &solving))
        started++;
    (void)solving_thread(&solving);
    while (started > 0)
        pthread_join(thread[--started], NULL);
    whatif_finish(whatif);
    return !atomic_load(&solving.failed);
}

bool device_solve(struct whatif *whatif, struct program *program, const struct trace *trace, uint32_t device,
                  const struct whatif_request *request, struct arena *scratch) {
    return program_init(program, trace, &trace->devices[device], scratch) &&
           whatif_init(whatif, program, request, scratch) && scenarios_solve(whatif, scratch);
}

struct whatif_request whatif_request_of(const struct settings *settings) {
    return (struct whatif_request){.gpu_bytes = settings->gpu_bytes,
                                   .find_smallest = settings->find_budget,
                                   .set = settings->set,
                                   .n_set = settings->n_set};
}

static uint32_t device_index(const struct trace *trace, const struct whatif *whatif) {
    return (uint32_t)(whatif->program->device - trace->devices);
}

/* Finds the report's verdicts, if a request failed for good. False: no memory. */
static bool verdicts_find(const struct verdicts **verdicts, const struct whatif *whatif,
                          const struct recording *recording, struct arena *scratch) {
    struct timeline *timeline = NULL;
    struct verdicts *found = NULL;
    *verdicts = NULL;
    if (!whatif->lack.known)
        return true;
    timeline = arena_alloc(scratch, sizeof *timeline);
    found = arena_alloc(scratch, sizeof *found);
    if (timeline == NULL || found == NULL ||
        !timeline_init(timeline, &recording->trace, device_index(&recording->trace, whatif), scratch) ||
        !verdicts_init(found, timeline, scratch))
        return false;
    *verdicts = found;
    return true;
}

/* Solves all devices, or the requested one. */
static bool devices_solve(struct whatif_report *report, const struct recording *recording,
                          const struct settings *settings, struct arena *scratch) {
    const struct trace *trace = &recording->trace;
    const struct whatif_request request = whatif_request_of(settings);
    size_t n_most = trace->n_devices + (size_t)1;
    struct whatif *device = arena_alloc(scratch, n_most * sizeof *device);
    struct program *program = arena_alloc(scratch, n_most * sizeof *program);
    const struct verdicts **verdicts = arena_alloc(scratch, n_most * sizeof *verdicts);
    if (device == NULL || program == NULL || verdicts == NULL)
        return false;
    report->device = device;
    report->verdicts = verdicts;
    for (uint32_t i = 0; i < trace->n_devices; i++) {
        if (settings->has_device && settings->device != trace->devices[i].ordinal)
            continue;
        uint32_t nth = report->n_devices++;
        if (!device_solve(&device[nth], &program[nth], trace, i, &request, scratch) ||
            !whatif_lack_find(&device[nth], scratch) ||
            !verdicts_find(&verdicts[nth], &device[nth], recording, scratch))
            return false;
    }
    return true;
}

int drawing_make(struct buffer *out, const struct drawing *drawing, const struct settings *settings,
                 struct arena *scratch) {
    struct timeline timeline;
    const struct picture_options options = picture_options_of(settings, drawing->file, drawing->fingerprint);
    enum chart_error error = CHART_NO_MEMORY;
    if (timeline_init(&timeline, drawing->trace, drawing->index, scratch))
        error = whatif_chart_png(out, drawing->whatif, &timeline, drawing->extrapolated, &options, scratch);
    if (error == CHART_OK)
        return EXIT_CODE_DONE;
    if (error == CHART_NO_MEMORY && !out->refused)
        recording_print_no_memory(drawing->recording, scratch->limit_hit);
    return picture_print_error(drawing->recording->input.shown, error, settings);
}

static struct drawing drawing_of(const struct recording *recording, const struct whatif *whatif,
                                 uint32_t index) {
    return (struct drawing){.recording = recording,
                            .trace = &recording->trace,
                            .index = index,
                            .whatif = whatif,
                            .file = recording->input.name,
                            .fingerprint = recording->fingerprint};
}

/* Draws the device that a picture of the recording would show. Returns an enum exit_code. */
static int picture_build(struct buffer *out, const struct recording *recording,
                         const struct settings *settings, struct arena *scratch) {
    const struct whatif_request request = whatif_request_of(settings);
    struct whatif *whatif = arena_alloc(scratch, sizeof *whatif);
    struct program program;
    uint32_t index;
    int code;
    if (!recording_choose_device(recording, settings, &index, &code))
        return code;
    if (whatif == NULL || !device_solve(whatif, &program, &recording->trace, index, &request, scratch))
        return recording_print_no_memory(recording, scratch->limit_hit);
    struct drawing drawing = drawing_of(recording, whatif, index);
    return drawing_make(out, &drawing, settings, scratch);
}

/* Writes the answer as text. Returns an enum exit_code. */
static int words_build(struct buffer *out, const struct recording *recording, const struct settings *settings,
                       struct arena *scratch) {
    struct whatif_report report = {.format = settings->format,
                                   .look = terminal_look(settings->output),
                                   .file = recording->input.name,
                                   .fingerprint = recording->fingerprint};
    if (devices_solve(&report, recording, settings, scratch) && whatif_report_write(out, &report, scratch))
        return EXIT_CODE_DONE;
    if (!out->refused)
        recording_print_no_memory(recording, scratch->limit_hit);
    return EXIT_CODE_FAILED;
}

/* Writes the answer in the format that was asked for. Returns an enum exit_code. */
static int whatif_build(struct buffer *out, const struct recording *recording,
                        const struct settings *settings, struct arena *scratch) {
    return ending_kind(settings->output) == ENDING_PICTURE ? picture_build(out, recording, settings, scratch)
                                                           : words_build(out, recording, settings, scratch);
}

static int whatif_main(const struct settings *given) {
    struct settings settings = *given;
    if (!ending_choose("whatif", &settings))
        return EXIT_CODE_USAGE;
    if (settings.extrapolate != NULL)
        return extrapolation_main(&settings);
    return ending_kind(settings.output) == ENDING_PAGE
               ? convert_run(&settings, ".whatif", ".html", page_render_plan)
               : convert_words(&settings, ".whatif", whatif_build);
}

const struct verb verb_whatif = {
    .name = "whatif",
    .bit = VERB_WHATIF,
    .summary = "the recorded requests under other settings of the allocator",
    .about = "Replays the recorded requests through a model of PyTorch's caching allocator, under other "
             "settings:\n"
             "how much would have been reserved, and whether it would have fitted. docs/whatif.md explains "
             "the figures.\n",
    .examples =
        "  strata whatif snapshot.pickle\n"
        "  strata whatif --set expandable_segments=True --set roundup_power2_divisions=8 snapshot.pickle\n"
        "  strata whatif snapshot.pickle -o whatif.png\n"
        "  strata whatif snapshot.pickle -o whatif.html\n"
        "  strata whatif --gpu 80GiB --budget oom.pickle\n",
    .run = whatif_main,
};
