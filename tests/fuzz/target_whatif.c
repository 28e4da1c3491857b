/*
 * `strata whatif` of a recipe: bytes that choose the question | the recipe. The report uses the same replay.
 */
#include "tests/fuzz/program.h"
#include "tests/fuzz/recipe.h"
#include "tests/fuzz/target.h"

static const char *const sets[] = {"--set=expandable_segments=True",
                                   "--set=expandable_segments:False",
                                   "--set=roundup_power2_divisions=8",
                                   "--set=roundup_power2_divisions=[256:1,512:2,>:16]",
                                   "--set=max_split_size_mb=21",
                                   "--set=max_split_size_mb=4294967296",
                                   "--set=garbage_collection_threshold=0.5",
                                   "--set=garbage_collection_threshold=0.999",
                                   "--set=large_segment_size_mb=64",
                                   "--set=max_non_split_rounding_mb=40",
                                   "--set=per_process_memory_fraction=0.25",
                                   "--set=backend=cudaMallocAsync",
                                   "--set=nothing=known",
                                   "--set=roundup_power2_divisions=[]",
                                   "--set=max_split_size_mb=-1",
                                   "--set="};
static const char *const budgets[] = {
    "--gpu=1",    "--gpu=2MiB", "--gpu=20MiB", "--gpu=64MiB",
    "--gpu=1GiB", "--gpu=80GB", "--gpu=8EiB",  "--gpu=99999999999999999999"};
enum { N_SETS = sizeof sets / sizeof *sets, N_BUDGETS = sizeof budgets / sizeof *budgets };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes) {
    struct program_words words = {0};
    uint8_t how = recipe_u8(&bytes, &nbytes), more = recipe_u8(&bytes, &nbytes);
    program_word(&words, "strata");
    program_word(&words, "whatif");
    program_word(&words, how & 1 ? "--json" : how & 2 ? "--markdown" : "--verbose");
    if (more & 4)
        program_word(&words, more & 8 ? "-owhatif.html" : "-owhatif.png");
    if (more & 16)
        program_word(&words, "--theme=dark");
    if (how & 4)
        program_word(&words, "--budget");
    if (how & 8)
        program_word(&words, budgets[(how >> 4) % N_BUDGETS]);
    for (uint8_t i = 0; i < more % 4; i++)
        program_word(&words, sets[recipe_u8(&bytes, &nbytes) % N_SETS]);
    if (how & 128) {
        program_word(&words, "--extrapolate=small=3");
        program_word(&words, "--to=24");
    }
    program_word(&words, how & 128 ? "in=8" : "in");
    program_enter();
    program_write_recipe("in", bytes, nbytes);
    program_write_recipe("small", bytes, nbytes / 2);
    program_run_words(&words);
    program_leave();
    return 0;
}
