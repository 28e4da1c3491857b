#include "cli/batch/batch_pages.h"

#include "cli/batch/batch_names.h"
#include "cli/batch/batch_store.h"
#include "cli/batch/batch_workers.h"
#include "cli/render.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/* ---- which recordings keep a page ---- */

/* Finds the outputs that keep a page: those of the rows that the word "odd" finds in the index, and of the rows that
 * differences are taken against. The ranks of one log share a name. */
static void kept_find(struct name_list *kept, struct batch *batch, const struct index *index) {
    for (uint32_t i = 0; i < index->n_rows; i++)
        if (index->rows[i].finding != NULL)
            name_list_add(kept, batch, index->rows[i].name);
    for (uint32_t i = 0; i < index->n_findings; i++)
        if (index->findings[i].against != INDEX_NOBODY)
            name_list_add(kept, batch, index->rows[index->findings[i].against].name);
    name_list_sort(kept);
}

static bool page_exists(struct batch *batch, const char *name) {
    return access(batch_text(batch, "%s/%s.html", batch->directory, name), R_OK) == 0;
}

/* Makes the pages by converting their files once more. The sidecars are there already, and the same file gives the same
 * bytes. */
static bool pages_convert(const struct name_list *kept, struct batch *batch, int *number) {
    uint32_t n_waiting = 0, n_failed = 0;
    for (uint32_t i = 0; i < batch->count; i++) {
        struct batch_file *file = &batch->files[i];
        bool done = file->state == BATCH_DONE || file->state == BATCH_UP_TO_DATE;
        if (!done || !name_list_has(kept, file->name))
            continue;
        file->odd = true; /* so that a page that is there counts as wanted */
        if (file->state == BATCH_UP_TO_DATE && page_exists(batch, file->name))
            continue;
        file->state = BATCH_WAITING;
        n_waiting++;
    }
    if (n_waiting != 0)
        *number = workers_run(batch);
    for (uint32_t i = 0; i < batch->count; i++)
        n_failed += batch->files[i].odd && batch->files[i].state != BATCH_DONE &&
                    batch->files[i].state != BATCH_UP_TO_DATE;
    batch->incomplete |= n_failed != 0;
    return *number == 0;
}

bool pages_make(struct index *index, struct batch *batch, int *number) {
    uint32_t pages = batch->settings->batch.pages;
    struct name_list kept = {0};
    if (pages == PAGES_ODD)
        kept_find(&kept, batch, index);
    if (pages == PAGES_ODD && !pages_convert(&kept, batch, number))
        return false;
    for (uint32_t i = 0; i < index->n_rows; i++) {
        struct index_row *row = &index->rows[i];
        row->no_page =
            (pages != PAGES_ALL && !name_list_has(&kept, row->name)) || !page_exists(batch, row->name);
    }
    return true;
}

/* ---- differences ---- */

/* A page and its device as an operand of a difference. */
static char *row_operand(struct batch *batch, const struct index_row *row) {
    return batch_text(batch, "%s/%s.html#device=%" PRId64, batch->directory, row->name, row->device);
}

static void diff_make(struct index *index, struct batch *batch, struct index_finding *finding) {
    struct index_row *odd = &index->rows[finding->rows[0]], *median = &index->rows[finding->against];
    struct output_file page;
    if (odd->no_page || median->no_page)
        return;
    const char *a = row_operand(batch, median), *b = row_operand(batch, odd),
               *name = batch_text(batch, "diff-%s-%s.html", odd->name, median->name);
    if (store_begin(&page, batch, name, arena_share(&batch->arena)) &&
        store_end(&page, batch, name, difference_render(&page.out, a, b, batch->settings)))
        odd->diff = finding->diff = name;
    batch->incomplete |= finding->diff == NULL;
}

/* The page that an earlier finding about the same row has already; NULL: none. */
static const char *diff_of_same(const struct index *index, const struct index_finding *finding) {
    for (const struct index_finding *other = index->findings; other < finding; other++)
        if (other->against == finding->against && other->rows[0] == finding->rows[0] && other->diff != NULL)
            return other->diff;
    return NULL;
}

void diffs_write(struct index *index, struct batch *batch) {
    uint32_t made = 0;
    for (uint32_t i = 0; i < index->n_findings; i++) {
        struct index_finding *finding = &index->findings[i];
        if (finding->against == INDEX_NOBODY)
            continue;
        finding->diff = diff_of_same(index, finding);
        if (finding->diff == NULL && made++ < BATCH_DIFFS)
            diff_make(index, batch, finding);
    }
}
