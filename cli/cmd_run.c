#include "cli/output.h"
#include "cli/run/ending.h"
#include "cli/terminal.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static int run_run(const struct settings *settings) {
    struct folder folder;
    if (!folder_begin(&folder, settings->output)) { /* printed; the command runs as it does without us */
        output_restore_process();
        execvp(settings->inputs[0], settings->inputs);
        terminal_error(settings->inputs[0], "cannot run: %s", strerror(errno));
        return errno == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUN;
    }
    struct watch watch = {.settings = settings, .folder = &folder};
    int code = watch_run(&watch);
    bool alone = folder_end(&folder, watch.tree.n_ours != 0);
    if (code == 0) {
        bool pages = alone && !settings->run.no_report && ending_pages(&folder);
        if (!settings->quiet)
            ending_print(&watch, pages, !alone);
        code = watch_exit_code(&watch);
    }
    tree_release(&watch.tree);
    return code;
}

const struct verb verb_run = {
    .name = "run",
    .bit = VERB_RUN,
    .operands = "-- COMMAND ARG...",
    .summary = "run a training, record it unchanged, explain how it ended",
    .about = "Runs COMMAND and records the device memory of every Python process below it that\n"
             "uses torch (2.0 and later, Python 3.8 and later): dumps go to DIR when memory\n"
             "runs out, after some optimizer steps, on SIGUSR2 and at the end. Meanwhile it\n"
             "watches the host's memory (DIR/host.log). At the end it says who ran out, or who killed\n"
             "COMMAND, and writes pages and an index. COMMAND's output is unchanged.\n",
    .examples = "  strata run -- python train.py\n"
                "  strata run --out runs/a -- torchrun --nproc-per-node 8 train.py\n"
                "  srun strata run --out runs/b -- python train.py\n",
    .exit_codes = "Exit codes: COMMAND's own, or 128 plus the number of the signal that ended it; "
                  "126 it cannot be run, 127 it does not exist, 2 wrong usage.",
    .run = run_run,
};
