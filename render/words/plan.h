/* A plan in words, for every output: its changes by name, its answer in one sentence. */
#ifndef STRATA_RENDER_WORDS_PLAN_H
#define STRATA_RENDER_WORDS_PLAN_H

#include "analysis/plan/plan.h"
#include "base/words.h"

/* Room enough for every text here; longer ones are cut. */
enum { PLAN_TEXT = 4096 };

/* Two decimals from 1 GiB on. */
struct figure plan_bytes(uint64_t bytes);

/* "6.39 to 6.43 GiB" */
void plan_words_range(struct words *words, uint64_t least, uint64_t most);

/* A change as a table lists it ("checkpoint 4 of 4 blocks"), and as a sentence asks for it ("checkpoint 2 of the 4 blocks of
 * transformer.py:57 forward"). `n_blocks` matters to checkpointing alone. */
void plan_words_title(struct words *words, const struct plan *plan, const struct plan_change *change,
                      uint32_t n_blocks);
void plan_words_change(struct words *words, const struct plan *plan, const struct plan_change *change,
                       uint32_t n_blocks);

/* "nothing", "14 % time": the cost of a change or a set. */
void plan_words_cost(struct words *words, const struct plan *plan, enum plan_cost cost, uint32_t n_blocks);

/* What the loss in parts would leave in use; nothing where that is not known. */
void plan_words_loss(struct words *words, const struct plan *plan);

/* "The least change that serves it (model): ", and the change, or how many. */
void plan_words_set(struct words *words, const struct plan *plan, const struct plan_set *set);

/* "18.13 GiB (18.5 GiB less 2 %)" */
void plan_words_budget(struct words *words, const struct plan *plan);

/* The answer: the first plan, that nothing is needed, or that nothing serves it. Without a limit, and where the replay is
 * refused: nothing. Without a full stop at its end. */
void plan_words_answer(struct words *words, const struct plan *plan);

/* Says something of a plan, by means of `scratch`. False: no memory. */
typedef bool plan_teller(struct words *words, const struct plan *plan, struct arena *scratch);

/* Plans beside another output and writes the plan with `tell` (NULL: the answer), or that it would take
 * long; "" if no plan is asked for: `asked` NULL, no request failed, no device is named. Its memory is of
 * `scratch`'s host, and freed. False: no memory. */
bool plan_sentence_find(char text[PLAN_TEXT], const struct timeline *timeline,
                        const struct plan_request *asked, plan_teller *tell, struct arena *scratch);

#endif
