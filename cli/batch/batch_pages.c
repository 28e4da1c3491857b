#include "cli/batch/batch_pages.h"

#include "cli/batch/batch_names.h"
#include "cli/batch/batch_store.h"
#include "cli/batch/batch_workers.h"
#include "cli/terminal.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Finds the outputs that keep a page: those of the rows that the word "odd" finds in the index, and of the rows that
 * differences are taken against. The ranks of one log share a name. */
static bool kept_find(struct name_list *kept, struct batch *batch, const struct index *index) {
    bool done = true;
    for (uint32_t i = 0; done && i < index->n_rows; i++)
        done = index->rows[i].finding == NULL || name_list_add(kept, batch, index->rows[i].name);
    for (uint32_t i = 0; done && i < index->n_findings; i++) {
        uint32_t against = index->findings[i].against;
        done = against == INDEX_NOBODY || name_list_add(kept, batch, index->rows[against].name);
    }
    name_list_sort(kept);
    return done;
}

/* The path is on the stack, so that the answer never depends on memory; a page whose path does not fit does not
 * exist. */
static bool page_exists(const struct batch *batch, const char *name) {
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/%s.html", batch->directory, name);
    return n > 0 && (size_t)n < sizeof path && access(path, R_OK) == 0;
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
        *number = workers_run(batch, batch->store);
    for (uint32_t i = 0; i < batch->count; i++)
        n_failed += batch->files[i].odd && batch->files[i].state != BATCH_DONE &&
                    batch->files[i].state != BATCH_UP_TO_DATE;
    batch->incomplete |= n_failed != 0;
    return *number == 0;
}

bool pages_make(struct index *index, struct batch *batch, int *number) {
    uint32_t pages = batch->settings->pages;
    struct name_list kept = {0};
    if (pages == PAGES_ODD && !kept_find(&kept, batch, index)) {
        terminal_error(NULL, "no memory for the index");
        return false;
    }
    if (pages == PAGES_ODD && batch->store != NULL && !pages_convert(&kept, batch, number))
        return false;
    for (uint32_t i = 0; i < index->n_rows; i++) {
        struct index_row *row = &index->rows[i];
        row->no_page =
            (pages != PAGES_ALL && !name_list_has(&kept, row->name)) || !page_exists(batch, row->name);
    }
    return true;
}

void pages_remove(const struct index *index, struct batch *batch) {
    for (uint32_t i = 0; batch->settings->pages != PAGES_ALL && i < index->n_rows; i++) {
        char page[PATH_MAX];
        int n = snprintf(page, sizeof page, "%s.html", index->rows[i].name);
        if (index->rows[i].no_page && n > 0 && (size_t)n < sizeof page)
            store_remove(batch, page);
    }
}
