/* NAME.strata.json: the report of a file (schema 3) and, as "batch", the data for the index and for --resume. It is
 * put in place after the file's other outputs, so if it exists, they are complete. docs/cluster.md describes it. */
#pragma once

#include "analysis/compare/index.h"
#include "base/buffer.h"
#include "cli/batch/batch.h"
#include "cli/json_file.h"
#include "cli/recording.h"

/* Appends the sidecar; `device` is an index into trace.devices, `scratch` as for report_build. False: printed. */
bool sidecar_build(struct buffer *out, const struct recording *recording, const struct batch *batch,
                   const struct batch_file *file, uint32_t device, struct arena *scratch);

enum { SIDECAR_SCHEMA = 3 /* that of the report; others are converted again */ };

/* Reads a number of bytes or of anything else. A sidecar may hold anything: what is no number counts as 0. The bound
 * keeps sums and differences of a few numbers within 64 bits. */
static inline uint64_t sidecar_bytes(const cJSON *item) {
    return (uint64_t)json_file_bounded(item, 0, INT64_C(1) << 60);
}

struct sidecar {
    struct index_row row;
    int64_t rank; /* the rank that the path tells; the row's own may come from a log's lines */
    int64_t mtime_ns;
    const char *flags, *version; /* "": none */
    struct json_fault fault;     /* why the file is no JSON; also after SIDECAR_NONE */
};

enum sidecar_result {
    SIDECAR_READ,
    SIDECAR_NONE,      /* not there, or not of a batch */
    SIDECAR_UNREADABLE /* there, and the system does not let it be read */
};

/* Reads NAME.strata.json in the batch's directory. Nothing is printed. */
enum sidecar_result sidecar_read(struct sidecar *sidecar, struct batch *batch, const char *name);

/* Does the file have its page, picture and export, as far as they are wanted? */
bool sidecar_has_outputs(struct batch *batch, const struct batch_file *file);

/* Do the file's outputs exist, made of the file as it is now and with these options? If so, sets file->row. */
bool sidecar_is_current(struct batch *batch, struct batch_file *file);
