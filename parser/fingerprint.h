/*
 * What tells one sequence of bytes from another: XXH3-128 with the seed 0, as text "xxh128:" and 32 hexadecimal digits,
 * the same digits as `xxhsum -H2` prints. It recognises a file; it does not prove that nobody made another one with the
 * same fingerprint.
 */
#pragma once

#include <stddef.h>

enum { FINGERPRINT_CHARACTERS = 7 + 32 };

struct fingerprint;

/* Of no bytes yet. NULL: no memory. */
struct fingerprint *fingerprint_new(void);

/* As many bytes more, O(nbytes). */
void fingerprint_add(struct fingerprint *fingerprint, const void *bytes, size_t nbytes);

/* Of all bytes so far, with a terminator. */
void fingerprint_text(const struct fingerprint *fingerprint, char text[FINGERPRINT_CHARACTERS + 1]);

/* `fingerprint` may be NULL. */
void fingerprint_free(struct fingerprint *fingerprint);
