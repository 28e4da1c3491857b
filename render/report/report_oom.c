/* Out of memory: the state at that moment, and what follows from it. */
#include "base/search.h"
#include "render/report/report_sites.h"

#include "analysis/model/whatif.h"
#include "base/bytes.h"
#include "base/format.h"
#include "base/numbers.h"
#include "layout/site.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum known { UNKNOWN, OFF, ON };

/* What allocator_settings says. */
struct known_settings {
    enum known expandable;
    enum known limit; /* max_split_size_mb */
    uint64_t split_bytes;
    enum known collects; /* garbage_collection_threshold */
    double threshold;
    bool no_memory; /* to read them */
};

/* What is needed of every event, computed once. */
struct report_oom_ground {
    struct known_settings allocator;
    uint64_t risen_bytes, slope_bytes; /* of all call sites that grow */
    uint64_t *pending_bytes;           /* [n_ooms] freed at that moment and waiting for other streams */
    bool modelled;                     /* the next two are known, of the first event */
    uint64_t budget_bytes;             /* what the process had of the device */
    uint64_t expandable_bytes;         /* the least in which all would have fitted with expandable segments */
};

/* A model takes some eighty replays: of larger recordings strata whatif tells as much, on demand. */
enum { MODELLED_EVENTS_MAX = 50000 };

enum {
    OOM_GROUPS_SHOWN = 5, /* what held the memory then */
};

/* ---- the state ---- */

static bool oom_in_full(const struct device_trace *device, const struct oom_event *event) {
    uint32_t i = (uint32_t)(event - device->ooms);
    return i < REPORT_OOMS_IN_FULL || i == device->n_ooms - 1;
}

bool report_oom_of(struct report_oom *oom, const struct report_device *report,
                   const struct oom_event *event) {
    *oom =
        (struct report_oom){.event = event,
                            .in_full = oom_in_full(report->device, event),
                            .pending_bytes = report->oom_ground->pending_bytes[event - report->device->ooms]};
    oom_state_of(&oom->state, &report->timeline, event);
    return !oom->in_full || oom_free_blocks_of(&oom->state, report->device, report->arena);
}

/* ---- settings ---- */

static void allocator_split(struct known_settings *allocator, const cJSON *split) {
    if (!cJSON_IsNumber(split))
        return;
    /* -1 and 2^64 - 1 both stand for none. */
    allocator->limit = split->valuedouble > 0 && split->valuedouble < 1e18 ? ON : OFF;
    if (allocator->limit == ON)
        allocator->split_bytes = (uint64_t)split->valuedouble;
}

/* What PYTORCH_CUDA_ALLOC_CONF says, where the recorder wrote it down as it is. */
static enum known conf_expandable(const cJSON *settings) {
    static const char *const keys[] = {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const cJSON *conf = cJSON_GetObjectItemCaseSensitive(settings, keys[i]);
        const char *text = cJSON_IsString(conf) ? conf->valuestring : "";
        if (strstr(text, "expandable_segments:True") != NULL)
            return ON;
        if (strstr(text, "expandable_segments:False") != NULL)
            return OFF;
    }
    return UNKNOWN;
}

static struct known_settings allocator_of(const struct trace *trace, const struct device_trace *device) {
    struct known_settings allocator = {0};
    uint32_t nbytes;
    const uint8_t *text = trace_string(trace, trace->settings, &nbytes);
    errno = 0;
    cJSON *settings = cJSON_ParseWithLength((const char *)text, nbytes);
    allocator.no_memory = settings == NULL && errno == ENOMEM;
    const cJSON *flag = cJSON_GetObjectItemCaseSensitive(settings, "expandable_segments");
    const cJSON *threshold = cJSON_GetObjectItemCaseSensitive(settings, "garbage_collection_threshold");
    allocator.expandable = cJSON_IsBool(flag) ? (cJSON_IsTrue(flag) ? ON : OFF) : conf_expandable(settings);
    if (allocator.expandable == UNKNOWN && device_is_expandable(device))
        allocator.expandable = ON;
    allocator_split(&allocator, cJSON_GetObjectItemCaseSensitive(settings, "max_split_size"));
    if (cJSON_IsNumber(threshold)) {
        allocator.collects = threshold->valuedouble > 0 ? ON : OFF;
        allocator.threshold = threshold->valuedouble;
    }
    cJSON_Delete(settings);
    return allocator;
}

/* ---- what is computed once ---- */

/* Index of the first event from which on `moment` has come. */
static uint32_t oom_from(const struct device_trace *device, uint32_t moment) {
    uint32_t low = 0, high = device->n_ooms;
    SEARCH(low, high, i, device->ooms[i].event + 1 < moment);
    return low;
}

/* Changes first, then their running sum, in one array. */
static bool pending_find(struct report_oom_ground *ground, const struct report_device *report) {
    const struct device_trace *device = report->device;
    const struct allocations *allocations = &device->allocations;
    uint64_t n = (uint64_t)device->n_ooms + 1, *pending = arena_column(report->arena, n, sizeof *pending);
    ground->pending_bytes = pending;
    if (pending == NULL)
        return false;
    bytes_zero(pending, n * sizeof *pending);
    for (uint32_t i = 0; i < allocations->count; i++) {
        if (allocations->request[i] >= allocations->death[i])
            continue;
        pending[oom_from(device, allocations->request[i])] += allocations->size[i];
        pending[oom_from(device, allocations->death[i])] -= allocations->size[i];
    }
    for (uint32_t i = 1; i < device->n_ooms; i++)
        pending[i] += pending[i - 1];
    return true;
}

bool report_ooms_prepare(struct report_device *report) {
    if (report->device->n_ooms == 0)
        return true;
    struct report_oom_ground *ground = arena_alloc(report->arena, sizeof *ground);
    report->oom_ground = ground;
    if (ground == NULL || !pending_find(ground, report))
        return false;
    ground->allocator = allocator_of(report->trace, report->device);
    for (uint32_t i = 0; i < report->verdicts.findings.count; i++) {
        const struct finding *finding = &report->verdicts.findings.finding[i];
        if (finding->kind != FINDING_LEAK || finding->severity == SEVERITY_INFO)
            continue;
        ground->risen_bytes += finding->figure[0];
        ground->slope_bytes += finding->per_bytes;
    }
    return !ground->allocator.no_memory;
}

/* The scenario of expandable segments, which stands third in the table. */
static struct whatif_scenario *expandable_scenario(struct whatif *whatif) {
    for (uint32_t i = 0; i < whatif->n_scenarios; i++)
        if (strcmp(whatif->scenario[i].name, "expandable_segments:True") == 0)
            return &whatif->scenario[i];
    return NULL;
}

bool report_ooms_model(struct report_device *report) {
    struct report_oom_ground *ground = report->oom_ground;
    struct whatif_request request = {.find_smallest = true, .leave_packing = true};
    struct program program;
    if (ground == NULL || !report->replayed || report->replay.grade != REPLAY_EXACT ||
        report->replay.settings.expandable || report->device->n_events > MODELLED_EVENTS_MAX)
        return true;
    struct whatif *whatif = arena_alloc(report->arena, sizeof *whatif);
    if (whatif == NULL || !program_init(&program, report->trace, report->device, report->arena) ||
        !whatif_init(whatif, &program, &request, report->arena))
        return false;
    struct whatif_scenario *expandable = expandable_scenario(whatif);
    if (expandable == NULL || whatif->budget.at_most_bytes == 0)
        return true;
    if (!whatif_solve(whatif, (uint32_t)(expandable - whatif->scenario), report->arena))
        return false;
    ground->modelled = !expandable->endless;
    ground->budget_bytes = whatif->budget.at_most_bytes;
    ground->expandable_bytes = expandable->smallest_budget_bytes;
    ARENA_DROP(report->arena, program.op);
    return true;
}

/* ---- words ---- */

static const char *known_text(enum known known) {
    static const char *const texts[] = {[UNKNOWN] = "not in the file", [OFF] = "off", [ON] = "on"};
    return texts[known];
}

static const char *split_text(struct sheet *sheet, const struct known_settings *allocator) {
    if (allocator->limit == ON)
        return sheet_format(sheet, "%s", format_bytes(allocator->split_bytes).text);
    return allocator->limit == OFF ? "unlimited" : known_text(UNKNOWN);
}

static void settings_row(struct sheet *sheet, const struct report_device *report) {
    const struct known_settings *allocator = &report->oom_ground->allocator;
    if (report->trace->settings == 0)
        return;
    sheet_cell(sheet, "Allocator settings");
    sheet_cell(sheet, "expandable_segments %s, max_split_size_mb %s, garbage_collection_threshold %s",
               known_text(allocator->expandable), split_text(sheet, allocator),
               allocator->collects == ON ? sheet_format(sheet, "%.2f", allocator->threshold)
                                         : known_text(allocator->collects));
}

/* ---- advice ---- */

/* Free memory and the request are what the file says, of any size. */
static uint64_t sum_of(uint64_t a, uint64_t b) {
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Whether `part` is at least an n-th of the whole. */
static bool is_part(uint64_t part, uint64_t whole, uint64_t n) {
    return part >= whole / n + (whole % n != 0);
}

struct advisor {
    const struct report_device *report;
    const struct report_oom *oom;
    struct known_settings allocator;
    struct report_advice *advice;
    uint32_t count;
};

__attribute__((format(printf, 3, 4))) static void advise(struct advisor *advisor, const char *code,
                                                         const char *format, ...) {
    if (advisor->count == REPORT_ADVICE_MAX)
        return;
    struct report_advice *advice = &advisor->advice[advisor->count++];
    advice->code = code;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(advice->text, sizeof advice->text, format, arguments);
    va_end(arguments);
}

bool report_reserved_known(const struct device_trace *device) {
    return device->n_segments != 0 || device->n_segment_events != 0;
}

/* Without the final segments reserved bytes are a lower bound: what was not in use may have been more. */
static void advise_verdict(struct advisor *advisor) {
    const struct report_oom *oom = advisor->oom;
    uint64_t asked = oom->event->size, in_free = oom->state.free_blocks.all.free_bytes;
    char in_blocks[64] = "nothing";
    if (in_free != 0)
        snprintf(in_blocks, sizeof in_blocks, "%s%s", oom->state.at_end ? "" : "at most ",
                 format_bytes(in_free).text);
    if (oom->state.live_bytes == 0)
        advise(advisor, "nothing_in_use",
               "Nothing was allocated by this process at that moment: %s were asked for, and the device had "
               "%s free.",
               format_bytes(asked).text, format_bytes(oom->event->device_free).text);
    else if (oom->state.unused_bytes >= asked && oom->state.free_blocks_known && in_free < asked)
        advise(advisor, "fragmented",
               "%s were reserved but not in use, more than was asked for, but %s of that is in free blocks: "
               "rounding up and remainders of blocks take %s.",
               format_bytes(oom->state.unused_bytes).text, in_blocks, in_free == 0 ? "it" : "the rest");
    else if (oom->state.unused_bytes >= asked)
        advise(advisor, "fragmented",
               "%s were reserved but not in use, more than was asked for, and no free block among them was "
               "large enough.",
               format_bytes(oom->state.unused_bytes).text);
    else if (!oom->state.reserved_known)
        return;
    else if (asked > sum_of(oom->state.reserved_bytes, oom->event->device_free))
        advise(advisor, "memory_in_use",
               "This one request is more than all that the process held and the device had free together "
               "(%s): freeing everything else would not have been enough.",
               format_bytes(sum_of(oom->state.reserved_bytes, oom->event->device_free)).text);
    else if (oom->state.lacking_bytes > 0)
        advise(advisor, "memory_in_use",
               "The memory was really in use: even if all that was free or reserved but not in use could "
               "serve, %s were lacking.",
               format_bytes(oom->state.lacking_bytes).text);
    else
        advise(advisor, "not_in_one_piece",
               "What was free on the device and what was reserved but not in use would have been enough "
               "together (%s), but not in one piece.",
               format_bytes(sum_of(oom->state.unused_bytes, oom->event->device_free)).text);
}

/* Free blocks are the trouble where they would have been enough, or are more than what was lacking. */
static bool unused_matters(const struct report_oom *oom) {
    return oom->state.unused_bytes > oom->state.lacking_bytes &&
           is_part(oom->state.unused_bytes, oom->event->size, 10);
}

/* What expandable segments would have helped: enough, or what they leave lacking. */
static const char *expandable_hope(const struct report_oom *oom, char text[160]) {
    if (oom->state.lacking_bytes == 0)
        return "is the first thing to try (a rule of thumb)";
    snprintf(
        text, 160,
        "makes nearly all of that usable, as a rule of thumb, and %s would have been left to save elsewhere",
        format_bytes(oom->state.lacking_bytes).text);
    return text;
}

/* What the model says of the first event. False: it says nothing. */
static bool advise_modelled(struct advisor *advisor) {
    const struct report_oom_ground *ground = advisor->report->oom_ground;
    struct figure budget = format_bytes(ground->budget_bytes), least = format_bytes(ground->expandable_bytes);
    if (!ground->modelled || advisor->oom->event != advisor->report->device->ooms)
        return false;
    if (ground->expandable_bytes <= ground->budget_bytes)
        advise(advisor, "enable_expandable_segments",
               "Expandable segments were off. With PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True the "
               "recorded sequence, "
               "this request included, would have fitted into %s of the %s that the process had (model; what "
               "the program "
               "would do next is not recorded).",
               least.text, budget.text);
    else
        advise(advisor, "enable_expandable_segments",
               "Expandable segments were off. With PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True the "
               "recorded sequence, "
               "this request included, would have fitted from %s on: %s more than the %s that the process "
               "had (model).",
               least.text, format_bytes(ground->expandable_bytes - ground->budget_bytes).text, budget.text);
    return true;
}

static void advise_expandable(struct advisor *advisor) {
    struct figure unused = format_bytes(advisor->oom->state.unused_bytes);
    char text[160];
    const char *hope = expandable_hope(advisor->oom, text);
    if (!unused_matters(advisor->oom) || advise_modelled(advisor))
        return;
    if (advisor->allocator.expandable == OFF)
        advise(advisor, "enable_expandable_segments",
               "Expandable segments are off, and %s were reserved but not in use: "
               "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True %s.",
               unused.text, hope);
    if (advisor->allocator.expandable == UNKNOWN)
        advise(advisor, "enable_expandable_segments",
               "%s were reserved but not in use. If expandable segments are off (the file does not say), "
               "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True %s.",
               unused.text, hope);
    if (advisor->allocator.expandable == ON)
        advise(
            advisor, "expandable_segments_on",
            "Expandable segments are on already; the %s that were reserved but not in use are free ends and "
            "gaps of these, what other streams or private pools keep, and rounding.",
            unused.text);
}

/* Free bytes in blocks that only requests of at least max_split_size_mb may use. */
static uint64_t oversize_bytes(const struct device_trace *device, uint64_t limit) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < device->n_blocks; i++)
        if (device->blocks[i].state == BLOCK_INACTIVE && device->blocks[i].size >= limit)
            bytes += device->blocks[i].size;
    return bytes;
}

/* Free bytes in parts of segments that serve large requests, which alone max_split_size_mb changes. */
static uint64_t large_parts(const struct free_blocks_summary *summary) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < summary->n_groups; i++) {
        const struct free_blocks *blocks = &summary->groups[i].free_blocks;
        bytes += summary->groups[i].small ? 0 : blocks->free_bytes - blocks->empty_bytes;
    }
    return bytes;
}

static void advise_split(struct advisor *advisor) {
    const struct known_settings *allocator = &advisor->allocator;
    uint64_t asked = advisor->oom->event->size, parts = large_parts(&advisor->report->free_blocks);
    if (!advisor->oom->state.at_end)
        return;
    if (allocator->limit == ON && asked < allocator->split_bytes) {
        uint64_t closed = oversize_bytes(advisor->report->device, allocator->split_bytes);
        if (closed >= asked)
            advise(advisor, "raise_max_split_size",
                   "max_split_size_mb is %s: free blocks of that size serve only requests as large, so %s of "
                   "free memory were closed to this one.",
                   format_bytes(allocator->split_bytes).text, format_bytes(closed).text);
    }
    if (allocator->limit == OFF && allocator->expandable == OFF && parts >= asked && asked > MIB)
        advise(advisor, "set_max_split_size",
               "%s are free in parts of segments that are otherwise in use. Where expandable segments cannot "
               "be used, max_split_size_mb keeps large blocks whole.",
               format_bytes(parts).text);
}

/* Free bytes of the final segments outside of the default pool. */
static uint64_t private_bytes(const struct report_device *report) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < report->free_blocks.n_groups; i++) {
        const struct free_blocks_group *group = &report->free_blocks.groups[i];
        const struct pool_id *id = &report->device->pools[group->pool];
        if (group->pool != POOL_UNKNOWN && (id->first != 0 || id->second != 0))
            bytes += group->free_blocks.free_bytes;
    }
    return bytes;
}

static void advise_pools(struct advisor *advisor) {
    if (!advisor->oom->state.at_end)
        return;
    uint64_t bytes = private_bytes(advisor->report), lacking = advisor->oom->state.lacking_bytes;
    if (bytes > lacking && is_part(bytes, advisor->oom->event->size, 10))
        advise(advisor, "private_pools",
               "%s of the free memory belong to private pools (CUDA graphs, MemPool), which nothing else can "
               "use.",
               format_bytes(bytes).text);
}

static void advise_pending(struct advisor *advisor) {
    uint64_t pending = advisor->oom->pending_bytes;
    if (is_part(pending, advisor->oom->event->size, 10))
        advise(advisor, "pending_frees",
               "%s had been freed and waited for other streams (record_stream): synchronizing them earlier "
               "gives it "
               "back.",
               format_bytes(pending).text);
}

static void advise_rounding(struct advisor *advisor) {
    const struct free_blocks *all = &advisor->report->free_blocks.all;
    if (advisor->oom->state.at_end && free_blocks_rounding(all) >= advisor->oom->event->size)
        advise(
            advisor, "rounding",
            "Rounding up and remainders of blocks that were not split off take %s, as much as was asked for: "
            "roundup_power2_divisions or many allocations "
            "of odd sizes "
            "cause that.",
            format_bytes(free_blocks_rounding(all)).text);
}

static void advise_others(struct advisor *advisor) {
    uint64_t capacity = advisor->report->device->capacity_bytes,
             known = sum_of(advisor->oom->state.reserved_bytes, advisor->oom->event->device_free);
    if (advisor->report->device->n_segments != 0 && capacity > known &&
        is_part(capacity - known, capacity, 10))
        advise(advisor, "held_by_others",
               "%s of the device's %s are neither free nor reserved here: CUDA's context, libraries or other "
               "processes "
               "hold them.",
               format_bytes(capacity - known).text, format_bytes(capacity).text);
}

static void advise_growth(struct advisor *advisor) {
    const struct report_oom_ground *ground = advisor->report->oom_ground;
    uint64_t risen = ground->risen_bytes;
    const char *unit = turns_unit(&advisor->report->verdicts.turns);
    if (is_part(risen, advisor->oom->state.live_bytes, 20) && risen != 0)
        advise(advisor, "growth",
               "What is carried over from %s to %s has risen by %s, %s more in every %s: see What to know.",
               unit, unit, format_bytes(risen).text, format_bytes(ground->slope_bytes).text, unit);
}

uint32_t report_oom_advice(const struct report_device *report, const struct report_oom *oom,
                           struct report_advice advice[REPORT_ADVICE_MAX]) {
    struct advisor advisor = {
        .report = report, .oom = oom, .allocator = report->oom_ground->allocator, .advice = advice};
    advise_verdict(&advisor);
    advise_expandable(&advisor);
    advise_split(&advisor);
    advise_pools(&advisor);
    advise_pending(&advisor);
    advise_rounding(&advisor);
    advise_others(&advisor);
    advise_growth(&advisor);
    return advisor.count;
}

/* ---- text ---- */

static void bytes_row(struct sheet *sheet, const char *name, uint64_t bytes) {
    sheet_cell(sheet, "%s", name);
    sheet_cell(sheet, "%s", words_bytes(sheet, bytes));
}

/* Without the final segments a lower bound; without any, not known. */
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
    bytes_row(sheet, "Asked for", oom->event->size);
    bytes_row(sheet, "Free on the device", oom->event->device_free);
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

static void holders_table(struct sheet *sheet, const struct report_device *report,
                          const struct report_oom *oom) {
    if (report_shown(report)->live[oom->state.moment] == 0)
        return;
    sheet_say(sheet, "What held the memory:");
    report_sites_table(sheet, report, oom->state.moment, OOM_GROUPS_SHOWN, oom->state.live_bytes);
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
        sheet_say(sheet, "Asked for by %s.",
                  words_site(sheet, report->trace, report->timeline.site[event->stack]));
    free_blocks_write(sheet, report, &oom);
    holders_table(sheet, report, &oom);
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
