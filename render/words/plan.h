/* A plan in words, for every output: its changes by name, its answer in one sentence. */
#pragma once

#include "analysis/plan/plan.h"
#include "base/words.h"

/* Room enough for every text here; a longer one is cut. */
enum { PLAN_TEXT = 4096 };

/* Bytes with two decimals from 1 GiB on. */
struct figure plan_bytes(uint64_t bytes);

/* Writes "6.39 to 6.43 GiB". */
void plan_words_range(struct words *words, uint64_t least, uint64_t most);

/* plan_words_title writes a change as a table lists it ("checkpoint all 4 blocks"); the other function as a sentence
 * asks for it ("checkpoint 2 of 4 blocks of transformer.py:57 forward"). `n_blocks` matters only for
 * checkpointing. */
void plan_words_title(struct words *words, const struct plan *plan, const struct plan_change *change,
                      uint32_t n_blocks);
void plan_words_change(struct words *words, const struct plan *plan, const struct plan_change *change,
                       uint32_t n_blocks);

/* Writes the titles of a set's changes, joined by "and". */
void plan_words_set_title(struct words *words, const struct plan *plan, const struct plan_set *set);

/* Writes the cost of a change or a set: "nothing", "14 % time". */
void plan_words_cost(struct words *words, const struct plan *plan, enum plan_cost cost, uint32_t n_blocks);

/* Writes how much would be in use if the loss were computed in parts; nothing if that is not known. */
void plan_words_loss(struct words *words, const struct plan *plan);

/* Writes what to set or to write, to be pasted: "export PYTORCH_ALLOC_CONF=expandable_segments:True". */
void plan_words_code(struct words *words, const struct plan *plan, const struct plan_change *change,
                     uint32_t n_blocks);

/* Writes "To fit: " and the change, or the number of changes. */
void plan_words_set(struct words *words, const struct plan *plan, const struct plan_set *set);

/* Writes "18.13 GiB (18.5 GiB less 2 %)". */
void plan_words_budget(struct words *words, const struct plan *plan);

/* Writes the answer, without a full stop: the first plan, or that nothing is needed, or that nothing serves it. Of a
 * plan that reaches to the failed request alone, it says so. Writes nothing if there is no limit, or if the replay is
 * refused. */
void plan_words_answer(struct words *words, const struct plan *plan);

/* Writes "expandable_segments:True: 6.2 GiB reserved instead of 50.1 GiB" of plan_best_setting; nothing without it. */
void plan_words_setting(struct words *words, const struct plan *plan);

/* What other outputs say of a plan. */
struct plan_said {
    char text
        [PLAN_TEXT]; /* a sentence without its full stop, or what a plan_teller wrote; "": nothing is said */
    char code[PLAN_ID];    /* to be pasted for it; "": there is none */
    const char *certainty; /* a word of plan_certainty_name; NULL: none */
    bool of_setting;       /* it is about a setting that saves much of what is reserved */
};

/* Writes something about a plan; `scratch` is its working memory. False: no memory. */
typedef bool plan_teller(struct words *words, const struct plan *plan, struct arena *scratch);

/* Makes a plan for another output and says its answer (with `tell`, if not NULL), or that it would take long: where a
 * request failed or a device is named. Otherwise, where a setting may save much of what is reserved, says which. Says
 * nothing if `asked` is NULL. Its memory comes from `scratch`'s host and is freed. False: no memory. */
bool plan_said_find(struct plan_said *said, const struct timeline *timeline, const struct plan_request *asked,
                    plan_teller *tell, struct arena *scratch);
