/*
 * The loss in parts: what would be in use if logits, their softmax and gradients were made for a part of the rows at
 * a time.
 *
 * It is reported and never part of a plan, because a recording does not show whether a library runs backward after
 * each part, after all of them, or makes each part again. At the least, all memory of the loss shrinks to that of
 * one part. At the most, what the loss keeps for backward stays whole until the last of it is freed, and each
 * gradient made meanwhile is there twice, because parts are added to it.
 */
#include "analysis/plan/plan_internal.h"

#include "base/bits.h"
#include "base/bytes.h"

enum {
    LOSS_SIZES_MOST = 8,
    LOSS_GRAIN = 512 /* bytes that each part may take more */
};

const uint32_t plan_loss_parts[PLAN_LOSS_WAYS] = {2, 4, 8};

struct losing {
    struct planner *planner;
    uint64_t size[LOSS_SIZES_MOST]; /* of the forward's, different ones */
    uint32_t n_sizes;
    uint32_t *row; /* allocations of the loss */
    uint32_t n_rows, row_capacity;
    uint64_t *whole;       /* bits of rows that stay whole at the most */
    uint64_t failed_bytes; /* the request that failed, where it is of the loss; else 0 */
    uint64_t most_bytes;   /* the largest of all */
    struct edit most;
};

static bool row_add(struct losing *losing, uint32_t row) {
    if (!ARENA_GROW(losing->planner->arena, losing->row, losing->row_capacity, (uint64_t)losing->n_rows + 1))
        return false;
    losing->row[losing->n_rows++] = row;
    return true;
}

static bool is_of_loss(const struct losing *losing, uint64_t size) {
    for (uint32_t i = 0; i < losing->n_sizes; i++)
        if (losing->size[i] == size)
            return true;
    return false;
}

/* The request that failed, where the recording ends with it in this forward; else 0. */
static uint64_t failed_bytes(const struct planner *planner, const struct forward *forward) {
    const struct program *program = planner->plan->program;
    uint32_t op = planner->lives.n > 1 ? program->op[planner->lives.n - 2] : 0;
    bool ends = !forward->has_backward && forward->run + 1 == planner->plan->verdicts->runs.count;
    return ends && planner->lives.n > 1 && program_kind(op) == PROGRAM_OOM
               ? program->device->ooms[program_index(op)].size
               : 0;
}

/* Collects the memory of the loss: the largest allocation that a forward makes behind its blocks, and all others of at
 * least a quarter of its size. */
static bool front_find(struct losing *losing, const struct forward *forward, uint32_t from) {
    const struct allocations *allocations = losing->planner->allocations;
    uint64_t failed = failed_bytes(losing->planner, forward), largest = failed;
    losing->n_sizes = 0;
    for (uint32_t i = from; i < forward->end; i++)
        largest = allocations->size[i] > largest ? allocations->size[i] : largest;
    losing->failed_bytes = failed >= largest / 4 ? failed : 0;
    for (uint32_t i = from; i < forward->end; i++) {
        uint64_t size = allocations->size[i];
        if (size < largest / 4 || (!is_of_loss(losing, size) && losing->n_sizes == LOSS_SIZES_MOST))
            continue;
        if (!is_of_loss(losing, size))
            losing->size[losing->n_sizes++] = size;
        if (size > losing->most_bytes) {
            losing->most_bytes = size;
            losing->planner->plan->loss.stack = allocations->stack[i];
        }
        if (!row_add(losing, i))
            return false;
    }
    return true;
}

/* The first moment from `backward` on at which an activation of the blocks is freed. */
static uint32_t blocks_end(const struct planner *planner, const struct forward *forward, uint32_t backward) {
    const struct block_span *span = &planner->plan->blocks.span[forward->first_block];
    const struct allocations *allocations = planner->allocations;
    uint32_t end = UINT32_MAX;
    for (uint32_t i = span[0].first; i < span[forward->n_blocks - 1].end; i++)
        if (planner->plan->verdicts->category[i] == CATEGORY_ACTIVATION &&
            allocations->death[i] >= backward && allocations->death[i] < end)
            end = allocations->death[i];
    return end;
}

/* Collects what backward makes in the same sizes before it reaches the blocks; `*end`: when the last of it is freed. */
static bool back_find(struct losing *losing, const struct phase_run *run, uint32_t until, uint32_t *end) {
    const struct planner *planner = losing->planner;
    const struct allocations *allocations = planner->allocations;
    *end = 0;
    for (uint32_t k = run->first; k <= run->last; k++) {
        uint32_t row = allocations->preexisting + k;
        if (allocations->birth[row] >= until)
            break;
        if (planner->plan->verdicts->category[row] == CATEGORY_GRADIENT ||
            !is_of_loss(losing, allocations->size[row]))
            continue;
        *end = allocations->death[row] > *end ? allocations->death[row] : *end;
        if (!row_add(losing, row))
            return false;
    }
    return true;
}

/* At the most: what is kept for backward stays, and gradients are there twice. */
static bool most_add(struct losing *losing, const struct phase_run *run, uint32_t first_row,
                     uint32_t backward, uint32_t end) {
    const struct planner *planner = losing->planner;
    const struct allocations *allocations = planner->allocations;
    for (uint32_t i = first_row; i < losing->n_rows; i++) {
        uint32_t row = losing->row[i], death = allocations->death[row];
        if (allocations->birth[row] >= backward || death < backward)
            continue;
        bits_add(losing->whole, row);
        if (death < end &&
            !edit_life(&losing->most, row, position_at(death), position_at(end), planner->arena))
            return false;
    }
    for (uint32_t k = run->first; k <= run->last; k++) {
        uint32_t row = allocations->preexisting + k;
        if (allocations->birth[row] >= end)
            break;
        if (planner->plan->verdicts->category[row] == CATEGORY_GRADIENT &&
            !edit_life(&losing->most, row, position_behind(allocations->birth[row], 0), position_at(end),
                       planner->arena))
            return false;
    }
    return true;
}

static bool forward_find(struct losing *losing, const struct forward *forward) {
    const struct planner *planner = losing->planner;
    const struct phase_run *runs = planner->plan->verdicts->runs.run;
    if (forward->n_blocks == 0 || (!forward->has_backward && failed_bytes(planner, forward) == 0))
        return true;
    uint32_t first_row = losing->n_rows, end;
    uint32_t from = planner->plan->blocks.span[forward->first_block + forward->n_blocks - 1].end;
    if (!front_find(losing, forward, from))
        return false;
    if (!forward->has_backward)
        return true;
    const struct phase_run *run = &runs[forward->run + 1];
    uint32_t backward = planner->allocations->birth[planner->allocations->preexisting + run->first];
    return back_find(losing, run, blocks_end(planner, forward, backward), &end) &&
           most_add(losing, run, first_row, backward, end);
}

/* The peak with these sizes and new lives, if the request that failed were `less` bytes smaller. It only counts in
 * the last state, so the peak before that state is computed too. */
static bool peak_find(const struct planner *planner, const struct edit *edit, uint64_t less,
                      uint64_t *bytes) {
    struct in_use whole, before = {0};
    struct lives lives = planner->lives;
    if (!changed_curve(&whole, &lives, &edit, 1, planner->arena))
        return false;
    lives.n--;
    if (less != 0 && !changed_curve(&before, &lives, &edit, 1, planner->arena))
        return false;
    *bytes = whole.requested - less > before.requested ? whole.requested - less : before.requested;
    return true;
}

static bool parts_solve(struct losing *losing, uint64_t *size, uint32_t n, uint32_t which) {
    const struct planner *planner = losing->planner;
    const struct allocations *allocations = planner->allocations;
    struct plan_loss *loss = &losing->planner->plan->loss;
    struct edit least = {.size = size};
    uint64_t failed = losing->failed_bytes;
    bytes_copy(size, allocations->size, allocations->count * sizeof *size);
    for (uint32_t i = 0; i < losing->n_rows; i++)
        size[losing->row[i]] = parts_of(allocations->size[losing->row[i]], n);
    if (!peak_find(planner, &least, failed - parts_of(failed, n), &loss->live_min[which]))
        return false;
    for (uint32_t i = 0; i < losing->n_rows; i++)
        if (bits_has(losing->whole, losing->row[i]))
            size[losing->row[i]] = allocations->size[losing->row[i]];
    losing->most.size = size;
    if (!peak_find(planner, &losing->most, 0, &loss->live_max[which]))
        return false;
    loss->live_max[which] += (uint64_t)LOSS_GRAIN * n;
    return true;
}

static bool losing_find(struct losing *losing, uint64_t *size) {
    struct plan *plan = losing->planner->plan;
    for (uint32_t i = 0; i < plan->blocks.n_forwards; i++)
        if (!forward_find(losing, &plan->blocks.forward[i]))
            return false;
    for (uint32_t i = 0; i < PLAN_LOSS_WAYS && losing->most_bytes != 0; i++)
        if (!parts_solve(losing, size, plan_loss_parts[i], i))
            return false;
    plan->loss.known = losing->most_bytes != 0 &&
                       plan->loss.live_min[PLAN_LOSS_WAYS - 1] < plan->as_recorded.live_max / 100 * 99;
    return true;
}

bool loss_find(struct planner *planner) {
    struct losing losing = {.planner = planner};
    const struct allocations *allocations = planner->allocations;
    if (planner->plan->short_search || planner->plan->program->device->n_events >= POSITION_EVENTS_MAX)
        return true;
    uint64_t *size = arena_column(planner->arena, allocations->count, sizeof *size);
    losing.whole = arena_bits(planner->arena, allocations->count);
    bool done = size != NULL && losing.whole != NULL && losing_find(&losing, size);
    ARENA_DROP(planner->arena, losing.row, losing.whole, size);
    return done;
}
