/* The category of an allocation, from its stack and the phases that it outlives. */
#include "recording.h"

#include "analysis/findings/verdicts.h"

#define TORCH "/usr/lib/python3/site-packages/torch/"

struct places {
    uint32_t forward, backward, accumulate, optimizer, load, data;
};

static struct places places_make(struct recording *recording) {
    uint32_t main_ = recording_stack(recording, 0, "/home/u/train.py", "main");
    uint32_t engine = recording_stack(recording, main_, TORCH "autograd/graph.py", "_engine_run_backward");
    return (struct places){
        .forward = recording_stack(recording, main_, "/home/u/model.py", "forward"),
        .backward = engine,
        .accumulate = recording_stack(recording, engine, "", "torch::autograd::AccumulateGrad::apply"),
        .optimizer = recording_stack(recording, main_, TORCH "optim/adamw.py", "step"),
        .load = recording_stack(recording, main_, TORCH "nn/modules/module.py", "to"),
        .data = recording_stack(recording, main_, TORCH "utils/data/dataloader.py", "__next__"),
    };
}

static const uint8_t *categories_of(struct recording *recording, uint32_t n_events) {
    struct verdicts verdicts;
    assert_true(verdicts_judge(&verdicts, recording_settle(recording, n_events), &recording->arena));
    return verdicts.category;
}

/* load, forward, backward, optimizer; then the next forward. */
static void test_a_step(void **state) {
    (void)state;
    static const enum category wanted[] = {
        CATEGORY_OTHER,           /* from before the recording, without a stack */
        CATEGORY_PARAMETER,       /* moved to the device */
        CATEGORY_INPUT,           /* made by a loader */
        CATEGORY_ACTIVATION,      /* alive when the backward pass allocates */
        CATEGORY_TEMPORARY,       /* gone before */
        CATEGORY_GRADIENT,        /* alive when the optimizer allocates */
        CATEGORY_TEMPORARY,       /* gone before */
        CATEGORY_GRADIENT,        /* stored by autograd */
        CATEGORY_OPTIMIZER_STATE, /* alive in the next forward pass */
        CATEGORY_TEMPORARY,       /* gone before */
    };
    struct recording *recording = recording_open();
    struct places places = places_make(recording);
    recording_allocation(recording, 0, STAYS, 512, 0);
    recording_allocation(recording, 1, STAYS, 512, places.load);
    recording_allocation(recording, 2, 20, 512, places.data);
    recording_allocation(recording, 3, 14, 512, places.forward);
    recording_allocation(recording, 4, 5, 512, places.forward);
    recording_allocation(recording, 10, 40, 512, places.backward);
    recording_allocation(recording, 11, 13, 512, places.backward);
    recording_allocation(recording, 14, 15, 512, places.accumulate);
    recording_allocation(recording, 20, STAYS, 512, places.optimizer);
    recording_allocation(recording, 21, 22, 512, places.optimizer);
    recording_allocation(recording, 30, 41, 512, places.forward);
    recording_allocation(recording, 40, 42, 512, places.backward);
    const uint8_t *category = categories_of(recording, 50);
    for (uint32_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        assert_int_equal(category[i], wanted[i]);
    recording_close(recording);
}

static void test_the_stack_of_a_free_does_not_count(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    struct places places = places_make(recording);
    uint32_t allocation = recording_allocation(recording, 0, 10, 512, places.optimizer);
    recording->flags[allocation] = ALLOCATION_STACK_OF_FREE;
    assert_int_equal(categories_of(recording, 20)[allocation], CATEGORY_OTHER);
    recording_close(recording);
}

/* Categories from a profiler or a rule are not marked as inferred, not even with names of their own. */
static void test_a_context_decides(void **state) {
    (void)state;
    static const struct {
        const char *word;
        enum category category;
    } cases[] = {{"input", CATEGORY_INPUT},
                 {"autograd_detail", CATEGORY_AUTOGRAD_DETAIL},
                 {"unknown", CATEGORY_UNKNOWN},
                 {"optimizer_stat", CATEGORY_OTHER},
                 {"optimizer_states", CATEGORY_OTHER}};
    enum { CASES = sizeof cases / sizeof *cases };
    struct recording *recording = recording_open();
    struct places places = places_make(recording);
    for (uint32_t i = 0; i < CASES; i++)
        recording->context[recording_allocation(recording, i + 1, STAYS, 512, places.load)] =
            recording_context(recording, cases[i].word);
    const uint8_t *category = categories_of(recording, 20);
    for (uint32_t i = 0; i < CASES; i++)
        assert_int_equal(category[i], cases[i].category);
    recording_close(recording);
}

/* The recording ends in the second step's forward. The category of most allocations with the same stack decides. */
static void test_a_recording_that_ends_in_forward(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    struct places places = places_make(recording);
    uint32_t once = recording_stack(recording, 0, "/home/u/model.py", "only_once");
    recording_allocation(recording, 1, 15, 512, places.forward);
    recording_allocation(recording, 10, 16, 512, places.backward);
    uint32_t like_before = recording_allocation(recording, 20, STAYS, 512, places.forward),
             like_nothing = recording_allocation(recording, 21, STAYS, 512, once),
             brief = recording_allocation(recording, 22, 24, 512, once);
    recording->ooms[0] = (struct oom_event){.event = 30};
    recording->device.n_ooms = 1;
    const uint8_t *category = categories_of(recording, 40);
    assert_int_equal(category[like_before], CATEGORY_ACTIVATION);
    assert_int_equal(category[like_nothing],
                     CATEGORY_OTHER); /* alive because the recording ends; no forward() made it */
    assert_int_equal(category[brief], CATEGORY_TEMPORARY);
    recording_close(recording);
}

static void test_names(void **state) {
    (void)state;
    for (enum category_reason i = REASON_NONE; i < REASON_COUNT; i++)
        assert_true(category_reason_label[i].name[0] != '\0' && category_reason_label[i].title[0] != '\0');
    for (uint32_t i = 0; i < CATEGORY_COUNT; i++) {
        const char *name = category_label[i].name;
        assert_int_equal(category_by_name(word_text(name)), i);
    }
    assert_int_equal(category_by_name(word_text("")), CATEGORY_COUNT);
    assert_int_equal(category_by_name(word_text("inputs")), CATEGORY_COUNT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_step),
        cmocka_unit_test(test_the_stack_of_a_free_does_not_count),
        cmocka_unit_test(test_a_context_decides),
        cmocka_unit_test(test_a_recording_that_ends_in_forward),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
