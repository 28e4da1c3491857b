#include "cli/batch/batch_diffs.h"

#include "cli/batch/batch_store.h"
#include "cli/render.h"
#include "cli/terminal.h"

#include <inttypes.h>
#include <string.h>

/* A page and its device as an operand; NULL: no memory. */
static char *row_operand(struct batch *batch, const struct index_row *row) {
    return batch_text(batch, "%s/%s.html#device=%" PRId64, batch->directory, row->name, row->device);
}

/* The name of a difference's page. It lies beside the index, while pages of a large batch lie in folders. */
static char *diff_name(struct batch *batch, const struct index_row *odd, const struct index_row *median) {
    char *name = batch_text(batch, "diff-%s-%s.html", odd->name, median->name);
    for (char *p = name; p != NULL && *p != '\0'; p++)
        *p = *p == '/' ? '-' : *p;
    return name;
}

static void diff_make(struct index *index, struct batch *batch, struct index_finding *finding) {
    const struct index_row *odd = &index->rows[finding->rows[0]], *median = &index->rows[finding->against];
    const char *a = row_operand(batch, median), *b = row_operand(batch, odd),
               *name = diff_name(batch, odd, median);
    struct output_file page;
    if (odd->no_page || median->no_page)
        return;
    if (a == NULL || b == NULL || name == NULL)
        terminal_error(NULL, "no memory for the page of a difference");
    else if (store_begin(&page, batch->directory, name, batch->settings->force, arena_share(&batch->arena)) &&
             output_file_end(&page, difference_render(&page.out, a, b, batch->settings)))
        index->rows[finding->rows[0]].diff = finding->diff = name;
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
