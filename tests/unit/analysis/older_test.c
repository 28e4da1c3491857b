/* Memory older than the recording, categorised by size; autocast's copies; the parts of the peak. */
#include "recording.h"

#include "analysis/findings/peak_made.h"
#include "base/numbers.h"

#define TORCH "/usr/lib/python3/site-packages/torch/"

enum { SIZES = 6 };
static const uint64_t sizes[SIZES] = {50 * MIB, 4 * MIB, 4 * MIB, 16 * MIB, 16 * MIB, 3 * KIB};

struct places {
    uint32_t forward, backward, optimizer, zero_grad, cast;
};

static struct places places_make(struct recording *recording) {
    uint32_t main_ = recording_stack(recording, 0, "/home/u/train.py", "main");
    uint32_t forward = recording_stack(recording, main_, "/home/u/model.py", "forward");
    return (struct places){
        .forward = forward,
        .backward = recording_stack(recording, main_, TORCH "autograd/graph.py", "_engine_run_backward"),
        .optimizer = recording_stack(recording, main_, TORCH "optim/adamw.py", "step"),
        .zero_grad = recording_stack(recording, main_, TORCH "optim/optimizer.py", "zero_grad"),
        .cast = recording_stack(recording, forward, "", "at::autocast::cached_cast(c10::ScalarType)"),
    };
}

/* Adds `copies` of the parameters, older than the recording and never freed. */
static void olds_add(struct recording *recording, uint32_t copies) {
    for (uint32_t c = 0; c < copies; c++)
        for (uint32_t i = 0; i < SIZES; i++) {
            uint32_t allocation = recording_allocation(recording, 0, STAYS, sizes[i], 0);
            recording->address[allocation] = ((uint64_t)c + 1) * GIB + i * 64 * MIB;
        }
}

/* A step: forward, backward (which makes the gradients), an optimizer with temporaries, and zero_grad at the end. */
static void step_add(struct recording *recording, const struct places *places, uint32_t begin) {
    for (uint32_t i = 0; i < 12; i++)
        recording_allocation(recording, begin + i, begin + 40 - i, 100 * KIB, places->forward);
    for (uint32_t i = 0; i < SIZES; i++)
        recording_allocation(recording, begin + 15 + i, begin + 90 + i, sizes[i], places->backward);
    for (uint32_t i = 0; i < 10; i++)
        recording_allocation(recording, begin + 30 + i * 2, begin + 31 + i * 2, KIB, places->backward);
    for (uint32_t i = 0; i < SIZES; i++)
        recording_allocation(recording, begin + 60 + i, begin + 70 + i, sizes[i], places->optimizer);
}

static struct verdicts *verdicts_of(struct recording *recording, uint32_t n_events) {
    static struct verdicts verdicts;
    assert_true(verdicts_init(&verdicts, recording_settle(recording, n_events), &recording->arena));
    return &verdicts;
}

static uint64_t older_bytes(const struct verdicts *verdicts, enum category category) {
    const struct allocations *allocations = &verdicts->timeline->device->allocations;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < allocations->preexisting; i++)
        bytes += verdicts->category[i] == category ? allocations->size[i] : 0;
    return bytes;
}

static uint64_t copy_bytes(void) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < SIZES; i++)
        bytes += sizes[i];
    return bytes;
}

static void test_parameters_and_state(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    struct places places = places_make(recording);
    olds_add(recording, 3);
    uint32_t odd = recording_allocation(recording, 0, STAYS, 7 * MIB, 0);
    step_add(recording, &places, 1);
    step_add(recording, &places, 111);
    const struct verdicts *verdicts = verdicts_of(recording, 230);
    assert_int_equal(verdicts->older.source, OLDER_GRADIENTS);
    assert_int_equal(verdicts->older.copies, 3);
    assert_int_equal(older_bytes(verdicts, CATEGORY_PARAMETER), copy_bytes());
    assert_int_equal(older_bytes(verdicts, CATEGORY_OPTIMIZER_STATE), 2 * copy_bytes());
    assert_int_equal(verdicts->category[odd], CATEGORY_OTHER);
    assert_int_equal(verdicts->reason[odd], REASON_OLDER);
    assert_int_equal(verdicts->older.bytes - verdicts->older.named_bytes, 7 * MIB);
    recording_close(recording);
}

/* Gradients of the step before are freed in the forward: by zero_grad, or all at once. */
static void test_gradients_freed_in_forward(void **state) {
    (void)state;
    for (uint32_t named = 0; named < 2; named++) {
        struct recording *recording = recording_open();
        struct places places = places_make(recording);
        olds_add(recording, 1);
        uint32_t first = recording->device.allocations.count;
        for (uint32_t i = 0; i < SIZES; i++) {
            uint32_t allocation = recording_allocation(recording, 0, 20 + SIZES - i, sizes[i],
                                                       named ? places.zero_grad : places.forward);
            recording->flags[allocation] = ALLOCATION_STACK_OF_FREE;
            recording->address[allocation] = 9 * GIB + i * 64 * MIB;
        }
        for (uint32_t i = 0; i < 12; i++)
            recording_allocation(recording, 1 + i, 60 - i, 100 * KIB, places.forward);
        step_add(recording, &places, 30);
        const struct verdicts *verdicts = verdicts_of(recording, 200);
        for (uint32_t i = 0; i < SIZES; i++)
            assert_int_equal(verdicts->category[first + i], CATEGORY_GRADIENT);
        assert_int_equal(older_bytes(verdicts, CATEGORY_PARAMETER), copy_bytes());
        recording_close(recording);
    }
}

/* Forward alone: four of each size are parameters, gradients and two states; two of each cannot be told apart. */
static void test_forward_alone(void **state) {
    (void)state;
    for (uint32_t copies = 1; copies <= 4; copies++) {
        struct recording *recording = recording_open();
        struct places places = places_make(recording);
        olds_add(recording, copies);
        for (uint32_t i = 0; i < 12; i++)
            recording_allocation(recording, 1 + i * 2, 2 + i * 2, 100 * KIB, places.forward);
        const struct verdicts *verdicts = verdicts_of(recording, 60);
        bool told = copies > 2;
        assert_int_equal(verdicts->older.source, OLDER_NONE);
        assert_int_equal(verdicts->older.copies, told ? copies : 1);
        assert_int_equal(older_bytes(verdicts, CATEGORY_PARAMETER), (told ? 1 : copies) * copy_bytes());
        assert_int_equal(older_bytes(verdicts, CATEGORY_GRADIENT), copies == 4 ? copy_bytes() : 0);
        assert_int_equal(older_bytes(verdicts, CATEGORY_OPTIMIZER_STATE), told ? 2 * copy_bytes() : 0);
        recording_close(recording);
    }
}

/* If the optimizer makes four times what backward makes, backward adds to older gradients. */
static void test_gradients_in_place(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    struct places places = places_make(recording);
    olds_add(recording, 4);
    for (uint32_t i = 0; i < 12; i++)
        recording_allocation(recording, 1 + i, 40 - i, 100 * KIB, places.forward);
    for (uint32_t i = 0; i < 12; i++)
        recording_allocation(recording, 15 + i, 50 + i, KIB, places.backward);
    for (uint32_t i = 0; i < SIZES; i++)
        recording_allocation(recording, 42 + i, 70 + i, sizes[i], places.optimizer);
    recording_allocation(recording, 80, 81, KIB, places.forward);
    const struct verdicts *verdicts = verdicts_of(recording, 90);
    assert_int_equal(verdicts->older.source, OLDER_OPTIMIZER);
    assert_int_equal(older_bytes(verdicts, CATEGORY_GRADIENT), copy_bytes());
    assert_int_equal(older_bytes(verdicts, CATEGORY_OPTIMIZER_STATE), 2 * copy_bytes());
    recording_close(recording);
}

/* As many copies as weights of twice the size: the longest-lived ones, not those that are freed at once. */
static void test_weight_copies(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    struct places places = places_make(recording);
    olds_add(recording, 1);
    uint32_t long_lived = recording_allocation(recording, 1, 40, 8 * MIB, places.cast);
    uint32_t too_short = recording_allocation(recording, 2, 4, 8 * MIB, places.cast);
    for (uint32_t i = 0; i < 8; i++)
        recording_allocation(recording, 5 + i, 30, 64 * KIB, places.forward);
    uint32_t no_weight = recording_allocation(recording, 20, 40, 5 * MIB, places.cast);
    for (uint32_t i = 0; i < 8; i++)
        recording_allocation(recording, 21 + i, 31 + i, 64 * KIB, places.forward);
    const struct verdicts *verdicts = verdicts_of(recording, 60);
    assert_int_equal(verdicts->category[long_lived], CATEGORY_WEIGHT_COPY);
    assert_int_not_equal(verdicts->category[too_short], CATEGORY_WEIGHT_COPY);
    assert_int_not_equal(verdicts->category[no_weight], CATEGORY_WEIGHT_COPY);
    recording_close(recording);
}

static void test_parts_of_the_peak(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    struct places places = places_make(recording);
    char text[FINDING_TEXT_NBYTES];
    struct peak_made made;
    olds_add(recording, 3);
    step_add(recording, &places, 1);
    step_add(recording, &places, 111);
    const struct verdicts *verdicts = verdicts_of(recording, 230);
    uint64_t sum = 0;
    peak_made_of(&made, verdicts);
    for (uint32_t i = 0; i < made.n_parts; i++) {
        sum += made.part[i].bytes;
        assert_true(i == 0 || made.part[i - 1].bytes >= made.part[i].bytes);
    }
    assert_int_equal(sum, verdicts->timeline->peak_bytes);
    assert_int_equal(made.phase, PEAK_OPTIMIZER);
    peak_made_text(&made, verdicts, text, sizeof text);
    assert_string_equal(
        text, "The peak of 450.0 MiB is reached in the optimizer's step: 40 % optimizer state, 20 % "
              "gradients, 20 % parameters. 88.8 MiB of it can be avoided.");
    recording_close(recording);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parameters_and_state), cmocka_unit_test(test_gradients_freed_in_forward),
        cmocka_unit_test(test_forward_alone),        cmocka_unit_test(test_gradients_in_place),
        cmocka_unit_test(test_weight_copies),        cmocka_unit_test(test_parts_of_the_peak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
