#include "analysis/compare/ranks.h"

#include "base/bits.h"
#include "base/search.h"
#include "base/sort.h"
#include "layout/groups.h"
#include "layout/site.h"

enum { SITE_CAPACITY = 400 };

/* Hash of a call site's text, equal on every machine. */
static uint32_t rank_site_hash(const char *text, uint32_t nbytes) {
    uint32_t hash = 0x811c9dc5U;
    for (uint32_t i = 0; i < nbytes; i++)
        hash = (hash ^ (uint8_t)text[i]) * 0x01000193U;
    return hash;
}

bool rank_step_is_kept(uint32_t index) {
    uint32_t half = 1;
    while (index / half >= 4)
        half *= 2;
    return index < 8 || index % half == 0;
}

const struct rank_table *rank_table_of(const struct rank_profile *profile, int64_t step,
                                       enum rank_moment at) {
    for (uint32_t i = 0; i < profile->n_tables; i++)
        if (profile->table[i].step == step && profile->table[i].at == at)
            return &profile->table[i];
    return NULL;
}

const struct rank_step *rank_step_of(const struct rank_profile *profile, int64_t number) {
    uint32_t low = SEARCH(0, profile->n_steps, i, profile->step[i].number < number);
    return low < profile->n_steps && profile->step[low].number == number ? &profile->step[low] : NULL;
}

uint32_t rank_complete_steps(const struct rank_profile *profile) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < profile->n_steps; i++)
        count += profile->step[i].complete;
    return count;
}

int64_t rank_last_step(const struct rank_profile *profile) {
    for (uint32_t i = profile->n_steps; i-- > 0;)
        if (profile->step[i].complete)
            return profile->step[i].number;
    return RANK_NO_STEP;
}

struct maker {
    const struct verdicts *verdicts;
    struct arena *arena;
    struct rank_profile *profile;
    uint32_t first_turn;   /* the first turn that is kept */
    uint32_t *frame_hash;  /* [frames.count] 0: not computed yet */
    uint32_t *peak_moment; /* [n_steps * 3] of each phase */
};

static uint32_t frame_hash_of(struct maker *maker, uint32_t frame) {
    char text[SITE_CAPACITY];
    if (maker->frame_hash[frame] == 0) {
        uint32_t length = site_text(maker->verdicts->timeline->trace, frame, text, sizeof text);
        uint32_t hash = rank_site_hash(text, length < sizeof text ? length : (uint32_t)sizeof text - 1);
        maker->frame_hash[frame] = hash != 0 ? hash : 1;
    }
    return maker->frame_hash[frame];
}

static bool steps_make(struct maker *maker) {
    const struct verdicts *verdicts = maker->verdicts;
    struct rank_profile *profile = maker->profile;
    uint32_t count = verdicts->steps.count;
    maker->first_turn = count > RANK_STEPS_MOST ? count - RANK_STEPS_MOST : 0;
    profile->n_steps = count - maker->first_turn;
    profile->step = arena_alloc(maker->arena, (profile->n_steps + 1) * sizeof *profile->step);
    maker->peak_moment = arena_alloc(maker->arena, ((size_t)profile->n_steps * 3 + 1) * sizeof(uint32_t));
    if (profile->step == NULL || maker->peak_moment == NULL)
        return false;
    for (uint32_t i = 0; i < profile->n_steps; i++) {
        const struct span *span = &verdicts->steps.span[maker->first_turn + i];
        uint32_t turn = maker->first_turn + i;
        profile->step[i] = (struct rank_step){
            .number = turns_number(&verdicts->turns, turn),
            .complete = turn + 1 < verdicts->turns.count || verdicts->turns.closed,
            .begin_bytes = span->begin_bytes,
            .peak_bytes = span->peak_bytes,
            .end_bytes = span->end_bytes,
            .from_moment = span->from_moment,
            .to_moment = span->to_moment,
            .peak_moment = span->peak_moment,
        };
    }
    return true;
}

static int32_t phase_of_kind(uint8_t kind) {
    return kind == SPAN_FORWARD ? 0 : kind == SPAN_BACKWARD ? 1 : kind == SPAN_OPTIMIZER ? 2 : -1;
}

static void phases_make(struct maker *maker) {
    const struct spans *phases = &maker->verdicts->phases;
    for (uint32_t i = 0; i < phases->count; i++) {
        const struct span *span = &phases->span[i];
        int32_t phase = phase_of_kind(span->kind);
        if (phase < 0 || span->step == SPAN_NO_STEP || span->step < maker->first_turn ||
            span->step - maker->first_turn >= maker->profile->n_steps)
            continue;
        uint32_t index = span->step - maker->first_turn;
        struct rank_step *step = &maker->profile->step[index];
        if (span->peak_bytes > step->phase_peak[phase]) {
            step->phase_peak[phase] = span->peak_bytes;
            maker->peak_moment[index * 3 + (uint32_t)phase] = span->peak_moment;
        }
    }
}

/* Is an allocation's call site known? Otherwise its stack is that of its free, where nothing was made. */
static bool has_site(const struct timeline *timeline, uint32_t allocation) {
    return (timeline->device->allocations.flags[allocation] & ALLOCATION_STACK_OF_FREE) == 0;
}

/* Lists the sites that are known of an allocation, by rising hash. */
static bool calls_make(struct maker *maker) {
    const struct timeline *timeline = maker->verdicts->timeline;
    struct rank_profile *profile = maker->profile;
    uint32_t n_frames = timeline->trace->frames.count, n = 0;
    uint64_t *is_site = arena_bits(maker->arena, n_frames);
    struct sort_row *rows, *spare;
    profile->call = arena_alloc(maker->arena, RANK_CALLS_MOST * sizeof *profile->call);
    if (is_site == NULL || profile->call == NULL || !ARENA_COLUMNS(maker->arena, n_frames, rows, spare))
        return false;
    for (uint32_t i = 0; i < timeline->device->allocations.count; i++)
        if (has_site(timeline, i))
            bits_add(is_site, timeline->site[timeline->device->allocations.stack[i]]);
    for (uint32_t frame = 0; frame < n_frames; frame++)
        if (bits_has(is_site, frame))
            rows[n++] = (struct sort_row){frame_hash_of(maker, frame), frame};
    sort_rows(rows, spare, n);
    for (uint32_t i = 0; i < n && profile->n_calls < RANK_CALLS_MOST; i++)
        if (i == 0 || rows[i].key != rows[i - 1].key)
            profile->call[profile->n_calls++] = (struct rank_call){(uint32_t)rows[i].key, rows[i].value};
    ARENA_DROP(maker->arena, spare, rows, is_site);
    return true;
}

static uint32_t call_find(const struct rank_profile *profile, uint32_t site) {
    uint32_t low = SEARCH(0, profile->n_calls, i, profile->call[i].site < site);
    return low < profile->n_calls && profile->call[low].site == site ? low : UINT32_MAX;
}

/* Sums up by site what is alive at a moment, as far as its site is known. */
static bool known_groups(struct maker *maker, uint32_t moment, struct group **groups, uint32_t *n_groups) {
    const struct timeline *timeline = maker->verdicts->timeline;
    uint32_t n_alive, n = 0, *alive = timeline_alive(timeline, moment, maker->arena, &n_alive);
    for (uint32_t i = 0; alive != NULL && i < n_alive; i++)
        if (has_site(timeline, alive[i]))
            alive[n++] = alive[i];
    bool done =
        alive != NULL && groups_of(timeline, alive, n, NULL, GROUP_BY_SITE, maker->arena, groups, n_groups);
    ARENA_DROP(maker->arena, alive);
    return done;
}

static bool table_make(struct maker *maker, int64_t step, enum rank_moment at, uint32_t moment) {
    struct rank_profile *profile = maker->profile;
    const struct timeline *timeline = maker->verdicts->timeline;
    struct group *groups;
    uint32_t n_groups;
    if (profile->n_tables == RANK_TABLES_MOST)
        return true;
    if (!known_groups(maker, moment, &groups, &n_groups))
        return false;
    struct rank_table *table = &profile->table[profile->n_tables++];
    *table = (struct rank_table){.step = step, .at = at, .total_bytes = timeline->live[moment]};
    table->entry = arena_alloc(maker->arena, RANK_ENTRIES_MOST * sizeof *table->entry);
    for (uint32_t i = 0; table->entry != NULL && i < n_groups && table->count < RANK_ENTRIES_MOST; i++) {
        uint32_t call = call_find(profile, frame_hash_of(maker, groups[i].site));
        if (call != UINT32_MAX)
            table->entry[table->count++] = (struct rank_entry){call, groups[i].bytes};
    }
    return table->entry != NULL;
}

static bool step_tables_make(struct maker *maker, uint32_t index) {
    const struct rank_step *step = &maker->profile->step[index];
    bool done = !step->complete || table_make(maker, step->number, RANK_AT_END, step->to_moment);
    for (uint32_t phase = 0; done && phase < 3; phase++)
        if (step->phase_peak[phase] != 0)
            done = table_make(maker, step->number, (enum rank_moment)(RANK_AT_FORWARD + phase),
                              maker->peak_moment[index * 3 + phase]);
    return done;
}

/* Finds the step and phase of the first out-of-memory event. */
static void oom_place(struct maker *maker) {
    const struct timeline *timeline = maker->verdicts->timeline;
    struct rank_profile *profile = maker->profile;
    profile->oom_step = RANK_NO_STEP;
    profile->oom_phase = -1;
    if (timeline->device->n_ooms == 0)
        return;
    uint32_t moment = timeline->device->ooms[0].event;
    for (uint32_t i = 0; i < profile->n_steps; i++)
        if (profile->step[i].from_moment <= moment + 1 && moment <= profile->step[i].to_moment)
            profile->oom_step = profile->step[i].number;
    const struct spans *phases = &maker->verdicts->phases;
    for (uint32_t i = 0; i < phases->count; i++)
        if (phase_of_kind(phases->span[i].kind) >= 0 && phases->span[i].from_moment <= moment + 1 &&
            moment <= phases->span[i].to_moment)
            profile->oom_phase = RANK_AT_FORWARD + phase_of_kind(phases->span[i].kind);
}

static bool tables_make(struct maker *maker) {
    struct rank_profile *profile = maker->profile;
    profile->table = arena_alloc(maker->arena, RANK_TABLES_MOST * sizeof *profile->table);
    const struct device_trace *device = maker->verdicts->timeline->device;
    oom_place(maker);
    bool done =
        profile->table != NULL &&
        (device->n_ooms == 0 || table_make(maker, RANK_NO_STEP, RANK_AT_OOM, device->ooms[0].event)) &&
        table_make(maker, RANK_NO_STEP, RANK_AT_PEAK, maker->verdicts->timeline->peak_moment) &&
        table_make(maker, RANK_NO_STEP, RANK_AT_END, maker->verdicts->timeline->n_moments - 1);
    for (uint32_t i = 0; done && i < profile->n_steps; i++)
        if (rank_step_is_kept(maker->first_turn + i))
            done = step_tables_make(maker, i);
    return done;
}

bool rank_profile_make(struct rank_profile *profile, const struct verdicts *verdicts, struct arena *arena) {
    struct maker maker = {.verdicts = verdicts, .arena = arena, .profile = profile};
    *profile = (struct rank_profile){.signature = verdicts->older.signature >> 16};
    maker.frame_hash = arena_alloc(arena, ((size_t)verdicts->timeline->trace->frames.count + 1) * 4);
    if (maker.frame_hash == NULL || !steps_make(&maker))
        return false;
    phases_make(&maker);
    if (!trace_has_allocations(verdicts->timeline->trace)) { /* levels of a log have no call sites */
        oom_place(&maker);
        return true;
    }
    return calls_make(&maker) && tables_make(&maker);
}
