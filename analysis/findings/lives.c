#include "analysis/findings/lives.h"

#include "base/bits.h"
#include "base/search.h"

static uint32_t site_of(const struct lives *lives, uint32_t allocation) {
    return id_slot(&lives->runs->slots, lives->allocations->stack[allocation]);
}

/* Code after the loop that belongs to the last turn for want of another, and the exit, free what the loop kept: the loop
 * ends with the last allocation of a site that an earlier turn has, too. */
static uint32_t end_of_loop(const struct lives *lives) {
    const struct allocations *allocations = lives->allocations;
    uint32_t first = allocations->preexisting;
    if (lives->n_turns == 0)
        return allocations->count > first ? allocations->birth[allocations->count - 1] : 0;
    const struct turn *last = &lives->turns->turn[lives->n_turns - 1];
    for (uint32_t k = last->end; k-- > last->first;)
        if (lives->order[lives->start[site_of(lives, first + k)]] < first + last->first)
            return allocations->birth[first + k];
    return last->begin_moment;
}

static bool floors_find(struct lives *lives, struct arena *arena) {
    if (!ARENA_COLUMNS(arena, lives->n_turns, lives->floor))
        return false;
    for (uint32_t i = 0; i < lives->n_turns; i++) {
        const struct turn *turn = &lives->turns->turn[i];
        lives->floor[i] = UINT64_MAX;
        for (uint32_t m = turn->begin_moment; m < turn->end_moment && m <= lives->end; m++)
            lives->floor[i] = lives->live[m] < lives->floor[i] ? lives->live[m] : lives->floor[i];
    }
    return true;
}

static bool olds_find(struct lives *lives, struct arena *arena) {
    const struct allocations *allocations = lives->allocations;
    struct sort_row *spare;
    if (!ARENA_COLUMNS(arena, allocations->preexisting, lives->old, spare))
        return false;
    for (uint32_t i = 0; i < allocations->preexisting; i++)
        if (allocations->request[i] < lives->runs->n_moments)
            lives->old[lives->n_old++] = (struct sort_row){allocations->size[i], i};
    sort_rows(lives->old, spare, lives->n_old);
    ARENA_DROP(arena, spare);
    return true;
}

bool lives_begin(struct lives *lives, const struct timeline *timeline, const struct phase_runs *runs,
                 const struct turns *turns, struct arena *arena) {
    const struct allocations *allocations = &timeline->device->allocations;
    uint32_t n = allocations->count - allocations->preexisting;
    *lives = (struct lives){.allocations = allocations,
                            .runs = runs,
                            .turns = turns,
                            .live = timeline->live,
                            .n_turns = turns->count - (turns->count > 0 && !turns->closed),
                            .n_sites = runs->slots.count,
                            .told = arena_bits(arena, allocations->count)};
    if (lives->told == NULL || !ARENA_COLUMNS(arena, n, lives->order) ||
        !ARENA_ZEROS(arena, (uint64_t)lives->n_sites + 2, lives->start) ||
        !ARENA_ZEROS(arena, 1, lives->near))
        return false;
    for (uint32_t i = allocations->preexisting; i < allocations->count; i++)
        lives->start[site_of(lives, i) + 2]++;
    for (uint32_t site = 0; site < lives->n_sites; site++)
        lives->start[site + 2] += lives->start[site + 1];
    for (uint32_t i = allocations->preexisting; i < allocations->count; i++)
        lives->order[lives->start[site_of(lives, i) + 1]++] = i;
    lives->end = end_of_loop(lives);
    return floors_find(lives, arena) && olds_find(lives, arena);
}

bool lives_again(struct lives *lives, const struct lives *other, const struct turns *turns,
                 struct arena *arena) {
    *lives = *other;
    lives->turns = turns;
    lives->n_turns = turns->count;
    *lives->near = 0;
    lives->end = end_of_loop(lives);
    return floors_find(lives, arena);
}

void lives_drop(struct lives *lives, struct arena *arena) {
    ARENA_DROP(arena, lives->old, lives->floor, lives->near, lives->start, lives->order, lives->told);
}

uint32_t lives_turn(const struct lives *lives, uint32_t allocation) {
    const struct turns *turns = lives->turns;
    uint32_t recorded = allocation - lives->allocations->preexisting, near = *lives->near;
    if (near >= turns->count || recorded < turns->turn[near].first || recorded >= turns->turn[near].end)
        *lives->near = near + 1 < turns->count && recorded >= turns->turn[near + 1].first &&
                               recorded < turns->turn[near + 1].end
                           ? near + 1
                           : turns_at(turns, recorded);
    return *lives->near;
}

uint32_t lives_freed(const struct lives *lives, uint32_t allocation, uint32_t turn) {
    const struct turn *turns = lives->turns->turn;
    uint32_t freed = lives->allocations->request[allocation];
    if (freed > lives->end)
        return LIVES_NEVER;
    if (freed <= turns[turn].end_moment)
        return turn;
    return SEARCH(turn + 1, lives->n_turns, i, turns[i].end_moment < freed);
}

bool lives_next(const struct lives *lives, uint32_t site, struct life *life) {
    uint32_t at = life->to, end = lives->start[site + 1];
    *life = (struct life){.turn = UINT32_MAX, .next = UINT32_MAX, .from = at};
    for (; at < end; at++) {
        uint32_t allocation = lives->order[at], turn = lives_turn(lives, allocation);
        if (turn >= lives->n_turns || bits_has(lives->told, allocation))
            continue;
        if (life->turn == UINT32_MAX) {
            life->turn = life->freed = turn;
            life->from = at;
        } else if (turn != life->turn) {
            life->next = turn;
            break;
        }
        uint32_t freed = lives_freed(lives, allocation, turn);
        life->n_made++;
        if (freed > life->freed) {
            life->freed = freed;
            life->n_kept = 0;
            life->kept_bytes = 0;
        }
        if (freed != life->freed || freed == turn)
            continue;
        life->n_kept++;
        life->kept_bytes += lives->allocations->size[allocation];
        life->last_kept = allocation;
    }
    if (life->n_kept > 0 && life->freed != LIVES_NEVER)
        life->gap = recorded_from(lives->runs, lives->allocations->request[life->last_kept]);
    life->to = at;
    return life->turn != UINT32_MAX;
}
