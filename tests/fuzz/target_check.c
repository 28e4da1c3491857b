/*
 * `strata check`: a byte that chooses the options | rules, one a line | "%%\n" | strata.json | "%%\n" | the recipe. If
 * a baseline is wanted, a first run writes it.
 */
#include "tests/fuzz/program.h"
#include "tests/fuzz/recipe.h"
#include "tests/fuzz/target.h"

#include <stdlib.h>
#include <string.h>

enum { RULES_NBYTES = 2000, MOST_RULES = 12 };

static const char *const formats[] = {"--format=text", "--format=github", "--format=junit", "--format=json"};

/* The part before the next "%%\n"; `bytes` moves past that separator. */
static const uint8_t *part_take(const uint8_t **bytes, size_t *nbytes, size_t *part_nbytes) {
    const uint8_t *part = *bytes, *mark = *nbytes != 0 ? memmem(part, *nbytes, "%%\n", 3) : NULL;
    *part_nbytes = mark != NULL ? (size_t)(mark - part) : *nbytes;
    size_t used = mark != NULL ? *part_nbytes + 3 : *part_nbytes;
    *bytes += used;
    *nbytes -= used;
    return part;
}

static void snapshot_write(const uint8_t *bytes, size_t nbytes) {
    size_t made_nbytes;
    uint8_t *made = recipe_make(bytes, nbytes, &made_nbytes);
    program_write("in", made, made_nbytes);
    free(made);
}

static void check_run(uint8_t how, const char *baseline, char *rules) {
    struct program_words words = {0};
    program_word(&words, "strata");
    program_word(&words, "check");
    program_word(&words, formats[how & 3]);
    program_word(&words, "--config=config");
    if (how & 4)
        program_word(&words, "--skip-steps=1");
    if (how & 8)
        program_word(&words, "--redact=all");
    if (baseline != NULL) {
        program_word(&words, "--baseline=baseline");
        program_word(&words, baseline);
    }
    char *end = NULL, *rule = strtok_r(rules, "\n", &end);
    for (int n = 0; rule != NULL && n < MOST_RULES; rule = strtok_r(NULL, "\n", &end), n++) {
        program_word(&words, "--rule");
        program_word(&words, rule);
    }
    program_word(&words, "in");
    if (how & 16)
        program_word(&words, "in");
    program_run_words(&words);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes) {
    char text[RULES_NBYTES + 1], again[RULES_NBYTES + 1];
    size_t rules_nbytes, config_nbytes;
    uint8_t how = recipe_u8(&bytes, &nbytes);
    const uint8_t *rules = part_take(&bytes, &nbytes, &rules_nbytes);
    const uint8_t *config = part_take(&bytes, &nbytes, &config_nbytes);
    if (rules_nbytes > RULES_NBYTES)
        return -1;
    if (rules_nbytes != 0)
        memcpy(text, rules, rules_nbytes);
    text[rules_nbytes] = '\0';
    memcpy(again, text, rules_nbytes + 1);
    program_enter();
    program_write("config", config_nbytes != 0 ? (const char *)config : "{}",
                  config_nbytes != 0 ? config_nbytes : 2);
    snapshot_write(bytes, nbytes);
    if (how & 32)
        check_run(how, "--update-baseline", again);
    check_run(how, how & 32 ? "--quiet" : NULL, text);
    program_leave();
    return 0;
}
