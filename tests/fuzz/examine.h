/*
 * What every fuzz target does with its bytes. Each function returns only if everything that trace/trace.h, the layout
 * and the renderers promise holds for this input; otherwise it says what does not, and aborts.
 */
#ifndef STRATA_TESTS_FUZZ_EXAMINE_H
#define STRATA_TESTS_FUZZ_EXAMINE_H

#include "trace/trace.h"

#include <stddef.h>
#include <stdint.h>

/* A recording takes this much at most, and so does what is made of it: no input brings the machine down. */
enum { FUZZ_TRACE_NBYTES = 256 << 20, FUZZ_LAYOUT_NBYTES = 64 << 20 };

/* Memory from the C library. */
extern const struct arena_host fuzz_host;

/* Reads a recording of any kind, in one block and again in small ones, which must give the same answer, and examines
 * what was read. */
void examine_recording(const uint8_t *bytes, size_t nbytes);

/* Reads a payload, however its pieces were broken, and examines what was read. */
void examine_payload(const uint8_t *bytes, size_t nbytes);

/* Looks at a trace in every way that the program and the page have: invariants, curves, windows, pixels, points,
 * groups, the report, and the payload there and back. */
void examine_trace(const struct trace *trace);

#endif
