/* The function of fingerprint.c that takes time, for processors with AVX2: CMakeLists.txt compiles this file for
 * them. */
#include "parser/fingerprint_wide.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

void fingerprint_add_wide(struct fingerprint *fingerprint, const void *bytes, size_t nbytes) {
    XXH3_128bits_update((XXH3_state_t *)fingerprint, bytes, nbytes);
}
