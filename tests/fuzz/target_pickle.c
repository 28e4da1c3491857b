/* A pickle with any content. */
#include "tests/fuzz/examine.h"
#include "tests/fuzz/target.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes) {
    examine_recording(bytes, nbytes);
    return 0;
}
