#include "render/words/plan.h"

#include "base/numbers.h"
#include "layout/site.h"

struct figure plan_bytes(uint64_t bytes) {
    return bytes < GIB || bytes > UINT64_MAX / 200 ? format_bytes(bytes)
                                                   : format_bytes_in(bytes, format_unit(GIB));
}

/* Where the unit of a figure begins. */
static uint32_t unit_at(const struct figure *figure) {
    uint32_t n = word_length(figure->text);
    while (n > 0 && figure->text[n - 1] != ' ')
        n--;
    return n;
}

void plan_words_range(struct words *words, uint64_t least, uint64_t most) {
    struct figure low = plan_bytes(least), high = plan_bytes(most);
    uint32_t low_unit = unit_at(&low), high_unit = unit_at(&high);
    bool same_unit = text_is(word_text(low.text + low_unit), high.text + high_unit);
    if (same_unit && text_is(word_text(low.text), high.text)) {
        words_say(words, high.text);
        return;
    }
    words_add(words, (struct text){(const uint8_t *)low.text,
                                   same_unit && low_unit != 0 ? low_unit - 1 : word_length(low.text)});
    words_say(words, " to ");
    words_say(words, high.text);
}

/* ---- changes ---- */

/* Writes a call site between two texts; nothing for frame 0. */
static void site_say(struct words *words, const struct plan *plan, const char *before, uint32_t frame,
                     const char *after) {
    char text[512];
    if (frame == 0)
        return;
    (void)site_text(plan->program->trace, frame, text, sizeof text);
    words_say(words, before);
    words_say(words, text);
    words_say(words, after);
}

/* Writes "all 4 blocks" or "2 of 4 blocks". */
static void blocks_say(struct words *words, const char *before, uint32_t n, uint32_t of) {
    words_say(words, n < of ? before : "");
    WORDS_TELL(words, n < of ? "%d of %d blocks" : "all %1d blocks", n, of);
}

void plan_words_title(struct words *words, const struct plan *plan, const struct plan_change *change,
                      uint32_t n_blocks) {
    static const char *const titles[] = {[PLAN_FUSED] = "optimizer: fused or foreach=False",
                                         [PLAN_EIGHT_BIT] = "optimizer state in 8 bits",
                                         [PLAN_OFFLOAD] = "optimizer state on the host",
                                         [PLAN_MICRO_BATCH] = "two half batches",
                                         [PLAN_NO_GRAD] = "no graph: torch.no_grad()"};
    switch ((enum plan_kind)change->kind) {
    case PLAN_SETTINGS: words_say(words, change->id + word_length("settings:")); break;
    case PLAN_FINDING:
        site_say(words, plan, "", change->frame, ": ");
        words_say(words, finding_change((enum finding_kind)change->finding->kind));
        words_say(words, change->finding->confidence == CONFIDENCE_POSSIBLE ? " (possible)" : "");
        break;
    case PLAN_CHECKPOINT:
        words_say(words, "checkpoint ");
        blocks_say(words, "", n_blocks, change->n_blocks);
        break;
    default: words_say(words, titles[change->kind]); break;
    }
}

void plan_words_set_title(struct words *words, const struct plan *plan, const struct plan_set *set) {
    for (uint32_t i = 0; i < set->n_changes; i++) {
        words_say(words, i > 0 ? " and " : "");
        plan_words_title(words, plan, &plan->change[set->change[i]], set->n_blocks);
    }
}

/* A call site of the blocks in the forward that has the most blocks; 0: not known. */
static uint32_t blocks_site(const struct plan *plan) {
    const struct forward *most = NULL;
    for (uint32_t i = 0; i < plan->blocks.n_forwards; i++)
        if (most == NULL || plan->blocks.forward[i].n_blocks > most->n_blocks)
            most = &plan->blocks.forward[i];
    return most != NULL ? most->site : 0;
}

void plan_words_change(struct words *words, const struct plan *plan, const struct plan_change *change,
                       uint32_t n_blocks) {
    if (change->kind == PLAN_FUSED) {
        words_say(words, "fused=True or foreach=False for the optimizer");
        site_say(words, plan, " (", change->frame, ")");
        return;
    }
    plan_words_title(words, plan, change, n_blocks);
    if (change->kind == PLAN_CHECKPOINT)
        site_say(words, plan, " of ", blocks_site(plan), "");
}

void plan_words_code(struct words *words, const struct plan *plan, const struct plan_change *change,
                     uint32_t n_blocks) {
    static const char *const codes[] = {
        [PLAN_FUSED] = "fused=True",
        [PLAN_EIGHT_BIT] = "bitsandbytes.optim.AdamW8bit(model.parameters())",
        [PLAN_OFFLOAD] =
            "torchao.optim.CPUOffloadOptimizer(model.parameters(), torch.optim.AdamW, fused=True)",
        [PLAN_MICRO_BATCH] = "(loss / 2).backward()  # for each half of the batch, then one optimizer.step()",
        [PLAN_NO_GRAD] = "with torch.no_grad():"};
    char settings[ALLOCATOR_SETTINGS_TEXT], code[FINDING_TEXT_NBYTES];
    switch ((enum plan_kind)change->kind) {
    case PLAN_SETTINGS:
        allocator_settings_print(&change->settings, settings);
        words_say(words, "export ");
        words_add(words, allocator_variable(plan->recorded->trace));
        words_say(words, "=");
        words_say(words, settings[0] != '\0' ? settings : "expandable_segments:False");
        break;
    case PLAN_FINDING:
        (void)finding_code(plan->verdicts, change->finding, code, sizeof code);
        words_say(words, code);
        break;
    case PLAN_CHECKPOINT:
        words_say(words, "x = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)");
        if (n_blocks < change->n_blocks)
            blocks_say(words, "  # first ", n_blocks, change->n_blocks);
        break;
    default: words_say(words, codes[change->kind]); break;
    }
}

void plan_words_cost(struct words *words, const struct plan *plan, enum plan_cost cost, uint32_t n_blocks) {
    static const char *const texts[] = {"nothing", "time", "precision", "transfers"};
    uint32_t share = n_blocks != 0 ? plan_share(plan, n_blocks) : UINT32_MAX;
    if (cost == COST_TIME && share != UINT32_MAX)
        WORDS_TELL(words, "%d % ", (share + 5000) / 10000);
    words_say(words, texts[cost]);
}

void plan_words_loss(struct words *words, const struct plan *plan) {
    const struct plan_loss *loss = &plan->loss;
    if (!loss->known)
        return;
    words_say(words, "The loss");
    site_say(words, plan, " (", plan->verdicts->timeline->site[loss->stack], ")");
    words_say(words, " in parts of its rows, in use (estimate): ");
    for (uint32_t i = 0; i < PLAN_LOSS_WAYS; i++) {
        WORDS_TELL(words, i > 0 ? "; %d parts " : "%d parts ", plan_loss_parts[i]);
        plan_words_range(words, loss->live_min[i], loss->live_max[i]);
    }
    words_say(words, ". Not planned: a recording does not show whether backward runs on each part before the "
                     "next is made.");
}

/* ---- the answer ---- */

void plan_words_set(struct words *words, const struct plan *plan, const struct plan_set *set) {
    static const char *const aim[] = {[PLAN_OF_RECORDING] = "To fit: ",
                                      [PLAN_OF_STEP] = "To finish the step: ",
                                      [PLAN_OF_REQUEST] = "To get past this request: "};
    static const char *const costs[] = {", both without cost", ", at the cost of time",
                                        ", at the cost of precision", ", at the cost of transfers"};
    words_say(words, set == plan->plans ? aim[plan->scope] : "With fewer changes, dearer ones: ");
    if (set->n_changes == 1)
        plan_words_change(words, plan, &plan->change[set->change[0]], set->n_blocks);
    else {
        words_say(words, "two changes");
        words_say(words, costs[set->cost]);
    }
    if (set == plan->plans && plan->scope == PLAN_OF_REQUEST)
        words_say(words, "; the rest of its step is not recorded");
}

/* Writes "18.5 GiB" or "7 GiB", as a person would. */
static void asked_say(struct words *words, uint64_t bytes) {
    struct figure figure = plan_bytes(bytes);
    uint32_t unit = unit_at(&figure), n = unit - 1;
    while (n > 1 && figure.text[n - 1] == '0' && bytes >= GIB)
        n--;
    n -= figure.text[n - 1] == '.';
    words_add(words, (struct text){(const uint8_t *)figure.text, n});
    words_say(words, " ");
    words_say(words, figure.text + unit);
}

void plan_words_budget(struct words *words, const struct plan *plan) {
    words_say(words, plan_bytes(plan->budget_bytes).text);
    if (plan->asked_bytes == 0 || plan->keep_bytes == 0)
        return;
    words_say(words, " (");
    asked_say(words, plan->asked_bytes);
    words_say(words, " less ");
    if (plan->keep_percent != 0)
        WORDS_TELL(words, "%d %", plan->keep_percent);
    else
        asked_say(words, plan->keep_bytes);
    words_say(words, ")");
}

static void served_say(struct words *words, const struct plan *plan) {
    const struct plan_change *without = NULL;
    words_say(words, plan->scope == PLAN_OF_REQUEST ? "The request that failed is served as it is"
                                                    : "It is served as it is");
    if (plan->as_recorded.fits == PLAN_YES)
        return;
    WORDS_TELL(words, " (with %n %(retry|retries))", plan->as_recorded.n_retries);
    for (uint32_t i = plan->n_changes; i-- > 0;)
        if (plan->change[i].figures.fits == PLAN_YES && plan->change[i].cost == COST_NONE)
            without = &plan->change[i];
    if (without == NULL)
        return;
    words_say(words, without->kind == PLAN_SETTINGS ? "; without any under " : "; without any with ");
    plan_words_change(words, plan, without, 0);
}

void plan_words_answer(struct words *words, const struct plan *plan) {
    if (plan->budget_bytes == 0 || plan->replay->grade == REPLAY_REFUSED)
        return;
    if (plan->as_recorded.fits == PLAN_YES || plan->as_recorded.fits == PLAN_WITH_RETRIES)
        served_say(words, plan);
    else if (plan->n_plans != 0)
        plan_words_set(words, plan, &plan->plans[0]);
    else if (plan->has_nearest) {
        words_say(words, "No change that this recording shows is enough in ");
        words_say(words, plan_bytes(plan->budget_bytes).text);
        words_say(words, ", by itself or with one other");
        if (plan->nearest.n_changes != 0) {
            words_say(words, ": with ");
            plan_words_set_title(words, plan, &plan->nearest);
        }
        if (plan->lacking_bytes != 0) {
            WORDS_TELL(words, plan->nearest.n_changes != 0 ? " %b are lacking" : ": %b are lacking",
                       plan->lacking_bytes);
        } else
            words_say(words, ", what is in use would fit, but fragmentation adds too much");
    }
}

void plan_words_setting(struct words *words, const struct plan *plan) {
    const struct plan_change *best = plan_best_setting(plan);
    if (best == NULL)
        return;
    plan_words_title(words, plan, best, 0);
    WORDS_TELL(words, ": %b reserved instead of %b", best->figures.reserved_max,
               plan->as_recorded.reserved_max);
}

/* What is worth a plan of the settings alone: memory did not run out, but much of what was reserved was never in use. */
static bool settings_are_asked(const struct timeline *timeline) {
    const struct device_trace *device = timeline->device;
    return device->n_events != 0 && device->n_events <= PLAN_SETTINGS_EVENTS_MAX &&
           device->ordinal != ORDINAL_HOST && plan_saves_much(timeline->reserved_peak, timeline->peak_bytes);
}

/* Says the answer, or the setting that saves much, and what to paste for it if that is one change. */
static void answer_say(struct plan_said *said, struct words *words, const struct plan *plan, bool whole) {
    const struct plan_set *set = whole && plan->n_plans != 0 ? &plan->plans[0] : NULL;
    const struct plan_change *change = whole ? NULL : plan_best_setting(plan);
    struct words code = {said->code, sizeof said->code, 0};
    (whole ? plan_words_answer : plan_words_setting)(words, plan);
    said->of_setting = change != NULL;
    if (set != NULL && words->nbytes != 0) {
        said->certainty = plan_certainty_name[set->certainty];
        change = set->n_changes == 1 ? &plan->change[set->change[0]] : NULL;
    } else if (change != NULL)
        said->certainty = plan_certainty_name[change->certainty];
    if (change != NULL)
        plan_words_code(&code, plan, change, set != NULL ? set->n_blocks : 0);
    (void)words_end(&code);
}

bool plan_said_find(struct plan_said *said, const struct timeline *timeline, const struct plan_request *asked,
                    plan_teller *tell, struct arena *scratch) {
    struct words words = {said->text, sizeof said->text, 0};
    const struct device_trace *device = timeline->device;
    struct arena own;
    *said = (struct plan_said){.text = ""};
    if (asked == NULL || !trace_has_segments(timeline->trace))
        return true;
    bool whole = plan_is_asked(device, asked);
    if (!whole && !settings_are_asked(timeline))
        return true;
    struct plan plan = {.left_out = device->n_events > REPLAY_EVENTS_AT_ONCE};
    struct plan_request request = *asked;
    request.work_most = plan_work_beside(device);
    request.without |= whole ? 0 : plan_settings_alone;
    arena_init(&own, arena_share(scratch), SIZE_MAX);
    bool done = plan.left_out || plan_of_timeline(&plan, timeline, &request, &own);
    if (done && plan.left_out)
        words_say(&words,
                  whole ? "Finding what makes so large a recording fit takes long: run strata plan" : "");
    else if (done && tell != NULL)
        done = tell(&words, &plan, &own);
    else if (done)
        answer_say(said, &words, &plan, whole);
    (void)words_end(&words);
    arena_release(&own);
    return done;
}
