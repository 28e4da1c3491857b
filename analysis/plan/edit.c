#include "analysis/plan/edit.h"
#include "base/bits.h"
#include "base/bytes.h"
#include "base/search.h"
#include "layout/segments.h"

enum { ORDER_DEATH, ORDER_BIRTH, ORDER_WAIT, STATES_OF_BLOCK = 64 };

bool edit_cut(struct edit *edit, uint32_t allocation, uint64_t from, uint64_t to, struct arena *arena) {
    if (from >= to)
        return true;
    if (!ARENA_GROW(arena, edit->cut, edit->cut_capacity, (uint64_t)edit->n_cuts + 1))
        return false;
    edit->cut[edit->n_cuts] = (struct plan_cut){allocation, edit->n_cuts + 1, from, to};
    edit->n_cuts++;
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
    if (!ARENA_COLUMNS(arena, lives->n, lives->position, lives->curve) ||
        !ARENA_ZEROS(arena, n_blocks, lives->highest))
        return false;
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

/* ---- steps: the changes of a set of edits, by position ---- */

enum step_kind {
    STEP_NOT_BORN, /* takes back the recorded birth of a changed row */
    STEP_NOT_DEAD,
    STEP_BORN_RESIZED, /* a recorded birth that stays, with another size */
    STEP_DEAD_RESIZED,
    STEP_BORN,
    STEP_DEAD,
    STEP_WAITS
};

enum { STEP_KIND_BITS = 3 };

/* A change at a position. Edits make millions of them. */
struct step {
    uint64_t at; /* position with its order bits */
    uint32_t row;
    uint32_t
        part; /* of its edit: the cut or the new life that it comes of, from 1; 0: a size; and below it its kind */
};

static enum step_kind step_kind(const struct step *step) {
    return (enum step_kind)(step->part & ((1u << STEP_KIND_BITS) - 1));
}

struct edit_steps {
    struct step *step;
    uint32_t n;
    uint64_t *touched; /* bits of allocations that the edit cuts, resizes or copies */
};

struct stepping {
    const struct lives *lives;
    const struct allocations *allocations;
    struct arena *arena;
    const uint64_t *size; /* NULL: as recorded */
    struct plan_cut *cut; /* by allocation, then from */
    uint32_t n_cuts;
    uint64_t *changed; /* bits of allocations whose recorded operations are replaced */
    struct step *step; /* by position */
    uint32_t n_steps, step_capacity;
    uint32_t *copy_of;
    uint32_t n_copies;
    uint32_t part;
    bool failed;
};

static void step_add(struct stepping *stepping, uint64_t position, enum step_kind kind, uint32_t row) {
    static const uint8_t orders[] = {ORDER_BIRTH, ORDER_DEATH, ORDER_BIRTH, ORDER_DEATH,
                                     ORDER_BIRTH, ORDER_DEATH, ORDER_WAIT};
    if (stepping->failed || !ARENA_GROW(stepping->arena, stepping->step, stepping->step_capacity,
                                        (uint64_t)stepping->n_steps + 1)) {
        stepping->failed = true;
        return;
    }
    stepping->step[stepping->n_steps++] =
        (struct step){position | orders[kind], row, stepping->part << STEP_KIND_BITS | (uint32_t)kind};
}

static uint64_t death_of(const struct stepping *stepping, uint32_t allocation) {
    uint32_t death = stepping->allocations->death[allocation];
    return death <= stepping->lives->program->device->n_events ? position_at(death) : POSITION_NEVER;
}

/* Adds a stretch of a life that no cut removes. */
static void stretch_add(struct stepping *stepping, uint32_t allocation, uint64_t from, uint64_t to) {
    const struct allocations *allocations = stepping->allocations;
    uint64_t waits = position_at(allocations->request[allocation]);
    if (from >= to)
        return;
    step_add(stepping, from, STEP_BORN, allocation);
    if (allocations->request[allocation] < allocations->death[allocation] && waits > from && waits < to)
        step_add(stepping, waits, STEP_WAITS, allocation);
    if (to != POSITION_NEVER)
        step_add(stepping, to, STEP_DEAD, allocation);
}

static void recorded_take_back(struct stepping *stepping, uint32_t allocation) {
    uint64_t death = death_of(stepping, allocation);
    step_add(stepping, position_at(stepping->allocations->birth[allocation]), STEP_NOT_BORN, allocation);
    if (death != POSITION_NEVER)
        step_add(stepping, death, STEP_NOT_DEAD, allocation);
}

/* Adds the steps of an allocation with the cuts [first, end), which are united. */
static void life_steps(struct stepping *stepping, uint32_t allocation, uint32_t first, uint32_t end) {
    uint64_t from = position_at(stepping->allocations->birth[allocation]),
             death = death_of(stepping, allocation);
    bits_add(stepping->changed, allocation);
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
    struct plan_cut *all;
    struct sort_row *rows = arena_column(stepping->arena, (uint64_t)n * 2, sizeof *rows);
    if (!ARENA_COLUMNS(stepping->arena, n, all, stepping->cut) || rows == NULL)
        return false;
    for (uint32_t e = 0; e < n_edits; e++) {
        bytes_copy(all + stepping->n_cuts, edits[e]->cut, edits[e]->n_cuts * sizeof *all);
        stepping->n_cuts += edits[e]->n_cuts;
    }
    SORT_BY(rows, rows + n, n, i, all[i].from);
    SORT_AGAIN(rows, rows + n, n, own, all[own].allocation);
    for (uint32_t i = 0; i < n; i++)
        stepping->cut[i] = all[rows[i].value];
    ARENA_DROP(stepping->arena, all, rows);
    return true;
}

/* Lives that are resized and not cut: their operations stay, with another size. */
static void resized_steps(struct stepping *stepping) {
    const struct allocations *allocations = stepping->allocations;
    for (uint32_t i = 0; stepping->size != NULL && i < allocations->count; i++) {
        if (stepping->size[i] == allocations->size[i] || bits_has(stepping->changed, i))
            continue;
        uint64_t death = death_of(stepping, i);
        step_add(stepping, position_at(allocations->birth[i]), STEP_BORN_RESIZED, i);
        if (death != POSITION_NEVER)
            step_add(stepping, death, STEP_DEAD_RESIZED, i);
    }
}

static bool copies_list(struct stepping *stepping, const struct edit *const *edits, uint32_t n_edits,
                        struct arena *arena) {
    uint32_t n = 0;
    for (uint32_t e = 0; e < n_edits; e++)
        n += edits[e]->n_lives;
    stepping->copy_of = arena_column(arena, n, sizeof *stepping->copy_of);
    if (stepping->copy_of == NULL)
        return false;
    for (uint32_t e = 0; e < n_edits; e++)
        for (uint32_t i = 0; i < edits[e]->n_lives; i++)
            stepping->copy_of[stepping->n_copies++] = edits[e]->life[i].like;
    return true;
}

static void copies_add(struct stepping *stepping, const struct edit *const *edits, uint32_t n_edits) {
    uint32_t row = stepping->allocations->count;
    for (uint32_t e = 0; e < n_edits; e++)
        for (uint32_t i = 0; i < edits[e]->n_lives; i++, row++) {
            const struct plan_life *life = &edits[e]->life[i];
            stepping->part = i + 1;
            step_add(stepping, life->birth, STEP_BORN, row);
            if (life->death != POSITION_NEVER)
                step_add(stepping, life->death, STEP_DEAD, row);
        }
}

static bool steps_sort(struct stepping *stepping) {
    uint32_t n = stepping->n_steps;
    struct sort_row *rows = arena_column(stepping->arena, (uint64_t)n * 2, sizeof *rows);
    struct step *sorted = arena_column(stepping->arena, n, sizeof *sorted);
    if (rows == NULL || sorted == NULL)
        return false;
    SORT_BY(rows, rows + n, n, i, stepping->step[i].at);
    for (uint32_t i = 0; i < n; i++)
        sorted[i] = stepping->step[rows[i].value];
    ARENA_DROP(stepping->arena, rows, stepping->step);
    stepping->step = sorted;
    return true;
}

/* For edits of any kind: gathers all steps. */
static bool steps_gather(struct stepping *stepping, const struct edit *const *edits, uint32_t n_edits) {
    if (!cuts_gather(stepping, edits, n_edits))
        return false;
    for (uint32_t i = 0, end; i < stepping->n_cuts; i = end) {
        for (end = i; end < stepping->n_cuts && stepping->cut[end].allocation == stepping->cut[i].allocation;
             end++)
            continue;
        stepping->part = stepping->cut[i].part;
        life_steps(stepping, stepping->cut[i].allocation, i, end);
    }
    stepping->part = 0;
    resized_steps(stepping);
    copies_add(stepping, edits, n_edits);
    return !stepping->failed && steps_sort(stepping);
}

/* Is each sorted, and do no two touch the same allocation? */
static bool are_apart(const struct edit *const *edits, uint32_t n_edits, uint32_t count) {
    for (uint32_t e = 0; e < n_edits; e++) {
        if (edits[e]->sorted == NULL)
            return false;
        for (uint32_t other = 0; other < e; other++)
            for (uint32_t i = 0; i <= count / 64; i++)
                if (edits[e]->sorted->touched[i] & edits[other]->sorted->touched[i])
                    return false;
    }
    return true;
}

static bool is_before(const struct step *step, const struct step *other) {
    return step->at < other->at || (step->at == other->at && step->row <= other->row);
}

/* Merges an edit's steps into the recorded ones. */
static void steps_merge(struct stepping *stepping, struct step *to, const struct edit *edit,
                        uint32_t copies_before) {
    uint32_t next = 0, n = 0;
    for (uint32_t i = 0; i < edit->sorted->n; i++) {
        struct step step = edit->sorted->step[i];
        bool copy = step.row >= stepping->allocations->count;
        if (step.part >> STEP_KIND_BITS > (copy ? edit->n_lives : edit->n_cuts))
            continue;
        step.row += copy ? copies_before : 0;
        while (next < stepping->n_steps && is_before(&stepping->step[next], &step))
            to[n++] = stepping->step[next++];
        to[n++] = step;
    }
    while (next < stepping->n_steps)
        to[n++] = stepping->step[next++];
    stepping->step = to;
    stepping->n_steps = n;
}

/* For edits that are apart: merges their sorted steps. */
static bool steps_unite(struct stepping *stepping, const struct edit *const *edits, uint32_t n_edits) {
    uint64_t n = 0;
    uint32_t n_copies = 0;
    for (uint32_t e = 0; e < n_edits; e++)
        n += edits[e]->sorted->n;
    struct step *step[] = {arena_column(stepping->arena, n, sizeof *step[0]),
                           n_edits > 1 ? arena_column(stepping->arena, n, sizeof *step[0]) : NULL};
    if (step[0] == NULL || (n_edits > 1 && step[1] == NULL))
        return false;
    for (uint32_t e = 0; e < n_edits; n_copies += edits[e++]->n_lives) {
        steps_merge(stepping, step[e % 2], edits[e], n_copies);
        for (uint32_t i = 0; i < edits[e]->n_cuts; i++)
            bits_add(stepping->changed, edits[e]->cut[i].allocation);
    }
    return true;
}

/* Makes the steps of all edits in `own`, and the list of copies in `arena`. False: no memory. */
static bool steps_make(struct stepping *stepping, const struct lives *lives, const struct edit *const *edits,
                       uint32_t n_edits, struct arena *own, struct arena *arena) {
    const struct allocations *allocations = &lives->program->device->allocations;
    *stepping = (struct stepping){.lives = lives,
                                  .allocations = allocations,
                                  .arena = own,
                                  .changed = arena_bits(own, allocations->count)};
    if (stepping->changed == NULL || !copies_list(stepping, edits, n_edits, arena))
        return false;
    for (uint32_t e = 0; e < n_edits; e++)
        stepping->size = edits[e]->size != NULL ? edits[e]->size : stepping->size;
    return are_apart(edits, n_edits, allocations->count) ? steps_unite(stepping, edits, n_edits)
                                                         : steps_gather(stepping, edits, n_edits);
}

static uint64_t *touched_find(const struct edit *edit, const struct allocations *allocations,
                              struct arena *arena) {
    uint64_t *touched = arena_bits(arena, allocations->count);
    for (uint32_t i = 0; touched != NULL && i < edit->n_cuts; i++)
        bits_add(touched, edit->cut[i].allocation);
    for (uint32_t i = 0; touched != NULL && i < edit->n_lives; i++)
        bits_add(touched, edit->life[i].like);
    for (uint32_t i = 0; touched != NULL && edit->size != NULL && i < allocations->count; i++)
        if (edit->size[i] != allocations->size[i])
            bits_add(touched, i);
    return touched;
}

bool edit_sort(struct edit *edit, const struct lives *lives, struct arena *arena) {
    struct stepping stepping;
    struct arena own;
    const struct edit *const edits[] = {edit};
    edit->sorted = NULL;
    arena_init(&own, arena_share(arena), SIZE_MAX);
    struct edit_steps *sorted = arena_alloc(arena, sizeof *sorted);
    bool done = sorted != NULL && steps_make(&stepping, lives, edits, 1, &own, &own);
    if (done) {
        sorted->n = stepping.n_steps;
        sorted->step = arena_column(arena, sorted->n, sizeof *sorted->step);
        sorted->touched = touched_find(edit, stepping.allocations, arena);
        done = sorted->step != NULL && sorted->touched != NULL;
    }
    if (done) {
        bytes_copy(sorted->step, stepping.step, sorted->n * sizeof *sorted->step);
        edit->sorted = sorted;
    }
    arena_release(&own);
    return done;
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

static void step_count(struct in_use *change, const struct stepping *stepping, const struct step *step) {
    const struct allocations *allocations = stepping->allocations;
    uint32_t source =
        step->row < allocations->count ? step->row : stepping->copy_of[step->row - allocations->count];
    uint64_t recorded = allocations->size[source];
    uint64_t own = stepping->size == NULL ? recorded : stepping->size[source];
    switch (step_kind(step)) {
    case STEP_NOT_DEAD: use_add(change, recorded, 1); break;
    case STEP_NOT_BORN: use_add(change, recorded, UINT64_MAX); break;
    case STEP_DEAD_RESIZED: use_add(change, recorded, 1); /* fall through */
    case STEP_DEAD: use_add(change, own, UINT64_MAX); break;
    case STEP_BORN_RESIZED: use_add(change, recorded, UINT64_MAX); /* fall through */
    case STEP_BORN: use_add(change, own, 1); break;
    case STEP_WAITS: break;
    }
}

/* The first state from `at` on that is not before a position, which is mostly near. */
static uint32_t state_seek(const struct lives *lives, uint32_t at, uint64_t position) {
    uint32_t stride = 1;
    for (; stride < lives->n - at && lives->position[at + stride] < position; stride *= 2)
        at += stride;
    return SEARCH(at, stride < lives->n - at ? at + stride : lives->n, k, lives->position[k] < position);
}

static struct in_use peak_of_steps(const struct stepping *stepping) {
    const struct lives *lives = stepping->lives;
    struct in_use peak = {0}, change = {0};
    uint32_t at = 0;
    for (uint32_t i = 0; i < stepping->n_steps && at < lives->n;) {
        uint64_t position = stepping->step[i].at;
        uint32_t low = state_seek(lives, at, position);
        highest_raise(&peak, lives, at, low, &change);
        for (; i < stepping->n_steps && stepping->step[i].at == position; i++)
            step_count(&change, stepping, &stepping->step[i]);
        for (at = low; at < lives->n && lives->position[at] == position; at++)
            continue;
        if (low == lives->n)
            break; /* after the end */
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
    bool done = steps_make(&stepping, lives, edits, n_edits, &own, &own);
    if (done)
        *peak = peak_of_steps(&stepping);
    arena_release(&own);
    return done;
}

/* ---- the changed program ---- */

static bool is_replaced(const struct stepping *stepping, uint32_t op) {
    enum program_kind kind = program_kind(op);
    uint32_t index = program_index(op);
    return kind != PROGRAM_SEGMENT && kind != PROGRAM_OOM && bits_has(stepping->changed, index);
}

/* Is the step an operation of the changed program? Resized lives keep the recorded operations. */
static bool step_is_op(const struct stepping *stepping, const struct step *step) {
    if (step_kind(step) < STEP_BORN || (step_kind(step) == STEP_BORN && step->at == ORDER_BIRTH))
        return false;
    return step->row >= stepping->allocations->count || bits_has(stepping->changed, step->row);
}

static uint32_t op_of_step(const struct step *step) {
    static const uint8_t kinds[] = {
        [STEP_BORN] = PROGRAM_ALLOCATE, [STEP_DEAD] = PROGRAM_FREE, [STEP_WAITS] = PROGRAM_WAIT};
    return (uint32_t)kinds[step_kind(step)] | step->row << PROGRAM_KIND_BITS;
}

/* Bits of the older allocations that are not there at the start. NULL: no memory. */
static const uint64_t *absent_find(const struct stepping *stepping, struct arena *arena) {
    uint32_t n = stepping->allocations->preexisting;
    uint64_t *absent = arena_bits(arena, n);
    for (uint32_t i = 0; absent != NULL && i < n; i++)
        if (bits_has(stepping->changed, i))
            bits_add(absent, i);
    for (uint32_t i = 0; absent != NULL && i < stepping->n_steps && stepping->step[i].at == ORDER_BIRTH; i++)
        if (step_kind(&stepping->step[i]) == STEP_BORN && stepping->step[i].row < n)
            absent[stepping->step[i].row / 64] &= ~(UINT64_C(1) << stepping->step[i].row % 64);
    return absent;
}

static void ops_merge(struct program *program, const struct stepping *stepping) {
    const struct lives *lives = stepping->lives;
    uint32_t next = 0;
    for (uint32_t at = 1; at <= lives->n; at++) {
        uint64_t position = at < lives->n ? lives->position[at] : POSITION_NEVER;
        for (; next < stepping->n_steps && stepping->step[next].at < position; next++) {
            const struct step *step = &stepping->step[next];
            if (step_is_op(stepping, step))
                program->op[program->n_ops++] = op_of_step(step);
        }
        if (at < lives->n && !is_replaced(stepping, lives->program->op[at - 1]))
            program->op[program->n_ops++] = lives->program->op[at - 1];
    }
}

/* The outcome of steps inserted after the failed request is unknown. */
static void steps_end(struct stepping *stepping) {
    const struct lives *lives = stepping->lives;
    uint64_t last = lives->position[lives->n - 1];
    bool failed = lives->n > 1 && program_kind(lives->program->op[lives->n - 2]) == PROGRAM_OOM;
    while (failed && stepping->n_steps > 0 && stepping->step[stepping->n_steps - 1].at > last)
        stepping->n_steps--;
}

bool changed_program(struct program *program, const struct lives *lives, const struct edit *const *edits,
                     uint32_t n_edits, struct arena *arena) {
    struct stepping stepping;
    struct arena own;
    arena_init(&own, arena_share(arena), SIZE_MAX);
    bool done = steps_make(&stepping, lives, edits, n_edits, &own, arena);
    if (done) {
        steps_end(&stepping);
        *program = *lives->program;
        program->n_ops = 0;
        program->op = arena_column(arena, (uint64_t)lives->n + stepping.n_steps, sizeof *program->op);
        program->size = stepping.size;
        program->copy_of = stepping.copy_of;
        program->n_copies = stepping.n_copies;
        program->absent = absent_find(&stepping, arena);
        done = program->op != NULL && program->absent != NULL;
    }
    if (done)
        ops_merge(program, &stepping);
    arena_release(&own);
    return done;
}
