/* strata plan for several recordings: finds one setting for all of them. Each recording is read, replayed and released
 * again. */
#include "cli/plan_together.h"

#include "cli/exit_code.h"
#include "cli/memory.h"
#include "cli/output.h"
#include "cli/planning.h"
#include "cli/recording.h"
#include "cli/terminal.h"
#include "cli/whatif.h"
#include "render/report/report_plan.h"

#include <string.h>

/* Adds a device's need under each scenario; scenarios that not all devices have are dropped. */
static void scenarios_add(struct plan_together *together, const struct whatif *whatif) {
    uint32_t n = 0;
    for (uint32_t i = 0; together->n_devices == 0 && i < whatif->n_scenarios; i++) {
        struct plan_candidate *candidate = &together->candidate[together->n_candidates++];
        *candidate = (struct plan_candidate){.known = true, .served = true};
        memcpy(candidate->name, whatif->scenario[i].name, sizeof candidate->name);
    }
    for (uint32_t i = 0; i < together->n_candidates; i++) {
        struct plan_candidate candidate = together->candidate[i];
        for (uint32_t k = 0; k < whatif->n_scenarios; k++) {
            const struct whatif_scenario *one = &whatif->scenario[k];
            if (strcmp(one->name, candidate.name) != 0)
                continue;
            if (one->peak_max_bytes > candidate.peak_bytes)
                candidate.peak_bytes = one->peak_max_bytes;
            candidate.known &= one->budgeted;
            candidate.served &= !one->oom.happened;
            together->candidate[n++] = candidate;
            break;
        }
    }
    together->n_candidates = n;
    together->n_devices++;
}

static bool device_add(struct plan_together *together, const struct recording *recording, uint32_t index,
                       const struct settings *settings, struct arena *scratch) {
    const struct trace *trace = &recording->trace;
    struct whatif_request request = {.gpu_bytes = planning_budget(settings), .leave_packing = true};
    struct program program;
    struct whatif *whatif = arena_alloc(scratch, sizeof *whatif);
    if (whatif == NULL || !program_init(&program, trace, &trace->devices[index], scratch) ||
        !whatif_init(whatif, &program, &request, scratch) || !scenarios_solve(whatif, scratch))
        return false;
    if (whatif->replay.grade == REPLAY_REFUSED)
        terminal_note(recording->input.shown, "device %d is left out: %s", (int)trace->devices[index].ordinal,
                      whatif->replay.reason);
    else
        scenarios_add(together, whatif);
    return true;
}

static bool recording_add(struct plan_together *together, const struct recording *recording,
                          const struct settings *settings) {
    const struct trace *trace = &recording->trace;
    bool done = true;
    for (uint32_t i = 0; done && i < trace->n_devices; i++) {
        struct arena scratch;
        if (settings->has_device && settings->device != trace->devices[i].ordinal)
            continue;
        recording_scratch(recording, &scratch);
        done = device_add(together, recording, i, settings, &scratch);
        if (!done)
            recording_print_no_memory(recording, scratch.limit_hit);
        arena_release(&scratch);
    }
    return done;
}

static bool input_add(struct plan_together *together, const struct settings *settings, uint32_t nth) {
    struct settings own = *settings;
    struct recording recording;
    own.input = settings->inputs[nth];
    if (!recording_open(&recording, &own))
        return false;
    bool done = recording_read(&recording, &own) && recording_add(together, &recording, settings);
    if (done && nth == 0)
        memcpy(together->fingerprint, recording.fingerprint, sizeof together->fingerprint);
    recording_release(&recording);
    return done;
}

static int together_write(const struct plan_together *together, const struct settings *settings,
                          const struct output *output) {
    struct arena scratch;
    struct output_stream stream;
    arena_init(&scratch, memory_host(), SIZE_MAX); /* some KB */
    struct buffer out = {.host = arena_share(&scratch)};
    output_stream(&stream, output, &out);
    bool done = plan_together_write(&out, together, settings->format, &scratch);
    int code = output_end(&stream, done ? EXIT_CODE_DONE : EXIT_CODE_FAILED);
    if (!done && !out.refused)
        terminal_error(NULL, "no memory");
    buffer_release(&out);
    arena_release(&scratch);
    return code;
}

int plan_together_main(const struct settings *settings, const char *ending) {
    struct plan_together together = {.file = (const char *const *)settings->inputs,
                                     .n_files = settings->n_inputs,
                                     .budget_bytes = planning_budget(settings)};
    struct output_request request = {settings->output != NULL ? settings->output : "-", ending,
                                     settings->force, false};
    struct recording first;
    struct output output;
    int code = EXIT_CODE_FAILED;
    if (!recording_open(&first, settings))
        return code;
    if (output_choose(&output, &request, &first.input)) {
        bool spared = true, done = true;
        for (uint32_t i = 1; spared && i < settings->n_inputs; i++)
            spared = output_spares_path(&output, settings->inputs[i]);
        for (uint32_t i = 0; spared && done && i < settings->n_inputs; i++)
            done = input_add(&together, settings, i);
        if (spared && done)
            code = together_write(&together, settings, &output);
        output_release(&output);
    }
    recording_release(&first);
    return code;
}
