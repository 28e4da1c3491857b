#include "analysis/plan/edit.h"

#include "base/bytes.h"
#include "base/search.h"
#include "layout/segments.h"

enum { ORDER_DEATH, ORDER_BIRTH, ORDER_WAIT, STATES_OF_BLOCK = 64 };

bool edit_cut(struct edit *edit, uint32_t allocation, uint64_t from, uint64_t to, struct arena *arena) {
    if (from >= to)
        return true;
    if (!ARENA_GROW(arena, edit->cut, edit->cut_capacity, (uint64_t)edit->n_cuts + 1))
        return false;
    edit->cut[edit->n_cuts++] = (struct plan_cut){allocation, from, to};
    return true;
}

bool edit_life(struct edit *edit, uint32_t like, uint64_t birth, uint64_t death, struct arena *arena) {
    if (birth >= death)
        return true;
    if (!ARENA_GROW(arena, edit->life, edit->life_capacity, (uint64_t)edit->n_lives + 1))
        return false;
    edit->life[edit->n_lives++] = (struct plan_life){like, birth, death};
    return true;
}

/* ---- the recorded program ---- */

static void use_add(struct in_use *use, uint64_t nbytes, uint64_t sign) {
    use->requested += nbytes * sign;
    use->rounded += segments_round(nbytes) * sign;
}

static void use_raise(struct in_use *peak, uint64_t requested, uint64_t rounded) {
    peak->requested = requested > peak->requested ? requested : peak->requested;
    peak->rounded = rounded > peak->rounded ? rounded : peak->rounded;
}

static uint64_t position_of_op(const struct program *program, uint32_t op) {
    uint32_t index = program_index(op);
    enum program_kind kind = program_kind(op);
    if (kind == PROGRAM_WAIT)
        return position_at(program->device->allocations.request[index]) | ORDER_WAIT;
    return position_at(program_moment(program, op)) | (kind == PROGRAM_ALLOCATE ? ORDER_BIRTH : ORDER_DEATH);
}

static void use_step(struct in_use *use, const struct program *program, uint32_t op) {
    uint32_t index = program_index(op);
    switch (program_kind(op)) {
    case PROGRAM_ALLOCATE: use_add(use, program->device->allocations.size[index], 1); break;
    case PROGRAM_FREE: use_add(use, program->device->allocations.size[index], UINT64_MAX); break;
    case PROGRAM_OOM: use_add(use, program->device->ooms[index].size, 1); break;
    case PROGRAM_WAIT:
    case PROGRAM_SEGMENT: break;
    }
}

static uint32_t ops_until_failure(const struct program *program) {
    for (uint32_t i = 0; i < program->n_ops; i++)
        if (program_kind(program->op[i]) == PROGRAM_OOM)
            return i + 1;
    return program->n_ops;
}

bool lives_init(struct lives *lives, const struct program *program, struct arena *arena) {
    const struct allocations *allocations = &program->device->allocations;
    struct in_use use = {0};
    *lives = (struct lives){.program = program, .n = ops_until_failure(program) + 1};
    uint32_t n_blocks = lives->n / STATES_OF_BLOCK + 1;
    lives->position = arena_column(arena, lives->n, sizeof *lives->position);
    lives->curve = arena_column(arena, lives->n, sizeof *lives->curve);
    lives->highest = arena_column(arena, n_blocks, sizeof *lives->highest);
    if (lives->position == NULL || lives->curve == NULL || lives->highest == NULL)
        return false;
    bytes_zero(lives->highest, n_blocks * sizeof *lives->highest);
    for (uint32_t i = 0; i < allocations->preexisting; i++)
        use_add(&use, allocations->size[i], 1);
    for (uint32_t i = 0; i < lives->n; i++) {
        if (i > 0) {
            use_step(&use, program, program->op[i - 1]);
            lives->waits |= program_kind(program->op[i - 1]) == PROGRAM_WAIT;
        }
        lives->position[i] = i > 0 ? position_of_op(program, program->op[i - 1]) : ORDER_BIRTH;
        lives->curve[i] = use;
        use_raise(&lives->highest[i / STATES_OF_BLOCK], use.requested, use.rounded);
    }
    return true;
}

/* ---- steps: what a set of edits changes, by position ---- */

enum step_kind {
    STEP_NOT_BORN, /* what was recorded of a row that is changed: taken back */
    STEP_NOT_DEAD,
    STEP_BORN,
    STEP_DEAD,
    STEP_WAITS
};

struct step {
    uint32_t row;
    uint8_t kind; /* enum step_kind */
    uint64_t size;
};

struct stepping {
    const struct lives *lives;
    const struct allocations *allocations;
    struct arena *arena;
    const uint64_t *size; /* NULL: as recorded */
    struct plan_cut *cut; /* by allocation, then from */
    uint32_t n_cuts;
    uint64_t *changed; /* bits of allocations whose recorded operations are replaced; NULL: not asked for */
    uint64_t *absent;  /* bits of older ones that are not there at the begin */
    struct step *step;
    struct sort_row *order; /* of steps, by position */
    uint32_t n_steps, step_capacity, order_capacity;
    uint32_t *copy_of;
    uint32_t n_copies;
    bool failed;
};

static void step_add(struct stepping *stepping, uint64_t position, enum step_kind kind, uint32_t row,
                     uint64_t size) {
    static const uint8_t orders[] = {ORDER_BIRTH, ORDER_DEATH, ORDER_BIRTH, ORDER_DEATH, ORDER_WAIT};
    uint64_t n = (uint64_t)stepping->n_steps + 1;
    if (stepping->failed || !ARENA_GROW(stepping->arena, stepping->step, stepping->step_capacity, n) ||
        !ARENA_GROW(stepping->arena, stepping->order, stepping->order_capacity, n)) {
        stepping->failed = true;
        return;
    }
    stepping->step[stepping->n_steps] = (struct step){row, (uint8_t)kind, size};
    stepping->order[stepping->n_steps] = (struct sort_row){position | orders[kind], stepping->n_steps};
    stepping->n_steps++;
}

static uint64_t size_of(const struct stepping *stepping, uint32_t allocation) {
    return stepping->size != NULL ? stepping->size[allocation] : stepping->allocations->size[allocation];
}

static uint64_t death_of(const struct stepping *stepping, uint32_t allocation) {
    uint32_t death = stepping->allocations->death[allocation];
    return death <= stepping->lives->program->device->n_events ? position_at(death) : POSITION_NEVER;
}

/* A stretch of a life that is left of it. */
static void stretch_add(struct stepping *stepping, uint32_t allocation, uint64_t from, uint64_t to) {
    const struct allocations *allocations = stepping->allocations;
    uint64_t size = size_of(stepping, allocation), waits = position_at(allocations->request[allocation]);
    bool old = allocation < allocations->preexisting && from == 0;
    if (from >= to)
        return;
    step_add(stepping, from, STEP_BORN, allocation, size);
    if (old)
        stepping->absent[allocation / 64] &= ~(UINT64_C(1) << allocation % 64);
    if (allocations->request[allocation] < allocations->death[allocation] && waits > from && waits < to)
        step_add(stepping, waits, STEP_WAITS, allocation, size);
    if (to != POSITION_NEVER)
        step_add(stepping, to, STEP_DEAD, allocation, size);
}

static void recorded_take_back(struct stepping *stepping, uint32_t allocation) {
    uint64_t size = stepping->allocations->size[allocation], death = death_of(stepping, allocation);
    uint64_t birth = position_at(stepping->allocations->birth[allocation]);
    step_add(stepping, birth, STEP_NOT_BORN, allocation, size);
    if (death != POSITION_NEVER)
        step_add(stepping, death, STEP_NOT_DEAD, allocation, size);
}

/* One allocation with its cuts [first, end), which are united. */
static void life_steps(struct stepping *stepping, uint32_t allocation, uint32_t first, uint32_t end) {
    uint64_t from = position_at(stepping->allocations->birth[allocation]),
             death = death_of(stepping, allocation);
    stepping->changed[allocation / 64] |= UINT64_C(1) << allocation % 64;
    if (allocation < stepping->allocations->preexisting)
        stepping->absent[allocation / 64] |= UINT64_C(1) << allocation % 64;
    recorded_take_back(stepping, allocation);
    for (uint32_t i = first; i < end; i++) {
        const struct plan_cut *cut = &stepping->cut[i];
        stretch_add(stepping, allocation, from, cut->from < death ? cut->from : death);
        from = cut->to > from ? cut->to : from;
    }
    stretch_add(stepping, allocation, from, death);
}

/* Cuts of all edits by allocation, then from. */
static bool cuts_gather(struct stepping *stepping, const struct edit *const *edits, uint32_t n_edits) {
    uint32_t n = 0;
    for (uint32_t e = 0; e < n_edits; e++)
        n += edits[e]->n_cuts;
    struct plan_cut *all = arena_column(stepping->arena, n, sizeof *all);
    struct sort_row *rows = arena_column(stepping->arena, (uint64_t)n * 2, sizeof *rows);
    stepping->cut = arena_column(stepping->arena, n, sizeof *stepping->cut);
    if (all == NULL || rows == NULL || stepping->cut == NULL)
        return false;
    for (uint32_t e = 0; e < n_edits; e++) {
        bytes_copy(all + stepping->n_cuts, edits[e]->cut, edits[e]->n_cuts * sizeof *all);
        stepping->n_cuts += edits[e]->n_cuts;
    }
    for (uint32_t i = 0; i < n; i++)
        rows[i] = (struct sort_row){all[i].from, i};
    sort_rows(rows, rows + n, n);
    for (uint32_t i = 0; i < n; i++)
        rows[i].key = all[rows[i].value].allocation;
    sort_rows(rows, rows + n, n);
    for (uint32_t i = 0; i < n; i++)
        stepping->cut[i] = all[rows[i].value];
    ARENA_DROP(stepping->arena, all);
    ARENA_DROP(stepping->arena, rows);
    return true;
}

/* Lives that are resized and not cut: their operations stay, with another size. */
static void resized_steps(struct stepping *stepping) {
    const struct allocations *allocations = stepping->allocations;
    for (uint32_t i = 0; stepping->size != NULL && i < allocations->count; i++) {
        if (stepping->size[i] == allocations->size[i] || (stepping->changed[i / 64] >> i % 64 & 1))
            continue;
        recorded_take_back(stepping, i);
        stretch_add(stepping, i, position_at(allocations->birth[i]), death_of(stepping, i));
    }
}

static bool copies_add(struct stepping *stepping, const struct edit *const *edits, uint32_t n_edits) {
    uint32_t n = 0;
    for (uint32_t e = 0; e < n_edits; e++)
        n += edits[e]->n_lives;
    stepping->copy_of = arena_column(stepping->arena, n, sizeof *stepping->copy_of);
    if (stepping->copy_of == NULL)
        return false;
    for (uint32_t e = 0; e < n_edits; e++)
        for (uint32_t i = 0; i < edits[e]->n_lives; i++) {
            const struct plan_life *life = &edits[e]->life[i];
            uint32_t row = stepping->allocations->count + stepping->n_copies;
            stepping->copy_of[stepping->n_copies++] = life->like;
            step_add(stepping, life->birth, STEP_BORN, row, size_of(stepping, life->like));
            if (life->death != POSITION_NEVER)
                step_add(stepping, life->death, STEP_DEAD, row, size_of(stepping, life->like));
        }
    return true;
}

static bool steps_sort(struct stepping *stepping) {
    struct sort_row *spare = arena_column(stepping->arena, stepping->n_steps, sizeof *spare);
    if (spare == NULL)
        return false;
    sort_rows(stepping->order, spare, stepping->n_steps);
    ARENA_DROP(stepping->arena, spare);
    return true;
}

/* False: no memory. */
static bool steps_make(struct stepping *stepping, const struct lives *lives, const struct edit *const *edits,
                       uint32_t n_edits, struct arena *arena) {
    const struct allocations *allocations = &lives->program->device->allocations;
    *stepping = (struct stepping){.lives = lives,
                                  .allocations = allocations,
                                  .arena = arena,
                                  .changed = arena_bits(arena, allocations->count),
                                  .absent = arena_bits(arena, allocations->preexisting)};
    if (stepping->changed == NULL || stepping->absent == NULL)
        return false;
    for (uint32_t e = 0; e < n_edits; e++)
        stepping->size = edits[e]->size != NULL ? edits[e]->size : stepping->size;
    if (!cuts_gather(stepping, edits, n_edits))
        return false;
    for (uint32_t i = 0, end; i < stepping->n_cuts; i = end) {
        for (end = i; end < stepping->n_cuts && stepping->cut[end].allocation == stepping->cut[i].allocation;
             end++)
            continue;
        life_steps(stepping, stepping->cut[i].allocation, i, end);
    }
    resized_steps(stepping);
    return copies_add(stepping, edits, n_edits) && !stepping->failed && steps_sort(stepping);
}

/* ---- in use ---- */

static void highest_raise(struct in_use *peak, const struct lives *lives, uint32_t from, uint32_t to,
                          const struct in_use *change) {
    while (from < to) {
        bool whole = from % STATES_OF_BLOCK == 0 && from + STATES_OF_BLOCK <= to;
        const struct in_use *use = whole ? &lives->highest[from / STATES_OF_BLOCK] : &lives->curve[from];
        use_raise(peak, use->requested + change->requested, use->rounded + change->rounded);
        from += whole ? STATES_OF_BLOCK : 1;
    }
}

static void step_count(struct in_use *change, const struct step *step) {
    if (step->kind == STEP_BORN || step->kind == STEP_NOT_DEAD)
        use_add(change, step->size, 1);
    else if (step->kind != STEP_WAITS)
        use_add(change, step->size, UINT64_MAX);
}

static struct in_use peak_of_steps(const struct stepping *stepping) {
    const struct lives *lives = stepping->lives;
    struct in_use peak = {0}, change = {0};
    uint32_t at = 0;
    for (uint32_t i = 0; i < stepping->n_steps && at < lives->n;) {
        uint64_t position = stepping->order[i].key;
        uint32_t low = at, high = lives->n;
        SEARCH(low, high, k, lives->position[k] < position);
        highest_raise(&peak, lives, at, low, &change);
        for (; i < stepping->n_steps && stepping->order[i].key == position; i++)
            step_count(&change, &stepping->step[stepping->order[i].value]);
        for (at = low; at < lives->n && lives->position[at] == position; at++)
            continue;
        if (low == lives->n)
            break; /* behind the end */
        if (at > 0)
            use_raise(&peak, lives->curve[at - 1].requested + change.requested,
                      lives->curve[at - 1].rounded + change.rounded);
    }
    highest_raise(&peak, lives, at, lives->n, &change);
    return peak;
}

bool changed_curve(struct in_use *peak, const struct lives *lives, const struct edit *const *edits,
                   uint32_t n_edits, struct arena *arena) {
    struct stepping stepping;
    struct arena own;
    arena_init(&own, arena_share(arena), SIZE_MAX);
    bool done = steps_make(&stepping, lives, edits, n_edits, &own);
    if (done)
        *peak = peak_of_steps(&stepping);
    arena_release(&own);
    return done;
}

static uint32_t column_of(const struct lives *lives, uint64_t position, uint32_t n_columns) {
    return (uint32_t)((position >> 32) * n_columns / ((uint64_t)lives->program->device->n_events + 1));
}

static void column_raise(uint64_t *column, uint32_t *last, uint32_t at, uint64_t bytes) {
    for (; *last < at; ++*last)
        column[*last + 1] = bytes; /* nothing happens between them */
    column[at] = bytes > column[at] ? bytes : column[at];
}

static void columns_fill(uint64_t *column, uint8_t *again, uint32_t n_columns,
                         const struct stepping *stepping) {
    const struct lives *lives = stepping->lives;
    struct in_use change = {0};
    uint32_t next = 0, last = 0;
    for (uint32_t at = 0; at < lives->n; at++) {
        uint64_t before = at > 0 ? lives->curve[at - 1].requested : 0;
        for (; next < stepping->n_steps && stepping->order[next].key <= lives->position[at]; next++) {
            const struct step *step = &stepping->step[stepping->order[next].value];
            uint32_t i = column_of(lives, stepping->order[next].key, n_columns);
            step_count(&change, step);
            if (stepping->order[next].key == lives->position[at])
                continue;
            column_raise(column, &last, i, before + change.requested);
            if (again != NULL && step->kind == STEP_BORN)
                again[i] = 1;
        }
        uint64_t now = lives->curve[at].requested + change.requested;
        column_raise(column, &last, column_of(lives, lives->position[at], n_columns), now);
    }
}

bool changed_columns(uint64_t *column, uint8_t *again, uint32_t n_columns, const struct lives *lives,
                     const struct edit *const *edits, uint32_t n_edits, struct arena *arena) {
    struct stepping stepping;
    struct arena own;
    arena_init(&own, arena_share(arena), SIZE_MAX);
    bool done = steps_make(&stepping, lives, edits, n_edits, &own);
    bytes_zero(column, n_columns * sizeof *column);
    if (again != NULL)
        bytes_zero(again, n_columns);
    if (done)
        columns_fill(column, again, n_columns, &stepping);
    arena_release(&own);
    return done;
}

/* ---- the changed program ---- */

static bool is_replaced(const struct stepping *stepping, uint32_t op) {
    enum program_kind kind = program_kind(op);
    uint32_t index = program_index(op);
    return kind != PROGRAM_SEGMENT && kind != PROGRAM_OOM &&
           (stepping->changed[index / 64] >> index % 64 & 1);
}

/* Steps of what is changed; resized lives keep the recorded operations. */
static bool step_is_op(const struct stepping *stepping, const struct step *step, uint64_t position) {
    uint32_t count = stepping->allocations->count;
    if (step->kind < STEP_BORN || (step->kind == STEP_BORN && position == ORDER_BIRTH))
        return false;
    return step->row >= count || (stepping->changed[step->row / 64] >> step->row % 64 & 1);
}

static uint32_t op_of_step(const struct step *step) {
    static const uint8_t kinds[] = {0, 0, PROGRAM_ALLOCATE, PROGRAM_FREE, PROGRAM_WAIT};
    return (uint32_t)kinds[step->kind] | step->row << PROGRAM_KIND_BITS;
}

static void ops_merge(struct program *program, const struct stepping *stepping) {
    const struct lives *lives = stepping->lives;
    uint32_t next = 0;
    for (uint32_t at = 1; at <= lives->n; at++) {
        uint64_t position = at < lives->n ? lives->position[at] : POSITION_NEVER;
        for (; next < stepping->n_steps && stepping->order[next].key < position; next++) {
            const struct step *step = &stepping->step[stepping->order[next].value];
            if (step_is_op(stepping, step, stepping->order[next].key))
                program->op[program->n_ops++] = op_of_step(step);
        }
        if (at < lives->n && !is_replaced(stepping, lives->program->op[at - 1]))
            program->op[program->n_ops++] = lives->program->op[at - 1];
    }
}

/* What is inserted behind the failed request is not known of. */
static void steps_end(struct stepping *stepping) {
    const struct lives *lives = stepping->lives;
    uint64_t last = lives->position[lives->n - 1];
    bool failed = lives->n > 1 && program_kind(lives->program->op[lives->n - 2]) == PROGRAM_OOM;
    while (failed && stepping->n_steps > 0 && stepping->order[stepping->n_steps - 1].key > last)
        stepping->n_steps--;
}

bool changed_program(struct program *program, const struct lives *lives, const struct edit *const *edits,
                     uint32_t n_edits, struct arena *arena) {
    struct stepping stepping;
    if (!steps_make(&stepping, lives, edits, n_edits, arena))
        return false;
    steps_end(&stepping);
    *program = *lives->program;
    program->n_ops = 0;
    program->op = arena_column(arena, (uint64_t)lives->n + stepping.n_steps, sizeof *program->op);
    program->size = stepping.size;
    program->copy_of = stepping.copy_of;
    program->n_copies = stepping.n_copies;
    program->absent = stepping.absent;
    if (program->op == NULL)
        return false;
    ops_merge(program, &stepping);
    return true;
}
