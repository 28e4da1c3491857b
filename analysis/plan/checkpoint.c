/* Checkpointing of the first K blocks of every forward: what is freed, and when it is recomputed. */
#include "analysis/plan/plan_internal.h"

#include "base/bytes.h"

enum event_kind { EVENT_FREE, EVENT_ALLOCATES, EVENT_OTHER };

/* Notes what each event does. One that no table has is a request to free right before its completion. What continues
 * the recording does what the events one period before do. */
static bool events_fill(struct planner *planner) {
    const struct device_trace *device = planner->plan->program->device;
    const struct allocations *allocations = &device->allocations;
    planner->event = arena_column(planner->arena, (uint64_t)device->n_events + 1, 1);
    if (planner->event == NULL)
        return false;
    bytes_fill(planner->event, EVENT_FREE, device->n_events);
    for (uint32_t i = allocations->preexisting; i < allocations->count; i++)
        planner->event[allocations->birth[i] - 1] = EVENT_ALLOCATES;
    for (uint32_t i = 0; i < device->n_segment_events; i++)
        planner->event[device->segment_events[i].event] = EVENT_ALLOCATES;
    for (uint32_t i = 0; i < device->n_ooms; i++)
        planner->event[device->ooms[i].event] = EVENT_OTHER;
    for (uint32_t i = 0; i < device->n_snapshots; i++)
        planner->event[device->snapshots[i].event] = EVENT_OTHER;
    if (planner->plan->scope == PLAN_OF_STEP) {
        uint32_t failed = planner->plan->recorded->device->ooms[0].event, period = device->n_events - failed;
        for (uint32_t i = failed; i < device->n_events; i++)
            planner->event[i] = planner->event[i - period];
    }
    return true;
}

struct layer {
    struct planner *planner;
    const struct forward *forward;
    uint32_t first, end;          /* allocations */
    uint32_t backward, over;      /* moments after the forward, and after the backward; UINT32_MAX: none */
    uint32_t first_death, death;  /* of what is freed */
    uint32_t output, last_needed; /* allocations; UINT32_MAX: none */
    uint32_t uncast;              /* moment at which autocast drops its copies; UINT32_MAX: not known */
};

static uint32_t death_moment(const struct layer *block, uint32_t allocation) {
    uint32_t death = block->planner->allocations->death[allocation];
    return death <= block->planner->plan->program->device->n_events ? death : UINT32_MAX;
}

/* A weight in 16 bits, which autocast keeps for all that use the weight. */
static bool is_cast(const struct layer *block, uint32_t allocation) {
    return block->planner->plan->verdicts->category[allocation] == CATEGORY_WEIGHT_COPY;
}

/* Is it an activation that checkpointing frees after the forward? */
static bool is_dropped(const struct layer *block, uint32_t allocation) {
    const struct planner *planner = block->planner;
    uint32_t death = death_moment(block, allocation);
    bool cast = is_cast(block, allocation);
    if ((planner->plan->verdicts->category[allocation] != CATEGORY_ACTIVATION && !cast) ||
        allocation == block->output)
        return false;
    if (block->end >= planner->allocations->count || death <= planner->allocations->birth[block->end])
        return false;
    if (block->over != UINT32_MAX && death > block->over)
        return false;
    return !cast || (block->uncast != UINT32_MAX && death > block->uncast);
}

/* When autocast drops its copies, which its cache holds to the end of the forward: those that no graph needs go then.
 * UINT32_MAX: none shows it. */
static uint32_t uncast_find(const struct layer *block) {
    const uint32_t *birth = block->planner->allocations->birth;
    uint32_t moment = UINT32_MAX, last = 0;
    for (uint32_t i = block->forward->first; i < block->forward->end; i++)
        last = is_cast(block, i) ? birth[i] : last;
    for (uint32_t i = block->forward->first; i < block->forward->end; i++) {
        uint32_t death = death_moment(block, i);
        if (is_cast(block, i) && death > last && death < moment && death <= block->backward)
            moment = death;
    }
    return moment;
}

/* From where on a dropped activation is gone: at the latest at the end of its block; at the soonest, like memory that
 * no graph holds, when the second one after it is made. */
static uint64_t drop_position(const struct layer *block, uint32_t allocation, bool soon) {
    const uint32_t *birth = block->planner->allocations->birth;
    uint32_t end = soon && allocation + 2 < block->end ? allocation + 2 : block->end;
    return position_at(is_cast(block, allocation) ? block->uncast : birth[end]);
}

/* The output is the last activation; at the least the last that is there when the block is over, which may be memory that
 * the next block frees: it may keep a copy in 32 bits instead. */
static bool block_measure(struct layer *block, bool least) {
    const uint8_t *category = block->planner->plan->verdicts->category;
    uint32_t over = least && block->end < block->planner->allocations->count
                        ? block->planner->allocations->birth[block->end]
                        : 0;
    block->output = block->last_needed = UINT32_MAX;
    for (uint32_t i = block->first; i < block->end; i++)
        if (category[i] == CATEGORY_ACTIVATION ||
            (least && category[i] == CATEGORY_TEMPORARY && death_moment(block, i) > over))
            block->output = i;
    block->first_death = UINT32_MAX;
    block->death = 0;
    for (uint32_t i = block->first; i < block->end; i++) {
        if (!is_dropped(block, i))
            continue;
        uint32_t death = death_moment(block, i);
        block->last_needed = i;
        block->first_death = death < block->first_death ? death : block->first_death;
        block->death = death > block->death ? death : block->death;
    }
    return block->last_needed != UINT32_MAX;
}

/* When the whole block is recomputed at once: after the last activation of later blocks that is freed before its own
 * first one. */
static uint32_t moment_of_most(const struct layer *block) {
    const uint8_t *category = block->planner->plan->verdicts->category;
    uint32_t moment = block->backward - 1;
    for (uint32_t i = block->end; i < block->forward->end; i++) {
        uint32_t death = death_moment(block, i);
        if (category[i] == CATEGORY_ACTIVATION && death < block->first_death && death > moment)
            moment = death;
    }
    return moment;
}

/* When as little as possible is recomputed: where the operator begins that frees the first activation that backward
 * needs, but not before `most`. */
static uint32_t moment_of_least(const struct layer *block, uint32_t most) {
    const uint8_t *event = block->planner->event;
    uint32_t moment = block->first_death - 1;
    while (moment > most && event[moment - 1] == EVENT_FREE)
        moment--;
    while (moment > most && event[moment - 1] == EVENT_ALLOCATES)
        moment--;
    return moment > most ? moment : most;
}

/* Does recomputing make it again? A forward makes no parameters, workspaces, gradients or optimizer state. */
static bool is_made_again(const struct layer *block, uint32_t allocation) {
    uint8_t category = block->planner->plan->verdicts->category[allocation];
    return category != CATEGORY_PARAMETER && category != CATEGORY_WORKSPACE &&
           category != CATEGORY_GRADIENT && category != CATEGORY_OPTIMIZER_STATE;
}

/* A block that is recomputed after an event. Among the numbers of insertions there, each block has room for twice its
 * allocations, in the order of their recorded events. */
struct again {
    uint32_t moment, end; /* allocations before `end` are made */
    bool whole;
    uint32_t number; /* of its first insertion */
};

static uint64_t again_position(const struct layer *block, const struct again *again, uint32_t moment) {
    uint32_t begin = block->planner->allocations->birth[block->first];
    return position_behind(again->moment, again->number + (moment - begin));
}

static uint64_t death_again(const struct layer *block, const struct again *again, uint32_t allocation) {
    uint32_t death = death_moment(block, allocation);
    const uint32_t *birth = block->planner->allocations->birth;
    uint32_t last = birth[again->end - 1];
    if (again->whole && allocation == block->output)
        return block->death == UINT32_MAX ? POSITION_NEVER : position_at(block->death);
    return again_position(block, again, death <= last ? death : last + 1);
}

static bool block_again(struct layer *block, struct edit *edit, const struct again *again) {
    const uint32_t *birth = block->planner->allocations->birth;
    for (uint32_t i = block->first; i < again->end; i++) {
        uint64_t at = again_position(block, again, birth[i]);
        if (is_dropped(block, i)) {
            if (!edit_cut(edit, i, drop_position(block, i, !again->whole), at, block->planner->arena))
                return false;
        } else if (is_made_again(block, i) &&
                   !edit_life(edit, i, at, death_again(block, again, i), block->planner->arena))
            return false;
    }
    return true;
}

static bool block_gone(struct layer *block, struct edit *edit, bool soon) {
    for (uint32_t i = block->first; i < block->end; i++)
        if (is_dropped(block, i) &&
            !edit_cut(edit, i, drop_position(block, i, soon), POSITION_NEVER, block->planner->arena))
            return false;
    return true;
}

static bool block_edit(struct layer *block, struct edit form[2], uint32_t number) {
    for (int i = 0; i < 2; i++) {
        bool least = i == 0;
        if (!block_measure(block, least))
            continue;
        if (block->backward == UINT32_MAX || block->first_death < block->backward ||
            block->first_death == UINT32_MAX) {
            if (!block_gone(block, &form[i], least))
                return false;
            continue;
        }
        struct again again = {moment_of_most(block), block->end, true, number};
        if (least)
            again =
                (struct again){moment_of_least(block, again.moment), block->last_needed + 1, false, number};
        if (!block_again(block, &form[i], &again))
            return false;
    }
    return true;
}

/* Moment of the first allocation of a run; UINT32_MAX: none. */
static uint32_t run_moment(const struct planner *planner, uint32_t run) {
    const struct phase_runs *runs = &planner->plan->verdicts->runs;
    return run < runs->count ? planner->allocations->birth[runs->first_allocation + runs->run[run].first]
                             : UINT32_MAX;
}

/* The first number of a block: below those of the blocks before it, which are recomputed after it. */
static uint32_t number_of(const struct planner *planner, const struct forward *forward, uint32_t nth) {
    const struct block_span *span = &planner->plan->blocks.span[forward->first_block];
    const uint32_t *birth = planner->allocations->birth;
    uint32_t behind = forward->n_blocks - 1 - nth;
    return birth[span[nth + behind].end - 1] - birth[span[nth].end - 1] + 2 * behind;
}

static bool forward_edit(struct planner *planner, const struct forward *forward, uint32_t nth) {
    const struct block_span *span = &planner->plan->blocks.span[forward->first_block + nth];
    struct layer block = {.planner = planner,
                          .forward = forward,
                          .first = span->first,
                          .end = span->end,
                          .backward =
                              forward->has_backward ? run_moment(planner, forward->run + 1) : UINT32_MAX,
                          .over = forward->has_backward ? run_moment(planner, forward->run + 2) : UINT32_MAX};
    block.uncast = uncast_find(&block);
    return block_edit(&block, planner->checkpoint, number_of(planner, forward, nth));
}

/* Adds the first blocks of all forwards, then the second ones, and so on: the first K blocks are the first part of the
 * list. */
bool checkpoint_make(struct planner *planner, uint32_t n_blocks) {
    const struct blocks *blocks = &planner->plan->blocks;
    planner->until = arena_column(planner->arena, n_blocks, sizeof *planner->until);
    if (planner->until == NULL || !events_fill(planner))
        return false;
    for (uint32_t k = 0; k < n_blocks; k++) {
        for (uint32_t i = 0; i < blocks->n_forwards; i++)
            if (blocks->forward[i].n_blocks > k && !forward_edit(planner, &blocks->forward[i], k))
                return false;
        for (int form = 0; form < 2; form++) {
            planner->until[k].n_cuts[form] = planner->checkpoint[form].n_cuts;
            planner->until[k].n_lives[form] = planner->checkpoint[form].n_lives;
        }
    }
    return edit_sort(&planner->checkpoint[0], &planner->lives, planner->arena) &&
           edit_sort(&planner->checkpoint[1], &planner->lives, planner->arena);
}

void checkpoint_of(const struct planner *planner, uint32_t from, uint32_t n_blocks, struct edit form[2]) {
    for (int i = 0; i < 2; i++) {
        form[i] = planner->checkpoint[i];
        form[i].n_cuts = planner->until[n_blocks - 1].n_cuts[i];
        form[i].n_lives = planner->until[from - 1].n_lives[i];
    }
}
