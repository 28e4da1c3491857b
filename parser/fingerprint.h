/*
 * Tells one sequence of bytes from another: XXH3-128 with seed 0, as text "xxh128:" and 32 hexadecimal digits, the
 * same digits that `xxhsum -H2` prints. It identifies a file, but does not prove that nobody made another one with
 * the same fingerprint.
 */
#pragma once

#include <stddef.h>

enum { FINGERPRINT_CHARACTERS = 7 + 32 };

struct fingerprint;

/* The fingerprint of no bytes yet. NULL: no memory. */
struct fingerprint *fingerprint_new(void);

/* Adds bytes. O(nbytes). */
void fingerprint_add(struct fingerprint *fingerprint, const void *bytes, size_t nbytes);

/* Writes the fingerprint of all bytes so far, with a terminator. */
void fingerprint_text(const struct fingerprint *fingerprint, char text[FINGERPRINT_CHARACTERS + 1]);

/* `fingerprint` may be NULL. */
void fingerprint_free(struct fingerprint *fingerprint);
