/* Advice after running out of memory: each kind follows from its own figures and from no others. */
#include "recording.h"

#include "analysis/findings/oom_advice.h"
#include "base/numbers.h"

/* A request of 2 GiB that failed while 20 of 23 reserved GiB were in use and the device had 1 GiB left. */
struct failed {
    struct recording *recording;
    struct verdicts verdicts;
    struct free_blocks_summary free_blocks;
    struct oom_ground ground;
    struct oom_state state;
    uint64_t pending[1];
    struct oom_advice advice[OOM_ADVICE_MOST];
    uint32_t count;
};

static void failed_open(struct failed *failed) {
    *failed = (struct failed){.recording = recording_open(),
                              .state = {.live_bytes = 20 * GIB,
                                        .reserved_bytes = 23 * GIB,
                                        .unused_bytes = 3 * GIB,
                                        .reserved_known = true}};
    failed->recording->device.n_ooms = 1;
    failed->recording->ooms[0] = (struct oom_event){.size = 2 * GIB, .device_free = GIB};
    failed->recording->timeline.device = &failed->recording->device;
    failed->recording->timeline.trace = &failed->recording->trace;
    failed->verdicts.timeline = &failed->recording->timeline;
    failed->ground = (struct oom_ground){
        .verdicts = &failed->verdicts, .free_blocks = &failed->free_blocks, .pending_bytes = failed->pending};
}

static void failed_close(struct failed *failed) {
    recording_close(failed->recording);
}

/* Asks for advice and expects these kinds; OOM_ADVICE_KINDS ends the list. */
static void assert_advice(struct failed *failed, const enum oom_advice_kind *kinds) {
    failed->count = oom_advise(&failed->ground, &failed->recording->ooms[0], &failed->state, failed->advice);
    for (uint32_t i = 0; i < failed->count; i++)
        assert_int_equal(failed->advice[i].kind, kinds[i]);
    assert_int_equal(kinds[failed->count], OOM_ADVICE_KINDS);
}
#define ASSERT_ADVICE(failed, ...) \
    assert_advice((failed), (const enum oom_advice_kind[]){__VA_ARGS__, OOM_ADVICE_KINDS})

static void assert_bytes(const struct oom_advice *advice, uint64_t first, uint64_t second) {
    assert_int_equal(advice->bytes[0], first);
    assert_int_equal(advice->bytes[1], second);
}

static void test_verdicts(void **state) {
    (void)state;
    struct failed failed;
    failed_open(&failed);
    ASSERT_ADVICE(&failed, OOM_ADVICE_NO_BLOCK_LARGE, OOM_ADVICE_UNSAID);
    assert_bytes(&failed.advice[0], 3 * GIB, 0);
    failed.state.free_blocks_known = true;
    ASSERT_ADVICE(&failed, OOM_ADVICE_ALL_ROUNDING, OOM_ADVICE_UNSAID);
    failed.state.free_blocks.all.free_bytes = GIB;
    ASSERT_ADVICE(&failed, OOM_ADVICE_FREE_PARTS_AT_MOST, OOM_ADVICE_UNSAID);
    failed.state.at_end = true;
    ASSERT_ADVICE(&failed, OOM_ADVICE_FREE_PARTS, OOM_ADVICE_UNSAID);
    assert_bytes(&failed.advice[0], 3 * GIB, GIB);
    failed.state.unused_bytes = GIB;
    ASSERT_ADVICE(&failed, OOM_ADVICE_NOT_IN_ONE_PIECE, OOM_ADVICE_UNSAID);
    assert_bytes(&failed.advice[0], 2 * GIB, 0);
    failed.state.unused_bytes = failed.state.lacking_bytes = GIB / 2;
    ASSERT_ADVICE(&failed, OOM_ADVICE_LACKING);
    assert_bytes(&failed.advice[0], GIB / 2, 0);
    failed.recording->ooms[0].size = 25 * GIB;
    ASSERT_ADVICE(&failed, OOM_ADVICE_REQUEST_TOO_LARGE);
    assert_bytes(&failed.advice[0], 24 * GIB, 0);
    failed.state.reserved_known = false;
    ASSERT_ADVICE(&failed, OOM_ADVICE_KINDS);
    failed.state.live_bytes = 0;
    ASSERT_ADVICE(&failed, OOM_ADVICE_NOTHING_IN_USE);
    failed_close(&failed);
}

/* A free block that is large enough belongs to another stream, pool or size class. */
static void test_a_block_of_others(void **state) {
    (void)state;
    struct failed failed;
    failed_open(&failed);
    failed.state.free_blocks_known = true;
    failed.state.free_blocks.all = (struct free_blocks){.free_bytes = 3 * GIB, .largest_bytes = 2 * GIB - 1};
    ASSERT_ADVICE(&failed, OOM_ADVICE_NO_BLOCK_LARGE, OOM_ADVICE_UNSAID);
    failed.state.free_blocks.all.largest_bytes++;
    ASSERT_ADVICE(&failed, OOM_ADVICE_NO_BLOCK_SERVES, OOM_ADVICE_UNSAID);
    failed_close(&failed);
}

/* The device had more free than any segment for the request takes, so it was not full. Without final segments, as in
 * a profiler's trace, the free bytes are not measured. */
static void test_enough_was_free(void **state) {
    (void)state;
    struct failed failed;
    failed_open(&failed);
    failed.state.unused_bytes = 0;
    failed.recording->ooms[0].device_free = 2 * GIB + 64 * MIB;
    ASSERT_ADVICE(&failed, OOM_ADVICE_FREE_ENOUGH);
    assert_bytes(&failed.advice[0], 2 * GIB + 64 * MIB, 0);
    failed.state.reserved_known = false;
    ASSERT_ADVICE(&failed, OOM_ADVICE_KINDS);
    failed.state.reserved_known = true;
    failed.recording->ooms[0].device_free--;
    ASSERT_ADVICE(&failed, OOM_ADVICE_NOT_IN_ONE_PIECE);
    failed_close(&failed);
}

/* An unknown device_free is not added to the reserved bytes. */
static void test_unknown_figures_do_not_wrap(void **state) {
    (void)state;
    struct failed failed;
    failed_open(&failed);
    failed.state.unused_bytes = 0;
    failed.recording->ooms[0].device_free = OOM_UNKNOWN;
    ASSERT_ADVICE(&failed, OOM_ADVICE_NOT_IN_ONE_PIECE);
    assert_bytes(&failed.advice[0], UINT64_MAX, 0);
    failed_close(&failed);
}

static void test_expandable_segments(void **state) {
    (void)state;
    struct failed failed;
    failed_open(&failed);
    failed.ground.settings.told.expandable = true;
    ASSERT_ADVICE(&failed, OOM_ADVICE_NO_BLOCK_LARGE, OOM_ADVICE_OFF);
    failed.state.lacking_bytes = GIB;
    ASSERT_ADVICE(&failed, OOM_ADVICE_NO_BLOCK_LARGE, OOM_ADVICE_OFF_LACKING);
    assert_bytes(&failed.advice[1], 3 * GIB, GIB);
    failed.ground.settings.told.expandable = false;
    ASSERT_ADVICE(&failed, OOM_ADVICE_NO_BLOCK_LARGE, OOM_ADVICE_UNSAID_LACKING);
    failed.ground.settings.told.expandable = failed.ground.settings.expandable = true;
    ASSERT_ADVICE(&failed, OOM_ADVICE_NO_BLOCK_LARGE, OOM_ADVICE_ON_ALREADY);
    failed.ground.modelled = true;
    failed.ground.budget_bytes = 24 * GIB;
    failed.ground.expandable_bytes = 23 * GIB;
    ASSERT_ADVICE(&failed, OOM_ADVICE_NO_BLOCK_LARGE, OOM_ADVICE_FITS);
    failed.ground.expandable_bytes = 26 * GIB;
    ASSERT_ADVICE(&failed, OOM_ADVICE_NO_BLOCK_LARGE, OOM_ADVICE_FITS_FROM);
    assert_bytes(&failed.advice[1], 26 * GIB, 24 * GIB);
    assert_int_equal(failed.advice[1].bytes[2], 2 * GIB);
    failed_close(&failed);
}

static void test_max_split_size(void **state) {
    (void)state;
    struct failed failed;
    struct free_blocks_group group = {.free_blocks = {.free_bytes = 3 * GIB, .empty_bytes = GIB}};
    failed_open(&failed);
    failed.state.at_end = failed.ground.settings.told.max_split = true;
    failed.ground.settings.max_split_bytes = 3 * GIB;
    ASSERT_ADVICE(&failed, OOM_ADVICE_NO_BLOCK_LARGE, OOM_ADVICE_UNSAID);
    failed.ground.settings.max_split_bytes = ALLOCATOR_UNLIMITED;
    failed.ground.settings.told.expandable = true;
    failed.free_blocks.groups = &group;
    failed.free_blocks.n_groups = 1;
    ASSERT_ADVICE(&failed, OOM_ADVICE_NO_BLOCK_LARGE, OOM_ADVICE_OFF, OOM_ADVICE_SPLIT_UNSET);
    assert_bytes(&failed.advice[2], 2 * GIB, 0);
    failed.state.at_end = false;
    ASSERT_ADVICE(&failed, OOM_ADVICE_NO_BLOCK_LARGE, OOM_ADVICE_OFF);
    failed_close(&failed);
}

static void test_other_holders(void **state) {
    (void)state;
    struct failed failed;
    struct free_blocks_group group = {.pool = 1, .free_blocks = {.free_bytes = GIB, .empty_bytes = GIB}};
    failed_open(&failed);
    failed.state.unused_bytes = 0;
    failed.state.at_end = true;
    failed.free_blocks.groups = &group;
    failed.free_blocks.n_groups = 1;
    ASSERT_ADVICE(&failed, OOM_ADVICE_NOT_IN_ONE_PIECE);
    failed.recording->pools[1].second = 7;
    failed.pending[0] = GIB / 4;
    failed.free_blocks.all.used_bytes = 2 * GIB;
    failed.recording->device.n_segments = 1;
    failed.recording->device.capacity_bytes = 32 * GIB;
    failed.ground.risen_bytes = GIB;
    failed.ground.slope_bytes = MIB;
    ASSERT_ADVICE(&failed, OOM_ADVICE_NOT_IN_ONE_PIECE, OOM_ADVICE_PRIVATE_POOLS, OOM_ADVICE_PENDING,
                  OOM_ADVICE_ROUNDING, OOM_ADVICE_HELD_BY_OTHERS, OOM_ADVICE_GROWTH);
    assert_bytes(&failed.advice[1], GIB, 0);
    assert_bytes(&failed.advice[4], 8 * GIB, 32 * GIB);
    assert_bytes(&failed.advice[5], GIB, MIB);
    failed.ground.risen_bytes = GIB - 1; /* less than a twentieth of the live bytes */
    failed.pending[0] = GIB / 5;         /* less than a tenth of the request */
    ASSERT_ADVICE(&failed, OOM_ADVICE_NOT_IN_ONE_PIECE, OOM_ADVICE_PRIVATE_POOLS, OOM_ADVICE_ROUNDING,
                  OOM_ADVICE_HELD_BY_OTHERS);
    failed_close(&failed);
}

/* For each event, the bytes that had been freed but not completed. */
static void test_pending_at_each_event(void **state) {
    (void)state;
    struct failed failed;
    failed_open(&failed);
    struct recording *recording = failed.recording;
    recording->request[recording_allocation(recording, 1, 8, 512, 0)] = 3;
    recording->request[recording_allocation(recording, 2, 6, 1024, 0)] = 6; /* at once */
    recording->device.n_ooms = 3;
    for (uint32_t i = 0; i < 3; i++)
        recording->ooms[i].event = 1 + i * 4; /* moments 2, 6 and 10 */
    recording_settle(recording, 12);
    assert_true(oom_ground_find(&failed.ground, &failed.verdicts, &failed.free_blocks, &recording->arena));
    assert_int_equal(failed.ground.pending_bytes[0], 0);
    assert_int_equal(failed.ground.pending_bytes[1], 512);
    assert_int_equal(failed.ground.pending_bytes[2], 0);
    assert_false(failed.ground.settings.told.expandable);
    failed_close(&failed);
}

static void test_recorded_settings(void **state) {
    (void)state;
    struct failed failed;
    failed_open(&failed);
    failed.recording->device.n_ooms = 0;
    failed.recording->trace.settings =
        recording_text(failed.recording, "{\"PYTORCH_CUDA_ALLOC_CONF\": \"expandable_segments:False\", "
                                         "\"max_split_size\": -1, \"garbage_collection_threshold\": 0.8}");
    assert_true(
        oom_ground_find(&failed.ground, &failed.verdicts, &failed.free_blocks, &failed.recording->arena));
    const struct allocator_settings *settings = &failed.ground.settings;
    assert_true(settings->told.expandable && !settings->expandable);
    assert_true(settings->told.max_split && settings->max_split_bytes == ALLOCATOR_UNLIMITED);
    assert_true(settings->told.collect && settings->collect_ppm == 800000);
    failed_close(&failed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_a_block_of_others),
        cmocka_unit_test(test_enough_was_free),
        cmocka_unit_test(test_unknown_figures_do_not_wrap),
        cmocka_unit_test(test_expandable_segments),
        cmocka_unit_test(test_max_split_size),
        cmocka_unit_test(test_other_holders),
        cmocka_unit_test(test_pending_at_each_event),
        cmocka_unit_test(test_recorded_settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
