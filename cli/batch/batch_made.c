#include "cli/batch/batch_made.h"

#include "base/json_writer.h"
#include "cli/batch/batch_names.h"
#include "cli/batch/batch_store.h"
#include "cli/json_file.h"
#include "cli/terminal.h"

#include <stdlib.h>
#include <string.h>

static const char list_name[] = "shards/index.json";

static bool names_add(struct name_list *names, struct batch *batch, const char *stem, const char *ending) {
    return name_list_add(names, batch, batch_text(batch, "%s%s", stem, ending));
}

/* Collects the names, sorted; two findings may have one page. */
static bool names_collect(struct name_list *names, struct batch *batch, const struct index *index) {
    bool done = true;
    for (uint32_t i = 0; done && i < index->n_findings; i++)
        done = index->findings[i].diff == NULL || names_add(names, batch, index->findings[i].diff, "");
    for (uint32_t i = 0; done && i < index->n_series; i++) {
        const struct index_series *series = &index->series[i];
        done = names_add(names, batch, series->name, ".html") &&
               names_add(names, batch, series->name, ".strata.json") &&
               (!series->has_png || names_add(names, batch, series->name, ".png"));
    }
    name_list_sort(names);
    return done;
}

static void list_add(struct buffer *out, const struct name_list *names) {
    struct json_writer json = json_document(out, 1);
    json_text(&json, "kind", "index");
    json_array(&json, "made", JSON_LINES);
    for (uint32_t i = 0; i < names->count; i++)
        json_text(&json, NULL, names->name[i]);
    json_end(&json);
    (void)json_document_end(&json);
}

static bool list_write(const struct name_list *names, const struct batch *batch) {
    struct output_file file;
    if (!store_begin(&file, batch->directory, list_name, batch->settings->force, (struct arena_host){0}))
        return false;
    list_add(&file.out, names);
    return output_file_end(&file, true);
}

/* The list may be forged, so only names of this form count: "diff-....html", "series/...". */
static bool name_is_made(const char *name) {
    static const char series[] = "series/";
    if (strncmp(name, series, strlen(series)) == 0)
        return names_is_plain(name + strlen(series));
    return strncmp(name, "diff-", 5) == 0 && strchr(name, '/') == NULL && names_is_plain(name);
}

static void remove_unused(const cJSON *list, const struct name_list *names, struct batch *batch) {
    const cJSON *item;
    cJSON_ArrayForEach(item, json_member(list, "made")) {
        const char *name = cJSON_GetStringValue(item);
        if (name != NULL && name_is_made(name) && !name_list_has(names, name))
            store_remove(batch, name);
    }
}

bool made_update(const struct index *index, struct batch *batch) {
    struct name_list names = {0};
    char *path = batch_text(batch, "%s/%s", batch->directory, list_name);
    if (path == NULL || !names_collect(&names, batch, index)) {
        terminal_error(NULL, "no memory for the index");
        return false;
    }
    cJSON *list = json_file_read(path, batch->arena.limit_nbytes - batch->arena.used_nbytes, NULL);
    if (list != NULL)
        remove_unused(list, &names, batch);
    bool done = (list == NULL && names.count == 0) || list_write(&names, batch);
    cJSON_Delete(list);
    return done;
}
