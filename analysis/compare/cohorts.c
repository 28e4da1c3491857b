#include "analysis/compare/cohorts.h"

#include "analysis/compare/stages.h"
#include "base/sort.h"

/* Rows with equal programs. */
struct class {
    uint64_t bucket;
    uint32_t first, size; /* of `order` */
    uint32_t cohort;
};

static uint64_t mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15U;
    return hash ^ hash >> 29;
}

static bool has_program(const struct rank_profile *profile) {
    for (uint32_t i = 0; i < profile->n_calls; i++)
        if (profile->call[i].made[0] != 0)
            return true;
    return false;
}

static uint64_t program_of(const struct rank_profile *profile) {
    uint64_t hash = 0;
    for (uint32_t i = 0; i < profile->n_calls; i++) {
        const struct rank_call *call = &profile->call[i];
        if ((call->made[0] | call->made[1] | call->made[2]) == 0)
            continue;
        hash = mix(hash, call->site);
        for (uint32_t phase = 0; phase < 3; phase++)
            hash = mix(hash, call->made[phase]);
    }
    return hash;
}

/* Ranks that ran equally long do equal work; if one stopped early, work that is done every few steps may differ. */
static bool counts_agree(uint32_t a, uint32_t b, bool same_length) {
    uint32_t more = a > b ? a : b, less = a > b ? b : a;
    return same_length ? a == b : less != 0 && more - less <= more / 2;
}

/* Does `b` run the program of `a`, with perhaps one more line? With `loosely`, equal lines suffice, however often
 * they run. */
static bool program_is_like(const struct rank_profile *a, const struct rank_profile *b, bool loosely) {
    uint32_t steps = rank_complete_steps(b), extra = 0;
    bool same_length = rank_complete_steps(a) == steps, elsewhere = true;
    if (steps == 0 || !has_program(a) || !has_program(b))
        return steps == 0 || has_program(a) == has_program(b);
    for (uint32_t i = 0, j = 0; i < a->n_calls || j < b->n_calls;) {
        static const struct rank_call none;
        bool in_a = i < a->n_calls && (j == b->n_calls || a->call[i].site <= b->call[j].site);
        bool in_b = j < b->n_calls && (i == a->n_calls || b->call[j].site <= a->call[i].site);
        const struct rank_call *x = in_a ? &a->call[i++] : &none, *y = in_b ? &b->call[j++] : &none;
        bool added = x->made[0] == 0 && y->made[0] != 0;
        extra += added;
        if (!added && x->made[0] != y->made[0] &&
            !(loosely ? y->made[0] != 0 : counts_agree(x->made[0], y->made[0], same_length)))
            return false;
        elsewhere = elsewhere && x->made[1] == y->made[1] && x->made[2] == y->made[2];
    }
    return extra == 0 || (extra == 1 && elsewhere);
}

struct finder {
    const struct cohort_row *rows;
    const uint32_t *stage; /* [n_rows] */
    struct sort_row *order;
    struct class *classes;
    uint32_t n_classes;
};

static uint64_t bucket_of(const struct finder *finder, uint32_t row) {
    const struct cohort_row *own = &finder->rows[row];
    return mix(mix(mix(0x5bd1e995, (uint64_t)own->step), own->group), finder->stage[row]);
}

static void classes_find(struct finder *finder, uint32_t n_rows) {
    for (uint32_t from = 0, to; from < n_rows; from = to) {
        uint32_t first = finder->order[from].value;
        to = sort_rows_end(finder->order, n_rows, from);
        finder->classes[finder->n_classes++] = (struct class){bucket_of(finder, first), from, to - from, 0};
    }
}

/* Sorts classes by falling size, then by their first row. */
static void classes_order(const struct finder *finder, struct sort_row *keys, struct sort_row *spare) {
    for (uint32_t i = 0; i < finder->n_classes; i++) {
        const struct class *class = &finder->classes[i];
        keys[i] = (struct sort_row){
            (uint64_t)(UINT32_MAX - class->size) << 32 | finder->order[class->first].value, i};
    }
    sort_rows(keys, spare, finder->n_classes);
}

static const struct cohort_row *class_row(const struct finder *finder, const struct class *class) {
    return &finder->rows[finder->order[class->first].value];
}

/* The largest class, in their order, that this one is like; itself if there is none. */
static uint32_t class_core(const struct finder *finder, const struct sort_row *keys, uint32_t at) {
    enum { CORE_LEAST = 4 };
    const struct class *class = &finder->classes[keys[at].value];
    const struct cohort_row *row = class_row(finder, class);
    for (uint32_t i = 0; i < at && row->group == 0; i++) {
        const struct class *core = &finder->classes[keys[i].value];
        if (core->bucket == class->bucket && core->cohort == keys[i].value &&
            program_is_like(class_row(finder, core)->profile, row->profile,
                            class->size == 1 && core->size >= CORE_LEAST))
            return keys[i].value;
    }
    return keys[at].value;
}

/* Numbers cohorts by their first row. */
static bool cohorts_number(const struct finder *finder, uint32_t n_rows, struct arena *arena,
                           uint32_t *cohort, uint32_t *n_cohorts) {
    uint32_t *number = arena_column(arena, finder->n_classes, sizeof *number);
    if (number == NULL)
        return false;
    for (uint32_t i = 0; i < finder->n_classes; i++)
        number[i] = UINT32_MAX;
    for (uint32_t i = 0; i < finder->n_classes; i++)
        for (uint32_t k = 0; k < finder->classes[i].size; k++)
            cohort[finder->order[finder->classes[i].first + k].value] = finder->classes[i].cohort;
    *n_cohorts = 0;
    for (uint32_t i = 0; i < n_rows; i++) {
        if (number[cohort[i]] == UINT32_MAX)
            number[cohort[i]] = (*n_cohorts)++;
        cohort[i] = number[cohort[i]];
    }
    return true;
}

static const uint32_t *stages_of(const struct cohort_row *rows, uint32_t n_rows, struct arena *arena) {
    struct stage_row *of;
    uint32_t *stage;
    bool done = ARENA_COLUMNS(arena, n_rows, of, stage);
    for (uint32_t i = 0; done && i < n_rows; i++)
        of[i] = (struct stage_row){rows[i].step, rows[i].rank, rows[i].profile->signature};
    return done && stages_find(of, n_rows, arena, stage) ? stage : NULL;
}

bool cohorts_find(const struct cohort_row *rows, uint32_t n_rows, struct arena *arena, uint32_t *cohort,
                  uint32_t *n_cohorts) {
    struct finder finder = {.rows = rows, .stage = stages_of(rows, n_rows, arena)};
    struct sort_row *spare, *keys;
    if (!ARENA_COLUMNS(arena, n_rows, spare, keys, finder.order, finder.classes) || finder.stage == NULL)
        return false;
    for (uint32_t i = 0; i < n_rows; i++) {
        uint64_t program = rows[i].group == 0 ? program_of(rows[i].profile) : 0;
        finder.order[i] = (struct sort_row){mix(bucket_of(&finder, i), program), i};
    }
    sort_rows(finder.order, spare, n_rows);
    classes_find(&finder, n_rows);
    classes_order(&finder, keys, spare);
    for (uint32_t i = 0; i < finder.n_classes; i++)
        finder.classes[keys[i].value].cohort = UINT32_MAX;
    for (uint32_t i = 0; i < finder.n_classes; i++)
        finder.classes[keys[i].value].cohort = class_core(&finder, keys, i);
    return cohorts_number(&finder, n_rows, arena, cohort, n_cohorts);
}
