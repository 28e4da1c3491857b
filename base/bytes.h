/* Byte copying for code that is compiled without a C library (see docs/architecture.md). */
#pragma once

#include <stddef.h>
#include <stdint.h>

static inline void bytes_copy(void *to, const void *from, size_t nbytes) {
    if (nbytes != 0)
        __builtin_memcpy(to, from, nbytes);
}

static inline void bytes_move(void *to, const void *from, size_t nbytes) {
    if (nbytes != 0)
        __builtin_memmove(to, from, nbytes);
}

static inline void bytes_zero(void *to, size_t nbytes) {
    if (nbytes != 0)
        __builtin_memset(to, 0, nbytes);
}

static inline void bytes_fill(void *to, uint8_t byte, size_t nbytes) {
    if (nbytes != 0)
        __builtin_memset(to, byte, nbytes);
}
