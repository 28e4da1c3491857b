/* Writes the out-of-memory events: the allocator's state at each, and advice. */
#include "base/format.h"
#include "base/words.h"
#include "render/report/report_sites.h"

#include <string.h>

enum {
    OOM_GROUPS_SHOWN = 5, /* number of groups that held the memory then */
};

/* ---- the state ---- */

bool report_oom_of(struct report_oom *oom, const struct report_device *report,
                   const struct oom_event *event) {
    uint32_t i = (uint32_t)(event - report->device->ooms);
    *oom = (struct report_oom){.event = event,
                               .in_full = i < REPORT_OOMS_IN_FULL || i == report->device->n_ooms - 1,
                               .pending_bytes = report->oom_ground->pending_bytes[i]};
    oom_state_of(&oom->state, &report->timeline, event);
    return !oom->in_full || oom_free_blocks_of(&oom->state, report->device, report->arena);
}

/* ---- words ---- */

static const char *known_text(bool told, bool on) {
    return !told ? "not in the file" : on ? "on" : "off";
}

static const char *split_text(struct sheet *sheet, const struct allocator_settings *settings) {
    if (!settings->told.max_split)
        return known_text(false, false);
    if (settings->max_split_bytes == ALLOCATOR_UNLIMITED)
        return "unlimited";
    return sheet_format(sheet, "%s", format_bytes(settings->max_split_bytes).text);
}

static void settings_row(struct sheet *sheet, const struct report_device *report) {
    const struct allocator_settings *settings = &report->oom_ground->settings;
    bool collects = settings->told.collect && settings->collect_ppm != 0;
    if (report->trace->settings == 0)
        return;
    sheet_cell(sheet, "Allocator settings");
    sheet_cell(sheet, "expandable_segments %s, max_split_size_mb %s, garbage_collection_threshold %s",
               known_text(settings->told.expandable, settings->expandable), split_text(sheet, settings),
               collects ? sheet_format(sheet, "%.2f", settings->collect_ppm / 1e6)
                        : known_text(settings->told.collect, false));
}

/* ---- advice ---- */

#define FIRST_TO_TRY "is the first thing to try (a rule of thumb)."
#define NEARLY_ALL \
    "makes nearly all of that usable, as a rule of thumb, and %1b would have been left to save elsewhere."
#define UNSAID                                                                                   \
    "%0b were reserved but not in use. If expandable segments are off (the file does not say), " \
    "%V=expandable_segments:True "
#define OFF                                                               \
    "Expandable segments are off, and %0b were reserved but not in use: " \
    "%V=expandable_segments:True "
#define MODELLED                                                                                    \
    "Expandable segments were off. By the allocator's model, with %V=expandable_segments:True the " \
    "recorded sequence, this request included, would have "
#define UNUSED "%0b were reserved but not in use, more than was requested, "

/* With the marks of words_tell: figures 0 to 2 are the advice's bytes, %V is the variable that sets up the allocator, %U
 * the word for the loop's turns, %D the device. */
static const char *const sentences[OOM_ADVICE_KINDS] = {
    [OOM_ADVICE_NOTHING_IN_USE] = "Nothing was allocated by this process at that moment: %0b requested, "
                                  "%1b free on the %D.",
    [OOM_ADVICE_ALL_ROUNDING] = UNUSED "but nothing of that is in free blocks: rounding up and remainders of "
                                       "blocks take it.",
    [OOM_ADVICE_FREE_PARTS] =
        UNUSED "but %1b of that is in free blocks: rounding up and remainders of blocks take the rest.",
    [OOM_ADVICE_FREE_PARTS_AT_MOST] = UNUSED "but at most %1b of that is in free blocks: rounding up and "
                                             "remainders of blocks take the rest.",
    [OOM_ADVICE_NO_BLOCK_LARGE] = UNUSED "and no free block among them was large enough.",
    [OOM_ADVICE_NO_BLOCK_SERVES] =
        UNUSED "and no free block of its pool, stream and size class was large enough.",
    [OOM_ADVICE_FREE_ENOUGH] = "%0b were free on the %D, enough for this request. So something else "
                               "refused it: a limit set for "
                               "the process (torch.cuda.set_per_process_memory_fraction), or the driver.",
    [OOM_ADVICE_REQUEST_TOO_LARGE] =
        "This one request is more than all that the process held and the %D had "
        "free together (%0b): freeing everything else would not have been enough.",
    [OOM_ADVICE_LACKING] = "Even with every free byte it would have been %0b short.",
    [OOM_ADVICE_NOT_IN_ONE_PIECE] = "What was free on the %D and what was reserved but not in use would have "
                                    "been enough together (%0b), but not in one piece.",
    [OOM_ADVICE_FITS] =
        MODELLED "fitted into %0b of the %1b that the process had; what the program would do next is not "
                 "recorded.",
    [OOM_ADVICE_FITS_FROM] = MODELLED "needed %0b, %2b more than there was.",
    [OOM_ADVICE_OFF] = OFF FIRST_TO_TRY,
    [OOM_ADVICE_OFF_LACKING] = OFF NEARLY_ALL,
    [OOM_ADVICE_UNSAID] = UNSAID FIRST_TO_TRY,
    [OOM_ADVICE_UNSAID_LACKING] = UNSAID NEARLY_ALL,
    [OOM_ADVICE_ON_ALREADY] =
        "Expandable segments are on already; the %0b that were reserved but not in use are free ends and "
        "gaps of these, what other streams or private pools keep, and rounding.",
    [OOM_ADVICE_SPLIT_UNSET] =
        "%0b are free in parts of segments that are otherwise in use. Where expandable "
        "segments cannot be used, max_split_size_mb keeps large blocks whole.",
    [OOM_ADVICE_PRIVATE_POOLS] =
        "%0b of the free memory belong to private pools (CUDA graphs, MemPool), which nothing else can use.",
    [OOM_ADVICE_PENDING] =
        "%0b had been freed and waited for other streams (record_stream): synchronizing them "
        "earlier gives it back.",
    [OOM_ADVICE_ROUNDING] =
        "Rounding up and remainders of blocks that were not split off take %0b, as much as was "
        "requested: roundup_power2_divisions or many allocations of odd sizes cause that.",
    [OOM_ADVICE_HELD_BY_OTHERS] = "%0b of the %D's %1b are neither free nor reserved here: CUDA's context, "
                                  "libraries or other processes hold them.",
    [OOM_ADVICE_GROWTH] = "What is carried over from %U to %U has risen by %0b, %1b more each %U: "
                          "see What to know.",
};

struct oom_telling {
    const struct report_device *report;
    struct words words;
};

static bool advice_mark(void *context, char mark) {
    struct oom_telling *telling = context;
    const struct report_device *report = telling->report;
    switch (mark) {
    case 'V': words_add(&telling->words, allocator_variable(report->trace)); return true;
    case 'U': words_say(&telling->words, turns_unit(&report->verdicts.turns)); return true;
    case 'D': words_say(&telling->words, device_noun(report->trace, report->device)); return true;
    default: return false;
    }
}

uint32_t report_oom_advice(const struct report_device *report, const struct report_oom *oom,
                           struct report_advice advice[REPORT_ADVICE_MAX]) {
    struct oom_advice found[OOM_ADVICE_MOST];
    uint32_t count = oom_advise(report->oom_ground, oom->event, &oom->state, found);
    for (uint32_t i = 0; i < count; i++) {
        struct oom_telling telling = {report, {advice[i].text, sizeof advice[i].text, 0}};
        words_tell(&telling.words, sentences[found[i].kind], found[i].bytes, advice_mark, &telling);
        (void)words_end(&telling.words);
        advice[i].code = oom_advice_code[found[i].kind];
        advice[i].short_bytes = found[i].kind == OOM_ADVICE_FITS_FROM ? found[i].bytes[2] : 0;
    }
    /* the plan is made for the first event, and the page shows the last */
    if (report->plan.text[0] == '\0' || (oom->event != report->device->ooms &&
                                         oom->event != report->device->ooms + report->device->n_ooms - 1))
        return count;
    advice[count].code = "plan";
    advice[count].short_bytes = 0;
    struct words words = {advice[count].text, sizeof advice[count].text, 0};
    if (report->plan.certainty != NULL) {
        words_say(&words, "[");
        words_say(&words, report->plan.certainty);
        words_say(&words, "] ");
    }
    words_say(&words, report->plan.text);
    words_say(&words, ".");
    (void)words_end(&words);
    return count + 1;
}

bool report_reserved_known(const struct device_trace *device) {
    return device->n_segments != 0 || device->n_segment_events != 0;
}

/* ---- text ---- */

static void bytes_row(struct sheet *sheet, const char *name, uint64_t bytes) {
    SHEET_CELLS(sheet, name, words_bytes(sheet, bytes));
}

/* Writes a row of reserved bytes: without the final segments a lower bound, without any segments "not known". */
static void reserved_row(struct sheet *sheet, const struct report_device *report, const char *name,
                         uint64_t bytes) {
    sheet_cell(sheet, "%s", name);
    if (report_reserved_known(report->device))
        sheet_cell(sheet, "%s%s", report->device->n_segments == 0 ? "at least " : "",
                   words_bytes(sheet, bytes));
    else
        sheet_cell(sheet, "unknown: the file holds no segments");
}

static void free_blocks_rows(struct sheet *sheet, const struct report_oom *oom) {
    const struct free_blocks *all = &oom->state.free_blocks.all;
    if (!oom->state.free_blocks_known)
        return;
    sheet_cell(sheet, "Largest free block");
    if (all->n_free_blocks == 0)
        sheet_cell(sheet, "none");
    else
        sheet_cell(sheet, oom->state.at_end ? "%s of %s in %s" : "at most %s of %s in %s",
                   words_bytes(sheet, all->largest_bytes), format_bytes(all->free_bytes).text,
                   words_counted(sheet, all->n_free_blocks, "free block"));
    if (oom->state.at_end)
        bytes_row(sheet, "Rounding, remainders", free_blocks_rounding(all));
}

static void state_table(struct sheet *sheet, const struct report_device *report,
                        const struct report_oom *oom) {
    static const char *const headings[] = {"", "", NULL};
    sheet_table(sheet, headings, "ll");
    bytes_row(sheet, "Requested", oom->event->size);
    bytes_row(sheet, sheet_format(sheet, "Free on the %s", device_noun(report->trace, report->device)),
              oom->event->device_free);
    reserved_row(sheet, report, "Reserved", oom->state.reserved_bytes);
    bytes_row(sheet, "In use", oom->state.live_bytes);
    if (oom->pending_bytes != 0)
        bytes_row(sheet, "Of it waiting for other streams", oom->pending_bytes);
    reserved_row(sheet, report, "Reserved, not in use", oom->state.unused_bytes);
    free_blocks_rows(sheet, oom);
    settings_row(sheet, report);
    sheet_table_end(sheet);
}

static void free_blocks_write(struct sheet *sheet, const struct report_device *report,
                              const struct report_oom *oom) {
    if (!oom->state.free_blocks_known)
        return;
    sheet_say(sheet,
              "Its free blocks, of which each serves only its own pool, stream and class of requests:");
    words_free_blocks(sheet, report->device, &oom->state.free_blocks);
    if (!oom->state.at_end)
        sheet_say(sheet, "These are upper bounds: the recording went on and its final segments show a later "
                         "state, so they are the gaps between what was in use at the event. A block may have "
                         "been larger than its request.");
}

static void oom_write(struct sheet *sheet, const struct report_device *report,
                      const struct oom_event *event) {
    struct report_oom oom;
    struct report_advice advice[REPORT_ADVICE_MAX];
    if (!report_oom_of(&oom, report, event)) {
        sheet->out->failed = true;
        return;
    }
    uint32_t n = report_oom_advice(report, &oom, advice);
    sheet_say(sheet, "Out of memory %s:", words_moment(sheet, &report->timeline, oom.state.moment));
    state_table(sheet, report, &oom);
    if (event->stack != 0)
        sheet_say(sheet, "Requested by %s.",
                  words_site(sheet, report->trace, report->timeline.site[event->stack]));
    free_blocks_write(sheet, report, &oom);
    if (report_shown(report)->live[oom.state.moment] != 0) {
        sheet_say(sheet, "What held the memory:");
        report_sites_table(sheet, report, oom.state.moment, OOM_GROUPS_SHOWN, oom.state.live_bytes);
    }
    if (n != 0)
        sheet_say(sheet, "What follows:");
    for (uint32_t i = 0; i < n; i++)
        sheet_point(sheet, "%s", advice[i].text);
}

void report_ooms(struct sheet *sheet, const struct report_device *report) {
    uint32_t count = report->device->n_ooms;
    if (count == 0)
        return;
    sheet_heading(sheet, 3, "OOM");
    for (uint32_t i = 0; i < count && i < REPORT_OOMS_IN_FULL; i++)
        oom_write(sheet, report, &report->device->ooms[i]);
    if (count > REPORT_OOMS_IN_FULL + 1)
        sheet_say(sheet, "Not listed: %s before the last one; --json has them all.",
                  words_counted(sheet, count - REPORT_OOMS_IN_FULL - 1, "more out-of-memory event"));
    if (count > REPORT_OOMS_IN_FULL)
        oom_write(sheet, report, &report->device->ooms[count - 1]);
}
