#include "cli/check/check.h"
#include "cli/exit_code.h"
#include "cli/memory.h"
#include "cli/output.h"
#include "cli/terminal.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- exit code: 2 before 1 before 3 before 0 ---- */

static int worse(int a, int b) {
    static const int order[] = {EXIT_CODE_USAGE, EXIT_CODE_FAILED, EXIT_CODE_BROKEN};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (a == order[i] || b == order[i])
            return order[i];
    return EXIT_CODE_DONE;
}

static bool baseline_replace(const struct check_plan *plan, struct check_file *files, uint32_t n_files) {
    struct output_file file;
    char *real = realpath(plan->baseline, NULL); /* a link stays: its target is replaced */
    output_file_begin(&file, real != NULL ? real : plan->baseline, plan->baseline, (struct arena_host){0});
    free(real);
    baseline_write(&file.out, plan, files, n_files);
    bool done = output_file_end(&file, true);
    for (uint32_t i = 0; done && i < n_files; i++)
        if (files[i].status != CHECK_UNREADABLE && files[i].figures.doubt != NULL)
            terminal_note(files[i].path, "is in the baseline although it is not complete (%s)",
                          files[i].figures.doubt);
    return done;
}

static int files_judge(struct check_files *files, const struct check_plan *plan,
                       const struct settings *settings) {
    int code = EXIT_CODE_DONE;
    for (uint32_t i = 0; i < settings->n_inputs; i++)
        if (!check_input_judge(files, settings->inputs[i], plan, settings))
            code = EXIT_CODE_USAGE;
    check_spread_judge(files);
    for (uint32_t i = 0; i < files->count; i++) {
        check_file_settle(&files->file[i]);
        code = worse(code, files->file[i].status == CHECK_UNREADABLE ? EXIT_CODE_FAILED
                           : files->file[i].status == CHECK_HELD     ? EXIT_CODE_DONE
                                                                     : EXIT_CODE_BROKEN);
    }
    return code;
}

static int check_run(const struct settings *settings) {
    struct check_plan plan;
    struct output_file out;
    uint32_t n_readable = 0;
    int code = check_plan_make(&plan, settings);
    if (code == EXIT_CODE_DONE) {
        struct check_files files = {0};
        code = files_judge(&files, &plan, settings);
        output_file_begin(&out, "-", "standard output", (struct arena_host){0});
        check_write(&out.out, (enum check_format)settings->check.format, files.file, files.count, &plan);
        bool told = output_file_end(&out, true);
        for (uint32_t i = 0; i < files.count; i++)
            n_readable += files.file[i].status != CHECK_UNREADABLE;
        /* A run whose verdict could not be written does not count: the next run is compared with the old figures. */
        if (!told || (plan.update && n_readable != 0 && !baseline_replace(&plan, files.file, files.count)))
            code = worse(code, EXIT_CODE_FAILED);
        for (uint32_t i = 0; i < files.count; i++)
            check_file_release(&files.file[i]);
        free(files.file);
    }
    check_plan_release(&plan);
    return code;
}

const struct verb verb_check = {
    .name = "check",
    .bit = VERB_CHECK,
    .summary = "limits for pipelines: exit 3 when one is broken",
    .operands = "SNAPSHOT...",
    .about = "Tests recordings against rules, such as peak < 75GiB or finding.leak = none, and against a "
             "baseline.\n"
             "Every device is judged, or the one that -d names.\n"
             "An input that cannot be trusted for a rule never passes it. docs/ci.md has examples for "
             "pipelines.\n",
    .examples = "  strata check --rule 'peak < 75GiB' --rule 'oom = none' snapshot.pickle\n"
                "  strata check --config strata.json --format github dumps/*.pickle\n"
                "  strata check --baseline strata.baseline.json --rule 'peak <= baseline + 2%' run.pickle\n"
                "  strata check --baseline strata.baseline.json --update-baseline run.pickle\n",
    .exit_codes = "Exit codes: 0 done, 1 cannot read or write, 2 wrong usage, 3 a rule is broken "
                  "or a recording cannot be trusted for it.",
    .run = check_run,
};
