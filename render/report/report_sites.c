#include "render/report/report_sites.h"

#include "base/format.h"
#include "layout/site.h"
#include "render/report/report_json.h"

#include <string.h>

enum {
    CALLERS_SHOWN = 3, /* how many frames outwards, and how many callers side by side */
    JSON_DEPTH = 8,
    LEVELS = JSON_DEPTH + 2, /* the site itself, and one more to see whether the last callers have callers */
    JSON_CALLERS = 8         /* callers side by side */
};

bool report_callers_find(struct report_callers *callers, const struct report_device *report,
                         const uint32_t *allocations, uint32_t n_allocations) {
    const struct timeline *timeline = &report->timeline;
    uint32_t n_frames = report->trace->frames.count;
    if (n_allocations == 0)
        return true;
    callers->same = arena_column(report->arena, n_frames, sizeof *callers->same);
    callers->node_of = arena_zeros(report->arena, n_frames, sizeof *callers->node_of);
    if (callers->same == NULL || callers->node_of == NULL ||
        !frames_same(report->trace, callers->same, report->arena) ||
        !tree_against(&callers->tree, timeline, allocations, n_allocations, NULL, 0,
                      (struct tree_way){TREE_CALLERS, 0, LEVELS}, report->arena))
        return false;
    const struct tree_node *root = &callers->tree.node[0];
    for (uint32_t i = root->first_child; i < root->first_child + root->n_children; i++)
        callers->node_of[callers->tree.node[i].frame] = i;
    return true;
}

static const struct tree_node *node_of_site(const struct report_callers *callers, uint32_t site) {
    return &callers->tree.node[callers->node_of[callers->same[site]]];
}

/* The node itself; in a recursive function that of the outermost call. */
static const struct tree_node *without_recursion(const struct tree *tree, const struct tree_node *node) {
    while (node->n_children == 1 && node->self_bytes == 0 &&
           tree->node[node->first_child].frame == node->frame)
        node = &tree->node[node->first_child];
    return node;
}

/* Writes "81 % trainer.py:40 step, 19 % eval.py:12 run". */
static const char *branches_text(struct sheet *sheet, const struct tree *tree, const struct trace *trace,
                                 const struct tree_node *node, uint64_t whole) {
    const char *text = "";
    uint32_t shown = node->n_children <= CALLERS_SHOWN ? node->n_children : CALLERS_SHOWN - 1;
    uint64_t rest = 0;
    for (uint32_t i = 0; i < node->n_children; i++) {
        const struct tree_node *child = &tree->node[node->first_child + i];
        if (i < shown)
            text =
                sheet_format(sheet, "%s%s%s %s", text, i == 0 ? "" : ", ",
                             format_share(child->bytes, whole).text, words_site(sheet, trace, child->frame));
        else
            rest += child->bytes;
    }
    if (shown == node->n_children)
        return text;
    return sheet_format(sheet, "%s, %s %s more", text, format_share(rest, whole).text,
                        format_count(node->n_children - shown).text);
}

/* Writes "block.py:31 forward ← 81 % trainer.py:40 step, 19 % eval.py:12 run": outwards as long as there is one
 * caller, then all callers with the share of the site's bytes that each holds. */
static const char *report_callers_text(struct sheet *sheet, const struct report_callers *callers,
                                       const struct trace *trace, uint32_t site) {
    const struct tree *tree = &callers->tree;
    const struct tree_node *node = node_of_site(callers, site);
    const char *text = "";
    uint64_t whole = node->bytes;
    if (node == &tree->node[0])
        return "";
    for (uint32_t shown = 0; shown < CALLERS_SHOWN; shown++) {
        node = without_recursion(tree, node);
        const char *arrow = shown == 0 ? "" : " \xe2\x86\x90 ";
        if (node->n_children == 0)
            break;
        if (node->n_children > 1 || node->self_bytes != 0)
            return sheet_format(sheet, "%s%s%s", text, arrow, branches_text(sheet, tree, trace, node, whole));
        node = &tree->node[node->first_child];
        text = sheet_format(sheet, "%s%s%s", text, arrow, words_site(sheet, trace, node->frame));
    }
    return text;
}

static void callers_json(struct json_writer *json, const struct tree *tree, const struct trace *trace,
                         const struct tree_node *node, uint64_t whole, uint32_t depth) {
    json_array(json, "callers", JSON_COMPACT);
    for (uint32_t i = 0; i < node->n_children && i < JSON_CALLERS && depth < JSON_DEPTH; i++) {
        const struct tree_node *child = &tree->node[node->first_child + i];
        json_object(json, NULL, JSON_COMPACT);
        report_site_json(json, "site", trace, child->frame, true);
        json_u64(json, "bytes", child->bytes);
        json_u64(json, "count", child->count);
        json_share(json, "share", child->bytes, whole);
        /* Callers with less than 1 % are not followed, because after many forks they explain nothing. */
        if (child->n_children != 0 && child->bytes >= whole / 100)
            callers_json(json, tree, trace, child, whole, depth + 1);
        json_end(json);
    }
    json_end(json);
}

void report_callers_json(struct json_writer *json, const struct report_callers *callers,
                         const struct trace *trace, uint32_t site) {
    const struct tree_node *node = node_of_site(callers, site);
    if (node != &callers->tree.node[0])
        callers_json(json, &callers->tree, trace, node, node->bytes, 0);
}

/* Begins the table. A memory timeline has categories instead of call sites, and these have no callers. */
static void sites_begin(struct sheet *sheet, const struct trace *trace) {
    static const char *const headings[] = {"Bytes", "Share", "Count", "Call site", "Called from", NULL};
    static const char *const categories[] = {"Bytes", "Share", "Count", "Category", NULL};
    bool named = !trace_has_call_sites(trace);
    sheet_table(sheet, named ? categories : headings, named ? "rrrl" : "rrrll");
}

static void figure_cells(struct sheet *sheet, const struct group *group, unsigned unit, uint64_t whole) {
    SHEET_CELLS(sheet, format_bytes_in(group->bytes, unit).text, format_share(group->bytes, whole).text,
                format_count(group->count).text);
}

void report_sites_table(struct sheet *sheet, const struct report_device *report, uint32_t moment,
                        uint32_t most, uint64_t whole) {
    struct site_parts parts;
    struct report_callers callers[GROUP_PARTS] = {0};
    bool done = site_parts_at(&parts, report_shown(report), &report->verdicts, moment, report->arena);
    for (uint32_t part = 0; done && part < GROUP_PARTS; part++)
        done = report_callers_find(&callers[part], report, parts.allocations + parts.start[part],
                                   parts.start[part + 1] - parts.start[part]);
    if (!done) {
        sheet->out->failed = true;
        return;
    }
    unsigned unit = parts.n_groups > 0 ? format_unit(parts.groups[0].bytes) : 0;
    most = most == 0 || most > parts.n_groups ? parts.n_groups : most;
    sites_begin(sheet, report->trace);
    for (uint32_t i = 0; i < most; i++) {
        const struct group *group = &parts.groups[i];
        figure_cells(sheet, group, unit, whole);
        sheet_cell(sheet, "%s%s", words_site(sheet, report->trace, group->site), group_part_suffix(group));
        if (trace_has_call_sites(report->trace))
            sheet_cell(sheet, "%s",
                       report_callers_text(sheet, &callers[group->part], report->trace, group->site));
    }
    sheet_table_end(sheet);
    words_rest(sheet, parts.groups, most, parts.n_groups, "row", whole);
}

/* Writes "train.py:88 step ← main.py:3 main": the next frames of the user's own code outside of the call site. */
static const char *stack_callers(struct sheet *sheet, const struct timeline *timeline,
                                 const struct group *group) {
    const struct trace *trace = timeline->trace;
    const char *text = "";
    uint32_t last = group->site, shown = 0;
    bool outside = false;
    for (uint32_t stack = group->stack; stack != 0 && shown < CALLERS_SHOWN;
         stack = stack_parent(&trace->stacks, stack)) {
        uint32_t frame = trace->stacks.frame[stack];
        if (outside && frame != last && timeline_frame_is_user(timeline, frame)) {
            text = sheet_format(sheet, "%s%s%s", text, shown != 0 ? " \xe2\x86\x90 " : "",
                                words_site(sheet, trace, frame));
            last = frame;
            shown++;
        }
        outside = outside || frame == group->site;
    }
    return text;
}

struct group_name report_group_name(const struct report_device *report, const struct group *group) {
    struct group_name name;
    (void)compare_name(&report->timeline, report->options->group, group->key, report->modules, name.text,
                       sizeof name.text);
    return name;
}

void report_groups_table(struct sheet *sheet, const struct report_device *report) {
    const char *thing = words_capital(sheet, compare_by_thing[report->options->group]);
    const char *headings[] = {"Bytes", "Share", "Count", thing, "Largest call site", NULL};
    enum compare_by by = report->options->group;
    unsigned unit = report->n_shown > 0 ? format_unit(report->groups[0].bytes) : 0;
    if (by == COMPARE_BY_STACK)
        sites_begin(sheet, report->trace);
    else
        sheet_table(sheet, headings, "rrrll");
    for (const struct group *group = report->groups; group < report->groups + report->n_shown; group++) {
        struct group_name name = report_group_name(report, group);
        figure_cells(sheet, group, unit, report->timeline.peak_bytes);
        if (by != COMPARE_BY_STACK)
            SHEET_CELLS(sheet, compare_name_is_ours(by) ? name.text
                                                        : sheet_name(sheet, name.text, strlen(name.text)));
        sheet_cell(sheet, "%s%s", words_site(sheet, report->trace, group->site),
                   by == COMPARE_BY_STACK ? group_part_suffix(group) : "");
        if (by == COMPARE_BY_STACK && trace_has_call_sites(report->trace))
            sheet_cell(sheet, "%s", stack_callers(sheet, &report->timeline, group));
    }
    sheet_table_end(sheet);
}
