/*
 * Makes a snapshot by a recipe. Any bytes give a well-formed pickle of a memory snapshot with arbitrary content: sizes
 * around 2^31, 2^32, 2^62 and 2^64, times that run backwards, addresses that wrap, frees without an allocation. So each
 * mutation of a recipe passes the reader and tests what comes after it.
 *
 *     a byte: the number of devices and the optional parts | segments, annotations, settings | records, one event each
 *
 * A recipe may instead name one of the project's samples and changes to it (tests/fuzz/recipe_sample.c).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Returns a pickle of `*made_nbytes` bytes, to be freed. */
uint8_t *recipe_make(const uint8_t *bytes, size_t nbytes, size_t *made_nbytes);

/* The same for a sample with changes; recipe_make calls this if the first byte is RECIPE_SAMPLE. */
enum { RECIPE_SAMPLE = 255 };
uint8_t *recipe_make_sample(const uint8_t *bytes, size_t nbytes, size_t *made_nbytes);

/* The same for a profiler's trace: JSON with calls, samples of memory, and numbers that are not valid. */
uint8_t *recipe_make_kineto(const uint8_t *bytes, size_t nbytes, size_t *made_nbytes);

/* The next number of an input, taken from its front; 0 at its end. */
uint8_t recipe_u8(const uint8_t **bytes, size_t *nbytes);
