/*
 * A baseline, to be reviewed in pull requests: figures and sites by name, sorted, without stacks or anything about
 * the machine, so that the same recordings give the same bytes and a change is a line of a diff.
 *
 *     { "schema": 1, "filter": "where there was one", "files": { "run.pickle": {
 *       "peak": N, "reserved": N, "end": N, "gap": N, "growth": N, "oom": N, "steps": N,
 *       "categories": { "activation": N, ... }, "sites": { "attention.py:88": N, ... } } } }
 */
#include "analysis/loop/category.h"
#include "base/json_writer.h"
#include "cli/check/check.h"
#include "cli/json_file.h"
#include "cli/memory.h"

#include <stdlib.h>
#include <string.h>

/* Does the path end in these components? */
static bool path_ends(const char *path, const char *end) {
    size_t length = strlen(path), n = strlen(end);
    return n <= length && strcmp(path + length - n, end) == 0 && (n == length || path[length - n - 1] == '/');
}

const cJSON *baseline_of(const struct check_plan *plan, const struct check_file *file) {
    const cJSON *files = json_member(plan->known, "files"), *item, *own = NULL;
    cJSON_ArrayForEach(item, files) if (path_ends(file->path, item->string) &&
                                        (own == NULL || strlen(item->string) > strlen(own->string))) own =
        item;
    if (own == NULL && cJSON_GetArraySize(files) == 1 && strcmp(file->path, file->input) == 0)
        /* it serves for any file, but not for one device of several */
        own = files->child;
    return cJSON_IsObject(own) ? own : NULL;
}

static bool number_read(const cJSON *item, uint64_t *number) {
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0 && item->valuedouble < 0x1p63))
        return false;
    *number = (uint64_t)item->valuedouble;
    return true;
}

bool baseline_has_filter(const struct check_plan *plan) {
    const cJSON *filter = json_member(plan->known, "filter");
    return cJSON_IsString(filter) ? plan->filter != NULL && strcmp(filter->valuestring, plan->filter) == 0
                                  : filter == NULL && plan->filter == NULL;
}

uint64_t baseline_site(const struct check_file *file, const char *name) {
    uint64_t bytes = 0;
    number_read(json_member(json_member(file->before, "sites"), name), &bytes);
    return bytes;
}

bool baseline_figure(const struct check_file *file, const struct rule *rule, uint64_t *bytes) {
    static const char *const names[METRICS] = {
        [METRIC_PEAK] = "peak",     [METRIC_RESERVED] = "reserved", [METRIC_END] = "end",
        [METRIC_GROWTH] = "growth", [METRIC_GAP] = "gap",           [METRIC_OOM] = "oom"};
    if (rule->metric == METRIC_CATEGORY) {
        const cJSON *categories = json_member(file->before, "categories");
        *bytes = 0;
        number_read(json_member(categories, rule->name), bytes);
        return cJSON_IsObject(categories);
    }
    return names[rule->metric] != NULL && number_read(json_member(file->before, names[rule->metric]), bytes);
}

static int sites_compare(const void *a, const void *b) {
    return strcmp(((const struct check_site *)a)->name, ((const struct check_site *)b)->name);
}

/* Writes the sites by name; sites of one name (several functions of a line) are one. */
static void sites_write(struct json_writer *json, const struct check_file *file) {
    struct check_site *sites = memory_alloc(file->n_sites, sizeof *sites);
    memcpy(sites, file->sites, file->n_sites * sizeof *sites);
    qsort(sites, file->n_sites, sizeof *sites, sites_compare);
    json_object(json, "sites", JSON_LINES);
    for (uint32_t i = 0; i < file->n_sites; i++) {
        uint64_t bytes = sites[i].bytes;
        while (i + 1 < file->n_sites && strcmp(sites[i].name, sites[i + 1].name) == 0)
            bytes += sites[++i].bytes;
        json_u64(json, sites[i].name, bytes);
    }
    json_end(json);
    free(sites);
}

static void file_write(struct json_writer *json, const struct check_file *file) {
    json_object(json, file->key, JSON_LINES);
    json_u64(json, "peak", file->figures.peak);
    if (file->figures.has_reserved) {
        json_u64(json, "reserved", file->figures.reserved);
        json_u64(json, "gap", file->figures.gap);
    }
    json_u64(json, "end", file->figures.end);
    if (file->figures.has_growth)
        json_u64(json, "growth", file->figures.growth);
    json_u64(json, "oom", file->figures.ooms);
    json_u64(json, "steps", file->figures.steps);
    json_object(json, "categories", JSON_LINES);
    for (uint32_t i = 0; i < CATEGORY_COUNT; i++)
        if (file->figures.category[i] != 0)
            json_u64(json, category_label[i].name, file->figures.category[i]);
    json_end(json);
    sites_write(json, file);
    json_end(json);
}

/* Orders paths by their ends, so that neighbours have the longest end in common. */
static int ends_compare(const void *a, const void *b) {
    const char *x = (*(const struct check_file *const *)a)->path,
               *y = (*(const struct check_file *const *)b)->path;
    size_t n = strlen(x), m = strlen(y);
    while (n > 0 && m > 0 && x[n - 1] == y[m - 1]) {
        n--;
        m--;
    }
    return n == 0 || m == 0 ? (n > 0) - (m > 0) : (unsigned char)x[n - 1] - (unsigned char)y[m - 1];
}

static size_t end_in_common(const char *x, const char *y) {
    size_t n = strlen(x), m = strlen(y), common = 0;
    while (common < n && common < m && x[n - 1 - common] == y[m - 1 - common])
        common++;
    return common;
}

/* Gives a file its key: its path from the last slash on that leaves an end which neither neighbour has. */
static void key_give(struct check_file *file, const struct check_file *before,
                     const struct check_file *after) {
    size_t length = strlen(file->path), common = 0;
    const struct check_file *others[] = {before, after};
    for (int i = 0; i < 2; i++) {
        size_t n = others[i] != NULL ? end_in_common(file->path, others[i]->path) : 0;
        common = n > common ? n : common;
    }
    const char *at = file->path + length - (common < length ? common : length);
    at = strcmp(file->path, "-") == 0 ? file->name : at;
    while (at > file->path && (*at == '/' || at[-1] != '/' || (size_t)(file->path + length - at) <= common))
        at--;
    free(file->key);
    file->key = memory_text("%s", at);
}

static int keys_compare(const void *a, const void *b) {
    return strcmp((*(const struct check_file *const *)a)->key, (*(const struct check_file *const *)b)->key);
}

void baseline_write(struct buffer *out, const struct check_plan *plan, struct check_file *files,
                    uint32_t n_files) {
    struct check_file **order = memory_alloc(n_files, sizeof(struct check_file *));
    for (uint32_t i = 0; i < n_files; i++)
        order[i] = &files[i];
    qsort(order, n_files, sizeof *order, ends_compare);
    for (uint32_t i = 0; i < n_files; i++)
        key_give(order[i], i > 0 ? order[i - 1] : NULL, i + 1 < n_files ? order[i + 1] : NULL);
    qsort(order, n_files, sizeof *order, keys_compare);
    struct json_writer json = json_document(out, 1);
    if (plan->filter != NULL)
        json_text(&json, "filter", plan->filter);
    json_object(&json, "files", JSON_LINES);
    for (uint32_t i = 0; i < n_files; i++)
        if (order[i]->status != CHECK_UNREADABLE && (i == 0 || strcmp(order[i]->key, order[i - 1]->key) != 0))
            file_write(&json, order[i]);
    json_end(&json);
    (void)json_document_end(&json);
    free(order);
}
