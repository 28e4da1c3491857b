/*
 * The checks that fuzz targets share. Each function returns only if the promises of trace/trace.h, the layout and the
 * renderers hold for its input. Otherwise it prints which one is broken, and aborts.
 */
#pragma once

#include "parser/read.h"

#include <stddef.h>
#include <stdint.h>

/* Limits of a recording and of its layout, so that no input exhausts the machine's memory. */
enum { FUZZ_TRACE_NBYTES = 256 << 20, FUZZ_LAYOUT_NBYTES = 64 << 20 };

/* Memory from the C library. */
extern const struct arena_host fuzz_host;

/* Reads a recording of any kind, in one block and again in small ones, which must give the same answer, and examines
 * what was read. */
void examine_recording(const uint8_t *bytes, size_t nbytes);

/* Reads a recording that a recipe makes (tests/fuzz/recipe.h). False: there is nothing to examine. The trace is to be
 * released in any case. */
bool examine_read_recipe(struct trace *trace, const uint8_t *bytes, size_t nbytes);

/* The payload of the recording that a recipe makes, of `*made_nbytes` bytes, to be freed. Each of the `n_changes`
 * changes, of four bytes, overwrites a byte before the pieces are deflated, so that what reads the payload meets values
 * that no writer makes behind checksums that are right. NULL: there is none. */
uint8_t *examine_recipe_payload(const uint8_t *bytes, size_t nbytes, const uint8_t *changes, size_t n_changes,
                                size_t *made_nbytes);

/* Inflates a piece of a payload into all of `target`, ignoring its checksum, which a fuzzer cannot correct: it would
 * never get past it. False: it is not a stream of `raw_nbytes` bytes. */
bool examine_inflate(const uint8_t *packed, size_t packed_nbytes, uint8_t *target, size_t raw_nbytes);

/* Aborts with a message if the condition does not hold. */
#define EXAMINE_CHECK(condition) examine_check((condition), #condition, __FILE__, __LINE__)
void examine_check(bool holds, const char *condition, const char *file, int line);

/* Reads a recording in one block. False: `error` is set. The trace is to be released in any case. */
bool examine_read(struct trace *trace, const uint8_t *bytes, size_t nbytes, struct read_error *error);

/* Reads a payload, even a broken one, and examines what was read. */
void examine_payload(const uint8_t *bytes, size_t nbytes);

/* Uses a trace in every way that the program and the page do: invariants, curves, windows, pixels, points,
 * groups, the report, and the payload there and back. */
void examine_trace(const struct trace *trace);
