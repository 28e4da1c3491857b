/*
 * `strata diff` of two recipes: two bytes that choose the options | the length and the place of a patch | the patch |
 * the recipe of A. The patched recipe is that of B, so most of B is as in A.
 */
#include "tests/fuzz/program.h"
#include "tests/fuzz/target.h"

#include <stdlib.h>
#include <string.h>

static const char *const forms[] = {"--json",        "--markdown", "--top=0",      "-ochange.png",
                                    "-ochange.json", "--verbose",  "--align=step", "--align=annotation"};
static const char *const pages[] = {NULL,           "-ochange.html",         "-ochange.html", "-odark.html",
                                    "-ochange.png", "--max-html-size=230KB", "--theme=dark",  "-ochange.md"};
static const char *const ends[] = {"b",          "b#step=1",         "b#at=peak", "b#at=3",
                                   "b#device=1", "b#at=99999999999", "b#",        "a"};

static void patched_write(const uint8_t *bytes, size_t nbytes, const uint8_t *patch, size_t patch_nbytes,
                          size_t at) {
    uint8_t *copy = malloc(nbytes + 1);
    if (copy == NULL)
        abort();
    if (nbytes != 0)
        memcpy(copy, bytes, nbytes);
    for (size_t i = 0; i < patch_nbytes && at + i < nbytes; i++)
        copy[at + i] = patch[i];
    program_write_recipe("b", copy, nbytes);
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes) {
    struct program_words words = {0};
    uint8_t how = recipe_u8(&bytes, &nbytes), more = recipe_u8(&bytes, &nbytes);
    size_t patch_nbytes = recipe_u8(&bytes, &nbytes), at = recipe_u8(&bytes, &nbytes) * 8U;
    patch_nbytes = patch_nbytes < nbytes ? patch_nbytes : nbytes;
    program_word(&words, "strata");
    program_word(&words, "diff");
    program_word(&words, "--force");
    program_word(&words, forms[how % 8]);
    program_word(&words, forms[how >> 3 & 7]);
    if (pages[more >> 3 & 7] != NULL)
        program_word(&words, pages[more >> 3 & 7]);
    if (more & 64)
        program_word(&words, "--redact");
    if (more & 128)
        program_word(&words, "--filter=size:>1KiB phase:forward");
    program_word(&words, how & 64 ? "a#step=1" : "a");
    program_word(&words, ends[more % 8]);
    if (how & 128)
        program_word(&words, "a#at=peak");
    program_enter();
    program_write_recipe("a", bytes + patch_nbytes, nbytes - patch_nbytes);
    patched_write(bytes + patch_nbytes, nbytes - patch_nbytes, bytes, patch_nbytes, at);
    program_run_words(&words);
    program_leave();
    return 0;
}
