/* The function that libFuzzer (or tests/fuzz/replay_seeds.c) calls; libFuzzer prescribes its name. */
#pragma once

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes);
