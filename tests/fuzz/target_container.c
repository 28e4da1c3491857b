/* Containers of recordings: gzip, zip and pages, also pages that Strata wrote. */
#include "tests/fuzz/examine.h"
#include "tests/fuzz/target.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes) {
    examine_recording(bytes, nbytes);
    return 0;
}
