/* Call sites at a moment with who calls them, for people and for JSON. Private to the report. */
#pragma once

#include "analysis/compare/site_parts.h"
#include "base/json_writer.h"
#include "layout/tree.h"
#include "render/report/report_words.h"

/* Callers of the sites of a set of allocations. */
struct report_callers {
    struct tree tree;
    uint32_t *same;    /* [frames.count] the first frame that people would call the same */
    uint32_t *node_of; /* [frames.count] of such a frame: the site's node; 0: it has none */
};

/* The callers of `allocations[n_allocations]`. Memory from the report's arena. False: no memory. */
bool report_callers_find(struct report_callers *callers, const struct report_device *report,
                         const uint32_t *allocations, uint32_t n_allocations);

/* "callers": [ { "site", "bytes", "count", "share", "callers" } ] of a site, by falling bytes; share is of the site's. */
void report_callers_json(struct json_writer *json, const struct report_callers *callers,
                         const struct trace *trace, uint32_t site);

/* A table of what is alive at a moment by call site, at most `most` rows; shares are of `whole` bytes. */
void report_sites_table(struct sheet *sheet, const struct report_device *report, uint32_t moment,
                        uint32_t most, uint64_t whole);

/* The report's groups by stack, or by another key. */
void report_stacks_table(struct sheet *sheet, const struct report_device *report);
void report_groups_table(struct sheet *sheet, const struct report_device *report);

/* The name of a group by layer, file or the like: "layer 3". */
struct group_name {
    char text[512];
};
struct group_name report_group_name(const struct report_device *report, const struct group *group);
