/* The one function that libFuzzer (or tests/fuzz/replay_seeds.c) calls. The name is libFuzzer's. */
#ifndef STRATA_TESTS_FUZZ_TARGET_H
#define STRATA_TESTS_FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes);

#endif
