#include "render/report/report_plan.h"

#include "base/json_writer.h"
#include "render/report/report_json.h"
#include "render/report/report_sheet.h"
#include "render/report/report_words.h"

#include <inttypes.h>
#include <string.h>

/* What gets past the failed request alone does not fit: the rest of its step is not known. */
static const char *fits_name(const struct plan *plan, uint8_t fits) {
    bool served = fits == PLAN_YES || fits == PLAN_WITH_RETRIES;
    return plan->scope == PLAN_OF_REQUEST && served ? "request" : plan_fits_name[fits];
}

static void figures_json(struct json_writer *json, const struct plan *plan,
                         const struct plan_figures *figures) {
    json_u64(json, "live_peak_bytes_min", figures->live_min);
    json_known_u64(json, "live_peak_bytes_max", figures->reserved_known, figures->live_max);
    json_known_u64(json, "peak_reserved_bytes_min", figures->reserved_known, figures->reserved_min);
    json_known_u64(json, "peak_reserved_bytes_max", figures->reserved_known, figures->reserved_max);
    json_text(json, "fits", fits_name(plan, figures->fits));
    json_known_u64(json, "retries", figures->fits != PLAN_UNKNOWN, figures->n_retries);
}

static void share_json(struct json_writer *json, const struct plan *plan, uint32_t n_blocks) {
    uint32_t share = n_blocks != 0 ? plan_share(plan, n_blocks) : UINT32_MAX;
    if (share == UINT32_MAX)
        json_null(json, "share");
    else
        json_share(json, "share", share, 1000000);
}

static void change_json(struct json_writer *json, struct sheet *sheet, const struct plan *plan,
                        const struct plan_change *change) {
    const struct plan_figures *own = &change->figures, *as = &plan->as_recorded;
    char id[PLAN_ID];
    plan_change_id(change, UINT32_MAX, id);
    json_object(json, NULL, JSON_LINES);
    json_text(json, "id", id);
    json_text(json, "title", PLAN_SAID(sheet, plan_words_title, plan, change, change->n_blocks));
    json_text(json, "code", SHEET_SAID(sheet, plan_words_code, plan, change, change->n_blocks));
    json_text(json, "cost", plan_cost_name[change->cost]);
    json_text(json, "certainty", plan_certainty_name[change->certainty]);
    share_json(json, plan, change->n_blocks);
    json_i64(json, "saves_peak_bytes",
             (int64_t)(as->live_max - (own->reserved_known ? own->live_max : own->live_min)));
    json_known_i64(json, "saves_reserved_bytes", own->reserved_known,
                   (int64_t)(as->reserved_max - own->reserved_max));
    figures_json(json, plan, own);
    json_end(json);
}

static void ids_json(struct json_writer *json, const char *name, const struct plan *plan,
                     const uint32_t *change, uint32_t n_changes, uint32_t n_blocks) {
    char id[PLAN_ID];
    json_array(json, name, JSON_COMPACT);
    for (uint32_t i = 0; i < n_changes; i++) {
        plan_change_id(&plan->change[change[i]], n_blocks, id);
        json_text(json, NULL, id);
    }
    json_end(json);
}

static void plans_json(struct json_writer *json, struct sheet *sheet, const struct plan *plan) {
    json_array(json, "plans", JSON_LINES);
    for (uint32_t i = 0; i < plan->n_plans; i++) {
        const struct plan_set *set = &plan->plans[i];
        json_object(json, NULL, JSON_LINES);
        ids_json(json, "changes", plan, set->change, set->n_changes, set->n_blocks);
        json_text(json, "title", PLAN_SAID(sheet, plan_words_set_title, plan, set));
        json_array(json, "code", JSON_COMPACT);
        for (uint32_t k = 0; k < set->n_changes; k++)
            json_text(json, NULL,
                      SHEET_SAID(sheet, plan_words_code, plan, &plan->change[set->change[k]], set->n_blocks));
        json_end(json);
        json_text(json, "cost", plan_cost_name[set->cost]);
        json_text(json, "certainty", plan_certainty_name[set->certainty]);
        share_json(json, plan, set->n_blocks);
        if (set->n_calm != 0)
            ids_json(json, "without_retries", plan, set->calm, set->n_calm, set->calm_blocks);
        else
            json_null(json, "without_retries");
        figures_json(json, plan, &set->figures);
        json_end(json);
    }
    json_end(json);
    if (!plan->has_nearest) {
        json_null(json, "nearest");
        return;
    }
    json_object(json, "nearest", JSON_LINES);
    ids_json(json, "changes", plan, plan->nearest.change, plan->nearest.n_changes, plan->nearest.n_blocks);
    json_u64(json, "lacking_bytes", plan->lacking_bytes);
    figures_json(json, plan, &plan->nearest.figures);
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

static void blocks_json(struct json_writer *json, const struct plan *plan) {
    const struct blocks *blocks = &plan->blocks;
    json_array(json, "blocks", JSON_LINES);
    for (uint32_t i = 0; i < blocks->n_forwards; i++) {
        const struct forward *forward = &blocks->forward[i];
        uint32_t event = plan->program->device->allocations.birth[forward->first] - 1;
        if (forward->n_blocks == 0 || event >= plan->recorded->device->n_events)
            continue; /* the last ones may only continue the recording */
        json_object(json, NULL, JSON_COMPACT);
        json_u64(json, "n", forward->n_blocks);
        json_u64(json, "event", event);
        report_site_json(json, "site", plan->recorded->trace, forward->site, forward->site != 0);
        json_u64(json, "allocations", forward->period);
        json_share(json, "share", forward->bytes_in_blocks, forward->bytes);
        json_end(json);
    }
    json_end(json);
}

static void loss_json(struct json_writer *json, const struct plan *plan) {
    uint32_t site = plan->loss.known ? plan->verdicts->timeline->site[plan->loss.stack] : 0;
    json_array(json, "loss_in_parts", JSON_LINES);
    for (uint32_t i = 0; i < PLAN_LOSS_WAYS && plan->loss.known; i++) {
        json_object(json, NULL, JSON_COMPACT);
        json_u64(json, "n", plan_loss_parts[i]);
        report_site_json(json, "site", plan->recorded->trace, site, site != 0);
        json_u64(json, "live_peak_bytes_min", plan->loss.live_min[i]);
        json_u64(json, "live_peak_bytes_max", plan->loss.live_max[i]);
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

static void setting_json(struct json_writer *json, struct sheet *sheet, const struct plan *plan) {
    const struct plan_change *best = plan_best_setting(plan);
    if (best == NULL) {
        json_null(json, "setting");
        return;
    }
    json_object(json, "setting", JSON_COMPACT);
    json_text(json, "change", best->id);
    json_text(json, "text", PLAN_SAID(sheet, plan_words_setting, plan));
    json_end(json);
}

static void device_json(struct json_writer *json, struct sheet *sheet, const struct plan *plan) {
    char settings[ALLOCATOR_SETTINGS_TEXT];
    bool refused = plan->replay->grade == REPLAY_REFUSED;
    const char *answer = PLAN_SAID(sheet, plan_words_answer, plan);
    allocator_settings_print(&plan->replay->settings, settings);
    json_object(json, NULL, JSON_LINES);
    json_i64(json, "device", plan->recorded->device->ordinal);
    json_text(json, "refused", refused ? plan->replay->reason : NULL);
    report_replay_json(json, plan->replay);
    json_text(json, "search", plan->short_search ? "short" : "full");
    json_text(json, "scope", plan_scope_name[plan->scope]);
    json_object(json, "recorded", JSON_LINES);
    json_text(json, "settings", settings);
    json_u64(json, "peak_bytes", plan->recorded_live_bytes);
    json_u64(json, "peak_reserved_bytes", plan->recorded_peak_bytes);
    json_bool(json, "ended_by_oom", plan->ended_by_oom);
    json_end(json);
    budget_json(json, plan);
    json_text(json, "answer", answer[0] != '\0' ? answer : NULL);
    setting_json(json, sheet, plan);
    json_text(json, "fits", fits_name(plan, plan->as_recorded.fits));
    json_object(json, "as_recorded", JSON_LINES);
    figures_json(json, plan, &plan->as_recorded);
    json_end(json);
    blocks_json(json, plan);
    json_array(json, "changes", JSON_LINES);
    for (uint32_t i = 0; i < plan->n_changes; i++)
        if (!plan->change[i].idle)
            change_json(json, sheet, plan, &plan->change[i]);
    json_end(json);
    plans_json(json, sheet, plan);
    loss_json(json, plan);
    not_planned_json(json, plan);
    json_end(json);
}

/* The plan of device `i`. NULL: no memory. */
static const struct plan *plan_at(const struct plan_report *report, uint32_t i) {
    return report->device != NULL ? &report->device[i] : report->make(report->context, i);
}

static bool write_json(struct buffer *out, const struct plan_report *report, struct arena *scratch) {
    struct buffer nothing = {.host = arena_share(scratch)};
    struct sheet sheet = {.out = &nothing, .arena = scratch};
    struct json_writer json = json_document(out, 1);
    json_text(&json, "file", report->file);
    json_text(&json, "fingerprint", report->fingerprint);
    json_array(&json, "devices", JSON_LINES);
    bool done = true;
    for (uint32_t i = 0; done && i < report->n_devices; i++) {
        const struct plan *plan = plan_at(report, i);
        done = plan != NULL;
        if (done)
            device_json(&json, &sheet, plan);
    }
    json_end(&json);
    json_null(&json, "together");
    (void)json_document_end(&json);
    bool failed = nothing.failed;
    buffer_release(&nothing);
    return done && !out->failed && !failed;
}

static const char *fine(struct sheet *sheet, uint64_t bytes) {
    return sheet_format(sheet, "%s", plan_bytes(bytes).text);
}

/* The bytes as text, without their unit if `beside` has the same one. */
static const char *instead_of(struct sheet *sheet, uint64_t bytes, const char *beside) {
    const char *text = fine(sheet, bytes), *unit = strrchr(text, ' '), *other = strrchr(beside, ' ');
    return unit == NULL || other == NULL || strcmp(unit, other) != 0
               ? text
               : sheet_format(sheet, "%.*s", (int)(unit - text), text);
}

static void row_write(struct sheet *sheet, const char *title, const char *cost,
                      const struct plan_figures *figures, const char *certainty) {
    static const char *const fits[] = {"-", "yes", "retries", "unsure", "no"};
    SHEET_CELLS(sheet, title, cost);
    if (figures->reserved_known)
        SHEET_CELLS(sheet, PLAN_SAID(sheet, plan_words_range, figures->live_min, figures->live_max),
                    PLAN_SAID(sheet, plan_words_range, figures->reserved_min, figures->reserved_max));
    else
        SHEET_CELLS(sheet, sheet_format(sheet, "not below %s", fine(sheet, figures->live_min)), "-");
    SHEET_CELLS(sheet, fits[figures->fits], certainty);
}

static void table_write(struct sheet *sheet, const struct plan *plan) {
    static const char *const headings[] = {"Change", "Costs",     "In use", "Reserved",
                                           "Served", "Certainty", NULL};
    sheet_say(sheet, "What each change would give:");
    sheet_table(sheet, headings, "llllll");
    row_write(sheet, plan->ended_by_oom ? "with the failed request" : "unchanged", "", &plan->as_recorded,
              "");
    for (uint32_t i = 0; i < plan->n_changes; i++) {
        const struct plan_change *change = &plan->change[i];
        if (change->idle)
            continue;
        row_write(sheet, PLAN_SAID(sheet, plan_words_title, plan, change, change->n_blocks),
                  PLAN_SAID(sheet, plan_words_cost, plan, (enum plan_cost)change->cost, change->n_blocks),
                  &change->figures, plan_certainty_name[change->certainty]);
    }
    sheet_table_end(sheet);
    sheet_say(sheet,
              "Served: retries, by emptying the cache; unsure, not in every run of the model; -, not known.");
}

/* Writes the plan's figures: its need, the budget, and whether fewer changes would do. */
static void figures_write(struct sheet *sheet, const struct plan *plan, const struct plan_set *set) {
    const struct plan_figures *own = &set->figures;
    const char *live = PLAN_SAID(sheet, plan_words_range, own->live_min, own->live_max), *reserved = "",
               *alone = "", *time = "";
    uint32_t share = set->n_blocks != 0 ? plan_share(plan, set->n_blocks) : UINT32_MAX;
    if (plan->asked_bytes != 0)
        reserved = sheet_format(sheet, ", %s reserved%s",
                                PLAN_SAID(sheet, plan_words_range, own->reserved_min, own->reserved_max),
                                own->fits == PLAN_YES ? "" : " without a limit");
    if (set->n_changes == 2)
        alone = " Neither alone is enough.";
    else if (set->n_changes > 2)
        alone = " Fewer of them are not enough.";
    if (share != UINT32_MAX)
        time = sheet_format(sheet, "; about %" PRIu32 " %% more time by the host's clock",
                            (share + 5000) / 10000);
    const char *than = instead_of(sheet, plan->as_recorded.live_max, live);
    bool same = plan->as_recorded.live_max == own->live_max && own->live_min == own->live_max;
    sheet_under(sheet, 0, "%s in use%s%s%s; served in %s %s%s.%s", live,
                same ? ", as recorded" : " instead of ", same ? "" : than, reserved,
                PLAN_SAID(sheet, plan_words_budget, plan),
                own->fits == PLAN_YES ? "without retries" : "after giving back cached memory", time, alone);
}

static void retries_write(struct sheet *sheet, const struct plan *plan, const struct plan_set *set) {
    const char *list = "";
    if (set->figures.fits != PLAN_WITH_RETRIES)
        return;
    for (uint32_t i = 0; i < set->n_calm; i++)
        list = sheet_format(
            sheet, "%s%s%s", list, i > 0 ? "; " : "",
            PLAN_SAID(sheet, plan_words_change, plan, &plan->change[set->calm[i]], set->calm_blocks));
    if (set->n_calm != 0)
        sheet_under(sheet, 0, "Without retries, at the same kind of cost: %s.", list);
}

/* Writes what the set leaves, and what the step will need at least, where a request failed and no step before shows it. */
static void to_come_write(struct sheet *sheet, const struct plan *plan, const struct plan_set *set) {
    uint64_t bytes[CATEGORY_COUNT];
    verdicts_categories_at(plan->verdicts, plan->recorded->device->ooms[0].event + 1, NULL, bytes);
    uint64_t trained = bytes[CATEGORY_PARAMETER], gradients = bytes[CATEGORY_GRADIENT];
    const char *state = bytes[CATEGORY_OPTIMIZER_STATE] != 0
                            ? ""
                            : sheet_format(sheet, ", and the state of Adam %s", fine(sheet, 2 * trained));
    const char *left = set->figures.live_max < plan->budget_bytes
                           ? sheet_format(sheet, "%s are left for what follows.",
                                          fine(sheet, plan->budget_bytes - set->figures.live_max))
                           : "";
    bool alone = 2 * trained + bytes[CATEGORY_OPTIMIZER_STATE] > plan->budget_bytes;
    if (gradients < trained)
        sheet_under(sheet, 0, "%s%sIf all parameters are trained, their gradients will need %s more%s.%s",
                    left, left[0] != '\0' ? " " : "", fine(sheet, trained - gradients), state,
                    alone ? " Parameters and gradients alone are more than there is: the step cannot end."
                          : "");
    else if (left[0] != '\0')
        sheet_under(sheet, 0, "%s", left);
}

/* Writes what a plan for the end of the recording cannot know. */
static void end_write(struct sheet *sheet, const struct plan *plan, const struct plan_set *set) {
    const struct blocks *blocks = &plan->blocks;
    const struct forward *last = blocks->n_forwards != 0 ? &blocks->forward[blocks->n_forwards - 1] : NULL;
    if (set == plan->plans && plan->scope == PLAN_OF_REQUEST)
        to_come_write(sheet, plan, set);
    if (set == plan->plans && plan->scope == PLAN_OF_STEP)
        sheet_under(
            sheet, 0,
            "The rest of the step behind the failed request is taken from the step before, which made the "
            "same request.");
    if (plan->scope == PLAN_OF_REQUEST || last == NULL || last->n_blocks == 0 || last->has_backward)
        return;
    for (uint32_t i = 0; i < set->n_changes; i++)
        if (plan->change[set->change[i]].kind == PLAN_CHECKPOINT)
            sheet_under(sheet, 0,
                        "The last forward has no backward, so the recording does not show what making its "
                        "blocks again takes.");
}

static void plan_write(struct sheet *sheet, const struct plan *plan, const struct plan_set *set) {
    sheet_say(sheet, "[%s] %s", plan_certainty_name[set->certainty],
              PLAN_SAID(sheet, plan_words_set, plan, set));
    for (uint32_t i = 0; i < set->n_changes && set->n_changes > 1; i++)
        sheet_under(sheet, i + 1, "%s",
                    PLAN_SAID(sheet, plan_words_change, plan, &plan->change[set->change[i]], set->n_blocks));
    for (uint32_t i = 0; i < set->n_changes; i++)
        sheet_code(sheet,
                   SHEET_SAID(sheet, plan_words_code, plan, &plan->change[set->change[i]], set->n_blocks));
    figures_write(sheet, plan, set);
    retries_write(sheet, plan, set);
    for (uint32_t i = 0; i < set->n_changes; i++)
        if (plan->change[set->change[i]].kind == PLAN_EIGHT_BIT)
            sheet_under(sheet, 0,
                        "That is %s in use if the state's values have 4 bytes now, and %s if they have 2.",
                        fine(sheet, set->figures.live_min), fine(sheet, set->figures.live_max));
    end_write(sheet, plan, set);
}

/* Writes the setting that saves much, unless a limit was to be kept. */
static void setting_write(struct sheet *sheet, const struct plan *plan) {
    const struct plan_change *best = plan_best_setting(plan);
    if (best == NULL || plan->asked_bytes != 0)
        return;
    sheet_say(sheet, "[%s] %s", plan_certainty_name[best->certainty],
              PLAN_SAID(sheet, plan_words_setting, plan));
    sheet_code(sheet, SHEET_SAID(sheet, plan_words_code, plan, best, 0));
}

static void answers_write(struct sheet *sheet, const struct plan *plan) {
    setting_write(sheet, plan);
    if (plan->budget_bytes == 0)
        sheet_say(sheet, "The recording shows no limit of the device. Give the limit with --gpu SIZE.");
    else if (plan->n_plans == 0)
        sheet_say(sheet, "%s.", PLAN_SAID(sheet, plan_words_answer, plan));
    for (uint32_t i = 0; i < plan->n_plans; i++)
        plan_write(sheet, plan, &plan->plans[i]);
}

bool plan_lines_tell(struct words *words, const struct plan *plan, struct arena *scratch) {
    struct buffer out = {.host = arena_share(scratch)};
    struct sheet sheet = {.out = &out, .arena = scratch, .lines = true, .lines_left = PLAN_LINES};
    if (plan->asked_bytes == 0 && !plan->ended_by_oom)
        setting_write(&sheet, plan);
    else if (plan->budget_bytes != 0 && plan->replay->grade != REPLAY_REFUSED)
        answers_write(&sheet, plan);
    words_add(words, (struct text){out.bytes, (uint32_t)out.nbytes});
    bool done = !out.failed;
    buffer_release(&out);
    return done;
}

static void budget_write(struct sheet *sheet, const struct plan *plan) {
    if (plan->budget_bytes == 0)
        return;
    sheet_point(
        sheet, "Limit: %s%s", PLAN_SAID(sheet, plan_words_budget, plan),
        plan->asked_bytes != 0 ? "."
        : plan->ended_by_oom
            ? ", what was reserved and what was free when the request failed. --gpu SIZE sets another."
            : ", the most that the process had reserved. --gpu SIZE sets another.");
    if (plan->listed_bytes != 0)
        sheet_point(
            sheet,
            "With that request %s are counted which the optimizer has yet to make: it has made as much "
            "for some gradients, and makes it for all.",
            fine(sheet, plan->listed_bytes));
    if (plan->as_recorded.rounded_min > plan->budget_bytes)
        sheet_point(sheet, "The %s needs %s in use as it is, so no setting can serve it.",
                    plan->scope == PLAN_OF_STEP      ? "whole step"
                    : plan->scope == PLAN_OF_REQUEST ? "sequence with that request"
                                                     : "sequence",
                    fine(sheet, plan->as_recorded.live_min));
}

static void recorded_write(struct sheet *sheet, const struct plan *plan) {
    char settings[ALLOCATOR_SETTINGS_TEXT];
    allocator_settings_print(&plan->replay->settings, settings);
    sheet_point(sheet, "Recorded: %s; %s in use, %s reserved at %s.%s",
                settings[0] != '\0' ? sheet_quote(sheet, settings, strlen(settings)) : "default settings",
                fine(sheet, plan->recorded_live_bytes), fine(sheet, plan->recorded_peak_bytes),
                timeline_reserved_is_bound(plan->recorded->device) ? "least" : "most",
                plan->ended_by_oom ? sheet_format(sheet, " It ends with a request of %s that failed.",
                                                  fine(sheet, plan->recorded->device->ooms[0].size))
                                   : "");
    if (plan->replay->grade == REPLAY_NEAR)
        sheet_point(sheet, "The replay is near, not exact: every figure below is an estimate, and \"served\" "
                           "means that it would be.");
    budget_write(sheet, plan);
}

static void limits_write(struct sheet *sheet, const struct plan *plan) {
    sheet_point(sheet,
                "Not planned: a smaller batch (one recording does not show what grows with it), parameters "
                "over several devices, activations on the host%s%s.",
                plan->no_checkpoint ? ", checkpointing (no blocks were found, or no backward was recorded)"
                                    : "",
                plan->state_unknown ? ", optimizer state without a stack (record from the beginning)" : "");
    if (plan->short_search)
        sheet_point(sheet, "The recording has more than 2 million events, so each change was tried only by "
                           "itself, and not in pairs.");
    sheet_point(sheet, "These figures are models of this sequence. A program that reacts to memory, or "
                       "another version of a library, makes other requests.");
}

static void device_write(struct sheet *sheet, const struct plan *plan) {
    words_device_heading(sheet, plan->recorded->trace->kind, plan->recorded->device->ordinal);
    sheet_say(sheet, "%s", SHEET_SAID(sheet, replay_tell, plan->replay));
    if (plan->replay->grade == REPLAY_REFUSED) {
        sheet_say(sheet, "Nothing is planned.");
        return;
    }
    recorded_write(sheet, plan);
    answers_write(sheet, plan);
    table_write(sheet, plan);
    const char *loss = PLAN_SAID(sheet, plan_words_loss, plan);
    if (*loss != '\0')
        sheet_point(sheet, "%s", loss);
    limits_write(sheet, plan);
}

bool plan_report_write(struct buffer *out, const struct plan_report *report, struct arena *scratch) {
    if (report->format == REPORT_JSON)
        return write_json(out, report, scratch);
    struct sheet sheet = words_sheet(out, scratch, report->format, report->look);
    sheet_heading(&sheet, 1, "Plan: %s", sheet_quote(&sheet, report->file, strlen(report->file)));
    if (report->n_devices == 0)
        sheet_say(&sheet, "%s", "The file holds no device.");
    for (uint32_t i = 0; i < report->n_devices; i++) {
        const struct plan *plan = plan_at(report, i);
        if (plan == NULL)
            return false;
        device_write(&sheet, plan);
    }
    return !out->failed;
}

static void together_answer(struct sheet *sheet, const struct plan_together *together) {
    const struct plan_need *least = plan_need_best(together->need, together->n_needs),
                           *recorded = &together->need[0];
    const char *needs = fine(sheet, least->peak_bytes), *now = fine(sheet, recorded->peak_bytes);
    const char *in = together->budget_bytes != 0 ? fine(sheet, together->budget_bytes) : "";
    if (together->budget_bytes == 0)
        sheet_say(sheet,
                  "[model] One setting for all of them: %s; it needs %s reserved at most instead of %s.",
                  least->settings, needs, now);
    else if (recorded->served)
        sheet_say(sheet, "All are served in %s as recorded.", in);
    else if (least->served)
        sheet_say(sheet,
                  "[model] One setting for all of them: %s; served in %s; without a limit %s reserved at "
                  "most instead of %s.",
                  least->settings, in, needs, now);
    else
        sheet_say(
            sheet,
            "[model] No setting serves all of them in %s. The least without a limit: %s, %s reserved at "
            "most instead of %s.",
            in, least->settings, needs, now);
}

static bool together_json(struct buffer *out, const struct plan_together *together) {
    struct json_writer json = json_document(out, 1);
    json_text(&json, "file", together->file[0]);
    json_text(&json, "fingerprint", together->fingerprint);
    json_array(&json, "files", JSON_LINES);
    for (uint32_t i = 0; i < together->n_files; i++)
        json_text(&json, NULL, together->file[i]);
    json_end(&json);
    json_array(&json, "devices", JSON_COMPACT);
    json_end(&json);
    json_array(&json, "together", JSON_LINES);
    for (uint32_t i = 0; i < together->n_needs; i++) {
        const struct plan_need *candidate = &together->need[i];
        json_object(&json, NULL, JSON_COMPACT);
        json_text(&json, "settings", candidate->settings);
        json_u64(&json, "peak_reserved_bytes", candidate->peak_bytes);
        if (together->budget_bytes != 0)
            json_bool(&json, "served", candidate->served);
        else
            json_null(&json, "served");
        json_end(&json);
    }
    json_end(&json);
    return json_document_end(&json);
}

bool plan_together_write(struct buffer *out, const struct plan_together *together, enum report_format format,
                         struct arena *scratch) {
    static const char *const headings[] = {"Settings", "Reserved at most", "Served", NULL};
    if (format == REPORT_JSON)
        return together_json(out, together);
    struct sheet sheet = words_sheet(out, scratch, format, (struct text_look){0});
    sheet_heading(&sheet, 1, "Plan: %" PRIu32 " recordings together", together->n_files);
    if (together->n_needs == 0) {
        sheet_say(&sheet, "None of them can be replayed: nothing is planned.");
        return !out->failed;
    }
    together_answer(&sheet, together);
    sheet_table(&sheet, headings, "lrl");
    for (uint32_t i = 0; i < together->n_needs; i++) {
        const struct plan_need *candidate = &together->need[i];
        SHEET_CELLS(&sheet, candidate->settings, fine(&sheet, candidate->peak_bytes),
                    together->budget_bytes == 0 ? "-"
                    : candidate->served         ? "all"
                                                : "not all");
    }
    sheet_table_end(&sheet);
    sheet_point(&sheet, "For several recordings, strata plan compares only settings, by the most that any of "
                        "their devices needs. -d N takes one device of each.");
    return !out->failed;
}
