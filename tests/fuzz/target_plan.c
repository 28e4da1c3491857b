/* `strata plan` of a recipe: bytes that choose what is asked | the recipe. */
#include "tests/fuzz/program.h"
#include "tests/fuzz/recipe.h"
#include "tests/fuzz/target.h"

#include <stdlib.h>

static const char *const budgets[] = {"--gpu=1MiB",   "--gpu=2MiB", "--gpu=20MiB", "--gpu=64MiB",
                                      "--gpu=256MiB", "--gpu=1GiB", "--gpu=80GiB", "--gpu=8EiB"};
static const char *const words[] = {"--ranks=2",
                                    "--ranks=1000000",
                                    "--without=fused",
                                    "--without=checkpoint,findings",
                                    "--keep=0",
                                    "--keep=30%",
                                    "--without=expandable_segments,offload",
                                    "--keep=3MiB"};
enum { N_BUDGETS = sizeof budgets / sizeof *budgets, N_WORDS = sizeof words / sizeof *words };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes) {
    struct program_words own = {0};
    uint8_t how = recipe_u8(&bytes, &nbytes), more = recipe_u8(&bytes, &nbytes);
    size_t made_nbytes;
    program_word(&own, "strata");
    program_word(&own, "plan");
    program_word(&own, how & 1 ? "--json" : how & 2 ? "--markdown" : "--verbose");
    if (how & 4)
        program_word(&own, budgets[(how >> 4) % N_BUDGETS]);
    for (uint8_t i = 0; i < more % 4; i++)
        program_word(&own, words[(more >> 2) % N_WORDS + i < N_WORDS ? (more >> 2) % N_WORDS + i : 0]);
    program_word(&own, "in");
    if (how & 8)
        program_word(&own, "small");
    program_enter();
    uint8_t *made = recipe_make(bytes, nbytes, &made_nbytes);
    program_write("in", made, made_nbytes);
    free(made);
    made = recipe_make(bytes, nbytes / 2, &made_nbytes);
    program_write("small", made, made_nbytes);
    free(made);
    program_run_words(&own);
    program_leave();
    return 0;
}
