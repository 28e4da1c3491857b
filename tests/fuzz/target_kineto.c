/* Well-formed traces of a profiler with arbitrary content. */
#include "tests/fuzz/examine.h"
#include "tests/fuzz/recipe.h"
#include "tests/fuzz/target.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes) {
    size_t made_nbytes;
    uint8_t *made = recipe_make_kineto(bytes, nbytes, &made_nbytes);
    examine_recording(made, made_nbytes);
    free(made);
    return 0;
}
