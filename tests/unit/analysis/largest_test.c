/* The largest size that a budget serves, for a program that grows with it in steps of PyTorch's segments. */
#include "recording.h"

#include "analysis/plan/largest.h"
#include "base/numbers.h"

/* 100 MiB that stay and 30 MiB for each unit of size x, each in a segment of its own: 100 + 30 x MiB are reserved. */
static struct recording *recording_of_size(uint64_t x, struct program *program) {
    struct recording *recording = recording_open();
    recording_allocation(recording, 1, STAYS, 100 * MIB, 0);
    recording_allocation(recording, 2, STAYS, 30 * MIB * x, 0);
    recording_settle(recording, 5);
    assert_true(program_init(program, &recording->trace, &recording->device, &recording->arena));
    return recording;
}

static void test_by_budget(void **state) {
    (void)state;
    static const struct {
        uint64_t budget, size;
    } wanted[] = {{99 * MIB, 0},  {130 * MIB, 1},   {159 * MIB, 1},
                  {160 * MIB, 2}, {1000 * MIB, 30}, {8 * GIB, 269}};
    struct program a, b;
    struct recording *one = recording_of_size(2, &a), *two = recording_of_size(4, &b);
    for (uint32_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        struct largest largest;
        struct largest_request request = {&a, &b, 2, 4, wanted[i].budget, allocator_settings_default()};
        assert_true(largest_find(&largest, &request, &one->arena));
        assert_int_equal(largest.size, wanted[i].size);
        assert_int_equal(largest.n_also, 0);
        if (largest.size > 0)
            assert_int_equal(largest.peak_max_bytes, (100 + 30 * largest.size) * MIB);
    }
    recording_close(two);
    recording_close(one);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_by_budget)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
