/* `strata plan` of a recipe: bytes that choose the question, the memory and the other recording | the recipe. */
#include "tests/fuzz/program.h"
#include "tests/fuzz/recipe.h"
#include "tests/fuzz/target.h"

#include <stdio.h>

static const char *const budgets[] = {"1MiB", "2MiB", "20MiB", "64MiB", "256MiB", "1GiB", "80GiB", "8EiB"};
static const char *const words[] = {"--set=expandable_segments:True",
                                    "--set=max_split_size_mb:64",
                                    "--without=fused",
                                    "--without=checkpoint,findings",
                                    "--keep=0",
                                    "--keep=30%",
                                    "--without=expandable_segments,offload",
                                    "--keep=3MiB",
                                    "--without=max_split_size_mb,roundup_power2_divisions",
                                    "--without=garbage_collection_threshold,eight_bit",
                                    "--device=0",
                                    "--theme=dark"};
enum { N_BUDGETS = sizeof budgets / sizeof *budgets, N_WORDS = sizeof words / sizeof *words };
enum { JSON = 1, MARKDOWN = 2, BUDGET = 4, TOGETHER = 8, PAGE = 64, OTHER = 128 };

/* Writes a number of MiB, or one of the usual sizes. */
static void budget_say(char *text, size_t nbytes, const uint8_t **bytes, size_t *left) {
    uint8_t high = recipe_u8(bytes, left), low = recipe_u8(bytes, left);
    if (high >= 0xf8)
        (void)snprintf(text, nbytes, "--gpu=%s", budgets[low % N_BUDGETS]);
    else
        (void)snprintf(text, nbytes, "--gpu=%uMiB", (unsigned)(high << 8 | low));
}

static void words_add(struct program_words *own, uint8_t how, uint8_t more) {
    program_word(own, how & JSON ? "--json" : how & MARKDOWN ? "--markdown" : "--verbose");
    if (how & PAGE)
        program_word(own, "-oplan.html");
    for (uint8_t i = 0; i < more % 4; i++)
        program_word(own, words[((more >> 2) + i) % N_WORDS]);
    program_word(own, "in");
    if (how & TOGETHER)
        program_word(own, "small");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes) {
    struct program_words own = {0};
    char budget[32];
    uint8_t how = recipe_u8(&bytes, &nbytes), more = recipe_u8(&bytes, &nbytes);
    budget_say(budget, sizeof budget, &bytes, &nbytes);
    const uint8_t sample[] = {RECIPE_SAMPLE, recipe_u8(&bytes, &nbytes), 0};
    program_word(&own, "strata");
    program_word(&own, "plan");
    if (how & BUDGET)
        program_word(&own, budget);
    words_add(&own, how, more);
    program_enter();
    program_write_recipe("in", bytes, nbytes);
    if (how & OTHER)
        program_write_recipe("small", sample, sizeof sample);
    else
        program_write_recipe("small", bytes, nbytes / 2);
    program_run_words(&own);
    program_leave();
    return 0;
}
