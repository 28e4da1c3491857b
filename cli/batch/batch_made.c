#include "cli/batch/batch_made.h"

#include "base/json_writer.h"
#include "cli/batch/batch_names.h"
#include "cli/batch/batch_store.h"
#include "cli/json_file.h"
#include "cli/terminal.h"

#include <stdlib.h>
#include <string.h>

static const char list_name[] = "shards/index.json";

struct names {
    const char **name;
    uint32_t count, capacity;
};

static int name_compare(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool names_add(struct names *names, struct batch *batch, const char *stem, const char *ending) {
    const char *name = batch_text(batch, "%s%s", stem, ending);
    if (name == NULL || !ARENA_GROW(&batch->arena, names->name, names->capacity, (uint64_t)names->count + 1))
        return false;
    names->name[names->count++] = name;
    return true;
}

/* Sorted; two findings may have one page. */
static bool names_collect(struct names *names, struct batch *batch, const struct index *index) {
    bool done = true;
    for (uint32_t i = 0; done && i < index->n_findings; i++)
        done = index->findings[i].diff == NULL || names_add(names, batch, index->findings[i].diff, "");
    for (uint32_t i = 0; done && i < index->n_series; i++) {
        const struct index_series *series = &index->series[i];
        done = names_add(names, batch, series->name, ".html") &&
               names_add(names, batch, series->name, ".strata.json") &&
               (!series->has_png || names_add(names, batch, series->name, ".png"));
    }
    if (names->count != 0)
        qsort(names->name, names->count, sizeof *names->name, name_compare);
    return done;
}

static bool names_have(const struct names *names, const char *name) {
    return names->count != 0 &&
           bsearch(&name, names->name, names->count, sizeof *names->name, name_compare) != NULL;
}

static void list_add(struct buffer *out, const struct names *names) {
    struct json_writer json = json_writer_of(out);
    json_object(&json, NULL, JSON_LINES);
    json_u64(&json, "schema", 1);
    json_text(&json, "kind", "index");
    json_array(&json, "made", JSON_LINES);
    for (uint32_t i = 0; i < names->count; i++)
        json_text(&json, NULL, names->name[i]);
    json_end(&json);
    json_end(&json);
    buffer_add_text(out, "\n");
}

static bool list_write(const struct names *names, const struct batch *batch) {
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

static void remove_unused(const cJSON *list, const struct names *names, struct batch *batch) {
    const cJSON *item;
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(list, "made")) {
        const char *name = cJSON_GetStringValue(item);
        if (name != NULL && name_is_made(name) && !names_have(names, name))
            store_remove(batch, name);
    }
}

bool made_update(const struct index *index, struct batch *batch) {
    struct names names = {0};
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
