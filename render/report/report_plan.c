#include "render/report/report_plan.h"

#include "base/json_writer.h"
#include "base/numbers.h"
#include "layout/site.h"
#include "render/report/report_replay.h"
#include "render/report/report_sheet.h"
#include "render/report/report_words.h"

#include <inttypes.h>
#include <string.h>

/* ---- JSON ---- */

static void figures_json(struct json_writer *json, const struct plan_figures *figures) {
    json_u64(json, "live_peak_bytes_min", figures->live_min);
    json_known_u64(json, "live_peak_bytes_max", figures->reserved_known, figures->live_max);
    json_known_u64(json, "peak_reserved_bytes_min", figures->reserved_known, figures->reserved_min);
    json_known_u64(json, "peak_reserved_bytes_max", figures->reserved_known, figures->reserved_max);
    json_text(json, "fits", plan_fits_name((enum plan_fits)figures->fits));
}

static void share_json(struct json_writer *json, const struct plan *plan, uint32_t n_blocks) {
    uint32_t share = n_blocks != 0 ? plan_share(plan, n_blocks) : UINT32_MAX;
    if (share == UINT32_MAX)
        json_null(json, "share");
    else
        json_share(json, "share", share, 1000000);
}

static const char *site_of(struct sheet *sheet, const struct plan *plan, uint32_t frame) {
    char text[512];
    if (frame == 0)
        return NULL;
    (void)site_text(plan->program->trace, frame, text, sizeof text);
    return sheet_format(sheet, "%s", text);
}

/* A constant for all but settings and findings. */
static const char *change_title(struct sheet *sheet, const struct plan *plan,
                                const struct plan_change *change, uint32_t n_blocks) {
    const char *possibly =
        change->finding != NULL && change->finding->confidence == CONFIDENCE_POSSIBLE ? "possibly " : "";
    char text[FINDING_TEXT_NBYTES];
    switch ((enum plan_kind)change->kind) {
    case PLAN_SETTINGS: return sheet_format(sheet, "%s", change->id + strlen("settings:"));
    case PLAN_FINDING:
        (void)finding_title(plan->verdicts, change->finding, text, sizeof text);
        return sheet_format(sheet, "%s%s (finding)", possibly, text);
    case PLAN_FUSED: return "optimizer: fused or foreach=False";
    case PLAN_CHECKPOINT:
        return sheet_format(sheet, "checkpoint %" PRIu32 " of %" PRIu32 " blocks", n_blocks,
                            change->n_blocks);
    case PLAN_EIGHT_BIT: return "optimizer state in 8 bits";
    case PLAN_SHARD_STATE: return "optimizer state over all ranks";
    case PLAN_SHARD_GRADIENTS: return "optimizer state and gradients over all ranks";
    case PLAN_OFFLOAD: return "optimizer state on the host";
    case PLAN_MICRO_BATCH: return "half of the batch, twice";
    case PLAN_NO_GRAD: break;
    }
    return "no gradients";
}

static void change_json(struct json_writer *json, struct sheet *sheet, const struct plan *plan,
                        const struct plan_change *change) {
    const struct plan_figures *own = &change->figures, *as = &plan->as_recorded;
    char id[PLAN_ID];
    plan_change_id(change, UINT32_MAX, id);
    json_object(json, NULL, JSON_LINES);
    json_text(json, "id", id);
    json_text(json, "title", change_title(sheet, plan, change, change->n_blocks));
    json_text(json, "cost", plan_cost_name((enum plan_cost)change->cost));
    json_text(json, "certainty", plan_certainty_name((enum plan_certainty)change->certainty));
    share_json(json, plan, change->n_blocks);
    json_i64(json, "saves_peak_bytes",
             (int64_t)(as->live_max - (own->reserved_known ? own->live_max : own->live_min)));
    json_known_i64(json, "saves_reserved_bytes", own->reserved_known,
                   (int64_t)(as->reserved_max - own->reserved_max));
    figures_json(json, own);
    json_end(json);
}

static void set_ids_json(struct json_writer *json, const struct plan *plan, const struct plan_set *set) {
    char id[PLAN_ID];
    json_array(json, "changes", JSON_COMPACT);
    for (uint32_t i = 0; i < set->n_changes; i++) {
        plan_change_id(&plan->change[set->change[i]], set->n_blocks, id);
        json_text(json, NULL, id);
    }
    json_end(json);
}

static void plans_json(struct json_writer *json, const struct plan *plan) {
    json_array(json, "plans", JSON_LINES);
    for (uint32_t i = 0; i < plan->n_plans; i++) {
        const struct plan_set *set = &plan->plans[i];
        json_object(json, NULL, JSON_LINES);
        set_ids_json(json, plan, set);
        json_text(json, "cost", plan_cost_name((enum plan_cost)set->cost));
        json_text(json, "certainty", plan_certainty_name((enum plan_certainty)set->certainty));
        share_json(json, plan, set->n_blocks);
        json_u64(json, "retries", set->figures.n_retries);
        figures_json(json, &set->figures);
        json_end(json);
    }
    json_end(json);
    if (!plan->has_nearest) {
        json_null(json, "nearest");
        return;
    }
    json_object(json, "nearest", JSON_LINES);
    set_ids_json(json, plan, &plan->nearest);
    json_u64(json, "lacking_bytes", plan->lacking_bytes);
    figures_json(json, &plan->nearest.figures);
    json_end(json);
}

static void reason_json(struct json_writer *json, const char *what, const char *why) {
    json_object(json, NULL, JSON_COMPACT);
    json_text(json, "what", what);
    json_text(json, "why", why);
    json_end(json);
}

static void not_planned_json(struct json_writer *json, const struct plan *plan) {
    json_array(json, "not_planned", JSON_LINES);
    reason_json(json, "micro_batch", "one recording does not show what grows with the batch");
    reason_json(json, "parameters", "what is gathered when depends on prefetching and wrapping");
    reason_json(json, "activations_on_host", "when they come back depends on speed");
    if (plan->no_checkpoint)
        reason_json(json, "checkpoint", "no blocks were found, or no backward was recorded");
    if (plan->state_unknown)
        reason_json(json, "state", "state older than the recording without a stack counts as other");
    json_end(json);
}

static void blocks_json(struct json_writer *json, struct sheet *sheet, const struct plan *plan) {
    const struct blocks *blocks = &plan->blocks;
    json_array(json, "blocks", JSON_LINES);
    for (uint32_t i = 0; i < blocks->n_forwards; i++) {
        const struct forward *forward = &blocks->forward[i];
        if (forward->n_blocks == 0)
            continue;
        json_object(json, NULL, JSON_COMPACT);
        json_u64(json, "n", forward->n_blocks);
        json_u64(json, "event", plan->program->device->allocations.birth[forward->first] - 1);
        json_text(json, "site", site_of(sheet, plan, forward->site));
        json_u64(json, "allocations", forward->period);
        json_share(json, "share", forward->bytes_in_blocks, forward->bytes);
        json_end(json);
    }
    json_end(json);
}

static void budget_json(struct json_writer *json, const struct plan *plan) {
    bool known = plan->budget_bytes != 0;
    json_object(json, "budget", JSON_LINES);
    json_known_u64(json, "bytes", known, plan->asked_bytes != 0 ? plan->asked_bytes : plan->budget_bytes);
    json_known_u64(json, "used_bytes", known, plan->budget_bytes);
    json_text(json, "from", !known ? NULL : plan->asked_bytes != 0 ? "gpu" : "recording");
    json_u64(json, "at_least_bytes", plan->seen.at_least_bytes);
    json_known_u64(json, "at_most_bytes", plan->seen.at_most_bytes != 0, plan->seen.at_most_bytes);
    json_end(json);
}

static void device_json(struct json_writer *json, struct sheet *sheet, const struct plan *plan) {
    char settings[ALLOCATOR_SETTINGS_TEXT];
    bool refused = plan->replay->grade == REPLAY_REFUSED;
    allocator_settings_print(&plan->replay->settings, settings);
    json_object(json, NULL, JSON_LINES);
    json_i64(json, "device", plan->program->device->ordinal);
    json_text(json, "refused", refused ? plan->replay->reason : NULL);
    report_replay_json(json, plan->replay);
    json_text(json, "search", plan->short_search ? "short" : "full");
    json_object(json, "recorded", JSON_LINES);
    json_text(json, "settings", settings);
    json_u64(json, "peak_bytes", plan->verdicts->timeline->peak_bytes);
    json_u64(json, "peak_reserved_bytes", plan->recorded_peak_bytes);
    json_bool(json, "ended_by_oom", plan->ended_by_oom);
    json_end(json);
    budget_json(json, plan);
    json_text(json, "fits", plan_fits_name((enum plan_fits)plan->as_recorded.fits));
    json_object(json, "as_recorded", JSON_LINES);
    figures_json(json, &plan->as_recorded);
    json_end(json);
    blocks_json(json, sheet, plan);
    json_array(json, "changes", JSON_LINES);
    for (uint32_t i = 0; i < plan->n_changes; i++)
        change_json(json, sheet, plan, &plan->change[i]);
    json_end(json);
    plans_json(json, plan);
    not_planned_json(json, plan);
    json_end(json);
}

static bool write_json(struct buffer *out, const struct plan_report *report, struct arena *scratch) {
    struct buffer nothing = {.host = arena_share(scratch)};
    struct sheet sheet = {.out = &nothing, .arena = scratch};
    struct json_writer json = json_writer_of(out);
    json_object(&json, NULL, JSON_LINES);
    json_u64(&json, "schema", 1);
    json_text(&json, "file", report->file);
    json_text(&json, "fingerprint", report->fingerprint);
    json_array(&json, "devices", JSON_LINES);
    for (uint32_t i = 0; i < report->n_devices; i++)
        device_json(&json, &sheet, &report->device[i]);
    json_end(&json);
    json_null(&json, "together");
    json_end(&json);
    buffer_add_text(out, "\n");
    bool failed = nothing.failed;
    buffer_release(&nothing);
    return !out->failed && !failed;
}

/* ---- words ---- */

/* Two decimals from 1 GiB on. */
static const char *fine(struct sheet *sheet, uint64_t bytes) {
    if (bytes < GIB || bytes > UINT64_MAX / 200)
        return sheet_format(sheet, "%s", format_bytes(bytes).text);
    return sheet_format(sheet, "%s", format_bytes_in(bytes, format_unit(GIB)).text);
}

static const char *range(struct sheet *sheet, uint64_t least, uint64_t most) {
    const char *low = fine(sheet, least), *high = fine(sheet, most);
    if (strcmp(low, high) == 0)
        return high;
    size_t n = strlen(low);
    return n > 4 && strcmp(low + n - 4, high + strlen(high) - 4) == 0
               ? sheet_format(sheet, "%.*s to %s", (int)n - 4, low, high)
               : sheet_format(sheet, "%s to %s", low, high);
}

static const char *fits_text(uint8_t fits) {
    static const char *const texts[] = {"-", "yes", "retries", "unsure", "no"};
    return texts[fits];
}

static const char *cost_text(struct sheet *sheet, const struct plan *plan, const struct plan_change *change) {
    uint32_t share = change->n_blocks != 0 ? plan_share(plan, change->n_blocks) : UINT32_MAX;
    if (share != UINT32_MAX)
        return sheet_format(sheet, "%" PRIu32 " %% time", (share + 5000) / 10000);
    static const char *const texts[] = {"nothing", "time", "precision", "transfers"};
    return texts[change->cost];
}

static void row_write(struct sheet *sheet, const char *title, const char *cost,
                      const struct plan_figures *figures, const char *certainty) {
    sheet_cell(sheet, "%s", title);
    sheet_cell(sheet, "%s", cost);
    if (figures->reserved_known)
        sheet_cell(sheet, "%s", range(sheet, figures->live_min, figures->live_max));
    else
        sheet_cell(sheet, "not below %s", fine(sheet, figures->live_min));
    sheet_cell(sheet, "%s",
               figures->reserved_known ? range(sheet, figures->reserved_min, figures->reserved_max) : "-");
    sheet_cell(sheet, "%s", fits_text(figures->fits));
    sheet_cell(sheet, "%s", certainty);
}

static void table_write(struct sheet *sheet, const struct plan *plan) {
    static const char *const headings[] = {"Change", "Costs",     "In use", "Reserved",
                                           "Served", "Certainty", NULL};
    sheet_say(sheet, "What each change would give:");
    sheet_table(sheet, headings, "llllll");
    row_write(sheet, "as recorded", "", &plan->as_recorded, "");
    for (uint32_t i = 0; i < plan->n_changes; i++) {
        const struct plan_change *change = &plan->change[i];
        row_write(sheet, change_title(sheet, plan, change, change->n_blocks), cost_text(sheet, plan, change),
                  &change->figures, plan_certainty_name((enum plan_certainty)change->certainty));
    }
    sheet_table_end(sheet);
}

static void plan_write(struct sheet *sheet, const struct plan *plan, const struct plan_set *set, bool least) {
    const char *certainty = plan_certainty_name((enum plan_certainty)set->certainty), *list = "";
    for (uint32_t i = 0; i < set->n_changes; i++)
        list = sheet_format(sheet, "%s%s%s", list, i > 0 ? "; " : "",
                            change_title(sheet, plan, &plan->change[set->change[i]], set->n_blocks));
    sheet_say(sheet, "%s (%s): %s", least ? "The least change that serves it" : "Fewer changes, dearer ones",
              certainty, list);
    uint32_t share = set->n_blocks != 0 ? plan_share(plan, set->n_blocks) : UINT32_MAX;
    sheet_point(sheet, "%s in use instead of %s; served in %s %s%s.",
                range(sheet, set->figures.live_min, set->figures.live_max),
                fine(sheet, plan->as_recorded.live_max), fine(sheet, plan->budget_bytes),
                set->figures.fits == PLAN_YES ? "without retries" : "after giving back cached memory",
                share != UINT32_MAX
                    ? sheet_format(sheet, "; about %" PRIu32 " %% more time by the host's clock",
                                   (share + 5000) / 10000)
                    : "");
    if (least && plan->ended_by_oom)
        sheet_point(sheet, "Up to and with the request that failed: what the rest of that step needs is not "
                           "recorded.");
}

static void answer_write(struct sheet *sheet, const struct plan *plan) {
    if (plan->budget_bytes == 0)
        sheet_say(sheet, "The recording shows no limit: --gpu SIZE says what there is.");
    else if (plan->as_recorded.fits == PLAN_YES)
        sheet_say(sheet, "It is served as it is.");
    else if (plan->as_recorded.fits == PLAN_WITH_RETRIES)
        sheet_say(sheet, "It is served as it is (with %s retries).",
                  format_count(plan->as_recorded.n_retries).text);
    for (uint32_t i = 0; i < plan->n_plans; i++)
        plan_write(sheet, plan, &plan->plans[i], i == 0);
    if (plan->has_nearest)
        sheet_say(sheet,
                  "Nothing that can be told from this recording serves it: with all of it %s is lacking.",
                  fine(sheet, plan->lacking_bytes));
}

static void recorded_write(struct sheet *sheet, const struct plan *plan) {
    char settings[ALLOCATOR_SETTINGS_TEXT];
    allocator_settings_print(&plan->replay->settings, settings);
    sheet_point(sheet, "Recorded: %s; %s in use, %s reserved at most.%s",
                settings[0] != '\0' ? settings : "default settings",
                fine(sheet, plan->verdicts->timeline->peak_bytes), fine(sheet, plan->recorded_peak_bytes),
                plan->ended_by_oom ? sheet_format(sheet, " It ends with a request of %s that failed.",
                                                  fine(sheet, plan->program->device->ooms[0].size))
                                   : "");
    if (plan->budget_bytes != 0)
        sheet_point(sheet, "To be served in %s: %s", fine(sheet, plan->budget_bytes),
                    plan->asked_bytes != 0
                        ? sheet_format(sheet, "%s less %s for others.", fine(sheet, plan->asked_bytes),
                                       fine(sheet, plan->keep_bytes))
                        : "the least that the process had. (--gpu SIZE for another device.)");
    if (plan->budget_bytes != 0 && plan->as_recorded.rounded_min > plan->budget_bytes)
        sheet_point(sheet, "As it is the sequence%s needs %s in use: no setting can serve it.",
                    plan->ended_by_oom ? " with that request" : "", fine(sheet, plan->as_recorded.live_max));
}

static void device_write(struct sheet *sheet, const struct plan *plan) {
    words_device_heading(sheet, plan->program->trace->kind, plan->program->device->ordinal);
    sheet_say(sheet, "%s", report_replay_text(sheet, plan->replay));
    if (plan->replay->grade == REPLAY_REFUSED) {
        sheet_say(sheet, "Nothing is planned.");
        return;
    }
    recorded_write(sheet, plan);
    answer_write(sheet, plan);
    table_write(sheet, plan);
    sheet_point(
        sheet, "Not planned: a smaller batch (one recording does not show what grows with it; record half of "
               "it too and use --extrapolate), parameters over several devices, activations on the host.");
    sheet_point(sheet,
                "Models of this sequence; a program that reacts to memory, or another version of a library, "
                "asks differently.");
}

bool plan_report_write(struct buffer *out, const struct plan_report *report, struct arena *scratch) {
    if (report->format == REPORT_JSON)
        return write_json(out, report, scratch);
    struct sheet sheet = {.out = out, .arena = scratch, .markdown = report->format == REPORT_MARKDOWN};
    sheet_heading(&sheet, 1,
                  sheet_format(&sheet, "Plan: %s", sheet_quote(&sheet, report->file, strlen(report->file))));
    if (report->n_devices == 0)
        sheet_say(&sheet, "%s", "The file holds no device.");
    for (uint32_t i = 0; i < report->n_devices; i++)
        device_write(&sheet, &report->device[i]);
    return !out->failed;
}
