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

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* The baseline of this file, by name; a baseline of one file serves for any file. */
static const cJSON *baseline_of(const struct check_plan *plan, const struct check_file *file) {
    const cJSON *files = json_member(plan->known, "files");
    const cJSON *own = json_member(files, file->name);
    return own == NULL && cJSON_GetArraySize(files) == 1 ? files->child : own;
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

bool baseline_knows(const struct check_plan *plan, const struct check_file *file) {
    return cJSON_IsObject(baseline_of(plan, file));
}

uint64_t baseline_site(const struct check_plan *plan, const struct check_file *file, const char *name) {
    const cJSON *sites = json_member(baseline_of(plan, file), "sites");
    uint64_t bytes = 0;
    number_read(json_member(sites, name), &bytes);
    return bytes;
}

static bool sites_sum(const cJSON *own, const char *pattern, uint64_t *bytes) {
    const cJSON *sites = json_member(own, "sites"), *item;
    uint64_t sum = 0, one;
    cJSON_ArrayForEach(item, sites) if (fnmatch(pattern, item->string, 0) == 0 && number_read(item, &one))
        sum += one;
    *bytes = sum;
    return cJSON_IsObject(sites);
}

bool baseline_figure(const struct check_plan *plan, const struct check_file *file, const struct rule *rule,
                     uint64_t *bytes) {
    static const char *const names[METRICS] = {
        [METRIC_PEAK] = "peak",     [METRIC_RESERVED] = "reserved", [METRIC_END] = "end",
        [METRIC_GROWTH] = "growth", [METRIC_GAP] = "gap",           [METRIC_OOM] = "oom"};
    const cJSON *own = baseline_of(plan, file);
    if (rule->metric == METRIC_SITE)
        return sites_sum(own, rule->name, bytes);
    if (rule->metric == METRIC_CATEGORY) {
        const cJSON *categories = json_member(own, "categories");
        *bytes = 0;
        number_read(json_member(categories, rule->name), bytes);
        return cJSON_IsObject(categories);
    }
    return names[rule->metric] != NULL && number_read(json_member(own, names[rule->metric]), bytes);
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
    json_object(json, file->name, JSON_LINES);
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

static int files_compare(const void *a, const void *b) {
    return strcmp((*(const struct check_file *const *)a)->name, (*(const struct check_file *const *)b)->name);
}

void baseline_write(struct buffer *out, const struct check_plan *plan, const struct check_file *files,
                    uint32_t n_files) {
    const struct check_file **order = memory_alloc(n_files, sizeof(struct check_file *));
    for (uint32_t i = 0; i < n_files; i++)
        order[i] = &files[i];
    qsort(order, n_files, sizeof *order, files_compare);
    struct json_writer json = json_document(out, 1);
    if (plan->filter != NULL)
        json_text(&json, "filter", plan->filter);
    json_object(&json, "files", JSON_LINES);
    for (uint32_t i = 0; i < n_files; i++)
        if (order[i]->status != CHECK_UNREADABLE &&
            (i == 0 || strcmp(order[i]->name, order[i - 1]->name) != 0))
            file_write(&json, order[i]);
    json_end(&json);
    (void)json_document_end(&json);
    free(order);
}
