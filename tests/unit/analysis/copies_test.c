/* 16-bit copies of weights: as many as there are weights, the longest-lived ones, and only if a frame or numbers show
 * them. */
#include "recording.h"

#include "analysis/loop/category.h"
#include "analysis/loop/copies.h"
#include "analysis/loop/frame_bits.h"

enum { WEIGHTS = 3, CASTS = 6, AFTER = 5, N = WEIGHTS + CASTS + AFTER };

/* Three weights, six allocations of a forward with these sizes and deaths, and five more, so that the six are not the
 * last. */
static void copies_find(const uint64_t *size, const uint32_t *death, bool native, bool *copied) {
    static const uint64_t weight[WEIGHTS] = {4000, 4000, 16000};
    struct recording *recording = recording_open();
    uint8_t letter[N], category[N] = {CATEGORY_PARAMETER, CATEGORY_PARAMETER, CATEGORY_PARAMETER};
    uint32_t cast = recording_stack(recording, 0, "/u/model.py", "forward");
    uint32_t stack_bits[] = {0, native ? BIT_CAST : BIT_FORWARD};
    struct phase_runs runs = {.stacks = native ? STACKS_MIXED : STACKS_PYTHON,
                              .stack_bits = stack_bits,
                              .letter = letter,
                              .first_allocation = WEIGHTS};
    struct turns turns = {0};
    for (uint32_t i = 0; i < N; i++) {
        bool is_cast = i >= WEIGHTS && i < WEIGHTS + CASTS;
        recording_allocation(recording, i < WEIGHTS ? 0 : i, is_cast ? death[i - WEIGHTS] : STAYS,
                             i < WEIGHTS ? weight[i]
                             : is_cast   ? size[i - WEIGHTS]
                                         : 64,
                             is_cast ? cast : 0);
        letter[i] = PHASE_FORWARD;
    }
    assert_true(
        weight_copies_name(recording_settle(recording, 60), &runs, &turns, category, &recording->arena));
    for (uint32_t i = 0; i < CASTS; i++)
        copied[i] = category[WEIGHTS + i] == CATEGORY_WEIGHT_COPY;
    recording_close(recording);
}

static void test_a_frame_names_them(void **state) {
    (void)state;
    /* Three of 2,000 for two weights of 4,000, born at 3, 4 and 5: the last one lives for 15 events only. One of 4,000 is a
     * quarter of 16,000. 3,000 belong to no weight. The last one is freed before four more are made. */
    static const uint64_t size[CASTS] = {2000, 2000, 2000, 4000, 3000, 8000};
    static const uint32_t death[CASTS] = {30, 30, 20, 30, 30, 10};
    static const bool wanted[CASTS] = {true, true, false, true};
    bool copied[CASTS];
    copies_find(size, death, true, copied);
    assert_memory_equal(copied, wanted, sizeof wanted);
}

/* Without such a frame numbers decide: two sizes, as many copies as weights, 12,000 of 24,000 bytes. A single size may
 * be chance. */
static void test_numbers_show_them(void **state) {
    (void)state;
    static const uint64_t both[CASTS] = {2000, 2000, 8000, 3000, 3000, 3000},
                          one[CASTS] = {3000, 3000, 8000, 3000, 3000, 3000};
    static const uint32_t death[CASTS] = {30, 30, 30, 30, 30, 30};
    static const bool wanted[CASTS] = {true, true, true}, none[CASTS] = {false};
    bool copied[CASTS];
    copies_find(both, death, false, copied);
    assert_memory_equal(copied, wanted, sizeof wanted);
    copies_find(one, death, false, copied);
    assert_memory_equal(copied, none, sizeof none);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_frame_names_them),
                                       cmocka_unit_test(test_numbers_show_them)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
