#include "cli/batch/batch_join.h"

#include "cli/batch/batch_names.h"
#include "cli/batch/batch_pages.h"
#include "cli/batch/batch_sidecar.h"
#include "cli/batch/batch_store.h"
#include "cli/terminal.h"
#include "render/index/index.h"

static void index_refuse(struct index *index, const struct batch_file *file) {
    struct index_refusal refusal = {file->input, file->reason != NULL ? file->reason : ""};
    if (file->state == BATCH_FAILED)
        index->failed[index->n_failed++] = refusal;
    else
        index->skipped[index->n_skipped++] = refusal;
}

/* Adds the row of a file that is done, from its sidecar. */
static void index_take(struct index *index, struct batch *batch, struct batch_file *file) {
    struct sidecar sidecar;
    if (sidecar_read(&sidecar, batch, file->name) == SIDECAR_READ) {
        batch_need(batch, index_add_row(index, &sidecar.row));
        return;
    }
    file->state = BATCH_FAILED;
    file->reason = "its sidecar is gone or cannot be read";
    terminal_error(file->path, "%s", file->reason);
    index_refuse(index, file);
}

void join_batch(struct index *index, struct batch *batch) {
    *index = (struct index){.arena = &batch->arena,
                            .failed = batch_alloc(batch, batch->count, sizeof *index->failed),
                            .skipped = batch_alloc(batch, batch->count, sizeof *index->skipped)};
    for (uint32_t i = 0; i < batch->count; i++) {
        struct batch_file *file = &batch->files[i];
        if (file->state == BATCH_FAILED || file->state == BATCH_SKIPPED)
            index_refuse(index, file);
        else if (file->row == NULL)
            index_take(index, batch, file);
        else
            batch_need(batch, index_add_row(index, file->row));
    }
}

static bool join_result(const struct index *index, struct batch *batch, const char *name,
                        bool (*render)(struct buffer *out, const struct index *index)) {
    struct output_file file;
    if (!store_begin(&file, batch, name, (struct arena_host){0}))
        return false;
    bool done = render(&file.out, index);
    batch_need(batch, done || file.out.refused);
    return store_end(&file, batch, name, done);
}

/* Reads places of ranks, unless the rows are of logs (which are grouped already). */
static void places_read(struct index *index, const struct batch *batch) {
    for (uint32_t i = 0; i < index->n_rows; i++) {
        struct index_row *row = &index->rows[i];
        names_places(batch->pattern, row->has_allocations ? row->input : "", row->place);
    }
}

/* Everything that the index links to, sorted. */
static struct name_list kept_names(const struct index *index, struct batch *batch) {
    struct name_list kept = {0};
    name_list_add(&kept, batch, "index.html");
    name_list_add(&kept, batch, "summary.json");
    for (uint32_t i = 0; i < index->n_rows; i++) {
        const struct index_row *row = &index->rows[i];
        if (!row->no_page)
            name_list_add(&kept, batch, batch_text(batch, "%s.html", row->name));
        if (row->has_png)
            name_list_add(&kept, batch, batch_text(batch, "%s.png", row->name));
        if (row->diff != NULL)
            name_list_add(&kept, batch, row->diff);
        if (batch_exports(batch))
            name_list_add(
                &kept, batch,
                batch_text(batch, "%s%s", row->name, export_kinds[batch->settings->export_kind].ending));
        name_list_add(&kept, batch, batch_text(batch, "%s.strata.json", row->name));
    }
    name_list_sort(&kept);
    return kept;
}

void join_analyse(struct index *index, struct batch *batch) {
    index_sort(index);
    batch_need(batch, index_mark_copies(index));
    places_read(index, batch);
    batch_need(batch, index_analyse(index) && index_unite_settings(index) && index_choose_medians(index));
}

bool join_write(struct index *index, struct batch *batch, int *number) {
    *number = 0;
    join_analyse(index, batch);
    if (!pages_make(index, batch, number))
        return false;
    diffs_write(index, batch);
    if (!join_result(index, batch, "index.html", index_html) ||
        !join_result(index, batch, "summary.json", index_json))
        return false;
    const struct name_list kept = kept_names(index, batch);
    return store_finish(batch, &kept);
}
