#include "parser/fingerprint_wide.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

struct fingerprint *fingerprint_new(void) {
    XXH3_state_t *state = XXH3_createState();
    if (state != NULL)
        XXH3_128bits_reset(state);
    return (struct fingerprint *)state;
}

void fingerprint_add(struct fingerprint *fingerprint, const void *bytes, size_t nbytes) {
    if (nbytes == 0)
        return;
#ifdef STRATA_AVX2
    if (__builtin_cpu_supports("avx2")) {
        fingerprint_add_wide(fingerprint, bytes, nbytes);
        return;
    }
#endif
    XXH3_128bits_update((XXH3_state_t *)fingerprint, bytes, nbytes);
}

void fingerprint_text(const struct fingerprint *fingerprint, char text[FINGERPRINT_CHARACTERS + 1]) {
    static const char digits[] = "0123456789abcdef", kind[] = "xxh128:";
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest((const XXH3_state_t *)fingerprint));
    memcpy(text, kind, sizeof kind);
    text += sizeof kind - 1;
    for (size_t i = 0; i < sizeof canonical.digest; i++) {
        *text++ = digits[canonical.digest[i] >> 4];
        *text++ = digits[canonical.digest[i] & 15];
    }
    *text = '\0';
}

void fingerprint_free(struct fingerprint *fingerprint) {
    XXH3_freeState((XXH3_state_t *)fingerprint);
}
