/* The layers of a forward, found by repetition. */
#include "training.h"

#include "analysis/findings/verdicts.h"
#include "analysis/loop/blocks.h"

enum { LAYERS = 6, EACH = 4, BEFORE = 3 };

/* Three allocations of an embedding, then six times four of a layer's lines, then two of a head; a backward follows. */
static void forward_add(const struct training *training, const uint32_t *line, uint32_t begin) {
    struct recording *recording = training->recording;
    const uint32_t end = begin + 100;
    for (uint32_t i = 0; i < BEFORE; i++)
        recording_allocation(recording, begin++, end, 512 + i, training->forward);
    for (uint32_t i = 0; i < LAYERS * EACH; i++)
        recording_allocation(recording, begin++, end, 4096, line[i % EACH]);
    for (uint32_t i = 0; i < 2; i++)
        recording_allocation(recording, begin++, end, 700 + i, training->forward);
    for (uint32_t i = 0; i < PARAMETERS; i++)
        recording_allocation(recording, begin++, STAYS, parameter_size(i), training->backward);
}

static void test_layers(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    struct training training = training_make(recording);
    struct verdicts verdicts = {0};
    struct blocks blocks;
    uint32_t line[EACH];
    for (uint32_t i = 0; i < EACH; i++) {
        line[i] = recording_stack(recording, training.layer, "/home/u/layer.py", "attention");
        recording->trace.frames.frame[recording->trace.stacks.frame[line[i]]].line = 10 + i;
    }
    forward_add(&training, line, 1);
    assert_true(verdicts_judge(&verdicts, recording_settle(recording, 300), &recording->arena));
    assert_true(
        blocks_find(&blocks, verdicts.timeline, &verdicts.runs, verdicts.category, &recording->arena));
    assert_int_equal(blocks.n_forwards, 1);
    assert_int_equal(blocks.forward[0].n_blocks, LAYERS);
    assert_int_equal(blocks.forward[0].period, EACH);
    assert_true(blocks.forward[0].has_backward);
    assert_true(blocks.forward[0].in_module);
    for (uint32_t i = 0; i < LAYERS; i++) {
        assert_int_equal(blocks.span[i].first, BEFORE + i * EACH);
        assert_int_equal(blocks.span[i].end, BEFORE + (i + 1) * EACH);
    }
    /* The innermost frame that all allocations of a layer share: layer.py's forward. */
    assert_int_equal(blocks.forward[0].site, recording->trace.stacks.frame[training.layer]);
    recording_close(recording);
}

/* The same allocations, each from a line of its own: nothing repeats. */
static void test_nothing_repeats(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    struct training training = training_make(recording);
    struct verdicts verdicts = {0};
    struct blocks blocks;
    for (uint32_t i = 0; i < LAYERS * EACH; i++) {
        uint32_t own = recording_stack(recording, training.forward, "/home/u/model.py", "part");
        recording->trace.frames.frame[recording->trace.stacks.frame[own]].name =
            recording_text(recording, (char[]){(char)('a' + i), 0});
        recording_allocation(recording, 1 + i, 60, 4096, own);
    }
    for (uint32_t i = 0; i < PARAMETERS; i++)
        recording_allocation(recording, 40 + i, STAYS, parameter_size(i), training.backward);
    assert_true(verdicts_judge(&verdicts, recording_settle(recording, 100), &recording->arena));
    assert_true(
        blocks_find(&blocks, verdicts.timeline, &verdicts.runs, verdicts.category, &recording->arena));
    assert_int_equal(blocks.n_forwards, 1);
    assert_int_equal(blocks.forward[0].n_blocks, 0);
    recording_close(recording);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_layers), cmocka_unit_test(test_nothing_repeats)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
