/* Shared by the files of the fingerprint. */
#pragma once

#include "parser/fingerprint.h"

/* As fingerprint_add, if the processor has AVX2; of at least one byte. */
void fingerprint_add_wide(struct fingerprint *fingerprint, const void *bytes, size_t nbytes);
