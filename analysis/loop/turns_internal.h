/* Shared by turns.c and turns_repeat.c. */
#pragma once

#include "analysis/loop/inner_keys.h"
#include "analysis/loop/turns.h"

/* Finds turns by repetition; finding none leaves the source TURNS_NONE. False: no memory. */
bool turns_repeat(struct turns *turns, const struct phase_runs *runs, const struct timeline *timeline,
                  struct arena *arena);

/* Makes turns that begin at the allocations `begin[count]`, rising; the last ends at `end`. False: no memory. */
bool turns_settle(struct turns *turns, const struct phase_runs *runs, const struct timeline *timeline,
                  const uint32_t *begin, uint32_t count, uint32_t end, struct arena *arena);

/* Is there a forward among the allocations from `from` on? O(n). */
bool has_forward_from(const struct phase_runs *runs, uint32_t from);

/* If what follows the last turn, from allocation `last` on, also preceded every turn, it is the end of the turn
 * before: moves `begin[1..count)` accordingly; `begin[count]` is the end of the last. False: no memory. */
bool begins_move(const struct phase_runs *runs, const struct timeline *timeline, uint32_t *begin,
                 uint32_t count, uint32_t last, struct arena *arena);
