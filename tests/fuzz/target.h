/* The one function that libFuzzer (or tests/fuzz/replay_seeds.c) calls. The name is libFuzzer's. */
#pragma once

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes);
