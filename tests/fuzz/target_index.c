/* Sidecars that another program may have written, and the index of them. Files are divided by "%%\n". */
#include "cli/batch/batch_join.h"
#include "cli/batch/batch_names.h"
#include "cli/batch/batch_sidecar.h"
#include "render/index/index.h"
#include "tests/fuzz/examine.h"
#include "tests/fuzz/program.h"
#include "tests/fuzz/target.h"

#include <stdio.h>
#include <string.h>

enum { MOST_FILES = 12, MEMORY_NBYTES = 1 << 30 };

static void sidecar_take(struct index *index, struct batch *batch, unsigned number, const uint8_t *bytes,
                         size_t nbytes) {
    char name[64];
    struct sidecar sidecar;
    (void)snprintf(name, sizeof name, "rank%u.strata.json", number);
    program_write(name, bytes, nbytes);
    (void)snprintf(name, sizeof name, "rank%u", number);
    if (sidecar_read(&sidecar, batch, name) == SIDECAR_READ)
        EXAMINE_CHECK(index_add_row(index, &sidecar.row));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes) {
    static const struct settings settings = {.export_kind = EXPORT_KINDS};
    struct batch batch = {.settings = &settings, .directory = ".", .shard = 1, .n_shards = 1};
    struct rank_pattern pattern;
    arena_init(&batch.arena, fuzz_host, MEMORY_NBYTES);
    EXAMINE_CHECK(rank_pattern_init(&pattern, NULL));
    batch.pattern = &pattern;
    struct index index = {.arena = &batch.arena};
    program_enter();
    for (unsigned number = 0; number < MOST_FILES && nbytes != 0; number++) {
        const uint8_t *mark = memmem(bytes, nbytes, "%%\n", 3);
        size_t part_nbytes = mark != NULL ? (size_t)(mark - bytes) : nbytes;
        sidecar_take(&index, &batch, number, bytes, part_nbytes);
        size_t used = mark != NULL ? part_nbytes + 3 : part_nbytes;
        bytes += used;
        nbytes -= used;
    }
    join_analyse(&index, &batch);
    struct buffer page = {.host = fuzz_host}, summary = {.host = fuzz_host};
    EXAMINE_CHECK(index_html(&page, &index) && index_json(&summary, &index));
    buffer_release(&page);
    buffer_release(&summary);
    program_leave();
    rank_pattern_release(&pattern);
    arena_release(&batch.arena);
    return 0;
}
