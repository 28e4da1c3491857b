#include "cli/batch/batch_pages.h"

#include "base/json_writer.h"
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
    uint32_t pages = batch->settings->pages;
    struct name_list kept = {0};
    if (pages == PAGES_ODD)
        kept_find(&kept, batch, index);
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
    for (uint32_t i = 0; batch->settings->pages != PAGES_ALL && i < index->n_rows; i++)
        if (index->rows[i].no_page)
            store_remove(batch, batch_text(batch, "%s.html", index->rows[i].name));
}

/* ---- differences ---- */

/* A page and its device as an operand of a difference. */
static char *row_operand(struct batch *batch, const struct index_row *row) {
    return batch_text(batch, "%s/%s.html#device=%" PRId64, batch->directory, row->name, row->device);
}

/* The name of a difference's page. It lies beside the index, while pages of a large batch lie in folders. */
static char *diff_name(struct batch *batch, const struct index_row *odd, const struct index_row *median) {
    char *name = batch_text(batch, "diff-%s-%s.html", odd->name, median->name);
    for (char *p = name; *p != '\0'; p++)
        *p = *p == '/' ? '-' : *p;
    return name;
}

static void diff_make(struct index *index, struct batch *batch, struct index_finding *finding) {
    struct index_row *odd = &index->rows[finding->rows[0]], *median = &index->rows[finding->against];
    struct output_file page;
    if (odd->no_page || median->no_page)
        return;
    const char *a = row_operand(batch, median), *b = row_operand(batch, odd),
               *name = diff_name(batch, odd, median);
    if (store_begin(&page, batch, name, arena_share(&batch->arena)) &&
        output_file_end(&page, difference_render(&page.out, a, b, batch->settings)))
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

/* ---- what the last index made ---- */

/* Lists the files beside the index, sorted; two findings may have one page. */
static void made_list(struct name_list *names, struct batch *batch, const struct index *index) {
    for (uint32_t i = 0; i < index->n_findings; i++)
        if (index->findings[i].diff != NULL)
            name_list_add(names, batch, index->findings[i].diff);
    for (uint32_t i = 0; i < index->n_series; i++) {
        const struct index_series *series = &index->series[i];
        name_list_add(names, batch, batch_text(batch, "%s.html", series->name));
        name_list_add(names, batch, batch_text(batch, "%s.strata.json", series->name));
        if (series->has_png)
            name_list_add(names, batch, batch_text(batch, "%s.png", series->name));
    }
    name_list_sort(names);
}

static const char list_name[] = "shards/index.json";

static bool list_write(const struct name_list *names, struct batch *batch) {
    struct output_file file;
    if (!store_begin(&file, batch, list_name, (struct arena_host){0}))
        return false;
    struct json_writer json = json_document(&file.out, 1);
    json_text(&json, "kind", "index");
    json_array(&json, "made", JSON_LINES);
    for (uint32_t i = 0; i < names->count; i++)
        json_text(&json, NULL, names->name[i]);
    json_end(&json);
    return output_file_end(&file, json_document_end(&json));
}

/* The list may be forged, so only names of this form count: "diff-....html", "series/...". */
static bool name_is_made(const char *name) {
    static const char series[] = "series/";
    if (strncmp(name, series, strlen(series)) == 0)
        return names_is_plain(name + strlen(series));
    return strncmp(name, "diff-", 5) == 0 && strchr(name, '/') == NULL && names_is_plain(name);
}

bool made_update(const struct index *index, struct batch *batch) {
    struct name_list names = {0};
    const cJSON *item;
    made_list(&names, batch, index);
    cJSON *list = batch_json(batch, batch_text(batch, "%s/%s", batch->directory, list_name), NULL);
    cJSON_ArrayForEach(item, json_member(list, "made")) {
        const char *name = cJSON_GetStringValue(item);
        if (name != NULL && name_is_made(name) && !name_list_has(&names, name))
            store_remove(batch, name);
    }
    bool done = (list == NULL && names.count == 0) || list_write(&names, batch);
    cJSON_Delete(list);
    return done;
}
