/* Writes call sites at a moment with their callers, for people and as JSON. Private to the report. */
#pragma once

#include "analysis/compare/site_parts.h"
#include "base/json_writer.h"
#include "layout/tree.h"
#include "render/report/report_words.h"

/* The callers of the call sites of a set of allocations. */
struct report_callers {
    struct tree tree;
    uint32_t *same;    /* [frames.count] the first frame that people would give the same name */
    uint32_t *node_of; /* [frames.count] of such a frame: the node of the site; 0: it has none */
};

/* Finds the callers of `allocations[n_allocations]`. Memory comes from the report's arena. False: no memory. */
bool report_callers_find(struct report_callers *callers, const struct report_device *report,
                         const uint32_t *allocations, uint32_t n_allocations);

/* Writes "callers": [ { "site", "bytes", "count", "share", "callers" } ] of a site, by falling bytes; share is a part
 * of the site's bytes. */
void report_callers_json(struct json_writer *json, const struct report_callers *callers,
                         const struct trace *trace, uint32_t site);

/* Writes a table of what is alive at a moment by call site, with at most `most` rows; shares are parts of `whole`
 * bytes. */
void report_sites_table(struct sheet *sheet, const struct report_device *report, uint32_t moment,
                        uint32_t most, uint64_t whole);

/* Writes the report's groups by another key than call site. */
void report_groups_table(struct sheet *sheet, const struct report_device *report);

/* The name of a group by layer, file or the like: "layer 3". */
struct group_name {
    char text[512];
};
struct group_name report_group_name(const struct report_device *report, const struct group *group);
