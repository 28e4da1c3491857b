/* What recordings come in: gzip, zip and pages, and Strata's own pages among them. */
#include "tests/fuzz/examine.h"
#include "tests/fuzz/target.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes) {
    examine_recording(bytes, nbytes);
    return 0;
}
