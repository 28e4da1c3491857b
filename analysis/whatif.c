#include "analysis/whatif.h"

#include "base/bytes.h"
#include "base/sort.h"

#define MIB (UINT64_C(1) << 20)

/* ---- one run ---- */

struct runner {
    const struct program *program;
    const struct whatif_case *what;
    struct whatif_result *result;
    struct allocator allocator;
    struct arena *arena;
    uint32_t *block_of; /* per life; 0: none */
    uint64_t next_low, next_high, most_steps;
    int64_t request;
    uint32_t at; /* column of the curve */
    bool stopped;
};

static uint64_t invented_place(void *context, uint64_t nbytes, bool reservation) {
    static const uint64_t APART = UINT64_C(1) << 43;
    struct runner *runner = context;
    uint64_t room = reservation ? APART : (nbytes + 2 * MIB - 1) / (2 * MIB) * (2 * MIB);
    if (runner->what->descending)
        return runner->next_high -= room;
    runner->next_low += room;
    return runner->next_low - room;
}

static void out_of_memory(struct runner *runner, uint64_t requested) {
    const struct allocator *allocator = &runner->allocator;
    runner->stopped = true;
    if (allocator->no_memory)
        return;
    runner->result->oom = (struct whatif_oom){.happened = true,
                                              .request_index = runner->request,
                                              .requested_bytes = requested,
                                              .reserved_bytes = allocator->reserved_bytes,
                                              .active_bytes = allocator->active_bytes};
}

static void run_allocate(struct runner *runner, uint32_t life) {
    const struct lives *lives = &runner->program->device->lives;
    uint32_t block =
        allocator_allocate(&runner->allocator, lives->size[life], lives->pool[life], lives->stream[life]);
    runner->block_of[life] = block;
    if (block == 0)
        out_of_memory(runner, lives->size[life]);
}

static void run_free(struct runner *runner, uint32_t life, bool completed) {
    const struct lives *lives = &runner->program->device->lives;
    uint32_t block = runner->block_of[life];
    bool waits = lives->request[life] < lives->death[life];
    if (block == 0)
        return; /* a page that says a life ends before it begins */
    if (!completed) {
        allocator_wait(&runner->allocator, block);
        runner->allocator.block[block].owner = life;
        return;
    }
    if (waits && !allocator_waits(&runner->allocator, block, life))
        return; /* a retry has completed it, and it may serve another already */
    allocator_free(&runner->allocator, block);
}

/* The request of an out-of-memory event; its stream is not recorded, so it is taken to be that of the one before. */
static void run_oom(struct runner *runner, uint32_t index, uint16_t stream) {
    uint64_t size = runner->program->device->ooms[index].size;
    uint64_t asked = runner->what->settings.aligned && size > 32 ? size - 32 : size;
    if (allocator_allocate(&runner->allocator, asked, POOL_UNKNOWN, stream) == 0)
        out_of_memory(runner, size);
    else
        runner->result->past_recorded_oom = runner->stopped = true;
}

static bool is_older_wait(const struct lives *lives, uint32_t life) {
    return lives->request[life] == 0 && lives->death[life] != 0;
}

static bool run_start(struct runner *runner) {
    const struct lives *lives = &runner->program->device->lives;
    uint32_t count = lives->preexisting;
    struct sort_row *rows = arena_column(runner->arena, (uint64_t)count * 2, sizeof *rows);
    if (rows == NULL)
        return false;
    for (uint32_t i = 0; i < count; i++)
        rows[i] = (struct sort_row){lives->address[i], i};
    sort_rows(rows, rows + count, count);
    runner->request = -1;
    for (uint32_t i = 0; i < count && !runner->stopped; i++) {
        uint32_t life = rows[i].value;
        run_allocate(runner, life);
        if (!runner->stopped && is_older_wait(lives, life))
            run_free(runner, life, false);
    }
    ARENA_DROP(runner->arena, rows);
    return true;
}

/* The most reserved in the column of a moment; what lies between it and the last one had what was reserved then. */
static void curve_note(struct runner *runner, uint32_t moment) {
    const struct whatif_case *what = runner->what;
    uint64_t n_moments = (uint64_t)runner->program->device->n_events + 1,
             reserved = runner->allocator.reserved_bytes;
    if (moment == UINT32_MAX || moment >= n_moments)
        return;
    uint32_t column = (uint32_t)(moment * (uint64_t)what->n_columns / n_moments);
    for (; runner->at < column; runner->at++)
        what->column[runner->at + 1] = what->column[runner->at];
    if (reserved > what->column[column])
        what->column[column] = reserved;
}

static void run_steps(struct runner *runner) {
    const struct program *program = runner->program;
    const struct releases *releases = &program->releases;
    uint32_t group = 0;
    uint16_t stream = 0;
    for (uint32_t i = 0; i < program->n_ops && !runner->stopped; i++) {
        uint32_t index = program_index(program->op[i]);
        switch (program_kind(program->op[i])) {
        case PROGRAM_ALLOCATE:
            runner->request++;
            stream = program->device->lives.stream[index];
            run_allocate(runner, index);
            break;
        case PROGRAM_FREE: run_free(runner, index, true); break;
        case PROGRAM_WAIT: run_free(runner, index, false); break;
        case PROGRAM_OOM:
            runner->request++;
            run_oom(runner, index, stream);
            break;
        case PROGRAM_SEGMENT:
            if (group == releases->count || releases->group[group].first != index)
                break;
            if (releases->group[group++].cause == RELEASE_EXPLICIT)
                allocator_empty_cache(&runner->allocator);
        }
        runner->allocator.n_calls = 0;
        if (runner->what->column != NULL)
            curve_note(runner, program_moment(program, program->op[i]));
        if (runner->allocator.steps > runner->most_steps)
            runner->result->endless = runner->stopped = true;
    }
}

static bool runner_run(struct runner *runner) {
    const struct device_trace *device = runner->program->device;
    struct allocator_driver driver = {invented_place, runner};
    runner->next_low = UINT64_C(1) << 45;
    runner->next_high = UINT64_C(1) << 62;
    runner->most_steps = ((uint64_t)device->lives.count + device->n_segment_events) * 256 + 10000000;
    runner->block_of = arena_column(runner->arena, device->lives.count, sizeof *runner->block_of);
    if (runner->block_of == NULL ||
        !allocator_init(&runner->allocator, &runner->what->settings, driver, runner->arena))
        return false;
    bytes_zero(runner->block_of, device->lives.count * sizeof *runner->block_of);
    runner->allocator.budget_bytes = runner->what->budget_bytes;
    runner->allocator.device_bytes = runner->what->device_bytes;
    if (!run_start(runner))
        return false;
    if (runner->what->column != NULL) {
        bytes_zero(runner->what->column, runner->what->n_columns * sizeof *runner->what->column);
        curve_note(runner, 0);
    }
    run_steps(runner);
    runner->result->peak_reserved_bytes = runner->allocator.peak_reserved_bytes;
    runner->result->end_reserved_bytes = runner->allocator.reserved_bytes;
    runner->result->n_retries = runner->allocator.n_retries;
    return !runner->allocator.no_memory;
}

bool whatif_run(struct whatif_result *result, const struct program *program, const struct whatif_case *what,
                struct arena *arena) {
    struct arena own;
    struct runner runner = {.program = program, .what = what, .result = result, .arena = &own};
    *result = (struct whatif_result){0};
    arena_init(&own, arena_share(arena), SIZE_MAX);
    bool done = runner_run(&runner);
    arena_release(&own);
    return done;
}

/* ---- bounds ---- */

/* Nothing is asked of a run behind the first request that failed in the recording. */
static uint32_t last_moment(const struct device_trace *device) {
    return device->n_ooms != 0 ? device->ooms[0].event + 1 : device->n_events + 1;
}

struct sums {
    uint64_t requested, rounded, small;
};

static void sums_add(struct sums *sums, uint64_t nbytes, uint64_t sign) {
    uint64_t rounded = segments_round(nbytes);
    sums->requested += nbytes * sign;
    sums->rounded += rounded * sign;
    sums->small += rounded <= MIB ? rounded * sign : 0;
}

static void sums_raise(struct sums *peak, const struct sums *now) {
    peak->requested = now->requested > peak->requested ? now->requested : peak->requested;
    peak->rounded = now->rounded > peak->rounded ? now->rounded : peak->rounded;
    peak->small = now->small > peak->small ? now->small : peak->small;
}

/* The highest sums of what is live, the failed request included. */
static struct sums sums_peak(const struct program *program) {
    const struct device_trace *device = program->device;
    const struct lives *lives = &device->lives;
    struct sums now = {0}, peak;
    for (uint32_t i = 0; i < lives->preexisting; i++)
        sums_add(&now, lives->size[i], 1);
    peak = now;
    for (uint32_t i = 0; i < program->n_ops; i++) {
        uint32_t index = program_index(program->op[i]);
        enum program_kind kind = program_kind(program->op[i]);
        if (kind == PROGRAM_FREE)
            sums_add(&now, lives->size[index], UINT64_MAX); /* times -1 */
        if (kind == PROGRAM_ALLOCATE)
            sums_add(&now, lives->size[index], 1);
        if (kind == PROGRAM_OOM)
            sums_add(&now, device->ooms[index].size, 1);
        sums_raise(&peak, &now);
        if (kind == PROGRAM_OOM)
            break;
    }
    return peak;
}

/* One allocation to be packed: it takes its bytes from birth to death. */
struct packed {
    uint64_t size, address;
    uint32_t birth, death;
};

struct packing {
    struct packed *placed; /* by address */
    uint32_t count;
    uint64_t top;
    bool lowest; /* gaps are taken from the bottom, not by their size */
};

/* The smallest gap that does between those that overlap in time, or the lowest one; else above them all. */
static uint64_t gap_find(const struct packing *packing, const struct packed *item) {
    uint64_t reach = 0, best = UINT64_MAX, best_room = UINT64_MAX;
    for (uint32_t i = 0; i < packing->count; i++) {
        const struct packed *other = &packing->placed[i];
        if (other->death <= item->birth || item->death <= other->birth)
            continue;
        uint64_t room = other->address > reach ? other->address - reach : 0;
        if (room >= item->size && packing->lowest)
            return reach;
        if (room >= item->size && room < best_room) {
            best = reach;
            best_room = room;
        }
        uint64_t end = other->address + other->size;
        reach = end > reach ? end : reach;
    }
    return best != UINT64_MAX ? best : reach;
}

static void packing_place(struct packing *packing, struct packed item) {
    uint32_t at = packing->count++;
    item.address = gap_find(packing, &item);
    for (; at > 0 && packing->placed[at - 1].address > item.address; at--)
        packing->placed[at] = packing->placed[at - 1];
    packing->placed[at] = item;
    if (item.address + item.size > packing->top)
        packing->top = item.address + item.size;
}

enum packing_order { BY_SIZE, BY_AREA, BY_LIFETIME, PACKING_ORDERS };

/* Sorted rising by what is left to the highest, so that the largest comes first. */
static uint64_t packing_key(const struct packed *item, enum packing_order order) {
    uint64_t lifetime = item->death - item->birth;
    if (order == BY_SIZE)
        return UINT64_MAX - item->size;
    if (order == BY_LIFETIME)
        return UINT64_MAX - lifetime;
    uint64_t size = item->size >> 9; /* in 512 bytes, so that the product has room */
    return UINT64_MAX - (size < UINT32_MAX ? size : UINT32_MAX) * lifetime;
}

/* All above 1 MiB; those of the failed request's moment too. */
static uint32_t packed_collect(const struct program *program, struct packed *items) {
    const struct device_trace *device = program->device;
    const struct lives *lives = &device->lives;
    uint32_t count = 0, last = last_moment(device);
    for (uint32_t i = 0; i < lives->count; i++) {
        uint64_t size = segments_round(lives->size[i]);
        if (size <= MIB || lives->birth[i] > last || lives->birth[i] >= lives->death[i])
            continue;
        if (items != NULL && count < WHATIF_PACKED_MAX)
            items[count] = (struct packed){size, 0, lives->birth[i], lives->death[i]};
        count++;
    }
    if (device->n_ooms != 0 && device->ooms[0].size > MIB) {
        if (items != NULL && count < WHATIF_PACKED_MAX)
            items[count] = (struct packed){segments_round(device->ooms[0].size), 0, last, last + 1};
        count++;
    }
    return count;
}

static uint64_t packed_top(struct packing *packing, const struct packed *items, uint32_t count,
                           struct sort_row *rows, enum packing_order order) {
    packing->count = 0;
    packing->top = 0;
    for (uint32_t i = 0; i < count; i++)
        rows[i] = (struct sort_row){packing_key(&items[i], order), i};
    sort_rows(rows, rows + count, count);
    for (uint32_t i = 0; i < count; i++)
        packing_place(packing, items[rows[i].value]);
    return packing->top;
}

static bool pack(const struct program *program, uint64_t small_bytes, uint64_t *packed_bytes,
                 struct arena *arena) {
    uint32_t count = packed_collect(program, NULL);
    *packed_bytes = 0;
    if (count >= WHATIF_PACKED_MAX)
        return true;
    struct packed *items = arena_column(arena, count, sizeof *items);
    struct packing packing = {.placed = arena_column(arena, count, sizeof *packing.placed)};
    struct sort_row *rows = arena_column(arena, (uint64_t)count * 2, sizeof *rows);
    bool done = items != NULL && packing.placed != NULL && rows != NULL;
    uint64_t least = UINT64_MAX;
    if (done)
        (void)packed_collect(program, items);
    for (int try = 0; done && try < 2 * PACKING_ORDERS; try++) {
        packing.lowest = try >= PACKING_ORDERS;
        uint64_t top = packed_top(&packing, items, count, rows, (enum packing_order)(try % PACKING_ORDERS));
        least = top < least ? top : least;
    }
    *packed_bytes = least + (small_bytes + 2 * MIB - 1) / (2 * MIB) * (2 * MIB);
    ARENA_DROP(arena, items);
    ARENA_DROP(arena, packing.placed);
    ARENA_DROP(arena, rows);
    return done;
}

bool whatif_bounds_find(struct whatif_bounds *bounds, const struct program *program, bool packed,
                        struct arena *arena) {
    struct sums peak = sums_peak(program);
    *bounds =
        (struct whatif_bounds){.requested_peak_bytes = peak.requested, .rounded_peak_bytes = peak.rounded};
    return !packed || pack(program, peak.small, &bounds->packed_bytes, arena);
}

/* ---- what the process could have ---- */

static uint64_t reserved_before_all(const struct device_trace *device) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < device->n_segments; i++)
        bytes += device->segments[i].total_size;
    for (uint32_t i = 0; i < device->n_segment_events; i++) {
        const struct segment_event *event = &device->segment_events[i];
        bool grows = event->change == SEGMENT_ALLOC || event->change == SEGMENT_MAP;
        bytes += grows ? 0 - event->size : event->size;
    }
    return bytes;
}

struct budget_walk {
    const struct program *program;
    const struct replay *replay;
    struct whatif_budget *budget;
    uint64_t reserved_bytes;
    uint32_t group, oom;
};

static void at_most(struct whatif_budget *budget, uint64_t nbytes) {
    if (budget->at_most_bytes == 0 || nbytes < budget->at_most_bytes)
        budget->at_most_bytes = nbytes;
}

/* What a request wanted of the driver before the allocator gave memory back was more than there was. */
static void retry_bounds(struct budget_walk *walk, const struct release_group *group) {
    const struct device_trace *device = walk->program->device;
    uint32_t behind = group->first + group->count;
    bool plain = behind < device->n_segment_events && device->segment_events[behind].change == SEGMENT_ALLOC;
    if (group->cause == RELEASE_RETRY && group->taken_bytes != 0 && plain)
        at_most(walk->budget, walk->reserved_bytes + group->taken_bytes - 1);
}

static void ooms_before(struct budget_walk *walk, uint32_t event) {
    const struct device_trace *device = walk->program->device;
    for (; walk->oom < device->n_ooms && device->ooms[walk->oom].event < event; walk->oom++)
        if (device->ooms[walk->oom].device_free < UINT64_C(1) << 50)
            at_most(walk->budget, walk->reserved_bytes + device->ooms[walk->oom].device_free);
}

static void event_walk(struct budget_walk *walk, uint32_t index) {
    const struct segment_event *event = &walk->program->device->segment_events[index];
    const struct releases *releases = &walk->program->releases;
    ooms_before(walk, event->event);
    if (walk->group < releases->count && releases->group[walk->group].first == index)
        retry_bounds(walk, &releases->group[walk->group++]);
    bool grows = event->change == SEGMENT_ALLOC || event->change == SEGMENT_MAP;
    walk->reserved_bytes += grows ? event->size : 0 - event->size;
    if (walk->reserved_bytes > walk->budget->at_least_bytes)
        walk->budget->at_least_bytes = walk->reserved_bytes;
}

struct whatif_budget whatif_budget_find(const struct program *program, const struct replay *replay) {
    struct whatif_budget budget = {0};
    struct budget_walk walk = {.program = program,
                               .replay = replay,
                               .budget = &budget,
                               .reserved_bytes = reserved_before_all(program->device)};
    budget.at_least_bytes = walk.reserved_bytes;
    for (uint32_t i = 0; i < program->device->n_segment_events; i++)
        event_walk(&walk, i);
    ooms_before(&walk, UINT32_MAX);
    if (budget.at_most_bytes < budget.at_least_bytes)
        budget.at_most_bytes = 0; /* what others took of the device has changed meanwhile */
    return budget;
}

/* ---- scenarios ---- */

static size_t text_length(const char *text) {
    size_t length = 0;
    while (text[length] != '\0')
        length++;
    return length;
}

static bool text_below(const char *a, const char *b) {
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    return (unsigned char)*a < (unsigned char)*b;
}

/* "key=value" as "key:value"; false: it is longer than names are. */
static bool set_text(const char *text, char out[WHATIF_NAME]) {
    bool equals = false;
    size_t length = text_length(text);
    if (length >= WHATIF_NAME)
        return false;
    for (size_t i = 0; i <= length; i++) {
        out[i] = text[i] == '=' && !equals ? ':' : text[i];
        equals |= text[i] == '=' || text[i] == ':';
    }
    return true;
}

bool whatif_set_is_fine(const char *text) {
    char spelled[WHATIF_NAME];
    struct allocator_settings settings = allocator_settings_default();
    size_t bad_at;
    return set_text(text, spelled) && spelled[0] != '\0' &&
           allocator_settings_add(&settings, spelled, text_length(spelled), &bad_at) == SETTINGS_FINE;
}

static void scenario_add(struct whatif *whatif, const char *name, struct allocator_settings settings) {
    struct whatif_scenario *scenario = &whatif->scenario[whatif->n_scenarios];
    size_t length = text_length(name);
    *scenario = (struct whatif_scenario){.settings = settings, .same_as = whatif->n_scenarios};
    bytes_copy(scenario->name, name, length < WHATIF_NAME ? length : WHATIF_NAME - 1);
    for (uint32_t i = whatif->n_scenarios; i-- > 0;)
        if (allocator_settings_equal(&whatif->scenario[i].settings, &settings))
            scenario->same_as = i;
    whatif->n_scenarios++;
}

/* A scenario named by what it adds to the recorded settings. */
static void scenario_of(struct whatif *whatif, const char *text) {
    struct allocator_settings settings = whatif->replay.settings;
    size_t bad_at;
    (void)allocator_settings_add(&settings, text, text_length(text), &bad_at);
    scenario_add(whatif, text, settings);
}

static void name_append(char name[WHATIF_NAME], const char *text) {
    size_t used = text_length(name);
    if (used != 0 && used + 1 < WHATIF_NAME)
        name[used++] = ',';
    for (; *text != '\0' && used + 1 < WHATIF_NAME; text++)
        name[used++] = *text;
    name[used] = '\0';
}

/* The next of the settings in alphabetical order behind `last`; NULL: none. */
static const char *set_behind(const struct whatif_request *request, const char *last) {
    const char *next = NULL;
    for (uint32_t i = 0; i < request->n_set; i++)
        if ((last == NULL || text_below(last, request->set[i])) &&
            (next == NULL || text_below(request->set[i], next)))
            next = request->set[i];
    return next;
}

static void scenario_of_request(struct whatif *whatif, const struct whatif_request *request) {
    char name[WHATIF_NAME] = "", spelled[WHATIF_NAME] = "";
    for (const char *set = set_behind(request, NULL); set != NULL; set = set_behind(request, set))
        if (set_text(set, spelled))
            name_append(name, spelled);
    scenario_of(whatif, name);
}

static void scenarios_list(struct whatif *whatif, const struct whatif_request *request) {
    static const char *const usual[] = {
        "expandable_segments:True",   "expandable_segments:False",
        "max_split_size_mb:128",      "max_split_size_mb:512",
        "roundup_power2_divisions:4", "roundup_power2_divisions:8",
        "large_segment_size_mb:64",   "expandable_segments:True,roundup_power2_divisions:8"};
    struct allocator_settings plain = allocator_settings_default();
    plain.aligned = whatif->replay.settings.aligned; /* whose allocator it is, is no setting */
    plain.expandable_private = whatif->replay.settings.expandable_private;
    scenario_add(whatif, "recorded", whatif->replay.settings);
    scenario_add(whatif, "default", plain);
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        scenario_of(whatif, usual[i]);
    if (request->gpu_bytes != 0)
        scenario_of(whatif, "garbage_collection_threshold:0.8");
    if (request->n_set != 0)
        scenario_of_request(whatif, request);
}

bool whatif_init_of(struct whatif *whatif, const struct program *program, const struct replay *replay,
                    const struct whatif_request *request, struct arena *arena) {
    *whatif = (struct whatif){.program = program,
                              .replay = *replay,
                              .gpu_bytes = request->gpu_bytes,
                              .find_smallest = request->find_smallest};
    if (!whatif_bounds_find(&whatif->bounds, program, !request->leave_packing, arena))
        return false;
    whatif->budget = whatif_budget_find(program, &whatif->replay);
    whatif->recorded_peak_bytes = whatif->budget.at_least_bytes;
    if (whatif->replay.grade != REPLAY_REFUSED)
        scenarios_list(whatif, request);
    return true;
}

bool whatif_init(struct whatif *whatif, const struct program *program, const struct whatif_request *request,
                 struct arena *arena) {
    struct replay replay;
    return replay_run(&replay, program->trace, program->device, program, arena) &&
           whatif_init_of(whatif, program, &replay, request, arena);
}

/* Of which shares are: the device as asked for, or as the file names it. */
static uint64_t device_bytes(const struct whatif *whatif) {
    return whatif->gpu_bytes != 0 ? whatif->gpu_bytes : whatif->program->device->capacity_bytes;
}

static bool case_run(const struct whatif *whatif, const struct whatif_scenario *scenario, uint64_t budget,
                     bool descending, struct whatif_result *result, struct arena *arena) {
    struct whatif_case what = {.settings = scenario->settings,
                               .budget_bytes = budget,
                               .device_bytes = device_bytes(whatif),
                               .descending = descending};
    return whatif_run(result, whatif->program, &what, arena);
}

bool whatif_curve(uint64_t *column, uint32_t n_columns, const struct whatif *whatif, uint32_t index,
                  struct arena *arena) {
    struct whatif_result result;
    struct whatif_case what = {.settings = whatif->scenario[index].settings,
                               .budget_bytes = ALLOCATOR_UNLIMITED,
                               .device_bytes = device_bytes(whatif),
                               .column = column,
                               .n_columns = n_columns};
    return whatif_run(&result, whatif->program, &what, arena);
}

static bool unlimited_solve(const struct whatif *whatif, struct whatif_scenario *scenario,
                            struct arena *arena) {
    struct whatif_result up, down;
    if (!case_run(whatif, scenario, ALLOCATOR_UNLIMITED, false, &up, arena) ||
        !case_run(whatif, scenario, ALLOCATOR_UNLIMITED, true, &down, arena))
        return false;
    bool lower = down.peak_reserved_bytes < up.peak_reserved_bytes;
    scenario->peak_min_bytes = lower ? down.peak_reserved_bytes : up.peak_reserved_bytes;
    scenario->peak_max_bytes = lower ? up.peak_reserved_bytes : down.peak_reserved_bytes;
    scenario->end_bytes = up.end_reserved_bytes;
    scenario->past_recorded_oom = up.past_recorded_oom;
    scenario->endless = up.endless || down.endless;
    return true;
}

uint64_t whatif_budget_bytes(const struct whatif *whatif) {
    if (whatif->gpu_bytes != 0)
        return whatif->gpu_bytes;
    return whatif->budget.at_most_bytes != 0 ? whatif->budget.at_least_bytes : 0;
}

static bool budget_solve(const struct whatif *whatif, struct whatif_scenario *scenario, struct arena *arena) {
    struct whatif_result result;
    if (whatif_budget_bytes(whatif) == 0)
        return true;
    if (!case_run(whatif, scenario, whatif_budget_bytes(whatif), false, &result, arena))
        return false;
    scenario->budgeted = true;
    scenario->n_retries = result.n_retries;
    scenario->oom = result.oom;
    return true;
}

static bool budget_fits(const struct whatif *whatif, const struct whatif_scenario *scenario, uint64_t budget,
                        bool *fits, struct arena *arena) {
    struct whatif_result result;
    bool done = case_run(whatif, scenario, budget, false, &result, arena);
    *fits = done && !result.oom.happened && !result.endless;
    return done;
}

enum { BUDGET_CELLS = 64 };

/* Whether it fits need not be monotonous in the budget, so cells are tried from the top down, and the last that does not fit
 * is bisected to 2 MiB, which is what the driver hands out. */
static bool smallest_solve(const struct whatif *whatif, struct whatif_scenario *scenario,
                           struct arena *arena) {
    uint64_t low = whatif->bounds.rounded_peak_bytes, high = scenario->peak_max_bytes, good = high;
    uint64_t cell = high > low ? (high - low) / BUDGET_CELLS + 1 : 1;
    bool fits = true;
    while (fits && good > low) {
        uint64_t next = good - low > cell ? good - cell : low;
        if (!budget_fits(whatif, scenario, next, &fits, arena))
            return false;
        if (fits)
            good = next;
        else
            low = next;
    }
    while (good - low > 2 * MIB) {
        uint64_t middle = low + (good - low) / 2;
        if (!budget_fits(whatif, scenario, middle, &fits, arena))
            return false;
        *(fits ? &good : &low) = middle;
    }
    scenario->smallest_budget_bytes = good;
    return true;
}

bool whatif_solve(struct whatif *whatif, uint32_t index, struct arena *arena) {
    struct whatif_scenario *scenario = &whatif->scenario[index];
    if (scenario->same_as != index)
        return true;
    return unlimited_solve(whatif, scenario, arena) && budget_solve(whatif, scenario, arena) &&
           (!whatif->find_smallest || smallest_solve(whatif, scenario, arena));
}

void whatif_finish(struct whatif *whatif) {
    for (uint32_t i = 0; i < whatif->n_scenarios; i++) {
        struct whatif_scenario own = whatif->scenario[i];
        if (own.same_as == i)
            continue;
        whatif->scenario[i] = whatif->scenario[own.same_as];
        whatif->scenario[i].same_as = own.same_as;
        bytes_copy(whatif->scenario[i].name, own.name, WHATIF_NAME);
    }
}

/* ---- what is lacking ---- */

static bool none_serves(const struct whatif *whatif) {
    for (uint32_t i = 0; i < whatif->n_scenarios; i++)
        if (!whatif->scenario[i].budgeted || !whatif->scenario[i].oom.happened)
            return false;
    return whatif->n_scenarios != 0 && whatif->program->device->n_ooms != 0;
}

/* The smallest budget of a scenario where that is below `best`, which it becomes then. One run tells whether it can be: the
 * peak of an unlimited device does not, since retries make room. */
static bool least_update(const struct whatif *whatif, uint32_t index, uint64_t *best, uint32_t *scenario,
                         struct arena *arena) {
    struct whatif_scenario one = whatif->scenario[index];
    bool fits = one.smallest_budget_bytes == 0 && one.peak_max_bytes < *best;
    if (one.same_as != index || one.endless)
        return true;
    if (one.smallest_budget_bytes == 0 && !fits && *best > 2 * MIB) {
        one.peak_max_bytes = *best - 2 * MIB; /* smaller steps are not looked for */
        if (!budget_fits(whatif, &one, one.peak_max_bytes, &fits, arena))
            return false;
    }
    if (fits && !smallest_solve(whatif, &one, arena))
        return false;
    if (one.smallest_budget_bytes != 0 && one.smallest_budget_bytes < *best) {
        *best = one.smallest_budget_bytes;
        *scenario = index;
    }
    return true;
}

bool whatif_lack_find(struct whatif *whatif, struct arena *arena) {
    uint64_t budget = whatif_budget_bytes(whatif), rounded = whatif->bounds.rounded_peak_bytes;
    uint64_t best = UINT64_MAX;
    uint32_t scenario = 0;
    whatif->lack = (struct whatif_lack){0};
    if (!none_serves(whatif))
        return true;
    for (uint32_t i = 0; i < whatif->n_scenarios; i++)
        if (!least_update(whatif, i, &best, &scenario, arena))
            return false;
    if (best == UINT64_MAX || best <= budget)
        return true;
    whatif->lack = (struct whatif_lack){.known = true,
                                        .scenario = scenario,
                                        .bytes = best - budget,
                                        .at_least_bytes = rounded > budget ? rounded - budget : 0};
    return true;
}
